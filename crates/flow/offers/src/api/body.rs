use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use serde_json::Value;
use web::{Code, Problem, Result};

/// A JSON body. What does not fit is told with the name of its field, never as a failure.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let Json(value) =
            Json::<Value>::from_request(request, state).await.map_err(|rejection| unreadable(&rejection))?;
        typed(value).map(Self)
    }
}

fn unreadable(rejection: &JsonRejection) -> Problem {
    let code = match rejection {
        JsonRejection::MissingJsonContentType(_) => Code::UnsupportedMediaType,
        JsonRejection::BytesRejection(_) => Code::of_status(rejection.status()),
        _ => Code::BadRequest,
    };
    Problem::new(code, rejection.body_text())
}

/// Reads a value as a type.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let message = error.inner().to_string();
        let path = error.path().to_string().replace('[', ".").replace(']', "");
        let (code, field) = match message.strip_prefix("unknown field `") {
            Some(rest) => ("unknown_field", unknown(&path, rest.split('`').next().unwrap_or_default())),
            None if message.starts_with("missing field `") => {
                ("required", unknown(&path, message.split('`').nth(1).unwrap_or_default()))
            }
            None => ("wrong_type", path),
        };
        Problem::field(&field, code, message)
    })
}

/// The path with the name at its end, once.
fn unknown(path: &str, name: &str) -> String {
    let whole = path == name || path.ends_with(&format!(".{name}"));
    match path {
        "." => name.to_owned(),
        _ if whole => path.to_owned(),
        _ => format!("{path}.{name}"),
    }
}
