//! Values of parameters in units that people use.

use silver::parameters::Parameter;
use wire::united::value::Kind;
use wire::united::{Box as Sides, Period, TimeUnit, Value};

use super::words;
use crate::visit::Visitor;
use crate::words::number;

/// A parameter's name in the reader's language.
pub(super) fn name_of<'a>(visitor: &Visitor, id: u32, fallback: &'a str) -> &'a str {
    Parameter::by_id(id).map_or(fallback, |parameter| words::parameter(visitor, parameter.name))
}

/// All values of a parameter, in one line.
pub(super) fn shown(visitor: &Visitor, parameter: u32, values: &[Value]) -> String {
    let name = Parameter::by_id(parameter).map_or("", |parameter| parameter.name);
    values.iter().map(|value| one(visitor, name, value)).collect::<Vec<_>>().join(", ")
}

fn one(visitor: &Visitor, parameter: &str, value: &Value) -> String {
    match &value.kind {
        Some(Kind::Text(text)) => text.clone(),
        Some(Kind::Integer(milligrams)) if parameter.starts_with("weight") => weight(visitor, *milligrams),
        Some(Kind::Integer(days)) if parameter == "delivery_time" => days_of(visitor, *days),
        Some(Kind::Integer(day)) if parameter == "supply_schedule" => weekday(visitor, *day),
        Some(Kind::Integer(count)) => number(*count),
        Some(Kind::Flag(true)) => visitor.say("yes", "да").to_owned(),
        Some(Kind::Flag(false)) => visitor.say("no", "нет").to_owned(),
        Some(Kind::Period(period)) => period_of(visitor, period),
        Some(Kind::Box(sides)) => size(visitor, sides),
        None => "—".to_owned(),
    }
}

/// Milligrams in the largest unit of which there is a whole one.
fn weight(visitor: &Visitor, milligrams: i64) -> String {
    let (divisor, unit) = match milligrams {
        1_000_000.. => (1_000_000.0, visitor.say("kg", "кг")),
        1_000.. => (1_000.0, visitor.say("g", "г")),
        _ => (1.0, visitor.say("mg", "мг")),
    };
    format!("{}\u{a0}{unit}", trimmed(milligrams as f64 / divisor, 6))
}

/// Micrometres in centimetres.
fn size(visitor: &Visitor, sides: &Sides) -> String {
    let side = |micrometres: i64| trimmed(micrometres as f64 / 10_000.0, 4);
    let sides = [sides.length, sides.width, sides.height].map(side);
    format!("{}\u{a0}{}", sides.join("\u{a0}×\u{a0}"), visitor.say("cm", "см"))
}

/// A number without the zeros that say nothing.
fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn period_of(visitor: &Visitor, period: &Period) -> String {
    let unit = match period.unit() {
        TimeUnit::UnknownUnit => "",
        TimeUnit::Hour => visitor.say("h", "ч"),
        TimeUnit::Day => return with_comment(days_of(visitor, period.amount), period),
        TimeUnit::Week => visitor.say("weeks", "нед."),
        TimeUnit::Month => visitor.say("months", "мес."),
        TimeUnit::Year => visitor.say("years", "г."),
        TimeUnit::Unlimited => {
            return with_comment(visitor.say("without end", "не ограничен").to_owned(), period);
        }
    };
    let amount =
        if unit.is_empty() { String::new() } else { format!("{}\u{a0}{unit}", number(period.amount)) };
    with_comment(amount, period)
}

fn with_comment(text: String, period: &Period) -> String {
    if period.comment.is_empty() { text } else { format!("{text} ({})", period.comment).trim().to_owned() }
}

fn days_of(visitor: &Visitor, days: i64) -> String {
    format!("{}\u{a0}{}", number(days), visitor.say("days", "дн."))
}

fn weekday(visitor: &Visitor, day: i64) -> String {
    const DAYS: [(&str, &str); 7] = [
        ("Mon", "пн"),
        ("Tue", "вт"),
        ("Wed", "ср"),
        ("Thu", "чт"),
        ("Fri", "пт"),
        ("Sat", "сб"),
        ("Sun", "вс"),
    ];
    let found = usize::try_from(day - 1).ok().and_then(|at| DAYS.get(at));
    found.map_or_else(|| day.to_string(), |(english, russian)| visitor.say(english, russian).to_owned())
}

#[cfg(test)]
mod tests {
    use web::Language;

    use super::*;

    #[track_caller]
    fn check(parameter: &str, kind: &Kind, english: &str, russian: &str) {
        let id = Parameter::by_name(parameter).unwrap().id;
        for (language, expected) in [(Language::English, english), (Language::Russian, russian)] {
            let visitor = Visitor { language, csrf: String::new(), address: String::new() };
            let value = Value { kind: Some(kind.clone()) };
            assert_eq!(shown(&visitor, id, &[value]).replace('\u{a0}', " "), expected);
        }
    }

    #[test]
    fn measures_have_units_that_people_use() {
        check("weight", &Kind::Integer(30_000_000), "30 kg", "30 кг");
        check("weight", &Kind::Integer(1_250_000), "1.25 kg", "1.25 кг");
        check("weight_net", &Kind::Integer(450_000), "450 g", "450 г");
        check("weight", &Kind::Integer(7), "7 mg", "7 мг");
        let sides = Sides { length: 405_000, width: 300_000, height: 1_000 };
        check("dimensions", &Kind::Box(sides), "40.5 × 30 × 0.1 cm", "40.5 × 30 × 0.1 см");
        let period = |unit: TimeUnit, comment: &str| {
            Kind::Period(Period { amount: 12, unit: unit.into(), comment: comment.to_owned() })
        };
        check("guarantee", &period(TimeUnit::Month, ""), "12 months", "12 мес.");
        check("shelf_life", &period(TimeUnit::Day, "cool"), "12 days (cool)", "12 дн. (cool)");
        check("life_time", &period(TimeUnit::Unlimited, ""), "without end", "не ограничен");
        check("supply_schedule", &Kind::Integer(7), "Sun", "вс");
        check("supply_schedule", &Kind::Integer(70), "70", "70");
        check("box_count", &Kind::Integer(1_200), "1 200", "1 200");
        check("adult", &Kind::Flag(false), "no", "нет");
    }
}
