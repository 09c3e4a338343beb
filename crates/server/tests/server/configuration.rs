use crate::program::{Said, dvor, golden, run};

fn with_file(text: &str, arguments: &[&str]) -> Said {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dvor.toml"), text).unwrap();
    // Relative, so that what is printed does not depend on the machine.
    run(dvor()
        .current_dir(folder.path())
        .env("HOME", "/srv/somebody")
        .env_remove("DVOR_SNIPPETS")
        .env_remove("XDG_DATA_HOME")
        .args(arguments))
}

#[test]
fn what_is_in_force_is_shown_with_its_source_and_without_secrets() {
    let text = "store = [\"postgres://dvor:very-secret@a/dvor\", \"postgres://b/dvor?password=very-secret\"]\n\n[log]\nlevel = \"debug\"\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dvor.toml"), text).unwrap();
    let show = |json: &[&str]| {
        let arguments = ["config", "show", "--config", "dvor.toml", "--topics", "kafka://k:9092"];
        run(dvor()
            .current_dir(folder.path())
            .env("HOME", "/srv/somebody")
            .env_remove("DVOR_SNIPPETS")
            .env("DVOR_LIMITS__BODY_BYTES", "1_000")
            .args(arguments)
            .args(json))
    };
    let shown = show(&[]);
    golden("config_show.toml", &shown.out);
    assert!(!shown.out.contains("very-secret"));
    assert!(toml::from_str::<toml::Table>(&shown.out).is_ok(), "not TOML: {}", shown.out);
    let json = show(&["--json"]);
    golden("config_show.json", &json.out);
    assert!(!json.out.contains("very-secret"));
}

#[test]
fn a_wrong_configuration_is_one_sentence_and_exit_code_2() {
    let check = |text: &str, words: &[&str]| {
        with_file(text, &["config", "check", "dvor.toml"]).refused(2, words);
        with_file(text, &["serve", "--config", "dvor.toml", "--data", "data"]).refused(2, words);
    };
    check("htpp = \"127.0.0.1:1\"", &["dvor.toml, line 1", "\"htpp\"", "did you mean \"http\"?"]);
    check("\n[limits]\nbody_bytes = \"much\"", &["dvor.toml, line 3", "limits.body_bytes", "whole number"]);
    check("http = 7080", &["dvor.toml, line 1", "http must be a text"]);
    check("roles = [\"api\"]", &["must run all roles"]);
    check("a = = 1", &["dvor.toml, line 1"]);
    check("store = \"mysql://db\"", &["store"]);
    with_file("", &["config", "check", "missing.toml"]).refused(2, &["missing.toml", "cannot be read"]);
    with_file("", &["serve", "--roles", "rely"]).refused(2, &["--roles", "did you mean \"relay\"?"]);
    assert_eq!(
        with_file("log.level = \"warn\"", &["config", "check", "dvor.toml"]).out,
        "dvor.toml is valid\n"
    );
    assert_eq!(run(dvor().args(["serve", "--no-such-flag"])).code, 2);
    run(dvor().env("DVOR_LOG_LEVEL", "debug").args(["config", "show"])).refused(2, &["DVOR_LOG__LEVEL"]);
}
