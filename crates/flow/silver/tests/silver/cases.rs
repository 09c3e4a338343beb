//! Every branch of the steps as the original tells it, on every engine: what came, in which batches, and what is stored.

use std::collections::BTreeMap;
use std::time::Duration;

use silver::steps::{DbsMode, Rules, Trace};
use silver::tables::EXISTENCE;
use united::write::Writing;
use wire::silver::SskuRow;
use wire::united::Colour;
use wire::united::value::Kind;

use crate::world::{BUSINESS, World, said};

const BLUE: Colour = Colour::Blue;
const WHITE: Colour = Colour::White;
const DBS: Colour = Colour::Dbs;

/// What a shop says; shop 0 is the basic part, written as such.
#[derive(Clone, Copy)]
struct Word(u32, Colour, &'static str, bool);

const fn says(shop: u32, colour: Colour, name: &'static str) -> Word {
    Word(shop, colour, name, false)
}

const fn removes(shop: u32, colour: Colour, name: &'static str) -> Word {
    Word(shop, colour, name, true)
}

struct Case {
    name: &'static str,
    rules: Rules,
    /// A marker that an import before ours left.
    marker: Option<u32>,
    words: Vec<Word>,
    /// Which words come together, by their places; they may come in any order, twice, or not at all.
    batches: Vec<Vec<usize>>,
    /// The source and, by shop, the name; `-`: removed.
    silver: Option<(&'static str, Vec<(u32, &'static str)>)>,
    exists: Vec<u32>,
    cuts: Vec<&'static str>,
    /// What the last batch came to, among others.
    outcome: (&'static str, &'static str),
}

/// The usual case: one word after another, each a batch of its own, under default settings.
fn case(name: &'static str, words: &[Word]) -> Case {
    Case {
        name,
        rules: Rules::default(),
        marker: None,
        words: words.to_vec(),
        batches: (0..words.len()).map(|at| vec![at]).collect(),
        silver: None,
        exists: Vec::new(),
        cuts: Vec::new(),
        outcome: ("detect", "changed"),
    }
}

