//! Feeds of our own format, made while they are read: any size, the same for the same seed.

use std::io::{self, Read};

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed version=\"1\">\n<offers>\n";
const TAIL: &str = "</offers>\n</feed>\n";
const WORDS: &[&str] = &[
    "отличное",
    "состояние",
    "гарантия",
    "доставка",
    "по",
    "городу",
    "и",
    "области",
    "новый",
    "комплект",
    "оригинал",
    "без",
    "царапин",
    "самовывоз",
    "возможен",
    "торг",
    "подарок",
    "к",
    "покупке",
    "чек",
    "коробка",
    "документы",
    "производство",
    "Россия",
    "качество",
    "проверено",
    "временем",
    "размер",
    "большой",
    "малый",
    "цвет",
    "серый",
];
/// A name, its unit, and the range of its values.
type Measure = (&'static str, &'static str, u32, u32);
/// What is sold: its name, category and vendor, and an attribute that the category has.
const GOODS: &[(&str, &str, &str, Measure)] = &[
    ("Смартфон", "Электроника / Телефоны / Смартфоны", "Samsung", ("Встроенная память", "ГБ", 32, 512)),
    ("Ноутбук", "Электроника / Компьютеры / Ноутбуки", "Lenovo", ("Оперативная память", "ГБ", 4, 64)),
    ("Диван угловой", "Дом / Мебель / Диваны", "Много мебели", ("Ширина", "см", 120, 320)),
    ("Велосипед горный", "Спорт / Велосипеды", "Stels", ("Диаметр колёс", "дюйм", 20, 29)),
    ("Чайник электрический", "Бытовая техника / Чайники", "Bosch", ("Мощность", "Вт", 800, 2_400)),
    ("Куртка зимняя", "Одежда / Верхняя одежда / Куртки", "Columbia", ("Размер", "", 42, 62)),
];
const CITIES: &[&str] =
    &["Москва", "Казань", "Новосибирск", "Екатеринбург", "Самара", "Пермь", "Тула", "Омск"];

const STREETS: &[&str] = &["Садовая", "Лесная", "Центральная", "Заводская", "Школьная"];

/// An offer has about two kilobytes.
pub struct OwnFeed {
    random: SmallRng,
    text: Vec<u8>,
    at: usize,
    number: u64,
    bytes: u64,
    end: End,
    ended: bool,
    edition: Edition,
    photos: String,
}

/// Which of two files, alike but for some offers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edition {
    First,
    /// Every hundredth offer has another price.
    Second,
}

/// Where a feed ends.
#[derive(Clone, Copy)]
pub enum End {
    Offers(u64),
    Bytes(u64),
}

impl OwnFeed {
    pub fn new(end: End) -> Self {
        Self::of(end, Edition::First, "https://shop.example")
    }

    /// `photos` is the server that the photos' urls name.
    pub fn of(end: End, edition: Edition, photos: &str) -> Self {
        let random = SmallRng::seed_from_u64(7);
        let photos = photos.to_owned();
        Self { random, text: HEAD.into(), at: 0, number: 0, bytes: 0, end, ended: false, edition, photos }
    }

    fn more(&mut self) {
        self.at = 0;
        self.text.clear();
        let over = match self.end {
            End::Offers(offers) => self.number >= offers,
            End::Bytes(bytes) => self.bytes >= bytes,
        };
        if over {
            if !self.ended {
                self.ended = true;
                self.text.extend_from_slice(TAIL.as_bytes());
            }
            return;
        }
        let offer = self.offer();
        self.text.extend_from_slice(offer.as_bytes());
        self.bytes += self.text.len() as u64;
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.random.random_range(0..WORDS.len())]).collect();
        words.join(" ")
    }

    fn offer(&mut self) -> String {
        self.number += 1;
        let number = self.number;
        let (name, category, vendor, (attribute, unit, least, most)) =
            GOODS[self.random.random_range(0..GOODS.len())];
        let city = CITIES[self.random.random_range(0..CITIES.len())];
        let model: u32 = self.random.random_range(100..99_999);
        let mut price: u32 = self.random.random_range(100..200_000);
        if self.edition == Edition::Second && number.is_multiple_of(100) {
            price += 1;
        }
        let description = self.words(75);
        let photos = self.photos.clone();
        let street = STREETS[self.random.random_range(0..STREETS.len())];
        let value: u32 = self.random.random_range(least..most);
        let unit = if unit.is_empty() { String::new() } else { format!(" unit=\"{unit}\"") };
        let weight: u32 = self.random.random_range(100..20_000);
        let house: u32 = self.random.random_range(1..200);
        format!(
            "<offer id=\"SKU-{number}\">\n  <title>{name} {vendor} {model}</title>\n  <description>{description} &amp; прочее</description>\n  \
             <category>{category}</category>\n  <price currency=\"RUB\">{price}.00</price>\n  <condition>new</condition>\n  \
             <attributes>\n    <attribute name=\"Цвет\">серый</attribute>\n    <attribute name=\"{attribute}\"{unit}>{value}</attribute>\n  </attributes>\n  \
             <images>\n    <image>{photos}/photos/{number}/front.jpg</image>\n    <image>{photos}/photos/{number}/back.jpg</image>\n    \
             <image>{photos}/photos/{number}/side.jpg</image>\n  </images>\n  <location>{city}, улица {street}, {house}</location>\n  \
             <contacts>\n    <name>Магазин</name>\n    <phone>+7 900 {model:07}</phone>\n  </contacts>\n  <url>https://shop.example/goods/{number}</url>\n  \
             <vendor>{vendor}</vendor>\n  <weight unit=\"g\">{weight}</weight>\n</offer>\n"
        )
    }
}

impl Read for OwnFeed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.more();
        }
        let count = buffer.len().min(self.text.len() - self.at);
        buffer[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
