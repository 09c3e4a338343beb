use kit::Timestamp;
use serde::Serialize;
use web::FieldError;

use super::{ContentJson, Reader};
use crate::drafts::{Draft, Owner};
use crate::error::field_error;
use crate::validate;

/// An offer that is not published yet.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct DraftJson {
    pub id: String,
    /// The seller whose draft it is.
    pub owner: Option<String>,
    /// The secret of the visitor whose draft it is.
    pub anonymous: Option<String>,
    pub version: i64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// An anonymous draft is forgotten then.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[serde(flatten)]
    pub content: ContentJson,
    /// What keeps it from being published.
    pub errors: Vec<FieldError>,
}

impl DraftJson {
    pub fn of(draft: &Draft, reader: Reader<'_>) -> Self {
        let content = draft.content();
        let settled = validate::settle(reader.catalog, content.clone());
        let issues = validate::check(reader.catalog, &settled);
        let (owner, anonymous) = match draft.owner() {
            Owner::Seller(seller) => (Some(seller), None),
            Owner::Anonymous(secret) => (None, Some(secret)),
        };
        Self {
            id: draft.id.clone(),
            owner,
            anonymous,
            version: draft.row.version,
            created_at: Timestamp(draft.row.created_at),
            updated_at: Timestamp(draft.row.updated_at),
            expires_at: (draft.row.dies_at != 0).then_some(Timestamp(draft.row.dies_at)),
            content: ContentJson::read(&content, &[], reader),
            errors: issues.iter().map(|issue| field_error(issue, reader.language)).collect(),
        }
    }
}
