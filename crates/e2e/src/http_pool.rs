use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::http::Client;

/// Servers let go of who is silent for a while.
const FRESH: Duration = Duration::from_secs(5);

/// Open connections that many tasks share, each for one call at a time.
pub struct Pool {
    address: SocketAddr,
    /// And since when they are free.
    free: Mutex<Vec<(Client, Instant)>>,
}

impl Pool {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, free: Mutex::default() }
    }

    /// Calls with a body of JSON; what is not answered 200 is an error.
    pub async fn good(&self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let free = self.free.lock().map_or(None, |mut free| free.pop());
        let mut client = match free.filter(|(_, since)| since.elapsed() < FRESH) {
            Some((client, _)) => client,
            None => Client::connect(self.address).await?,
        };
        let answer =
            client.ask(method, path, "content-type: application/json\r\n", body).await?.expect(200)?;
        if let Ok(mut free) = self.free.lock() {
            free.push((client, Instant::now()));
        }
        Ok(answer.body)
    }
}
