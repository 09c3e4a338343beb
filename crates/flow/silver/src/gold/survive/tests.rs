use wire::united::{Box as Sides, Period};

use super::super::rules::Source;
use super::*;
use crate::parameters::value;

fn candidate(shop: u32, updated_at: i64, kinds: &[Kind]) -> Candidate {
    Candidate {
        value: kinds.iter().cloned().map(value).collect(),
        source_type: "SUPPLIER".to_owned(),
        shop_id: shop,
        updated_at,
        ..Candidate::default()
    }
}

fn text(shop: u32, updated_at: i64, word: &str) -> Candidate {
    candidate(shop, updated_at, &[Kind::Text(word.to_owned())])
}

fn dbs(candidate: Candidate) -> Candidate {
    Candidate { source_type: "DBS".to_owned(), ..candidate }
}

fn rule(choose: Choice) -> Rule {
    Rule { choose, ..Rule::default() }
}

/// The winner does not depend on the order in which the candidates come.
#[track_caller]
fn check(rule: &Rule, candidates: &[Candidate], winner: u32, reason: &str) {
    let mut turned = candidates.to_vec();
    for _ in 0..candidates.len() {
        turned.rotate_left(1);
        for candidates in [turned.clone(), turned.iter().rev().cloned().collect()] {
            let survivor = survive(rule, candidates);
            assert_eq!((survivor.candidates[0].shop_id, survivor.reason), (winner, reason));
            assert_eq!(survivor.value, survivor.candidates[0].value);
            assert_eq!(survivor.candidates.len(), turned.len());
        }
    }
}

#[test]
fn each_choice() {
    let texts = [text(1, 10, "bb"), text(2, 30, "a"), text(3, 20, "ccc"), text(4, 5, "bb")];
    check(&rule(Choice::Newest), &texts, 2, "newest");
    check(&rule(Choice::Oldest), &texts, 4, "oldest");
    check(&rule(Choice::Longest), &texts, 3, "longest");
    check(&rule(Choice::MostCommon), &texts, 1, "tie_newest");
    check(&rule(Choice::MostCommon), &texts[..3], 2, "tie_newest");
    let number = |shop, number| candidate(shop, 1, &[Kind::Integer(number)]);
    check(&rule(Choice::Max), &[number(1, 5), number(2, 7), number(3, -7)], 2, "max");
    check(&rule(Choice::Min), &[number(1, 5), number(2, 7), number(3, -7)], 3, "min");
    check(&rule(Choice::Newest), &texts[..1], 1, "only_candidate");
}

#[test]
fn measures_of_every_type() {
    let sides =
        |shop, length, width, height| candidate(shop, 1, &[Kind::Box(Sides { length, width, height })]);
    check(&rule(Choice::Max), &[sides(1, 100, 1, 1), sides(2, 5, 5, 5)], 2, "max");
    let far = i64::MAX;
    check(&rule(Choice::Max), &[sides(1, far, far, far), sides(2, far, 1, 1)], 1, "max");
    let period = |shop, amount, unit: TimeUnit| {
        candidate(shop, 1, &[Kind::Period(Period { amount, unit: unit.into(), comment: String::new() })])
    };
    let periods =
        [period(1, 13, TimeUnit::Month), period(2, 1, TimeUnit::Year), period(3, 0, TimeUnit::Unlimited)];
    check(&rule(Choice::Max), &periods, 3, "max");
    check(&rule(Choice::Max), &periods[..2], 1, "max");
    check(&rule(Choice::Min), &periods, 2, "min");
}

#[test]
fn sources_shops_and_ties() {
    let newer_dbs = [text(1, 1, "a"), dbs(text(2, 9, "b"))];
    check(&rule(Choice::Newest), &newer_dbs, 1, "source_priority");
    let turned = Rule { sources: vec![Source::Dbs], ..rule(Choice::Oldest) };
    check(&turned, &newer_dbs, 2, "source_priority");
    let equal = Rule { sources: Vec::new(), ..rule(Choice::Newest) };
    check(&equal, &newer_dbs, 2, "newest");
    let preferred = Rule { preferred_shop: Some(3), ..rule(Choice::Newest) };
    check(&preferred, &[text(1, 9, "a"), text(3, 1, "b"), text(5, 9, "c")], 3, "preferred_shop");
    // A preferred shop of a lesser source does not come before a better source.
    check(&preferred, &[text(1, 1, "a"), dbs(text(3, 9, "b"))], 1, "source_priority");
    check(&preferred, &[text(1, 9, "a"), text(5, 1, "c")], 1, "newest");
    check(&rule(Choice::Newest), &[text(2, 9, "a"), text(1, 9, "b")], 1, "tie_smallest_shop");
    check(&rule(Choice::Newest), &[text(2, 9, "a"), text(1, 8, "a")], 2, "all_agree");
    check(&rule(Choice::Newest), &[text(0, 9, "a"), text(1, 1, "b")], 1, "service_over_basic");
}

#[test]
fn a_union_has_everything_once_the_newest_first() {
    let list = |shop, updated_at, words: &[&str]| {
        let kinds: Vec<_> = words.iter().map(|word| Kind::Text((*word).to_owned())).collect();
        candidate(shop, updated_at, &kinds)
    };
    let survivor = survive(
        &rule(Choice::Union),
        vec![list(1, 1, &["a", "b"]), list(2, 5, &["c", "a"]), dbs(list(3, 9, &["z"])), list(0, 9, &["y"])],
    );
    let words: Vec<_> = survivor
        .value
        .iter()
        .map(|value| match &value.kind {
            Some(Kind::Text(text)) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((words.as_slice(), survivor.reason), (&["c", "a", "b"][..], "union"));
    assert_eq!(survivor.candidates.len(), 4);
    assert_eq!(survivor.candidates[0].shop_id, 2);
    let alone = survive(&rule(Choice::Union), vec![list(1, 1, &["a"])]);
    assert_eq!((alone.value.len(), alone.reason), (1, "only_candidate"));
}
