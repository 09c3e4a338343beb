//! Parts, values and reasons as people read them.

use kit::Timestamp;
use serde::Serialize;
use serde_json::{Value as Json, json};
use utoipa::ToSchema;
use wire::silver::{Candidate, Debt, GoldRow, GoldValue, ParameterValue, Part};
use wire::united::value::Kind;
use wire::united::{DataSource, Value};

use crate::parameters::Parameter;
use crate::ssku::Key;

/// A typed value: text, number, true or false, `{amount, unit, comment}`, or `{length, width, height}` in micrometres.
pub fn value(value: &Value) -> Json {
    match &value.kind {
        Some(Kind::Text(text)) => json!(text),
        Some(Kind::Integer(number)) => json!(number),
        Some(Kind::Flag(flag)) => json!(flag),
        Some(Kind::Period(period)) => {
            json!({"amount": period.amount, "unit": period.unit().as_str_name(), "comment": period.comment})
        }
        Some(Kind::Box(sides)) => {
            json!({"length": sides.length, "width": sides.width, "height": sides.height})
        }
        None => Json::Null,
    }
}

pub fn values(values: &[Value]) -> Vec<Json> {
    values.iter().map(value).collect()
}

pub fn parameter(id: u32) -> String {
    Parameter::by_id(id).map_or_else(|| id.to_string(), |parameter| parameter.name.to_owned())
}

fn moment(at: i64) -> Option<Timestamp> {
    (at != 0).then_some(Timestamp(at))
}

#[derive(Serialize, ToSchema)]
pub struct PartItem {
    /// None: the basic part.
    pub shop_id: Option<u32>,
    pub version: i64,
    pub colour: &'static str,
    pub removed: bool,
    pub values: Vec<ValueItem>,
}

#[derive(Serialize, ToSchema)]
pub struct ValueItem {
    pub parameter: String,
    #[schema(value_type = Vec<Object>)]
    pub values: Vec<Json>,
    pub source: &'static str,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
}

pub fn part(shop_id: Option<u32>, part: &Part) -> PartItem {
    let item = |said: &ParameterValue| ValueItem {
        parameter: parameter(said.parameter_id),
        values: values(&said.value),
        source: said.source().as_str_name(),
        updated_at: moment(said.updated_at),
    };
    PartItem {
        shop_id,
        version: part.version,
        colour: part.colour().as_str_name(),
        removed: part.removed,
        values: part.value.iter().map(item).collect(),
    }
}

#[derive(Serialize, ToSchema)]
pub struct GoldItem {
    pub business_id: u32,
    pub shop_sku: String,
    pub version: i64,
    pub silver_version: i64,
    #[schema(value_type = String, format = DateTime)]
    pub made_at: Timestamp,
    pub values: Vec<GoldValueItem>,
}

#[derive(Serialize, ToSchema)]
pub struct GoldValueItem {
    pub parameter: String,
    #[schema(value_type = Vec<Object>)]
    pub values: Vec<Json>,
    /// Why the first candidate won.
    pub reason: String,
    pub candidates: Vec<CandidateItem>,
}

#[derive(Serialize, ToSchema)]
pub struct CandidateItem {
    #[schema(value_type = Vec<Object>)]
    pub values: Vec<Json>,
    pub source_type: String,
    /// None: the basic part.
    pub shop_id: Option<u32>,
    pub source: &'static str,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
}

pub fn gold(key: &Key, row: &GoldRow) -> GoldItem {
    let candidate = |candidate: &Candidate| CandidateItem {
        values: values(&candidate.value),
        source_type: candidate.source_type.clone(),
        shop_id: (candidate.shop_id != 0).then_some(candidate.shop_id),
        source: DataSource::try_from(candidate.source).unwrap_or_default().as_str_name(),
        updated_at: moment(candidate.updated_at),
    };
    let item = |value: &GoldValue| GoldValueItem {
        parameter: parameter(value.parameter_id),
        values: values(&value.value),
        reason: value.reason.clone(),
        candidates: value.candidate.iter().map(candidate).collect(),
    };
    GoldItem {
        business_id: key.business,
        shop_sku: key.shop_sku.clone(),
        version: row.version,
        silver_version: row.silver_version,
        made_at: Timestamp(row.made_at),
        values: row.value.iter().map(item).collect(),
    }
}

#[derive(Serialize, ToSchema)]
pub struct SilverFailureItem {
    /// `business:sku`.
    pub id: String,
    pub business_id: u32,
    pub shop_sku: String,
    pub reason: String,
    pub tries: u32,
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When it is tried again; none: it was tried too often and waits for a person.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_try_at: Option<Timestamp>,
}

pub fn failure(key: &Key, debt: &Debt) -> SilverFailureItem {
    SilverFailureItem {
        id: key.to_string(),
        business_id: key.business,
        shop_sku: key.shop_sku.clone(),
        reason: debt.reason.clone(),
        tries: debt.tries,
        since: Timestamp(debt.since),
        next_try_at: (!debt.parked).then_some(Timestamp(debt.not_before)),
    }
}
