//! Titles as sellers write them, and the categories they speak of.

use std::sync::LazyLock;

use catalog::{Catalog, Recogniser};

static RECOGNISER: LazyLock<Recogniser> = LazyLock::new(|| Catalog::shipped().recogniser());

#[test]
fn titles_are_recognised() {
    let recogniser = &*RECOGNISER;
    let mut wrong = Vec::new();
    for (title, expected) in [
        ("Смартфон Apple iPhone 15 Pro 256GB черный", "smartphones"),
        ("iPhone 13 128 гб", "smartphones"),
        ("Чехол для iPhone 15", "phone-cases"),
        ("Чехол-книжка на Samsung Galaxy A52", "phone-cases"),
        ("Samsung phone case", "phone-cases"),
        ("Защитное стекло для айфона 12", "screen-protectors"),
        ("Ноутбук ASUS VivoBook 15, 8/512 ГБ", "laptops"),
        ("Игровой ноутбук MSI", "gaming-laptops"),
        ("MacBook Air M1", "laptops"),
        ("Холодильник Bosch No Frost", "refrigerators"),
        ("Стиральная машинка LG 7 кг", "washing-machines"),
        ("Toyota Corolla, 2012", "cars"),
        ("Продам Lada Granta", "cars"),
        ("Коврики для автомобиля Toyota Camry", "car-accessories"),
        ("Бампер передний Kia Rio", "body-parts"),
        ("Зимняя резина Nokian R16", "car-tyres"),
        ("2-к квартира, 54 м², 5/9 эт.", "apartments-sale"),
        ("Сдам квартиру на длительный срок", "apartments-rent"),
        ("Квартира посуточно в центре", "apartments-daily"),
        ("Земельный участок 10 соток ИЖС", "land"),
        ("Водитель категории Е", "driver-jobs"),
        ("Требуется повар в кафе", "restaurant-jobs"),
        ("Ремонт стиральных машин на дому", "appliance-repair"),
        ("Репетитор по математике ЕГЭ", "tutoring"),
        ("Грузоперевозки Газель, грузчики", "moving-services"),
        ("Щенки немецкой овчарки", "dogs"),
        ("Котята мейн-кун", "cats"),
        ("Корм для кошек Royal Canin 10 кг", "cat-food"),
        ("Платье женское вечернее 44", "dresses"),
        ("Платье для девочки 110", "girls-clothing"),
        ("Кроссовки Nike Air Max 42", "sneakers"),
        ("Puma кроссовки мужские", "sneakers"),
        ("Коляска прогулочная Chicco", "strollers"),
        ("Конструктор LEGO Technic", "construction-toys"),
        ("Диван-кровать угловой", "sofas"),
        ("Дрель-шуруповёрт Makita 18В", "drills"),
        ("Горный велосипед Stels 27.5", "mountain-bikes"),
        ("Акустическая гитара Yamaha F310", "guitars"),
        ("Стол письменный белый", "desks"),
        ("Мотор лодочный Yamaha 9.9", "boat-engines"),
        ("Снять 1-к квартиру", "apartments-rent"),
        ("BMW X5 3.0 AT, 2015, 120 000 км", "cars"),
        ("Колёса в сборе R16 Toyota", "tyres"),
        ("leather office chair", "office-chairs"),
        ("Winter tyres Michelin 205/55", "car-tyres"),
        ("Электросамокат Kugoo S3", "electric-scooters"),
        ("Игровая приставка Sony PlayStation 5", "consoles"),
    ] {
        let found = recogniser.recognise(title, &[]);
        if found.category.as_deref() != Some(expected) || !found.confident {
            wrong.push(format!("{title}: {found:?}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_sellers_path_decides_where_the_title_does_not() {
    let recogniser = &*RECOGNISER;
    let category = |title: &str, path: &[&str]| {
        let found = recogniser.recognise(title, path);
        found.confident.then_some(found.category).flatten()
    };
    for (title, path, expected) in [
        ("Артикул 1234", &["Электроника", "Наушники"][..], "headphones"),
        ("iPhone 12 дисплей", &["Запчасти для телефонов"], "phone-parts"),
        ("Модель Х-100", &["Бытовая техника", "Пылесосы"], "vacuum-cleaners"),
        ("Смартфон Xiaomi", &["Телефоны"], "smartphones"),
        ("Игровой ноутбук", &["Компьютеры", "Ноутбуки"], "gaming-laptops"),
    ] {
        assert_eq!(category(title, path).as_deref(), Some(expected), "{title} {path:?}");
    }
}

#[test]
fn what_is_unclear_is_not_decided() {
    let recogniser = &*RECOGNISER;
    for title in ["", "Qwzx 123", "!!!", "Samsung", "Для телефона"] {
        let found = recogniser.recognise(title, &[]);
        assert!(!found.confident, "{title}: {found:?}");
        assert!(found.suggestions.len() <= 3);
    }
    assert_eq!(recogniser.recognise("Qwzx", &[]).category, None);
    let weak = recogniser.recognise("для телефона", &[]);
    assert!(!weak.suggestions.is_empty(), "{weak:?}");
}

#[test]
fn words_in_another_order_are_found_by_their_rarity() {
    let found = RECOGNISER.recognise("камера большая морозильная", &[]);
    assert_eq!(found.category.as_deref(), Some("freezers"), "{found:?}");
}
