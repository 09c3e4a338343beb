//! Words become numbers, and a text a row of them.
//!
//! A number is written as one character, so that an automaton over characters finds whole words only.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// A word that is nowhere in the catalog.
pub(super) const UNKNOWN: u32 = 0;

/// Words that stand between the words that matter. What follows one of the first list describes the thing and is not the
/// thing itself: a case *for* a phone.
const PREPOSITIONS: &[&str] = &[
    "для", "к", "ко", "на", "под", "от", "с", "со", "из", "в", "во", "без", "по", "у", "при", "о", "об",
    "до", "за", "for", "fits", "with", "to", "from", "in", "on", "at", "without", "by", "of",
];
/// Of these, the ones behind which stands what a part belongs to.
const PART_OF: &[&str] = &["для", "к", "ко", "на", "под", "от", "for", "fits"];
const FILLERS: &[&str] = &[
    "и",
    "или",
    "а",
    "the",
    "a",
    "an",
    "and",
    "or",
    "не",
    "продам",
    "продаю",
    "продается",
    "продаются",
    "продажа",
    "куплю",
    "новый",
    "новая",
    "новое",
    "новые",
    "б",
    "бу",
    "срочно",
    "состояние",
    "состоянии",
    "отличное",
    "отличном",
    "хорошее",
    "хорошем",
    "идеальное",
    "идеальном",
    "оригинал",
    "торг",
    "недорого",
    "дешево",
    "sale",
    "new",
    "used",
    "sell",
    "selling",
    "купить",
    "цена",
    "шт",
    "pcs",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Preposition,
    Filler,
}

/// Both lists: every word of every text is looked up here.
static BETWEEN: LazyLock<FxHashMap<&str, Between>> = LazyLock::new(|| {
    let prepositions = PREPOSITIONS.iter().map(|word| (*word, Between::Preposition));
    FILLERS.iter().map(|word| (*word, Between::Filler)).chain(prepositions).collect()
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) id: u32,
    /// Where its character begins in the row.
    start: u32,
    /// A preposition stands somewhere before it in the same part of the title.
    pub(super) described: bool,
    pub(super) cyrillic: bool,
    /// It has letters, and more than one: digits and single letters tell nothing alone.
    pub(super) telling: bool,
}

/// A text as the automata read it: `tokens[n]` is the n-th character of `row`.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) tokens: Vec<Token>,
    pub(super) row: String,
}

impl Reading {
    /// Room for most titles.
    fn with_room() -> Self {
        Self { tokens: Vec::with_capacity(12), row: String::with_capacity(36) }
    }

    fn push(&mut self, word: &str, id: u32, described: bool) {
        let start = self.row.len() as u32;
        let telling = word.chars().nth(1).is_some() && word.starts_with(char::is_alphabetic);
        self.tokens.push(Token { id, start, described, cyrillic: is_cyrillic(word), telling });
        self.row.push(letter(id));
    }

    /// The words that no preposition stands before.
    pub(super) fn undescribed(&self) -> Self {
        let mut own = Self::with_room();
        for token in self.tokens.iter().filter(|token| !token.described) {
            own.tokens.push(Token { start: own.row.len() as u32, ..*token });
            own.row.push(letter(token.id));
        }
        own
    }

    /// The token that begins at a byte of `row`.
    pub(super) fn token_at(&self, byte: usize) -> usize {
        self.tokens.partition_point(|token| (token.start as usize) < byte)
    }
}

#[derive(Debug, Default)]
pub(super) struct Lexicon {
    by_stem: FxHashMap<Box<str>, u32>,
    /// The words of the catalog as they are written there, to spare the stemmer.
    by_word: FxHashMap<Box<str>, u32>,
}

impl Lexicon {
    pub(super) fn len(&self) -> usize {
        self.by_stem.len()
    }

    /// Reads a text of the catalog; its words become known.
    pub(super) fn learn(&mut self, text: &str) -> Reading {
        let mut reading = Reading::default();
        let folded = words::fold(text);
        for word in words::split(&folded).filter(|word| !BETWEEN.contains_key(word)) {
            let id = self.by_word.get(word).copied().unwrap_or_else(|| {
                let stem = words::stem(word);
                let next = self.by_stem.len() as u32 + 1;
                let id = *self.by_stem.entry(stem.into()).or_insert(next);
                self.by_word.insert(word.into(), id);
                id
            });
            reading.push(word, id, false);
        }
        reading
    }

    pub(super) fn read(&self, text: &str) -> Reading {
        self.read_folded(&words::fold(text))
    }

    pub(super) fn read_folded(&self, folded: &str) -> Reading {
        let mut reading = Reading::with_room();
        // What a preposition describes ends at a comma or a bracket.
        for part in folded.split([',', ';', '(', ')', '|']) {
            let mut described = false;
            for word in words::split(part) {
                match BETWEEN.get(word) {
                    Some(Between::Preposition) => described = true,
                    Some(Between::Filler) => {}
                    None => reading.push(word, self.id(word), described),
                }
            }
        }
        reading
    }

    /// The row alone of a text that is looked up as a whole.
    pub(super) fn row(&self, text: &str) -> String {
        let folded = words::fold(text);
        let known = words::split(&folded).filter(|word| !BETWEEN.contains_key(word));
        let mut row = String::with_capacity(16);
        row.extend(known.map(|word| letter(self.id(word))));
        row
    }

    fn id(&self, word: &str) -> u32 {
        if let Some(id) = self.by_word.get(word) {
            return *id;
        }
        let known = self.by_stem.get(words::stem(word).as_ref()).copied();
        known.or_else(|| self.id(&without_lookalikes(word)?).into()).unwrap_or(UNKNOWN)
    }
}

/// A Russian word with Latin letters that look the same; none when it has none.
fn without_lookalikes(word: &str) -> Option<String> {
    const LATIN: &str = "aceopxykmtb";
    const RUSSIAN: &str = "асеорхукмтв";
    let is_mixed = word.chars().any(|c| ('а'..='я').contains(&c)) && word.contains(|c| LATIN.contains(c));
    let russian = |c: char| LATIN.find(c).and_then(|at| RUSSIAN.chars().nth(at)).unwrap_or(c);
    is_mixed.then(|| word.chars().map(russian).collect())
}

/// Whether what follows the word is what the thing is made for.
pub(super) fn is_part_of(word: &str) -> bool {
    PART_OF.contains(&word)
}

fn is_cyrillic(word: &str) -> bool {
    word.chars().next().is_some_and(|c| ('а'..='я').contains(&c))
}

/// The character of a token: every number but the surrogates, which are no characters.
fn letter(id: u32) -> char {
    const SURROGATES: u32 = 0xd800;
    let code = id + 1;
    char::from_u32(if code >= SURROGATES { code + 0x800 } else { code }).unwrap_or('\u{1}')
}
