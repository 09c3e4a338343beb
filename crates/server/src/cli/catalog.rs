use std::fmt::Write as _;
use std::path::PathBuf;

use ::catalog::{
    Attribute, AttributeKind, Catalog, Category, Evidence, Language, Recogniser, SellerCategory,
};
use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{Common, exit, print, print_json};

/// Look at, check and import catalogs of categories
#[derive(Subcommand)]
pub enum CatalogCommand {
    /// Check a catalog: print every broken rule with its file and line
    #[command(after_help = "Examples:\n  dvor catalog check shipped\n  dvor catalog check ./my-catalog")]
    Check {
        /// The folder, or `shipped`
        #[arg(value_name = "DIR|shipped")]
        catalog: String,
    },
    Import(Import),
    Show(Show),
    Recognise(Recognise),
}

/// Bring another taxonomy into our format
#[derive(Args)]
#[command(after_help = "Examples:\n  dvor catalog import ./shopify-taxonomy --to ./catalog\n  \
                  dvor catalog import taxonomy-with-ids.en-US.txt taxonomy-with-ids.ru-RU.txt --to ./catalog")]
pub struct Import {
    /// A folder with categories.tsv, attributes.tsv and values.tsv, or one or two files of Google's product taxonomy
    #[arg(required = true, num_args = 1..=2, value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// The folder to write, new or empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

/// Print the tree of categories, or one category with its attributes
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dvor catalog show\n  dvor catalog show smartphones\n  dvor catalog show --version-number 1"
)]
pub struct Show {
    /// A category; all if left out
    id: Option<String>,
    #[command(flatten)]
    which: Which,
}

/// Print the category of a title
#[derive(Args)]
#[command(after_help = "Examples:\n  dvor catalog recognise \"Чехол для iPhone 15\"\n  \
                  dvor catalog recognise \"Артикул 123\" --path \"Электроника > Наушники\" --explain")]
pub struct Recognise {
    /// The title of an offer
    title: String,
    /// The seller's own category, from the root down
    #[arg(long, value_name = "A > B", default_value = "")]
    path: String,
    /// Print what speaks for each category and against it
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    which: Which,
}

/// Which catalog.
#[derive(Args)]
struct Which {
    /// Another catalog than the shipped one
    #[arg(long, value_name = "DIR")]
    catalog: Option<PathBuf>,
    /// An earlier version of it
    #[arg(long, value_name = "N")]
    version_number: Option<u32>,
}

impl Which {
    fn load(&self) -> Result<Catalog> {
        let files = Catalog::shipped_files();
        let loaded = match (&self.catalog, self.version_number) {
            (Some(folder), None) => Catalog::load(folder),
            (Some(folder), Some(version)) => Catalog::load_version(folder, version),
            (None, version) => Catalog::from_files(&files, version),
        };
        loaded.map_err(refused)
    }
}

