use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::{Code, Problem, Result};

/// What a token allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Admin,
    /// All data, but not the running of the installation.
    Service,
    /// One seller's data.
    Seller(String),
    /// The work of one stage.
    Stage(String),
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |id: &str| {
            if id.is_empty() { Err(format!("the scope {text:?} lacks an id")) } else { Ok(id.to_owned()) }
        };
        match text.split_once(':') {
            None if text == "admin" => Ok(Self::Admin),
            None if text == "service" => Ok(Self::Service),
            Some(("seller", id)) => named(id).map(Self::Seller),
            Some(("stage", id)) => named(id).map(Self::Stage),
            _ => Err(format!("{text:?} is not one of the scopes admin, service, seller:<id>, stage:<id>")),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admin => f.write_str("admin"),
            Self::Service => f.write_str("service"),
            Self::Seller(id) => write!(f, "seller:{id}"),
            Self::Stage(id) => write!(f, "stage:{id}"),
        }
    }
}

/// Who makes a call, and what for. Routes take it as an argument and ask it for what they need.
#[derive(Clone, Debug)]
pub struct Access {
    who: Arc<str>,
    scopes: Arc<[Scope]>,
    local: bool,
}

impl Access {
    pub fn new(who: &str, scopes: Vec<Scope>) -> Self {
        Self { who: who.into(), scopes: scopes.into(), local: false }
    }

    /// A call from this machine that needed no token: everything is allowed.
    pub fn without_token(who: &str) -> Self {
        Self { local: true, ..Self::new(who, vec![Scope::Admin]) }
    }

    /// The name under which the audit log knows the caller.
    pub fn who(&self) -> &str {
        &self.who
    }

    pub fn require_admin(&self) -> Result<()> {
        self.allow("admin", |scope| matches!(scope, Scope::Admin))
    }

    /// Only callers that proved to be on this machine.
    pub fn require_local(&self) -> Result<()> {
        if self.local {
            return Ok(());
        }
        Err(Problem::new(Code::Forbidden, "this can be asked only by a command on the server's machine"))
    }

    /// Whether the caller is on this machine and needed no token.
    pub fn is_local(&self) -> bool {
        self.local
    }

    pub fn require_service(&self) -> Result<()> {
        self.allow("service", |scope| matches!(scope, Scope::Admin | Scope::Service))
    }

    /// A seller's token does not learn whether another seller exists.
    pub fn require_seller(&self, seller: &str) -> Result<()> {
        if self.sees_seller(seller) {
            Ok(())
        } else {
            Err(Problem::not_found(format!("there is no seller {seller:?}")))
        }
    }

    pub fn require_stage(&self, stage: &str) -> Result<()> {
        let own = |scope: &Scope| {
            matches!(scope, Scope::Admin | Scope::Service) || *scope == Scope::Stage(stage.to_owned())
        };
        if self.scopes.iter().any(own) {
            Ok(())
        } else {
            Err(Problem::not_found(format!("there is no stage {stage:?}")))
        }
    }

    /// Whether all sellers are this caller's to see.
    pub fn sees_all_sellers(&self) -> bool {
        self.scopes.iter().any(|scope| matches!(scope, Scope::Admin | Scope::Service))
    }

    /// The sellers that the caller's scopes name.
    pub fn own_sellers(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().filter_map(|scope| match scope {
            Scope::Seller(seller) => Some(seller.as_str()),
            Scope::Admin | Scope::Service | Scope::Stage(_) => None,
        })
    }

    /// Whether a list may show this seller.
    pub fn sees_seller(&self, seller: &str) -> bool {
        self.scopes.iter().any(|scope| match scope {
            Scope::Admin | Scope::Service => true,
            Scope::Seller(own) => own == seller,
            Scope::Stage(_) => false,
        })
    }

    fn allow(&self, needed: &str, fits: impl Fn(&Scope) -> bool) -> Result<()> {
        if self.scopes.iter().any(fits) {
            return Ok(());
        }
        Err(Problem::new(Code::Forbidden, format!("this call needs an access token with the scope {needed}")))
    }
}

impl<S: Sync> FromRequestParts<S> for Access {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        // Only a route outside of every door has none; nobody may pass there.
        parts
            .extensions
            .get()
            .cloned()
            .ok_or_else(|| Problem::new(Code::Unauthorized, "this call needs an access token"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_read_back_what_they_write() {
        for text in ["admin", "service", "seller:s 1", "stage:a:b"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        for text in ["", "Admin", "seller", "seller:", "root:1"] {
            assert!(text.parse::<Scope>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_scope_opens_its_own_rooms_only() {
        // admin, service, seller a, seller b, stage x
        let check = |scope: &str, expected: [u16; 5]| {
            let access = Access::new("test", vec![scope.parse().unwrap()]);
            let status =
                |result: Result<()>| result.map_or_else(|problem| problem.code.status().as_u16(), |()| 200);
            let found = [
                access.require_admin(),
                access.require_service(),
                access.require_seller("a"),
                access.require_seller("b"),
                access.require_stage("x"),
            ];
            assert_eq!(found.map(status), expected, "{scope}");
        };
        check("admin", [200, 200, 200, 200, 200]);
        check("service", [403, 200, 200, 200, 200]);
        check("seller:a", [403, 403, 200, 404, 404]);
        check("stage:x", [403, 403, 404, 404, 200]);
    }
}
