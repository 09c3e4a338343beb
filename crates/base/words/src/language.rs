/// The languages that people are spoken to in, and that the catalog has names in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    Russian,
}

impl Language {
    /// The first of English and Russian in a list such as the header `Accept-Language` has; else English.
    pub fn accepted(list: &str) -> Self {
        let named = list.split(',').find_map(|wish| match wish.trim().get(..2)?.to_lowercase().as_str() {
            "ru" => Some(Self::Russian),
            "en" => Some(Self::English),
            _ => None,
        });
        named.unwrap_or(Self::English)
    }

    /// As in `Accept-Language`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Russian => "ru",
        }
    }
}
