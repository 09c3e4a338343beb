//! Every code that a seller can be told, in English and Russian.

use wire::model::Issue;
use words::Language;

/// Code, English, Russian. `{field}`, `{value}` and the parameters `{0}`, `{1}` … are put in; a sentence of both
/// languages names what is wrong and, where it can, what would be right.
#[rustfmt::skip]
const MESSAGES: &[(&str, &str, &str)] = &[
    // Offers as a whole.
    ("required", "{field} is missing", "не заполнено поле {field}"),
    ("too_long", "{field} has {0} characters, at most {1} are allowed", "в поле {field} {0} символов, допустимо не более {1}"),
    ("too_many", "{field} has {0} values, at most {1} are allowed", "в поле {field} {0} значений, допустимо не более {1}"),
    ("too_large", "the offer has {0} bytes, at most {1} are allowed", "размер предложения {0} байт, допустимо не более {1}"),
    ("control_character", "{field} has control characters", "в поле {field} есть управляющие символы"),
    ("not_a_number", "«{value}» in {field} is not a number", "«{value}» в поле {field} не является числом"),
    ("out_of_range", "{value} in {field} is not between {0} and {1}", "значение {value} в поле {field} не входит в пределы от {0} до {1}"),
    ("not_an_option", "«{value}» is not a value of {field}", "«{value}» не является допустимым значением поля {field}"),
    ("not_a_flag", "«{value}» in {field} is neither yes nor no", "«{value}» в поле {field} — не «да» и не «нет»"),
    ("wrong_type", "{field} must be {0}", "поле {field} должно иметь тип {0}"),
    ("wrong_unit", "the unit «{value}» of {field} is not known; the unit is {0}", "единица измерения «{value}» поля {field} неизвестна; ожидается {0}"),
    ("repeated", "{field} is given more than once", "поле {field} указано несколько раз"),
    ("bad_url", "{field} is not an http or https address", "в поле {field} не адрес http или https"),
    ("bad_email", "«{value}» is not an e-mail address", "«{value}» не адрес электронной почты"),
    ("bad_phone", "«{value}» is not a phone number", "«{value}» не номер телефона"),
    ("bad_currency", "«{value}» is not a currency", "«{value}» не код валюты"),
    ("bad_amount", "«{value}» is not an amount of money", "«{value}» не денежная сумма"),
    ("bad_coordinates", "the coordinates are not on the Earth", "таких координат нет на Земле"),
    ("unknown_condition", "the condition «{value}» is not known", "состояние товара «{value}» неизвестно"),
    ("unknown_field", "there is no field {field}", "поля {field} нет"),
    // Category and attributes.
    ("category_missing", "the category is missing", "не указана категория"),
    ("category_unknown", "the category «{value}» is not known", "категория «{value}» неизвестна"),
    ("category_unclear", "the category could not be recognised from «{value}»", "не удалось определить категорию по «{value}»"),
    ("category_not_a_leaf", "the category «{value}» has subcategories; choose one of them", "в категории «{value}» есть подкатегории, выберите одну из них"),
    ("category_replaced", "the category was replaced by «{0}»", "категория заменена на «{0}»"),
    ("attribute_unknown", "the attribute «{value}» is not known in this category", "характеристика «{value}» в этой категории неизвестна"),
    ("attribute_required", "the attribute «{0}» is required in this category", "в этой категории обязательна характеристика «{0}»"),
    ("attribute_out_of_range", "{value} is not possible for «{0}»", "значение {value} недопустимо для характеристики «{0}»"),
    ("attribute_unit_unknown", "the unit of «{value}» is not known for «{0}»", "единица измерения в «{value}» неизвестна для характеристики «{0}»"),
    ("attribute_too_long", "the value of «{0}» is too long", "значение характеристики «{0}» слишком длинное"),
    // Place.
    ("geo_missing", "the place is missing", "не указано местоположение"),
    ("geo_unknown", "the place could not be recognised from «{value}»", "не удалось определить местоположение по «{value}»"),
    ("geo_ambiguous", "«{value}» can be several places: {0}", "«{value}» — неоднозначное местоположение: {0}"),
    // The way of a load.
    ("id_missing", "the offer has no id", "у предложения нет идентификатора"),
    ("duplicate", "the id «{value}» is in the feed more than once; the first one counts", "идентификатор «{value}» встречается в фиде несколько раз; учитывается первый"),
    ("banned", "the offer is banned: {0}", "предложение заблокировано: {0}"),
    ("quota_offers", "the seller may have at most {0} offers", "у продавца может быть не более {0} предложений"),
    // Feed files as a whole.
    ("feed_unreadable", "the file could not be read: {0}", "не удалось прочитать файл: {0}"),
    ("feed_gone", "the file is no longer kept", "файл больше не хранится"),
    ("feed_internal", "the program made a mistake while reading the file: {0}", "ошибка программы при чтении файла: {0}"),
    ("catalog_unavailable", "version {0} of the catalog, by which the load was made, is not known to this process", "версия каталога {0}, с которой создана загрузка, этому процессу неизвестна"),
    ("feed_empty", "the file is empty", "файл пуст"),
    ("feed_too_large", "the file has more than {0} bytes", "файл больше {0} байт"),
    ("archive_broken", "the archive is damaged: {0}", "архив повреждён: {0}"),
    ("archive_bomb", "the archive unpacks to more than {0} times its size", "архив распаковывается более чем в {0} раз от своего размера"),
    ("archive_several_files", "the archive holds several files; the second is «{0}»", "в архиве несколько файлов; второй — «{0}»"),
    ("archive_unsupported", "the archive uses {0}, which is not supported", "архив использует неподдерживаемую возможность: {0}"),
    ("encoding_unknown", "the encoding «{0}» is not known", "кодировка «{0}» неизвестна"),
    ("format_unknown", "the format is not known; the file begins with «{0}»", "формат не распознан; файл начинается с «{0}»"),
    ("token_too_long", "a tag or comment outside of the offers has more than {0} bytes", "тег или комментарий вне предложений больше {0} байт"),
    ("xml_root_unknown", "no known format begins with the element <{0}>", "ни один известный формат не начинается с элемента <{0}>"),
    ("xml_truncated", "the file ends in the middle; it may not have been transferred whole", "файл обрывается; возможно, он передан не полностью"),
    ("xml_broken_top", "the XML is broken outside of the offers: {0}", "XML нарушен вне предложений: {0}"),
    ("xml_top_level", "the file breaks the schema outside of the offers: {0}", "файл не соответствует схеме вне предложений: {0}"),
    ("json_truncated", "the JSON ends in the middle; the file may not have been transferred whole", "JSON обрывается; возможно, файл передан не полностью"),
    ("json_broken_top", "the JSON is broken outside of the offers, at «{0}»", "JSON нарушен вне предложений, рядом с «{0}»"),
    ("columns_too_many", "the table has {0} columns, at most {1} are allowed", "в таблице {0} столбцов, допустимо не более {1}"),
    ("categories_too_many", "the file declares more than {0} categories", "в файле объявлено больше {0} категорий"),
    ("categories_too_long", "the categories that the file declares take more than {0} bytes", "объявленные в файле категории занимают больше {0} байт"),
    // Records of feed files.
    ("xml_broken", "the XML of the offer is broken: {0}", "XML предложения нарушен: {0}"),
    ("xml_entity_unknown", "the reference {0} is not known; write the character itself", "ссылка {0} неизвестна; запишите сам символ"),
    ("xml_unexpected_element", "<{field}> is not allowed here", "элемент <{field}> здесь недопустим"),
    ("xml_repeated_element", "<{field}> is there more than once", "элемент <{field}> указан несколько раз"),
    ("xml_missing_element", "<{field}> is missing in <{0}>", "в элементе <{0}> нет обязательного <{field}>"),
    ("xml_unexpected_attribute", "<{0}> has no attribute {field}", "у элемента <{0}> нет атрибута {field}"),
    ("xml_missing_attribute", "<{0}> lacks its attribute {field}", "у элемента <{0}> не указан атрибут {field}"),
    ("xml_unexpected_text", "<{field}> holds text where only elements may be", "в элементе <{field}> не должно быть текста"),
    ("too_deep", "elements are nested deeper than {0}", "вложенность элементов больше {0}"),
    ("too_short", "{field} has {0} characters, at least {1} are needed", "в поле {field} {0} символов, нужно не менее {1}"),
    ("record_too_long", "the offer takes more than {0} bytes of the file", "предложение занимает в файле больше {0} байт"),
    ("record_too_full", "the offer has more than {0} values", "в предложении больше {0} значений"),
    ("json_broken", "the JSON of the offer is broken: {0}", "JSON предложения нарушен: {0}"),
    ("json_not_an_object", "the offer is not a JSON object", "предложение не является объектом JSON"),
    ("json_object_ignored", "{field} is an object that is not known here; it is not read", "{field} — неизвестный вложенный объект, он не читается"),
    ("row_width", "the row has {0} cells, the header has {1}", "в строке {0} ячеек, а в заголовке {1}"),
    ("title_composed", "there is no name; the title was made of type, brand and model", "названия нет; заголовок составлен из типа, марки и модели"),
    ("category_undeclared", "the category {value} is not declared in the file", "категория {value} не объявлена в файле"),
    ("category_parent_undeclared", "the parent category {value} is not declared in the file", "родительская категория {value} не объявлена в файле"),
    ("shortened", "{field} had {0} characters and was cut to {1}", "в поле {field} было {0} символов, оставлено {1}"),
    ("price_missing", "there is no price", "цена не указана"),
    ("price_guessed", "the price «{value}» was read as {0}", "цена «{value}» прочитана как {0}"),
    ("url_mended", "the address in {field} was mended: «{value}»", "адрес в поле {field} исправлен: «{value}»"),
    ("characters_lost", "some characters could not be read; the file is not wholly in its encoding", "часть символов не прочитана: файл не целиком в своей кодировке"),
    ("xml_entity_guessed", "{value} is not a reference of XML; it was read as HTML would", "{value} — не ссылка XML; прочитано как в HTML"),
    // Photos.
    ("photo_address_forbidden", "the photo's address is not a public one", "адрес фотографии не является публичным"),
    ("photo_not_found", "the photo's server answered {0}", "сервер фотографии ответил {0}"),
    ("photo_unreachable", "the photo's server could not be reached", "сервер фотографии недоступен"),
    ("photo_not_uploaded", "the seller has uploaded no such photo", "продавец не загружал такой фотографии"),
    ("photo_timeout", "the photo did not arrive in time", "фотография не успела загрузиться"),
    ("photo_too_large", "the photo has more than {0} bytes", "фотография больше {0} байт"),
    ("photo_too_many_pixels", "the photo has {0} pixels, at most {1} are allowed", "в фотографии {0} пикселей, допустимо не более {1}"),
    ("photo_too_small", "the photo is smaller than {0} × {0} pixels", "фотография меньше {0} × {0} пикселей"),
    ("photo_not_an_image", "this is not a JPEG, PNG, WebP or GIF image", "это не изображение JPEG, PNG, WebP или GIF"),
    ("photo_damaged", "the image is damaged: {0}", "изображение повреждено: {0}"),
    ("photo_truncated", "the image arrived incomplete", "изображение получено не полностью"),
    // Videos.
    ("video_gone", "the linked video is no longer there", "видео по ссылке больше нет"),
    ("video_private", "the linked video is not open to everybody", "видео по ссылке доступно не всем"),
];

