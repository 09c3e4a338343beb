use std::net::SocketAddr;
use std::sync::Mutex;

use crate::http::Client;

/// Open connections that many tasks share, each for one call at a time.
pub struct Pool {
    address: SocketAddr,
    free: Mutex<Vec<Client>>,
}

impl Pool {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, free: Mutex::default() }
    }

    /// Calls with a body of JSON; what is not answered 200 is an error.
    pub async fn good(&self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let free = self.free.lock().map_or(None, |mut free| free.pop());
        let mut client = match free {
            Some(client) => client,
            None => Client::connect(self.address).await?,
        };
        let answer =
            client.ask(method, path, "content-type: application/json\r\n", body).await?.expect(200)?;
        if let Ok(mut free) = self.free.lock() {
            free.push(client);
        }
        Ok(answer.body)
    }
}
