use store::Shard;

/// Whose a draft is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Stored as the bare seller id, so that draft and offer share a shard.
    Seller(String),
    /// A visitor, by his secret: 32 hexadecimal digits.
    Anonymous(String),
}

/// No seller who writes drafts may be called so.
pub const ANONYMOUS: &str = "anonymous:";
const SECRET_DIGITS: usize = 32;

impl Owner {
    /// A visitor whom nobody knows yet.
    pub fn stranger() -> Self {
        Self::Anonymous(kit::random_id())
    }

    pub fn anonymous(secret: &str) -> Option<Self> {
        let hex = secret.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        (hex && secret.len() == SECRET_DIGITS).then(|| Self::Anonymous(secret.to_owned()))
    }

    pub fn parse(text: &str) -> Self {
        match text.strip_prefix(ANONYMOUS) {
            Some(secret) => Self::Anonymous(secret.to_owned()),
            None => Self::Seller(text.to_owned()),
        }
    }

    /// As it is stored.
    pub fn text(&self) -> String {
        match self {
            Self::Seller(seller) => seller.clone(),
            Self::Anonymous(secret) => format!("{ANONYMOUS}{secret}"),
        }
    }

    pub fn shard(&self) -> Shard {
        Shard::of(&self.text())
    }

    pub fn is_anonymous(&self) -> bool {
        matches!(self, Self::Anonymous(_))
    }
}
