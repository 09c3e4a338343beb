//! The list of errors as XLSX, row by row in constant memory; what does not fit on one sheet goes on on the next.

use std::io::{Seek, Write};

use model::Language;
use rust_xlsxwriter::{Format, Workbook, Worksheet, XlsxError};

use super::{Row, headings};

/// Of one sheet, with the headings.
const SHEET_ROWS: u32 = 1_048_576;
/// A cell holds no more.
const CELL_CHARACTERS: usize = 32_767;

pub struct Xlsx {
    book: Workbook,
    language: Language,
    sheets: usize,
    next_row: u32,
    sheet_rows: u32,
}

impl Xlsx {
    pub fn begin(language: Language) -> Result<Self, XlsxError> {
        Self::with_sheets_of(language, SHEET_ROWS)
    }

    fn with_sheets_of(language: Language, sheet_rows: u32) -> Result<Self, XlsxError> {
        let mut xlsx = Self { book: Workbook::new(), language, sheets: 0, next_row: 0, sheet_rows };
        xlsx.next_sheet()?;
        Ok(xlsx)
    }

    pub fn add(&mut self, row: &Row) -> Result<(), XlsxError> {
        if self.next_row >= self.sheet_rows {
            self.next_sheet()?;
        }
        let at = self.next_row;
        let sheet = self.sheet()?;
        sheet.write_number(at, 0, row.line as f64)?;
        for (column, cell) in (1..).zip(row.cells()) {
            let cell: String = cell.chars().take(CELL_CHARACTERS).collect();
            sheet.write_string(at, column, cell)?;
        }
        self.next_row += 1;
        Ok(())
    }

    pub fn end(mut self, out: impl Write + Seek + Send) -> Result<(), XlsxError> {
        self.book.save_to_writer(out)
    }

    fn sheet(&mut self) -> Result<&mut Worksheet, XlsxError> {
        self.book.worksheet_from_index(self.sheets - 1)
    }

    fn next_sheet(&mut self) -> Result<(), XlsxError> {
        self.sheets += 1;
        let name = match self.language {
            Language::English => format!("Issues {}", self.sheets),
            Language::Russian => format!("Ошибки {}", self.sheets),
        };
        let bold = Format::new().set_bold();
        let headings = headings(self.language);
        let sheet = self.book.add_worksheet_with_constant_memory()?;
        sheet.set_name(name)?;
        sheet.set_freeze_panes(1, 0)?;
        for (column, width) in (0..).zip([8.0, 18.0, 40.0, 10.0, 12.0, 18.0, 30.0, 60.0, 30.0, 22.0]) {
            sheet.set_column_width(column, width)?;
        }
        for (column, heading) in (0..).zip(headings) {
            sheet.write_string_with_format(0, column, heading, &bold)?;
        }
        self.next_row = 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_full_sheet_is_followed_by_another() {
        let mut xlsx = Xlsx::with_sheets_of(Language::English, 4).unwrap();
        let row = Row {
            line: 7,
            external_id: "A".into(),
            title: "=title".into(),
            level: "error",
            r#type: "validation",
            code: "required".into(),
            field: "price".into(),
            value: String::new(),
            message: "price is missing".into(),
            suggestion: String::new(),
        };
        for _ in 0..7 {
            xlsx.add(&row).unwrap();
        }
        assert_eq!((xlsx.sheets, xlsx.next_row), (3, 2));
        let mut file = Cursor::new(Vec::new());
        xlsx.end(&mut file).unwrap();
        assert!(file.into_inner().starts_with(b"PK"));
    }
}
