//! The console's pages over a seller with a million offers and a load with a million errors, each asked one after another
//! by somebody who is logged in.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ::offers::Preset;
use anyhow::{Context as _, ensure};
use e2e::bench::{self, Figure, Rate};
use e2e::http::Client;
use e2e::import::Served;
use e2e::load::offers::{self, easy_category};
use e2e::program::dvor;
use feeds::errors::write_cursor;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 1_000_000)]
    offers: u64,
    /// Errors and warnings of the load.
    #[arg(long, default_value_t = 1_000_000)]
    errors: u64,
    /// How often each page is asked for.
    #[arg(long, default_value_t = 100)]
    requests: u64,
}

const SELLER: &str = "large";
const LOAD: &str = "/console/sellers/large/feeds/default/loads/1";
const WANTED: &str = "p99 ≤ 200,000 µs";

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let category = easy_category(&catalog::Catalog::shipped());
    let store = offers::open(folder.path()).await?;
    offers::fill(&store, SELLER, &category, arguments.offers).await?;
    store.engine().close().await?;
    drop(store);
    let served = Served::over(folder, SELLER)?;
    let file = served.program.data().join("goods.jsonl");
    write(&file, arguments.errors)?;
    let loaded = served.load(&file).await?;
    loaded.tell("the load");
    let found = loaded.count("errors") + loaded.count("warnings");
    ensure!(found == arguments.errors, "the load has {found} errors and warnings");
    served.rest().await?;

    let mut reader = Reader::log_in(&served).await?;
    let mut figures = Vec::new();
    for page in pages(arguments) {
        let rate = reader.read(&page, arguments.requests).await?;
        figures.push(Figure::new(page.name, "1/s", rate.per_second, WANTED).with_times(&rate));
    }
    let (pages, seconds) = reader.search_all().await?;
    figures.push(Figure::new(format!("title nobody has, all {pages} pages"), "s", seconds, "-"));
    let title = format!(
        "console: a seller with {} offers, a load with {} errors; each page {} times",
        arguments.offers, arguments.errors, arguments.requests
    );
    bench::print(&title, &figures);
    served.stop().await?;
    bench::save("console", &figures)
}

/// A feed with something wrong with every offer. Nine of ten are refused, for one of three reasons; the tenth is taken,
/// with a warning.
fn write(path: &Path, offers: u64) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for number in 0..offers {
        let (mut title, mut category, mut price, mut address) =
            (format!("Диван угловой серый {number}"), "Диваны", "15000", "Москва");
        let mut attribute = "";
        match number % 10 {
            0 => attribute = ",\"Мощность двигателя\":\"7\"",
            1..=3 => address = "Нигдеград",
            4..=6 => price = "дорого",
            _ => (title, category) = (format!("Нечто серое {number}"), "Нечто"),
        }
        writeln!(
            file,
            "{{\"id\":\"{}\",\"title\":\"{title}\",\"category\":\"{category}\",\"price\":\"{price}\",\
             \"address\":\"{address}\"{attribute}}}",
            id(number)
        )?;
    }
    Ok(file.flush()?)
}

fn id(number: u64) -> String {
    format!("sku-{number:07}")
}

/// A page: its address when it is asked for so often, and what stands in it.
struct Page {
    name: String,
    address: Box<dyn Fn(u64) -> String>,
    has: &'static str,
}

fn page(name: impl Into<String>, has: &'static str, address: impl Fn(u64) -> String + 'static) -> Page {
    Page { name: name.into(), address: Box::new(address), has }
}

