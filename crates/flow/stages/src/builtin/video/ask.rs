//! The question to a video's provider: a GET of its oEmbed address, which answers 200 for a video that can be shown.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use fetch::{Conditional, Fetcher, Kind};
use url::Url;
use wire::stages::video_state::Phase;

/// A call of `on_saved` ends before this.
const TOTAL_TIMEOUT: Duration = Duration::from_millis(2_500);
/// An answer is a few hundred bytes, of which only the status is looked at.
const MAX_BYTES: u64 = 256 << 10;

/// Who knows the videos of some hosts: `HOST [HOST]=ADDRESS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    hosts: Vec<String>,
    oembed: Url,
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} should be like youtube.com youtu.be=https://www.youtube.com/oembed");
        let (hosts, address) = text.split_once('=').ok_or_else(wrong)?;
        let oembed = Url::parse(address.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let hosts: Vec<_> = hosts.split_whitespace().map(str::to_lowercase).collect();
        if hosts.is_empty() {
            return Err(wrong());
        }
        Ok(Self { hosts, oembed: oembed.ok_or_else(wrong)? })
    }
}

/// The providers that are known, and how they are asked. Clones share it.
#[derive(Clone)]
pub struct Videos {
    providers: Arc<Vec<Provider>>,
    fetcher: Fetcher,
}

impl Videos {
    /// The fetcher's limits are those of one short call.
    pub fn new(providers: Vec<Provider>, options: fetch::Options) -> Self {
        let fetcher = Fetcher::new(fetch::Options {
            max_bytes: MAX_BYTES,
            connect_timeout: TOTAL_TIMEOUT,
            idle_timeout: TOTAL_TIMEOUT,
            total_timeout: TOTAL_TIMEOUT,
            ..options
        });
        Self { providers: Arc::new(providers), fetcher }
    }

    /// Who is asked about the video of this url: the provider of its host, or of a domain above it.
    pub(super) fn provider_of(&self, url: &str) -> Option<&Provider> {
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let host = url.host_str()?.to_lowercase();
        let is_of = |known: &String| host == *known || host.ends_with(&format!(".{known}"));
        self.providers.iter().find(|provider| provider.hosts.iter().any(is_of))
    }

    pub(super) async fn ask(&self, video: &str) -> Phase {
        let Some(provider) = self.provider_of(video) else { return Phase::Unknown };
        let mut question = provider.oembed.clone();
        question.query_pairs_mut().append_pair("format", "json").append_pair("url", video);
        match self.fetcher.get(question.as_str(), &Conditional::default()).await {
            Ok(_) => Phase::There,
            Err(error) => match error.kind() {
                Kind::BadStatus(400 | 404 | 410) => Phase::Gone,
                Kind::BadStatus(401 | 403) => Phase::Private,
                _ => {
                    tracing::debug!("a video's provider cannot be asked: {error}");
                    Phase::Unknown
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_found_by_their_hosts() {
        let provider: Provider = "youtube.com youtu.be = https://www.youtube.com/oembed".parse().unwrap();
        let videos = Videos::new(vec![provider], fetch::Options::default());
        for known in ["https://youtu.be/a", "https://www.YouTube.com/watch?v=a", "http://m.youtube.com/a"] {
            assert!(videos.provider_of(known).is_some(), "{known}");
        }
        for unknown in ["https://notyoutube.com/a", "ftp://youtu.be/a", "youtu.be/a", ""] {
            assert!(videos.provider_of(unknown).is_none(), "{unknown}");
        }
        for wrong in ["youtube.com", "=https://a.b/c", "a.b=ftp://a.b/c", "a.b="] {
            assert!(wrong.parse::<Provider>().is_err(), "{wrong}");
        }
    }
}
