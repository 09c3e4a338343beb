//! The parameters of an SSKU: which field of the united offer each is, and of what type.
//!
//! A parameter's id is stored and never given twice; a new one is a line at the end of [`PARAMETERS`].

use wire::united::value::Kind;
use wire::united::{
    Box as Sides, Flag, IntegerListValue, IntegerValue, OriginalSpecification, OriginalTerms, Period,
    PreciseDimensions, PreciseWeight, StringListValue, StringValue, TimePeriod, TimeUnit, UpdateMeta, Value,
    Vat, VatValue,
};

/// Longest text of a value.
pub const MAX_TEXT_BYTES: usize = 256 << 10;
/// Most values of one parameter.
pub const MAX_VALUES: usize = 1_000;
/// A million tonnes in milligrams, and a thousand kilometres in micrometres: beyond that nobody measured.
const MAX_MEASURE: i64 = 1_000_000_000_000_000;

pub struct Parameter {
    pub id: u32,
    pub name: &'static str,
    /// Rules of gold may speak of a whole group.
    pub group: &'static str,
    pub kind: ValueType,
    take: fn(&OriginalSpecification, &OriginalTerms) -> Option<RawValue>,
}

/// What a parameter's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Text,
    Texts,
    Integer,
    Integers,
    Flag,
    Period,
    Box,
}

impl ValueType {
    pub const fn is_list(self) -> bool {
        matches!(self, Self::Texts | Self::Integers)
    }

    /// Whether one value is more than another.
    pub const fn is_measure(self) -> bool {
        matches!(self, Self::Integer | Self::Period | Self::Box)
    }

    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Texts)
    }
}

/// A field as it came: who gave it, and what it says or why that cannot be.
pub struct RawValue {
    pub meta: Option<UpdateMeta>,
    pub values: Result<Vec<Value>, String>,
}

impl Parameter {
    /// The parameter's value in a part, if the part has one.
    pub fn take(&self, original: &OriginalSpecification, terms: &OriginalTerms) -> Option<RawValue> {
        let raw = (self.take)(original, terms)?;
        let is_empty = raw.values.as_ref().is_ok_and(Vec::is_empty);
        (!is_empty).then_some(raw)
    }

    pub fn by_id(id: u32) -> Option<&'static Self> {
        PARAMETERS.iter().find(|parameter| parameter.id == id)
    }

    pub fn by_name(name: &str) -> Option<&'static Self> {
        PARAMETERS.iter().find(|parameter| parameter.name == name)
    }
}

pub const NAMING: &str = "naming";
pub const LOGISTICS: &str = "logistics";
pub const PERIODS: &str = "periods";
pub const SUPPLY: &str = "supply";
pub const LEGAL: &str = "legal";

use ValueType::{Box, Flag as Bool, Integer, Integers, Period as Time, Text, Texts};

type Take = fn(&OriginalSpecification, &OriginalTerms) -> Option<RawValue>;

const fn parameter(
    id: u32,
    name: &'static str,
    group: &'static str,
    kind: ValueType,
    take: Take,
) -> Parameter {
    Parameter { id, name, group, kind, take }
}

