//! The list of errors as CSV, readable by spreadsheet programs: UTF-8 with its mark, and no cell that would be a formula.

use std::io::{self, Write};

use model::Language;

use super::{Row, headings};

pub struct Csv<W> {
    out: W,
}

impl<W: Write> Csv<W> {
    pub fn begin(mut out: W, language: Language) -> io::Result<Self> {
        out.write_all("\u{FEFF}".as_bytes())?;
        writeln!(out, "{}\r", headings(language).join(","))?;
        Ok(Self { out })
    }

    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        write!(self.out, "{}", row.line)?;
        for cell in row.cells() {
            write!(self.out, ",{}", quoted(cell))?;
        }
        self.out.write_all(b"\r\n")
    }

    pub fn end(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A seller's own text must not be run by the program that shows it.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let apostrophe = if formula { "'" } else { "" };
    if formula || cell.contains([',', '"', '\n', '\r', ';']) {
        return format!("\"{apostrophe}{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_are_text() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "\"'=1+1\""),
            ("@x", "\"'@x\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            assert_eq!(quoted(cell), expected);
        }
    }
}
