//! One connection: how it is made, set up and asked.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _, MaybeDone, join, join_all, maybe_done, try_join};
use futures::stream::TryStreamExt as _;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio_postgres::error::Error as PgError;
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{AsyncMessage, Client, Connection, Row, Socket, Statement};

use super::address::Address;
use super::failure;
use super::sql::{self, Call, Query};
use crate::{Error, Result, Schema};

/// The server's own limits are shorter, so that this one only meets a server that does not answer at all.
pub(super) const ANSWER: Duration = Duration::from_secs(40);
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A transaction that is idle longer than the first setting has lost its process; whoever waits for its shard waits
/// longer than that, so that a stopped process does not fail those that run.
const SETTINGS: &str = "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '15s'; \
    SET statement_timeout = '30s'; SET synchronous_commit = on; SET client_min_messages = 'warning'; \
    SET default_transaction_isolation = 'read committed'";

/// Settings that not every server of this protocol knows. All access is by key, so the planner need not weigh other
/// ways: its statistics of a young or a draining table would only mislead it.
const WISHES: [&str; 12] = [
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET plan_cache_mode = force_generic_plan",
    "SET jit = off",
    "SET idle_session_timeout = 0",
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 20000",
    "SET client_connection_check_interval = '5s'",
];

pub(super) struct Link {
    pub(super) client: Client,
    schema: Arc<Schema>,
    statements: Mutex<HashMap<Query, Statement>>,
    driver: JoinHandle<()>,
}

impl Link {
    /// Connects; notifications go to `heard`.
    pub(super) async fn connect(
        address: &Address,
        schema: Arc<Schema>,
        heard: Option<UnboundedSender<String>>,
    ) -> Result<Self> {
        let place = &address.place;
        let silent = |_| Error::unavailable(format!("PostgreSQL at {place} does not answer"));
        let (client, connection) =
            tokio::time::timeout(HANDSHAKE, address.connect()).await.map_err(silent)??;
        let driver = tokio::spawn(drive(connection, heard));
        let link = Self { client, schema, statements: Mutex::default(), driver };
        let set_up = join(
            link.client.batch_execute(SETTINGS),
            join_all(WISHES.map(|wish| link.client.batch_execute(wish))),
        );
        let (settings, _) = tokio::time::timeout(HANDSHAKE, set_up).await.map_err(silent)?;
        settings.map_err(|error| failure::did_not_happen(place, &error))?;
        Ok(link)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Ends a connection of whose state nothing is known.
    pub(super) fn discard(self) {
        self.driver.abort();
    }

    /// Asks one question in one round trip. The first time on a connection the statement goes out as text, and is
    /// prepared for the next time in the same breath.
    pub(super) async fn rows(&self, call: &Call) -> Result<Vec<Row>, PgError> {
        self.ask(call, Preparation::IfNew).await
    }

    async fn ask(&self, call: &Call, preparation: Preparation) -> Result<Vec<Row>, PgError> {
        let known = self.statements().get(&call.query).cloned();
        if let Some(statement) = known {
            return self.client.query_raw(&statement, call.values()).await?.try_collect().await;
        }
        let text = sql::text(&self.schema, call.query);
        let types: Vec<_> = call.typed_values().map(|(_, kind)| kind).collect();
        let asking =
            async { self.client.query_typed_raw(&text, call.typed_values()).await?.try_collect().await };
        if preparation == Preparation::UnderWay {
            return asking.await;
        }
        // `try_join` polls in order, each of the two sends itself when first polled, and one that cannot be sent fails
        // both at once. A failed preparation undoes a transaction, so it is not to be passed over either.
        let (rows, statement) = try_join(asking, self.client.prepare_typed(&text, &types)).await?;
        self.statements().insert(call.query, statement);
        Ok(rows)
    }

    /// Begins a transaction and asks its first question in one round trip.
    pub(super) async fn begin(&self, begin: &str, call: &Call) -> Result<Vec<Row>, PgError> {
        try_join(self.client.batch_execute(begin), self.rows(call)).await.map(|((), rows)| rows)
    }

    /// Writes and commits in one round trip.
    ///
    /// The driver shows no difference between a COMMIT answered with COMMIT and one answered with ROLLBACK. The server
    /// gives the latter only in a transaction in which a statement has failed, and each statement of ours gives its own
    /// answer: so every answer is looked at, and a session in which a read failed does not come here (`Lease::commit`).
    pub(super) async fn commit(&self, place: &str, calls: &[Call]) -> Result<()> {
        let mut begun = HashSet::new();
        let mut writes: Vec<Answer<'_, Vec<Row>>> = Vec::with_capacity(calls.len());
        for call in calls {
            let preparation =
                if begun.insert(call.query) { Preparation::IfNew } else { Preparation::UnderWay };
            writes.push(maybe_done(self.ask(call, preparation).boxed()));
        }
        // A write that could not even be sent must not be followed by a COMMIT.
        let started = poll_fn(|cx| Poll::Ready(start_in_order(&mut writes, cx))).await;
        started.map_err(|error| failure::did_not_happen(place, &error))?;
        let mut commit: Answer<'_, ()> = maybe_done(self.client.batch_execute("COMMIT").boxed());
        // Polled once, so that it is on its way; answers come in the order of the questions.
        let _ = poll_fn(|cx| Poll::Ready(Pin::new(&mut commit).poll(cx))).await;
        for write in &mut writes {
            write.await;
        }
        (&mut commit).await;
        let failures: Vec<PgError> = writes.iter_mut().filter_map(take_error).collect();
        // The server answers in order, so its refusal of a write, of whatever severity, came before any COMMIT.
        if let Some(refusal) = failures.iter().find(|error| error.as_db_error().is_some()) {
            return Err(failure::did_not_happen(place, refusal));
        }
        if let Some(lost) = failures.first() {
            return Err(failure::may_have_happened(place, lost));
        }
        take_error(&mut commit).map_or(Ok(()), |error| Err(failure::of_commit(place, &error)))
    }

    fn statements(&self) -> std::sync::MutexGuard<'_, HashMap<Query, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a question does for the next of its kind on this connection.
#[derive(Clone, Copy, PartialEq)]
enum Preparation {
    /// Prepares its statement, if it is the first.
    IfNew,
    /// One before it in the same breath does so.
    UnderWay,
}

type Answer<'a, T> = MaybeDone<BoxFuture<'a, Result<T, PgError>>>;

/// Polls each write once, which puts it into the connection's queue; stops at one that fails on the spot.
fn start_in_order<T>(writes: &mut [Answer<'_, T>], cx: &mut Context<'_>) -> Result<(), PgError> {
    for write in writes {
        let _ = Pin::new(&mut *write).poll(cx);
        if matches!(write, MaybeDone::Done(Err(_))) {
            return take_error(write).map_or(Ok(()), Err);
        }
    }
    Ok(())
}

fn take_error<T>(answer: &mut Answer<'_, T>) -> Option<PgError> {
    Pin::new(answer).take_output().and_then(Result::err)
}

/// Moves bytes between the socket and the callers until either side is gone. Callers learn of errors by their answers.
async fn drive<T: TlsStream + Unpin>(
    mut connection: Connection<Socket, T>,
    heard: Option<UnboundedSender<String>>,
) {
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if let (AsyncMessage::Notification(notification), Some(heard)) = (message, &heard) {
            // Nobody listens any more: the connection is about to end.
            let _ = heard.send(notification.payload().to_owned());
        }
    }
}
