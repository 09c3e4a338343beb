//! Who looks at a page, in which language, and what he is told when he may not.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use web::{Access, Code, Language, Problem};

use crate::frame;
use crate::session::cookie;
use crate::words::encoded;

/// The language that the reader chose by hand.
pub(crate) const LANGUAGE_COOKIE: &str = "dvor_language";

/// Somebody before a page, known or not.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) language: Language,
    /// What forms must bring back.
    pub(crate) csrf: String,
    /// Path and query of the page.
    pub(crate) address: String,
}

impl Visitor {
    pub(crate) fn new(request: &Request, csrf: String) -> Self {
        let address = request.uri().path_and_query().map_or("", |text| text.as_str()).to_owned();
        Self { language: language(request.headers()), csrf, address }
    }

    /// The words in the reader's language.
    pub(crate) fn say<'w>(&self, english: &'w str, russian: &'w str) -> &'w str {
        match self.language {
            Language::English => english,
            Language::Russian => russian,
        }
    }
}

fn language(headers: &HeaderMap) -> Language {
    match cookie(headers, LANGUAGE_COOKIE).as_deref() {
        Some("ru") => Language::Russian,
        Some("en") => Language::English,
        _ => web::language(headers),
    }
}

/// Somebody who may see pages.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) visitor: Visitor,
    pub(crate) access: Access,
}

impl std::ops::Deref for Visit {
    type Target = Visitor;

    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

impl Visit {
    /// A page's answer to what went wrong.
    pub(crate) fn refused(&self, problem: impl Into<Problem>) -> Refusal {
        let (problem, visitor, access) = (problem.into(), self.visitor.clone(), Some(self.access.clone()));
        Refusal(Box::new(Refused { problem, visitor, access }))
    }

    /// The same for errors of offers, whose words depend on the language.
    pub(crate) fn offers(&self, error: offers::Error) -> Refusal {
        self.refused(error.problem(self.language))
    }

    pub(crate) fn require_seller(&self, seller: &str) -> Result<(), Refusal> {
        self.access.require_seller(seller).map_err(|problem| self.refused(problem))
    }

    pub(crate) fn require_service(&self) -> Result<(), Refusal> {
        self.access.require_service().map_err(|problem| self.refused(problem))
    }

    pub(crate) fn require_admin(&self) -> Result<(), Refusal> {
        self.access.require_admin().map_err(|problem| self.refused(problem))
    }
}

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let Some(visitor) = parts.extensions.get::<Visitor>().cloned() else {
            // Only a route outside of the session's layer has none; nobody may pass there.
            return Err(StatusCode::FORBIDDEN.into_response());
        };
        match parts.extensions.get::<Access>().cloned() {
            Some(access) => Ok(Self { visitor, access }),
            None if parts.method == Method::GET => {
                let to = format!("{}/login?next={}", crate::PREFIX, encoded(&visitor.address));
                Err(Redirect::to(&to).into_response())
            }
            None => {
                let detail = visitor.say("log in first", "сначала войдите");
                Err(Refusal::of(Problem::new(Code::Unauthorized, detail), &visitor).into_response())
            }
        }
    }
}

/// A page that says what is wrong.
#[derive(Debug)]
pub(crate) struct Refusal(Box<Refused>);

#[derive(Debug)]
struct Refused {
    problem: Problem,
    visitor: Visitor,
    access: Option<Access>,
}

impl Refusal {
    pub(crate) fn of(problem: Problem, visitor: &Visitor) -> Self {
        Self(Box::new(Refused { problem, visitor: visitor.clone(), access: None }))
    }

    /// The same, from a layer that knows the request only.
    pub(crate) fn page(mut self, request: &Request) -> Response {
        self.0.access = request.extensions().get().cloned();
        self.into_response()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        frame::refusal(&self.0.problem, &self.0.visitor, self.0.access.as_ref())
    }
}