pub static PARAMETERS: &[Parameter] = &[
    parameter(1, "name", NAMING, Text, |o, _| text(o.name.as_ref())),
    parameter(2, "description", NAMING, Text, |o, _| text(o.description.as_ref())),
    parameter(3, "vendor", NAMING, Text, |o, _| text(o.vendor.as_ref())),
    parameter(4, "vendor_code", NAMING, Text, |o, _| text(o.vendor_code.as_ref())),
    parameter(5, "barcode", NAMING, Texts, |o, _| texts(o.barcode.as_ref())),
    parameter(6, "manufacturer", NAMING, Text, |o, _| text(o.manufacturer.as_ref())),
    parameter(7, "model", NAMING, Text, |o, _| text(o.model.as_ref())),
    parameter(8, "color", NAMING, Text, |o, _| text(o.color.as_ref())),
    parameter(9, "customs_code", LEGAL, Texts, |o, _| texts(o.customs_code.as_ref())),
    parameter(10, "certificate", LEGAL, Texts, |o, _| texts(o.certificate.as_ref())),
    parameter(11, "adult", LEGAL, Bool, |o, _| flag(o.adult.as_ref())),
    parameter(12, "url", NAMING, Text, |o, _| text(o.url.as_ref())),
    parameter(13, "pictures", NAMING, Texts, |o, _| texts(o.pictures.as_ref())),
    parameter(14, "category", NAMING, Text, |o, _| text(o.category.as_ref())),
    parameter(15, "country_of_origin", LEGAL, Texts, |o, _| texts(o.country_of_origin.as_ref())),
    parameter(16, "weight", LOGISTICS, Integer, |o, _| weight(o.weight.as_ref())),
    parameter(17, "weight_net", LOGISTICS, Integer, |o, _| weight(o.weight_net.as_ref())),
    parameter(18, "dimensions", LOGISTICS, Box, |o, _| dimensions(o.dimensions.as_ref())),
    parameter(19, "shelf_life", PERIODS, Time, |o, _| period(o.shelf_life.as_ref())),
    parameter(20, "life_time", PERIODS, Time, |o, _| period(o.life_time.as_ref())),
    parameter(21, "guarantee", PERIODS, Time, |o, _| period(o.guarantee.as_ref())),
    parameter(22, "storage_condition", PERIODS, Text, |o, _| text(o.storage_condition.as_ref())),
    parameter(23, "box_count", LOGISTICS, Integer, |_, t| integer(t.box_count.as_ref())),
    parameter(24, "delivery_time", SUPPLY, Integer, |_, t| integer(t.delivery_time.as_ref())),
    parameter(25, "minimum_of_supply", SUPPLY, Integer, |_, t| integer(t.minimum_of_supply.as_ref())),
    parameter(26, "quantum_of_supply", SUPPLY, Integer, |_, t| integer(t.quantum_of_supply.as_ref())),
    parameter(27, "transport_unit_size", SUPPLY, Integer, |_, t| integer(t.transport_unit_size.as_ref())),
    parameter(28, "supply_schedule", SUPPLY, Integers, |_, t| weekdays(t.supply_schedule.as_ref())),
    parameter(29, "vat", LEGAL, Text, |_, t| vat(t.vat.as_ref())),
    parameter(30, "hidden", SUPPLY, Bool, |_, t| flag(t.hidden.as_ref())),
    parameter(31, "seller_warranty", PERIODS, Bool, |_, t| flag(t.seller_warranty.as_ref())),
    parameter(32, "use_in_mercury", LEGAL, Bool, |_, t| flag(t.use_in_mercury.as_ref())),
];

pub fn value(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}

fn raw(meta: Option<UpdateMeta>, values: Result<Vec<Value>, String>) -> RawValue {
    let values = values.and_then(|values| match values.len() {
        0..=MAX_VALUES => Ok(values),
        count => Err(format!("{count} values, the limit is {MAX_VALUES}")),
    });
    RawValue { meta, values }
}

fn text_value(text: &str) -> Result<Value, String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("a text of {} bytes, the limit is {MAX_TEXT_BYTES}", text.len()));
    }
    Ok(value(Kind::Text(text.to_owned())))
}

fn text(field: Option<&StringValue>) -> Option<RawValue> {
    let field = field?;
    let said = field.value.as_deref().filter(|text| !text.is_empty());
    Some(raw(field.meta, said.map(text_value).into_iter().collect()))
}

fn texts(field: Option<&StringListValue>) -> Option<RawValue> {
    let field = field?;
    let said = field.value.iter().filter(|text| !text.is_empty());
    Some(raw(field.meta, said.map(|text| text_value(text)).collect()))
}

fn flag(field: Option<&Flag>) -> Option<RawValue> {
    let field = field?;
    Some(raw(field.meta, Ok(field.flag.map(|flag| value(Kind::Flag(flag))).into_iter().collect())))
}

