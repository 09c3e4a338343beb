//! Every rule of a catalog, broken.

use catalog::{Catalog, SourceFile};

fn problems(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.catalog"), text).unwrap();
    let found = catalog::check(folder.path()).unwrap();
    found.iter().map(|one| format!("{}: {}", one.line, one.message)).collect()
}

#[test]
fn each_broken_rule_is_named_with_its_line() {
    let names = "\n  ru И\n  en N";
    for (text, expected) in [
        (format!("category a{names}\ncategory a{names}"), "4: the id `a` is taken by the category at"),
        (
            format!("attribute a bool{names}\nattribute a bool{names}"),
            "4: the id `a` is taken by the attribute at",
        ),
        (format!("category a < b{names}"), "1: there is no category `b` to hang under"),
        (format!("category a < b{names}\ncategory b < a{names}"), "1: `a` hangs under itself"),
        (format!("category a < a{names}"), "1: `a` hangs under itself"),
        ("category a\n  ru И".to_owned(), "1: `a` has no name in `en`"),
        ("attribute a bool\n  en N".to_owned(), "1: `a` has no name in `ru`"),
        (format!("category a{names}\n  ru Ещё"), "4: `a` has a second name in `ru`"),
        (format!("attribute a enum{names}"), "1: `a` has no values"),
        (
            format!("attribute a enum{names}\n  value x А | A\n  value x Б | B"),
            "5: the id `x` is taken by the value at",
        ),
        (format!("attribute a number 5..1{names}"), "1: the range `5..1` is upside down"),
        (format!("attribute a number 1..x{names}"), "1: `1..x` is not a range"),
        (format!("attribute a number parsec{names}"), "1: there is no measure `parsec`"),
        (format!("attribute a colour{names}"), "1: `colour` is not a kind"),
        (format!("attribute a bool{names}\n  value x А | A"), "4: `a` is neither enum nor brands"),
        (
            format!("attribute a brands{names}\n  means b\n  value x А | A"),
            "4: there is no category `b` to mean",
        ),
        (format!("category a{names}\n  has b"), "4: there is no attribute `b`"),
        (
            format!("attribute b bool{names}\ncategory a{names}\n  key b"),
            "7: `a` has no attribute `b` to be a key",
        ),
        (
            format!("attribute b text{names}\ncategory a{names}\n  has b\n  key b"),
            "8: `b` is a text, so it cannot be a key",
        ),
        (
            format!("version 2\n[until 1] category a{names}\n  now b"),
            "5: `a` is replaced by `b`, which is not there",
        ),
        (format!("category b{names}\ncategory a{names}\n  now b"), "7: `a` is still there"),
        (format!("[since 3 until 2] category a{names}"), "1: `[since 3 until 2]` is upside down"),
        (format!("[from 3] category a{names}"), "1: `[from 3]` should be like"),
        ("version zero".to_owned(), "1: `zero` is not the number of a version"),
        ("category Ф".to_owned(), "1: `Ф` is not an id"),
        (format!("category a{names}\n  color red"), "4: a category has no `color`"),
        ("  ru Имя".to_owned(), "1: an indented line must stand below"),
        ("kategory a".to_owned(), "1: `kategory` begins nothing"),
        ("measure km".to_owned(), "1: the measure `km` has no units"),
        ("measure km\n  unit км = 0".to_owned(), "2: `км = 0` should end with = and a number above 0"),
    ] {
        let found = problems(&text);
        assert!(found.iter().any(|one| one.starts_with(expected)), "{expected}\nin {found:#?}\nof\n{text}");
    }
}

#[test]
fn all_problems_are_told_at_once_and_the_catalog_is_refused() {
    let text = "category a < x\n  ru И\n  en N\ncategory b\n  ru И\n";
    assert_eq!(problems(text).len(), 2);
    let file = SourceFile { name: "a.catalog".into(), text: text.into() };
    let refused = Catalog::from_files(&[file], None).unwrap_err().to_string();
    assert!(refused.contains("a.catalog:1: ") && refused.ends_with("(and 1 more)"), "{refused}");
}

