//! Awaiting a future while a set of running futures is polled.

use futures::stream::{FuturesUnordered, StreamExt as _};

/// Awaits `wanted`, polling `running` meanwhile; returns what of `running` finished, too.
///
/// A loop that owns its running futures must await everything else through this function: one of them may hold what is
/// awaited (a connection, or the turn to get one) and would never release it, because nothing polls it.
pub async fn beside<T, F: Future>(
    running: &mut FuturesUnordered<F>,
    wanted: impl Future<Output = T>,
) -> (T, Vec<F::Output>) {
    let mut wanted = std::pin::pin!(wanted);
    let mut ended = Vec::new();
    loop {
        tokio::select! {
            biased;
            answer = &mut wanted => return (answer, ended),
            Some(end) = running.next() => ended.push(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    /// One connection: the work holds it across an await, and the loop asks for it too.
    #[tokio::test(start_paused = true)]
    async fn what_runs_gives_back_what_is_waited_for() {
        let connections = Semaphore::new(1);
        let mut running: FuturesUnordered<_> = (0..3)
            .map(|number| {
                let connections = &connections;
                async move {
                    let _held = connections.acquire().await.unwrap();
                    tokio::task::yield_now().await;
                    number
                }
            })
            .collect();
        let first = running.next().await;
        let (answer, ended) = beside(&mut running, async {
            let _held = connections.acquire().await.unwrap();
            "looked"
        })
        .await;
        assert_eq!((first, answer), (Some(0), "looked"));
        assert_eq!(ended, [1, 2], "both had asked for it before");
        let ((), ended) = beside(&mut running, tokio::task::yield_now()).await;
        assert!(ended.is_empty(), "nothing runs any more, and nothing is waited for but the answer");
    }
}