impl CatalogCommand {
    pub fn run(self, common: &Common) -> Result<()> {
        match self {
            Self::Check { catalog } => check(common, &catalog),
            Self::Import(import) => import.run(common),
            Self::Show(show) => show.run(common),
            Self::Recognise(recognise) => recognise.run(common),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(super) fn refused(error: catalog::Error) -> anyhow::Error {
    let code = match &error {
        catalog::Error::Read { .. } | catalog::Error::NoSuchVersion { .. } | catalog::Error::Empty(_) => {
            exit::NOT_FOUND
        }
        _ => exit::FAILED,
    };
    exit::Failure::of(code, error.to_string())
}

fn check(common: &Common, which: &str) -> Result<()> {
    let loaded = if which == "shipped" {
        Catalog::from_files(&Catalog::shipped_files(), None)
    } else {
        catalog::check(which)
            .map_err(refused)
            .and_then(|problems| list_problems(common, which, &problems))?;
        Catalog::load(which)
    };
    let catalog = loaded.map_err(refused)?;
    let (categories, attributes) = (catalog.categories().len(), catalog.attributes().len());
    if common.json {
        return print_json(&json!({
            "valid": true, "version": catalog.version(), "categories": categories, "attributes": attributes, "problems": [],
        }));
    }
    print(&format!(
        "{which} is in order: version {}, {categories} categories, {attributes} attributes",
        catalog.version()
    ))
}

fn list_problems(common: &Common, which: &str, problems: &[catalog::Problem]) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    if common.json {
        let item =
            |one: &catalog::Problem| json!({ "file": one.file, "line": one.line, "message": one.message });
        print_json(&json!({ "valid": false, "problems": problems.iter().map(item).collect::<Vec<_>>() }))?;
    } else {
        print(&problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    }
    let rules = if problems.len() == 1 { "1 rule".to_owned() } else { format!("{} rules", problems.len()) };
    Err(exit::Failure::of(exit::FAILED, format!("{which} breaks {rules}")))
}

impl Import {
    fn run(self, common: &Common) -> Result<()> {
        let imported = catalog::import(&self.sources, &self.to).map_err(refused)?;
        let catalog::Imported { categories, attributes, values, one_language } = imported;
        if common.json {
            return print_json(
                &json!({ "categories": categories, "attributes": attributes, "values": values }),
            );
        }
        let target = self.to.display();
        let mut said =
            format!("{categories} categories, {attributes} attributes and {values} values are in {target}");
        if one_language {
            said.push_str("; only one language was given, so its names stand for both");
        }
        print(&said)
    }
}

impl Show {
    fn run(self, common: &Common) -> Result<()> {
        let catalog = self.which.load()?;
        let Some(id) = self.id else {
            if common.json {
                let item = |one: &Category| json!({ "id": one.id, "parent": one.parent, "ru": one.names.ru, "en": one.names.en });
                let items: Vec<Value> = catalog.categories().iter().map(item).collect();
                return print_json(&json!({ "version": catalog.version(), "items": items }));
            }
            let mut text = String::new();
            tree(&catalog, &catalog.roots(), 0, &mut text);
            return print(&text);
        };
        let Some(category) = catalog.category(&id) else {
            let message = match catalog.replaced_by(&id) {
                Some(now) => {
                    format!("there is no category `{id}` in version {}; it is now `{now}`", catalog.version())
                }
                None => format!("there is no category `{id}`{}", perhaps(&catalog, &id)),
            };
            return Err(exit::Failure::of(exit::NOT_FOUND, message));
        };
        if common.json {
            return print_json(&category_object(&catalog, category));
        }
        print(&category_text(&catalog, category))
    }
}

fn perhaps(catalog: &Catalog, id: &str) -> String {
    let near = catalog.categories().iter().min_by_key(|one| strsim::osa_distance(&one.id, id));
    let near = near.filter(|one| strsim::osa_distance(&one.id, id) <= id.len() / 3 + 1);
    near.map(|one| format!("; did you mean `{}`?", one.id)).unwrap_or_default()
}

fn tree(catalog: &Catalog, categories: &[&Category], depth: usize, text: &mut String) {
    for category in categories {
        let _ = writeln!(
            text,
            "{:indent$}{}  {} / {}",
            "",
            category.id,
            category.names.ru,
            category.names.en,
            indent = depth * 2
        );
        tree(catalog, &catalog.children(&category.id), depth + 1, text);
    }
}

fn category_text(catalog: &Catalog, category: &Category) -> String {
    let mut text = format!(
        "{}\n{}\n{}\n",
        category.id,
        catalog.path(&category.id, Language::Russian).join(" > "),
        catalog.path(&category.id, Language::English).join(" > ")
    );
    let synonyms: Vec<&str> = category.synonyms.all().collect();
    if !synonyms.is_empty() {
        let _ = writeln!(text, "synonyms: {}", synonyms.join(", "));
    }
    let keys: Vec<_> = catalog.keys_of(&category.id).map(|key| key.id.as_str()).collect();
    for attribute in catalog.attributes_of(&category.id) {
        let required = if attribute.required { ", required" } else { "" };
        let key = if keys.contains(&attribute.id.as_str()) { ", key" } else { "" };
        let _ = writeln!(
            text,
            "  {}  {} / {}: {}{required}{key}",
            attribute.id,
            attribute.names.ru,
            attribute.names.en,
            kind(attribute)
        );
    }
    for child in catalog.children(&category.id) {
        let _ = writeln!(text, "> {}  {} / {}", child.id, child.names.ru, child.names.en);
    }
    text
}

fn kind(attribute: &Attribute) -> String {
    match &attribute.kind {
        AttributeKind::Enum { values, .. } => {
            let names: Vec<&str> = values.iter().take(8).map(|value| value.names.ru.as_str()).collect();
            let more =
                if values.len() > 8 { format!(", … ({} values)", values.len()) } else { String::new() };
            format!("one of {}{more}", names.join(", "))
        }
        AttributeKind::Number { unit, min, max, .. } => {
            let end = |end: &Option<f64>| end.map(|end| end.to_string()).unwrap_or_default();
            let unit = unit.as_ref().map(|unit| format!(" of {unit}")).unwrap_or_default();
            format!("a number{unit}, {}..{}", end(min), end(max))
        }
        AttributeKind::Text { max_chars } => format!("text of at most {max_chars} characters"),
        AttributeKind::Bool => "yes or no".to_owned(),
    }
}

fn category_object(catalog: &Catalog, category: &Category) -> Value {
    let attribute = |one: &&Attribute| json!({ "id": one.id, "ru": one.names.ru, "en": one.names.en, "required": one.required, "kind": kind(one) });
    json!({
        "id": category.id,
        "path": { "ru": catalog.path(&category.id, Language::Russian), "en": catalog.path(&category.id, Language::English) },
        "synonyms": category.synonyms.all().collect::<Vec<_>>(),
        "attributes": catalog.attributes_of(&category.id).iter().map(attribute).collect::<Vec<_>>(),
        "keys": catalog.keys_of(&category.id).map(|key| &key.id).collect::<Vec<_>>(),
        "children": catalog.children(&category.id).iter().map(|child| &child.id).collect::<Vec<_>>(),
    })
}

impl Recognise {
    fn run(self, common: &Common) -> Result<()> {
        let catalog = self.which.load()?;
        let path: Vec<&str> =
            self.path.split('>').map(str::trim).filter(|segment| !segment.is_empty()).collect();
        let recogniser = catalog.recogniser();
        let found = recogniser.recognise(&self.title, &path);
        let evidence = if self.explain { explained(&recogniser, &self.title, &path) } else { Vec::new() };
        if common.json {
            let suggestion = |one: &catalog::Suggestion| {
                let mut object = json!({ "category": one.category, "score": one.score });
                if self.explain {
                    let rests_on = evidence_of(&evidence, &one.category).iter().map(evidence_object);
                    object["evidence"] = rests_on.collect();
                }
                object
            };
            print_json(&json!({
                "category": found.category.as_ref().filter(|_| found.confident),
                "score": found.score,
                "suggestions": found.suggestions.iter().map(suggestion).collect::<Vec<_>>(),
            }))?;
        } else {
            let line = |one: &catalog::Suggestion| {
                let names = catalog.path(&one.category, Language::Russian).join(" > ");
                let mut line = format!("{:.2}  {}  {names}", one.score, one.category);
                for evidence in evidence_of(&evidence, &one.category) {
                    let Evidence { kind, amount, weight } = evidence;
                    let _ = write!(line, "\n      {weight:+.2}  {} {amount:.2}", kind.name());
                }
                line
            };
            let lines: Vec<String> = found.suggestions.iter().map(line).collect();
            if found.confident {
                print(&lines.join("\n"))?;
            } else if !lines.is_empty() {
                print(&format!("Perhaps one of:\n{}", lines.join("\n")))?;
            }
        }
        if found.confident {
            return Ok(());
        }
        Err(exit::Failure::of(exit::NOT_FOUND, format!("no category is certain for «{}»", self.title)))
    }
}

/// Of each category that comes into question, what it rests on.
fn explained(recogniser: &Recogniser, title: &str, path: &[&str]) -> Vec<(String, Vec<Evidence>)> {
    let category = SellerCategory { path, titles: &[title], offers: 1 };
    let candidates = recogniser.candidates(&[category]).into_iter().flatten();
    candidates.map(|(suggestion, evidence)| (suggestion.category, evidence)).collect()
}

fn evidence_of<'a>(explained: &'a [(String, Vec<Evidence>)], category: &str) -> &'a [Evidence] {
    explained.iter().find(|(known, _)| known == category).map_or(&[], |(_, evidence)| evidence)
}

fn evidence_object(one: &Evidence) -> Value {
    json!({ "kind": one.kind.name(), "amount": one.amount, "weight": one.weight })
}
