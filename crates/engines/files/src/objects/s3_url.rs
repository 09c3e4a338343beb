use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use percent_encoding::percent_decode_str;

use crate::{Error, Kind, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For one request: a part up, or a window down.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_RETRIES: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(120);

/// `s3://bucket/prefix?endpoint=…&region=…`, taken apart. What is not said comes from `AWS_…` variables.
#[derive(Debug, Default)]
pub(super) struct S3Url {
    bucket: String,
    pub(super) prefix: String,
    options: Vec<(AmazonS3ConfigKey, String)>,
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
        let mut options = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value).ok_or_else(|| {
                invalid(format!("the value of {name:?} in the S3 URL is not percent-encoded text"))
            })?;
            options.push(match (name, value.as_str()) {
                ("endpoint", _) => (AmazonS3ConfigKey::Endpoint, value),
                ("region", _) => (AmazonS3ConfigKey::Region, value),
                ("access_key_id", _) => (AmazonS3ConfigKey::AccessKeyId, value),
                ("secret_access_key", _) => (AmazonS3ConfigKey::SecretAccessKey, value),
                ("style", "path") => (AmazonS3ConfigKey::VirtualHostedStyleRequest, "false".into()),
                ("style", "virtual") => (AmazonS3ConfigKey::VirtualHostedStyleRequest, "true".into()),
                ("style", _) => return Err(invalid("style in the S3 URL is path or virtual".into())),
                _ => {
                    return Err(invalid(format!(
                        "the S3 URL takes endpoint, region, style, access_key_id and secret_access_key, not {name:?}"
                    )));
                }
            });
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned(), options })
    }

    fn option(&self, key: AmazonS3ConfigKey) -> Option<&str> {
        self.options.iter().find(|(named, _)| *named == key).map(|(_, value)| value.as_str())
    }

    pub(super) fn client(&self) -> Result<AmazonS3> {
        let endpoint = self.option(AmazonS3ConfigKey::Endpoint);
        let plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
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
        let builder = AmazonS3Builder::from_env()
            .with_bucket_name(&self.bucket)
            .with_virtual_hosted_style_request(false)
            .with_client_options(client)
            .with_retry(retry);
        let options = self.options.iter().cloned();
        options
            .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            .build()
            .map_err(|error| Error::with_source(Kind::Invalid, "the S3 client cannot be set up", error))
    }
}

/// Half an escape is refused: a secret with a bare `%` would be another one than it seems.
fn decoded(text: &str) -> Option<String> {
    let is_escape =
        |rest: &str| rest.get(..2).is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let is_whole = text.split('%').skip(1).all(is_escape);
    is_whole.then(|| percent_decode_str(text).decode_utf8().ok())?.map(Into::into)
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
        for (key, value) in [
            (AmazonS3ConfigKey::Endpoint, "http://127.0.0.1:9000"),
            (AmazonS3ConfigKey::Region, "ru"),
            (AmazonS3ConfigKey::VirtualHostedStyleRequest, "true"),
        ] {
            assert_eq!(parsed.option(key), Some(value), "{key:?}");
        }
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
