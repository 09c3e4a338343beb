use std::collections::HashMap;
use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Subcommand, ValueEnum};
use feeds::check::{Event, Summary};
use feeds::report::{Row, text, xlsx::Xlsx};
use feeds::survey::Survey;
use feeds::{Knowledge, Limits, RawRecord, Settings};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::exit::{self, Failure};
use super::feed_look::Which;
use super::{Common, print, print_json};

/// Check feed files, and load them
#[derive(Subcommand)]
pub enum FeedCommand {
    /// Read a feed file and report what a load of it would say; exit code 1 when there are errors
    #[command(
        after_help = "Examples:\n  dvor feed check goods.xml\n  dvor feed check goods.csv.gz --lang ru --xlsx errors.xlsx\n  curl -s https://shop.example/feed | dvor feed check -"
    )]
    Check {
        /// The file, or - for standard input
        file: PathBuf,
        /// Language of the report
        #[arg(long, value_enum, default_value_t = Lang::En)]
        lang: Lang,
        /// Write every issue into this XLSX file
        #[arg(long, value_name = "FILE")]
        xlsx: Option<PathBuf>,
        /// How many issues of each kind are shown
        #[arg(long, value_name = "NUMBER", default_value_t = 5)]
        first: usize,
        /// A folder with another catalog than the shipped one
        #[arg(long, value_name = "DIR")]
        catalog: Option<PathBuf>,
        /// How the report is printed
        #[arg(long, value_enum, default_value_t = Print::Text)]
        format: Print,
    },
    Upload(super::feed_upload::Upload),
    List(super::feed_look::List),
    /// Show a feed with its last loads, or one load
    #[command(
        after_help = "Examples:\n  dvor feed show north-tools\n  dvor feed show north-tools --load 3 --json"
    )]
    Show(Which),
    /// List what is wrong with the offers of a load
    #[command(
        after_help = "Examples:\n  dvor feed errors north-tools\n  dvor feed errors north-tools --load 3 --json"
    )]
    Errors(Which),
    /// Follow a load to its end; exit code 1 unless it succeeds
    #[command(after_help = "Example:\n  dvor feed watch north-tools")]
    Watch(Which),
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Lang {
    En,
    Ru,
}

impl From<Lang> for model::Language {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::En => Self::English,
            Lang::Ru => Self::Russian,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Print {
    Text,
    Json,
}

#[derive(Serialize)]
struct JsonReport<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    first: &'a [Row],
}

impl FeedCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        match self {
            Self::Upload(upload) => upload.run(common).await,
            Self::List(list) => list.run(common).await,
            Self::Show(which) => which.show(common).await,
            Self::Errors(which) => which.errors(common).await,
            Self::Watch(which) => which.watch(common).await,
            check @ Self::Check { .. } => check.check(common),
        }
    }

    fn check(self, common: &Common) -> Result<()> {
        let Self::Check { file, lang, xlsx, first, catalog, format } = self else { return Ok(()) };
        let language = model::Language::from(lang);
        let json = common.json || format == Print::Json;
        let (input, bar) = open(&file)?;
        let mut sheet = xlsx.as_ref().map(|_| Xlsx::begin(language)).transpose()?;
        let mut shown: HashMap<String, usize> = HashMap::new();
        let mut rows = Vec::new();
        let (knowledge, settings) = (knowledge(catalog.as_deref())?, Settings::default());
        let survey = survey(&file, &knowledge)?;
        let judge = &mut |record: &mut RawRecord| {
            // What could not be read has its errors already.
            if !record.is_bad() {
                let decided = survey.find(&record.offer.category_path);
                let (_, issues) = feeds::unify_decided(&record.offer, &knowledge, &settings, decided);
                record.issues.extend(issues);
            }
        };
        let (summary, fatal) =
            feeds::check::check::<anyhow::Error>(input, &Limits::default(), judge, &mut |event| {
                match event {
                    Event::Progress(bytes) => bar.set_position(bytes),
                    Event::Finding(finding) => {
                        let count = shown.entry(finding.issue.code.clone()).or_default();
                        *count += 1;
                        let wanted = *count <= first;
                        if wanted || sheet.is_some() {
                            let row = Row::of(finding, language);
                            if let Some(sheet) = &mut sheet {
                                sheet.add(&row)?;
                            }
                            if wanted {
                                rows.push(row);
                            }
                        }
                    }
                }
                Ok(())
            })?;
        bar.finish_and_clear();
        if let (Some(sheet), Some(path)) = (sheet, &xlsx) {
            let out = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
            sheet.end(out)?;
        }
        if json {
            print_json(&JsonReport { summary: &summary, first: &rows })?;
        } else {
            print(&text::report(&summary, fatal.as_ref(), &rows, language))?;
        }
        if summary.is_clean() {
            return Ok(());
        }
        let errors = summary.errors + u64::from(summary.fatal.is_some());
        Err(Failure::of(exit::FAILED, format!("{}: {errors} errors", file.display())))
    }
}

/// As a load does it, the categories are decided first. What cannot be read twice, such as standard input, has its offers
/// recognised one by one.
fn survey(file: &Path, knowledge: &Knowledge) -> Result<Survey> {
    if !file.is_file() {
        return Ok(Survey::default());
    }
    let input = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(feeds::survey::of_file(input, knowledge))
}

fn knowledge(catalog: Option<&Path>) -> Result<Knowledge> {
    let Some(folder) = catalog else { return Ok(Knowledge::shipped()) };
    let loaded = ::catalog::Catalog::load(folder).map_err(super::catalog::refused)?;
    Ok(Knowledge::new(&loaded, geo::Places::shipped()))
}

/// The file with a bar that shows how far it is read, on a terminal.
fn open(path: &Path) -> Result<(Box<dyn Read + Send>, ProgressBar)> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(std::io::stdin()), ProgressBar::hidden()));
    }
    let file = File::open(path).map_err(|error| {
        Failure::of(exit::NOT_FOUND, format!("{} cannot be read: {error}", path.display()))
    })?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    if !std::io::stderr().is_terminal() {
        return Ok((Box::new(file), ProgressBar::hidden()));
    }
    let style = ProgressStyle::with_template("{bar:40} {bytes} / {total_bytes}, {bytes_per_sec}, {eta}");
    let bar = ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    Ok((Box::new(file), bar))
}
