//! One `Problem` for everything that can go wrong with a call: it becomes `application/problem+json` over HTTP and a
//! status over gRPC. Errors of the engines turn into it here and nowhere else.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kit::Kind;
use model::Language;
use serde::{Deserialize, Serialize};

/// What went wrong, under a name that clients may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    Conflict,
    Gone,
    PreconditionFailed,
    TooLarge,
    UnsupportedMediaType,
    Invalid,
    PreconditionRequired,
    TooManyRequests,
    Internal,
    Unavailable,
    Timeout,
    /// The answer of the store was lost: the change may have happened.
    OutcomeUnknown,
    StorageFull,
}

/// What is known of a code.
struct Row {
    code: Code,
    status: u16,
    name: &'static str,
    english: &'static str,
    russian: &'static str,
    grpc: tonic::Code,
}

const fn row(
    code: Code,
    status: u16,
    name: &'static str,
    english: &'static str,
    russian: &'static str,
    grpc: tonic::Code,
) -> Row {
    Row { code, status, name, english, russian, grpc }
}

/// In the order of [`Code`].
#[rustfmt::skip]
const ROWS: [Row; 18] = {
    use tonic::Code as Grpc;
    [
        row(Code::BadRequest, 400, "bad_request", "The request cannot be read", "Запрос не читается", Grpc::InvalidArgument),
        row(Code::Unauthorized, 401, "unauthorized", "An access token is needed", "Нужен токен доступа", Grpc::Unauthenticated),
        row(Code::Forbidden, 403, "forbidden", "This is not allowed", "Это не разрешено", Grpc::PermissionDenied),
        row(Code::NotFound, 404, "not_found", "There is no such thing", "Такого нет", Grpc::NotFound),
        row(Code::MethodNotAllowed, 405, "method_not_allowed", "This address does not take that method", "Этот адрес не принимает такой метод", Grpc::Unimplemented),
        row(Code::Conflict, 409, "conflict", "It is in another state", "Состояние другое", Grpc::Aborted),
        row(Code::Gone, 410, "gone", "It is no longer there", "Этого больше нет", Grpc::NotFound),
        row(Code::PreconditionFailed, 412, "precondition_failed", "It has changed since you read it", "С момента чтения это изменилось", Grpc::FailedPrecondition),
        row(Code::TooLarge, 413, "too_large", "The body is too large", "Тело запроса слишком велико", Grpc::ResourceExhausted),
        row(Code::UnsupportedMediaType, 415, "unsupported_media_type", "The body has another type than expected", "Тип тела запроса не тот", Grpc::InvalidArgument),
        row(Code::Invalid, 422, "invalid", "Some value is not valid", "Недопустимое значение", Grpc::InvalidArgument),
        row(Code::PreconditionRequired, 428, "precondition_required", "Say which version you change: If-Match", "Укажите изменяемую версию: If-Match", Grpc::FailedPrecondition),
        row(Code::TooManyRequests, 429, "too_many_requests", "Too many requests", "Слишком много запросов", Grpc::ResourceExhausted),
        row(Code::Internal, 500, "internal", "The server made a mistake", "Ошибка сервера", Grpc::Internal),
        row(Code::Unavailable, 503, "unavailable", "Not available now; try again", "Сейчас недоступно, повторите позже", Grpc::Unavailable),
        row(Code::Timeout, 503, "timeout", "It took too long; try again", "Не хватило времени, повторите", Grpc::DeadlineExceeded),
        row(Code::OutcomeUnknown, 503, "outcome_unknown", "The change may or may not have happened", "Изменение могло произойти, а могло и нет", Grpc::Unknown),
        row(Code::StorageFull, 507, "storage_full", "There is no room left", "Место закончилось", Grpc::ResourceExhausted),
    ]
};

impl Code {
    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    pub const fn name(self) -> &'static str {
        self.row().name
    }

    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The code of a bare status, such as the framework's own answers have.
    pub fn of_status(status: StatusCode) -> Self {
        let exact = ROWS.iter().find(|row| row.status == status.as_u16()).map(|row| row.code);
        let general = if status.is_server_error() { Self::Internal } else { Self::BadRequest };
        exact.unwrap_or(general)
    }
}

/// A wrong field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FieldError {
    pub field: String,
    pub code: String,
    pub message: String,
}

/// What a client is told.
#[derive(Clone, Debug)]
pub struct Problem {
    pub code: Code,
    /// A narrower name than the code's, such as `managed_by_feed` among the conflicts.
    pub name: Option<&'static str>,
    pub detail: String,
    pub errors: Vec<FieldError>,
    pub retry_after: Option<Duration>,
}

/// A problem as it is written.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// `urn:dvor:problem:` and a stable name.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    pub request_id: String,
    pub errors: Vec<FieldError>,
}

