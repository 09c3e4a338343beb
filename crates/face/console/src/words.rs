//! Numbers, times and names as people read them.

use std::time::Duration;

use kit::Timestamp;
use maud::{Markup, html};
use offers::api::json::ConditionJson;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use web::Language;

use crate::visit::Visitor;

/// A text as a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// 1 234 567, with spaces that do not break.
pub(crate) fn number(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    if number < 0 {
        text.push('−');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn bytes(visitor: &Visitor, count: i64) -> String {
    let units = match visitor.language {
        Language::English => ["B", "kB", "MB", "GB", "TB"],
        Language::Russian => ["Б", "кБ", "МБ", "ГБ", "ТБ"],
    };
    let mut value = count.max(0) as f64;
    let mut unit = 0;
    while value >= 1_000.0 && unit + 1 < units.len() {
        value /= 1_000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0);
    format!("{value:.digits$}\u{a0}{}", units[unit])
}

/// How often a second, in as few digits as tell something.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate <= 0.0 => "0".to_owned(),
        rate if rate < 10.0 => format!("{rate:.1}"),
        rate => number(rate.round() as i64),
    }
}

/// A moment in UTC; the script shows it in the reader's zone.
pub(crate) fn time(at: Timestamp) -> Markup {
    let full = at.to_string();
    // 2026-03-01T09:00:00.123456Z
    let short = full.get(..19).unwrap_or(&full).replace('T', " ");
    html! { time datetime=(full) title=(format!("{short} UTC")) { (short) " UTC" } }
}

/// How long something takes or took, roughly.
pub(crate) fn span(visitor: &Visitor, length: Duration) -> String {
    let seconds = length.as_secs();
    let (count, english, russian) = match seconds {
        0..=119 => (seconds, "s", "с"),
        120..=7_199 => (seconds / 60, "min", "мин"),
        7_200..=172_799 => (seconds / 3_600, "h", "ч"),
        _ => (seconds / 86_400, "d", "д"),
    };
    format!("{count}\u{a0}{}", visitor.say(english, russian))
}

/// What a status of a load is called.
pub(crate) fn status(visitor: &Visitor, status: &str) -> &'static str {
    let (english, russian) = match status {
        "queued" => ("queued", "в очереди"),
        "in_progress" => ("in progress", "выполняется"),
        "needs_confirmation" => ("waits for you", "ждёт решения"),
        "succeeded" => ("succeeded", "успешно"),
        "partial" => ("partial", "частично"),
        "failed" => ("failed", "ошибка"),
        "unchanged" => ("unchanged", "без изменений"),
        "rejected" => ("rejected", "отклонена"),
        "cancelled" => ("cancelled", "отменена"),
        "active" => ("active", "активно"),
        "inactive" => ("inactive", "снято"),
        "expired" => ("expired", "истекло"),
        "banned" => ("banned", "заблокировано"),
        "sold_here" => ("sold here", "продано здесь"),
        "sold_elsewhere" => ("sold elsewhere", "продано не здесь"),
        "deleted" => ("deleted", "удалено"),
        "paused" => ("paused", "приостановлен"),
        "waiting" => ("waiting", "ожидается"),
        "ready" => ("ready", "готово"),
        _ => ("unknown", "неизвестно"),
    };
    visitor.say(english, russian)
}

/// What a type of errors is called.
pub(crate) fn error_type(visitor: &Visitor, kind: &str) -> &'static str {
    let (english, russian) = match kind {
        "validation" => ("validation", "проверка полей"),
        "category" => ("category", "категория"),
        "attribute" => ("attribute", "характеристики"),
        "geo" => ("place", "местоположение"),
        "banned" => ("ban", "блокировка"),
        "duplicate" => ("duplicate", "повторы"),
        "photo" => ("photo", "фотографии"),
        "video" => ("video", "видео"),
        _ => ("other", "прочее"),
    };
    visitor.say(english, russian)
}

/// What became of records, in the order of the statistics' bar.
pub(crate) const OUTCOMES: [(&str, &str, &str); 10] = [
    ("created", "created", "создано"),
    ("updated", "updated", "обновлено"),
    ("unchanged", "unchanged", "без изменений"),
    ("rejected", "rejected", "отклонено"),
    ("banned", "banned", "заблокировано"),
    ("duplicate", "duplicate", "повторы"),
    ("skipped", "skipped", "пропущено"),
    ("stale", "stale", "устарело"),
    ("deleted", "deleted", "удалено"),
    ("made_manual", "made manual", "стало ручными"),
];

/// What a list of the cabinet is called.
pub(crate) fn preset(visitor: &Visitor, name: &str) -> &'static str {
    let (english, russian) = match name {
        "all" => ("All", "Все"),
        "active" => ("Active", "Активные"),
        "inactive" => ("Inactive", "Снятые"),
        "expired" => ("Expired", "Истекшие"),
        "banned" => ("Banned", "Заблокированные"),
        "sold" => ("Sold", "Проданные"),
        "from_feed" => ("From feeds", "Из фидов"),
        "manual" => ("By hand", "Вручную"),
        _ => ("With problems", "С проблемами"),
    };
    visitor.say(english, russian)
}

/// Where a load's file came from.
pub(crate) fn source(visitor: &Visitor, source: &str) -> &'static str {
    let (english, russian) = match source {
        "upload" => ("upload", "загрузка файла"),
        "url" => ("download", "скачивание"),
        "parsed" => ("collected", "собрано сервисом"),
        "rerun" => ("rerun", "повтор"),
        "follow_up" => ("follow-up", "дозагрузка"),
        _ => ("removal", "удаление фида"),
    };
    visitor.say(english, russian)
}

/// Who changed an offer.
pub(crate) fn who(visitor: &Visitor, kind: &str) -> &'static str {
    let (english, russian) = match kind {
        "api" => ("API", "API"),
        "feed" => ("feed", "фид"),
        "stage" => ("stage", "этап"),
        "moderation" => ("moderation", "модерация"),
        "photos" => ("photos", "фотографии"),
        _ => ("Dvor", "Dvor"),
    };
    visitor.say(english, russian)
}

pub(crate) fn condition(visitor: &Visitor, condition: ConditionJson) -> &'static str {
    let (english, russian) = match condition {
        ConditionJson::New => ("new", "новое"),
        ConditionJson::Used => ("used", "б/у"),
        ConditionJson::Refurbished => ("refurbished", "восстановленное"),
    };
    visitor.say(english, russian)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_threes() {
        let check = |value: i64, expected: &str| assert_eq!(number(value).replace('\u{a0}', " "), expected);
        check(0, "0");
        check(999, "999");
        check(1_234_567, "1 234 567");
        check(-1_000, "−1 000");
        assert_eq!((rate(0.0), rate(0.25), rate(1_234.4)), ("0".into(), "0.2".into(), number(1_234)));
    }

    #[test]
    fn a_part_of_an_address_breaks_out_of_nothing() {
        assert_eq!(encoded("a/b?c#d\"<é"), "a%2Fb%3Fc%23d%22%3C%C3%A9");
    }
}
