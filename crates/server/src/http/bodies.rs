//! A budget of bytes for the bodies of calls that are in memory, so that many large ones at the same time do not take all of
//! it. A body counts from the moment its bytes come until its call is answered; what was only announced does not, so slow
//! senders take nothing from others. A feed goes to the disk as it comes and is not counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use web::{Access, Code, Problem};

/// The beginning of a body is free, so that small calls go on while large ones wait.
const FREE_BYTES: usize = 16 << 10;
/// One caller has at most this part of the budget.
const SHARES: usize = 4;
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The bodies of a process.
pub struct Bodies {
    budget: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    by_caller: HashMap<String, usize>,
}

impl Bodies {
    pub fn new(budget: usize) -> Self {
        Self { budget, held: Mutex::default() }
    }

    /// Bytes in memory now.
    #[cfg(test)]
    fn held_bytes(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn take(&self, caller: &str, bytes: usize) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.by_caller.get(caller).copied().unwrap_or(0);
        if held.bytes + bytes > self.budget || own + bytes > self.budget / SHARES {
            return false;
        }
        held.bytes += bytes;
        *held.by_caller.entry(caller.to_owned()).or_default() += bytes;
        true
    }

    fn give_back(&self, caller: &str, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.bytes -= bytes;
        if let Some(own) = held.by_caller.get_mut(caller) {
            *own -= bytes;
            if *own == 0 {
                held.by_caller.remove(caller);
            }
        }
    }

    /// Answers a call whose body is counted while it comes.
    pub async fn metered<A: Future<Output = Response>>(
        self: &Arc<Self>,
        request: Request,
        answer: impl FnOnce(Request) -> A,
    ) -> Response {
        if is_small(&request) {
            return answer(request).await;
        }
        let (parts, body) = request.into_parts();
        let caller = parts.extensions.get::<Access>().map_or("", Access::who).to_owned();
        let share = Arc::new(Share {
            bodies: self.clone(),
            caller,
            came: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            refused: AtomicBool::new(false),
        });
        let counted = share.clone();
        let body = body.into_data_stream().map(move |chunk| {
            let chunk = chunk.map_err(std::io::Error::other)?;
            if counted.come(chunk.len()) { Ok(chunk) } else { Err(std::io::Error::other("no room")) }
        });
        let response = answer(Request::from_parts(parts, Body::from_stream(body))).await;
        if share.refused.load(Ordering::Relaxed) {
            let detail = "too many large bodies are under way; try again a little later";
            let problem = Problem::named(Code::TooManyRequests, "bodies_in_flight", detail);
            return Problem { retry_after: Some(TRY_AGAIN), ..problem }.into_response();
        }
        response
    }
}

/// Nearly all calls are: there is nothing to count.
fn is_small(request: &Request) -> bool {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    request.method().is_safe()
        || length.and_then(|length| length.parse().ok()).is_some_and(|bytes: usize| bytes <= FREE_BYTES)
}

/// What one call has of the budget; it goes back with it.
struct Share {
    bodies: Arc<Bodies>,
    caller: String,
    came: AtomicUsize,
    taken: AtomicUsize,
    refused: AtomicBool,
}

impl Share {
    fn come(&self, bytes: usize) -> bool {
        let came = self.came.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let wanted = came.saturating_sub(FREE_BYTES).saturating_sub(self.taken.load(Ordering::Relaxed));
        if wanted > 0 && !self.bodies.take(&self.caller, wanted) {
            self.refused.store(true, Ordering::Relaxed);
            return false;
        }
        self.taken.fetch_add(wanted, Ordering::Relaxed);
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bodies.give_back(&self.caller, *self.taken.get_mut());
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use axum::http::Method;

    use super::*;

    fn request(caller: &str, bytes: usize) -> Request {
        let mut request = Request::new(Body::from(vec![0; bytes]));
        *request.method_mut() = Method::POST;
        request.extensions_mut().insert(Access::new(caller, Vec::new()));
        request
    }

    #[tokio::test]
    async fn bodies_that_are_held_keep_others_from_coming_and_go_with_their_calls() {
        let bodies = Arc::new(Bodies::new(4 << 20));
        let read = async |request: Request| match to_bytes(request.into_body(), usize::MAX).await {
            Ok(bytes) => bytes.len().to_string().into_response(),
            Err(_) => "".into_response(),
        };
        let status = async |caller: &str, bytes| bodies.metered(request(caller, bytes), read).await.status();
        // While one is held, its caller has used their share; another caller has not, and small calls go on.
        let held = bodies.metered(request("a", 1 << 20), async |request: Request| {
            let bytes = to_bytes(request.into_body(), usize::MAX).await.unwrap();
            assert_eq!(bodies.held_bytes(), bytes.len() - FREE_BYTES);
            let statuses = [status("a", 1 << 20).await, status("b", 1 << 20).await, status("a", 9_000).await];
            assert_eq!(statuses.map(|status| status.as_u16()), [429, 200, 200]);
            "done".into_response()
        });
        assert_eq!(held.await.status(), 200);
        assert_eq!(bodies.held_bytes(), 0);
        assert!(bodies.held.lock().unwrap().by_caller.is_empty());
        assert_eq!(status("a", 2 << 20).await, 429, "more than a share at once");
        assert_eq!(bodies.held_bytes(), 0);
    }
}
