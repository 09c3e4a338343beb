//! The page for sellers names every code that reading a feed can give.

const PAGE: &str = include_str!("../../../../../docs/feed-formats.md");

/// Said by others: of photos and videos, of moderation and quotas, and of offers made by hand.
fn of_others(code: &str) -> bool {
    code.starts_with("photo_")
        || code.starts_with("video_")
        || ["banned", "quota_offers", "unknown_field", "category_not_a_leaf"].contains(&code)
}

#[test]
fn every_code_is_described() {
    let missing: Vec<&str> = model::message::codes()
        .filter(|code| !of_others(code) && !PAGE.contains(&format!("| `{code}` |")))
        .collect();
    assert!(missing.is_empty(), "docs/feed-formats.md lacks {}", missing.join(", "));
}
