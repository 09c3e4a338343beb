//! A seller uploads a photo.

use files::Hash;
use store::{Read as _, Shard};
use wire::model::PhotoSize;

use crate::store_photo::{check, confirm, keep};
use crate::tables::{PHOTO_URLS, url_hash};
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
    let picture = check(photos, "", bytes).await?.map_err(Error::Refused)?;
    let hash = Hash::of(&picture.file).to_string();
    let url = model::photo_url::of_upload(&hash);
    let row = keep(photos, seller, &url, picture).await?;
    let stored = photos
        .store
        .transact(Shard::of(seller), async |tx| {
            let key = (seller, url_hash(&row.url));
            if tx.get(&PHOTO_URLS, &key).await?.is_some() {
                return Ok(false);
            }
            tx.put(&PHOTO_URLS, &key, &row)?;
            Ok::<_, Error>(true)
        })
        .await?;
    if stored {
        confirm(photos, std::slice::from_ref(&row)).await;
    }
    Ok(Uploaded { url: row.url, hash, width: row.width, height: row.height, sizes: row.sizes })
}
