//! How much room an archived offer takes, and how long one is looked for.
//!
//! The offers are made from the words that sellers use: titles and descriptions of a few sentences, attributes, photos
//! with their hashes and sizes, places and phones. What is random in reality is random here (ids, hashes, phones), so
//! that compression finds no more than it would there.

use std::fmt::Write as _;
use std::time::Instant;

use bytes::Bytes;
use e2e::bench::{Figure, print, save};
use model::{
    Attribute, Contacts, Content, Location, Money, Offer, Origin, Photo, PhotoSize, PhotoState, Status, Value,
};
use offers::archive::format::{Writer, find};
use prost::Message as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use wire::model::value::Kind;

/// 180 million a year in 1,024 shards and 12 months.
const OFFERS: usize = 14_648;
const A_YEAR: f64 = 180e6;
const LOOKUPS: usize = 300;
const START: i64 = 1_790_000_000_000_000;
const MONTH: i64 = 30 * 86_400_000_000;

const NOUNS: &[&str] = &[
    "смартфон",
    "диван",
    "велосипед",
    "куртка",
    "ноутбук",
    "холодильник",
    "детская кроватка",
    "шины",
    "гитара",
    "стиральная машина",
    "платье",
    "кроссовки",
    "монитор",
    "книга",
    "дрель",
    "коляска",
    "фотоаппарат",
    "стол",
];
const BRANDS: &[&str] = &[
    "Samsung", "Xiaomi", "IKEA", "Bosch", "Nike", "Lenovo", "Stels", "LEGO", "Makita", "Canon", "Zara",
    "Michelin",
];
const SENTENCES: &[&str] = &[
    "Состояние отличное, пользовались аккуратно.",
    "Торг уместен при осмотре.",
    "Полный комплект, коробка и чек есть.",
    "Есть небольшие потёртости, на работу не влияют.",
    "Отправлю доставкой в любой город.",
    "Звоните с 9 до 21, на сообщения отвечаю.",
    "Продаю в связи с переездом.",
    "Покупали в прошлом году в официальном магазине.",
    "Самовывоз, метро рядом.",
    "Гарантия ещё действует до конца года.",
    "Размер указан на бирке, маломерит.",
    "Не битый, не крашеный, один хозяин.",
    "Все функции работают, можно проверить на месте.",
    "Обмен не интересует.",
    "Подарок, ни разу не использовался.",
];
const WORDS: &[&str] = &[
    "чёрный",
    "белый",
    "новый",
    "большой",
    "лёгкий",
    "удобный",
    "зимний",
    "мощный",
    "редкий",
    "кожаный",
    "складной",
    "тихий",
    "быстрый",
    "прочный",
    "оригинальный",
    "мягкий",
    "тёплый",
    "компактный",
    "сетевой",
    "цифровой",
];

fn pick<'a>(dice: &mut StdRng, list: &[&'a str]) -> &'a str {
    list[dice.random_range(0..list.len())]
}

fn hex(dice: &mut StdRng) -> String {
    (0..32).fold(String::new(), |mut text, _| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{:02x}", dice.random::<u8>());
        text
    })
}

fn description(dice: &mut StdRng) -> String {
    let mut text = String::new();
    for _ in 0..dice.random_range(2..9) {
        text.push_str(pick(dice, SENTENCES));
        for _ in 0..dice.random_range(0..6) {
            let _ = write!(text, " {} {},", pick(dice, WORDS), dice.random_range(1..5_000));
        }
        text.push(' ');
    }
    text
}

fn photo(dice: &mut StdRng) -> Photo {
    let sizes = [100, 400, 800, 1_600];
    let hash = hex(dice);
    Photo {
        url: format!("https://photos.seller.example/{}/{}.jpg", dice.random::<u32>(), &hash[..16]),
        state: PhotoState::Ready.into(),
        hash,
        width: 1_600,
        height: dice.random_range(800..1_600),
        sizes: sizes.map(|size| PhotoSize { size, width: size, height: size * 3 / 4 }).to_vec(),
        error: None,
        likeness: dice.random(),
        sharpness: dice.random_range(1..=1_000),
        exposure: dice.random_range(1..=1_000),
    }
}

fn attribute(dice: &mut StdRng, id: &str) -> Attribute {
    let kind = Kind::Option(format!("{id}-{}", dice.random_range(0..40)));
    Attribute { id: id.to_owned(), values: vec![Value { kind: Some(kind) }], unit: String::new() }
}

