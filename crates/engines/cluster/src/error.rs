pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between processes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The work token belongs to another process now (or to none): nothing may be committed under it here.
    #[error("the work token of role {role} for shard {shard} is not held by this process")]
    Fenced { role: String, shard: u16 },
    /// The lock was taken over or released: nothing may be committed under it.
    #[error("the lock {context}/{key} is not held any more")]
    LockLost { context: String, key: String },
    /// The process has left the cluster.
    #[error("this process has left the cluster")]
    Left,
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// Whether somebody else may work on it now, so that this process must drop what it was doing.
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Fenced { .. } | Self::LockLost { .. })
    }
}
