//! Uploads that no offer has named go, in one transaction each.

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head};
use files::{Files, Referrer};
use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};

use crate::tables::{PHOTO_URLS, PHOTO_USES, UPLOADS_DUE};
use crate::{Error, Photos, ROLE, Result};

/// Due moment, seller, url.
type UploadKey = (i64, String, Vec<u8>);

/// Uploads that are to be looked at.
pub struct Unused(pub Photos);

#[async_trait]
impl Work for Unused {
    type Key = UploadKey;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("unused photos", ROLE, ROLE, 4)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<UploadKey>> {
        let entry =
            |key: UploadKey, ()| Entry { at: Timestamp(key.0), owner: key.1.clone(), key, long: false };
        Ok(head(&self.0.store, &UPLOADS_DUE, shards, now, entry).await?)
    }

    /// A use keeps the photo from now on: with the last of them it goes by itself.
    async fn run(&self, shard: Shard, key: &UploadKey) -> Result<Done> {
        let (due_at, seller, hash) = key;
        let forget = async |tx: &mut Tx| {
            self.0.cluster.check(tx, ROLE).await?;
            tx.delete(&UPLOADS_DUE, key)?;
            let url = (seller.as_str(), hash);
            let Some(row) = tx.get(&PHOTO_URLS, url).await? else { return Ok(()) };
            // Brought once more since: a later row looks.
            let is_newer = Timestamp(row.stored_at).plus(self.0.settings.keep_unused).0 > *due_at;
            if is_newer || !tx.scan(&PHOTO_USES, Range::prefix(url, 1)?).await?.is_empty() {
                return Ok(());
            }
            tx.delete(&PHOTO_URLS, url)?;
            if let Some(file) = row.file_hash() {
                Files::release(tx, &file, &Referrer::new(row.referrer.as_str())?).await?;
            }
            Ok::<_, Error>(())
        };
        self.0.store.transact(shard, forget).await?;
        Ok(Done::Finished)
    }
}
