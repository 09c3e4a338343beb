//! The catalog that is compiled in.

use catalog::{Catalog, Language};

#[test]
fn it_keeps_every_rule_and_every_file_is_in_the_program() {
    let folder = std::path::Path::new("../../../catalog");
    let problems = catalog::check(folder).unwrap();
    assert!(problems.is_empty(), "{problems:#?}");
    let files = |within: &str| {
        let entries = std::fs::read_dir(folder.join(within)).unwrap();
        let names = entries.map(|entry| format!("catalog/{within}{}", entry.unwrap().file_name().display()));
        names.filter(|name| name.contains(".catalog") || name.contains(".map")).collect::<Vec<_>>()
    };
    let mut on_disk = [files(""), files("maps/")].concat();
    on_disk.sort();
    let mut compiled: Vec<String> = Catalog::shipped_files().into_iter().map(|file| file.name).collect();
    compiled.sort();
    assert_eq!(compiled, on_disk);
}

#[test]
fn a_retired_category_leads_to_its_successor() {
    let (first, second) = (Catalog::shipped_version(1).unwrap(), Catalog::shipped());
    assert_eq!((first.version(), second.version()), (1, 3));
    assert!(first.category("pagers").is_some() && second.category("pagers").is_none());
    assert_eq!(first.replaced_by("pagers"), None);
    assert_eq!(second.replaced_by("pagers"), Some("phones"));
    assert_eq!(
        second.path("smartphones", Language::Russian),
        ["Электроника", "Телефоны и связь", "Смартфоны"]
    );
    assert!(Catalog::shipped_version(4).is_none());
}

#[test]
fn the_third_version_adds_categories_and_describes_motorhomes_further() {
    let (second, third) = (Catalog::shipped_version(2).unwrap(), Catalog::shipped());
    for id in ["steering-parts", "laptop-parts", "network-cables", "baby-bedding", "sauna", "clothing"] {
        assert!(second.category(id).is_none() && third.category(id).is_some(), "{id}");
    }
    assert!(third.changed_since("motorhomes", 2));
    assert!(!third.changed_since("smartphones", 2));
}
