//! Master data by keyboard alone: a seller is mapped, an SSKU is looked up and tells why a value won, rules are tried and
//! applied, a setting is changed and has its history, a failure is tried again and dropped.

use reqwest::Method;
use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::looks::Page;
use crate::program::{Server, answer, eventually};

const HOSTILE: &str = "Молоток <img src=x onerror=\"document.title='broken'\">";

/// Of the demo.
pub(crate) fn pages() -> Vec<Page> {
    vec![
        ("silver", "/console/silver".to_owned(), "document.querySelectorAll('.funnel li').length > 3"),
        (
            "ssku",
            "/console/silver/sskus/100/hammer-450".to_owned(),
            "document.querySelectorAll('[data-parameter=weight] .candidates li').length === 3",
        ),
        (
            "ssku-cut",
            "/console/silver/sskus/200/spade-1".to_owned(),
            "document.querySelector('.chip.warning') !== null",
        ),
        (
            "ssku-failed",
            "/console/silver/sskus/100/scales-1".to_owned(),
            "document.querySelector('.notice.bad') !== null",
        ),
        (
            "silver-failures",
            "/console/silver/failures".to_owned(),
            "document.querySelector('tbody tr') !== null",
        ),
        (
            "migrations",
            "/console/silver/migrations".to_owned(),
            "document.querySelector('.chip.succeeded') !== null",
        ),
        (
            "shipments",
            "/console/silver/shipments".to_owned(),
            "document.querySelectorAll('tbody tr').length > 20",
        ),
        ("rules", "/console/silver/rules".to_owned(), "document.querySelector('#rules') !== null"),
        ("settings", "/console/silver/settings".to_owned(), "document.querySelectorAll('.card').length > 3"),
        (
            "setting",
            "/console/silver/settings/gold.rules".to_owned(),
            "document.querySelector('.past tbody tr') !== null",
        ),
        (
            "businesses",
            "/console/businesses".to_owned(),
            "document.querySelectorAll('tbody tr').length === 2",
        ),
        (
            "business",
            "/console/businesses/100".to_owned(),
            "document.querySelectorAll('#offer-list tbody tr').length > 5",
        ),
    ]
}

fn part(colour: &str, name: &str, weight_mg: i64, at: i64) -> Value {
    let meta = json!({"source": "PARTNER_FEED", "timestamp": at.to_string()});
    json!({
        "meta": {"rgb": colour, "updated_at": at.to_string()},
        "content": {"partner": {"original": {
            "name": {"meta": meta, "value": name},
            "weight": {"meta": meta, "value_mg": weight_mg.to_string()},
        }}},
    })
}

