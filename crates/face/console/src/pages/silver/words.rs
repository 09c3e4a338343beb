//! Steps, outcomes, colours, parameters and reasons as people read them.

use crate::visit::Visitor;

/// A code with its words in both languages.
type Words = (&'static str, &'static str, &'static str);

fn said<'a>(visitor: &Visitor, words: &'static [Words], code: &'a str) -> &'a str {
    let found = words.iter().find(|(known, ..)| *known == code);
    // A code that is newer than this table is shown as it is.
    found.map_or(code, |(_, english, russian)| visitor.say(english, russian))
}

/// The steps of the import in their order: code, names, what they do.
pub(super) const STEPS: [(&str, &str, &str, &str, &str); 8] = [
    (
        "convert",
        "Convert",
        "Преобразование",
        "fields of the offer become parameters",
        "поля предложения становятся параметрами",
    ),
    (
        "first_filter",
        "First filter",
        "Первый фильтр",
        "businesses that are allowed, offers that have a service",
        "разрешённые бизнесы, предложения с сервисами",
    ),
    (
        "second_filter",
        "Second filter",
        "Второй фильтр",
        "services that are BLUE or DBS",
        "сервисы цвета BLUE или DBS",
    ),
    (
        "close_migration",
        "Close migrations",
        "Закрытие переездов",
        "what is not kept is answered at once",
        "о том, что не хранится, отвечаем сразу",
    ),
    (
        "to_silver",
        "To silver",
        "В серебро",
        "the same SSKU of a batch becomes one",
        "одинаковые SSKU пачки становятся одним",
    ),
    ("dbs_filter", "DBS filter", "Фильтр DBS", "DBS services that the mode takes", "сервисы DBS по режиму"),
    (
        "detect",
        "Detect changes",
        "Поиск изменений",
        "the newest of each part against what is stored",
        "новейшее по каждой части против сохранённого",
    ),
    (
        "save",
        "Save",
        "Сохранение",
        "records, markers, answers and queues, in one transaction",
        "записи, отметки, ответы и очереди — одной транзакцией",
    ),
];

pub(super) fn step<'a>(visitor: &Visitor, code: &'a str) -> &'a str {
    let found = STEPS.iter().find(|(known, ..)| *known == code);
    found.map_or(code, |(_, english, russian, ..)| visitor.say(english, russian))
}

const OUTCOMES: [Words; 18] = [
    ("converted", "converted", "преобразовано"),
    ("collapsed", "several became one", "несколько стали одним"),
    ("saved", "saved", "сохранено"),
    ("version_saved", "only versions saved", "сохранены только версии"),
    ("passed", "passed", "прошло"),
    ("failed", "failed", "ошибка"),
    ("forbidden", "business is forbidden", "бизнес запрещён"),
    ("no_services", "no services", "нет сервисов"),
    ("services_removed", "services removed", "сервисы сняты"),
    ("services_cut", "services cut off", "сервисы отрезаны"),
    ("unsupported", "no colour that is kept", "нет нужного цвета"),
    ("dbs_cut", "DBS cut off", "DBS отрезаны"),
    ("older", "older than stored", "старее сохранённого"),
    ("repeated", "repeated", "повтор"),
    ("same_data", "newer, the same data", "новее, данные те же"),
    ("changed", "changed", "изменилось"),
    ("erased", "erased", "стёрто"),
    ("answered", "answered", "отвечено"),
];

pub(super) fn outcome<'a>(visitor: &Visitor, code: &'a str) -> &'a str {
    said(visitor, &OUTCOMES, code)
}

/// The colour of an outcome in charts and chips.
pub(super) fn outcome_class(code: &str) -> &'static str {
    match code {
        "passed" | "converted" | "collapsed" | "changed" | "saved" | "answered" => "created",
        "same_data" | "version_saved" => "updated",
        "older" | "repeated" => "unchanged",
        "failed" => "rejected",
        "services_removed" | "services_cut" | "dbs_cut" => "duplicate",
        "erased" => "deleted",
        _ => "skipped",
    }
}

const CUTS: [Words; 4] = [
    ("forbidden", "the business is forbidden", "бизнес запрещён"),
    ("no_services", "there was no service to keep it for", "не было сервиса, ради которого хранить"),
    ("colour", "services of a colour that is not kept", "сервисы цвета, который не хранится"),
    ("dbs", "DBS services, which the mode does not take", "сервисы DBS, которые не берёт режим"),
];

pub(super) fn cut<'a>(visitor: &Visitor, code: &'a str) -> &'a str {
    said(visitor, &CUTS, code)
}

