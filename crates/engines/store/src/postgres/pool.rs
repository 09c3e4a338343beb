//! The connections to one server, and who holds them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::Row;

use super::address::Address;
use super::failure;
use super::link::{ANSWER, Link};
use super::sql::Call;
use crate::{Error, Result, Schema};

/// How long a call waits for a free connection.
const SEAT: Duration = Duration::from_secs(30);

pub(super) struct Pool {
    address: Arc<Address>,
    schema: Arc<Schema>,
    idle: Mutex<Vec<Link>>,
    seats: Arc<Semaphore>,
    /// Snapshots may be held while their holder runs transactions, so they never take all connections.
    snapshot_seats: Arc<Semaphore>,
    size: usize,
}

/// A connection held for a while. Dropped, it is rolled back in the background and given back; what else was to be held
/// until then (the shard's turn) is kept along with it.
pub(super) struct Lease {
    pool: Arc<Pool>,
    link: Option<Link>,
    reused: bool,
    failed: AtomicBool,
    held: Vec<OwnedSemaphorePermit>,
}

impl Pool {
    pub(super) fn new(address: Arc<Address>, schema: Arc<Schema>, connections: usize) -> Arc<Self> {
        let size = connections.clamp(2, 10_000);
        Arc::new(Self {
            address,
            schema,
            idle: Mutex::default(),
            seats: Arc::new(Semaphore::new(size)),
            snapshot_seats: Arc::new(Semaphore::new(size / 2)),
            size,
        })
    }

    /// Takes a connection and asks the first question on it, within a transaction if `begin` says so. A connection
    /// that died while it was idle is replaced without the caller noticing.
    pub(super) async fn start(
        self: &Arc<Self>,
        begin: Option<&str>,
        call: &Call,
    ) -> Result<(Lease, Vec<Row>)> {
        loop {
            let lease = self.lease().await?;
            let Some(link) = &lease.link else { continue };
            let asked = async {
                match begin {
                    Some(begin) => link.begin(begin, call).await,
                    None => link.rows(call).await,
                }
            };
            match timeout(ANSWER, asked).await {
                Ok(Ok(rows)) => return Ok((lease, rows)),
                Ok(Err(error)) => {
                    lease.failed.store(true, Ordering::Relaxed);
                    if lease.reused && failure::is_lost(&error) {
                        self.idle().clear();
                        continue;
                    }
                    return Err(failure::did_not_happen(&self.address.place, &error));
                }
                Err(_) => {
                    lease.failed.store(true, Ordering::Relaxed);
                    return Err(self.silent());
                }
            }
        }
    }

    /// The right to hold a connection for a snapshot.
    pub(super) async fn snapshot_seat(&self) -> Result<OwnedSemaphorePermit> {
        self.seat(&self.snapshot_seats).await
    }

    /// Gives out no more connections, and closes those that nobody holds.
    pub(super) fn close(&self) {
        self.seats.close();
        self.snapshot_seats.close();
        self.idle().clear();
    }

    async fn lease(self: &Arc<Self>) -> Result<Lease> {
        let seat = self.seat(&self.seats).await?;
        let reused = self.take_idle();
        let (link, reused) = match reused {
            Some(link) => (link, true),
            None => (Link::connect(&self.address, self.schema.clone(), None).await?, false),
        };
        Ok(Lease {
            pool: self.clone(),
            link: Some(link),
            reused,
            failed: AtomicBool::new(false),
            held: vec![seat],
        })
    }

    async fn seat(&self, seats: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
        match timeout(SEAT, seats.clone().acquire_owned()).await {
            Ok(Ok(seat)) => Ok(seat),
            Ok(Err(_)) => Err(Error::unavailable("the store is closed")),
            Err(_) => Err(Error::unavailable(format!(
                "all {} connections to PostgreSQL at {} are busy",
                self.size, self.address.place
            ))),
        }
    }

    /// Keeps a clean connection for the next one who asks.
    fn keep(&self, link: Link) {
        if !self.seats.is_closed() {
            self.idle().push(link);
        }
    }

    fn take_idle(&self) -> Option<Link> {
        let mut idle = self.idle();
        while let Some(link) = idle.pop() {
            if !link.is_closed() {
                return Some(link);
            }
        }
        None
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn silent(&self) -> Error {
        Error::unavailable(format!("PostgreSQL at {} does not answer", self.address.place))
    }
}

impl Lease {
    /// Keeps `permit` until the connection is clean again.
    pub(super) fn hold(&mut self, permit: OwnedSemaphorePermit) {
        self.held.push(permit);
    }

    /// Asks a question. After a failure the lease answers no more: in a transaction the server would not either.
    pub(super) async fn rows(&self, call: &Call) -> Result<Vec<Row>> {
        let link = self.link()?;
        match timeout(ANSWER, link.rows(call)).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                self.failed.store(true, Ordering::Relaxed);
                Err(failure::did_not_happen(&self.pool.address.place, &error))
            }
            Err(_) => {
                self.failed.store(true, Ordering::Relaxed);
                Err(self.pool.silent())
            }
        }
    }

    /// Writes, commits, and gives the connection back.
    pub(super) async fn commit(mut self, calls: &[Call]) -> Result<()> {
        let place = &self.pool.address.place;
        let answer = timeout(ANSWER, self.link()?.commit(place, calls)).await.unwrap_or_else(|_| {
            Err(Error::unknown(format!("PostgreSQL at {place} did not answer a commit in time")))
        });
        if answer.is_ok() {
            self.give_back();
        } else {
            *self.failed.get_mut() = true;
        }
        answer
    }

    /// Gives a connection back that is in no transaction.
    pub(super) fn give_back(&mut self) {
        if let Some(link) = self.link.take() {
            self.pool.keep(link);
        }
    }

    fn link(&self) -> Result<&Link> {
        self.link.as_ref().filter(|_| !self.failed.load(Ordering::Relaxed)).ok_or_else(|| {
            Error::unavailable("a read of this transaction failed, so nothing more can be done in it")
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        let runtime = tokio::runtime::Handle::try_current();
        let (false, Ok(runtime)) = (*self.failed.get_mut() || link.is_closed(), runtime) else {
            // The server rolls back what a lost connection had begun.
            return link.discard();
        };
        let (pool, held) = (self.pool.clone(), std::mem::take(&mut self.held));
        runtime.spawn(async move {
            match timeout(ANSWER, link.client.batch_execute("ROLLBACK")).await {
                Ok(Ok(())) => pool.keep(link),
                _ => link.discard(),
            }
            drop(held);
        });
    }
}
