//! What the environment gives to the tests. What is absent is said, and in CI it is a failure.

/// The address of a Kafka, or nothing: then the test ends and has run nothing.
pub(crate) fn kafka(test: &str) -> Option<String> {
    given("DVOR_TEST_KAFKA", test)
}

pub(crate) fn given(variable: &str, test: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        absent(test, variable);
    }
    value
}

pub(crate) fn absent(test: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{test} needs {what}; `cargo xtask test` sets it");
    eprintln!("{test}: nothing was run, there is no {what} (`cargo xtask test` sets it)");
}
