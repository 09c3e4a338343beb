//! Opening: who is let in, what is refused, and with what words.

use store::{Error, Kind, Options, Range, Read as _, Schema, Shard, Space, Store, Table};

use super::support::{COUNTERS, Database, OwnServer, PASSWORD, WORDS, open, schema};

async fn refused(urls: &[&str]) -> Error {
    let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
    Store::open(&urls, schema(), &Options::default()).await.err().expect("it was opened")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_may_open_an_empty_database_at_once() {
    let Some(database) = Database::create().await else { return };
    let opening: Vec<_> = (0..12)
        .map(|_| {
            let url = database.url.clone();
            tokio::spawn(async move { open(&url).await })
        })
        .collect();
    for store in opening {
        store.await.unwrap();
    }
    let client = database.client().await;
    let shards: i64 = client.query_one("SELECT count(*) FROM dvor.shards", &[]).await.unwrap().get(0);
    assert_eq!(shards, 1024);
}

#[tokio::test]
async fn a_store_of_another_version_is_refused() {
    let Some(database) = Database::create().await else { return };
    open(&database.url).await;
    for (number, age) in [(99, "a newer version"), (1, "an older version")] {
        let update = format!("UPDATE dvor.meta SET format = {number}");
        database.client().await.batch_execute(&update).await.unwrap();
        let error = refused(&[&database.url]).await;
        assert_eq!(error.kind(), Kind::Incompatible);
        assert!(error.to_string().contains(age), "{error}");
    }
}

#[tokio::test]
async fn a_table_of_other_columns_is_refused() {
    let Some(database) = Database::create().await else { return };
    open(&database.url).await;
    let other: Table<(String, String), ()> =
        Table::new("lexicon", "words", &["language", "number"], Space::Small);
    let urls = [database.url.clone()];
    let opened = Store::open(&urls, Schema::new([other.spec()]), &Options::default()).await;
    let error = opened.err().unwrap();
    assert_eq!(error.kind(), Kind::Incompatible);
    assert!(
        error.to_string().contains("lexicon.words") && error.to_string().contains("number bigint"),
        "{error}"
    );
}

#[tokio::test]
async fn servers_keep_their_shards() {
    let (Some(one), Some(two)) = (Database::create().await, Database::create().await) else { return };
    let urls = [one.url.clone(), two.url.clone()];
    let store = Store::open(&urls, schema(), &Options::default()).await.unwrap();
    let shards: Vec<Shard> = [900, 0, 511, 512, 1023].map(|number| Shard::new(number).unwrap()).to_vec();
    for shard in &shards {
        let number = u64::from(shard.number());
        store.transact(*shard, async |tx| tx.put(&COUNTERS, ("n",), &number)).await.unwrap();
    }
    let found = store.scan_shards(&COUNTERS, &shards, Range::all(5)).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|(shard, _, number)| (shard, number)).collect();
    let expected: Vec<_> = shards.iter().map(|shard| (*shard, u64::from(shard.number()))).collect();
    assert_eq!(found, expected);
    for (database, expected) in [(&one, vec![0_i16, 511]), (&two, vec![512, 900, 1023])] {
        let client = database.client().await;
        let text = "SELECT array_agg(shard ORDER BY shard) FROM lexicon.counters";
        assert_eq!(client.query_one(text, &[]).await.unwrap().get::<_, Vec<i16>>(0), expected);
    }

    for urls in [vec![&*two.url, &*one.url], vec![&*one.url], vec![&*one.url, &*one.url]] {
        let error = refused(&urls).await;
        assert_eq!(error.kind(), Kind::Incompatible);
        assert!(error.to_string().contains("server"), "{error}");
    }

    // A row that is not there is a shard that lives elsewhere.
    one.client().await.batch_execute("DELETE FROM dvor.shards WHERE shard = 3").await.unwrap();
    let writing = store.transact(Shard::new(3).unwrap(), async |tx| tx.put(&COUNTERS, ("n",), &1));
    assert_eq!(writing.await.unwrap_err().kind(), Kind::Incompatible);
}

#[tokio::test]
async fn a_password_is_checked_and_never_shown() {
    let Some(mut server) = OwnServer::start(&["fsync=off"]).await else { return };
    open(&server.url()).await.engine().close().await.unwrap();
    let error = refused(&[&server.url_with("wr0ng-one")]).await;
    assert_eq!(error.kind(), Kind::Denied);
    assert!(!format!("{error} {error:?}").contains("wr0ng"), "{error}");
    let error = refused(&[&server.url().replace(&format!(":{PASSWORD}"), "")]).await;
    assert_eq!(error.kind(), Kind::Denied, "{error}");
    let error = refused(&[&server.url().replace("/postgres", "/nowhere")]).await;
    assert!(error.kind() == Kind::Invalid && error.to_string().contains("nowhere"), "{error}");

    server.kill();
    let error = refused(&[&server.url()]).await;
    assert_eq!(error.kind(), Kind::Unavailable);
    assert!(error.to_string().contains(&server.place()) && !error.to_string().contains(PASSWORD), "{error}");
}