fn offer(dice: &mut StdRng, id: i64) -> Offer {
    let photos: Vec<_> = (0..dice.random_range(1..6)).map(|_| photo(dice)).collect();
    let title = format!(
        "{} {} {} {}",
        pick(dice, WORDS),
        pick(dice, NOUNS),
        pick(dice, BRANDS),
        dice.random_range(10..9_999)
    );
    let attributes = ["color", "material", "size", "model", "year"];
    let fed = dice.random_bool(0.6);
    let seller = dice.random_range(0..150);
    let created_at = START - dice.random_range(0..6 * MONTH);
    let content = Content {
        category_id: format!("category-{}", dice.random_range(0..300)),
        catalog_version: 1,
        title,
        description: description(dice),
        price: Some(Money { minor: dice.random_range(10_00..10_000_000), currency: "RUB".into() }),
        attributes: attributes.iter().map(|id| attribute(dice, id)).collect(),
        photo_urls: photos.iter().map(|photo| photo.url.clone()).collect(),
        location: Some(Location {
            lat: Some(55.0 + dice.random::<f64>()),
            lon: Some(37.0 + dice.random::<f64>()),
            address: format!("Москва, улица {}, {}", pick(dice, NOUNS), dice.random_range(1..200)),
            geo_id: "524901".into(),
            name: "Москва".into(),
        }),
        contacts: Some(Contacts {
            name: format!("Продавец {seller}"),
            phones: vec![format!("+79{:09}", dice.random_range(0..1_000_000_000_u64))],
            email: String::new(),
        }),
        vendor: pick(dice, BRANDS).into(),
        ..Content::default()
    };
    Offer {
        id,
        seller_id: format!("seller-{seller}"),
        origin: fed.then(|| Origin {
            namespace: "default".into(),
            external_id: format!("sku-{}", dice.random::<u32>()),
            task_id: dice.random_range(1..400),
            line: dice.random_range(1..1_000_000),
        }),
        version: dice.random_range(2..12),
        status: Status::SoldElsewhere.into(),
        content: Some(content),
        photos,
        created_at,
        updated_at: created_at + dice.random_range(0..MONTH),
        expires_at: created_at + 2 * MONTH,
        status_at: START + dice.random_range(0..MONTH),
        created_by: format!("token-{seller}"),
        ..Offer::default()
    }
}

pub(crate) fn run() -> anyhow::Result<()> {
    let mut dice = StdRng::seed_from_u64(1);
    let mut ids: Vec<i64> = (0..OFFERS).map(|_| (7 << 40) | dice.random_range(0..1_i64 << 40)).collect();
    ids.sort_unstable();
    ids.dedup();
    let (mut file, mut raw) = (Vec::new(), 0);
    let begun = Instant::now();
    let mut writer = Writer::new(&mut file)?;
    for id in &ids {
        let offer = offer(&mut dice, *id);
        raw += offer.encoded_len();
        writer.push(offer)?;
    }
    writer.finish()?;
    let written = begun.elapsed();
    let count = ids.len() as f64;
    let bytes = file.len() as f64 / count;
    let file = Bytes::from(file);
    let begun = Instant::now();
    for _ in 0..LOOKUPS {
        let id = ids[dice.random_range(0..ids.len())];
        anyhow::ensure!(
            find(file.clone(), id)?.is_some_and(|offer| offer.id == id),
            "offer {id} is not found"
        );
    }
    let looked = begun.elapsed();
    let index = 6.0;
    let figures = [
        Figure::new("an offer as it is in the tables", "bytes", raw as f64 / count, "-"),
        Figure::new("an archived offer, in its file", "bytes", bytes, "small"),
        Figure::new("its place in the index", "bytes", index, "-"),
        Figure::new("180 million offers", "GB", (bytes + index) * A_YEAR / 1e9, "on one disk"),
        Figure::new("a month of a shard", "kB", file.len() as f64 / 1e3, "-"),
        Figure::new("offers written", "per second", count / written.as_secs_f64(), "-"),
        Figure::new("one offer found in a file", "µs", looked.as_micros() as f64 / LOOKUPS as f64, "-"),
    ];
    print("archive", &figures);
    save("archive", &figures)
}
