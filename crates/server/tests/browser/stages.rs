//! An admin looks after the stages by keyboard alone: pauses one, resumes it, answers offers that it has given up, and
//! sends it over all offers; errors that a stage made up harm nobody, and whoever is no admin can only read.

use std::path::Path;

use kit::{Clock, Timestamp};
use model::{Content, OfferId};
use offers::Offers;
use offers::stages::Pairs;
use store::{Schema, Store, Tx};
use wire::stages::PairRow;

use crate::chromium::Browser;
use crate::looks::Looker;
use crate::program::Server;

const PARKED: usize = 4;
const HOSTILE: &str = "</td></table><img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> \
                       HTTP 500 from http://10.0.0.7:9000/aVeryLongPathWithoutAnyPlaceWhereALineCouldBeBroken/anotherOne";

/// Offers of several sellers in the folder of a server that is not started yet; the first of them have been given up by the
/// stage `photos`, which takes hours by itself.
async fn seed(data: &Path) -> Vec<OfferId> {
    let tables = [offers::tables(), spine::tables()].concat();
    let url = format!("embedded:{}", data.join("store").display());
    let store = Store::open(&[url], Schema::new(tables), &store::Options::default()).await.unwrap();
    let catalog = catalog::Catalog::shipped();
    let offers = Offers::new(
        &spine::Base::alone(store.clone(), Clock::system()),
        offers::Settings::default(),
        catalog,
    );
    let actor = offers::write::by_api("test", "create");
    let mut ids = Vec::new();
    for number in 0..30 {
        let content = Content { title: format!("Дрель <i>{number}</i>"), ..Content::default() };
        let offer = offers.create(&format!("shop-{number}"), content, &actor).await.unwrap();
        ids.push(OfferId::from_raw(offer.id).unwrap());
    }
    for id in &ids[..PARKED] {
        let write = async |tx: &mut Tx| {
            let mut pairs = Pairs::default();
            pairs.keep(tx, (id.raw(), "photos"), None, &parked(offers.clock.now()))?;
            pairs.finish(tx).await
        };
        offers.store.transact(offers::read::shard_of(*id), write).await.unwrap();
    }
    store.engine().close().await.unwrap();
    ids
}

