//! The sample goods in every format, with a few bad and odd offers in each.

use std::fmt::Write as _;

use serde_json::json;

use super::goods::{BOOKS, GARDEN, GARDEN_LABELS, GARDEN_TOOLS, Good, Label, TOOL_LABELS, TOOLS};

/// A price that moves with the turns, so that some offers change and most do not.
fn price(good: &Good, place: usize, turn: usize) -> u32 {
    let step = if (turn + place).is_multiple_of(4) { (turn % 9) as u32 * 10 } else { 0 };
    good.price + step
}

fn photo(base: &str, good: &Good, number: u8) -> String {
    format!("{base}/photos/{}-{number}.png", good.id)
}

fn priced(goods: &'static [Good], turn: usize) -> impl Iterator<Item = (&'static Good, u32)> {
    goods.iter().enumerate().map(move |(place, good)| (good, price(good, place, turn)))
}

/// What the seller's label adds to a good's record, if it has one.
fn labelled(labels: &[Label], good: &Good, write: impl Fn(&Label) -> String) -> String {
    labels.iter().find(|label| label.id == good.id).map(write).unwrap_or_default()
}

/// A ladder is weighed on bad scales: its weight flaps, and each time it is shipped.
fn weight_now(label: &Label, turn: usize) -> String {
    let extra = if label.id == "ladder-5" && (turn / 9).is_multiple_of(2) { "5" } else { "" };
    format!("{}{extra}", label.weight_kg)
}

/// Our own XML.
pub(super) fn own_xml(base: &str, turn: usize) -> String {
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed version=\"1\">\n  <offers>\n".to_owned();
    for (good, price) in priced(&TOOLS, turn) {
        let label = labelled(&TOOL_LABELS, good, |label| {
            let weight = weight_now(label, turn);
            format!(
                "      <vendor>{}</vendor>\n      <barcode>{}</barcode>\n      <weight unit=\"kg\">{weight}</weight>\n",
                label.vendor, label.barcode
            )
        });
        let _ = write!(
            text,
            "    <offer id=\"{}\">\n      <title>{}</title>\n      <description>Новый, в заводской упаковке. Гарантия два \
             года.</description>\n      <category>{}</category>\n      <price currency=\"RUB\">{price}</price>\n      \
             <condition>new</condition>\n      <attributes><attribute name=\"Цвет\">{}</attribute></attributes>\n      \
             <images><image>{}</image><image>{}</image></images>\n      <video>{base}/videos/{}</video>\n      \
             <location>{}</location>\n{label}    </offer>\n",
            good.id,
            good.title,
            good.category,
            good.colour,
            photo(base, good, 1),
            photo(base, good, 2),
            good.id,
            good.place
        );
    }
    // A good that comes and goes.
    if turn.is_multiple_of(2) {
        text.push_str(
            "    <offer id=\"action-1\">\n      <title>Набор инструментов, 82 предмета</title>\n      \
             <category>Ручной инструмент</category>\n      <price currency=\"RUB\">6990</price>\n      \
             <location>Новосибирск</location>\n    </offer>\n",
        );
    }
    text.push_str(
        "    <offer id=\"bad-price\">\n      <title>Пила по дереву</title>\n      <price currency=\"RUB\">дорого</price>\n      \
         <location>Томск</location>\n    </offer>\n    <offer id=\"bad-tag\">\n      <title>Рулетка 5 м</title>\n      \
         <cost>300</cost>\n    </offer>\n  </offers>\n</feed>\n",
    );
    text
}

pub(super) fn yml(base: &str) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<yml_catalog date=\"2026-03-01 09:00\">\n  <shop>\n    \
        <name>Северный инструмент</name>\n    <currencies><currency id=\"RUB\" rate=\"1\"/></currencies>\n    \
        <categories>\n      <category id=\"1\">Ремонт и стройка</category>\n      \
        <category id=\"2\" parentId=\"1\">Расходные материалы</category>\n    </categories>\n    <offers>\n"
        .to_owned();
    for (number, size) in [4, 6, 8, 10, 12].into_iter().enumerate() {
        let _ = write!(
            text,
            "      <offer id=\"bit-{size}\">\n        <name>Сверло по бетону {size} мм</name>\n        \
             <price>{}</price>\n        <currencyId>RUB</currencyId>\n        <categoryId>2</categoryId>\n        \
             <picture>{base}/photos/bit-{size}-1.png</picture>\n        <location>Новосибирск</location>\n      </offer>\n",
            90 + 35 * number
        );
    }
    text.push_str(
        "      <offer id=\"bit-4\">\n        <name>Сверло по бетону 4 мм (повтор)</name>\n        <price>95</price>\n        \
         <currencyId>RUB</currencyId>\n        <categoryId>2</categoryId>\n        <location>Новосибирск</location>\n      \
         </offer>\n      <offer id=\"disc-x\">\n        <name>Диск отрезной 125 мм</name>\n        \
         <price>70</price>\n        <currencyId>RUB</currencyId>\n        <categoryId>77</categoryId>\n        \
         <location>Нигдеград</location>\n      </offer>\n    </offers>\n  </shop>\n</yml_catalog>\n",
    );
    text
}

