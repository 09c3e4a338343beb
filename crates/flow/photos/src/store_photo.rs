//! Outside of any transaction: fetch, check, store.

use bytes::Bytes;
use fetch::{Answer, Conditional};
use files::{Hash, Limits, Referrer};
use wire::model::Issue;

use crate::picture::{self, Picture};
use crate::tables::UrlRow;
use crate::{Error, Photos, Result, issue, metrics};

/// What became of a url: a photo whose file is stored with a pending reference, or what is wrong with it.
pub(crate) type Outcome = Result<UrlRow, Box<Issue>>;

/// Downloads a url of the seller and stores its photo.
pub(crate) async fn fetch_photo(photos: &Photos, seller: &str, url: &str) -> Result<Outcome> {
    if model::photo_url::is_upload(url) {
        // The seller's own upload would be known; another one's is nobody else's to use.
        return Ok(Err(Box::new(issue::issue("photo_not_uploaded", url, Vec::new()))));
    }
    let _permit = photos.downloads.acquire().await.map_err(|error| Error::Work(error.to_string()))?;
    let max_bytes = photos.settings.max_bytes;
    let answer = match photos.fetcher.get(url, &Conditional::default()).await {
        Ok(Answer::Body(download)) => download.into_bytes().await,
        Ok(Answer::NotModified) => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    match answer {
        Ok(bytes) => {
            metrics::downloaded(bytes.len() as u64);
            store_photo(photos, seller, url, bytes).await
        }
        Err(error) => {
            tracing::debug!(seller, "a photo cannot be had: {error}");
            Ok(Err(Box::new(issue::of_fetch(url, &error, max_bytes))))
        }
    }
}

async fn store_photo(photos: &Photos, seller: &str, url: &str, bytes: Vec<u8>) -> Result<Outcome> {
    match check(photos, url, bytes).await? {
        Ok(picture) => Ok(Ok(keep(photos, seller, url, picture).await?)),
        Err(issue) => Ok(Err(issue)),
    }
}

/// Whether the bytes are a photo; `url` is named if not.
pub(crate) async fn check(photos: &Photos, url: &str, bytes: Vec<u8>) -> Result<Result<Picture, Box<Issue>>> {
    Ok(make(photos, bytes).await?.map_err(|refusal| {
        metrics::refused(refusal.code);
        Box::new(issue::issue(refusal.code, url, refusal.parameters))
    }))
}

/// Stores the photo's file with a pending reference, which the row of the url is to name.
pub(crate) async fn keep(photos: &Photos, seller: &str, url: &str, picture: Picture) -> Result<UrlRow> {
    let referrer = referrer(seller, url)?;
    let Picture { file, width, height, sizes, likeness, sharpness, exposure } = picture;
    let content = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(file))]);
    let incoming = photos.files.receive(content, Limits::up_to(u64::MAX)).await?;
    let stored = photos.files.put(incoming, &referrer).await?;
    Ok(UrlRow {
        url: url.to_owned(),
        hash: stored.hash.as_bytes().to_vec(),
        referrer: referrer.as_str().to_owned(),
        width,
        height,
        sizes,
        likeness,
        stored_at: photos.clock.now().0,
        sharpness,
        exposure,
    })
}

/// The references that a committed transaction has named are held from now on. Should this not be reached, the sweep asks.
pub(crate) async fn confirm(photos: &Photos, rows: &[UrlRow]) {
    for row in rows {
        let (Some(hash), Ok(referrer)) = (row.file_hash(), Referrer::new(row.referrer.as_str())) else {
            continue;
        };
        if let Err(error) = photos.files.confirm(&hash, &referrer).await {
            tracing::debug!(%hash, %referrer, "a photo's reference is left to the sweep: {error}");
        }
    }
}

/// The reference of a row that no transaction has named goes.
pub(crate) async fn abandon(photos: &Photos, row: &UrlRow) {
    if let (Some(hash), Ok(referrer)) = (row.file_hash(), Referrer::new(row.referrer.as_str())) {
        photos.files.abandon(&hash, &referrer).await;
    }
}

async fn make(photos: &Photos, bytes: Vec<u8>) -> Result<Result<Picture, picture::Refusal>> {
    let _permit = photos.decoders.acquire().await.map_err(|error| Error::Work(error.to_string()))?;
    let settings = photos.settings.clone();
    let made = tokio::task::spawn_blocking(move || picture::make(bytes, &settings));
    match made.await {
        Ok(made) => Ok(made),
        // A decoder that panics has met an image that it cannot decode, and would again.
        Err(error) if error.is_panic() => {
            tracing::error!("a decoder panicked");
            let parameters = vec!["it cannot be decoded".to_owned()];
            Ok(Err(picture::Refusal { code: "photo_damaged", parameters }))
        }
        Err(error) => Err(Error::Work(error.to_string())),
    }
}

/// `photos:seller/url hash/nonce`: each stored photo is a use of its own, so a repeated download never takes up a
/// reference that was released.
fn referrer(seller: &str, url: &str) -> Result<Referrer> {
    let url_hash = Hash::of(url.as_bytes()).to_string();
    Ok(Referrer::new(format!("photos:{seller}/{}/{}", &url_hash[..32], kit::random_id()))?)
}

/// The seller and the url's place in keys, of a referrer made here.
pub(crate) fn parse_referrer(referrer: &Referrer) -> Option<(&str, Vec<u8>)> {
    let name = referrer.as_str().strip_prefix("photos:")?;
    let (rest, _) = name.rsplit_once('/')?;
    let (seller, hex) = rest.rsplit_once('/')?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    Some((seller, (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::url_hash;

    #[test]
    fn a_referrer_tells_whose_it_is() {
        for seller in ["s", "a/b", "продавец:1"] {
            let made = referrer(seller, "http://x/y").unwrap();
            assert_eq!(parse_referrer(&made), Some((seller, url_hash("http://x/y"))));
        }
        assert_eq!(parse_referrer(&Referrer::new("feeds:a/b/c").unwrap()), None);
        assert_eq!(parse_referrer(&Referrer::new("photos:x").unwrap()), None);
    }
}
