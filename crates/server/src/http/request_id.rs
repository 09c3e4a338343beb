use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const MAX_BYTES: usize = 128;

/// Names one request in logs, traces, answers and problems.
#[derive(Debug)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The caller's own id if it is one that a log can hold, else a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        let sane = |text: &&str| !text.is_empty() && text.len() <= MAX_BYTES && text.bytes().all(legal);
        let given = headers.get(HEADER).filter(|value| value.to_str().is_ok_and(|text| sane(&text)));
        Self(given.cloned().unwrap_or_else(|| {
            HeaderValue::try_from(kit::random_id()).expect("hex digits can stand in a header")
        }))
    }

    pub fn as_str(&self) -> &str {
        self.0.to_str().expect("only letters, digits and -_.: are let in")
    }
}

impl From<RequestId> for HeaderValue {
    fn from(id: RequestId) -> Self {
        id.0
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
