//! `xmllint` and our validator must agree on the verdict and the line, over generated good and bad files.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::read;

const FILES: usize = 1_200;
/// Files of one run of xmllint.
const TOGETHER: usize = 100;

/// What can be done to a good offer: a piece of it, and what stands there instead.
const HARM: &[(&str, &str)] = &[
    ("<title>", "<name>x</name><title>"),
    ("<title>a</title>", ""),
    ("<title>a</title>", "<title></title>"),
    ("<title>a</title>", "<title>a</title>\n<title>b</title>"),
    ("<title>a</title>", "<title>a & b</title>"),
    ("<title>a</title>", "<title>a &nbsp; b</title>"),
    ("<title>a</title>", "<title>a</titel>"),
    ("<title>a</title>", "<title>a < b</title>"),
    ("<title>a</title>", "<title lang=\"ru\">a</title>"),
    ("<title>a</title>", "<title>a\u{1}</title>"),
    ("<title>a</title>", "<title>a<b>c</b></title>"),
    (" id=\"", " key=\"k\" id=\""),
    (" id=\"", " id=\"x\" id=\""),
    ("currency=\"RUB\"", ""),
    ("currency=\"RUB\"", "currency=\"RU\""),
    ("currency=\"RUB\"", "currency=RUB"),
    (">5<", ">five<"),
    (">5<", ">-5<"),
    (">5<", ">5e3<"),
    (">5<", "><"),
    (">5<", ">5,5<"),
    ("new</condition>", "mint</condition>"),
    ("<images>", "<images>text"),
    ("<images>", "<images><photo>x</photo>"),
    ("<image>u</image>", "<image></image>"),
    ("lat=\"55.5\"", "lat=\"95.5\""),
    ("lat=\"55.5\"", "lat=\"north\""),
    ("unit=\"mm\"", "unit=\"inch\""),
    ("unit=\"mm\"", ""),
    ("<contacts>", "<contacts><email>e</email>"),
    ("</contacts>", "<fax>1</fax></contacts>"),
    ("</offer>", "text</offer>"),
    ("name=\"Colour\"", ""),
    ("name=\"Colour\"", "name=\"a<b\""),
];

/// An offer of which every part may stand anywhere, over several lines.
fn offer(random: &mut SmallRng, number: usize) -> String {
    let mut parts = vec![
        "<title>a</title>",
        "<price currency=\"RUB\">5</price>",
        "<condition>new</condition>",
        "<images>\n<image>u</image>\n</images>",
        "<location lat=\"55.5\" lon=\"37\">Moscow</location>",
        "<dimensions length=\"1\" unit=\"mm\"/>",
        "<contacts>\n<name>n</name>\n<phone>1</phone></contacts>",
        "<attributes><attribute name=\"Colour\">red</attribute></attributes>",
        "<description><![CDATA[<p>x</p>]]> &amp; &#169; </description>",
        "<!-- a </offer> in a comment -->",
    ];
    for place in (1..parts.len()).rev() {
        parts.swap(place, random.random_range(0..=place));
    }
    let mut text = format!("<offer id=\"{number}\">");
    for part in parts {
        let gap = ["", "\n", "\n\n  ", " "][random.random_range(0..4)];
        let _ = write!(text, "{gap}{part}");
    }
    text + "\n</offer>\n"
}

fn file(random: &mut SmallRng) -> (String, &'static str) {
    let count = random.random_range(1..5);
    let mut offers: Vec<String> = (0..count).map(|number| offer(random, number)).collect();
    let (harmed, harm) = (random.random_range(0..count), random.random_range(0..HARM.len() * 3 / 2));
    let mut what = "nothing";
    if let Some((piece, instead)) = HARM.get(harm) {
        offers[harmed] = offers[harmed].replacen(piece, instead, 1);
        what = instead;
    }
    (format!("<feed version=\"1\">\n<offers>\n{}</offers>\n</feed>\n", offers.concat()), what)
}

/// The line of the first thing that is wrong.
fn our_line(text: &str) -> Option<u64> {
    let (records, fatal) = read(text);
    let of_records = records.iter().find_map(|record| {
        let issue = record.issues.first()?;
        Some(if issue.line > 0 { issue.line as u64 } else { record.line })
    });
    of_records.or(fatal.map(|fatal| fatal.line))
}

/// For each file, the line of the first complaint.
fn their_lines(folder: &Path, names: &[String]) -> Vec<Option<u64>> {
    let output = Command::new("xmllint")
        .current_dir(folder)
        .args(["--noout", "--nonet", "--schema", "feed.xsd"])
        .args(names)
        .output()
        .expect("xmllint (Debian package libxml2-utils) is needed; `cargo xtask test` installs it");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let first = |name: &String| {
        let valid = text.lines().any(|line| line == format!("{name} validates"));
        let complaint = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}:"))?.split(':').next()?.parse::<u64>().ok());
        assert_eq!(valid, complaint.is_none(), "{name}: {text}");
        complaint
    };
    names.iter().map(first).collect()
}

#[test]
fn xmllint_agrees() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("feed.xsd"), feeds::SCHEMA).unwrap();
    let mut random = SmallRng::seed_from_u64(1);
    let (mut good, mut bad, mut differ) = (0, 0, Vec::new());
    for _ in 0..FILES / TOGETHER {
        let files: Vec<_> = (0..TOGETHER).map(|_| file(&mut random)).collect();
        let names: Vec<String> = (0..TOGETHER).map(|number| format!("f{number}.xml")).collect();
        for (name, (text, _)) in names.iter().zip(&files) {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        for ((text, what), theirs) in files.iter().zip(their_lines(folder.path(), &names)) {
            let ours = our_line(text);
            if theirs.is_some() {
                bad += 1;
            } else {
                good += 1;
            }
            if ours != theirs {
                differ.push(format!("{what}: ours {ours:?}, theirs {theirs:?}"));
            }
        }
    }
    assert!(good > 200 && bad > 400, "{good} good, {bad} bad");
    differ.sort();
    differ.dedup();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
