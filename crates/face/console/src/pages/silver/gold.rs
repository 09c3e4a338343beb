//! The golden record: each value with everything that it was chosen from, and why.

use maud::{Markup, html};
use silver::gold::rules::{Rule, Rules};
use silver::parameters::Parameter;
use wire::silver::{Candidate, GoldRow, GoldValue};

use super::parts::part_name;
use super::{values, words};
use crate::frame::empty;
use crate::visit::Visit;
use crate::words::time;

pub(super) fn record(visit: &Visit, gold: Option<&GoldRow>, rules: &Rules) -> Markup {
    let Some(gold) = gold else {
        return empty(visit.say(
            "There is no golden record: no shop has the goods, or it is not made yet.",
            "Золотой записи нет: товара нет ни в одном магазине, или она ещё не сделана.",
        ));
    };
    html! {
        p.faint { (visit.say("Version ", "Версия ")) (gold.version) ", "
            (visit.say("made ", "сделана ")) (time(kit::Timestamp(gold.made_at))) ", "
            (visit.say("of silver ", "из серебра ")) (gold.silver_version) }
        div.scroll tabindex="0" { table.gold {
            thead { tr {
                th { (visit.say("Parameter", "Параметр")) }
                th { (visit.say("Value, and why it won", "Значение и почему оно победило")) }
                th { (visit.say("Candidates", "Кандидаты")) }
            } }
            tbody { @for value in &gold.value { (parameter(visit, value, rules)) } }
        } }
    }
}

fn parameter(visit: &Visit, value: &GoldValue, rules: &Rules) -> Markup {
    let id = value.parameter_id;
    let is_union = value.reason == "union";
    html! {
        tr data-parameter=[Parameter::by_id(id).map(|parameter| parameter.name)] {
            th scope="row" { (values::name_of(visit, id, &id.to_string())) br;
                span.faint { (rule_in_words(visit, rules.of(id))) } }
            td.value {
                strong.winner { bdi.cut { (values::shown(visit, id, &value.value)) } } br;
                span.why { (words::reason(visit, &value.reason)) }
            }
            td { ol.candidates {
                @for (place, candidate) in value.candidate.iter().enumerate() {
                    @let wins = place == 0 || is_union && candidate.value.iter().all(|one| value.value.contains(one));
                    (candidate_row(visit, id, candidate, wins))
                }
            } }
        }
    }
}

fn candidate_row(visit: &Visit, parameter: u32, candidate: &Candidate, wins: bool) -> Markup {
    html! {
        li class=[wins.then_some("won")] {
            @if wins { span.mark aria-hidden="true" { "✓ " } span.hidden { (visit.say("won: ", "победил: ")) } }
            bdi.cut { (values::shown(visit, parameter, &candidate.value)) } " "
            span.faint {
                (part_name(visit, candidate.shop_id)) ", " (candidate.source_type) ", "
                (words::source(visit, candidate.source().as_str_name()))
                @if candidate.updated_at != 0 { ", " (time(kit::Timestamp(candidate.updated_at))) }
            }
        }
    }
}

/// What a rule asks, in its order.
pub(super) fn rule_in_words(visit: &Visit, rule: &Rule) -> String {
    use silver::gold::rules::Choice;
    let choice = match rule.choose {
        Choice::Newest => visit.say("the newest", "самое новое"),
        Choice::Oldest => visit.say("the oldest", "самое старое"),
        Choice::MostCommon => visit.say("what most say", "что говорит большинство"),
        Choice::Longest => visit.say("the longest", "самое длинное"),
        Choice::Max => visit.say("the greatest", "самое большое"),
        Choice::Min => visit.say("the smallest", "самое маленькое"),
        Choice::Union => visit.say("all together", "все вместе"),
    };
    let sources: Vec<_> = rule.sources.iter().map(|source| source.name()).collect();
    let mut text = sources.join(visit.say(" before ", " важнее "));
    if let Some(shop) = rule.preferred_shop {
        text = format!("{text}, {} {shop}", visit.say("shop", "магазин"));
    }
    let comma = if text.is_empty() { "" } else { ", " };
    format!("{text}{comma}{choice}")
}
