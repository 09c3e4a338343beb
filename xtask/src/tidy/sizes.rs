//! The sizes of files and functions.

use super::Source;
use super::mask::mask;

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 60;

/// A file (no function) or a function over its limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Oversize {
    pub(super) path: String,
    pub(super) function: Option<String>,
    pub(super) line: usize,
    pub(super) lines: usize,
    pub(super) limit: usize,
}

pub(super) fn oversize(source: &Source) -> Vec<Oversize> {
    if !source.is_rust() {
        return Vec::new();
    }
    let over =
        |function, line, lines, limit| Oversize { path: source.path.clone(), function, line, lines, limit };
    let mut found = Vec::new();
    let lines = source.text.lines().count();
    if lines > FILE_LINES {
        found.push(over(None, 1, lines, FILE_LINES));
    }
    if is_test_file(&source.path) {
        return found;
    }
    let long = functions(&source.text).into_iter().filter(|function| function.lines > FUNCTION_LINES);
    found.extend(
        long.map(|function| over(Some(function.name), function.line, function.lines, FUNCTION_LINES)),
    );
    found
}

/// A test tells a story in a row; only its file is measured.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|folder| folder == "tests")
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// The functions with a body, from `fn` to the closing brace, outside of `#[cfg(test)]` modules.
fn functions(text: &str) -> Vec<Function> {
    let code = mask(text);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((start, end)) = next_word(&code, at) {
        at = end;
        match &code[start..end] {
            "mod" if is_test_module(&code[..start]) => {
                at = body(&code, end).map_or(end, |(_, close)| close);
            }
            "fn" => {
                // In `fn(u32) -> u32`, a type, no name follows.
                let Some((name_start, name_end)) = next_word(&code, end) else { break };
                if !code[end..name_start].trim().is_empty() {
                    continue;
                }
                if let Some((_, close)) = body(&code, name_end) {
                    let name = code[name_start..name_end].to_owned();
                    let lines = 1 + count_lines(&code[start..close]);
                    found.push(Function { name, line: 1 + count_lines(&code[..start]), lines });
                }
            }
            _ => {}
        }
    }
    found
}

fn count_lines(code: &str) -> usize {
    code.bytes().filter(|byte| *byte == b'\n').count()
}

fn next_word(code: &str, from: usize) -> Option<(usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = from + code[from..].find(is_word)?;
    let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |length| start + length);
    Some((start, end))
}

/// Whether the attributes right before a `mod` make it a test module.
fn is_test_module(before: &str) -> bool {
    let item_start = before.rfind([';', '}', '{']).map_or(0, |position| position + 1);
    let attributes: String = before[item_start..].split_whitespace().collect();
    attributes.contains("#[cfg(test)]") || attributes.contains("#[cfg(all(test")
}

/// The braces of the item whose signature starts at `from`; None if it ends with a semicolon.
fn body(code: &str, from: usize) -> Option<(usize, usize)> {
    let mut nested = 0_i32;
    let open = from
        + code[from..].bytes().position(|byte| {
            match byte {
                b'(' | b'[' => nested += 1,
                b')' | b']' => nested -= 1,
                _ => {}
            }
            // The `;` of `[u8; 4]` is inside of brackets.
            nested == 0 && matches!(byte, b'{' | b';')
        })?;
    if code.as_bytes()[open] == b';' {
        return None;
    }
    let mut depth = 0_i32;
    let length = code[open..].bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some((open, open + length + 1))
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn names(text: &str) -> Vec<(String, usize, usize)> {
        functions(text).into_iter().map(|found| (found.name, found.line, found.lines)).collect()
    }

    #[test]
    fn functions_are_found_with_their_lines() {
        let text = "type F = fn(u32);\nfn a() { \"}\" }\nimpl X {\n    pub fn b(x: [u8; 2])\n    {\n        '}';\n    }\n}\n";
        assert_eq!(names(text), [("a".into(), 2, 1), ("b".into(), 4, 4)]);
        assert_eq!(names("trait T { fn a(); fn b() {\n} }"), [("b".into(), 1, 2)]);
    }

    #[test]
    fn nested_functions_count_too() {
        assert_eq!(names("fn a() {\nfn b() {\n}\n}\n"), [("a".into(), 1, 4), ("b".into(), 2, 2)]);
    }

    #[test]
    fn test_modules_are_left_out() {
        assert_eq!(names("#[cfg(test)]\nmod tests {\n fn a() {}\n}\nfn b() {}\n"), [("b".into(), 5, 1)]);
        assert_eq!(names("#[cfg(test)]\nmod tests;\nfn b() {}\n"), [("b".into(), 3, 1)]);
        assert_eq!(names("mod x { fn a() {} }").len(), 1);
    }

    #[test]
    fn long_functions_and_files_are_reported() {
        let long = format!("fn long() {{\n{}}}\n", "    x;\n".repeat(59));
        let found = oversize(&source("crates/a/src/x.rs", &long));
        assert_eq!((found.len(), found[0].lines, found[0].function.as_deref()), (1, 61, Some("long")));
        assert!(oversize(&source("crates/a/tests/x.rs", &long)).is_empty());
        assert!(oversize(&source("x.rs", &long.replacen("x;\n", "", 1))).is_empty());

        let found = oversize(&source("x.rs", &"//\n".repeat(501)));
        assert_eq!((found.len(), found[0].lines, found[0].function.as_deref()), (1, 501, None));
        assert!(oversize(&source("x.md", &"a\n".repeat(501))).is_empty());
    }
}
