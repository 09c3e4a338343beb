//! Money: whole minor units with a currency; a decimal text outside.

use wire::model::Money;

/// ISO 4217 currencies whose minor unit is not a hundredth.
const EXPONENTS: [(&str, u32); 24] = [
    ("BIF", 0),
    ("CLP", 0),
    ("DJF", 0),
    ("GNF", 0),
    ("ISK", 0),
    ("JPY", 0),
    ("KMF", 0),
    ("KRW", 0),
    ("PYG", 0),
    ("RWF", 0),
    ("UGX", 0),
    ("UYI", 0),
    ("VND", 0),
    ("VUV", 0),
    ("XAF", 0),
    ("XOF", 0),
    ("XPF", 0),
    ("BHD", 3),
    ("IQD", 3),
    ("JOD", 3),
    ("KWD", 3),
    ("LYD", 3),
    ("OMR", 3),
    ("TND", 3),
];

/// No price is higher: ten trillion hundredths.
pub const MAX_MINOR: i64 = 1_000_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMoney {
    #[error("a currency has three capital letters")]
    Currency,
    #[error("an amount is a decimal number such as 1299.00")]
    Amount,
    #[error("the amount has more digits after the point than the currency")]
    Precision,
    #[error("the amount is too large")]
    TooLarge,
}

/// Digits after the point.
pub fn exponent(currency: &str) -> u32 {
    EXPONENTS.iter().find(|(code, _)| *code == currency).map_or(2, |(_, exponent)| *exponent)
}

pub fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// `1299.00`, `1299`, `1299.5`; no sign, no spaces.
pub fn parse(amount: &str, currency: &str) -> Result<Money, BadMoney> {
    if !is_currency(currency) {
        return Err(BadMoney::Currency);
    }
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || amount.ends_with('.') {
        return Err(BadMoney::Amount);
    }
    let exponent = exponent(currency) as usize;
    let significant = fraction.trim_end_matches('0');
    if significant.len() > exponent {
        return Err(BadMoney::Precision);
    }
    let minor: i64 = format!("{whole}{significant:0<exponent$}").parse().map_err(|_| BadMoney::TooLarge)?;
    if minor > MAX_MINOR {
        return Err(BadMoney::TooLarge);
    }
    Ok(Money { minor, currency: currency.to_owned() })
}

/// The decimal text, always with the currency's digits.
pub fn amount(money: &Money) -> String {
    let exponent = exponent(&money.currency);
    let unit = 10_i64.pow(exponent);
    match exponent {
        0 => money.minor.to_string(),
        _ => {
            let sign = if money.minor < 0 { "-" } else { "" };
            let (whole, fraction) = (money.minor.abs() / unit, money.minor.abs() % unit);
            format!("{sign}{whole}.{fraction:0width$}", width = exponent as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_back_what_they_write() {
        let check = |text: &str, currency: &str, minor: i64, written: &str| {
            let money = parse(text, currency).unwrap();
            assert_eq!((money.minor, amount(&money).as_str()), (minor, written), "{text} {currency}");
        };
        check("1299", "RUB", 129_900, "1299.00");
        check("1299.5", "RUB", 129_950, "1299.50");
        check("0.01", "USD", 1, "0.01");
        check("500", "JPY", 500, "500");
        check("1.5000", "EUR", 150, "1.50");
        check("2.345", "KWD", 2_345, "2.345");
    }

    #[test]
    fn a_wrong_amount_says_why() {
        let check = |text: &str, currency: &str, expected: BadMoney| {
            assert_eq!(parse(text, currency), Err(expected), "{text} {currency}");
        };
        check("12", "rub", BadMoney::Currency);
        check("", "RUB", BadMoney::Amount);
        check("-1", "RUB", BadMoney::Amount);
        check("1.", "RUB", BadMoney::Amount);
        check("1,5", "RUB", BadMoney::Amount);
        check("1e3", "RUB", BadMoney::Amount);
        check("1.005", "RUB", BadMoney::Precision);
        check("0.5", "JPY", BadMoney::Precision);
        check("99999999999999999999", "RUB", BadMoney::TooLarge);
    }
}
