use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};

use crate::{Error, Kind, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For one request: a part up, or a window down.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_RETRIES: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(120);

/// `s3://bucket/prefix?endpoint=…&region=…`, taken apart. What is not said comes from `AWS_…` variables.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct S3Url {
    bucket: String,
    pub(super) prefix: String,
    endpoint: Option<String>,
    region: Option<String>,
    access_key_id: Option<String>,
    secret_access_key: Option<String>,
    virtual_hosts: bool,
}

impl S3Url {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let invalid = |message: String| Error::new(Kind::Invalid, message);
        let rest = url.strip_prefix("s3://").unwrap_or_default();
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.is_empty() {
            return Err(invalid("files in S3 are s3://bucket/prefix?endpoint=…&region=…".into()));
        }
        let prefix = prefix.trim_matches('/').to_owned();
        let mut parsed = Self { bucket: bucket.to_owned(), prefix, ..Self::default() };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decoded(value).ok_or_else(|| {
                invalid(format!("the value of {key:?} in the S3 URL is not percent-encoded text"))
            })?;
            match (key, value.as_str()) {
                ("endpoint", _) => parsed.endpoint = Some(value),
                ("region", _) => parsed.region = Some(value),
                ("access_key_id", _) => parsed.access_key_id = Some(value),
                ("secret_access_key", _) => parsed.secret_access_key = Some(value),
                ("style", "path") => parsed.virtual_hosts = false,
                ("style", "virtual") => parsed.virtual_hosts = true,
                ("style", _) => return Err(invalid("style in the S3 URL is path or virtual".into())),
                _ => {
                    return Err(invalid(format!(
                        "the S3 URL takes endpoint, region, style, access_key_id and secret_access_key, not {key:?}"
                    )));
                }
            }
        }
        Ok(parsed)
    }

    pub(super) fn client(&self) -> Result<AmazonS3> {
        let plain = self.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let client = ClientOptions::new()
            .with_allow_http(plain)
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_timeout(REQUEST_TIMEOUT);
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_TIMEOUT,
        };
        // The HTTP client asks for the process's crypto library; a second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(&self.bucket)
            .with_virtual_hosted_style_request(self.virtual_hosts)
            .with_client_options(client)
            .with_retry(retry);
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(id) = &self.access_key_id {
            builder = builder.with_access_key_id(id);
        }
        if let Some(secret) = &self.secret_access_key {
            builder = builder.with_secret_access_key(secret);
        }
        builder
            .build()
            .map_err(|error| Error::with_source(Kind::Invalid, "the S3 client cannot be set up", error))
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let parsed =
            S3Url::parse("s3://goods/a/b/?endpoint=http%3A%2F%2F127.0.0.1:9000&region=ru&style=virtual")
                .unwrap();
        assert_eq!((parsed.bucket.as_str(), parsed.prefix.as_str()), ("goods", "a/b"));
        assert_eq!(parsed.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!((parsed.region.as_deref(), parsed.virtual_hosts), (Some("ru"), true));
        assert_eq!(S3Url::parse("s3://goods").unwrap().prefix, "");
    }

    #[test]
    fn wrong_urls_are_refused_without_repeating_secrets() {
        for wrong in ["s3://", "s3:///prefix", "s3://b?color=red", "s3://b?style=round", "s3://b?region=%f"] {
            assert_eq!(S3Url::parse(wrong).unwrap_err().kind(), Kind::Invalid, "{wrong}");
        }
        let error = S3Url::parse("s3://b?secret_access_key=hush%x").unwrap_err();
        assert!(!error.to_string().contains("hush"));
    }
}
