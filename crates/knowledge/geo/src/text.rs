//! An address as parts and words, with what each word is for.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// The word before a settlement: «г. Томск», «село Алексеевка».
const CITY_MARKS: &[&str] = &[
    "г",
    "город",
    "города",
    "городе",
    "гор",
    "пос",
    "поселок",
    "поселке",
    "пгт",
    "рп",
    "с",
    "село",
    "селе",
    "д",
    "дер",
    "деревня",
    "деревне",
    "ст",
    "станица",
    "аул",
    "хутор",
    "х",
    "п",
    "city",
    "town",
    "village",
];
/// The word beside a region's name.
const REGION_MARKS: &[&str] = &[
    "обл",
    "область",
    "области",
    "областью",
    "край",
    "края",
    "крае",
    "респ",
    "республика",
    "республики",
    "республике",
    "ао",
    "округ",
    "автономный",
    "автономная",
    "oblast",
    "krai",
    "kray",
    "republic",
    "region",
    "province",
    "state",
    "county",
];
/// The word beside something smaller than a settlement.
const STREET_MARKS: &[&str] = &[
    "ул",
    "улица",
    "улице",
    "пр",
    "просп",
    "проспект",
    "проспекте",
    "пер",
    "переулок",
    "ш",
    "шоссе",
    "пл",
    "площадь",
    "наб",
    "набережная",
    "бул",
    "бульвар",
    "проезд",
    "тракт",
    "аллея",
    "мкр",
    "мкрн",
    "микрорайон",
    "квартал",
    "метро",
    "м",
    "жк",
    "снт",
    "тупик",
    "линия",
    "район",
    "районе",
    "street",
    "st",
    "str",
    "avenue",
    "ave",
    "road",
    "rd",
    "lane",
    "drive",
    "blvd",
    "boulevard",
    "square",
    "strasse",
    "straße",
    "rue",
    "via",
    "calle",
    "district",
];
/// Words of an address that are nobody's name.
const IDLE: &[&str] = &[
    "в",
    "во",
    "из",
    "под",
    "около",
    "рядом",
    "возле",
    "у",
    "дом",
    "кв",
    "квартира",
    "корп",
    "корпус",
    "стр",
    "строение",
    "офис",
    "оф",
    "этаж",
    "подъезд",
    "литер",
    "индекс",
    "адрес",
    "near",
    "in",
    "at",
    "the",
    "apt",
    "house",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Name,
    CityMark,
    RegionMark,
    StreetMark,
    /// A number, a street's name, or a word that is nobody's name.
    Idle,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) role: Role,
}

pub(crate) fn is_region_mark(word: &str) -> bool {
    REGION_MARKS.contains(&word)
}

/// The parts of a folded address, between commas.
pub(crate) fn parts(folded: &str) -> impl Iterator<Item = Vec<Word<'_>>> {
    folded.split([',', ';', '\n', '(', ')', '|', '/']).map(part).filter(|words| !words.is_empty())
}

fn part(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = words::split(text).map(|text| Word { text, role: role(text) }).collect();
    for at in 0..words.len() {
        // «St. Petersburg» and «Main St» write one word for two.
        if words[at].text == "st" && words.get(at + 1).is_some_and(|next| next.role == Role::Name) {
            words[at].role = Role::Name;
        }
        if words[at].role == Role::StreetMark {
            hide_street(&mut words, at);
        }
    }
    words
}

/// The lists as one: every word of every address is looked up here. What stands in two of them is what the later says.
static ROLES: LazyLock<FxHashMap<&str, Role>> = LazyLock::new(|| {
    let lists = [
        (REGION_MARKS, Role::RegionMark),
        (CITY_MARKS, Role::CityMark),
        (STREET_MARKS, Role::StreetMark),
        (IDLE, Role::Idle),
    ];
    lists.into_iter().flat_map(|(list, role)| list.iter().map(move |word| (*word, role))).collect()
});

fn role(word: &str) -> Role {
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return Role::Idle;
    }
    ROLES.get(word).copied().unwrap_or(Role::Name)
}

/// «ул. Московская 5» hides what follows, «Невский проспект 5» what stands before.
fn hide_street(words: &mut [Word<'_>], at: usize) {
    let follows = words.get(at + 1).is_some_and(|next| next.role == Role::Name);
    if follows {
        let run = words[at + 1..].iter_mut().take_while(|word| word.role == Role::Name).take(3);
        run.for_each(|word| word.role = Role::Idle);
    } else if at > 0 && words[at - 1].role == Role::Name {
        words[at - 1].role = Role::Idle;
    }
}
