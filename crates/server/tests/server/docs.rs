//! What the README and the docs tell people to type is typed here: the shell blocks of each page, from the first to the
//! last in one terminal (`docs/terminal.sh`), in a folder of its own; a command that fails, fails the test. Needs bash and
//! curl.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::program::{dvor, run};

/// Commands that are not run here, and why.
const LEFT_OUT: [(&str, &str); 2] = [
    ("cargo xtask test", "it runs this test"),
    (
        "cargo run -p dvor-geo --example pack -- FOLDER crates/knowledge/geo/data/places.bin",
        "its tables come from three package registries",
    ),
];

/// The repository; tests run in the folder of their package.
const ROOT: &str = "../..";
const TERMINAL: &str = include_str!("docs/terminal.sh");
/// Longer than the commands of a page take on a busy machine.
const PATIENCE_SECONDS: &str = "400";
const COMMANDS: [&str; 3] = ["dvor ", "curl ", "cargo "];

struct Page {
    name: String,
    text: String,
}

/// A fenced block: what stands behind the fence, and the lines in it.
struct Block<'a> {
    language: &'a str,
    /// The line of text above it.
    above: &'a str,
    text: String,
}

fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(Path::new(ROOT).join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            names.push(format!("docs/{}", path.file_name().unwrap().display()));
        }
    }
    let read =
        |name: String| Page { text: std::fs::read_to_string(Path::new(ROOT).join(&name)).unwrap(), name };
    names.into_iter().map(read).collect()
}

impl Page {
    fn blocks(&self) -> Vec<Block<'_>> {
        let (mut blocks, mut above, mut open) = (Vec::new(), "", None::<Block<'_>>);
        for line in self.text.lines() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(language), None) => open = Some(Block { language, above, text: String::new() }),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => writeln!(block.text, "{line}").unwrap(),
                (None, None) if !line.is_empty() => above = line,
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block does not end", self.name);
        blocks
    }

    fn script(&self) -> String {
        self.blocks().into_iter().filter(|block| block.language == "sh").map(|block| block.text).collect()
    }

    /// What stands between backquotes in the text, outside of blocks.
    fn spans(&self) -> Vec<String> {
        let (mut text, mut inside) = (String::new(), false);
        for line in self.text.lines() {
            if line.starts_with("```") {
                inside = !inside;
            } else if !inside {
                text += line;
                text.push(' ');
            }
        }
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }
}

impl Block<'_> {
    /// The name of the file that the block shows: the text above it ends with it, or begins.
    fn file(&self) -> Option<&str> {
        let names = self.above.split('`').skip(1).step_by(2);
        let is_file = |name: &&str| {
            name.contains('.') && name.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c))
        };
        names.filter(is_file).last().filter(|_| self.language.is_empty())
    }
}

/// Files that a reader has, and those that the page shows.
fn furnish(folder: &Path, page: &Page) {
    let example = include_str!("../../../flow/feeds/schema/feed-example.xml");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("goods.xml", &example.replace("https://shop.example", "http://127.0.0.1:9"));
    let packed = std::fs::File::create(folder.join("goods.csv.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    packed.write_all("id;название;категория;цена\n1;Диван угловой;Диваны;15000\n".as_bytes()).unwrap();
    packed.finish().unwrap();
    std::fs::create_dir_all(folder.join("tables")).unwrap();
    write(
        "tables/categories.tsv",
        "id\tparent\tname_en\tname_ru\tattributes\nphones\t\tSmartphones\tСмартфоны\tcolor\nsofas\t\tSofas\tДиваны\tcolor\n",
    );
    write("tables/attributes.tsv", "handle\tname_en\tname_ru\tvalues\ncolor\tColor\tЦвет\tcolor__black\n");
    write("tables/values.tsv", "handle\tname_en\tname_ru\ncolor__black\tBlack\tЧёрный\n");
    for folders in ["home", "tmp", "bin", "db", "var/lib", "srv/backups"] {
        std::fs::create_dir_all(folder.join(folders)).unwrap();
    }
    // An answer that is an error fails the command.
    write("home/.curlrc", "silent\nshow-error\nfail-with-body\n");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dvor"), folder.join("bin/dvor")).unwrap();
    for block in page.blocks() {
        if let Some(name) = block.file() {
            write(name, &block.text);
        }
    }
}

/// Types what the page says; the commands that were left out, or what went wrong.
fn typed(page: &Page) -> Result<BTreeSet<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    furnish(folder.path(), page);
    std::fs::write(folder.path().join("script"), format!("{TERMINAL}{}stop\n", page.script())).unwrap();
    let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    let done = Command::new("timeout")
        .args(["--kill-after=5", PATIENCE_SECONDS, "bash", "script"])
        .current_dir(folder.path())
        .env_clear()
        .envs([("PATH", path.as_str()), ("LANG", "C.UTF-8")])
        .envs([("HOME", folder.path().join("home")), ("TMPDIR", folder.path().join("tmp"))])
        .envs(["DVOR_HTTP", "DVOR_GRPC", "DVOR_SNIPPETS"].map(|port| (port, "127.0.0.1:0")))
        .stdin(std::process::Stdio::null())
        .output()
        .expect("timeout and bash are there");
    if !done.status.success() {
        return Err(format!("{}: {}\n{}", page.name, done.status, String::from_utf8_lossy(&done.stdout)));
    }
    let left = std::fs::read_to_string(folder.path().join("left-out")).unwrap_or_default();
    Ok(left.lines().map(str::to_owned).collect())
}

#[test]
fn every_command_of_the_docs_works_as_written() {
    let pages = pages();
    let with_commands: Vec<_> = pages.iter().filter(|page| !page.script().is_empty()).collect();
    assert!(with_commands.len() > 5, "the pages are not where they were");
    let results: Vec<_> = std::thread::scope(|scope| {
        let typing: Vec<_> = with_commands.iter().map(|page| scope.spawn(|| typed(page))).collect();
        typing.into_iter().map(|page| page.join().unwrap()).collect()
    });
    let wrong: Vec<_> = results.iter().filter_map(|result| result.as_ref().err().cloned()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let left: BTreeSet<_> = results.into_iter().flat_map(Result::unwrap).collect();
    let expected: BTreeSet<_> = LEFT_OUT.iter().map(|(command, _)| (*command).to_owned()).collect();
    assert_eq!(left, expected, "what is left out is in LEFT_OUT with the reason, and nothing else is there");
}

#[test]
fn commands_stand_in_shell_blocks_only() {
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language != "sh") {
            let command =
                block.text.lines().find(|line| COMMANDS.iter().any(|command| line.starts_with(command)));
            assert!(command.is_none(), "{}: this block is not marked «sh»: {command:?}", page.name);
        }
    }
}

/// A command that the text names in passing, such as `dvor config show`, is there, and so are its flags.
#[test]
fn every_command_that_is_named_exists() {
    let mut named = 0;
    for page in pages() {
        for span in page.spans().iter().filter(|span| span.starts_with("dvor ")) {
            let said = run(dvor().args(span.split_whitespace().skip(1)).arg("--help"));
            assert_eq!(said.code, 0, "{}: {span}: {}", page.name, said.err);
            named += 1;
        }
    }
    assert!(named > 15, "{named} commands were found");
}
