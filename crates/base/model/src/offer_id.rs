use std::fmt;
use std::str::FromStr;

/// Names an offer for ever. It says which shard holds the offer, so that nobody has to know the seller; the rest is
/// random, so that nobody can count offers or guess the next. Printed as 16 digits and a check digit, which catches
/// every single wrong digit and every swap of neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferId(i64);

pub const RANDOM_BITS: u32 = 40;
const SHARDS: i64 = 1 << 10;
const DIGITS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOfferId {
    #[error("an offer's id has 17 digits, this has {0}")]
    Length(usize),
    #[error("an offer's id has digits (and dashes) only")]
    Character,
    #[error(
        "the check digit {0} of the offer's id does not fit the 16 digits before it: one of them is mistyped"
    )]
    CheckDigit(u8),
    #[error("no offer's id is that large")]
    Range,
}

impl OfferId {
    /// Takes the low 40 of the random bits.
    pub fn new(shard: u16, random: u64) -> Self {
        let low = random & ((1 << RANDOM_BITS) - 1);
        Self((i64::from(shard) % SHARDS) << RANDOM_BITS | low as i64)
    }

    /// From a stored row.
    pub fn from_raw(raw: i64) -> Option<Self> {
        (0..SHARDS << RANDOM_BITS).contains(&raw).then_some(Self(raw))
    }

    pub fn raw(self) -> i64 {
        self.0
    }

    pub fn shard(self) -> u16 {
        (self.0 >> RANDOM_BITS) as u16
    }
}

impl fmt::Display for OfferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:016}", self.0);
        write!(f, "{digits}{}", check_digit(digits.bytes().map(|byte| byte - b'0')))
    }
}

impl FromStr for OfferId {
    type Err = BadOfferId;

    fn from_str(text: &str) -> Result<Self, BadOfferId> {
        let mut digits = [0_u8; DIGITS + 1];
        let mut count = 0;
        for byte in text.bytes().filter(|byte| *byte != b'-') {
            if !byte.is_ascii_digit() {
                return Err(BadOfferId::Character);
            }
            if let Some(digit) = digits.get_mut(count) {
                *digit = byte - b'0';
            }
            count += 1;
        }
        if count != digits.len() {
            return Err(BadOfferId::Length(count));
        }
        let (number, check) = (&digits[..DIGITS], digits[DIGITS]);
        if check_digit(number.iter().copied()) != check {
            return Err(BadOfferId::CheckDigit(check));
        }
        let raw = number.iter().fold(0_i64, |raw, digit| raw * 10 + i64::from(*digit));
        Self::from_raw(raw).ok_or(BadOfferId::Range)
    }
}

/// Damm's totally anti-symmetric quasigroup of order ten.
const DAMM: [[u8; 10]; 10] = [
    [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
    [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
    [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
    [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
    [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
    [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
    [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
    [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
    [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
    [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
];

fn check_digit(digits: impl Iterator<Item = u8>) -> u8 {
    digits.fold(0, |state, digit| DAMM[usize::from(state)][usize::from(digit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_what_it_prints() {
        for (shard, random) in [(0, 0), (1023, u64::MAX), (513, 0x12_3456_789a)] {
            let id = OfferId::new(shard, random);
            let text = id.to_string();
            assert_eq!((text.len(), text.parse(), id.shard()), (17, Ok(id), shard));
            let dashed = format!("{}-{}-{}", &text[..5], &text[5..11], &text[11..]);
            assert_eq!(dashed.parse(), Ok(id));
        }
    }

    #[test]
    fn the_check_digit_is_the_one_of_damm() {
        // The textbook's example.
        assert_eq!(check_digit([5, 7, 2].into_iter()), 4);
    }

    #[test]
    fn every_wrong_digit_and_every_swap_is_noticed() {
        let text = OfferId::new(700, 0x99_1234_5678).to_string();
        for place in 0..text.len() {
            for digit in '0'..='9' {
                let mut wrong = text.clone();
                wrong.replace_range(place..=place, &digit.to_string());
                assert_eq!(wrong.parse::<OfferId>().is_ok(), wrong == text, "{wrong}");
            }
            if place > 0 {
                let mut swapped = text.clone().into_bytes();
                swapped.swap(place, place - 1);
                let swapped = String::from_utf8(swapped).unwrap();
                assert_eq!(swapped.parse::<OfferId>().is_ok(), swapped == text, "{swapped}");
            }
        }
    }

    #[test]
    fn a_broken_id_says_what_is_wrong() {
        let check = |text: &str, expected: BadOfferId| {
            assert_eq!(text.parse::<OfferId>(), Err(expected), "{text:?}");
        };
        check("", BadOfferId::Length(0));
        check("123", BadOfferId::Length(3));
        check("1234567890123456789", BadOfferId::Length(19));
        check("1234567890123456x", BadOfferId::Character);
        let large = "9999999999999999";
        let large = format!("{large}{}", check_digit(large.bytes().map(|byte| byte - b'0')));
        check(&large, BadOfferId::Range);
    }
}
