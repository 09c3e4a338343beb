//! Addresses and coordinates a second on one core.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use e2e::bench::{self, Figure};
use geo::{Answer, Place, Places};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

const ADDRESSES: usize = 20_000;
const TIME: Duration = Duration::from_secs(4);

pub(crate) fn run() -> Result<()> {
    let began = Instant::now();
    let places = Places::shipped();
    println!("{} places unpacked and indexed in {} ms", places.all().len(), began.elapsed().as_millis());
    let mut random = StdRng::seed_from_u64(7);
    let russian: Vec<&Place> = places.all().iter().filter(|place| place.country == "RU").collect();
    let chosen: Vec<&Place> =
        (0..ADDRESSES).map(|_| russian[random.random_range(0..russian.len())]).collect();
    let full: Vec<String> = chosen.iter().map(|place| address(&places, place)).collect();
    let misspelt: Vec<String> =
        chosen.iter().map(|place| without_a_letter(&place.name_ru, &mut random)).collect();
    let right = chosen.iter().zip(&full).filter(|(place, text)| is(&places, text, place)).count();
    println!("{:.1} % of «region, city, street» are found", 100.0 * right as f64 / ADDRESSES as f64);
    let find = |text: &String| drop(black_box(places.find_text(text)));
    let figures = [
        Figure::new("region, city, street", "per s", rate(&full, find), "≥ 50000"),
        Figure::new("a name with a letter missing", "per s", rate(&misspelt, find), ""),
        Figure::new(
            "coordinates",
            "per s",
            rate(&chosen, |place| {
                black_box(places.nearest(place.lat + 0.01, place.lon));
            }),
            "",
        ),
    ];
    bench::print("Places, one core", &figures);
    bench::save("geo", &figures)
}

fn address(places: &Places, place: &Place) -> String {
    let region = places.region(&place.region).map_or("", |region| region.name_ru.as_str());
    format!("{region}, г. {}, ул. Ленина, д. 12", place.name_ru)
}

/// Whether the text is found, or at least not decided wrongly among places of one name in one region.
fn is(places: &Places, text: &str, place: &Place) -> bool {
    match places.find_text(text) {
        Answer::Found(found) => found.name_ru == place.name_ru && found.region == place.region,
        Answer::Ambiguous(all) => all.iter().any(|one| one.id == place.id),
        Answer::NotFound { .. } => false,
    }
}

fn without_a_letter(name: &str, random: &mut StdRng) -> String {
    let gap = random.random_range(0..name.chars().count().max(1));
    name.chars().enumerate().filter(|(at, _)| *at != gap).map(|(_, letter)| letter).collect()
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