impl Case {
    fn stored(self, source: &'static str, names: &[(u32, &'static str)], exists: &[u32]) -> Self {
        Self { silver: Some((source, names.to_vec())), exists: exists.to_vec(), ..self }
    }

    fn cut(self, reasons: &[&'static str]) -> Self {
        Self { cuts: reasons.to_vec(), ..self }
    }

    fn outcome(self, step: &'static str, outcome: &'static str) -> Self {
        Self { outcome: (step, outcome), ..self }
    }

    fn under(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    fn batches(self, batches: &[&[usize]]) -> Self {
        Self { batches: batches.iter().map(|batch| batch.to_vec()).collect(), ..self }
    }
}

fn some_dbs(ranges: &[(u32, u32)]) -> Rules {
    Rules { dbs_mode: DbsMode::BlueAndSomeDbs, dbs_ranges: ranges.to_vec(), ..Rules::default() }
}

/// Steps 1 and 2: who comes in at all.
fn filters() -> Vec<Case> {
    let forbidden = Rules { forbidden: [BUSINESS].into(), ..Rules::default() };
    vec![
        case("a blue offer comes in", &[says(1, BLUE, "a")]).stored("SUPPLIER", &[(1, "a")], &[1]),
        case("a forbidden business", &[says(1, BLUE, "a")])
            .under(forbidden)
            .cut(&["forbidden"])
            .outcome("first_filter", "forbidden"),
        case("no services, neither stored nor in the message", &[says(0, BLUE, "basic")])
            .cut(&["no_services"])
            .outcome("first_filter", "no_services"),
        case("no services in the message, but stored ones", &[says(1, BLUE, "a"), says(0, BLUE, "basic")])
            .stored("SUPPLIER", &[(1, "a")], &[1]),
        case("a white service alone", &[says(1, WHITE, "a")])
            .cut(&["colour"])
            .outcome("close_migration", "unsupported"),
        case("red and green are no better", &[says(1, Colour::Red, "a"), says(2, Colour::Green, "b")])
            .cut(&["colour"])
            .outcome("second_filter", "unsupported"),
        case("white beside blue", &[says(1, BLUE, "a"), says(2, WHITE, "b")])
            .stored("SUPPLIER", &[(1, "a"), (2, "-")], &[1])
            .outcome("second_filter", "services_removed"),
        case("BLUE → WHITE", &[says(1, BLUE, "a"), says(1, WHITE, "a")])
            .stored("SUPPLIER", &[(1, "-")], &[])
            .outcome("second_filter", "services_removed"),
        case("WHITE → BLUE", &[says(1, WHITE, "a"), says(1, BLUE, "a")]).stored(
            "SUPPLIER",
            &[(1, "a")],
            &[1],
        ),
    ]
}

/// Step 5: modes, ranges, existence.
fn dbs() -> Vec<Case> {
    let dbs_only = &[says(1, DBS, "a")][..];
    let both = &[says(1, BLUE, "a"), says(2, DBS, "b")][..];
    let marked = case("it exists already", dbs_only).under(some_dbs(&[])).stored("DBS", &[(1, "a")], &[1]);
    vec![
        case("the mode takes all", dbs_only).stored("DBS", &[(1, "a")], &[1]),
        case("the mode takes none of it", dbs_only)
            .under(some_dbs(&[]))
            .cut(&["dbs", "no_services"])
            .outcome("dbs_filter", "dbs_cut"),
        case("the business is in a range", dbs_only).under(some_dbs(&[(1, 2), (BUSINESS, BUSINESS)])).stored(
            "DBS",
            &[(1, "a")],
            &[1],
        ),
        case("the business is beside the ranges", dbs_only)
            .under(some_dbs(&[(BUSINESS + 1, 900)]))
            .cut(&["dbs", "no_services"])
            .outcome("detect", "no_services"),
        Case { marker: Some(9), ..marked },
        case("beside a blue one it passes, for then the SSKU exists", both).under(some_dbs(&[])).stored(
            "SUPPLIER",
            &[(1, "a"), (2, "b")],
            &[1, 2],
        ),
        case("both in one batch", both).under(some_dbs(&[])).batches(&[&[0, 1]]).stored(
            "SUPPLIER",
            &[(1, "a"), (2, "b")],
            &[1, 2],
        ),
    ]
}

/// Steps 4 and 6: what is newer, what is the same, what is merged.
fn changes() -> Vec<Case> {
    let a_b = &[says(1, BLUE, "a"), says(1, BLUE, "b")][..];
    let a_b_a = &[says(1, BLUE, "A"), says(1, BLUE, "B"), says(1, BLUE, "A")][..];
    let shops = &[says(1, BLUE, "one"), says(2, BLUE, "two")][..];
    vec![
        case("an older version", a_b)
            .batches(&[&[1], &[0]])
            .stored("SUPPLIER", &[(1, "b")], &[1])
            .outcome("detect", "older"),
        case("no change", &a_b[..1])
            .batches(&[&[0], &[0]])
            .stored("SUPPLIER", &[(1, "a")], &[1])
            .outcome("detect", "repeated"),
        case("twice in one batch", a_b)
            .batches(&[&[1, 0, 1]])
            .stored("SUPPLIER", &[(1, "b")], &[1])
            .outcome("to_silver", "collapsed"),
        case("v1 = A, v3 = A, late v2 = B ends as A", a_b_a)
            .batches(&[&[0], &[2], &[1]])
            .stored("SUPPLIER", &[(1, "A")], &[1])
            .outcome("detect", "older"),
        case("a newer version of the same data", a_b_a)
            .batches(&[&[0], &[2]])
            .stored("SUPPLIER", &[(1, "A")], &[1])
            .outcome("save", "version_saved"),
        case("only the changed services come", shops).stored("SUPPLIER", &[(1, "one"), (2, "two")], &[1, 2]),
        case("v5 {shop 1} and v6 {shop 2} in one batch keep both", shops).batches(&[&[1, 0]]).stored(
            "SUPPLIER",
            &[(1, "one"), (2, "two")],
            &[1, 2],
        ),
        case("all services turn DBS", &[says(1, BLUE, "a"), says(1, DBS, "a")]).stored(
            "DBS",
            &[(1, "a")],
            &[1],
        ),
        case("and back", &[says(1, BLUE, "a"), says(1, DBS, "a"), says(1, BLUE, "a")]).stored(
            "SUPPLIER",
            &[(1, "a")],
            &[1],
        ),
        case("and back by another shop", &[says(1, DBS, "a"), says(2, BLUE, "b")]).stored(
            "SUPPLIER",
            &[(1, "a"), (2, "b")],
            &[1, 2],
        ),
        case("a service is deleted", &[says(1, BLUE, "a"), says(2, BLUE, "b"), removes(1, BLUE, "a")])
            .stored("SUPPLIER", &[(1, "-"), (2, "b")], &[2]),
        case("the offer is deleted", &[says(1, BLUE, "a"), removes(1, BLUE, "a")]).stored(
            "SUPPLIER",
            &[(1, "-")],
            &[],
        ),
        case("a late word does not bring it back", &[says(1, BLUE, "a"), removes(1, BLUE, "a")])
            .batches(&[&[1], &[0]])
            .stored("SUPPLIER", &[(1, "-")], &[])
            .outcome("detect", "older"),
        case("it comes back", &[says(1, BLUE, "a"), removes(1, BLUE, "a"), says(1, BLUE, "a")]).stored(
            "SUPPLIER",
            &[(1, "a")],
            &[1],
        ),
    ]
}

async fn word(world: &World, sku: &str, at: i64, Word(shop, colour, name, removed): Word) -> Vec<Vec<u8>> {
    if shop != 0 {
        return world.write(sku, shop, said(at, colour, name, 0), removed).await;
    }
    world.united.clock.advance(Duration::from_micros(1));
    world
        .transact(async |tx| {
            let mut writing = Writing::begin(&world.united, tx, BUSINESS, [sku.to_owned()], []).await?;
            writing.basic(sku, said(at, colour, name, 0))?;
            Ok(writing.finish(tx).await?)
        })
        .await;
    world.sent(model::topics::UNITED_OFFERS).await
}

fn names(row: &SskuRow) -> BTreeMap<u32, String> {
    let name = |part: &wire::silver::Part| {
        let values = part.value.iter().flat_map(|value| &value.value);
        let text = values.filter_map(|value| match &value.kind {
            Some(Kind::Text(text)) => Some(text.clone()),
            _ => None,
        });
        if part.removed { "-".to_owned() } else { text.collect() }
    };
    row.services.iter().map(|(shop, part)| (*shop, name(part))).collect()
}

async fn check(world: &mut World, number: usize, case: Case) {
    let (sku, name) = (format!("case-{number}"), case.name);
    world.settings.import = case.rules;
    if let Some(shop) = case.marker {
        world.transact(async |tx| Ok(tx.put(&EXISTENCE, (BUSINESS, sku.as_str(), shop), &())?)).await;
    }
    let mut messages = Vec::new();
    for (at, said) in case.words.iter().enumerate() {
        let sent = word(world, &sku, at as i64 + 1, *said).await;
        assert_eq!(sent.len(), 1, "{name}: word {at} is one message");
        messages.extend(sent);
    }
    let mut imported = silver::import::Imported::default();
    for batch in case.batches {
        let batch: Vec<_> = batch.into_iter().map(|at| messages[at].clone()).collect();
        imported = world.import(&batch).await;
    }
    let (step, outcome) = case.outcome;
    assert!(imported.0.contains_key(&Trace { step, outcome }), "{name}: {:?}", imported.0);
    while world.import_again().await > 0 {}
    let state = world.state().await;
    let mut stored = state.silver.iter().filter(|((of, _), _)| *of == sku);
    let found = stored.next().map(|((_, source), row)| (source.as_str(), names(row)));
    assert!(stored.next().is_none(), "{name}: one record of an SSKU");
    let expected = case.silver.map(|(source, names)| {
        (source, names.into_iter().map(|(shop, name)| (shop, name.to_owned())).collect())
    });
    assert_eq!(found, expected, "{name}");
    let exists: Vec<_> = state.existence.iter().filter(|(of, _)| *of == sku).map(|(_, shop)| *shop).collect();
    assert_eq!(exists, case.exists, "{name}: markers");
    let cuts = state.cuts.get(&sku).cloned().unwrap_or_default();
    assert_eq!(cuts, case.cuts, "{name}: cuts");
    let queued = (state.gold_queue.contains(&sku), state.erp_queue.contains(&sku));
    assert_eq!(
        queued,
        (found.is_some(), found.is_some()),
        "{name}: what is saved is queued for gold and ERP"
    );
}

async fn all(mut world: World) {
    let cases = [filters(), dbs(), changes()].into_iter().flatten();
    for (number, case) in cases.enumerate() {
        check(&mut world, number, case).await;
    }
}

#[tokio::test]
async fn every_branch_in_memory() {
    all(World::in_memory()).await;
}

#[tokio::test]
async fn every_branch_on_the_embedded_engine() {
    all(World::embedded().await).await;
}

#[tokio::test]
async fn every_branch_on_postgres() {
    let Some(database) = servers::Database::create("silver: every branch on postgres").await else { return };
    all(World::postgres(&database).await).await;
}
