//! Who may do what: access tokens, their scopes, and the doors of the three ports.
//!
//! A token is `dvor_<id>_<secret>`; only the hash of the secret is stored. As long as no token was ever made,
//! whoever reaches a loopback port is an admin, provided the call does not come from a web page
//! ([`origin`]). From the first token on every call needs one, and revoking the last does not open the doors again.
//! A door ([`guard`]) puts an [`Access`] into each request that it lets in; routes ask it for what they need.

mod audit;
mod guard;
mod local_key;
mod origin;
mod rate;
mod scope;
mod tables;
mod tokens;
mod verify;

pub use audit::{AuditEntry, Audited, audited, newest};
pub use guard::Door;
pub use local_key::LocalKey;
pub use rate::Rates;
pub use tables::tables;
pub use tokens::{NewToken, TokenInfo, create, list, revoke};
pub use verify::Verifier;
pub use web::{Access, Scope};
