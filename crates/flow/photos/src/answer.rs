//! The transaction that answers a request.

use std::collections::BTreeMap;

use prost::Message as _;
use store::Tx;
use topics::{Message, outbox};
use wire::model::{Photo, PhotoState};
use wire::photos::{PhotoRequest, PhotoResult};

use crate::store_photo::Outcome;
use crate::tables::{ErrorRow, PHOTO_ERRORS, PHOTO_URLS, PHOTO_USES, UrlRow, url_hash};
use crate::{Result, metrics};

/// Of the request's urls, those that are known.
pub(crate) async fn known(
    reader: &impl store::Read,
    seller: &str,
    urls: &[String],
) -> Result<BTreeMap<String, UrlRow>, store::Error> {
    let keys: Vec<(String, Vec<u8>)> = urls.iter().map(|url| (seller.to_owned(), url_hash(url))).collect();
    let rows = reader.get_many(&PHOTO_URLS, keys).await?;
    Ok(urls.iter().cloned().zip(rows).filter_map(|(url, row)| Some((url, row?))).collect())
}

/// Writes what is known now and sends the result. Gives the rows that were written, whose references are to be confirmed.
pub(crate) async fn answer(
    tx: &mut Tx,
    request: &PhotoRequest,
    released: &[String],
    outcomes: &BTreeMap<String, Outcome>,
    now: i64,
) -> Result<Vec<UrlRow>> {
    let seller = request.seller_id.as_str();
    // Another request may have stored the url meanwhile: its file stays, ours is let go by the sweep.
    let mut known = known(tx, seller, &request.urls).await?;
    let mut written = Vec::new();
    let mut photos = Vec::with_capacity(request.urls.len());
    for url in &request.urls {
        let key = (seller, url_hash(url));
        let used = !released.contains(url);
        if !known.contains_key(url)
            && let Some(Ok(row)) = outcomes.get(url)
        {
            // A photo that nobody uses any more is told, but not kept.
            if used {
                tx.put(&PHOTO_URLS, &key, row)?;
                written.push(row.clone());
            }
            known.insert(url.clone(), row.clone());
        }
        if let Some(row) = known.get(url) {
            if used {
                tx.put(&PHOTO_USES, (seller, url_hash(url), request.offer_id), &())?;
            }
            tx.delete(&PHOTO_ERRORS, &key)?;
            photos.push(row.photo());
        } else {
            let issue = match outcomes.get(url) {
                Some(Err(issue)) => (**issue).clone(),
                _ => crate::issue::issue("photo_unreachable", url, Vec::new()),
            };
            if used {
                let row = ErrorRow { url: url.clone(), issue: Some(issue.clone()), failed_at: now };
                tx.put(&PHOTO_ERRORS, &key, &row)?;
            }
            photos.push(failed(url, issue));
        }
    }
    send(tx, request, photos).await?;
    Ok(written)
}

fn failed(url: &str, issue: wire::model::Issue) -> Photo {
    Photo { url: url.to_owned(), state: PhotoState::Failed.into(), error: Some(issue), ..Photo::default() }
}

async fn send(tx: &mut Tx, request: &PhotoRequest, photos: Vec<Photo>) -> Result<()> {
    metrics::answered(&photos);
    let result = PhotoResult {
        request_id: request.request_id.clone(),
        offer_id: request.offer_id,
        seller_id: request.seller_id.clone(),
        photos,
    };
    let message = Message::new(key(request.offer_id), result.encode_to_vec());
    Ok(outbox::send(tx, model::topics::PHOTOS_RESULTS, vec![message]).await?)
}

/// The offer's id as printed.
fn key(offer_id: i64) -> String {
    model::OfferId::from_raw(offer_id).map_or_else(|| offer_id.to_string(), |id| id.to_string())
}
