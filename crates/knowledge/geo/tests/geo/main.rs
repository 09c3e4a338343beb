//! Addresses and coordinates, and the places they lie in.

use std::sync::LazyLock;

use geo::{Answer, Places};

static PLACES: LazyLock<Places> = LazyLock::new(Places::shipped);

/// The Russian name and the region of the place, or what else the answer is.
fn found(address: &str) -> String {
    match PLACES.find_text(address) {
        Answer::Found(place) => format!("{} {}", place.name_ru, place.region),
        Answer::Ambiguous(places) => format!("ambiguous {}", places.len()),
        Answer::NotFound { .. } => "none".to_owned(),
    }
}

#[test]
fn addresses_are_found() {
    let mut wrong = Vec::new();
    for (address, expected) in [
        ("Новосибирск", "Новосибирск RU.53"),
        ("в Новосибирске", "Новосибирск RU.53"),
        ("г. Москва, ул. Ленина, д. 5", "Москва RU.48"),
        ("мск", "Москва RU.48"),
        ("СПб, Невский проспект 28", "Санкт-Петербург RU.66"),
        ("Санкт-Петербург", "Санкт-Петербург RU.66"),
        ("Питер", "Санкт-Петербург RU.66"),
        ("в Санкт-Петербурге", "Санкт-Петербург RU.66"),
        ("St. Petersburg, Russia", "Санкт-Петербург RU.66"),
        ("Московская область, Химки, Юбилейный проспект, 7", "Химки RU.47"),
        ("Московская обл., г. Химки", "Химки RU.47"),
        ("обл. Свердловская, г Екатеринбург, ул Малышева 51", "Екатеринбург RU.71"),
        ("Екб, ул. Московская, 12", "Екатеринбург RU.71"),
        ("Ростов-на-Дону, ул. Садовая", "Ростов-на-Дону RU.61"),
        ("Нижний Новгород, Московское шоссе 5", "Нижний Новгород RU.51"),
        ("Н.Новгород", "Нижний Новгород RU.51"),
        ("Россия, Татарстан, Казань, Кремлёвская ул., 18", "Казань RU.73"),
        ("Республика Татарстан, г. Набережные Челны", "Набережные Челны RU.73"),
        ("Новосибрск", "Новосибирск RU.53"),
        ("Екатеринбруг", "Екатеринбург RU.71"),
        ("Kazan", "Казань RU.73"),
        ("Novosibirsk, Lenina street 12", "Новосибирск RU.53"),
        ("Красноярский край, Железногорск", "Железногорск RU.91"),
        ("Курская область, г. Железногорск", "Железногорск RU.41"),
        ("Краснодарский край, Сочи, Курортный проспект", "Сочи RU.38"),
        ("Минск, Беларусь", "Минск BY.04"),
        ("Paris, France", "Париж FR.11"),
        ("Berlin", "Берлин DE.16"),
        ("Germany, Heidelberg, Hauptstraße 5", "Хайдельберг DE.01"),
        ("деревня Ивановка, Тульская область", "none"),
        ("Московская область, Москва", "Москва RU.48"),
        ("Челябинс", "Челябинск RU.13"),
        ("ХМАО, Сургут", "Сургут RU.32"),
        ("Томск, пр. Ленина 30", "Томск RU.75"),
        ("630099, Новосибирск, Красный проспект, 25", "Новосибирск RU.53"),
    ] {
        let answer = found(address);
        if answer != expected {
            wrong.push(format!("{address}: {answer}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_nothing_decides_is_not_guessed() {
    assert!(found("Железногорск").starts_with("ambiguous"), "{}", found("Железногорск"));
    for nowhere in ["", "ул. Московская 5", "йцукенгшщз", "12345", "дом у реки", ", , ,"]
    {
        assert_eq!(found(nowhere), "none", "{nowhere}");
    }
}

#[test]
fn a_region_alone_suggests_its_cities() {
    let Answer::NotFound { suggestions } = PLACES.find_text("Новосибирская область")
    else {
        panic!()
    };
    assert_eq!(suggestions[0].name_ru, "Новосибирск");
    let Answer::NotFound { suggestions } = PLACES.find_text("Qqqq") else { panic!() };
    assert!(suggestions.is_empty());
}

#[test]
fn coordinates_lie_in_the_nearest_place() {
    for (lat, lon, expected) in [
        (55.7558, 37.6173, "Москва"),
        (55.8893, 37.4450, "Химки"),
        (55.9105, 37.7363, "Мытищи"),
        (55.0302, 82.9204, "Новосибирск"),
        (59.9343, 30.3351, "Санкт-Петербург"),
        (56.8389, 60.6057, "Екатеринбург"),
        (48.8566, 2.3522, "Париж"),
    ] {
        let (place, _) = PLACES.nearest(lat, lon).unwrap();
        assert_eq!(place.name_ru, expected, "{lat},{lon}");
    }
}

#[test]
fn nowhere_is_nowhere() {
    for (lat, lon) in [(0.0, -140.0), (91.0, 0.0), (0.0, 181.0), (f64::NAN, 0.0), (90.0, 0.0)] {
        assert_eq!(PLACES.nearest(lat, lon), None, "{lat},{lon}");
    }
}

#[test]
fn a_point_beyond_the_date_line_finds_its_neighbour() {
    let (place, _) = PLACES.nearest(-16.8, -179.99).unwrap();
    assert_eq!(place.country, "FJ");
}

#[test]
fn ids_are_those_of_geonames() {
    assert_eq!(PLACES.place(1_496_747).unwrap().name, "Novosibirsk");
    assert_eq!(PLACES.region("RU.53").unwrap().name_ru, "Новосибирская область");
    assert_eq!(PLACES.country("RU").unwrap().name_ru, "Россия");
    assert!(PLACES.all().len() > 45_000);
}

#[test]
fn packing_and_unpacking_give_the_same_and_damage_is_noticed() {
    let places = "geonameid\tname\tname_ru\tcc\tadmin1\tlat\tlon\tpopulation\talternates\n\
        7\tTomsk\tТомск\tRU\t75\t56.4977\t84.9744\t574002\tТомскъ град|Tom'sk";
    let regions = "code\tcc\tname\tname_ru\tlat\tlon\nRU.75\tRU\tTomsk Oblast\tТомская область\t1\t2";
    let countries = "cc\tgeonameid\tname\tname_ru\nRU\t1\tRussia\tРоссия";
    let packed = geo::pack(places, regions, countries).unwrap();
    let unpacked = Places::unpack(&packed).unwrap();
    assert!(matches!(unpacked.find_text("г. Томск"), Answer::Found(place) if place.id == 7));
    assert!(Places::unpack(&packed[..packed.len() / 2]).is_err());
    assert!(Places::unpack(b"").is_err());
    assert!(geo::pack("head\nno columns", regions, countries).unwrap_err().to_string().contains("line 2"));
}