async fn put(server: &Server, token: &str, sku: &str, services: Value) {
    let request = server.request(Method::PUT, &format!("/v1/united/7/{sku}"));
    let (status, said) = answer(request.bearer_auth(token).json(&json!({"service": services}))).await;
    assert_eq!(status, 200, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_keeps_master_data_by_keyboard() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let token = server.token("admin");
    let browser = Browser::open(folder.path()).await.unwrap();
    browser.look(1280, 900, "light").await.unwrap();
    let services = json!({"1": part("BLUE", HOSTILE, 620_000, 2_000_000), "2": part("DBS", "Молоток 2", 650_000, 1_000_000)});
    put(&server, &token, "hammer", services).await;
    put(&server, &token, "scales", json!({"1": part("BLUE", "Весы", -5, 1)})).await;
    for path in ["/v1/gold/7/hammer", "/v1/silver/7/scales"] {
        eventually(async || {
            let (status, said) = server.get_as(&token, path).await;
            if status == 200 { Ok(()) } else { Err(said.to_string()) }
        })
        .await;
    }

    crate::story::log_in(&browser, &server.http, &token).await;
    look_up(&browser).await;
    change_rules(&browser).await;
    change_a_setting(&browser).await;
    answer_failures(&browser, &server, &token).await;

    // Values that cannot hold are answered 422, of which the browser makes a note.
    let complaints = browser.complaints();
    let complaints: Vec<_> = complaints.iter().filter(|one| !one.contains("422")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let elsewhere: Vec<_> =
        browser.requests().into_iter().filter(|address| !address.starts_with(&server.http)).collect();
    assert!(elsewhere.iter().all(|address| address == "about:blank"), "{elsewhere:?}");
}

/// From the first page by the form to the SSKU.
async fn look_up(browser: &Browser) {
    browser.tab_to("e.matches('.top nav a') && e.textContent === 'Silver'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.pathname === '/console/silver'").await.unwrap();
    // The steps have counted the offers.
    browser
        .until("document.querySelector('.funnel')?.innerText.includes('Detect changes') ?? false")
        .await
        .unwrap();
    browser.tab_to("e.id === 'business'").await.unwrap();
    browser.write("7").await.unwrap();
    browser.tab_to("e.id === 'sku'").await.unwrap();
    browser.write("hammer").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.pathname === '/console/silver/sskus/7/hammer'").await.unwrap();
    // Why the weight is what it is, who lost, and nothing of the hostile name took effect.
    let weight = "document.querySelector('[data-parameter=weight]').innerText";
    browser.until(&format!("{weight}.includes('its source goes before the others')")).await.unwrap();
    let said = browser.eval(weight).await.unwrap();
    let said = said.as_str().unwrap().replace('\u{a0}', " ");
    assert!(said.contains("620 g") && said.contains("650 g") && said.contains("shop 2, DBS"), "{said}");
    let name =
        browser.eval("document.querySelector('[data-parameter=name] .winner').innerText").await.unwrap();
    assert_eq!(name, HOSTILE);
    assert_eq!(browser.eval("document.querySelector('main img') === null").await.unwrap(), true);
    assert_ne!(browser.eval("document.title").await.unwrap(), "broken");
}

/// Puts a text in place of what an element has.
async fn replace(browser: &Browser, id: &str, text: &str) {
    browser.tab_to(&format!("e.id === '{id}'")).await.unwrap();
    browser.eval(&format!("document.getElementById('{id}').select()")).await.unwrap();
    browser.write(text).await.unwrap();
}

async fn press(browser: &Browser, button: &str) {
    browser.tab_to(&format!("e.matches('button') && e.textContent === '{button}'")).await.unwrap();
    browser.press("Enter").await.unwrap();
}

/// Rules that cannot hold say where; good ones are tried, then applied.
async fn change_rules(browser: &Browser) {
    browser.tab_to("e.matches('.filters a') && e.textContent === 'Gold rules'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.pathname === '/console/silver/rules'").await.unwrap();
    replace(browser, "rules", "{\"parameters\": {\"name\": {\"choose\": \"max\"}}}").await;
    press(browser, "Preview").await;
    browser
        .until("document.querySelector('.notice.bad')?.innerText.includes('parameters.name') ?? false")
        .await
        .unwrap();
    replace(browser, "rules", "{\"parameters\": {\"weight\": {\"sources\": [], \"choose\": \"max\"}}}").await;
    press(browser, "Preview").await;
    browser
        .until("document.querySelector('#preview')?.innerText.includes('it is the greatest') ?? false")
        .await
        .unwrap();
    let would = browser.eval("document.querySelector('#preview tbody').innerText").await.unwrap();
    let would = would.as_str().unwrap().replace('\u{a0}', " ");
    assert!(would.contains("hammer") && would.contains("620 g") && would.contains("650 g"), "{would}");
    press(browser, "Apply").await;
    browser.until("location.search === '?applied=1'").await.unwrap();
    browser.until("document.querySelector('.notice.good') !== null").await.unwrap();
    let rules = browser.eval("document.querySelector('#in-force').parentElement.innerText").await.unwrap();
    assert!(rules.as_str().unwrap().contains("parameters.weight"), "{rules}");
}

async fn change_a_setting(browser: &Browser) {
    browser.tab_to("e.matches('.filters a') && e.textContent === 'Settings'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.pathname === '/console/silver/settings'").await.unwrap();
    browser.tab_to("e.matches('a') && e.textContent === 'silver.dbs_business_ranges'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until("decodeURIComponent(location.pathname).endsWith('/silver.dbs_business_ranges')")
        .await
        .unwrap();
    replace(browser, "value", "[[5, 1]]").await;
    press(browser, "Save").await;
    browser.until("document.querySelector('.notice.bad')?.innerText.includes('[0]') ?? false").await.unwrap();
    assert_eq!(browser.eval("document.getElementById('value').value").await.unwrap(), "[[5, 1]]");
    for (text, version) in [("[[1, 5]]", 1), ("[[1, 7]]", 2)] {
        replace(browser, "value", text).await;
        press(browser, "Save").await;
        browser.until(&format!("location.search === '?saved={version}'")).await.unwrap();
        browser
            .until(&format!("document.querySelectorAll('.past tbody tr').length === {version}"))
            .await
            .unwrap();
    }
    let past = browser.eval("document.querySelector('.past tbody').innerText").await.unwrap();
    let past = past.as_str().unwrap();
    assert!(past.find("[[1,7]]").unwrap() < past.find("[[1,5]]").unwrap(), "the newest is first: {past}");
}

async fn answer_failures(browser: &Browser, server: &Server, token: &str) {
    browser.tab_to("e.matches('.filters a') && e.textContent === 'Failures'").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.until("location.pathname === '/console/silver/failures'").await.unwrap();
    let list = "document.querySelector('#failure-list').innerText";
    browser.until(&format!("{list}.includes('-5 is not a weight')")).await.unwrap();
    // The cause is still there, so it fails again.
    browser
        .tab_to("e.matches('button') && e.getAttribute('aria-label') === 'Retry: 7:scales'")
        .await
        .unwrap();
    browser.press("Enter").await.unwrap();
    browser
        .until(&format!("location.pathname === '/console/silver/failures' && {list}.includes('scales')"))
        .await
        .unwrap();
    // The cause goes, and what is tried again is imported.
    put(server, token, "scales", json!({"1": part("BLUE", "Весы", 5_000_000, 2)})).await;
    browser.until(&format!("{list}.includes('None: everything is imported.')")).await.unwrap();
    browser.go(&format!("{}/console/silver/sskus/7/scales", server.http)).await.unwrap();
    browser
        .until("document.querySelector('[data-parameter=weight]')?.innerText.includes('5\\u00a0kg') ?? false")
        .await
        .unwrap();
}
