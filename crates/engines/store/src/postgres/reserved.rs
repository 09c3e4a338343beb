//! A connection outside the pool, for what must not wait behind other work.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::Row;

use super::address::Address;
use super::failure;
use super::link::Link;
use super::sql::Call;
use crate::{Error, Result, Schema};

/// A heartbeat that takes longer is as good as lost.
const ANSWER: Duration = Duration::from_secs(5);

pub(super) struct Reserved {
    address: Arc<Address>,
    schema: Arc<Schema>,
    link: Mutex<Option<Arc<Link>>>,
}

impl Reserved {
    pub(super) fn new(address: Arc<Address>, schema: Arc<Schema>) -> Self {
        Self { address, schema, link: Mutex::default() }
    }

    /// Makes a call that may be repeated without harm; it is, when an old connection turns out to be dead.
    pub(super) async fn rows(&self, call: &Call) -> Result<Vec<Row>> {
        let place = &self.address.place;
        loop {
            let (link, reused) = self.link().await?;
            match timeout(ANSWER, link.rows(call)).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) if failure::is_lost(&error) => {
                    self.forget(&link).await;
                    if !reused {
                        return Err(failure::may_have_happened(place, &error));
                    }
                }
                Ok(Err(error)) => return Err(failure::did_not_happen(place, &error)),
                Err(_) => {
                    self.forget(&link).await;
                    return Err(Error::unknown(format!("PostgreSQL at {place} did not answer in time")));
                }
            }
        }
    }

    pub(super) async fn close(&self) {
        self.link.lock().await.take();
    }

    async fn link(&self) -> Result<(Arc<Link>, bool)> {
        let mut kept = self.link.lock().await;
        if let Some(link) = kept.as_ref().filter(|link| !link.is_closed()) {
            return Ok((link.clone(), true));
        }
        let link = Arc::new(Link::connect(&self.address, self.schema.clone(), None).await?);
        *kept = Some(link.clone());
        Ok((link, false))
    }

    async fn forget(&self, link: &Arc<Link>) {
        let mut kept = self.link.lock().await;
        if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, link)) {
            kept.take();
        }
    }
}
