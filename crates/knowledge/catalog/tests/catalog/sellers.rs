//! Categories as sellers name them, and the ones of the catalog that they are.

use std::sync::LazyLock;

use catalog::{Catalog, Decision, EvidenceKind, Recogniser, SUGGESTED, SellerCategory, TAKEN};

static RECOGNISER: LazyLock<Recogniser> = LazyLock::new(|| Catalog::shipped().recogniser());

/// The only category of a seller.
fn alone(path: &[&str], titles: &[&str]) -> Decision {
    RECOGNISER.decide(&[SellerCategory { path, titles, offers: 20 }]).remove(0)
}

/// A seller with these categories of one name each, and no telling titles.
fn seller(names: &[&str]) -> Vec<Option<String>> {
    let paths: Vec<[&str; 1]> = names.iter().map(|name| [*name]).collect();
    let categories: Vec<SellerCategory<'_>> =
        paths.iter().map(|path| SellerCategory { path, titles: &[], offers: 30 }).collect();
    RECOGNISER.decide(&categories).into_iter().map(|decision| decision.category).collect()
}

#[track_caller]
fn is(decision: &Decision, expected: &str) {
    assert_eq!(decision.category.as_deref(), Some(expected), "{decision:#?}");
}

#[test]
fn every_segment_of_a_path_counts() {
    for (path, expected) in [
        (&["Мебель", "Кухонные столы"][..], "tables"),
        (&["Всё для дома", "Бытовая техника", "Чайники"], "kettles"),
        (&["Автозапчасти", "Амортизаторы передние"], "suspension-parts"),
        (&["Clothing", "Women's clothing", "Evening dresses"], "dresses"),
        // The last segment says nothing, so the one above does.
        (&["Детские товары", "Автокресла", "Группа 1-2"], "car-seats"),
        // What is on sale is not a kind of goods.
        (&["Каталог", "Распродажа", "Пылесосы"], "vacuum-cleaners"),
        // The first letter is a Latin one.
        (&["Мебель", "Cтулья"], "chairs"),
    ] {
        is(&alone(path, &[]), expected);
    }
}

#[test]
fn a_branch_that_is_named_above_restricts_what_is_below() {
    is(&alone(&["Автозапчасти", "Кузов", "Двери"], &[]), "body-parts");
    is(&alone(&["Ремонт и стройка", "Двери"], &[]), "doors");
    is(&alone(&["Women", "Jeans"], &[]), "womens-jeans");
    is(&alone(&["Сантехника", "Смесители", "Для кухни"], &[]), "taps");
}

#[test]
fn the_top_of_the_tree_holds_no_offers_but_says_where_to_look() {
    let titles = ["Чайник Заря", "Чайник Гейзер", "Чайник 2 л"];
    is(&alone(&["Для дома и дачи"], &titles), "kettles");
    assert_eq!(alone(&["Электроника"], &["Модель 12", "Модель 14"]).category, None);
    // A catalog without a tree has nothing else.
    let text = "category lamps\n  ru Лампы\n  en Lamps\n".to_owned();
    let file = catalog::SourceFile { name: "flat.catalog".to_owned(), text };
    let flat = Catalog::from_files(&[file], None).unwrap().recogniser();
    let found = flat.decide(&[SellerCategory { path: &["Лампы"], titles: &[], offers: 1 }]).remove(0);
    is(&found, "lamps");
}

#[test]
fn a_general_word_below_a_named_parent_means_parts_of_the_parent() {
    for (path, expected) in [
        (&["Велосипеды", "Запчасти"][..], "bicycle-parts"),
        (&["Телефоны и связь", "Запчасти"], "phone-parts"),
        (&["Ноутбуки", "Аксессуары"], "computer-parts"),
        (&["Коляски", "Разное"], "strollers"),
        (&["Аксессуары для ноутбуков"], "laptop-parts"),
    ] {
        is(&alone(path, &[]), expected);
    }
}

#[test]
fn what_a_thing_is_made_for_is_context() {
    is(&alone(&["Детские товары", "Базы для автокресел"], &["База Isofix"]), "car-seats");
    // A bag for a pram is no handbag.
    let bags = alone(&["Товары для малышей", "Сумки для колясок"], &[]);
    assert!(bags.suggestions.iter().any(|one| one.category == "strollers"), "{bags:#?}");
}

