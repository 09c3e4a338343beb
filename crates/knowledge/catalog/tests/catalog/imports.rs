//! Other taxonomies, in small.

use std::path::{Path, PathBuf};

use catalog::{Catalog, Imported, Language};

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn tables(folder: &Path) {
    write(
        folder,
        "categories.tsv",
        "id\tparent\tname_en\tname_ru\tgoogle_id\tattributes\n\
        aa\t\tApparel\tОдежда\t166\tcolor\naa-1\taa\tShoes, boots\tОбувь\t\tcolor,fit\n",
    );
    write(
        folder,
        "attributes.tsv",
        "handle\tid\tbase\tname_en\tname_ru\tvalues\n\
        color\t1\t\tColor\tЦвет\tcolor__black,color__red\nfit\t2\t\tFit\tПосадка\t\n",
    );
    write(
        folder,
        "values.tsv",
        "handle\tid\tname_en\tname_ru\n\
        color__black\t1\tBlack\tЧёрный\ncolor__red\t2\tRed, dark\tКрасный\n",
    );
}

#[test]
fn tables_become_a_catalog() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let target = folder.path().join("catalog");
    let imported = catalog::import(&[folder.path().into()], &target).unwrap();
    assert_eq!(imported, Imported { categories: 2, attributes: 2, values: 2, one_language: false });
    assert_eq!(catalog::check(&target).unwrap(), []);
    let catalog = Catalog::load(&target).unwrap();
    assert_eq!(catalog.path("aa-1", Language::English), ["Apparel", "Shoes, boots"]);
    assert_eq!(catalog.attributes_of("aa-1").len(), 2);
    assert_eq!(catalog.recogniser().recognise("Обувь мужская", &[]).category.as_deref(), Some("aa-1"));
    let again = catalog::import(&[folder.path().into()], &target).unwrap_err().to_string();
    assert!(again.contains("is not empty"), "{again}");
}

#[test]
fn values_that_differ_by_a_sign_only_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    write(
        folder.path(),
        "attributes.tsv",
        "handle\tid\tbase\tname_en\tname_ru\tvalues\n\
        color\t1\t\tColor\tЦвет\tcolor__black,color__red\nfit\t2\t\tClass\tКласс\tfit__a,fit__a+,fit__a++,fit__a+\n",
    );
    write(
        folder.path(),
        "values.tsv",
        "handle\tid\tname_en\tname_ru\n\
        color__black\t1\tBlack\tЧёрный\ncolor__red\t2\tRed\tКрасный\n\
        fit__a\t3\tA\tА\nfit__a+\t4\tA+\tА+\nfit__a++\t5\tA++\tА++\n",
    );
    let target = folder.path().join("catalog");
    assert_eq!(catalog::import(&[folder.path().into()], &target).unwrap().values, 5);
    assert_eq!(catalog::check(&target).unwrap(), []);
    let catalog = Catalog::load(&target).unwrap();
    let Some(catalog::AttributeKind::Enum { values, .. }) = catalog.attribute("fit").map(|one| &one.kind)
    else {
        panic!("fit has no values");
    };
    let found: Vec<_> = values.iter().map(|value| (value.id.as_str(), value.names.en.as_str())).collect();
    assert_eq!(found, [("a", "A"), ("a-2", "A+"), ("a-3", "A++")]);
}

#[test]
fn a_broken_table_is_refused_with_its_line() {
    for (file, text, expected) in [
        (
            "categories.tsv",
            "id\tparent\tname_en\tname_ru\tattributes\na\t\tA\tА\tshape\n",
            "categories.tsv:2: there is no attribute `shape`",
        ),
        ("categories.tsv", "id\tname_en\n", "categories.tsv:1: there is no column `name_ru`"),
        (
            "attributes.tsv",
            "handle\tname_en\tname_ru\tvalues\nfit\tF\tП\tfit__x\n",
            "attributes.tsv:2: there is no value `fit__x`",
        ),
        ("values.tsv", "", "values.tsv:1: the table is empty"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        tables(folder.path());
        write(folder.path(), file, text);
        let target = folder.path().join("catalog");
        let refused = catalog::import(&[folder.path().into()], &target).unwrap_err().to_string();
        assert!(refused.ends_with(expected), "{refused}");
        assert!(!target.exists(), "nothing is written");
    }
}

#[test]
fn googles_list_becomes_a_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let english = write(
        folder.path(),
        "en.txt",
        "# Google_Product_Taxonomy_Version: 2021-09-21\n1 - Animals\n3 - Animals > Pets\n",
    );
    let russian = write(folder.path(), "ru.txt", "1 - Животные\n3 - Животные > Питомцы\n");
    let both = folder.path().join("both");
    assert!(!catalog::import(&[english.clone(), russian], &both).unwrap().one_language);
    let catalog = Catalog::load(&both).unwrap();
    assert_eq!(catalog.path("3", Language::Russian), ["Животные", "Питомцы"]);
    assert_eq!(catalog.path("3", Language::English), ["Animals", "Pets"]);
    let one = folder.path().join("one");
    assert!(catalog::import(&[english], &one).unwrap().one_language);
    assert_eq!(Catalog::load(&one).unwrap().path("3", Language::Russian), ["Animals", "Pets"]);
    let bare = write(folder.path(), "bare.txt", "Animals\nAnimals > Live Pets\n");
    catalog::import(&[bare], &folder.path().join("bare")).unwrap();
    assert!(Catalog::load(folder.path().join("bare")).unwrap().category("animals-live-pets").is_some());
    let orphan = write(folder.path(), "orphan.txt", "3 - Animals > Pets\n");
    let refused = catalog::import(&[orphan], &folder.path().join("x")).unwrap_err().to_string();
    assert!(refused.contains("orphan.txt:1: the category above, `Animals`, has no line"), "{refused}");
}