const REASONS: [Words; 14] = [
    ("only_candidate", "nobody else says anything", "больше никто ничего не сказал"),
    ("all_agree", "all say the same", "все говорят одно и то же"),
    (
        "service_over_basic",
        "what a shop says goes before the basic part",
        "слово магазина важнее базовой части",
    ),
    ("source_priority", "its source goes before the others", "источник важнее остальных"),
    ("preferred_shop", "the rule prefers this shop", "правило предпочитает этот магазин"),
    ("newest", "it is the newest", "самое новое"),
    ("oldest", "it is the oldest", "самое старое"),
    ("most_common", "most say so", "так говорит большинство"),
    ("longest", "it is the longest", "самое длинное"),
    ("max", "it is the greatest", "самое большое"),
    ("min", "it is the smallest", "самое маленькое"),
    ("union", "all values together", "все значения вместе"),
    ("tie_newest", "of equals it is the newest", "из равных — самое новое"),
    (
        "tie_smallest_shop",
        "of equals the shop with the smallest number",
        "из равных — магазин с меньшим номером",
    ),
];

pub(super) fn reason<'a>(visitor: &Visitor, code: &'a str) -> &'a str {
    said(visitor, &REASONS, code)
}

const SOURCES: [Words; 5] = [
    ("PARTNER_FEED", "feed", "фид"),
    ("PARTNER_OFFICE", "by hand", "вручную"),
    ("PARTNER_API", "API", "API"),
    ("MASTER_DATA", "master data", "мастер-данные"),
    ("UNKNOWN_SOURCE", "unknown", "неизвестно"),
];

pub(super) fn source<'a>(visitor: &Visitor, code: &'a str) -> &'a str {
    said(visitor, &SOURCES, code)
}

const PARAMETERS: [Words; 32] = [
    ("name", "name", "название"),
    ("description", "description", "описание"),
    ("vendor", "vendor", "торговая марка"),
    ("vendor_code", "vendor code", "артикул производителя"),
    ("barcode", "barcodes", "штрихкоды"),
    ("manufacturer", "manufacturer", "производитель"),
    ("model", "model", "модель"),
    ("color", "colour", "цвет"),
    ("customs_code", "customs codes", "коды ТН ВЭД"),
    ("certificate", "certificates", "сертификаты"),
    ("adult", "for adults", "для взрослых"),
    ("url", "page", "страница"),
    ("pictures", "pictures", "фотографии"),
    ("category", "category", "категория"),
    ("country_of_origin", "country of origin", "страна производства"),
    ("weight", "weight", "вес"),
    ("weight_net", "weight without package", "вес без упаковки"),
    ("dimensions", "size", "габариты"),
    ("shelf_life", "shelf life", "срок годности"),
    ("life_time", "service life", "срок службы"),
    ("guarantee", "guarantee", "гарантия"),
    ("storage_condition", "storage", "условия хранения"),
    ("box_count", "boxes", "число мест"),
    ("delivery_time", "delivery", "срок поставки"),
    ("minimum_of_supply", "minimum of supply", "минимальная партия"),
    ("quantum_of_supply", "quantum of supply", "квант поставки"),
    ("transport_unit_size", "transport unit", "транспортная единица"),
    ("supply_schedule", "days of supply", "дни поставки"),
    ("vat", "VAT", "НДС"),
    ("hidden", "hidden", "скрыто"),
    ("seller_warranty", "seller's warranty", "гарантия продавца"),
    ("use_in_mercury", "watched by Mercury", "учёт в «Меркурии»"),
];

pub(super) fn parameter<'a>(visitor: &Visitor, name: &'a str) -> &'a str {
    said(visitor, &PARAMETERS, name)
}

const MIGRATION_STATES: [Words; 3] = [
    ("asked", "the source was asked", "источник спрошен"),
    ("shipped", "moved, silver not yet", "переехало, серебро ещё нет"),
    ("done", "done", "готово"),
];

pub(super) fn migration_state<'a>(visitor: &Visitor, code: &'a str) -> &'a str {
    said(visitor, &MIGRATION_STATES, code)
}

#[cfg(test)]
mod tests {
    use silver::parameters::PARAMETERS as KNOWN;

    use super::*;

    #[test]
    fn every_parameter_and_cut_has_its_words() {
        for parameter in KNOWN {
            assert!(PARAMETERS.iter().any(|(name, ..)| *name == parameter.name), "{}", parameter.name);
        }
        for cut in silver::steps::Cut::EVERY {
            assert!(CUTS.iter().any(|(name, ..)| *name == cut.name()), "{}", cut.name());
        }
        assert_eq!(STEPS.map(|(code, ..)| code), silver::stats::STEPS);
    }
}
