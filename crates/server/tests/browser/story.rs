//! A person logs in, uploads a feed, reads what became of it, decides, and follows an offer from the feed's line to its
//! snippet; by keyboard alone, but for a file that is dropped onto the page.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost::Message as _;
use serde_json::json;

use crate::chromium::Browser;
use crate::program::Server;

const GOODS: usize = 60;

/// So many drills, one without a title, and one at a place that nobody knows.
fn goods(count: usize) -> String {
    let line = |id: &str, title: &str, address: &str| {
        let offer = json!({ "id": id, "title": title, "price": "5490 RUB", "category": "Дрели и шуруповёрты", "address": address });
        offer.to_string() + "\n"
    };
    let mut text: String =
        (0..count).map(|number| line(&format!("d-{number}"), &format!("Дрель {number}"), "Москва")).collect();
    text += &line("untitled", "", "Москва");
    text + &line("nowhere", "Дрель <b>нигде</b>", "Нигдеград")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_gets_through_by_keyboard() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let token = server.token("admin");
    let base = server.http.clone();
    let downloads = folder.path().join("downloads");
    std::fs::create_dir(&downloads).unwrap();
    let browser = Browser::open(&downloads).await.unwrap();
    browser.look(1280, 900, "light").await.unwrap();

    log_in(&browser, &base, &token).await;
    upload(&browser, &base, By::Keyboard, &folder.path().join("goods.jsonl"), GOODS).await;
    browser.until("document.querySelector('#state .chip.succeeded') !== null").await.unwrap();
    read_errors(&browser).await;
    download(&browser, &downloads).await;
    upload(&browser, &base, By::Mouse, &folder.path().join("few.jsonl"), 5).await;
    browser.until("document.querySelector('#state .chip.needs_confirmation') !== null").await.unwrap();
    confirm(&browser).await;
    follow_an_offer(&browser, &base).await;
    put_a_snippet(&browser, &base).await;

    // The content that was refused on purpose is answered 400, of which the browser makes a note.
    let complaints = browser.complaints();
    let complaints: Vec<_> = complaints.iter().filter(|one| !one.contains("/console/snippets/put")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let elsewhere: Vec<_> =
        browser.requests().into_iter().filter(|address| !address.starts_with(&base)).collect();
    assert!(elsewhere.iter().all(|address| address == "about:blank"), "{elsewhere:?}");
}

pub(crate) async fn log_in(browser: &Browser, base: &str, token: &str) {
    browser.go(&format!("{base}/")).await.unwrap();
    browser
        .until("location.pathname === '/console/login' && document.activeElement.id === 'token'")
        .await
        .unwrap();
    browser.write(token).await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("location.pathname === '/console' && document.querySelector('svg.pipeline') !== null")
        .await
        .unwrap();
    assert_eq!(browser.eval("document.cookie").await.unwrap(), "", "no script sees the session");
}

enum By {
    Keyboard,
    Mouse,
}

/// Chooses a file or drops it onto the page, which then goes to the load by itself.
async fn upload(browser: &Browser, base: &str, by: By, file: &Path, count: usize) {
    std::fs::write(file, goods(count)).unwrap();
    browser.go(&format!("{base}/console/sellers/shop")).await.unwrap();
    match by {
        By::Keyboard => {
            browser.tab_to("e.matches('[data-upload] input[type=file]')").await.unwrap();
            browser.choose_file("[data-upload] input[type=file]", file).await.unwrap();
        }
        By::Mouse => browser.drop_file("[data-upload]", file).await.unwrap(),
    }
    browser.until("/\\/feeds\\/default\\/loads\\/\\d+$/.test(location.pathname)").await.unwrap();
}

async fn read_errors(browser: &Browser) {
    // The last state brought the list, without a reload by hand.
    browser.until("document.querySelectorAll('table.errors tbody tr').length === 2").await.unwrap();
    let bar = browser.eval("document.querySelector('#bar svg').getAttribute('aria-label')").await.unwrap();
    assert_eq!(bar, format!("created {GOODS}, rejected 2"));
    browser.tab_to("e.matches('.filters a') && e.textContent.startsWith('place')").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.search === '?type=geo' && document.querySelectorAll('table.errors tbody tr').length === 1").await.unwrap();
    let row = browser.eval("document.querySelector('table.errors tbody tr').innerText").await.unwrap();
    assert!(row.as_str().unwrap().contains("Дрель <b>нигде</b>"), "{row}");
    // Its line of the file.
    browser.tab_to("e.matches('table.errors td.number a')").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("document.querySelector('.source .wanted')?.innerText.includes('nowhere') ?? false")
        .await
        .unwrap();
    // Among these by id, then among all by words of the title.
    let rows = "[...document.querySelectorAll('table.errors tbody tr')].map(row => row.innerText).join()";
    for (field, words, question, has, lacks) in [
        ("id", "now", "?type=geo&id=now&title=", "nowhere", "untitled"),
        (
            "title",
            "НИГДЕ дрель",
            "?id=&title=%D0%9D%D0%98%D0%93%D0%94%D0%95+%D0%B4%D1%80%D0%B5%D0%BB%D1%8C",
            "nowhere",
            "untitled",
        ),
        ("id", "unt", "?id=unt&title=", "untitled", "nowhere"),
    ] {
        browser.tab_to(&format!("e.id === '{field}'")).await.unwrap();
        browser.write(words).await.unwrap();
        browser.press("Enter").await.unwrap();
        let found = format!("{rows}.includes('{has}') && !{rows}.includes('{lacks}')");
        browser.until(&format!("location.search === '{question}' && {found}")).await.unwrap();
        browser.tab_to("e.matches('.filters a') && e.textContent.startsWith('all')").await.unwrap();
        browser.press("Enter").await.unwrap();
        browser
            .until(
                "location.search === '' && document.querySelectorAll('table.errors tbody tr').length === 2",
            )
            .await
            .unwrap();
    }
}

/// The table opens as what it says it is.
async fn download(browser: &Browser, downloads: &Path) {
    browser.tab_to("e.textContent === 'XLSX'").await.unwrap();
    browser.press("Enter").await.unwrap();
    let file = downloads.join("errors-1.xlsx");
    let began = std::time::Instant::now();
    let mut archive = loop {
        // Until it is there as a whole it is no archive.
        let opened = std::fs::File::open(&file).ok().and_then(|file| zip::ZipArchive::new(file).ok());
        if let Some(archive) = opened {
            break archive;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no table came");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let mut text = String::new();
    for name in ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"] {
        if let Ok(mut part) = archive.by_name(name) {
            part.read_to_string(&mut text).unwrap();
        }
    }
    assert!(text.contains("untitled") && text.contains("Нигдеград"), "{text}");
}

async fn confirm(browser: &Browser) {
    browser.tab_to("e.matches('button') && e.textContent === 'Yes, take them away'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("document.querySelector('#state .chip.succeeded') !== null").await.unwrap();
    browser.until("document.querySelector('#bar .legend').innerText.includes('deleted 55')").await.unwrap();
}

async fn follow_an_offer(browser: &Browser, base: &str) {
    browser.go(&format!("{base}/console")).await.unwrap();
    // By the box at the top to the seller, from there to the cabinet, and by the seller's own id to the offer.
    browser.press("/").await.unwrap();
    browser.until("document.activeElement.id === 'find'").await.unwrap();
    browser.write("shop").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.pathname === '/console/sellers/shop'").await.unwrap();
    browser.tab_to("e.matches('a.figure') && e.href.endsWith('preset=active')").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("document.querySelectorAll('li.offer').length === 5").await.unwrap();
    browser.tab_to("e.id === 'q'").await.unwrap();
    browser.write("d-3").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("document.querySelector('h1')?.innerText === 'Дрель 3'").await.unwrap();
    browser
        .until("document.querySelector('.source .wanted')?.innerText.includes('d-3') ?? false")
        .await
        .unwrap();
    // The snippets come by topic and are shown without a reload.
    browser.until("document.querySelector('#cards').innerText.includes('offer/card_pb')").await.unwrap();
}

async fn put_a_snippet(browser: &Browser, base: &str) {
    browser.go(&format!("{base}/console/snippets?name=offer%2Fcard")).await.unwrap();
    let options = browser.eval("document.querySelector('#options').parentElement.innerText").await.unwrap();
    assert!(options.as_str().unwrap().contains("OutputJsonSchema"), "{options}");
    browser.tab_to("e.id === 'put-key'").await.unwrap();
    browser.write("try-1").await.unwrap();
    browser.tab_to("e.id === 'content'").await.unwrap();
    // Cards are made of messages, so JSON is refused, with the reason, and what was written stays.
    browser.write("{\"title\": 1}").await.unwrap();
    browser.tab_to("e.matches('button') && e.textContent === 'Store'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("document.querySelector('.notice.bad')?.innerText.includes('offer/card') ?? false")
        .await
        .unwrap();
    assert_eq!(browser.eval("document.getElementById('content').value").await.unwrap(), "{\"title\": 1}");
    browser.tab_to("e.id === 'format'").await.unwrap();
    browser.press("ArrowDown").await.unwrap();
    browser.tab_to("e.id === 'content'").await.unwrap();
    browser.eval("document.getElementById('content').select()").await.unwrap();
    browser.write(&card()).await.unwrap();
    browser.tab_to("e.matches('button') && e.textContent === 'Store'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("document.querySelector('.notice.good')?.innerText.includes('offer/card') ?? false")
        .await
        .unwrap();
    browser.until("document.querySelector('#found').innerText.includes('Дрель в карточке')").await.unwrap();
}

/// A change of an offer, as its topic carries it, in base64.
fn card() -> String {
    let content = model::Content {
        title: "Дрель в карточке".to_owned(),
        category_id: "drills".to_owned(),
        ..model::Content::default()
    };
    let offer = model::Offer {
        id: 1,
        seller_id: "shop".to_owned(),
        version: 1,
        status: model::Status::Active.into(),
        content: Some(content),
        created_at: 1_700_000_000_000_000,
        updated_at: 1_700_000_000_000_000,
        ..model::Offer::default()
    };
    let change = wire::offers::OfferChange { offer: Some(offer), ..wire::offers::OfferChange::default() };
    BASE64_STANDARD.encode(change.encode_to_vec())
}