pub type Result<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, name: None, detail: detail.into(), errors: Vec::new(), retry_after: None }
    }

    /// A problem that clients can tell from others of its code.
    pub fn named(code: Code, name: &'static str, detail: impl Into<String>) -> Self {
        Self { name: Some(name), ..Self::new(code, detail) }
    }

    /// Several fields of the request are wrong.
    pub fn fields(errors: Vec<FieldError>) -> Self {
        let detail = match errors.as_slice() {
            [] => "some value is not valid".to_owned(),
            [first] => format!("{}: {}", first.field, first.message),
            [first, rest @ ..] => format!("{}: {} (and {} more)", first.field, first.message, rest.len()),
        };
        Self { errors, ..Self::new(Code::Invalid, detail) }
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Code::NotFound, detail)
    }

    /// One field of the request is wrong.
    pub fn field(field: &str, code: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let error = FieldError { field: field.to_owned(), code: code.to_owned(), message: message.clone() };
        Self { errors: vec![error], ..Self::new(Code::Invalid, format!("{field}: {message}")) }
    }

    pub fn body(&self, request_id: &str, language: Language) -> ProblemBody {
        let Row { status, name, english, russian, .. } = *self.code.row();
        let title = if language == Language::Russian { russian } else { english };
        ProblemBody {
            kind: format!("urn:dvor:problem:{}", self.name.unwrap_or(name)),
            title: title.to_owned(),
            status,
            detail: self.detail.clone(),
            request_id: request_id.to_owned(),
            errors: self.errors.clone(),
        }
    }

    /// The answer over HTTP. The problem rides along, so that `http::frame` can write it again when it knows the
    /// request's id and language.
    pub fn render(self, request_id: &str, language: Language) -> Response {
        let body = axum::Json(self.body(request_id, language));
        let mut response = (self.code.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.render("", Language::English)
    }
}

impl From<Problem> for tonic::Status {
    fn from(problem: Problem) -> Self {
        let mut status = Self::new(problem.code.row().grpc, problem.detail);
        if let Ok(name) = problem.name.unwrap_or(problem.code.name()).parse() {
            status.metadata_mut().insert("problem", name);
        }
        status
    }
}

impl From<kit::Error> for Problem {
    fn from(error: kit::Error) -> Self {
        let code = match error.kind() {
            Kind::Unknown => Code::OutcomeUnknown,
            Kind::Invalid => Code::Invalid,
            Kind::NotFound | Kind::UnknownTopic => Code::NotFound,
            Kind::NotAssigned | Kind::Fenced => Code::Conflict,
            Kind::TooLarge => Code::TooLarge,
            Kind::Incomplete => Code::BadRequest,
            Kind::Full => Code::StorageFull,
            Kind::Corrupt | Kind::Incompatible => Code::Internal,
            Kind::Unavailable | Kind::Locked | Kind::Denied | Kind::Left => Code::Unavailable,
        };
        Self::of_engine(code, &error)
    }
}

impl Problem {
    /// An engine's error, whose text holds no secrets. What the server is to blame for goes to the log too.
    fn of_engine(code: Code, error: &dyn std::fmt::Display) -> Self {
        if code.status().is_server_error() {
            tracing::error!(code = code.name(), "{error}");
        }
        Self::new(code, error.to_string())
    }
}

/// The language that the caller asks for.
pub fn language(headers: &HeaderMap) -> Language {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    Language::accepted(accepted.unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_codes() {
        assert!(ROWS.iter().enumerate().all(|(place, row)| row.code as usize == place));
    }

    #[test]
    fn an_unknown_outcome_is_told_apart_from_a_failure() {
        let check = |error: kit::Error, status: u16, name: &str, grpc: tonic::Code| {
            let problem = Problem::from(error);
            assert_eq!((problem.code.status().as_u16(), problem.code.name()), (status, name));
            assert_eq!(tonic::Status::from(problem).code(), grpc);
        };
        check(kit::Error::unknown("lost"), 503, "outcome_unknown", tonic::Code::Unknown);
        check(kit::Error::unavailable("away"), 503, "unavailable", tonic::Code::Unavailable);
        check(kit::Error::invalid("key"), 422, "invalid", tonic::Code::InvalidArgument);
        check(kit::Error::new(Kind::Full, "disk"), 507, "storage_full", tonic::Code::ResourceExhausted);
    }

    #[test]
    fn the_title_follows_the_language_and_the_code_does_not() {
        let headers = |text: &'static str| {
            HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, HeaderValue::from_static(text))])
        };
        for (text, title) in [
            ("ru-RU,en;q=0.5", "Такого нет"),
            ("de, en", "There is no such thing"),
            ("", "There is no such thing"),
        ] {
            let body = Problem::not_found("x").body("id", language(&headers(text)));
            assert_eq!((body.title.as_str(), body.kind.as_str()), (title, "urn:dvor:problem:not_found"));
        }
    }
}
