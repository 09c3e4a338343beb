//! `dvor catalog` and `dvor geo`.

use crate::program::{Said, dvor, run};

fn said(arguments: &[&str]) -> Said {
    run(dvor().args(arguments))
}

#[test]
fn a_title_is_recognised_and_an_unclear_one_is_refused() {
    let found = said(&["catalog", "recognise", "Чехол для iPhone 15"]);
    assert_eq!(found.code, 0, "{found:?}");
    assert!(found.out.contains("phone-cases"), "{found:?}");
    let hinted = said(&["catalog", "recognise", "Артикул 12", "--path", "Электроника > Наушники", "--json"]);
    assert_eq!(hinted.json()["category"], "headphones");
    said(&["catalog", "recognise", "Qwzx"]).refused(3, &["no category", "Qwzx"]);
}

#[test]
fn categories_are_shown_of_either_version() {
    assert!(said(&["catalog", "show"]).out.contains("\n    smartphones  Смартфоны / Smartphones\n"));
    let one = said(&["catalog", "show", "smartphones"]);
    assert!(one.out.contains("Электроника > Телефоны и связь > Смартфоны"), "{one:?}");
    assert!(one.out.contains("brand") && one.out.contains("required"), "{one:?}");
    said(&["catalog", "show", "pagers"]).refused(3, &["pagers", "it is now `phones`"]);
    assert_eq!(said(&["catalog", "show", "pagers", "--version-number", "1"]).code, 0);
    said(&["catalog", "show", "smartphone"]).refused(3, &["did you mean `smartphones`?"]);
    said(&["catalog", "show", "--version-number", "9"]).refused(3, &["versions 1 to 2, not 9"]);
    said(&["catalog", "show", "--catalog", "/nowhere"]).refused(3, &["/nowhere cannot be read"]);
}

#[test]
fn a_catalog_is_checked_and_imported() {
    assert_eq!(said(&["catalog", "check", "shipped"]).code, 0);
    let folder = tempfile::tempdir().unwrap();
    let (broken, list, target) =
        (folder.path().join("broken.catalog"), folder.path().join("list.txt"), folder.path().join("made"));
    std::fs::write(&broken, "category a < b\n  ru А\n  en A\n").unwrap();
    let checked = said(&["catalog", "check", folder.path().to_str().unwrap()]);
    checked.refused(1, &["breaks 1 rule"]);
    assert!(checked.out.contains("broken.catalog:1: there is no category `b` to hang under"), "{checked:?}");
    std::fs::write(&list, "1 - Animals\n2 - Animals > Pets\n").unwrap();
    let arguments = ["catalog", "import", list.to_str().unwrap(), "--to", target.to_str().unwrap()];
    let imported = said(&arguments);
    assert_eq!(imported.code, 0, "{imported:?}");
    assert!(imported.out.contains("2 categories"), "{imported:?}");
    assert_eq!(said(&["catalog", "check", target.to_str().unwrap()]).code, 0);
    let found = said(&["catalog", "recognise", "pets", "--catalog", target.to_str().unwrap(), "--json"]);
    assert_eq!(found.json()["category"], "2", "{found:?}");
    said(&arguments).refused(1, &["is not empty"]);
}

#[test]
fn places_are_found_by_address_and_by_point() {
    let found = said(&["geo", "find", "Московская обл., г. Химки", "--json"]);
    assert_eq!(found.json()["place"]["name"], "Химки", "{found:?}");
    assert!(said(&["geo", "find", "55.0302, 82.9204"]).out.contains("Новосибирск"));
    assert!(said(&["geo", "find", "-33.86,151.2"]).out.contains("Сидней"));
    assert!(said(&["geo", "find", "--about"]).out.contains("CC BY 4.0"));
    said(&["geo", "find", "ул. Московская 5"]).refused(3, &["no place is named"]);
    said(&["geo", "find", "Железногорск"]).refused(1, &["ambiguous"]);
    said(&["geo", "find", "100,200"]).refused(2, &["no point on Earth"]);
    said(&["geo", "find", "0,-140"]).refused(3, &["no place is near"]);
}
