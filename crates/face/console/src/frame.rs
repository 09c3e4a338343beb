//! What all pages have around them.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};
use web::{Access, Language, Problem};

use crate::session::CSRF_FIELD;
use crate::visit::{Visit, Visitor};
use crate::words::number;
use crate::{assets, words};

/// Nothing from outside, nothing inline, in no foreign frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer of the console.
pub(crate) async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// What a page says of itself.
#[derive(Default)]
pub(crate) struct Heading {
    pub(crate) title: String,
    /// Addresses and names of the pages above it.
    pub(crate) path: Vec<(String, String)>,
    /// The script looks again after so many milliseconds and puts in what has changed in parts with `data-live`.
    pub(crate) refresh_ms: Option<u32>,
}

impl Heading {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    pub(crate) fn below(mut self, address: impl Into<String>, name: impl Into<String>) -> Self {
        self.path.push((address.into(), name.into()));
        self
    }

    pub(crate) fn live(mut self, every_ms: u32) -> Self {
        self.refresh_ms = Some(every_ms);
        self
    }
}

/// A whole page.
pub(crate) fn page(visit: &Visit, heading: &Heading, content: &Markup) -> Response {
    let body = html! {
        @if !heading.path.is_empty() {
            nav.crumbs aria-label=(visit.say("Path", "Путь")) {
                ol {
                    @for (address, name) in &heading.path { li { a href=(address) { bdi { (name) } } } }
                }
            }
        }
        h1 { bdi { (heading.title) } }
        (content)
    };
    Html(document(visit, Some(&visit.access), heading, &body).into_string()).into_response()
}

/// A page without the rooms behind it: the login.
pub(crate) fn bare_page(visitor: &Visitor, heading: &Heading, content: &Markup) -> Response {
    let body = html! { h1 { (heading.title) } (content) };
    Html(document(visitor, None, heading, &body).into_string()).into_response()
}

/// What went wrong, as a page.
pub(crate) fn refusal(problem: &Problem, visitor: &Visitor, access: Option<&Access>) -> Response {
    let told = problem.body("", visitor.language);
    let body = html! {
        div.notice.bad role="alert" {
            h1 { (told.title) }
            p { bdi { (told.detail) } }
            @if told.errors.len() > 1 {
                ul { @for error in &told.errors { li { code { (error.field) } " " bdi { (error.message) } } } }
            }
            p.faint { (told.status) " " (told.kind) }
        }
        p { a href="/console" { (visitor.say("To the overview", "К обзору")) } }
    };
    let page = document(visitor, access, &Heading::new(told.title.clone()), &body);
    let mut response = (problem.code.status(), Html(page.into_string())).into_response();
    if let Some(wait) = problem.retry_after
        && let Ok(value) = HeaderValue::from_str(&wait.as_secs().max(1).to_string())
    {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

/// Sends the browser on after a form, so that a reload does not send it again.
pub(crate) fn see_other(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(address) => (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

fn document(visitor: &Visitor, access: Option<&Access>, heading: &Heading, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(visitor.language.code()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (heading.title) " · Dvor" }
                link rel="stylesheet" href=(assets::address("console.css"));
                link rel="icon" type="image/svg+xml" href=(assets::address("icon.svg"));
                script src=(assets::address("console.js")) defer {}
            }
            body data-csrf=(visitor.csrf) data-refresh=[heading.refresh_ms] {
                a.skip href="#main" { (visitor.say("To the content", "К содержанию")) }
                (top(visitor, access))
                main #main tabindex="-1" { (body) }
                footer { "Dvor " (env!("CARGO_PKG_VERSION")) }
            }
        }
    }
}

fn top(visitor: &Visitor, access: Option<&Access>) -> Markup {
    let all = access.is_some_and(Access::sees_all_sellers);
    let admin = access.is_some_and(|access| access.require_admin().is_ok());
    let item = |address: &str, name: &str| {
        let path = visitor.address.split('?').next().unwrap_or_default();
        let here = if address == crate::PREFIX { path == address } else { path.starts_with(address) };
        html! { li { a href=(address) aria-current=[here.then_some("page")] { (name) } } }
    };
    html! {
        header.top {
            a.brand href="/console" { "Dvor" }
            @if access.is_some() {
                nav aria-label=(visitor.say("Rooms", "Разделы")) {
                    ul {
                        @if all { (item("/console", visitor.say("Overview", "Обзор"))) }
                        (item("/console/sellers", visitor.say("Sellers", "Продавцы")))
                        @if all {
                            (item("/console/stages", visitor.say("Stages", "Этапы")))
                            (item("/console/silver", visitor.say("Silver", "Серебро")))
                            (item("/console/snippets", visitor.say("Snippets", "Сниппеты")))
                            (item("/console/topics", visitor.say("Topics", "Топики")))
                        }
                        @if admin { (item("/console/cluster", visitor.say("Cluster", "Кластер"))) }
                    }
                }
                form.find action="/console/find" role="search" {
                    label.hidden for="find" { (visitor.say("Offer or seller", "Предложение или продавец")) }
                    input #find name="q" type="search" autocomplete="off" maxlength="200"
                        placeholder=(visitor.say("Offer or seller", "Предложение или продавец"));
                }
            }
            (language_switch(visitor))
            @if let Some(access) = access.filter(|access| !access.is_local()) {
                form.inline method="post" action="/console/logout" {
                    (csrf(visitor))
                    span.who { bdi { (access.who()) } }
                    button.quiet { (visitor.say("Log out", "Выйти")) }
                }
            }
        }
    }
}

fn language_switch(visitor: &Visitor) -> Markup {
    let (code, name) = match visitor.language {
        Language::English => ("ru", "Русский"),
        Language::Russian => ("en", "English"),
    };
    html! {
        form.inline.language method="post" action="/console/language" {
            (csrf(visitor))
            input type="hidden" name="back" value=(visitor.address);
            button.quiet name="language" value=(code) lang=(code) { (name) }
        }
    }
}

/// The field that every form has.
pub(crate) fn csrf(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name=(CSRF_FIELD) value=(visitor.csrf); }
}

/// A form that is one button.
pub(crate) fn act(visitor: &Visitor, address: &str, class: &str, name: &str) -> Markup {
    html! {
        form.inline method="post" action=(address) {
            (csrf(visitor))
            button class=(class) { (name) }
        }
    }
}

/// A status in its colour.
pub(crate) fn chip(visitor: &Visitor, status: &str) -> Markup {
    html! { span class=(format!("chip {status}")) { (words::status(visitor, status)) } }
}

/// A number that is seen from afar, with what it is.
pub(crate) fn figure(name: &str, value: i64) -> Markup {
    html! { div.figure { dt { (name) } dd { (number(value)) } } }
}

/// Something that is not there.
pub(crate) fn empty(text: &str) -> Markup {
    html! { p.empty { (text) } }
}
