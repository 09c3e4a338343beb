//! Encryption on the way to the server, by the `sslmode` and `sslrootcert` of the URL, with libpq's meanings: `disable`;
//! `prefer` (the default: encrypted if that works, the certificate not checked, else not); `require` (encrypted, the
//! certificate not checked); `verify-full` (checked against `sslrootcert`, or else against the system's authorities).

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Error, Kind, Result};

pub(super) type Tls = MakeRustlsConnect;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Unchecked(SslMode),
    Checked { authorities: Option<PathBuf> },
}

impl Mode {
    /// As the URL has it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Unchecked(SslMode::Disable) => "disable",
            Self::Unchecked(SslMode::Require) => "require",
            Self::Unchecked(_) => "prefer",
            Self::Checked { .. } => "verify-full",
        }
    }

    /// Whether a connection may go on without encryption.
    pub(super) fn may_be_plain(&self) -> bool {
        matches!(self, Self::Unchecked(SslMode::Prefer))
    }

    pub(super) fn ssl_mode(&self) -> SslMode {
        match self {
            Self::Unchecked(mode) => *mode,
            Self::Checked { .. } => SslMode::Require,
        }
    }
}

/// Takes what concerns encryption out of the URL; `None`: its `sslmode` is not known.
pub(super) fn mode(url: &str) -> Option<(String, Mode)> {
    // A password may hold a question mark, so the options begin behind the host.
    let host = url.rfind('@').unwrap_or(0);
    let Some(mark) = url[host..].find('?').map(|at| host + at) else {
        return Some((url.to_owned(), Mode::Unchecked(SslMode::Prefer)));
    };
    let (mut mode, mut authorities, mut checked) = (SslMode::Prefer, None, false);
    let mut rest = Vec::new();
    for option in url[mark + 1..].split('&') {
        match option.split_once('=') {
            Some(("sslmode", "disable")) => mode = SslMode::Disable,
            Some(("sslmode", "prefer")) => mode = SslMode::Prefer,
            Some(("sslmode", "require")) => mode = SslMode::Require,
            Some(("sslmode", "verify-full")) => checked = true,
            Some(("sslmode", _)) => return None,
            Some(("sslrootcert", path)) => authorities = Some(PathBuf::from(path)),
            _ => rest.push(option),
        }
    }
    let question = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    let mode = if checked { Mode::Checked { authorities } } else { Mode::Unchecked(mode) };
    Some((format!("{}{question}", &url[..mark]), mode))
}

pub(super) fn connector(mode: &Mode) -> Result<Tls> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let config = match mode {
        Mode::Unchecked(_) => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Unchecked(provider)))
        }
        Mode::Checked { authorities: None } => builder.with_platform_verifier().map_err(unusable)?,
        Mode::Checked { authorities: Some(path) } => {
            let unreadable = |error| {
                let text = format!("the authorities in {} cannot be read", path.display());
                Error::with_source(Kind::Invalid, text, error)
            };
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                roots.add(certificate.map_err(unreadable)?).map_err(unusable)?;
            }
            builder.with_root_certificates(roots)
        }
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn unusable(error: rustls::Error) -> Error {
    Error::with_source(Kind::Invalid, "encryption for PostgreSQL cannot be set up", error)
}

/// Takes any certificate, as `prefer` and `require` mean it: safe from listeners, not from impostors.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        unless_forged(verify_tls12_signature(message, certificate, signed, algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        unless_forged(verify_tls13_signature(message, certificate, signed, algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A certificate that cannot be read, for being of an old version or form, is as good as any other here: none is checked.
fn unless_forged(
    verified: Result<HandshakeSignatureValid, rustls::Error>,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    match verified {
        Err(rustls::Error::InvalidCertificate(reason)) if reason != CertificateError::BadSignature => {
            Ok(HandshakeSignatureValid::assertion())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_taken_out_of_the_url() {
        let check =
            |url: &str, rest: &str, expected: Mode| assert_eq!(mode(url), Some((rest.to_owned(), expected)));
        check("postgres://a:b?c@h/d", "postgres://a:b?c@h/d", Mode::Unchecked(SslMode::Prefer));
        check("postgres://h/d?sslmode=require", "postgres://h/d", Mode::Unchecked(SslMode::Require));
        check(
            "postgres://a@h/d?sslmode=verify-full&user=x&sslrootcert=ca.pem",
            "postgres://a@h/d?user=x",
            Mode::Checked { authorities: Some("ca.pem".into()) },
        );
        assert_eq!(mode("postgres://h?sslmode=odd"), None);
    }
}