fn parked(now: Timestamp) -> PairRow {
    PairRow { tries: 20, error: HOSTILE.to_owned(), failed_at: now.0, parked_at: now.0, ..PairRow::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_looks_after_the_stages_by_keyboard() {
    let folder = tempfile::tempdir().unwrap();
    let ids = seed(folder.path()).await;
    let server = Server::start_in(folder, |_| {});
    let downloads = tempfile::tempdir().unwrap();
    let browser = Browser::open(downloads.path()).await.unwrap();
    let mut looker = Looker::new(browser, server.http.clone());
    log_in(&looker.browser, &server.http, &server.token("admin")).await;

    look(&mut looker, ids[0]).await;
    let browser = &looker.browser;
    answer(browser, &server.http, ids[0]).await;
    pause_and_resume(browser, &server.http).await;
    walk(browser, &server.http).await;
    assert_eq!(
        browser.eval("document.title").await.unwrap(),
        "photos · Dvor",
        "no word of a stage took effect"
    );
    read_only(browser, &server.http, &server.token("service")).await;

    // What was refused on purpose is answered 403, of which the browser makes a note.
    let complaints = browser.complaints();
    let complaints: Vec<_> = complaints.iter().filter(|one| !one.contains("/photos/pause")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    assert!(looker.wrong.is_empty(), "{}", looker.wrong.join("\n"));
}

async fn log_in(browser: &Browser, base: &str, token: &str) {
    browser.look(1280, 900, "light").await.unwrap();
    browser.go(&format!("{base}/console/login")).await.unwrap();
    browser.until("document.activeElement.id === 'token'").await.unwrap();
    browser.write(token).await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("location.pathname === '/console' && document.querySelector('svg.pipeline') !== null")
        .await
        .unwrap();
}

/// The pages with something to show, in every look.
async fn look(looker: &mut Looker, parked: OfferId) {
    let pages = [
        (
            "stages-overview",
            "/console".to_owned(),
            "document.querySelector('.needs').innerText.includes('4')",
        ),
        (
            "stages-list",
            "/console/stages".to_owned(),
            "document.querySelectorAll('.stages tbody tr').length > 1",
        ),
        (
            "stages-one",
            "/console/stages/photos".to_owned(),
            "document.querySelectorAll('.figure').length === 9",
        ),
        (
            "stages-failures",
            "/console/stages/photos/failures".to_owned(),
            "document.querySelectorAll('#failures tbody tr').length === 4",
        ),
        (
            "stages-offer",
            format!("/console/offers/{parked}"),
            "document.querySelector('#stage-list').innerText.includes('HTTP 500')",
        ),
    ];
    for page in &pages {
        looker.look_at(page).await;
    }
    looker.browser.reads("en").await.unwrap();
    looker.browser.look(1280, 900, "light").await.unwrap();
}

async fn pause_and_resume(browser: &Browser, base: &str) {
    browser.go(&format!("{base}/console")).await.unwrap();
    browser.tab_to("e.matches('.top nav a') && e.textContent === 'Stages'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("location.pathname === '/console/stages' && document.querySelector('.stages') !== null")
        .await
        .unwrap();
    browser.tab_to("e.matches('form[action=\"/console/stages/photos/pause\"] button')").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("location.pathname === '/console/stages/photos' && document.querySelector('#state .chip.paused') !== null")
        .await
        .unwrap();
    browser.tab_to("e.matches('button') && e.textContent === 'Resume'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("document.querySelector('#state .chip.active') !== null").await.unwrap();
}

/// Before the stage was ever paused: the walk that makes up for a pause takes offers up again.
async fn answer(browser: &Browser, base: &str, parked: OfferId) {
    browser.go(&format!("{base}/console/stages/photos")).await.unwrap();
    browser.tab_to("e.matches('.figure a') && e.search === '?state=parked'").await.unwrap();
    browser.press("Enter").await.unwrap();
    let rows = "document.querySelectorAll('#failures tbody tr').length";
    browser.until(&format!("location.pathname.endsWith('/failures') && {rows} === 4")).await.unwrap();
    let text = browser.eval("document.querySelector('#failures').innerText").await.unwrap();
    assert!(text.as_str().unwrap().contains("<script>document.title='taken'</script>"), "{text}");
    assert!(text.as_str().unwrap().contains("Дрель <i>"), "{text}");
    let made =
        browser.eval("document.querySelectorAll('main img, main script, #failures i').length").await.unwrap();
    assert_eq!(made, 0, "what a stage or a seller wrote is text");

    let retry = format!("e.matches('button') && e.getAttribute('aria-label') === 'Retry: {parked}'");
    browser.tab_to(&retry).await.unwrap();
    browser.press("Enter").await.unwrap();
    let said = |words: &str| {
        format!("(document.querySelector('.notice.good')?.innerText.includes('{words}') ?? false)")
    };
    browser.until(&format!("{} && {rows} === 3", said("Tried again: 1"))).await.unwrap();
    // The stage runs it, finds nothing wrong, and forgets it.
    let figure = "[...document.querySelectorAll('#states strong')].map(e => e.textContent).join()";
    browser.until(&format!("{figure} === '3,0'")).await.unwrap();

    browser.tab_to("e.matches('details.inline summary')").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.tab_to("e.matches('button.danger')").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until(&format!("{} && {rows} === 0", said("Dropped: 3"))).await.unwrap();
}

async fn walk(browser: &Browser, base: &str) {
    browser.go(&format!("{base}/console/stages/photos")).await.unwrap();
    start_walk(browser, "1").await;
    let told = "document.querySelector('#walk-state').innerText";
    // It begins when every process knows of the stage; the page shows it without a reload.
    browser.until(&format!("/Looked at\\s+[1-9]\\d* of about/.test({told})")).await.unwrap();
    browser.tab_to("e.matches('button') && e.textContent === 'Let it rest'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until(&format!("{told}.includes('rests')")).await.unwrap();
    browser.tab_to("e.matches('button') && e.textContent === 'Let it go on'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until(&format!("{told}.includes('left') || {told}.includes('under way')")).await.unwrap();
    start_walk(browser, "10000").await;
    browser.until(&format!("/Done/.test({told}) && /Looked at\\s+30\\s/.test({told})")).await.unwrap();
}

async fn start_walk(browser: &Browser, rate: &str) {
    browser.tab_to("e.id === 'rate'").await.unwrap();
    browser.write(rate).await.unwrap();
    browser.tab_to("e.matches('form[action$=\"/walk\"] button')").await.unwrap();
    browser.press("Enter").await.unwrap();
    let ordered = format!(
        "/At most a second\\s+{rate}/.test(document.querySelector('#walk-state').innerText.replace(/\\u00a0/g, ''))"
    );
    browser.until(&ordered).await.unwrap();
}

async fn read_only(browser: &Browser, base: &str, token: &str) {
    browser.tab_to("e.matches('button') && e.textContent === 'Log out'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.pathname === '/console/login'").await.unwrap();
    log_in(browser, base, token).await;
    for page in ["", "/photos", "/photos/failures"] {
        browser.go(&format!("{base}/console/stages{page}")).await.unwrap();
        assert_eq!(browser.eval("document.querySelectorAll('main form').length").await.unwrap(), 0, "{page}");
    }
    let sent = "fetch('/console/stages/photos/pause', { method: 'POST', headers: { 'x-csrf-token': \
                document.body.dataset.csrf } }).then(answer => answer.status)";
    assert_eq!(browser.eval(sent).await.unwrap(), 403);
}
