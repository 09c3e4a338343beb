use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use store::{Shard, Store};
use tokio::time::Instant;

use super::tables::{TOKENS, TokenRow};
use super::{Access, Scope, tokens};
use web::{Code, Problem, Result};

/// A row is read again when it is this old, by one caller while the others go on with the old one…
const FRESH: Duration = Duration::from_secs(2);
/// …and used no longer than this, so that a revoked token is refused everywhere within 5 s.
const STALE: Duration = Duration::from_secs(4);
const MAX_CACHED: usize = 50_000;

/// Knows tokens by their text, with a short memory.
pub struct Verifier {
    store: Store,
    cache: Mutex<HashMap<String, Cached>>,
    /// Never turns back, so once true it is not asked for again.
    closed: AtomicBool,
    closed_read_at: Mutex<Option<Instant>>,
}

struct Cached {
    token: Option<Known>,
    read_at: Instant,
    refreshing: bool,
}

#[derive(Clone)]
struct Known {
    secret_hash: [u8; 32],
    revoked: bool,
    access: Access,
}

impl Verifier {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            cache: Mutex::default(),
            closed: AtomicBool::new(false),
            closed_read_at: Mutex::default(),
        }
    }

    /// Whether calls need a token: one was made at some time.
    pub async fn is_closed(&self) -> Result<bool> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(true);
        }
        let fresh = |at: &Option<Instant>| at.is_some_and(|at| at.elapsed() < FRESH);
        if fresh(&self.closed_read_at.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(false);
        }
        let closed = tokens::any_made(&self.store).await?;
        *self.closed_read_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        if closed {
            self.closed.store(true, Ordering::Release);
        }
        Ok(closed)
    }

    /// What the token allows.
    pub async fn verify(&self, text: &str) -> Result<Access> {
        let refused = || Problem::new(Code::Unauthorized, "the access token is not known or was revoked");
        let Some((id, secret)) = text.strip_prefix("dvor_").and_then(|rest| rest.split_once('_')) else {
            return Err(Problem::new(Code::Unauthorized, "an access token has the form dvor_<id>_<secret>"));
        };
        // What cannot be a token is neither looked for nor remembered.
        if !tokens::has_form(id, secret) {
            return Err(refused());
        }
        let known = self.known(id).await?.ok_or_else(refused)?;
        // `blake3::Hash` compares in constant time.
        let right = blake3::hash(secret.as_bytes()) == blake3::Hash::from_bytes(known.secret_hash);
        if right && !known.revoked { Ok(known.access) } else { Err(refused()) }
    }

    /// Forgets what was read, after a token was made or revoked in this process.
    pub fn forget(&self, id: &str) {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        *self.closed_read_at.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn known(&self, id: &str) -> Result<Option<Known>> {
        if let Some(found) = self.cached(id) {
            return Ok(found);
        }
        let read_at = Instant::now();
        let row = self.store.get(&TOKENS, Shard::of(id), (id,)).await;
        let token = row?.and_then(known);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MAX_CACHED {
            cache.retain(|_, cached| cached.read_at.elapsed() < FRESH);
            if cache.len() >= MAX_CACHED {
                cache.clear();
            }
        }
        let cached = Cached { token: token.clone(), read_at, refreshing: false };
        cache.insert(id.to_owned(), cached);
        Ok(token)
    }

    /// What is remembered; `None`: the caller must read.
    fn cached(&self, id: &str) -> Option<Option<Known>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cache.get_mut(id)?;
        let age = cached.read_at.elapsed();
        if age < FRESH || (age < STALE && cached.refreshing) {
            return Some(cached.token.clone());
        }
        cached.refreshing = true;
        None
    }
}

fn known(row: TokenRow) -> Option<Known> {
    let scopes: Vec<Scope> = row.scopes.iter().filter_map(|scope| scope.parse().ok()).collect();
    let secret_hash = row.secret_hash.try_into().ok()?;
    Some(Known { secret_hash, revoked: row.revoked_at.is_some(), access: Access::new(&row.name, scopes) })
}

#[cfg(test)]
mod tests {
    use kit::Clock;
    use store::Schema;

    use super::super::{NewToken, create, revoke, tables};
    use super::*;

    async fn made(store: &Store) -> (String, String) {
        let new = NewToken { name: "t".to_owned(), scopes: vec!["seller:a".to_owned()] };
        let (info, text) =
            create(store, &Clock::system(), &Access::without_token("test"), new).await.unwrap();
        (info.id, text)
    }

    #[tokio::test(start_paused = true)]
    async fn a_revoked_token_is_refused_within_five_seconds_even_elsewhere() {
        let store = Store::memory(Schema::new(tables()));
        let verifier = Verifier::new(store.clone());
        assert!(!verifier.is_closed().await.unwrap());
        let (id, text) = made(&store).await;
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(verifier.is_closed().await.unwrap());
        verifier.verify(&text).await.unwrap().require_seller("a").unwrap();

        // Another process revokes it: this one has only its memory to forget.
        revoke(&store, &Clock::system(), &Access::without_token("test"), &id).await.unwrap();
        assert!(verifier.verify(&text).await.is_ok());
        tokio::time::advance(Duration::from_millis(4_900)).await;
        assert_eq!(verifier.verify(&text).await.unwrap_err().code, Code::Unauthorized);
        assert!(verifier.is_closed().await.unwrap(), "the doors stay closed without a valid token");
    }

    #[tokio::test]
    async fn only_the_whole_text_is_the_token() {
        let store = Store::memory(Schema::new(tables()));
        let verifier = Verifier::new(store.clone());
        let (id, text) = made(&store).await;
        assert!(verifier.verify(&text).await.is_ok());
        let wrong =
            ["", "dvor_", "dvor__", &text[..text.len() - 1], &format!("dvor_{id}_"), &text[5..], "dvor_\0_x"];
        for wrong in wrong {
            assert_eq!(verifier.verify(wrong).await.unwrap_err().code, Code::Unauthorized, "{wrong:?}");
        }
    }

    /// Only what has the form of a token is remembered, so the memory is bounded in bytes too.
    #[tokio::test]
    async fn a_text_without_the_form_of_a_token_is_not_remembered() {
        let verifier = Verifier::new(Store::memory(Schema::new(tables())));
        let secret = "0".repeat(64);
        for id in ["x".repeat(1 << 20), "0123".to_owned(), "0123456789abcdeg".to_owned(), String::new()] {
            let refused = verifier.verify(&format!("dvor_{id}_{secret}")).await.unwrap_err();
            assert_eq!(refused.code, Code::Unauthorized);
        }
        assert!(verifier.cache.lock().unwrap().is_empty());
        let unknown = format!("dvor_0123456789abcdef_{secret}");
        assert_eq!(verifier.verify(&unknown).await.unwrap_err().code, Code::Unauthorized);
        assert_eq!(verifier.cache.lock().unwrap().len(), 1);
    }
}
