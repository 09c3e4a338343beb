//! Tables with a header: CSV with commas, semicolons, bars or tabs; Google's TSV is one of them.

use super::fields::{self, Field};
use super::listed::record_too_long;
use super::recognise::{Format, unknown};
use super::{Found, Source, skeleton};
use crate::fatal::Fatal;
use crate::issue;
use crate::limits::Limits;
use crate::offer::FeedOffer;
use crate::window::Window;

/// Cells of a row behind its last column.
const MAX_EXTRA_CELLS: usize = 1_000;

struct Table {
    separator: u8,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    field: Option<Field>,
    /// Another column before it has this name.
    repeated: bool,
}

/// A table is known by its first line: several columns, of which one is the id or the title.
pub(super) fn recognise(window: &mut Window, limits: &Limits) -> Result<(Format, Box<dyn Source>), Fatal> {
    let head = row_end(window, limits.token_bytes)?;
    let Some(len) = head.filter(|len| !window.data()[..*len].contains(&0)) else {
        return Err(unknown(window));
    };
    let line = skeleton::text(&window.data()[..len]);
    let most = limits.attributes + 1;
    let count = |separator: u8| (cells(line, separator, most).len(), separator);
    let (number, separator) = [b'|', b',', b';', b'\t'].map(count).into_iter().max().unwrap_or_default();
    if number > limits.attributes {
        return Err(Fatal::new("columns_too_many", &[&number.to_string(), &limits.attributes.to_string()]));
    }
    let mut columns: Vec<Column> = Vec::new();
    for name in cells(line, separator, most) {
        let name = name.trim().to_owned();
        let field = fields::field(&name);
        let repeated = columns.iter().any(|column| column.name == name);
        columns.push(Column { name, field, repeated });
    }
    let has = |field| columns.iter().any(|column| column.field == Some(field));
    if number < 2 || !(has(Field::Id) || has(Field::Title)) {
        return Err(unknown(window));
    }
    let google = separator == b'\t'
        && columns
            .iter()
            .any(|column| column.name.ends_with("image_link") || column.name.ends_with("image link"));
    window.consume(len);
    let format = if google { Format::GoogleTsv } else { Format::Csv };
    Ok((format, Box::new(Table { separator, columns })))
}

impl Source for Table {
    fn next(&mut self, window: &mut Window, limits: &Limits) -> Result<Option<Found>, Fatal> {
        loop {
            let data = window.at_least(1)?;
            let blank = data.len() - data.trim_ascii_start().len();
            // An empty first cell is not a blank line.
            let blank = if self.separator == b'\t' {
                data.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count()
            } else {
                blank
            };
            if blank == 0 {
                break;
            }
            window.consume(blank);
        }
        if window.data().is_empty() {
            return Ok(None);
        }
        let line = window.line();
        let Some(len) = row_end(window, limits.record_bytes)? else {
            let data = window.data();
            let beginning = String::from_utf8_lossy(&data[..data.len().min(limits.record_bytes)]);
            let offer = FeedOffer { id: self.id_of(&beginning), ..FeedOffer::default() };
            to_next_line(window)?;
            return Ok(Some(Found { line, offer, issues: vec![record_too_long(limits)], len: 0 }));
        };
        let (offer, issues) = self.row(skeleton::text(&window.data()[..len]));
        Ok(Some(Found { line, offer, issues, len }))
    }
}

impl Table {
    /// Of a row of which only the beginning is there: its id, so that its offer is not taken for one that is gone.
    fn id_of(&self, beginning: &str) -> String {
        let mut cells = cells(beginning, self.separator, self.columns.len() + 1);
        // The last one may be cut.
        cells.pop();
        let place = self.columns.iter().position(|column| column.field == Some(Field::Id));
        place.and_then(|place| cells.get(place)).map(|id| id.trim().to_owned()).unwrap_or_default()
    }

