//! A seller uploads a photo.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | charge (T) | the seller's quota | an upload less in this hour |
//! | check, put | the image is decoded, its file stored with a pending reference | a reference that the sweep lets go |
//! | name (T) | the url, and when to look whether it is used; if it fails, the reference goes | a reference that the sweep finds held |
//! | confirm | the reference is held | nothing |

use files::Hash;
use kit::Timestamp;
use store::{Read as _, Shard, Tx};
use wire::model::PhotoSize;

use crate::store_photo::{abandon, check, confirm, keep};
use crate::tables::{PHOTO_URLS, QuotaRow, UPLOAD_QUOTAS, UPLOADS_DUE, url_hash};
use crate::{Error, Photos, Result};

/// A photo that was brought, and the url under which offers name it.
#[derive(Clone, Debug)]
pub struct Uploaded {
    pub url: String,
    pub hash: String,
    pub width: u32,
    pub height: u32,
    pub sizes: Vec<PhotoSize>,
}

/// Checks and stores the photo. The same bytes give the same url.
pub async fn upload(photos: &Photos, seller: &str, bytes: Vec<u8>) -> Result<Uploaded> {
    charge(photos, seller, bytes.len() as i64).await?;
    let picture = check(photos, "", bytes).await?.map_err(Error::Refused)?;
    let hash = Hash::of(&picture.file).to_string();
    let url = model::photo_url::of_upload(&hash);
    let row = keep(photos, seller, &url, picture).await?;
    let due_at = Timestamp(row.stored_at).plus(photos.settings.keep_unused).0;
    let name = async |tx: &mut Tx| {
        let key = (seller, url_hash(&row.url));
        tx.put(&UPLOADS_DUE, (due_at, seller, &key.1), &())?;
        // One that was there already stays, for as long again.
        let known = tx.get(&PHOTO_URLS, &key).await?;
        let is_new = known.is_none();
        let mut named = known.unwrap_or_else(|| row.clone());
        named.stored_at = row.stored_at;
        tx.put(&PHOTO_URLS, &key, &named)?;
        Ok::<_, Error>(is_new)
    };
    match photos.store.transact(Shard::of(seller), name).await {
        Ok(true) => confirm(photos, std::slice::from_ref(&row)).await,
        // This copy of the file is nobody's.
        Ok(false) => abandon(photos, &row).await,
        Err(error) => {
            if !matches!(&error, Error::Engine(error) if error.may_have_happened()) {
                abandon(photos, &row).await;
            }
            return Err(error);
        }
    }
    Ok(Uploaded { url: row.url, hash, width: row.width, height: row.height, sizes: row.sizes })
}

/// Whoever is refused afterwards has made work all the same.
async fn charge(photos: &Photos, seller: &str, bytes: i64) -> Result<()> {
    let charge = async |tx: &mut Tx| {
        let used = tx.get(&UPLOAD_QUOTAS, (seller,)).await?.unwrap_or_default();
        Ok(tx.put(&UPLOAD_QUOTAS, (seller,), &spend(photos, used, bytes)?)?)
    };
    photos.store.transact(Shard::of(seller), charge).await
}

fn spend(photos: &Photos, mut used: QuotaRow, bytes: i64) -> Result<QuotaRow> {
    let hour = photos.clock.now().hour();
    if used.hour != hour {
        used = QuotaRow { hour, ..QuotaRow::default() };
    }
    used.uploads += 1;
    used.bytes = used.bytes.saturating_add(bytes);
    let (uploads, most_bytes) = (photos.settings.uploads_per_hour, photos.settings.upload_bytes_per_hour);
    if used.uploads > uploads {
        let detail = format!("a seller may upload {uploads} photos an hour");
        return Err(Error::Quota { name: "quota_uploads", detail });
    }
    if used.bytes > most_bytes {
        let detail = format!("a seller may upload {most_bytes} bytes of photos an hour");
        return Err(Error::Quota { name: "quota_bytes", detail });
    }
    Ok(used)
}