/// A certificate for 127.0.0.1, made by the server's machine as an operator would make it.
fn certificate(folder: &std::path::Path) -> bool {
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dvor"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(folder.join("server.key"))
        .arg("-out")
        .arg(folder.join("server.crt"))
        .output();
    made.is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn connections_are_encrypted_where_the_url_asks_for_it() {
    let Some(mut server) = OwnServer::start(&["fsync=off"]).await else { return };
    let plain = refused(&[&format!("{}?sslmode=require", server.url())]).await;
    assert_eq!(plain.kind(), Kind::Unavailable, "{plain}");
    if !server.encrypt(certificate) {
        return;
    }
    server.restart().await;
    let certificate = server.folder().join("server.crt");
    let checked = format!("{}?sslmode=verify-full&sslrootcert={}", server.url(), certificate.display());
    for url in [format!("{}?sslmode=require", server.url()), checked, server.url()] {
        let store = open(&url).await;
        store.transact(Shard::of("x"), async |tx| tx.put(&WORDS, ("x", 1_i64), &vec![1])).await.unwrap();
        let snapshot = store.snapshot(Shard::of("x")).await.unwrap();
        assert_eq!(snapshot.get(&WORDS, ("x", 1_i64)).await.unwrap(), Some(vec![1]));
        let text = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
            WHERE application_name = 'dvor'";
        let client = super::support::connect(&server.url()).await;
        assert!(client.query_one(text, &[]).await.unwrap().get::<_, bool>(0), "{url}");
        store.engine().close().await.unwrap();
    }
    let unknown = refused(&[&format!("{}?sslmode=verify-full", server.url())]).await;
    assert_eq!(unknown.kind(), Kind::Unavailable, "{unknown}");
}

/// As Citus makes one for itself: of version 1, without extensions.
fn old_certificate(folder: &std::path::Path) -> bool {
    let request = folder.join("server.csr");
    let run =
        |command: &mut std::process::Command| command.output().is_ok_and(|output| output.status.success());
    run(std::process::Command::new("openssl")
        .args(["req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=dvor"])
        .arg("-keyout")
        .arg(folder.join("server.key"))
        .arg("-out")
        .arg(&request))
        && run(std::process::Command::new("openssl")
            .args(["x509", "-req", "-days", "2"])
            .arg("-in")
            .arg(&request)
            .arg("-signkey")
            .arg(folder.join("server.key"))
            .arg("-out")
            .arg(folder.join("server.crt")))
}

#[tokio::test]
async fn an_old_certificate_is_as_good_as_any_where_none_is_checked() {
    let Some(mut server) = OwnServer::start(&["fsync=off"]).await else { return };
    let plain = refused(&[&format!("{}?sslmode=require", server.url())]).await;
    assert!(plain.to_string().contains("sslmode=require"), "{plain}");
    if !server.encrypt(old_certificate) {
        return;
    }
    server.restart().await;
    for mode in ["", "?sslmode=prefer", "?sslmode=require"] {
        let store = open(&format!("{}{mode}", server.url())).await;
        let text = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
            WHERE application_name = 'dvor'";
        let client = super::support::connect(&server.url()).await;
        assert!(client.query_one(text, &[]).await.unwrap().get::<_, bool>(0), "{mode}");
        store.engine().close().await.unwrap();
    }
    let certificate = server.folder().join("server.crt");
    let checked = format!("{}?sslmode=verify-full&sslrootcert={}", server.url(), certificate.display());
    let error = refused(&[&checked]).await;
    assert!(error.to_string().contains("sslmode=verify-full"), "{error}");
    let error = refused(&[&format!("{}?sslmode=odd", server.url())]).await;
    assert!(error.kind() == Kind::Invalid && error.to_string().contains("sslmode"), "{error}");
}

/// libpq's `prefer` goes on without encryption when the handshake fails, and `require` does not.
#[tokio::test]
async fn prefer_goes_on_without_encryption_when_that_fails() {
    let Some(database) = Database::create().await else { return };
    let url = super::proxy::start_with_broken_encryption(&database.url).await;
    for mode in ["", "?sslmode=prefer"] {
        let store = open(&format!("{url}{mode}")).await;
        store.transact(Shard::of("x"), async |tx| tx.put(&WORDS, ("x", 1_i64), &vec![1])).await.unwrap();
        store.engine().close().await.unwrap();
    }
    let error = refused(&[&format!("{url}?sslmode=require")]).await;
    assert!(error.kind() == Kind::Unavailable && error.to_string().contains("sslmode=require"), "{error}");
}
