use std::net::SocketAddr;
use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::header;
use axum::http::request::Parts;

use super::{Access, origin, scope};
use crate::app::App;
use web::{Code, Problem, Result};

/// One listening port, seen from the calls that come through it.
#[derive(Clone)]
pub struct Door {
    pub app: App,
    pub address: SocketAddr,
}

static ANYONE: LazyLock<Access> = LazyLock::new(|| Access::without_token("anyone on this machine"));

/// Paths that need no token: they tell nothing but that the server is there, and probes have no token. Photos are for
/// everybody who knows their hash. The console asks for a token itself, and keeps it in a cookie. Whoever shows a token
/// there all the same may hear more.
fn is_public(path: &str) -> bool {
    matches!(path, "/" | "/healthz" | "/readyz" | "/openapi.json" | console::PREFIX)
        || path.strip_prefix(console::PREFIX).is_some_and(|rest| rest.starts_with('/'))
        || path.starts_with(photos::api::PUBLIC_PREFIX)
        || path.starts_with("/grpc.health.v1.Health/")
}

impl Door {
    /// Lets a call in, with its [`Access`].
    pub async fn admit(&self, request: Request) -> Result<Request> {
        let (mut parts, body) = request.into_parts();
        // A command in this process brings its access along; nothing from outside can.
        if parts.extensions.get::<Access>().is_none()
            && let Some(access) = self.access(&parts).await?
        {
            tracing::Span::current().record("who", access.who());
            scope::check(&parts.method, parts.uri.path(), &access)?;
            parts.extensions.insert(access);
        }
        Ok(Request::from_parts(parts, body))
    }

    /// Who calls; `None` on a public path.
    async fn access(&self, parts: &Parts) -> Result<Option<Access>> {
        let shown = shown_token(parts)?;
        if let Some(access) = shown.and_then(|shown| self.app.local_key.verify(shown)) {
            return Ok(Some(access));
        }
        let public = is_public(parts.uri.path());
        let closed = match self.app.verifier.is_closed().await {
            // A probe must hear what is wrong, even that the store is away.
            Err(_) if public => return Ok(None),
            closed => closed?,
        };
        if !closed && self.address.ip().is_loopback() {
            origin::check(parts, self.address)?;
            return Ok(Some(ANYONE.clone()));
        }
        if public {
            let Some(shown) = shown else { return Ok(None) };
            return Ok(self.app.token_access(shown).await.ok());
        }
        let Some(shown) = shown else {
            let detail = "this call needs an access token: send the header `Authorization: Bearer dvor_…`";
            return Err(Problem::new(Code::Unauthorized, detail));
        };
        Ok(Some(self.app.token_access(shown).await?))
    }
}

fn shown_token(parts: &Parts) -> Result<Option<&str>> {
    let Some(value) = parts.headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|text| text.split_once(' '));
    match token {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(Problem::new(Code::Unauthorized, "the header Authorization must be `Bearer dvor_…`")),
    }
}
