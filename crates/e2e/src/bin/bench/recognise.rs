//! Titles a second on one core, with the shipped catalog and with a large one, and how often real sellers' categories are
//! recognised right.
//!
//! The large catalog is a folder of tables as `dvor catalog import` takes them; it is named by the first argument or by
//! DVOR_BENCH_TAXONOMY and is no part of the project. Without one, only the shipped catalog is measured. The same holds for
//! the labelled feeds ([`quality`]).

#[path = "recognise/quality.rs"]
mod quality;

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use catalog::{Catalog, Given, Recogniser};
use e2e::bench::{self, Figure};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

const TITLES: usize = 20_000;
const TIME: Duration = Duration::from_secs(4);
const WANTED: &str = "≥ 100000";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of a large taxonomy's tables
    #[arg(env = "DVOR_BENCH_TAXONOMY")]
    taxonomy: Option<String>,
    /// Folder of sellers' feeds
    #[arg(long, env = "DVOR_BENCH_FEEDS")]
    feeds: Option<PathBuf>,
    /// Table of their categories: feed, offers, seller_category, label, also_right
    #[arg(long, env = "DVOR_BENCH_LABELS")]
    labels: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut figures = measure("shipped", &Catalog::shipped());
    if let Some(taxonomy) = &arguments.taxonomy {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("catalog");
        catalog::import(&[taxonomy.into()], &target).with_context(|| taxonomy.clone())?;
        figures.extend(measure("large", &Catalog::load(&target)?));
    } else {
        println!("no large catalog: name a folder of tables, or set DVOR_BENCH_TAXONOMY");
    }
    bench::print("Recognition, one core", &figures);
    if let (Some(feeds), Some(labels)) = (&arguments.feeds, &arguments.labels) {
        let quality = quality::measure(feeds, labels)?;
        bench::print("Sellers' categories, without a person", &quality);
        figures.extend(quality);
    } else {
        println!("no labelled feeds: name them by --feeds and --labels");
    }
    bench::save("recognise", &figures)
}

fn measure(name: &str, catalog: &Catalog) -> Vec<Figure> {
    let began = Instant::now();
    let recogniser = catalog.recogniser();
    let built = began.elapsed().as_secs_f64() * 1000.0;
    let titles = titles(catalog);
    let path = |title: &Title| {
        let confident = recogniser.recognise(&title.text, &[]);
        confident.category.as_deref() == Some(&catalog.categories()[title.category].id)
    };
    let right = titles.iter().filter(|title| path(title)).count();
    println!(
        "{name}: {} categories, index built in {built:.0} ms, {:.1} % of made titles get their own category",
        catalog.categories().len(),
        100.0 * right as f64 / titles.len() as f64
    );
    let bare = rate(&titles, |title| drop(black_box(recogniser.recognise(&title.text, &[]))));
    let with_path = rate(&titles, |title| {
        let path: Vec<&str> = title.path.iter().map(String::as_str).collect();
        drop(black_box(recogniser.recognise(&title.text, &path)));
    });
    let attributes = rate(&titles, |title| recognise_attributes(&recogniser, catalog, title));
    let known = rate(&titles, |title| {
        black_box(recogniser.refine(&title.text, &catalog.categories()[title.category].id));
    });
    vec![
        Figure::new(format!("{name}: titles"), "per s", bare, WANTED),
        Figure::new(format!("{name}: titles of a decided category"), "per s", known, WANTED),
        Figure::new(format!("{name}: titles with a seller's path"), "per s", with_path, ""),
        Figure::new(format!("{name}: attributes of an offer"), "per s", attributes, ""),
    ]
}

fn recognise_attributes(recogniser: &Recogniser, catalog: &Catalog, title: &Title) {
    let given = [
        Given { name: "Цвет", value: "чёрный", unit: "" },
        Given { name: "Вес", value: "1,5", unit: "кг" },
        Given { name: "Бренд", value: "Samsung", unit: "" },
    ];
    let id = &catalog.categories()[title.category].id;
    drop(black_box(recogniser.recognise_attributes(id, &given, &title.text)));
}

struct Title {
    text: String,
    path: Vec<String>,
    category: usize,
}

/// Titles as sellers write them: a thing, a maker, a model, properties, a purpose.
fn titles(catalog: &Catalog) -> Vec<Title> {
    const MAKERS: &[&str] =
        &["Samsung", "Bosch", "Apple", "ООО Ромашка", "Xiaomi", "IKEA", "Nike", "Zorbax", "LG"];
    const MORE: &[&str] = &[
        "чёрный",
        "новый",
        "256 ГБ",
        "оригинал",
        "с гарантией",
        "1,5 кг",
        "в отличном состоянии",
        "black",
        "100x200 см",
        "для дома",
        "премиум",
        "доставка",
        "набор 3 шт",
        "with warranty",
        "large size",
    ];
    let mut random = StdRng::seed_from_u64(7);
    let some = |list: &[&str], random: &mut StdRng| (*list.choose(random).unwrap_or(&"")).to_owned();
    (0..TITLES)
        .map(|_| {
            let category = random.random_range(0..catalog.categories().len());
            let found = &catalog.categories()[category];
            let russian = random.random_bool(0.7);
            let language = if russian { catalog::Language::Russian } else { catalog::Language::English };
            let synonyms = if russian { &found.synonyms.ru } else { &found.synonyms.en };
            let thing = synonyms.choose(&mut random).map_or(found.names.get(language), String::as_str);
            let model = format!(
                "{}-{}",
                ["SM", "KX", "PRO", "А"][random.random_range(0..4)],
                random.random_range(10..9999)
            );
            let (maker, one, two) =
                (some(MAKERS, &mut random), some(MORE, &mut random), some(MORE, &mut random));
            let text = format!("{thing} {maker} {model} {one}, {two}");
            let path = catalog.path(&found.id, language).into_iter().map(str::to_owned).collect();
            Title { text, path, category }
        })
        .collect()
}

fn rate<T>(all: &[T], work: impl Fn(&T)) -> f64 {
    all.iter().take(1000).for_each(&work);
    let (began, mut done) = (Instant::now(), 0);
    while began.elapsed() < TIME {
        all.iter().for_each(&work);
        done += all.len();
    }
    done as f64 / began.elapsed().as_secs_f64()
}
