//! Over TLS the certificate must be the host's.

use std::sync::Arc;

use fetch::{Kind, Options};
use rustls::pki_types::PrivateKeyDer;

use crate::server::{Piece, serve};
use crate::{bytes, failure, local};

#[tokio::test]
async fn certificates_are_checked_against_the_name() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) =
        (made.cert.der().clone(), PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let ok = |_: &str| vec![Piece::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")];
            serve(stream, &ok).await;
        }
    });

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let trusting = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let options = Options { tls: Some(Arc::new(trusting)), ..local() };
    assert_eq!(bytes(options.clone(), &format!("https://localhost:{port}/")).await.unwrap(), b"ok");
    assert_eq!(failure(options, &format!("https://127.0.0.1:{port}/")).await, Kind::Unreachable);
    assert_eq!(failure(local(), &format!("https://localhost:{port}/")).await, Kind::Unreachable);
}