#[test]
fn one_word_of_a_title_never_beats_the_branch_of_the_path() {
    for (title, path, expected) in [
        ("Барабан задний правый", &["Автозапчасти", "Тормозная система"][..], "brake-parts"),
        ("Кольца на двигатель, комплект", &["Автозапчасти", "Двигатель"], "engine-parts"),
        ("Ваза Рыбак", &["Мебель", "Столы"], "tables"),
        ("Форд Транзит термостат 82°", &["Автозапчасти", "Система охлаждения двигателя"], "engine-parts"),
    ] {
        let found = RECOGNISER.recognise(title, path);
        assert_eq!(found.category.as_deref(), Some(expected), "{title}: {found:?}");
        assert!(found.confident, "{title}: {found:?}");
    }
}

#[test]
fn a_title_chooses_below_what_is_decided() {
    assert_eq!(RECOGNISER.refine("Кроссовки летние белые", "shoes"), "sneakers");
    assert_eq!(RECOGNISER.refine("Модель 17, белая", "shoes"), "shoes");
    assert_eq!(RECOGNISER.refine("Диван угловой", "shoes"), "shoes");
}

#[test]
fn many_titles_decide_where_the_path_says_nothing() {
    let titles = ["Смартфон Honor 9", "Смартфон Nokia X", "Смартфон ZTE", "Смартфон Tecno", "Телефон"];
    is(&alone(&["Раздел № 5"], &titles), "smartphones");
    assert_eq!(alone(&["Раздел № 5"], &["Смартфон", "Диван", "Шины", "Платье", "Книга"]).category, None);
}

#[test]
fn a_seller_is_known_by_the_other_categories() {
    let parts = seller(&["Амортизаторы", "Сцепление", "Глушители", "Тормозные колодки", "Зеркала"]);
    assert_eq!(parts[4].as_deref(), Some("body-parts"));
    let furniture = seller(&["Шкафы", "Диваны", "Столы", "Кровати", "Зеркала"]);
    assert_eq!(furniture[4].as_deref(), Some("mirrors"));
    // The name of a branch is not one of what lies below it.
    let general = seller(&["Шкафы", "Диваны", "Столы", "Кровати", "Мебель"]);
    assert_eq!(general[4].as_deref(), Some("furniture"));
    // What is said plainly stays, even if the seller has nothing else of the kind.
    let with_books = seller(&["Амортизаторы", "Сцепление", "Глушители", "Книги и журналы"]);
    assert_ne!(with_books[3].as_deref(), Some("car-parts"));
}

#[test]
fn the_profile_never_decides_alone() {
    let decided = seller(&["Амортизаторы", "Сцепление", "Глушители", "Тормозные колодки", "Qwzx"]);
    assert_eq!(decided[4], None);
}

#[test]
fn names_of_other_languages_and_taxonomies_are_known() {
    for (path, expected) in [
        (&["Sonnenbrillen"][..], "glasses"),
        (&["Elektronika", "Počítače", "Notebooky"], "laptops"),
        (&["Жіноче взуття"], "shoes"),
        (&["Home & Garden", "Linens & Bedding"], "bedding"),
    ] {
        is(&alone(path, &[]), expected);
    }
}

#[test]
fn a_decision_says_what_it_rests_on() {
    let found = alone(&["Мебель", "Диваны"], &["Диван Уют", "Диван Лира"]);
    assert!(found.probability >= TAKEN);
    let kinds: Vec<EvidenceKind> = found.evidence[0].iter().map(|one| one.kind).collect();
    for kind in [EvidenceKind::Name, EvidenceKind::Branch, EvidenceKind::Titles] {
        assert!(kinds.contains(&kind), "{found:#?}");
    }
    assert!(found.suggestions.len() <= 3 && found.evidence.len() == found.suggestions.len());
    assert!(found.suggestions.iter().all(|one| one.score >= SUGGESTED));
    let nothing = alone(&["Qwzx"], &["Zxwq 12"]);
    assert!(nothing.category.is_none() && nothing.suggestions.is_empty(), "{nothing:#?}");
}

#[test]
fn decisions_do_not_depend_on_the_order_of_the_categories() {
    let names = ["Амортизаторы", "Зеркала", "Сцепление", "Стекла", "Глушители", "Лампы"];
    let forth = seller(&names);
    let mut turned = names;
    turned.reverse();
    let mut back = seller(&turned);
    back.reverse();
    assert_eq!(forth, back);
}

#[test]
fn a_single_word_of_a_list_is_no_name() {
    // «Сад и огород», «Лежанки и домики», «Водоснабжение и фильтры».
    for title in ["Огород", "Домики", "Фильтры", "15", "5 к"] {
        let found = RECOGNISER.recognise(title, &[]);
        assert!(!found.confident, "{title}: {found:?}");
    }
}
