//! What pages say, in both languages, whatever sellers write.

use axum::http::{StatusCode, header};

use crate::browser::Browser;
use crate::world::{SELLER, World, eventually, goods};

fn seller_address() -> String {
    let encoded = percent_encoding::utf8_percent_encode(SELLER, percent_encoding::NON_ALPHANUMERIC);
    format!("/console/sellers/{encoded}")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_speaks_both_languages_and_shows_hostile_words_harmlessly() {
    let (world, key) = World::furnished().await;
    let evil = offers::external::find(&world.offers, SELLER, "default", "evil").await.unwrap().unwrap();
    let id = offers::changes::printed(evil.id);
    let bad = topics::Message::new("<b>key</b>", "<script>alert(4)</script>".as_bytes().to_vec());
    world.topics.publish(model::topics::MODERATION_OPINIONS, vec![bad]).await.unwrap();
    world.park(evil.id, "<script>alert(5)</script> <b>не вышло</b>").await;
    let seller = seller_address();
    let pages = [
        ("/console".to_owned(), "Overview", "Обзор"),
        ("/console/sellers".to_owned(), "Sellers", "Продавцы"),
        (seller.clone(), "Upload a file", "Загрузить файл"),
        (format!("{seller}/feeds/default"), "Settings", "Настройки"),
        (format!("{seller}/feeds/default/loads/1"), "What became of the offers", "Что стало с предложениями"),
        (format!("{seller}/feeds/default/loads/1?line=61"), "of the file", "файла"),
        (
            format!("{seller}/feeds/default/loads/1?id=%3Ci%3E"),
            "Id begins with",
            "Идентификатор начинается с",
        ),
        (format!("{seller}/offers"), "With problems", "С проблемами"),
        (format!("/console/offers/{id}"), "Where it comes from", "Откуда взято"),
        ("/console/stages".to_owned(), "Timers due", "Таймеров пора"),
        ("/console/stages/fragile".to_owned(), "Breaker and limits", "Предохранитель и лимиты"),
        ("/console/stages/fragile/failures".to_owned(), "Retry all", "Повторить все"),
        (
            "/console/snippets?name=offer/card&key=%3Cb%3E".to_owned(),
            "Options in force",
            "Действующие параметры",
        ),
        ("/console/silver".to_owned(), "Steps of the import", "Шаги импорта"),
        (
            "/console/silver/failures?business=7&reason=%3Cb%3E".to_owned(),
            "Words of the reason",
            "Слова причины",
        ),
        ("/console/silver/migrations".to_owned(), "Move an offer", "Перевезти предложение"),
        ("/console/silver/shipments".to_owned(), "Shipments since", "Отгрузок с"),
        ("/console/silver/rules".to_owned(), "Rules in force", "Действующие правила"),
        ("/console/silver/settings".to_owned(), "never set: the default", "не задана: значение по умолчанию"),
        ("/console/silver/settings/gold.rules".to_owned(), "Which value survives", "Какое значение попадает"),
        ("/console/businesses".to_owned(), "No seller is mapped", "Пока ни один продавец"),
        ("/console/businesses/7".to_owned(), "It has no shops.", "Магазинов нет."),
        ("/console/topics".to_owned(), "Dead letters", "Непринятые записи"),
        ("/console/topics/moderation.opinions".to_owned(), "Last records", "Последние записи"),
        ("/console/topics/feed.offers".to_owned(), "Readers", "Читатели"),
        ("/console/cluster".to_owned(), "Work tokens", "Рабочих токенов"),
        ("/console/find?q=%3Cb%3Ex%00".to_owned(), "Nothing found", "Ничего не найдено"),
    ];
    let mut browser = Browser::at_home(&world.router);
    for (page, english, russian) in pages {
        for (language, words, other) in [("en-GB,ru;q=0.3", english, russian), ("ru", russian, english)] {
            browser.language = language;
            let seen = browser.get(&page).await;
            assert_eq!(seen.status, StatusCode::OK, "{page}: {}", seen.text);
            seen.has(words).lacks(other).has(&format!("<html lang=\"{}\"", &language[..2]));
            for hostile in ["<script>alert", "<img src=x", "<b>", "<i>id", "<u>", "onerror=alert(2)>"] {
                seen.lacks(hostile);
            }
            assert_eq!(seen.text.matches("<script").count(), 1, "{page}");
        }
    }
    // What was written is shown all the same.
    browser.language = "en";
    browser.get(&format!("/console/offers/{id}")).await.has("&lt;img src=x onerror=alert(2)&gt;");
    browser.get("/console/topics/moderation.opinions").await.has("&lt;script&gt;alert(4)");
    for page in [format!("/console/offers/{id}"), "/console/stages/fragile/failures".to_owned()] {
        browser.get(&page).await.has("&lt;script&gt;alert(5)&lt;/script&gt; &lt;b&gt;не вышло");
    }
    let load = browser.get(&format!("{seller}/feeds/default/loads/1")).await;
    load.has("&lt;i&gt;id&lt;/i&gt;").has("Нигдеград").has("&lt;b&gt;goods&lt;/b&gt;.jsonl");
    drop(key);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_tells_what_became_of_it() {
    let (world, key) = World::furnished().await;
    let mut browser = Browser::at_home(&world.router);
    let base = format!("{}/feeds/default/loads/1", seller_address());
    let page = browser.get(&base).await;
    // 62 good ones, of which one was shortened; two refused: without a title, nowhere.
    let load = feeds::history::load(&world.feeds, &key, 1).await.unwrap();
    let tally = load.statistics.tally.unwrap();
    assert_eq!((tally.created, tally.rejected), (62, 2), "{tally:?}");
    page.has("class=\"chip succeeded\"")
        .has("created <strong>62</strong>")
        .has("rejected <strong>2</strong>");
    page.lacks("data-refresh");
    let errors = browser.get(&format!("{base}?level=error")).await;
    errors.has("&lt;i&gt;id").has("nowhere").lacks("слово");
    browser.get(&format!("{base}?level=warning")).await.has("слово").lacks("Нигдеград");
    browser.get(&format!("{base}?type=geo")).await.has("nowhere").lacks("слово");
    browser.get(&format!("{base}?id=now")).await.has("nowhere").lacks("слово");
    browser.get(&format!("{base}?id=zzz")).await.has("Nothing to show here.");
    // By words of the title, in any order and case, within a filter.
    let titled = browser
        .get(&format!("{base}?title=%D0%9D%D0%98%D0%93%D0%94%D0%95%20%D0%B4%D1%80%D0%B5%D0%BB%D1%8C"))
        .await;
    titled.has("Нигдеград").lacks("слово");
    browser
        .get(&format!("{base}?title=%D0%BD%D0%B8%D0%B3%D0%B4%D0%B5&level=warning"))
        .await
        .has("Nothing to show here.");
    // The failing line of the file, with its neighbours.
    let line = browser.get(&format!("{base}?line=64")).await;
    line.has("Line 64 of the file").has("class=\"wanted\"").has("&quot;id&quot;:&quot;nowhere&quot;");
    browser.get(&format!("{base}?line=9999")).await.has("The file ends before this line.");
    assert_eq!(browser.get(&format!("{base}?type=nonsense")).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        browser.get(&format!("{base}?cursor=nonsense")).await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(browser.get(&base.replace("loads/1", "loads/77")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.get(&base.replace("loads/1", "loads/x")).await.status, StatusCode::NOT_FOUND);

    let table = browser.get(&format!("{base}/errors.csv")).await;
    assert!(table.headers[header::CONTENT_DISPOSITION].to_str().unwrap().contains("errors-1.csv"));
    table.has("nowhere");
    let sheet = browser.get(&format!("{base}/errors.xlsx")).await;
    assert!(sheet.text.starts_with("PK"), "an XLSX file is a zip archive");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_go_on_by_cursors() {
    let world = World::new().await;
    let key = feeds::FeedKey::new("shop", "default").unwrap();
    let line = |number| format!("{{\"id\":\"n-{number:03}\",\"title\":\"\",\"price\":\"1\"}}\n");
    let text: String = (0..130).map(line).collect();
    world.load(&key, &text).await;
    let mut browser = Browser::at_home(&world.router);
    let mut address = "/console/sellers/shop/feeds/default/loads/1?level=error".to_owned();
    let mut found = std::collections::BTreeSet::new();
    let mut pages = 0;
    loop {
        let page = browser.get(&address).await;
        found.extend(page.text.match_indices("n-").map(|(at, _)| page.text[at..at + 5].to_owned()));
        pages += 1;
        let Some((_, rest)) = page.text.split_once("rel=\"next\" href=\"") else { break };
        address = rest.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert!(found.len() == 130 && pages > 2, "{} in {pages} pages", found.len());

    world.load(&key, &goods(0..30)).await;
    let first = browser.get("/console/sellers/shop/offers?preset=active").await;
    assert_eq!(first.text.matches("class=\"offer\"").count(), 24);
    let (_, rest) = first.text.split_once("rel=\"next\" href=\"").unwrap();
    let second = browser.get(&rest.split('"').next().unwrap().replace("&amp;", "&")).await;
    assert_eq!(second.text.matches("class=\"offer\"").count(), 8);
    second.lacks("rel=\"next\"");
    assert_eq!(browser.get("/console/sellers/shop/offers?preset=x").await.status, StatusCode::NOT_FOUND);
    assert_eq!(
        browser.get("/console/sellers/shop/offers?cursor=x").await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_leads_to_its_line_and_its_snippets() {
    let (world, _) = World::furnished().await;
    let mut browser = Browser::at_home(&world.router);
    let found = browser.get(&format!("{}/offers?q=d-7", seller_address())).await;
    assert_eq!(found.status, StatusCode::SEE_OTHER);
    let address = found.location().to_owned();
    let id = address.rsplit('/').next().unwrap().to_owned();
    // Snippets come by topic.
    eventually(async || {
        let documents = world.snippets.documents("offer", &id).await.unwrap();
        if documents.len() >= 4 { Ok(()) } else { Err(format!("no snippets of {id}")) }
    })
    .await;
    let page = browser.get(&address).await;
    page.has("Дрель 7")
        .has("5490.00 RUB")
        .has("line 8")
        .has("class=\"wanted\"")
        .has("&quot;id&quot;:&quot;d-7&quot;");
    page.has("offer/card").has("offer/card_pb").has("created");
    let missing = browser.get(&format!("{}/offers?q=none-such", seller_address())).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.get("/console/offers/123").await.status, StatusCode::BAD_REQUEST);

    let opinion = wire::offers::Opinion {
        offer_id: id.clone(),
        verdict: wire::offers::opinion::Verdict::Ban.into(),
        text: "<b>не то</b>".to_owned(),
        timestamp: 1,
        ..Default::default()
    };
    world.offers.opine(id.parse().unwrap(), &opinion).await.unwrap();
    browser.get(&address).await.has("class=\"chip banned\"").has("&lt;b&gt;не то&lt;/b&gt;");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_language_is_kept() {
    let world = World::new().await;
    let mut browser = Browser::at_home(&world.router);
    browser.get("/console").await.has("Overview").has("Русский");
    let changed = browser.post("/console/language", &[("language", "ru"), ("back", "/console/topics")]).await;
    assert_eq!(changed.location(), "/console/topics");
    browser.get("/console").await.has("Обзор").has("English");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_sellers_are_listed_once_whether_by_offers_or_by_feeds() {
    let world = World::new().await;
    let actor = offers::write::by_api("test", "create");
    for number in 0..120 {
        let seller = format!("s-{number:03}");
        if number % 3 != 0 {
            let content = model::Content { title: "Дрель".to_owned(), ..model::Content::default() };
            world.offers.create(&seller, content, &actor).await.unwrap();
        }
        if number % 3 != 1 {
            let key = feeds::FeedKey::new(&seller, "default").unwrap();
            let settings = feeds::feed::default_settings(&world.feeds);
            feeds::feed::put(&world.feeds, &key, settings).await.unwrap();
        }
    }
    let mut browser = Browser::at_home(&world.router);
    let (mut address, mut found, mut pages) = ("/console/sellers".to_owned(), Vec::new(), 0);
    loop {
        let page = browser.get(&address).await;
        let links = page.text.match_indices("<a href=\"/console/sellers/s%2D");
        found.extend(links.map(|(at, part)| page.text[at + part.len()..at + part.len() + 3].to_owned()));
        pages += 1;
        let Some((_, rest)) = page.text.split_once("<a href=\"/console/sellers?after=") else { break };
        address = format!("/console/sellers?after={}", rest.split('"').next().unwrap());
    }
    found.sort();
    let expected: Vec<_> = (0..120).map(|number| format!("{number:03}")).collect();
    assert_eq!((found, pages), (expected, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_of_many_feeds_says_that_it_goes_on() {
    let world = World::new().await;
    let settings = feeds::feed::default_settings(&world.feeds);
    let put = async |number: usize| {
        let key = feeds::FeedKey::new(&format!("s-{number:03}"), "default").unwrap();
        feeds::feed::put(&world.feeds, &key, settings.clone()).await.unwrap();
    };
    for number in 0..500 {
        put(number).await;
    }
    let mut browser = Browser::at_home(&world.router);
    browser.get("/console").await.lacks("Only the first").lacks("rel=\"next\"");
    put(500).await;
    let first = browser.get("/console").await;
    first.has("Only the first 500 feeds are looked at here.");
    let (_, rest) = first.text.split_once("rel=\"next\" href=\"").unwrap();
    let second = browser.get(&rest.split('"').next().unwrap().replace("&amp;", "&")).await;
    second.has("Only feeds behind").has("To the first ones").lacks("rel=\"next\"");
    assert_eq!(browser.get("/console?seller=s&feed=%00").await.status, StatusCode::UNPROCESSABLE_ENTITY);
}
