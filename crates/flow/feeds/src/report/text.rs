//! The report of a check that a seller reads.

use std::fmt::Write as _;

use model::{Language, message};

use super::Row;
use crate::check::{CodeCount, Summary};
use crate::fatal::Fatal;

/// `first` holds the first findings, of each code a few.
pub fn report(summary: &Summary, fatal: Option<&Fatal>, first: &[Row], language: Language) -> String {
    let mut text = String::new();
    head(&mut text, summary, language);
    if let Some(fatal) = fatal {
        let (words, place) = match language {
            Language::English => ("The file cannot be read further", "line {} column {}"),
            Language::Russian => ("Дальше файл прочитать нельзя", "строка {} столбец {}"),
        };
        let place =
            place.replacen("{}", &fatal.line.to_string(), 1).replacen("{}", &fatal.column.to_string(), 1);
        let place = if fatal.line == 0 { String::new() } else { format!(" ({place})") };
        let _ = writeln!(text, "\n✗ {words}{place}: {}", fatal.message(language));
    }
    for group in &summary.by_code {
        write_group(&mut text, group, first, language);
    }
    text.push('\n');
    text.push_str(verdict(summary, language));
    text.push('\n');
    text
}

fn head(text: &mut String, summary: &Summary, language: Language) {
    let (format, offers, good, warned, rejected, duplicates) = match language {
        Language::English => ("Format", "Offers", "good", "with warnings", "with errors", "duplicates"),
        Language::Russian => {
            ("Формат", "Предложений", "без замечаний", "с предупреждениями", "с ошибками", "повторов")
        }
    };
    if !summary.format.is_empty() {
        let _ = writeln!(text, "{format}: {}, {}, {}", summary.format, summary.packing, summary.encoding);
    }
    if let Some(named) = &summary.contradicted_encoding {
        let _ = match language {
            Language::English => writeln!(text, "! The file says {named}, but is in {}.", summary.encoding),
            Language::Russian => {
                writeln!(text, "! В файле указана кодировка {named}, на деле — {}.", summary.encoding)
            }
        };
    }
    let _ = writeln!(
        text,
        "{offers}: {} ({good}: {}, {warned}: {}, {rejected}: {}, {duplicates}: {})",
        summary.offers, summary.good, summary.with_warnings, summary.rejected, summary.duplicates
    );
}

fn write_group(text: &mut String, group: &CodeCount, first: &[Row], language: Language) {
    let mark = if group.level == "error" { "✗" } else { "!" };
    let level = match (group.level, language) {
        ("error", Language::English) => "errors",
        ("error", Language::Russian) => "ошибки",
        (_, Language::English) => "warnings",
        (_, Language::Russian) => "предупреждения",
    };
    let _ = writeln!(
        text,
        "\n{mark} {} × {} ({level}, {})",
        group.count,
        meaning(&group.code, language),
        group.code
    );
    let (line, hint) = match language {
        Language::English => ("line", "did you mean"),
        Language::Russian => ("строка", "возможно, имелось в виду"),
    };
    for row in first.iter().filter(|row| row.code == group.code && row.level == group.level) {
        let id = if row.external_id.is_empty() { "—" } else { &row.external_id };
        let _ = write!(text, "    {line} {}  {id}", row.line);
        if !row.title.is_empty() {
            let _ = write!(text, "  «{}»", row.title);
        }
        let _ = write!(text, ": {}", row.message);
        if !row.suggestion.is_empty() {
            let _ = write!(text, "; {hint}: {}", row.suggestion);
        }
        text.push('\n');
    }
}

/// What a code means, without a case.
fn meaning(code: &str, language: Language) -> String {
    message::meaning(code, language)
}

fn verdict(summary: &Summary, language: Language) -> &'static str {
    match (summary.is_clean(), summary.fatal.is_some(), language) {
        (true, _, Language::English) => "The feed can be loaded.",
        (true, _, Language::Russian) => "Фид можно загружать.",
        (false, true, Language::English) => "The feed would not be loaded.",
        (false, true, Language::Russian) => "Фид не будет загружен.",
        (false, false, Language::English) => {
            "The feed can be loaded, but offers with errors would be rejected."
        }
        (false, false, Language::Russian) => {
            "Фид можно загрузить, но предложения с ошибками будут отклонены."
        }
    }
}
