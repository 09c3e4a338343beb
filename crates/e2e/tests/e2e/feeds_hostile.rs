//! Files that mean harm, given to `dvor feed check` as a process of its own: each ends with a clear error or with its
//! other offers read, in little more memory than a good file takes.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress};
use serde_json::Value;

/// More than a good file of two offers takes at its peak. The largest record (4 MiB) and the buffers of a few stages
/// stand in it.
const MORE_BYTES: u64 = 64 << 20;
/// Address space that the process may not pass; one that reads a bomb whole dies of it.
const SPACE_KILOBYTES: u64 = 4 << 20;
/// Much longer than any takes: this is about ending.
const PATIENCE: Duration = Duration::from_secs(120);

const HEAD: &str = "<?xml version=\"1.0\"?>\n<feed version=\"1\">\n<offers>\n";
const GOOD: &str = "<offer id=\"ok\"><title>Диван угловой</title><category>Диваны</category><price currency=\"RUB\">5</price><location>Казань</location></offer>\n";
const TAIL: &str = "</offers>\n</feed>\n";

/// What a check said and took.
struct Checked {
    report: Value,
    peak_bytes: u64,
}

fn check(file: &Path) -> Checked {
    let script = "ulimit -v \"$1\" && shift && exec \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, "sh", &SPACE_KILOBYTES.to_string()])
        .arg(e2e::program::dvor().unwrap())
        .args(["feed", "check", "--format", "json"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (began, mut peak_bytes) = (Instant::now(), 0);
    // The peak only grows, so the last look before the end has it.
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|text| text.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        peak_bytes = peak_bytes.max(kilobytes.unwrap_or(0) << 10);
        assert!(began.elapsed() < PATIENCE, "{} is read without end", file.display());
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let report = serde_json::from_str(&said).unwrap_or_else(|error| {
        panic!("{error}: {said}{} {:?}", String::from_utf8_lossy(&output.stderr), output.status)
    });
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}", output.status);
    Checked { report, peak_bytes }
}

/// What must be said of a file.
enum Said {
    /// It cannot be read, for this reason; the place is named where there is one.
    Fatal(&'static str, Place),
    /// The number of offers, one of them refused for this reason, the last one good.
    Refused(&'static str, u64),
    /// The number of offers, one of them read with this warning, none refused.
    Warned(&'static str, u64),
    /// The number of offers, all good.
    Good(u64),
}

#[derive(PartialEq)]
enum Place {
    Line(u64),
    Some,
    None,
}

#[test]
fn hostile_files_end_soon_with_a_clear_error_and_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, parts: &[(&[u8], usize)]| {
        let mut file = std::io::BufWriter::new(std::fs::File::create(folder.path().join(name)).unwrap());
        for (part, times) in parts {
            for _ in 0..*times {
                file.write_all(part).unwrap();
            }
        }
        file.into_inner().unwrap();
    };
    write("good.xml", &[(format!("{HEAD}{GOOD}{}{TAIL}", GOOD.replace("ok", "two")).as_bytes(), 1)]);
    let good = check(&folder.path().join("good.xml"));
    assert_eq!((&good.report["good"], &good.report["errors"]), (&2.into(), &0.into()), "{}", good.report);

    let mega = vec![b'x'; 1 << 20];
    let (head, tail) = (HEAD.as_bytes(), format!("{GOOD}{TAIL}"));
    let tail = tail.as_bytes();
    let mut cases: Vec<(&str, Said)> = Vec::new();
    let mut add = |name: &'static str, parts: &[(&[u8], usize)], said: Said| {
        write(name, parts);
        cases.push((name, said));
    };

    // Gigabytes in kilobytes: of three, the guard sees the first 64 MiB.
    let (packed_head, packed_spaces) = (deflated(head), deflated(&vec![b' '; 1 << 20]));
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let end = [1, 0, 0, 255, 255];
    add(
        "bomb.xml.gz",
        &[(&gzip, 1), (&packed_head, 1), (&packed_spaces, 3_072), (&end, 1)],
        Said::Fatal("archive_bomb", Place::None),
    );
    let mut local = b"PK\x03\x04\x14\0\x08\0\x08\0\0\0\0\0".to_vec();
    local.extend([0; 12]);
    local.extend(b"\x05\0\0\0a.xml");
    add(
        "bomb.zip",
        &[(&local, 1), (&packed_head, 1), (&packed_spaces, 3_072), (&end, 1)],
        Said::Fatal("archive_bomb", Place::None),
    );
    let forty_two = packed_spaces.len() * 40;
    assert!(forty_two < 50_000, "{forty_two}");

    // Entities that multiply, or lead out of the file.
    let laughs: Vec<String> =
        (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    let laughs = laughs.concat();
    let laughs = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE feed [<!ENTITY l0 \"lol\">{laughs}]><feed version=\"1\"><offers><offer id=\"1\"><title>&l9;</title></offer>"
    );
    add("laughs.xml", &[(laughs.as_bytes(), 1), (tail, 1)], Said::Refused("xml_entity_unknown", 2));
    let outside = "<?xml version=\"1.0\"?><!DOCTYPE feed [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><feed version=\"1\"><offers><offer id=\"1\"><title>&x;</title></offer>";
    add("outside.xml", &[(outside.as_bytes(), 1), (tail, 1)], Said::Refused("xml_entity_unknown", 2));

    // A million elements within each other: in an offer, around the offers, in JSON.
    add(
        "deep.xml",
        &[
            (head, 1),
            (b"<offer id=\"1\">", 1),
            (b"<a>", 1_000_000),
            (b"</a>", 1_000_000),
            (b"</offer>\n", 1),
            (tail, 1),
        ],
        Said::Refused("record_too_long", 2),
    );
    add("deep.yml", &[(b"<yml_catalog>", 1), (b"<a>", 1_000_000)], Said::Fatal("too_deep", Place::Line(1)));
    add(
        "deep.json",
        &[(b"[{\"id\":\"1\",\"x\":", 1), (b"[", 1_000_000), (b"]", 1_000_000), ("},{\"id\":\"2\",\"title\":\"Диван угловой\",\"category\":\"Диваны\",\"price\":5,\"address\":\"Казань\"}]".as_bytes(), 1)],
        Said::Refused("json_broken", 2),
    );

    // Fifty megabytes of one thing, and ten million attributes.
    add(
        "title.xml",
        &[(head, 1), (b"<offer id=\"1\"><title>", 1), (&mega, 50), (b"</title></offer>\n", 1), (tail, 1)],
        Said::Refused("record_too_long", 2),
    );
    add(
        "tag.xml",
        &[(b"<?xml version=\"1.0\"?>\n<feed ", 1), (&mega, 50)],
        Said::Fatal("token_too_long", Place::Line(2)),
    );
    add(
        "attributes.xml",
        &[
            (head, 1),
            (b"<offer id=\"1\"", 1),
            (b" a=\"1\"", 10_000_000),
            (b"><title>x</title></offer>\n", 1),
            (tail, 1),
        ],
        Said::Refused("record_too_long", 2),
    );

    // What stands before the offers and never ends: keys, white space, categories with long ids.
    let json_offer = "{\"id\":\"2\",\"title\":\"Диван угловой\",\"category\":\"Диваны\",\"price\":5,\"address\":\"Казань\"}";
    add(
        "keys.json",
        &[(b"{", 1), (b"\"a\":1,", 20 << 20), (b"\"a\":1}\n", 1), (json_offer.as_bytes(), 1)],
        Said::Refused("record_too_long", 2),
    );
    let spaces = vec![b' '; 1 << 20];
    add(
        "spaces.json",
        &[(b"[", 1), (&spaces, 256), (json_offer.as_bytes(), 1), (&spaces, 256), (b"]", 1)],
        Said::Good(1),
    );
    add(
        "spaces-in-keys.json",
        &[(b"{", 1), (&spaces, 256), (b"\"offers\":[]}\n", 1), (json_offer.as_bytes(), 1)],
        Said::Refused("record_too_long", 2),
    );
    add("spaces.xml", &[(head, 1), (&spaces, 256), (tail, 1)], Said::Good(1));
    let yml_offer = "<offer id=\"ok\"><name>Диван угловой</name><price>5</price><currencyId>RUB</currencyId><location>Казань</location><categoryId>1</categoryId></offer>\n";
    let yml_tail = format!(
        "<category id=\"1\">Диваны</category></categories><offers>{yml_offer}</offers></shop></yml_catalog>\n"
    );
    add(
        "categories.yml",
        &[(b"<yml_catalog><shop><categories>", 1), (&long_categories(), 1), (yml_tail.as_bytes(), 1)],
        Said::Good(1),
    );

    // Millions of small things in one offer, each of which takes more memory than space in the file.
    add(
        "full.json",
        &[
            (b"[{\"id\":\"1\",\"x\":[1", 1),
            (b",1", 2_000_000),
            (b"]},", 1),
            (json_offer.as_bytes(), 1),
            (b"]", 1),
        ],
        Said::Refused("record_too_full", 2),
    );
    add(
        "full.yml",
        &[
            (b"<yml_catalog><shop><categories><category id=\"1\">", 1),
            ("Диваны</category></categories><offers><offer id=\"1\">".as_bytes(), 1),
            (b"<a/>", 1_000_000),
            (b"</offer>\n", 1),
            (yml_offer.as_bytes(), 1),
            (b"</offers></shop></yml_catalog>", 1),
        ],
        Said::Refused("record_too_full", 2),
    );
    add(
        "full.csv",
        &[
            ("id;title;category;price;address\n1;Диван угловой;Диваны;5;Казань".as_bytes(), 1),
            (b";", 4_000_000),
            ("\n2;Диван угловой;Диваны;5;Казань\n".as_bytes(), 1),
        ],
        Said::Warned("row_width", 2),
    );

    // Bytes that no text has, a false word about the encoding, and a file that is not what its name says.
    add(
        "nul.xml",
        &[(head, 1), (b"<offer id=\"1\"><title>a\0b</title></offer>\n", 1), (tail, 1)],
        Said::Refused("control_character", 2),
    );
    add("nuls.xml", &[(&[0; 1_024], 1_024)], Said::Fatal("format_unknown", Place::Some));
    let declared = "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<feed version=\"1\">\n<offers>\n";
    add("encoding.xml", &[(declared.as_bytes(), 1), (tail, 1)], Said::Good(1));
    add(
        "unheard.xml",
        &[(declared.replace("UTF-16", "x-martian").as_bytes(), 1), (tail, 1)],
        Said::Fatal("encoding_unknown", Place::None),
    );
    add("picture.xml", &[(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 1)], Said::Fatal("format_unknown", Place::Some));
    let lines = "{\"id\":\"2\",\"title\":\"Диван угловой\",\"category\":\"Диваны\",\"price\":5,\"address\":\"Казань\"}\n";
    add("lines.xml", &[(lines.as_bytes(), 1)], Said::Good(1));

    let mut most = 0;
    for (name, said) in cases {
        let Checked { report, peak_bytes } = check(&folder.path().join(name));
        compare(name, &report, &said);
        let more = peak_bytes.saturating_sub(good.peak_bytes);
        assert!(more < MORE_BYTES, "{name} takes {} MB more than a good file", more >> 20);
        most = most.max(more);
    }
    println!("a good file takes {} MB, the worst {} MB more", good.peak_bytes >> 20, most >> 20);
}

fn compare(name: &str, report: &Value, said: &Said) {
    let fatal = &report["fatal"];
    match said {
        Said::Fatal(code, place) => {
            assert_eq!(fatal["code"], *code, "{name}: {report}");
            assert!(fatal["message"].as_str().is_some_and(|text| !text.is_empty()), "{name}: {report}");
            let line = fatal["line"].as_u64().unwrap();
            match place {
                Place::Line(wanted) => assert_eq!(line, *wanted, "{name}: {report}"),
                Place::Some => assert!(line > 0, "{name}: {report}"),
                Place::None => {}
            }
        }
        Said::Refused(code, offers) => {
            assert!(fatal.is_null(), "{name}: {report}");
            assert_eq!(
                (&report["offers"], &report["good"]),
                (&(*offers).into(), &(offers - 1).into()),
                "{name}: {report}"
            );
            let first = report["first"].as_array().unwrap();
            let named =
                first.iter().find(|row| row["code"] == *code).unwrap_or_else(|| panic!("{name}: {report}"));
            assert!(named["line"].as_u64().unwrap() > 0, "{name}: {report}");
            assert!(!report.to_string().contains("root:"), "{name}: {report}");
        }
        Said::Warned(code, offers) => {
            assert!(fatal.is_null(), "{name}: {report}");
            assert_eq!(
                (&report["offers"], &report["with_warnings"], &report["rejected"]),
                (&(*offers).into(), &1.into(), &0.into()),
                "{name}: {report}"
            );
            let first = report["first"].as_array().unwrap();
            assert!(first.iter().any(|row| row["code"] == *code), "{name}: {report}");
        }
        Said::Good(offers) => {
            assert!(fatal.is_null(), "{name}: {report}");
            assert_eq!(
                (&report["offers"], &report["good"]),
                (&(*offers).into(), &(*offers).into()),
                "{name}: {report}"
            );
        }
    }
}

/// Categories whose ids take almost all that a tag may take, each its own.
fn long_categories() -> Vec<u8> {
    let rest = "x".repeat((1 << 20) - 100);
    let category = |number: u32| format!("<category id=\"{number}{rest}\">Диваны</category>\n");
    (0..160).map(category).collect::<String>().into_bytes()
}

/// A piece of a deflate stream that needs nothing of what was before it, so that it can stand there again and again.
fn deflated(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(text.len() + 1_024);
    let mut compress = Compress::new(Compression::best(), false);
    compress.compress_vec(text, &mut packed, FlushCompress::Full).unwrap();
    assert_eq!(compress.total_in(), text.len() as u64);
    packed
}
