//! `dvor catalog` and `dvor geo`.

use crate::program::{Said, Server, dvor, run};

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
    let explained =
        said(&["catalog", "recognise", "Артикул 12", "--path", "Электроника > Наушники", "--explain"]);
    assert!(explained.out.contains("name 1.00"), "{explained:?}");
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
    said(&["catalog", "show", "--version-number", "9"]).refused(3, &["versions 1 to 3, not 9"]);
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

/// Tables of the layout of Shopify's taxonomy, of our own making.
const TABLES: [(&str, &str); 3] = [
    (
        "categories.tsv",
        "id\tparent\tname_en\tname_ru\tgoogle_id\tattributes\n\
         hg\t\tHome & Garden\tДом и сад\t536\tcolor\n\
         hg-1\thg\tLanterns\tФонари\t\tcolor,power_source\n\
         hg-2\thg\tBird Houses\tСкворечники\t\tcolor\n",
    ),
    (
        "attributes.tsv",
        "handle\tid\tbase\tname_en\tname_ru\tvalues\n\
         color\t1\t\tColor\tЦвет\tcolor__black,color__red\n\
         power_source\t2\t\tPower source\tПитание\tpower_source__mains,power_source__battery\n",
    ),
    (
        "values.tsv",
        "handle\tid\tname_en\tname_ru\n\
         color__black\t1\tBlack\tЧерный\ncolor__red\t2\tRed\tКрасный\n\
         power_source__mains\t3\tMains\tОт сети\npower_source__battery\t4\tBattery\tБатарейки\n",
    ),
];

#[tokio::test]
async fn offers_go_by_an_imported_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let (tables, target) = (folder.path().join("tables"), folder.path().join("catalog"));
    std::fs::create_dir(&tables).unwrap();
    for (name, text) in TABLES {
        std::fs::write(tables.join(name), text).unwrap();
    }
    let (tables, target) = (tables.to_str().unwrap(), target.to_str().unwrap());
    let imported = said(&["catalog", "import", tables, "--to", target, "--json"]);
    assert_eq!(imported.json(), serde_json::json!({"categories": 3, "attributes": 2, "values": 4}));
    assert_eq!(said(&["catalog", "check", target]).code, 0);
    for title in ["Фонарь садовый красный", "Garden lantern"] {
        let found = said(&["catalog", "recognise", title, "--catalog", target, "--json"]);
        assert_eq!(found.json()["category"], "hg-1", "{found:?}");
    }
    let file = folder.path().join("goods.jsonl");
    let line = "{\"id\":\"1\",\"title\":\"Скворечник\",\"price\":\"500\",\"Цвет\":\"красный\",\"address\":\"Казань\"}\n";
    std::fs::write(&file, line).unwrap();
    let file = file.to_str().unwrap();
    let checked = said(&["feed", "check", file, "--catalog", target, "--json"]);
    assert_eq!((checked.code, &checked.json()["good"]), (0, &1.into()), "{checked:?}");
    said(&["feed", "check", file, "--catalog", "/nowhere"]).refused(3, &["/nowhere cannot be read"]);

    let server = Server::start_with(|command| {
        command.env("DVOR_CATALOG", target);
    });
    let loaded = server.command(&["feed", "upload", file, "--seller", "shop", "--watch", "--json"]);
    assert_eq!((loaded.code, &loaded.json()["statistics"]["created"]), (0, &1.into()), "{loaded:?}");
    let offers = server.get("/v1/sellers/shop/offers?preset=all").await.1;
    let offer = &offers["items"][0];
    let found = server.get(&format!("/v1/offers/{}", offer["id"].as_str().unwrap())).await.1;
    assert_eq!(found["category"]["id"], "hg-2", "{found}");
    assert_eq!(found["attributes"][0]["id"], "color", "{found}");
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
