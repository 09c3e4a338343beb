//! The packed form of the places: columns of text, deflated. Values of one kind stand together, which packs best.

use std::fmt::Write as _;

use crate::places::{Country, Place, Region};

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// What the packed form holds.
pub(crate) struct Unpacked {
    pub(crate) places: Vec<Place>,
    /// Other names of each place.
    pub(crate) others: Vec<Vec<String>>,
    pub(crate) regions: Vec<Region>,
    pub(crate) countries: Vec<Country>,
}

const FORMAT: &str = "places 1";
const SECTION: char = '\u{1e}';
/// More than the whole world in this form: a damaged file must not fill the memory.
const LIMIT: usize = 64 << 20;

/// Packs the three tables of the data archive: places, regions and countries.
pub fn pack(places: &str, regions: &str, countries: &str) -> Result<Vec<u8>, Error> {
    let mut rows: Vec<Vec<&str>> = places.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    if let Some(bad) = rows.iter().position(|row| row.len() != 9 || row[0].parse::<u32>().is_err()) {
        return Err(Error(format!("line {} of the places has not the nine columns it should have", bad + 2)));
    }
    // By country and region, so that neighbours repeat each other.
    rows.sort_by_key(|row| (row[3], row[4], row[0].parse::<u32>().unwrap_or_default()));
    let mut text = format!("{FORMAT}{SECTION}");
    let mut column = |cell: &dyn Fn(&[&str]) -> String| {
        let cells: Vec<String> = rows.iter().map(|row| cell(row)).collect();
        text.push_str(&cells.join("\n"));
        text.push(SECTION);
    };
    column(&|row| row[0].to_owned());
    column(&|row| row[1].to_owned());
    column(&|row| row[2].to_owned());
    column(&|row| format!("{}.{}", row[3], row[4]));
    column(&|row| thousandths(row[5]));
    column(&|row| thousandths(row[6]));
    column(&|row| row[7].to_owned());
    column(&|row| others(row));
    for (table, columns) in [(regions, [0, 2, 3]), (countries, [0, 2, 3])] {
        let mut lines: Vec<String> = Vec::new();
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            lines.push(columns.map(|column| cells.get(column).copied().unwrap_or_default()).join("\t"));
        }
        lines.sort();
        let _ = write!(text, "{}{SECTION}", lines.join("\n"));
    }
    Ok(miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 10))
}

/// A thousandth of a degree is a hundred metres.
fn thousandths(degrees: &str) -> String {
    let degrees: f64 = degrees.parse().unwrap_or_default();
    format!("{:.0}", degrees * 1000.0)
}

/// Other names that an address may hold: Russian ones, and for large places the Latin ones that are not mere
/// transcriptions from other scripts, which are written without capitals.
fn others(row: &[&str]) -> String {
    let large = row[7].parse::<u32>().unwrap_or_default() >= 300_000;
    let russian =
        |name: &str| name.chars().all(|c| matches!(c, 'а'..='я' | 'А'..='Я' | 'ё' | 'Ё' | ' ' | '-'));
    let latin = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphabetic() || " -.".contains(c))
    };
    let wanted = |name: &&str| name.chars().count() > 2 && (russian(name) || (large && latin(name)));
    row[8].split('|').filter(wanted).collect::<Vec<_>>().join("|")
}

pub(crate) fn unpack(packed: &[u8]) -> Result<Unpacked, Error> {
    let damaged = |what: &str| Error(format!("the packed places are damaged: {what}"));
    let bytes = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, LIMIT)
        .map_err(|_| damaged("they cannot be unpacked"))?;
    let text = String::from_utf8(bytes).map_err(|_| damaged("they are not text"))?;
    let sections: Vec<&str> = text.split(SECTION).collect();
    let [format, ids, names, names_ru, regions_of, lats, lons, populations, others, regions, countries, ..] =
        sections[..]
    else {
        return Err(damaged("columns are missing"));
    };
    if format != FORMAT {
        return Err(Error("the places are packed in a form that this version does not know".into()));
    }
    let columns = [ids, names, names_ru, regions_of, lats, lons, populations, others];
    let [ids, mut names, mut names_ru, mut regions_of, mut lats, mut lons, mut populations, mut others] =
        columns.map(|column| column.split('\n'));
    let mut unpacked =
        Unpacked { places: Vec::new(), others: Vec::new(), regions: Vec::new(), countries: Vec::new() };
    for id in ids {
        let short = || damaged("a column is short");
        let degrees = |cell: Option<&str>| {
            cell.and_then(|cell| cell.parse::<f64>().ok())
                .map(|thousandths| thousandths / 1000.0)
                .ok_or_else(short)
        };
        let name = names.next().ok_or_else(short)?;
        let name_ru = names_ru.next().filter(|ru| !ru.is_empty()).unwrap_or(name);
        let region = regions_of.next().ok_or_else(short)?;
        unpacked.places.push(Place {
            id: id.parse().map_err(|_| damaged("an id is not a number"))?,
            name: name.to_owned(),
            name_ru: name_ru.to_owned(),
            country: region.split('.').next().unwrap_or_default().to_owned(),
            region: region.to_owned(),
            lat: degrees(lats.next())?,
            lon: degrees(lons.next())?,
            population: populations.next().and_then(|cell| cell.parse().ok()).ok_or_else(short)?,
        });
        let names = others.next().ok_or_else(short)?;
        unpacked.others.push(names.split('|').filter(|name| !name.is_empty()).map(str::to_owned).collect());
    }
    for (code, name, name_ru) in table(regions) {
        unpacked.regions.push(Region { code, name, name_ru });
    }
    for (code, name, name_ru) in table(countries) {
        unpacked.countries.push(Country { code, name, name_ru });
    }
    Ok(unpacked)
}

fn table(text: &str) -> impl Iterator<Item = (String, String, String)> {
    text.lines().map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        let (code, name) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let name_ru = cells.next().filter(|ru| !ru.is_empty()).unwrap_or_else(|| name.clone());
        (code, name, name_ru)
    })
}
