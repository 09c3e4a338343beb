//! Without tokens a loopback port trusts whoever reaches it, so it must not be reached by a web page in a browser of
//! the same machine: not by a name that resolves to loopback (`Host`), not by a form or script of another page
//! (`Origin`, `Sec-Fetch-Site`), and not from other machines through a proxy (`Forwarded`, `X-Forwarded-…`, `Via`).

use std::net::SocketAddr;

use axum::http::request::Parts;
use axum::http::{Method, header};

use web::{Code, Problem, Result};

/// Refuses a call that did not name this very listener or that comes from a foreign page.
pub(super) fn check(parts: &Parts, listener: SocketAddr) -> Result<()> {
    let text = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host =
        parts.uri.authority().map(axum::http::uri::Authority::as_str).or_else(|| text(header::HOST.as_str()));
    if !host.is_some_and(|host| is_own(host, listener)) {
        let shown = host.unwrap_or("none");
        return refuse(format!(
            "the host {shown:?} is not this server: without access tokens it is reached as localhost"
        ));
    }
    if let Some(name) = parts.headers.keys().map(header::HeaderName::as_str).find(|name| is_of_proxy(name)) {
        return refuse(format!(
            "the call came through a proxy (it has the header {name}), and without access tokens only this machine may \
             call: make a token first, with `dvor token create --scope admin`"
        ));
    }
    if let Some(origin) = text(header::ORIGIN.as_str()) {
        let own = origin.strip_prefix("http://").is_some_and(|host| is_own(host, listener));
        if !own {
            return refuse(format!("a page of {origin:?} may not call this server"));
        }
    }
    let foreign = matches!(text("sec-fetch-site"), Some("cross-site" | "same-site"));
    // Following a link to this server is fine; being loaded by another page is not.
    let followed = parts.method == Method::GET && text("sec-fetch-mode") == Some("navigate");
    if foreign && !followed {
        return refuse("another page may not call this server".to_owned());
    }
    Ok(())
}

fn is_of_proxy(name: &str) -> bool {
    matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
}

fn is_own(host: &str, listener: SocketAddr) -> bool {
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port.parse().ok()),
        _ => (host, Some(80)),
    };
    let is_listener = || match listener.ip() {
        std::net::IpAddr::V4(ip) => host == ip.to_string(),
        std::net::IpAddr::V6(ip) => host.eq_ignore_ascii_case(&format!("[{ip}]")),
    };
    let is_usual = ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| host.eq_ignore_ascii_case(name));
    port == Some(listener.port()) && (is_usual || is_listener())
}

fn refuse(detail: String) -> Result<()> {
    Err(Problem::new(Code::Forbidden, detail))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn passes(method: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri("/v1/topics");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0, "127.0.0.1:7080".parse().unwrap()).is_ok()
    }

    #[test]
    fn only_this_listener_by_a_loopback_name() {
        for host in ["localhost:7080", "127.0.0.1:7080", "[::1]:7080", "LOCALHOST:7080"] {
            assert!(passes("GET", &[("host", host)]), "{host}");
        }
        let strange = [
            "evil.example:7080",
            "localhost",
            "localhost:7081",
            "127.0.0.1.evil.example:7080",
            "",
            "localhost:x",
        ];
        for host in strange {
            assert!(!passes("GET", &[("host", host)]), "{host}");
        }
        assert!(!passes("GET", &[]));
    }

    #[test]
    fn nobody_through_a_proxy() {
        let host = ("host", "localhost:7080");
        for name in ["forwarded", "via", "x-forwarded-for", "X-Forwarded-Proto", "x-real-ip"] {
            assert!(!passes("GET", &[host, (name, "127.0.0.1")]), "{name}");
        }
        assert!(passes("GET", &[host, ("x-request-id", "1")]));
    }

    #[test]
    fn no_foreign_page() {
        let host = ("host", "localhost:7080");
        assert!(passes("POST", &[host, ("origin", "http://localhost:7080")]));
        for origin in ["null", "http://evil.example", "http://localhost:3000", "https://localhost:7080"] {
            assert!(!passes("POST", &[host, ("origin", origin)]), "{origin}");
        }
        assert!(!passes("GET", &[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]));
        assert!(passes("GET", &[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]));
        assert!(!passes("POST", &[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]));
        assert!(passes("GET", &[host, ("sec-fetch-site", "none")]));
    }
}
