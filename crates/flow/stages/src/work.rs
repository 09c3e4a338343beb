//! The scheduler as a kind of background work: the one loop of all systems runs it.

use async_trait::async_trait;
use cluster::work::{Due, Plan, Work, WorkError};
use kit::Timestamp;
use offers::stages::CHANNEL;
use store::Shard;

use crate::{Done, Error, Piece, ROLE, Result, Stages};

/// The stages of a process, for [`cluster::work::run`].
pub struct Scheduler(pub Stages);

#[async_trait]
impl Work for Scheduler {
    type Key = Piece;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("stages", ROLE, CHANNEL, self.0.settings.at_once)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<Piece>> {
        let look = self.0.look(shards, now).await?;
        let pieces = look.due.into_iter().map(|(shard, piece)| cluster::work::Piece {
            shard,
            // Each stage is an owner of its own, so that none holds all slots while another waits.
            owner: piece.stage().to_owned(),
            // Another program may take as long as its deadline.
            long: self.0.directory.entry(piece.stage()).is_some_and(|entry| !entry.is_local),
            key: piece,
        });
        Ok(Due { pieces: pieces.collect(), later: look.later.into_iter().collect(), cut: Vec::new() })
    }

    async fn run(&self, shard: Shard, piece: &Piece) -> Result<cluster::work::Done> {
        Ok(match self.0.run_piece(shard, piece).await? {
            Done::Worked => cluster::work::Done::More,
            Done::Later(at) => cluster::work::Done::Later(at),
            Done::NotNow => cluster::work::Done::Behind,
            Done::Nothing => cluster::work::Done::NotNow,
        })
    }
}

impl WorkError for Error {
    fn is_fenced(&self) -> bool {
        Self::is_fenced(self)
    }
}
