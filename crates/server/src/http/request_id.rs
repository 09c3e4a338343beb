use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const MAX_BYTES: usize = 128;

/// Names one request in logs, traces, answers and problems.
#[derive(Clone, Debug)]
pub struct RequestId(String);

impl RequestId {
    /// The caller's own id if it is one that a log can hold, else a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        let sane = |text: &&str| !text.is_empty() && text.len() <= MAX_BYTES && text.bytes().all(legal);
        let given = headers.get(HEADER).and_then(|value| value.to_str().ok()).filter(sane);
        Self(given.map_or_else(kit::random_id, str::to_owned))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("only letters, digits and -_.: are let in")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sane_id_is_taken_over() {
        let of = |text: &str| {
            RequestId::of(&HeaderMap::from_iter([(HEADER, HeaderValue::from_str(text).unwrap())]))
        };
        assert_eq!(of("order-17:a.b_c").as_str(), "order-17:a.b_c");
        for strange in ["", "a b", "x\"y", &"a".repeat(129)] {
            let id = of(strange);
            assert!(id.as_str().len() == 32 && id.as_str() != strange, "{strange:?}");
        }
    }
}
