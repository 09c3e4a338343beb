//! The name that was probably meant.

use crate::model::Names;

/// A name as it is compared.
struct Spelling {
    folded: String,
    letters: usize,
    /// A bit for each letter that is in it; several letters share one.
    present: u64,
}

impl Spelling {
    fn of(text: &str) -> Self {
        let folded = words::fold(text);
        let letters = folded.chars().count();
        let present = folded.chars().fold(0, |present, letter| present | 1 << (letter as u32 % 64));
        Self { folded, letters, present }
    }

    /// At most the distance: one edit changes the length by one, and takes away or brings one letter.
    fn apart_at_least(&self, other: &Self) -> usize {
        let gone = (self.present & !other.present).count_ones();
        let new = (other.present & !self.present).count_ones();
        self.letters.abs_diff(other.letters).max(gone.max(new) as usize)
    }
}

/// The names of one thing, made ready to be compared.
pub(super) struct Spellings {
    ru: Spelling,
    en: Spelling,
}

impl Spellings {
    pub(super) fn of(names: &Names) -> Self {
        Self { ru: Spelling::of(&names.ru), en: Spelling::of(&names.en) }
    }
}

/// The name that differs least, if the difference may be a slip of the hand; of equals the first.
pub(super) fn nearest<'a>(
    text: &str,
    names: impl Iterator<Item = (&'a Spellings, &'a Names)>,
) -> Option<String> {
    let wanted = Spelling::of(text);
    let russian = wanted.folded.chars().any(|c| ('а'..='я').contains(&c));
    let mut most = (wanted.letters / 3).max(1);
    let mut best = None;
    for (spellings, names) in names {
        let (spelling, name) = if russian { (&spellings.ru, &names.ru) } else { (&spellings.en, &names.en) };
        if wanted.apart_at_least(spelling) > most {
            continue;
        }
        let distance = strsim::osa_distance(&wanted.folded, &spelling.folded);
        if distance <= most {
            best = Some(name);
            let Some(less) = distance.checked_sub(1) else { break };
            most = less;
        }
    }
    best.cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_forgiven() {
        let names: Vec<Names> = ["Цвет|Colour", "Вес|Weight", "Весы|Scales", "Диагональ экрана|Screen size"]
            .iter()
            .filter_map(|both| both.split_once('|'))
            .map(|(ru, en)| Names { ru: ru.into(), en: en.into() })
            .collect();
        let spellings: Vec<Spellings> = names.iter().map(Spellings::of).collect();
        for (text, expected) in [
            ("Цвет", Some("Цвет")),
            ("цвит", Some("Цвет")),
            ("Вест", Some("Вес")),
            ("Весфы", Some("Весы")),
            ("color", Some("Colour")),
            ("Диогональ экарана", Some("Диагональ экрана")),
            ("Материал", None),
            ("", None),
        ] {
            let found = nearest(text, spellings.iter().zip(&names));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
