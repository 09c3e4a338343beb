//! What a call needs at least, by its address alone: nobody sends megabytes to be told that they are not wanted. The routes
//! ask for what they need once more.

use axum::http::Method;
use percent_encoding::percent_decode_str;
use web::{Access, Result};

/// Below these only services and admins write.
const OF_SERVICES: [&str; 8] =
    ["topics", "businesses", "united", "silver", "gold", "migrations", "settings", "parsed-feeds"];

/// Before the body of a call is read.
pub(super) fn check(method: &Method, path: &str, access: &Access) -> Result<()> {
    if method.is_safe() {
        return Ok(());
    }
    let mut parts = path.strip_prefix("/v1/").unwrap_or_default().split('/');
    match (parts.next(), parts.next()) {
        (Some("admin"), _) => access.require_admin(),
        (Some("sellers"), Some(seller)) => {
            access.require_seller(&percent_decode_str(seller).decode_utf8_lossy())
        }
        (Some(first), _) if OF_SERVICES.contains(&first) => access.require_service(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_refused_by_its_address() {
        let check = |scope: &str, path: &str, expected: u16| {
            let access = Access::new("test", vec![scope.parse().unwrap()]);
            let found = super::check(&Method::POST, path, &access);
            let status = found.map_or_else(|problem| problem.code.status().as_u16(), |()| 200);
            assert_eq!(status, expected, "{scope} {path}");
            assert!(super::check(&Method::GET, path, &access).is_ok());
        };
        check("seller:a", "/v1/sellers/a/photos", 200);
        check("seller:a b", "/v1/sellers/a%20b/photos", 200);
        check("seller:a", "/v1/sellers/b/photos", 404);
        check("seller:a", "/v1/topics/x/records", 403);
        check("service", "/v1/topics/x/records", 200);
        check("service", "/v1/admin/tokens", 403);
        check("admin", "/v1/admin/tokens", 200);
        check("stage:x", "/v1/parsed-feeds", 403);
        check("seller:a", "/v1/offers", 200);
        check("seller:a", "/healthz", 200);
    }
}
