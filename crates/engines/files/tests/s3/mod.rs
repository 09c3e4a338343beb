//! What is particular to S3. The server is named by `DVOR_TEST_S3` (`cargo xtask test` starts one).

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use files::objects::{self, SharedObjects};
use files::{Body, Hash, Kind, ObjectName};

use crate::conform::conform;

/// The objects of a new bucket on the test's server. `None`: there is no server, and it is said that nothing was run.
pub(crate) fn bucket() -> Option<String> {
    let Ok(endpoint) = std::env::var("DVOR_TEST_S3") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "DVOR_TEST_S3 must name an S3 server (http://127.0.0.1:PORT); `cargo xtask test` starts one"
        );
        eprintln!("nothing was run: DVOR_TEST_S3 names no S3 server");
        return None;
    };
    let bucket = format!("files-{}", kit::random_id());
    let answer = request(&endpoint, "PUT", &format!("/{bucket}"));
    assert!(answer.contains(" 200 "), "the bucket was not made: {answer}");
    Some(format!(
        "s3://{bucket}/some/prefix?endpoint={endpoint}&region=us-east-1&access_key_id=test&secret_access_key=test"
    ))
}

/// One request of plain HTTP without a body; `object_store` makes no buckets.
fn request(endpoint: &str, method: &str, path: &str) -> String {
    let address =
        endpoint.strip_prefix("http://").expect("DVOR_TEST_S3 is http://host:port").trim_end_matches('/');
    let mut connection = TcpStream::connect(address).expect("the server of DVOR_TEST_S3 answers");
    write!(
        connection,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_conforms() {
    let Some(url) = bucket() else { return };
    conform(&objects::open(&url).unwrap()).await;
}

/// The parts of an upload that is dropped on its way are removed, and there is no object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_is_cut_off_leaves_nothing() {
    let Some(url) = bucket() else { return };
    let objects: SharedObjects = objects::open(&url).unwrap();
    let bytes = vec![7; 40 << 20];
    let name = ObjectName { hash: Hash::of(&bytes), generation: 1 };
    let body = Body::Memory(bytes.into());
    let endpoint = std::env::var("DVOR_TEST_S3").unwrap();
    let bucket = url.strip_prefix("s3://").unwrap().split('/').next().unwrap();
    let uploads = || request(&endpoint, "GET", &format!("/{bucket}?uploads")).matches("<UploadId>").count();
    {
        let mut put = std::pin::pin!(objects.put(&name, &body));
        let patience = Instant::now() + Duration::from_secs(30);
        while uploads() == 0 {
            let cut = tokio::time::timeout(Duration::from_millis(5), &mut put).await;
            assert!(cut.is_err() && Instant::now() < patience, "the upload was never seen under way");
        }
    }
    assert_eq!(objects.size(&name).await.unwrap(), None);
    let patience = Instant::now() + Duration::from_secs(30);
    while uploads() > 0 {
        assert!(Instant::now() < patience, "the parts are still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_missing_bucket_is_a_mistake_and_nothing_happened() {
    let Some(url) = bucket() else { return };
    let objects = objects::open(&url.replacen("s3://files-", "s3://absent-", 1)).unwrap();
    let name = ObjectName { hash: Hash::of(b"x"), generation: 1 };
    let error = objects.put(&name, &Body::Memory("x".into())).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(!error.may_have_happened());
}

/// A request that was never sent has not happened; one that was sent and not answered may have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_say_whether_it_may_have_happened() {
    let name = ObjectName { hash: Hash::of(b"x"), generation: 1 };
    let body = Body::Memory("x".into());
    let at = |port: u16| {
        let keys = "region=r&access_key_id=a&secret_access_key=s";
        objects::open(&format!("s3://b?endpoint=http://127.0.0.1:{port}&{keys}")).unwrap()
    };
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let error = at(port).put(&name, &body).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");

    // Reads every request and hangs up.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = deaf.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in deaf.incoming() {
            let _ = connection.and_then(|mut connection| connection.read(&mut [0; 4_096]));
        }
    });
    let error = at(port).put(&name, &body).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unknown, "{error}");
    assert!(error.may_have_happened());
}