    fn row(&self, row: &str) -> (FeedOffer, Vec<model::Issue>) {
        let mut offer = FeedOffer::default();
        let mut issues = Vec::new();
        // Those behind the last column are counted, but for the hundreds of thousands of a row that means harm.
        let most = self.columns.len() + MAX_EXTRA_CELLS;
        let cells = cells(row, self.separator, most);
        if cells.len() != self.columns.len() {
            let or_more = if cells.len() == most { "+" } else { "" };
            let widths = [format!("{}{or_more}", cells.len()), self.columns.len().to_string()];
            issues.push(issue::with(issue::warning("row_width", "", ""), &[&widths[0], &widths[1]]));
        }
        if row.contains('\0') {
            issues.push(issue::error("control_character", "", ""));
        }
        for (column, cell) in self.columns.iter().zip(&cells) {
            let cell = cell.trim();
            if cell.is_empty() {
                continue;
            }
            match column.field {
                Some(Field::Image | Field::Phone) => fields::set(&mut offer, &column.name, cell, &mut issues),
                Some(field) => fields::put(&mut offer, field, &column.name, cell, &mut issues),
                None if column.repeated => {
                    fields::attribute(&mut offer, &column.name, cell, "");
                    issues.push(issue::warning("repeated", &column.name, cell));
                }
                None => fields::attribute(&mut offer, &column.name, cell, ""),
            }
        }
        (offer, issues)
    }
}

/// The length of the row at the window's beginning with its line end; line ends in quotes do not count. None: too long.
fn row_end(window: &mut Window, most: usize) -> Result<Option<usize>, Fatal> {
    let (mut at, mut quoted) = (0, false);
    loop {
        let data = window.data();
        while let Some(found) = memchr::memchr2(b'\n', b'"', &data[at..]) {
            let place = at + found;
            at = place + 1;
            if data[place] == b'"' {
                quoted = !quoted;
            } else if !quoted {
                return Ok((at <= most).then_some(at));
            }
        }
        at = data.len();
        if at > most {
            return Ok(None);
        }
        if !window.more()? && window.ended() {
            let len = window.data().len();
            // A quote that never ends has swallowed the rest: only its own line is the row.
            let first = memchr::memchr(b'\n', window.data()).map_or(len, |end| end + 1);
            return Ok(Some(if quoted { first } else { len }).filter(|len| *len > 0));
        }
    }
}

fn to_next_line(window: &mut Window) -> Result<(), Fatal> {
    loop {
        let data = window.data();
        if let Some(end) = memchr::memchr(b'\n', data) {
            window.consume(end + 1);
            return Ok(());
        }
        let len = data.len();
        window.consume(len);
        if !window.more()? {
            return Ok(());
        }
    }
}

/// A quote counts where a cell begins with it; elsewhere it is a sign for inches. Of `most` cells the rest is not read.
fn cells(row: &str, separator: u8, most: usize) -> Vec<String> {
    let row = row.trim_end_matches(['\n', '\r']);
    let separator = char::from(separator);
    let mut cells = Vec::new();
    let mut rest = row;
    loop {
        if cells.len() == most {
            return cells;
        }
        let trimmed = rest.trim_start_matches(' ');
        if let Some(mut inside) = trimmed.strip_prefix('"') {
            let mut cell = String::new();
            while let Some((before, after)) = inside.split_once('"') {
                cell.push_str(before);
                inside = after;
                match after.strip_prefix('"') {
                    Some(after) => {
                        cell.push('"');
                        inside = after;
                    }
                    None => break,
                }
            }
            let (tail, next) = inside.split_once(separator).map_or((inside, None), |(a, b)| (a, Some(b)));
            cell.push_str(tail.trim_end());
            cells.push(cell);
            match next {
                Some(next) => rest = next,
                None => return cells,
            }
        } else {
            match rest.split_once(separator) {
                Some((cell, next)) => {
                    cells.push(cell.to_owned());
                    rest = next;
                }
                None => {
                    cells.push(rest.to_owned());
                    return cells;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_divided_outside_of_quotes() {
        for (row, expected) in [
            ("a,b,c\r\n", vec!["a", "b", "c"]),
            ("a,\"b,c\",d", vec!["a", "b,c", "d"]),
            ("\"say \"\"hi\"\"\",", vec!["say \"hi\"", ""]),
            ("19\" wheel,x", vec!["19\" wheel", "x"]),
            ("\"two\nlines\",x", vec!["two\nlines", "x"]),
            ("\"open,x", vec!["open", "x"]),
        ] {
            assert_eq!(cells(row, b',', 9), expected, "{row}");
        }
    }
}