pub(super) fn avito(base: &str, turn: usize) -> String {
    let mut text = "<Ads formatVersion=\"3\" target=\"Avito.ru\">\n".to_owned();
    for (good, price) in priced(&GARDEN, turn).chain(priced(&GARDEN_TOOLS, turn)) {
        let label = labelled(&GARDEN_LABELS, good, |label| {
            format!(
                "    <Brand>{}</Brand>\n    <Barcode>{}</Barcode>\n    <WeightForDelivery>{}</WeightForDelivery>\n",
                label.vendor, label.barcode, label.weight_kg
            )
        });
        let _ = write!(
            text,
            "  <Ad>\n    <Id>{}</Id>\n    <Category>{}</Category>\n    <Title>{}</Title>\n    \
             <Description><![CDATA[<p>Со склада. Привезём по городу.</p>]]></Description>\n    <Price>{price}</Price>\n    \
             <Address>{}</Address>\n    <ContactPhone>+7 900 000-00-00</ContactPhone>\n    <Condition>Новое</Condition>\n    \
             <Images><Image url=\"{}\"/></Images>\n{label}  </Ad>\n",
            good.id,
            good.category,
            good.title,
            good.place,
            photo(base, good, 1)
        );
    }
    let _ = write!(
        text,
        "  <Ad>\n    <Id>lost-photo</Id>\n    <Category>Садовый инструмент</Category>\n    <Title>Секатор садовый</Title>\n    \
         <Price>870</Price>\n    <Address>Казань</Address>\n    <Images><Image url=\"{base}/photos/missing.png\"/></Images>\n  \
         </Ad>\n  <Ad>\n    <Id>no-title</Id>\n    <Price>10</Price>\n  </Ad>\n</Ads>\n"
    );
    text
}

/// Which of the two forms of Google's feeds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Google {
    Rss,
    Atom,
}

pub(super) fn google(base: &str, form: Google, turn: usize) -> String {
    let (head, tag, tail) = match form {
        Google::Rss => (
            "<?xml version=\"1.0\"?>\n<rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\">\n<channel>\n\
             <title>Книжный двор</title>\n",
            "item",
            "</channel>\n</rss>\n",
        ),
        Google::Atom => (
            "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" \
             xmlns:g=\"http://base.google.com/ns/1.0\">\n<title>Книжный двор</title>\n",
            "entry",
            "</feed>\n",
        ),
    };
    // The two feeds share no goods.
    let part = |place: usize| (form == Google::Rss) == (place < 5);
    let mut text = head.to_owned();
    for (_, (good, price)) in priced(&BOOKS, turn).enumerate().filter(|(place, _)| part(*place)) {
        let _ = write!(
            text,
            "<{tag}>\n<g:id>{}</g:id>\n<title>{}</title>\n<g:description>Состояние как новое.</g:description>\n\
             <g:image_link>{}</g:image_link>\n<g:price>{price} RUB</g:price>\n<g:condition>used</g:condition>\n\
             <g:product_type>Хобби &gt; {}</g:product_type>\n<g:address>{}</g:address>\n</{tag}>\n",
            good.id,
            good.title,
            photo(base, good, 1),
            good.category,
            good.place
        );
    }
    text.push_str(tail);
    text
}

/// Google's table, and a row that is too short.
pub(super) fn google_tsv() -> String {
    let mut text = "id\ttitle\tdescription\tprice\tproduct type\taddress\n".to_owned();
    for number in 1..=6 {
        let _ = writeln!(
            text,
            "map-{number}\tКарта области, лист {number}, книга карт\tПечать на ткани\t{} RUB\tХобби > Книги\tТула",
            700 + 20 * number
        );
    }
    text.push_str("map-7\tКарта без цены\n");
    text
}

pub(super) fn csv() -> String {
    let mut text = "Артикул;Название;Цена;Валюта;Категория;Адрес;Цвет\n".to_owned();
    for (number, name) in
        ["Розетка двойная", "Выключатель одинарный", "Удлинитель 5 м", "Кабель ВВГ 3×2,5, 10 м"]
            .into_iter()
            .enumerate()
    {
        let _ = writeln!(text, "el-{number};{name};{};RUB;Электрика;Новосибирск;белый", 180 + 240 * number);
    }
    text.push_str("el-9;Розетка уличная;12O;RUB;Электрика;Новосибирск;белый\n");
    text
}

pub(super) fn json() -> String {
    let offers: Vec<_> = ["Тюльпаны, 15 штук", "Розы красные, 7 штук", "Букет полевых цветов"]
        .into_iter()
        .enumerate()
        .map(|(number, title)| {
            json!({ "id": format!("bouquet-{number}"), "title": title, "price": { "amount": 1_500 + 400 * number, "currency": "RUB" },
                    "category": "Цветы и букеты", "address": "Казань" })
        })
        .collect();
    json!({ "offers": offers }).to_string()
}

/// Seedlings as JSON lines, so many of them.
pub(super) fn json_lines(count: usize) -> String {
    let sorts = ["Томат «Бычье сердце»", "Перец сладкий", "Огурец тепличный", "Капуста ранняя", "Базилик"];
    (0..count).fold(String::new(), |text, number| {
        let title = format!("Рассада: {}, ячейка {}", sorts[number % sorts.len()], number + 1);
        let row = json!({ "id": format!("seed-{number}"), "title": title, "price": format!("{} RUB", 40 + number % 30),
                          "category": "Растения", "address": "Казань" });
        text + &row.to_string() + "\n"
    })
}

/// A file that was not transferred whole.
pub(super) fn cut_off(base: &str) -> String {
    let whole = google(base, Google::Rss, 0);
    whole.chars().take(whole.chars().count() / 2).collect()
}
