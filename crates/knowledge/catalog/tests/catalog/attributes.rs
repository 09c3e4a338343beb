//! Attributes as sellers write them, and the values they become.

use std::sync::LazyLock;

use catalog::{Catalog, Given, ProblemKind, RecognisedAttributes, Recogniser, Value};

static RECOGNISER: LazyLock<Recogniser> = LazyLock::new(|| Catalog::shipped().recogniser());

fn recognise(category: &str, given: &[(&str, &str, &str)], title: &str) -> RecognisedAttributes {
    let given: Vec<Given<'_>> =
        given.iter().map(|&(name, value, unit)| Given { name, value, unit }).collect();
    RECOGNISER.recognise_attributes(category, &given, title)
}

fn value(found: &RecognisedAttributes, attribute: &str) -> Option<Value> {
    found.values.iter().find(|typed| typed.attribute == attribute).map(|typed| typed.value.clone())
}

#[test]
fn given_attributes_become_typed() {
    let given = [
        ("Марка", "Тойота", ""),
        ("Модель автомобиля", "Corolla", ""),
        ("Год выпуска", "2012 г.", ""),
        ("Пробег", "120 тыс. км", ""),
        ("Объём двигателя", "1598", "см3"),
        ("КПП", "АКПП", ""),
        ("Цвет", "чёрный", ""),
        ("Битый", "нет", ""),
    ];
    let found = recognise("cars", &given, "");
    assert!(found.problems.is_empty(), "{:#?}", found.problems);
    let expected = [
        ("car_brand", Value::Enum("toyota".into())),
        ("car_model", Value::Enum("corolla".into())),
        ("year", Value::Number(2012.0)),
        ("mileage", Value::Number(120_000.0)),
        ("engine_volume", Value::Number(1.598)),
        ("transmission", Value::Enum("automatic".into())),
        ("color", Value::Enum("black".into())),
        ("damaged", Value::Bool(false)),
    ];
    for (attribute, wanted) in expected {
        assert_eq!(value(&found, attribute), Some(wanted), "{attribute}");
    }
}

#[test]
fn the_title_completes_what_was_not_given() {
    let found = recognise("smartphones", &[], "Смартфон Samsung Galaxy S23 256 ГБ чёрный");
    assert_eq!(value(&found, "brand"), Some(Value::Enum("samsung".into())));
    assert_eq!(value(&found, "color"), Some(Value::Enum("black".into())));
    let given = recognise("smartphones", &[("Цвет", "белый", "")], "Смартфон Samsung чёрный");
    assert_eq!(value(&given, "color"), Some(Value::Enum("white".into())), "what is given counts");
    let weight = recognise("washing-machines", &[], "Стиральная машина LG 7 кг");
    assert_eq!(value(&weight, "load_kg"), Some(Value::Number(7.0)));
}

#[test]
fn what_does_not_fit_is_a_problem_with_a_suggestion() {
    use ProblemKind::{
        Missing, NotABool, NotANumber, OutOfRange, Repeated, TooLong, UnknownAttribute, UnknownUnit,
        UnknownValue,
    };
    let long = "х".repeat(500);
    for (category, given, kind, suggestion) in [
        ("smartphones", ("Цветт", "белый", ""), UnknownAttribute, Some("Цвет")),
        ("smartphones", ("Цвет", "чорный", ""), UnknownValue, Some("Чёрный")),
        ("smartphones", ("Colour", "blak", ""), UnknownValue, Some("Black")),
        ("cars", ("Пробег", "много", ""), NotANumber, None),
        ("cars", ("Год", "1812", ""), OutOfRange, Some("1900..2030")),
        ("cars", ("Пробег", "100", "кг"), UnknownUnit, Some("км")),
        ("cars", ("Битый", "почти", ""), NotABool, None),
        ("books", ("Автор", long.as_str(), ""), TooLong, None),
    ] {
        let found = recognise(category, &[given], "");
        let problem = found.problems.iter().find(|problem| problem.kind == kind);
        let problem = problem.unwrap_or_else(|| panic!("{given:?}: {found:#?}"));
        assert_eq!(problem.suggestion.as_deref(), suggestion, "{given:?}");
        assert_eq!(problem.value, given.1);
    }
    let twice = recognise("cars", &[("Цвет", "белый", ""), ("color", "red", "")], "");
    assert!(twice.problems.iter().any(|problem| problem.kind == Repeated));
    let missing = recognise("cars", &[], "");
    let absent: Vec<_> = missing
        .problems
        .iter()
        .filter(|one| one.kind == Missing)
        .filter_map(|one| one.attribute.as_deref())
        .collect();
    assert_eq!(absent, ["car_brand", "year", "mileage"]);
}

#[test]
fn a_brand_that_is_not_listed_is_kept_as_text() {
    let found = recognise("smartphones", &[("Бренд", "Zorbax", "")], "");
    assert_eq!(value(&found, "brand"), Some(Value::Text("Zorbax".into())));
}

#[test]
fn an_unknown_category_has_no_attributes() {
    assert_eq!(recognise("nothing", &[("Цвет", "белый", "")], "белый"), RecognisedAttributes::default());
}
