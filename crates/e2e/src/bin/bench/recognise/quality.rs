//! How often the categories of real sellers are recognised right.
//!
//! Each feed is read and surveyed as a load does it. By offers, and as the mean over feeds: the label, what the table names
//! as right too, any member of a mixed label, or a descendant of these is right; the parent or a sibling is near; anything
//! else that is decided is wrong. Labelled offers that no reader finds count as undecided.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Result};
use catalog::Catalog;
use e2e::bench::Figure;
use feeds::survey::{CategoryDecision, Survey, of_file};
use feeds::{FeedOffer, Knowledge, Limits, Settings};
use model::Level;

/// What people say that a seller's category is.
struct Label {
    offers: u64,
    /// The label itself, or the members of a mixed one.
    exact: Vec<String>,
    also: Vec<String>,
}

/// Seller categories of a feed by name.
type Labels = HashMap<String, Label>;

#[derive(Default)]
struct Counts {
    offers: u64,
    right: u64,
    exact: u64,
    near: u64,
    wrong: u64,
    /// Of the undecided: the right one is among the suggestions.
    suggested: u64,
    read: u64,
    created: u64,
    created_after: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.offers += other.offers;
        self.right += other.right;
        self.exact += other.exact;
        self.near += other.near;
        self.wrong += other.wrong;
        self.suggested += other.suggested;
        self.read += other.read;
        self.created += other.created;
        self.created_after += other.created_after;
    }

    fn undecided(&self) -> u64 {
        self.offers - self.right - self.near - self.wrong
    }
}

pub(super) fn measure(folder: &Path, table: &Path) -> Result<Vec<Figure>> {
    let labels = labels(table)?;
    let knowledge = Knowledge::shipped();
    let mut all = Counts::default();
    let mut feeds: Vec<Counts> = Vec::new();
    println!(
        "\n{:>6} {:>6} {:>6} {:>6} {:>9} {:>8} {:>8}  feed",
        "offers", "right", "near", "wrong", "suggested", "created", "after"
    );
    for (name, labels) in &labels {
        let counts = measure_feed(&folder.join(name), labels, &knowledge).with_context(|| name.clone())?;
        let [right, near, wrong] =
            [counts.right, counts.near, counts.wrong].map(|one| percent(one, counts.offers));
        println!(
            "{:>6} {right:>6.1} {near:>6.1} {wrong:>6.1} {:>9.1} {:>8.1} {:>8.1}  {name}",
            counts.offers,
            percent(counts.suggested, counts.undecided()),
            percent(counts.created, counts.read),
            percent(counts.created_after, counts.read),
        );
        all.add(&counts);
        feeds.push(counts);
    }
    Ok(figures(&all, &feeds))
}

fn figures(all: &Counts, feeds: &[Counts]) -> Vec<Figure> {
    let of_all = |part: u64| percent(part, all.offers);
    let each = |part: fn(&Counts) -> u64| feeds.iter().map(move |one| percent(part(one), one.offers));
    let mean = |part: fn(&Counts) -> u64| each(part).sum::<f64>() / feeds.len().max(1) as f64;
    let figure = |name: &str, value: f64, wanted: &'static str| Figure::new(name, "%", value, wanted);
    vec![
        figure("by offers: right", of_all(all.right), "≥ 60"),
        figure("by offers: right by the exact label", of_all(all.exact), ""),
        figure("by offers: near", of_all(all.near), ""),
        figure("by offers: wrong", of_all(all.wrong), "≤ 10"),
        figure("mean over feeds: right", mean(|one| one.right), "≥ 70"),
        figure("mean over feeds: wrong", mean(|one| one.wrong), "≤ 4"),
        figure("worst feed: wrong", each(|one| one.wrong).fold(0.0, f64::max), "≤ 25"),
        figure("undecided, right one among the suggestions", percent(all.suggested, all.undecided()), "≥ 80"),
        figure("created", percent(all.created, all.read), "≥ 65"),
        figure("created after confirming as labelled", percent(all.created_after, all.read), "≥ 92"),
    ]
}