/// The codes that have words.
pub fn codes() -> impl Iterator<Item = &'static str> {
    MESSAGES.iter().map(|(code, ..)| *code)
}

/// The sentence for an issue. A code without words (of a newer version) is shown as it is.
pub fn render(issue: &Issue, language: Language) -> String {
    let Some((_, english, russian)) = MESSAGES.iter().find(|(code, ..)| *code == issue.code) else {
        return format!("{}: {}", issue.field, issue.code);
    };
    let template = if language == Language::Russian { russian } else { english };
    fill(template, issue)
}

/// What a code means, without the parameters of one case.
pub fn meaning(code: &str, language: Language) -> String {
    let Some((_, english, russian)) = MESSAGES.iter().find(|(known, ..)| *known == code) else {
        return code.to_owned();
    };
    let template = if language == Language::Russian { russian } else { english };
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('…');
        text.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    text
}

fn fill(template: &str, issue: &Issue) -> String {
    let mut text = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((name, after)) = after.split_once('}') else { break };
        match name {
            "field" => text.push_str(&issue.field),
            "value" => text.push_str(&issue.value),
            number => {
                let parameter = number.parse().ok().and_then(|place: usize| issue.parameters.get(place));
                text.push_str(parameter.map_or("?", String::as_str));
            }
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_code_stands_once_and_asks_for_the_same_in_both_languages() {
        let holes = |text: &str| -> BTreeSet<String> {
            text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0.to_owned())).collect()
        };
        let mut seen = BTreeSet::new();
        for (code, english, russian) in MESSAGES {
            assert!(seen.insert(code), "{code} stands twice");
            assert_eq!(holes(english), holes(russian), "{code}");
        }
    }

    #[test]
    fn parameters_are_put_in_and_never_read_again() {
        let issue = Issue {
            code: "out_of_range".into(),
            field: "price".into(),
            value: "{0}".into(),
            parameters: vec!["1".into(), "5".into()],
            ..Issue::default()
        };
        assert_eq!(render(&issue, Language::English), "{0} in price is not between 1 and 5");
        let unknown = Issue { code: "strange".into(), field: "x".into(), ..Issue::default() };
        assert_eq!(render(&unknown, Language::Russian), "x: strange");
    }
}