fn integer(field: Option<&IntegerValue>) -> Option<RawValue> {
    let field = field?;
    let checked = |number: i64| match number {
        0..=MAX_MEASURE => Ok(value(Kind::Integer(number))),
        _ => Err(format!("{number} is not a number of things")),
    };
    Some(raw(field.meta, field.value.map(checked).into_iter().collect()))
}

fn weekdays(field: Option<&IntegerListValue>) -> Option<RawValue> {
    let field = field?;
    let checked = |day: &i64| match day {
        1..=7 => Ok(value(Kind::Integer(*day))),
        _ => Err(format!("{day} is not a day of the week")),
    };
    Some(raw(field.meta, field.value.iter().map(checked).collect()))
}

fn measure(what: &str, number: i64) -> Result<i64, String> {
    if (1..=MAX_MEASURE).contains(&number) { Ok(number) } else { Err(format!("{number} is not a {what}")) }
}

fn weight(field: Option<&PreciseWeight>) -> Option<RawValue> {
    let field = field?;
    let checked = |milligrams| measure("weight", milligrams).map(|number| value(Kind::Integer(number)));
    Some(raw(field.meta, field.value_mg.map(checked).into_iter().collect()))
}

/// All three sides or none: two of them are no box.
fn dimensions(field: Option<&PreciseDimensions>) -> Option<RawValue> {
    let field = field?;
    let sides = (field.length_mkm, field.width_mkm, field.height_mkm);
    let values = match sides {
        (None, None, None) => Ok(Vec::new()),
        (Some(length), Some(width), Some(height)) => [length, width, height]
            .into_iter()
            .try_for_each(|side| measure("side of a box", side).map(drop))
            .map(|()| vec![value(Kind::Box(Sides { length, width, height }))]),
        _ => Err("a box has three sides".to_owned()),
    };
    Some(raw(field.meta, values))
}

fn period(field: Option<&TimePeriod>) -> Option<RawValue> {
    let field = field?;
    let (amount, comment) = (field.amount.unwrap_or(0), field.comment.clone().unwrap_or_default());
    let values = match field.unit() {
        TimeUnit::UnknownUnit if field.amount.is_none() && comment.is_empty() => Ok(Vec::new()),
        TimeUnit::UnknownUnit if field.amount.is_some() => Err("a period without a unit".to_owned()),
        _ if comment.len() > MAX_TEXT_BYTES => Err("a comment that is too long".to_owned()),
        _ if !(0..=MAX_MEASURE).contains(&amount) => Err(format!("{amount} is not a period")),
        unit => Ok(vec![value(Kind::Period(Period { amount, unit: unit.into(), comment }))]),
    };
    Some(raw(field.meta, values))
}

fn vat(field: Option<&VatValue>) -> Option<RawValue> {
    let field = field?;
    let said = match field.value() {
        Vat::UnknownVat => None,
        rate => Some(value(Kind::Text(rate.as_str_name().to_owned()))),
    };
    Some(raw(field.meta, Ok(said.into_iter().collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_given_once() {
        assert!(PARAMETERS.len() >= 25);
        for (at, parameter) in PARAMETERS.iter().enumerate() {
            assert_eq!(parameter.id as usize, at + 1, "{}", parameter.name);
            let same = PARAMETERS.iter().filter(|other| other.name == parameter.name);
            assert_eq!(same.count(), 1, "{}", parameter.name);
            assert!(Parameter::by_name(parameter.name).is_some_and(|found| found.id == parameter.id));
        }
    }

    /// Every field of the contract that a seller fills is a parameter, and none is two.
    #[test]
    fn every_field_is_a_parameter_of_its_name() {
        let fields = |message: &str| {
            let schema = prost_reflect::DescriptorPool::decode(wire::DESCRIPTORS).unwrap();
            let message = schema.get_message_by_name(&format!("dvor.united.v1.{message}")).unwrap();
            message.fields().map(|field| field.name().to_owned()).collect::<Vec<_>>()
        };
        let mut fields = [fields("OriginalSpecification"), fields("OriginalTerms")].concat();
        let mut names: Vec<_> = PARAMETERS.iter().map(|parameter| parameter.name.to_owned()).collect();
        fields.sort();
        names.sort();
        assert_eq!(names, fields);
    }
}
