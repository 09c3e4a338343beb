use kit::{Clock, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Range, Read as _, Shard, Store};

use super::audit::{Audited, note};
use super::tables::{STATE, TOKENS, TOKENS_MADE, TokenRow};
use super::{Access, Scope};
use web::{Problem, Result};

const MAX_NAME_BYTES: usize = 200;
const MAX_SCOPES: usize = 100;
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// More tokens in one shard than this are not listed; a million tokens spread over all shards stay below it.
const MAX_LISTED_PER_SHARD: usize = 2_000;

/// What to make.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What people know it by.
    pub name: String,
    /// `admin`, `service`, `seller:<id>`, `stage:<id>`.
    pub scopes: Vec<String>,
}

/// A token without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TokenInfo {
    pub id: String,
    pub name: String,
    pub scopes: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
}

/// Makes a token and returns it with its whole text, which is never seen again.
pub async fn create(
    store: &Store,
    clock: &Clock,
    access: &Access,
    new: NewToken,
) -> Result<(TokenInfo, String)> {
    check(&new)?;
    let id = hex(&kit::random_bytes::<ID_BYTES>());
    let secret = hex(&kit::random_bytes::<SECRET_BYTES>());
    let row = TokenRow {
        name: new.name,
        scopes: new.scopes,
        secret_hash: blake3::hash(secret.as_bytes()).as_bytes().to_vec(),
        created_at: clock.now().0,
        created_by: access.who().to_owned(),
        revoked_at: None,
    };
    // First the doors close, then the key is cut: the other way round a token could exist beside open doors.
    let state = Shard::of(TOKENS_MADE);
    store.transact(state, async |tx| tx.put(&STATE, (TOKENS_MADE,), &true)).await?;
    let written = store.transact(Shard::of(&id), async |tx| {
        tx.put(&TOKENS, (id.as_str(),), &row)?;
        note(tx, clock, access, &Audited { what: "token.create", whom: &id })
    });
    written.await?;
    let text = format!("dvor_{id}_{secret}");
    Ok((info(id, row), text))
}

/// All tokens, revoked ones too, the newest last.
pub async fn list(store: &Store) -> Result<Vec<TokenInfo>> {
    let shards: Vec<_> = Shard::all().collect();
    let rows = store.scan_shards(&TOKENS, &shards, Range::all(MAX_LISTED_PER_SHARD)).await?;
    let mut tokens: Vec<_> = rows.into_iter().map(|(_, (id,), row)| info(id, row)).collect();
    tokens.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(tokens)
}

/// Revokes a token; a second time changes nothing.
pub async fn revoke(store: &Store, clock: &Clock, access: &Access, id: &str) -> Result<TokenInfo> {
    let row = store.transact(Shard::of(id), async |tx| {
        let Some(mut row) = tx.get(&TOKENS, (id,)).await? else {
            return Err(Problem::not_found(format!("there is no access token {id:?}")));
        };
        if row.revoked_at.is_none() {
            row.revoked_at = Some(clock.now().0);
            tx.put(&TOKENS, (id,), &row)?;
            note(tx, clock, access, &Audited { what: "token.revoke", whom: id })?;
        }
        Ok(row)
    });
    Ok(info(id.to_owned(), row.await?))
}

/// Whether a token was ever made, so that calls need one.
pub(super) async fn any_made(store: &Store) -> Result<bool> {
    Ok(store.get(&STATE, Shard::of(TOKENS_MADE), (TOKENS_MADE,)).await?.unwrap_or(false))
}

/// Whether these can be the parts of a token: hexadecimal digits, as many as [`create`] makes.
pub(super) fn has_form(id: &str, secret: &str) -> bool {
    let is_hex = |text: &str, bytes: usize| {
        text.len() == 2 * bytes && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    is_hex(id, ID_BYTES) && is_hex(secret, SECRET_BYTES)
}

fn check(new: &NewToken) -> Result<()> {
    if new.name.trim().is_empty() || new.name.len() > MAX_NAME_BYTES || new.name.chars().any(char::is_control)
    {
        return Err(Problem::field(
            "name",
            "bad_name",
            format!("a name has 1 to {MAX_NAME_BYTES} printable bytes"),
        ));
    }
    if new.scopes.is_empty() || new.scopes.len() > MAX_SCOPES {
        return Err(Problem::field("scopes", "bad_scopes", format!("a token has 1 to {MAX_SCOPES} scopes")));
    }
    for scope in &new.scopes {
        scope.parse::<Scope>().map_err(|message| Problem::field("scopes", "bad_scope", message))?;
    }
    Ok(())
}

fn info(id: String, row: TokenRow) -> TokenInfo {
    let TokenRow { name, scopes, created_at, created_by, revoked_at, .. } = row;
    TokenInfo {
        id,
        name,
        scopes,
        created_at: Timestamp(created_at),
        created_by,
        revoked_at: revoked_at.map(Timestamp),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
