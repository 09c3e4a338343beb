//! Every page over a living demo, light, dark and on a phone, in English and in Russian: it fits, complains of nothing
//! and asks nobody else. With `DVOR_TEST_PICTURES=DIR` the pictures are kept, and with `DVOR_TEST_AXE=axe.min.js` axe-core
//! looks at each page too.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::chromium::Browser;
use crate::program::{dvor, run};

/// Ends with the test, also with one that failed.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const LOOKS: [(&str, u32, &str); 3] =
    [("light", 1_280, "light"), ("dark", 1_280, "dark"), ("phone", 390, "light")];
const LANGUAGES: [&str; 2] = ["en", "ru"];

/// A page: its name, its address, and what is true of it when it shows what the demo is there to show.
pub(crate) type Page = (&'static str, String, &'static str);

/// Looks at pages and notes what is wrong with them.
pub(crate) struct Looker {
    pub(crate) browser: Browser,
    base: String,
    pictures: Option<PathBuf>,
    axe: Option<String>,
    pub(crate) wrong: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_fits_and_complains_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let child = dvor()
        .args(["demo", "--json", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--data"])
        .arg(&data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut demo = Demo(child);
    // The pipe stays open: to a closed one the demo could not say the rest.
    let mut said = BufReader::new(demo.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut lines = said.by_ref().map(|line| line.trim().to_owned());
    let address = lines.find(|line| line.starts_with("\"console\""));
    let base = address.unwrap().split('"').nth(3).unwrap().trim_end_matches("/console").to_owned();

    let mut looker = Looker::new(Browser::open(folder.path()).await.unwrap(), base);
    for page in pages(&looker.browser, &looker.base).await.into_iter().chain(crate::silver::pages()) {
        looker.look_at(&page).await;
    }
    // From the first token on somebody has to log in.
    let made = run(dvor().args(["token", "create", "--scope", "admin", "--data"]).arg(&data));
    assert_eq!(made.code, 0, "{made:?}");
    looker
        .look_at(&("login", "/console/login".to_owned(), "document.querySelector('#token') !== null"))
        .await;
    drop(said);

    let Looker { browser, base, mut wrong, .. } = looker;
    // A page that is not there is answered 404, of which the browser makes a note.
    wrong
        .extend(browser.complaints().into_iter().filter(|complaint| !complaint.contains("/console/nowhere")));
    let elsewhere = browser.requests().into_iter().filter(|to| !to.starts_with(&base) && to != "about:blank");
    wrong.extend(elsewhere.map(|to| format!("asked {to}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Looker {
    pub(crate) fn new(browser: Browser, base: String) -> Self {
        Self {
            browser,
            base,
            pictures: std::env::var_os("DVOR_TEST_PICTURES").map(PathBuf::from),
            axe: std::env::var_os("DVOR_TEST_AXE").map(|path| std::fs::read_to_string(path).unwrap()),
            wrong: Vec::new(),
        }
    }

    /// In every look and language.
    pub(crate) async fn look_at(&mut self, (name, path, ready): &Page) {
        let browser = &self.browser;
        for language in LANGUAGES {
            browser.reads(language).await.unwrap();
            for (look, width, scheme) in LOOKS {
                let seen = format!("{name}-{look}-{language}");
                browser.look(width, 900, scheme).await.unwrap();
                browser.go(&format!("{}{path}", self.base)).await.unwrap();
                browser.until(ready).await.unwrap();
                assert_eq!(browser.eval("document.documentElement.lang").await.unwrap(), language, "{seen}");
                let over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
                let over = browser.eval(over).await.unwrap();
                if over != 0 {
                    self.wrong.push(format!("{seen} is wider than the screen by {over}"));
                }
                if let Some(folder) = &self.pictures {
                    std::fs::create_dir_all(folder).unwrap();
                    browser.picture(&folder.join(format!("{seen}.png"))).await.unwrap();
                }
                if let Some(script) = &self.axe {
                    let faults = judged(browser, script).await;
                    self.wrong.extend(faults.into_iter().map(|fault| format!("{seen}: {fault}")));
                }
            }
        }
    }
}

async fn pages(browser: &Browser, base: &str) -> Vec<Page> {
    let tools = "/console/sellers/north-tools";
    browser.go(&format!("{base}{tools}/offers?preset=from_feed")).await.unwrap();
    browser.until("document.querySelectorAll('.offer img').length > 3").await.unwrap();
    let first =
        "[...document.querySelectorAll('.offer a')].find(a => a.querySelector('img')).getAttribute('href')";
    let offer = browser.eval(first).await.unwrap().as_str().unwrap().to_owned();
    let chip = "document.querySelector('.chip') !== null";
    vec![
        ("overview", "/console".to_owned(), "document.querySelectorAll('.needs li').length > 1"),
        ("sellers", "/console/sellers".to_owned(), "document.querySelectorAll('tbody tr').length === 3"),
        ("seller", tools.to_owned(), "document.querySelectorAll('figure.history').length === 3"),
        ("feed", format!("{tools}/feeds/default"), "document.querySelectorAll('tbody tr').length > 0"),
        ("load", format!("{tools}/feeds/default/loads/1"), "document.querySelector('table.errors') !== null"),
        (
            "line",
            format!("{tools}/feeds/default/loads/1?line=90"),
            "document.querySelector('.wanted') !== null",
        ),
        (
            "held",
            "/console/sellers/lada-garden/feeds/seedlings/loads/2".to_owned(),
            "document.querySelector('.notice.ask') !== null",
        ),
        (
            "failed",
            "/console/sellers/book-yard/feeds/broken/loads/1".to_owned(),
            "document.querySelector('.chip.failed') !== null",
        ),
        ("cabinet", format!("{tools}/offers"), "document.querySelectorAll('.offer').length > 3"),
        ("offer", offer, "document.querySelector('#cards article') !== null"),
        ("stages", "/console/stages".to_owned(), "document.querySelectorAll('.stages tbody tr').length > 1"),
        ("stage", "/console/stages/photos".to_owned(), chip),
        (
            "stage-failures",
            "/console/stages/photos/failures".to_owned(),
            "document.querySelector('#failures') !== null",
        ),
        ("snippets", "/console/snippets?name=offer%2Fcard".to_owned(), chip),
        ("topics", "/console/topics".to_owned(), "document.querySelectorAll('tbody tr').length > 5"),
        ("topic", "/console/topics/offers.changes".to_owned(), "document.querySelector('pre') !== null"),
        ("cluster", "/console/cluster".to_owned(), chip),
        ("missing", "/console/nowhere".to_owned(), "document.querySelector('.notice.bad') !== null"),
    ]
}

/// What axe-core finds serious.
async fn judged(browser: &Browser, script: &str) -> Vec<String> {
    browser.eval(&format!("{script}; true")).await.unwrap();
    let asked = "axe.run().then(found => found.violations.map(v => \
        [v.impact, v.id, v.nodes.map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).slice(0, 3)]))";
    let found = browser.eval(asked).await.unwrap();
    let serious =
        found.as_array().unwrap().iter().filter(|fault| fault[0] == "serious" || fault[0] == "critical");
    serious.map(ToString::to_string).collect()
}
