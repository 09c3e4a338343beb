//! Sessions and the protection of forms, in one layer around all pages.
//!
//! The session's cookie holds the access token, is sent to the console alone (`Path`), read by no script (`HttpOnly`) and not
//! sent along from other sites' forms (`SameSite=Lax`). A visitor without a session gets a random cookie for the time of
//! the visit. From either the CSRF token is derived; whoever does not know the cookie cannot make it.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use web::{Access, Code, Problem};

use crate::Console;
use crate::visit::{Refusal, Visitor};

pub const SESSION_COOKIE: &str = "dvor_session";
const VISIT_COOKIE: &str = "dvor_visit";
/// Where a script puts the CSRF token.
pub const CSRF_HEADER: &str = "x-csrf-token";
/// And where a form does.
pub(crate) const CSRF_FIELD: &str = "csrf";
/// Largest form: a snippet's content is the largest that has a field.
const FORM_BYTES: usize = 4 << 20;
/// Of somebody who has not logged in.
pub(crate) const STRANGERS_FORM_BYTES: usize = 64 << 10;
/// The browser forgets a session after this.
const SESSION_SECONDS: u32 = 12 * 3_600;

/// Finds out who comes, refuses forms without their CSRF token, and remembers a new visitor.
pub(crate) async fn admit(State(console): State<Console>, mut request: Request, next: Next) -> Response {
    let session = cookie(request.headers(), SESSION_COOKIE);
    let known_visit = cookie(request.headers(), VISIT_COOKIE);
    let seed = session.clone().or_else(|| known_visit.clone()).unwrap_or_else(kit::random_id);
    let visitor = Visitor::new(&request, csrf_token(&seed));
    if request.extensions().get::<Access>().is_none()
        && let Some(token) = &session
    {
        match console.doors.verify(token).await {
            Ok(access) => {
                tracing::Span::current().record("who", access.who());
                request.extensions_mut().insert(access);
            }
            Err(problem) if problem.code == Code::Unauthorized => {}
            Err(problem) => return Refusal::of(problem, &visitor).page(&request),
        }
    }
    request.extensions_mut().insert(visitor.clone());
    let request = match checked(request, &visitor).await {
        Ok(request) => request,
        Err(refused) => return *refused,
    };
    let secure = is_secure(request.headers());
    let mut response = next.run(request).await;
    if session.is_none() && known_visit.is_none() {
        set_cookie(&mut response, VISIT_COOKIE, &seed, "Strict", None, secure);
    }
    response
}

/// The request, if it is harmless or brings the CSRF token.
async fn checked(request: Request, visitor: &Visitor) -> Result<Request, Box<Response>> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(request);
    }
    let refuse = |request: &Request| {
        let detail = visitor.say(
            "this form has no valid token: load its page again and send it from there",
            "у формы нет действительного токена: обновите страницу и отправьте форму заново",
        );
        Refusal::of(Problem::new(Code::Forbidden, detail), visitor).page(request)
    };
    if let Some(shown) = request.headers().get(CSRF_HEADER) {
        let right = shown.to_str().is_ok_and(|shown| same(shown, &visitor.csrf));
        return if right { Ok(request) } else { Err(Box::new(refuse(&request))) };
    }
    let is_form = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    if !is_form {
        return Err(Box::new(refuse(&request)));
    }
    let (parts, body) = request.into_parts();
    let is_stranger = parts.extensions.get::<Access>().is_none();
    let most = if is_stranger { STRANGERS_FORM_BYTES } else { FORM_BYTES };
    let Ok(bytes) = to_bytes(body, most).await else {
        let detail = visitor.say("the form is too large", "форма слишком велика");
        let request = Request::from_parts(parts, Body::empty());
        return Err(Box::new(Refusal::of(Problem::new(Code::TooLarge, detail), visitor).page(&request)));
    };
    let right = url::form_urlencoded::parse(&bytes)
        .any(|(name, value)| name == CSRF_FIELD && same(&value, &visitor.csrf));
    let request = Request::from_parts(parts, Body::from(bytes));
    if right { Ok(request) } else { Err(Box::new(refuse(&request))) }
}

/// Nobody who does not know the cookie can make it.
fn csrf_token(seed: &str) -> String {
    let key = blake3::derive_key("dvor console 2026 csrf token", seed.as_bytes());
    blake3::Hash::from_bytes(key).to_hex().to_string()
}

/// In a time that does not depend on where they differ.
fn same(a: &str, b: &str) -> bool {
    blake3::hash(a.as_bytes()) == blake3::hash(b.as_bytes())
}

/// The value of a cookie, if it has one.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, value)| *found == name && !value.is_empty()).map(|(_, value)| value.to_owned())
}

/// Whether the browser speaks TLS, to us or to the proxy before us. A liar gets a cookie that it will not send.
fn is_secure(headers: &HeaderMap) -> bool {
    let says = |name: &str, begins: &str| {
        headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|text| text.starts_with(begins))
    };
    says("x-forwarded-proto", "https") || says("origin", "https://")
}

/// Adds a cookie of the console to an answer; without seconds it lasts as long as the browser's visit.
fn set_cookie(
    response: &mut Response,
    name: &str,
    value: &str,
    same_site: &str,
    seconds: Option<u32>,
    secure: bool,
) {
    let age = seconds.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
    let secure = if secure { "; Secure" } else { "" };
    let prefix = crate::PREFIX;
    let text = format!("{name}={value}; Path={prefix}; HttpOnly; SameSite={same_site}{age}{secure}");
    // A value that cannot be a header cannot have been a token either.
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

/// Begins a session.
pub(crate) fn begin(response: &mut Response, request: &HeaderMap, token: &str) {
    set_cookie(response, SESSION_COOKIE, token, "Lax", Some(SESSION_SECONDS), is_secure(request));
}

/// Ends it.
pub(crate) fn end(response: &mut Response, request: &HeaderMap) {
    set_cookie(response, SESSION_COOKIE, "", "Lax", Some(0), is_secure(request));
}

/// Remembers a choice of the reader for a year.
pub(crate) fn remember(response: &mut Response, request: &HeaderMap, name: &str, value: &str) {
    set_cookie(response, name, value, "Lax", Some(365 * 86_400), is_secure(request));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_among_others() {
        let headers =
            |text: &'static str| HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_static(text))]);
        let found = |text| cookie(&headers(text), SESSION_COOKIE);
        assert_eq!(found("a=b; dvor_session=dvor_1_2; c=d").as_deref(), Some("dvor_1_2"));
        assert_eq!(found("xdvor_session=1; dvor_session="), None);
        assert_eq!(cookie(&HeaderMap::new(), SESSION_COOKIE), None);
    }

    #[test]
    fn each_session_has_its_own_token() {
        assert_ne!(csrf_token("a"), csrf_token("b"));
        assert_eq!(csrf_token("a").len(), 64);
        assert!(same("x", "x") && !same("x", "y"));
    }
}
