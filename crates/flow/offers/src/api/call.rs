use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use model::{Offer, OfferId};
use web::{Access, Code, Language, Problem, Result};

use crate::idempotency::Key;
use crate::write::Expected;
use crate::{Error, Offers};

/// Who calls, and in which language he wants to be answered.
pub(crate) struct Call {
    pub(crate) access: Access,
    pub(crate) language: Language,
}

impl<S: Sync> FromRequestParts<S> for Call {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let access = Access::from_request_parts(parts, state).await?;
        Ok(Self { access, language: web::language(&parts.headers) })
    }
}

impl Call {
    /// An error as this caller is told it.
    pub(crate) fn problem(&self, error: Error) -> Problem {
        error.problem(self.language)
    }

    /// The offer of an id as it was written, if the caller may see it.
    pub(crate) async fn offer(&self, offers: &Offers, id: &str) -> Result<(OfferId, Offer)> {
        visible(offers, &self.access, id).await.map_err(|error| self.problem(error))
    }
}

/// Somebody else's offer is answered like one that does not exist.
pub(crate) async fn visible(offers: &Offers, access: &Access, id: &str) -> crate::Result<(OfferId, Offer)> {
    let id: OfferId = id.parse()?;
    let offer = offers.get(id).await?;
    if access.sees_seller(&offer.seller_id) { Ok((id, offer)) } else { Err(Error::NoOffer(id)) }
}

/// Refuses texts that cannot name a seller, and other sellers.
pub(crate) fn require_seller(access: &Access, field: &str, seller: &str) -> Result<()> {
    model::names::check_seller(seller)
        .map_err(|error| Problem::field(field, "bad_seller", error.to_string()))?;
    access.require_seller(seller)
}

/// What `If-Match` says; `None` without it.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<Expected>> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(Some(Expected::Any));
    }
    let version = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let version = version.and_then(|digits| digits.parse().ok());
    version.map(|version| Some(Expected::Version(version))).ok_or_else(|| {
        Problem::new(
            Code::BadRequest,
            "the header If-Match has an ETag such as \"3\", or * to force the change",
        )
    })
}

/// The key of this call, if it has one.
pub(crate) fn idempotency_key(headers: &HeaderMap, call: &str, request: &[u8]) -> crate::Result<Option<Key>> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    Key::new(call, value.to_str().unwrap_or_default(), request).map(Some)
}

pub(crate) fn etag(version: i64) -> [(header::HeaderName, HeaderValue); 1] {
    let value = HeaderValue::from_str(&format!("\"{version}\""));
    [(header::ETAG, value.unwrap_or(HeaderValue::from_static("\"0\"")))]
}