#[test]
fn a_folder_without_files_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Catalog::load(folder.path()).unwrap_err().to_string().contains("no file that ends with .catalog")
    );
    assert!(Catalog::load(folder.path().join("x")).unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn a_moved_category_has_another_parent_in_each_version() {
    let text = "version 2\ncategory a\n  ru А\n  en A\ncategory b\n  ru Б\n  en B\n\
        [until 1] category c < a\n  ru В\n  en C\n[since 2] category c < b\n  ru В\n  en C\n  has d\n\
        attribute d text\n  ru Г\n  en D\n[until 1] attribute e bool\n  ru Е\n  en E\n  now d\n";
    let files = [SourceFile { name: "a".into(), text: text.into() }];
    let [first, second] = [1, 2].map(|version| Catalog::from_files(&files, Some(version)).unwrap());
    let parent = |catalog: &Catalog| catalog.category("c").unwrap().parent.clone().unwrap();
    assert_eq!((parent(&first), parent(&second)), ("a".into(), "b".into()));
    assert_eq!(second.replaced_by("c"), None);
    assert_eq!(second.replaced_by("e"), Some("d"));
    assert!(Catalog::from_files(&files, Some(3)).unwrap_err().to_string().contains("versions 1 to 2, not 3"));
}

#[test]
fn attributes_are_inherited_and_a_category_may_require_them() {
    let text = "attribute x text\n  ru Х\n  en X\nattribute y bool\n  ru У\n  en Y\n\
        category a\n  ru А\n  en A\n  has x\ncategory b < a\n  ru Б\n  en B\n  has y, x!\n";
    let catalog = Catalog::from_files(&[SourceFile { name: "a".into(), text: text.into() }], None).unwrap();
    let of = |id: &str| {
        let all = catalog.attributes_of(id).into_iter();
        all.map(|one| (one.id.clone(), one.required)).collect::<Vec<_>>()
    };
    assert_eq!(of("a"), [("x".into(), false)]);
    assert_eq!(of("b"), [("x".into(), true), ("y".into(), false)]);
    assert_eq!(of("nothing"), []);
}

#[test]
fn keys_are_inherited() {
    let text = "attribute x number\n  ru Х\n  en X\nattribute y bool\n  ru У\n  en Y\n\
        category a\n  ru А\n  en A\n  has x, y\n  key x\ncategory b < a\n  ru Б\n  en B\n  key y, x\n";
    let catalog = Catalog::from_files(&[SourceFile { name: "a".into(), text: text.into() }], None).unwrap();
    let of = |id: &str| catalog.keys_of(id).map(|one| one.id.clone()).collect::<Vec<_>>().join(" ");
    assert_eq!([of("a"), of("b"), of("nothing")], ["x", "x y", ""]);
}

#[test]
fn a_version_changes_the_categories_whose_offers_may_say_something_else() {
    let text = "version 3\nattribute x enum\n  ru Х\n  en X\n  value one Один | One\n  [since 3] value two Два | Two\n\
        attribute y bool\n  ru У\n  en Y\n\
        category a\n  ru А\n  en A\n  has y\ncategory b < a\n  ru Б\n  en B\n  [since 2] has x\n\
        category c < a\n  [until 1] ru В\n  [since 2] ru Ве\n  en C\n\
        [until 2] category d\n  ru Г\n  en D\n  now c\n[since 3] category e\n  ru Д\n  en E\n";
    let files = [SourceFile { name: "a".into(), text: text.into() }];
    let newest = Catalog::from_files(&files, None).unwrap();
    let since = |version: u32| {
        let changed = ["a", "b", "c", "d", "e"].into_iter().filter(|id| newest.changed_since(id, version));
        changed.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(since(1), "b d", "another name is no change, and what is new has no offers");
    assert_eq!(since(2), "b d", "a value of an attribute came with version 3");
    assert_eq!(since(3), "");
    assert_eq!(since(4), "", "never downwards");
    let second = Catalog::from_files(&files, Some(2)).unwrap();
    assert!(second.changed_since("b", 1) && !second.changed_since("b", 2) && !second.changed_since("d", 1));
}
