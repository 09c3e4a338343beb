//! What the seller's categories are is decided before the first batch, and stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Decision, SellerCategory, Suggestion};
use feeds::survey::CategoryDecision;
use feeds::tables::FEED_CATEGORIES;
use feeds::upload::Upload;
use feeds::{FeedKey, FeedOffer, Feeds, Unified, Unify};
use model::{Content, Issue, IssueType, Level};
use store::{Range, Read as _};
use wire::feeds::{FeedCategory, FeedSettings};

use crate::world::{World, seller};

/// Takes every category for one that is called after its answer, but «Unclear» for nothing.
#[derive(Clone)]
struct Deciding {
    version: u32,
    answer: &'static str,
}

impl Unify for Deciding {
    fn catalog_version(&self) -> u32 {
        self.version
    }

    fn of_version(&self, version: u32) -> Option<Arc<dyn Unify>> {
        Some(Arc::new(Self { version, ..self.clone() }))
    }

    fn decide(&self, categories: &[SellerCategory<'_>]) -> Vec<Decision> {
        let decide = |category: &SellerCategory<'_>| {
            let leaf = category.path.last().copied().unwrap_or_default();
            let id = format!("{}-{}", self.answer, leaf.to_lowercase());
            Decision {
                category: Some(id.clone()).filter(|_| leaf != "Unclear"),
                probability: 0.9,
                suggestions: vec![Suggestion { category: id, score: 0.9 }],
                evidence: vec![Vec::new()],
            }
        };
        categories.iter().map(decide).collect()
    }

    fn unify(&self, offer: &FeedOffer, _: &FeedSettings, decided: Option<&CategoryDecision>) -> Unified {
        let category_id = decided.and_then(|decided| decided.category.clone()).unwrap_or_default();
        let unclear = Issue {
            level: Level::Error.into(),
            r#type: IssueType::Category.into(),
            code: "category_unclear".to_owned(),
            ..Issue::default()
        };
        let issues = if category_id.is_empty() { vec![unclear] } else { Vec::new() };
        let content = Content { category_id, title: offer.title.clone(), ..Content::default() };
        Unified::Content(Box::new(content), issues)
    }
}

fn deciding(world: World, version: u32, answer: &'static str) -> World {
    let unify = Arc::new(Deciding { version, answer });
    World { feeds: Feeds { unify, ..world.feeds.clone() }, ..world }
}

/// JSON lines of (id, category).
fn goods(goods: &[(&str, &str)]) -> String {
    goods.iter().fold(String::new(), |text, (id, category)| {
        text + &format!("{{\"id\":\"{id}\",\"title\":\"Good {id}\",\"category\":\"{category}\"}}\n")
    })
}

async fn rows(world: &World, key: &FeedKey) -> BTreeMap<String, FeedCategory> {
    let snapshot = world.feeds.store.snapshot(key.shard()).await.unwrap();
    let rows = snapshot.scan(&FEED_CATEGORIES, Range::prefix(key.row(), 100).unwrap()).await.unwrap();
    rows.into_iter().map(|((.., name), row)| (name, row)).collect()
}

#[tokio::test(start_paused = true)]
async fn offers_get_what_is_decided_for_their_category() {
    let world = deciding(World::new().await, 1, "first");
    let load =
        world.load(&seller(), &goods(&[("1", "Shop > Saws"), ("2", "Shop > Saws"), ("3", "Unclear")])).await;
    assert_eq!(load.statistics.tally.unwrap().created, 2);
    let rows = rows(&world, &seller()).await;
    let saws = &rows["Shop > Saws"];
    assert_eq!(
        (saws.category_id.as_str(), saws.offers, saws.decided_by.as_str()),
        ("first-saws", 2, "survey")
    );
    let unclear = &rows["Unclear"];
    assert_eq!((unclear.category_id.as_str(), unclear.offers), ("", 1));
    assert_eq!(unclear.suggestions[0].category_id, "first-unclear");
}

#[tokio::test(start_paused = true)]
async fn a_decision_stays_until_the_catalog_changes() {
    let world = deciding(World::new().await, 1, "first");
    let key = seller();
    world.load(&key, &goods(&[("1", "Saws"), ("2", "Axes")])).await;
    // Whatever other evidence a later file brings, only what is new is decided.
    let world = deciding(world, 1, "second");
    let load = world.load(&key, &goods(&[("1", "Saws"), ("2", "Axes"), ("3", "Nails"), ("4", "Saws")])).await;
    assert_eq!(load.statistics.tally.unwrap().unchanged, 2);
    let ids = |rows: BTreeMap<String, FeedCategory>| -> Vec<String> {
        rows.into_values().map(|row| row.category_id).collect()
    };
    let found = rows(&world, &key).await;
    assert_eq!(found["Saws"].offers, 2);
    assert_eq!(ids(found), ["first-axes", "second-nails", "first-saws"]);
    let world = deciding(world, 2, "third");
    world.load(&key, &goods(&[("1", "Saws"), ("2", "Axes"), ("3", "Nails")])).await;
    assert_eq!(ids(rows(&world, &key).await), ["third-axes", "third-nails", "third-saws"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_unclear_is_looked_at_with_the_next_file() {
    let world = deciding(World::new().await, 1, "first");
    let key = seller();
    world.load(&key, &goods(&[("1", "Unclear")])).await;
    let world = deciding(world, 1, "second");
    world.load(&key, &goods(&[("1", "Unclear"), ("2", "Saws")])).await;
    assert_eq!(rows(&world, &key).await["Unclear"].suggestions[0].category_id, "second-unclear");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_decides_nothing_for_good() {
    let world = deciding(World::new().await, 1, "first");
    let key = seller();
    world.load(&key, &goods(&[("1", "Saws")])).await;
    let upload = Upload { name: "goods".to_owned(), dry_run: true, ..Upload::default() };
    let text = goods(&[("1", "Saws"), ("2", "Axes")]);
    let task_id = world.upload_as(&key, &text, upload).await.unwrap();
    world.process().await;
    let load = world.ended(&key, task_id).await;
    assert_eq!(load.statistics.tally.unwrap().created, 1, "it says what would happen");
    assert_eq!(rows(&world, &key).await.len(), 1);
}