fn measure_feed(path: &Path, labels: &Labels, knowledge: &Knowledge) -> Result<Counts> {
    let survey = of_file(File::open(path)?, knowledge);
    let mut confirmed = survey.clone();
    let mut counts = Counts { offers: labels.values().map(|label| label.offers).sum(), ..Counts::default() };
    let mut found: HashMap<&str, u64> = HashMap::new();
    let broken = |fatal: feeds::Fatal| anyhow::anyhow!("{}", fatal.message(model::Language::English));
    let mut records = feeds::records(File::open(path)?, &Limits::default()).map_err(broken)?;
    while let Some(record) = records.next().map_err(broken)? {
        let offer = &record.offer;
        counts.read += 1;
        counts.created += u64::from(!record.is_bad() && is_created(offer, knowledge, &survey));
        let name = name(&offer.category_path.join(" > "));
        if let Some((name, label)) = labels.get_key_value(&name) {
            if let Some(first) = label.exact.first() {
                let category = Some(first.clone());
                confirmed
                    .set(&offer.category_path, CategoryDecision { category, ..CategoryDecision::default() });
            }
            // No more than the table has: a feed may be read in another way than its labels were made.
            let so_far = found.entry(name).or_default();
            *so_far += 1;
            if *so_far <= label.offers {
                judge(offer, label, knowledge, &survey, &mut counts);
            }
        }
        counts.created_after += u64::from(!record.is_bad() && is_created(offer, knowledge, &confirmed));
    }
    Ok(counts)
}

fn judge(offer: &FeedOffer, label: &Label, knowledge: &Knowledge, survey: &Survey, counts: &mut Counts) {
    let catalog = knowledge.recogniser.catalog();
    let decided = survey.find(&offer.category_path);
    let Some(category) = decided.and_then(|decided| decided.category.as_deref()) else {
        let suggested = decided.map_or(&[][..], |decided| &decided.suggestions);
        let is_right =
            suggested.iter().any(|one| is_under_any(catalog, one, label.exact.iter().chain(&label.also)));
        counts.suggested += u64::from(is_right);
        return;
    };
    let category = knowledge.recogniser.refine(&offer.title, category);
    let parent = |id: &str| catalog.category(id).and_then(|one| one.parent.clone());
    if is_under_any(catalog, category, label.exact.iter().chain(&label.also)) {
        counts.right += 1;
        counts.exact += u64::from(is_under_any(catalog, category, label.exact.iter()));
    } else if label.exact.iter().any(|exact| {
        parent(exact).as_deref() == Some(category)
            || (parent(exact).is_some() && parent(exact) == parent(category))
    }) {
        counts.near += 1;
    } else {
        counts.wrong += 1;
    }
}

fn is_under_any<'a>(catalog: &Catalog, category: &str, mut any: impl Iterator<Item = &'a String>) -> bool {
    any.any(|one| catalog.ancestry(category).any(|above| above.id == *one))
}

/// Nothing keeps the offer out.
fn is_created(offer: &FeedOffer, knowledge: &Knowledge, survey: &Survey) -> bool {
    let decided = survey.find(&offer.category_path);
    let (_, issues) = feeds::unify_decided(offer, knowledge, &Settings::default(), decided);
    issues.iter().all(|issue| issue.level() != Level::Error)
}

/// Of each feed, by its file's name.
fn labels(table: &Path) -> Result<BTreeMap<String, Labels>> {
    let text = std::fs::read_to_string(table).with_context(|| table.display().to_string())?;
    let mut feeds: BTreeMap<String, Labels> = BTreeMap::new();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (feed, offers, category, label, also) = (next(), next(), next(), next(), next());
        let list = |text: &str| text.split('|').filter(|id| !id.is_empty()).map(str::to_owned).collect();
        let exact = match label {
            "none" => Vec::new(),
            _ => list(label.strip_prefix("mixed:").unwrap_or(label)),
        };
        let offers: u64 = offers.parse().with_context(|| line.to_owned())?;
        let labels = feeds.entry(feed.to_owned()).or_default();
        let label = labels.entry(name(category)).or_insert(Label { offers: 0, exact, also: list(also) });
        label.offers += offers;
    }
    Ok(feeds)
}

/// With single spaces, as tables are written.
fn name(category: &str) -> String {
    category.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 }
}
