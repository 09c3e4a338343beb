use axum::response::Html;

/// What is where, for a person with a browser.
pub async fn page() -> Html<String> {
    Html(include_str!("index.html").replace("{version}", env!("CARGO_PKG_VERSION")))
}