fn pages(arguments: &Arguments) -> Vec<Page> {
    let (offers, errors) = (arguments.offers, arguments.errors);
    // Far from both ends, another one each time.
    let spread = |count: u64| move |turn: u64| count / 4 + turn.wrapping_mul(7_919_777) % (count / 2).max(1);
    let (some_offer, some_error) = (spread(offers), spread(errors));
    let cabinet = format!("/console/sellers/{SELLER}/offers");
    let mut pages = Vec::new();
    for preset in Preset::EVERY {
        let address = format!("{cabinet}?preset={}", preset.name());
        pages.push(page(format!("cabinet, {}", preset.name()), "id=\"offers\"", move |_| address.clone()));
    }
    pages.push(page("cabinet, a page deep in it", "class=\"offer\"", move |turn| {
        let place = offers::place(SELLER, some_offer(turn)).cursor();
        format!("{cabinet}?preset=active&cursor={place}")
    }));
    pages.push(page("offer", "Диван угловой", move |turn| {
        format!("/console/offers/{}", offers::id(SELLER, some_offer(turn)))
    }));
    let list =
        |name: &str, question: &'static str| page(name, "<tbody>", move |_| format!("{LOAD}?{question}"));
    pages.push(list("load with its errors by type", ""));
    pages.push(list("errors of a type", "type=geo"));
    pages.push(list("errors of a level", "level=warning"));
    pages.push(list("errors of a type and a level", "type=category&level=error"));
    for (name, question) in
        [("errors", ""), ("errors of a type", "type=validation&"), ("errors of a level", "level=error&")]
    {
        pages.push(page(format!("{name}, a page deep in them"), "id=\"errors\"", move |turn| {
            let cursor = write_cursor(&(model::Level::Error as u32, id(some_error(turn)), 0));
            format!("{LOAD}?{question}cursor={cursor}")
        }));
    }
    pages.push(page("search by id", "<tbody>", move |turn| format!("{LOAD}?id={}", id(some_error(turn)))));
    pages.push(list("search by the beginning of ids", "id=sku-000"));
    pages.push(list("search by a title that many have", "title=%D1%81%D0%B5%D1%80%D0%BE%D0%B5"));
    pages.push(page("search by a title that nobody has", "id=\"errors\"", move |turn| {
        let cursor = write_cursor(&(0, id(some_error(turn)), 0));
        format!("{LOAD}?title=nothing&cursor={cursor}")
    }));
    pages
}

/// Somebody with a session.
struct Reader {
    client: Client,
    cookie: String,
}

impl Reader {
    async fn log_in(served: &Served) -> anyhow::Result<Self> {
        let data = served.program.data();
        let made = Command::new(dvor()?)
            .args(["token", "create", "--scope", "admin", "--data"])
            .arg(data)
            .output()?;
        let token = String::from_utf8(made.stdout)?;
        let mut client = Client::connect(served.program.http).await?;
        let form = client.get("/console/login").await?.expect(200)?;
        let visit = form.cookies.first().context("a visitor's cookie")?;
        let text = String::from_utf8(form.body)?;
        let (_, csrf) = text.split_once("data-csrf=\"").context("a token of forms")?;
        let csrf = csrf.split('"').next().unwrap_or_default();
        let headers = format!("cookie: {visit}\r\ncontent-type: application/x-www-form-urlencoded\r\n");
        let body = format!("csrf={csrf}&token={}", token.trim());
        let entered = client.ask("POST", "/console/login", &headers, body.as_bytes()).await?.expect(303)?;
        let session = entered.cookies.first().context("a session")?;
        Ok(Self { client, cookie: format!("cookie: {session}\r\n") })
    }

    async fn get(&mut self, address: &str) -> anyhow::Result<String> {
        let answer = self.client.ask("GET", address, &self.cookie, b"").await?.expect(200);
        Ok(String::from_utf8(answer.with_context(|| address.to_owned())?.body)?)
    }

    /// The times of a page, after one that nobody waits for.
    async fn read(&mut self, page: &Page, requests: u64) -> anyhow::Result<Rate> {
        self.get(&(page.address)(requests)).await?;
        let mut times = Vec::new();
        let began = Instant::now();
        for turn in 0..requests {
            let address = (page.address)(turn);
            let call = Instant::now();
            let text = self.get(&address).await?;
            times.push(call.elapsed().as_micros() as u64);
            ensure!(text.contains(page.has), "{address} does not have {}", page.has);
        }
        Ok(Rate::of(times, began.elapsed()))
    }

    /// Searches for what is not there until the list is at its end; pages and seconds.
    async fn search_all(&mut self) -> anyhow::Result<(u32, f64)> {
        let began = Instant::now();
        let (mut address, mut pages) = (format!("{LOAD}?title=nothing"), 0);
        loop {
            let text = self.get(&address).await?;
            pages += 1;
            let Some((_, next)) = text.split_once("rel=\"next\" href=\"") else { break };
            address = next.split(['"', '#']).next().unwrap_or_default().replace("&amp;", "&");
        }
        Ok((pages, began.elapsed().as_secs_f64()))
    }
}
