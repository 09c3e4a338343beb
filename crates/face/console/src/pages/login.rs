//! In, out, and in which language.

use axum::Form;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, http::StatusCode};
use maud::html;
use serde::Deserialize;
use web::{Access, Code};

use crate::frame::{Heading, bare_page, csrf, see_other};
use crate::visit::{LANGUAGE_COOKIE, Refusal, Visitor};
use crate::{Console, session};

#[derive(Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

pub(crate) async fn show(
    Extension(visitor): Extension<Visitor>,
    access: Option<Extension<Access>>,
    Query(query): Query<Next>,
) -> Response {
    if access.is_some() {
        return see_other(&own_address(&query.next));
    }
    form(&visitor, &query.next, None)
}

fn form(visitor: &Visitor, next: &str, complaint: Option<&str>) -> Response {
    let content = html! {
        @if let Some(complaint) = complaint { div.notice.bad role="alert" { p { (complaint) } } }
        form.card.narrow method="post" action="/console/login" {
            (csrf(visitor))
            input type="hidden" name="next" value=(next);
            label for="token" { (visitor.say("Access token", "Токен доступа")) }
            input #token name="token" type="password" required autofocus autocomplete="current-password"
                placeholder="dvor_…" aria-describedby="token-help";
            p.faint #token-help {
                (visitor.say("Those who run Dvor make one with ", "Его выдают те, кто ведёт Dvor, командой "))
                code { "dvor token create --scope seller:ID --name NAME" } "."
            }
            button.main { (visitor.say("Log in", "Войти")) }
        }
    };
    bare_page(visitor, &Heading::new(visitor.say("Log in", "Вход")), &content)
}

#[derive(Deserialize)]
pub(crate) struct Login {
    token: String,
    #[serde(default)]
    next: String,
}

pub(crate) async fn enter(
    State(console): State<Console>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    Form(login): Form<Login>,
) -> Response {
    let token = login.token.trim();
    match console.doors.verify(token).await {
        Ok(_) => {
            let mut response = see_other(&own_address(&login.next));
            session::begin(&mut response, &headers, token);
            response
        }
        Err(problem) if problem.code == Code::Unauthorized => {
            let complaint =
                visitor.say("this token is not known or was revoked", "такого токена нет, или он отозван");
            (StatusCode::UNAUTHORIZED, form(&visitor, &login.next, Some(complaint))).into_response()
        }
        Err(problem) => Refusal::of(problem, &visitor).into_response(),
    }
}

pub(crate) async fn leave(headers: HeaderMap) -> Response {
    let mut response = see_other("/console/login");
    session::end(&mut response, &headers);
    response
}

#[derive(Deserialize)]
pub(crate) struct Choice {
    language: String,
    #[serde(default)]
    back: String,
}

pub(crate) async fn language(headers: HeaderMap, Form(choice): Form<Choice>) -> Response {
    let mut response = see_other(&own_address(&choice.back));
    let language = if choice.language == "ru" { "ru" } else { "en" };
    session::remember(&mut response, &headers, LANGUAGE_COOKIE, language);
    response
}

/// An address of the console; whatever leads elsewhere leads to the overview.
fn own_address(text: &str) -> String {
    let own = text.strip_prefix(crate::PREFIX).is_some_and(|rest| {
        (rest.is_empty() || rest.starts_with('/') || rest.starts_with('?'))
            && !rest.starts_with("/log")
            && !rest.starts_with("/language")
            && rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    });
    if own { text.to_owned() } else { crate::PREFIX.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::own_address;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for own in ["/console", "/console/sellers/a%2Fb?preset=all", "/console?x"] {
            assert_eq!(own_address(own), own);
        }
        for other in
            ["", "//evil.example", "https://evil.example/console", "/consolex", "/console\\@evil", "/v1"]
        {
            assert_eq!(own_address(other), "/console", "{other}");
        }
    }
}
