//! The Parquet files of the archive: what is in them, how they are written, and how one offer is found without reading
//! the rest.
//!
//! Rows are sorted by id. The column `id` has statistics per page, so a look-up reads the footer with its page index,
//! one page of ids and one page of offers. Pages of offers are small for that reason; zstd over 64 KiB of similar offers
//! still finds most of what they share.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use model::Offer;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{ChunkReader, FileReader as _};
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use prost::Message as _;

use crate::{Error, Result};

/// Kept for ever, as all stored formats: a new column goes to the end, and its absence means what was true before it.
const SCHEMA: &str = "message offer {
    required int64 id;
    required binary seller_id (STRING);
    required int32 status;
    required binary category_id (STRING);
    required binary title (STRING);
    required int64 created_at (TIMESTAMP(MICROS,true));
    required int64 updated_at (TIMESTAMP(MICROS,true));
    required int64 ended_at (TIMESTAMP(MICROS,true));
    required binary offer;
}";
const ID: usize = 0;
const SELLER: usize = 1;
const OFFER: usize = 8;

/// A group of rows is written when it has this many or this much.
const GROUP_ROWS: usize = 8_192;
const GROUP_BYTES: usize = 16 << 20;
const PAGE_BYTES: usize = 64 << 10;
const ID_PAGE_ROWS: usize = 1_024;
/// Values between two looks at a page's size.
const WRITE_BATCH: usize = 16;
const ZSTD_LEVEL: i32 = 9;
/// Rows decoded at a time.
const READ_ROWS: usize = 64;

/// Writes offers, which come sorted by id.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    group: Vec<(Offer, ByteArray)>,
    group_bytes: usize,
    summary: Summary,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub min_id: i64,
    pub max_id: i64,
    pub offers: i64,
}

impl Writer<File> {
    pub fn create(path: &Path) -> Result<Self> {
        Self::new(File::create(path).map_err(|error| Error::Archive(error.to_string()))?)
    }
}

impl<W: Write + Send> Writer<W> {
    pub fn new(out: W) -> Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties()?))?;
        Ok(Self { file, group: Vec::new(), group_bytes: 0, summary: Summary::default() })
    }

    pub fn push(&mut self, offer: Offer) -> Result<()> {
        if self.summary.offers > 0 && offer.id <= self.summary.max_id {
            return Err(Error::Archive(format!("offer {} comes out of order", offer.id)));
        }
        if self.summary.offers == 0 {
            self.summary.min_id = offer.id;
        }
        self.summary.max_id = offer.id;
        self.summary.offers += 1;
        let bytes = ByteArray::from(offer.encode_to_vec());
        self.group_bytes += bytes.len();
        self.group.push((offer, bytes));
        if self.group.len() >= GROUP_ROWS || self.group_bytes >= GROUP_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<Summary> {
        self.write_group()?;
        self.file.close()?;
        Ok(self.summary)
    }

    fn write_group(&mut self) -> Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.group);
        self.group_bytes = 0;
        let mut group = self.file.next_row_group()?;
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let content = |offer: &Offer| offer.content.clone().unwrap_or_default();
        column::<Int64Type, _>(&mut group, rows.iter().map(|(offer, _)| offer.id))?;
        column::<ByteArrayType, _>(&mut group, rows.iter().map(|(offer, _)| text(&offer.seller_id)))?;
        column::<Int32Type, _>(&mut group, rows.iter().map(|(offer, _)| offer.status))?;
        let categories = rows.iter().map(|(offer, _)| text(&content(offer).category_id));
        column::<ByteArrayType, _>(&mut group, categories)?;
        column::<ByteArrayType, _>(&mut group, rows.iter().map(|(offer, _)| text(&content(offer).title)))?;
        column::<Int64Type, _>(&mut group, rows.iter().map(|(offer, _)| offer.created_at))?;
        column::<Int64Type, _>(&mut group, rows.iter().map(|(offer, _)| offer.updated_at))?;
        column::<Int64Type, _>(&mut group, rows.iter().map(|(offer, _)| offer.status_at))?;
        column::<ByteArrayType, _>(&mut group, rows.iter().map(|(_, bytes)| bytes.clone()))?;
        group.close()?;
        Ok(())
    }
}

fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = T::T>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(Error::Archive("the schema has too few columns".into()));
    };
    let values: Vec<_> = values.collect();
    column.typed::<T>().write_batch(&values, None, None)?;
    Ok(column.close()?)
}

fn properties() -> Result<WriterProperties> {
    let path = |name: &str| ColumnPath::from(name);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_created_by("dvor".to_owned())
        .set_write_batch_size(WRITE_BATCH)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_column_statistics_enabled(path("id"), EnabledStatistics::Page)
        .set_column_data_page_row_count_limit(path("id"), ID_PAGE_ROWS);
    for plain in ["id", "title", "created_at", "updated_at", "ended_at", "offer"] {
        properties = properties.set_column_dictionary_enabled(path(plain), false);
    }
    for number in ["id", "created_at", "updated_at", "ended_at"] {
        properties = properties.set_column_encoding(path(number), Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}

fn open<R: ChunkReader + 'static>(source: R) -> Result<SerializedFileReader<R>> {
    let options = ReadOptionsBuilder::new().with_page_index().build();
    Ok(SerializedFileReader::new_with_options(source, options)?)
}

/// The offer of an id, with as few reads as there can be.
pub fn find<R: ChunkReader + 'static>(source: R, id: i64) -> Result<Option<Offer>> {
    let file = open(source)?;
    for group in 0..file.num_row_groups() {
        let metadata = file.metadata().row_group(group);
        if let Some(Statistics::Int64(range)) = metadata.column(ID).statistics()
            && let (Some(min), Some(max)) = (range.min_opt(), range.max_opt())
            && !(*min..=*max).contains(&id)
        {
            continue;
        }
        let Some(rows) = page_of(&file, group, id) else { continue };
        let mut ids = typed::<_, Int64Type>(&file, group, ID)?;
        let found = take(&mut ids, rows.start, rows.len())?;
        let Ok(place) = found.binary_search(&id) else { continue };
        let mut offers = typed::<_, ByteArrayType>(&file, group, OFFER)?;
        return take(&mut offers, rows.start + place, 1)?.first().map(decode).transpose();
    }
    Ok(None)
}

/// The rows of the page that can have the id; without an index, all rows of the group.
fn page_of<R: ChunkReader + 'static>(
    file: &SerializedFileReader<R>,
    group: usize,
    id: i64,
) -> Option<std::ops::Range<usize>> {
    let end = file.metadata().row_group(group).num_rows() as usize;
    let index = file.metadata().page_index_for_row_group(group);
    let (Some(ColumnIndexMetaData::INT64(pages)), Some(places)) =
        (index.column_index(ID), index.offset_index(ID))
    else {
        return Some(0..end);
    };
    let starts = places.page_locations();
    let page = (0..starts.len()).find(|page| {
        let range = pages.min_value(*page).zip(pages.max_value(*page));
        range.is_none_or(|(min, max)| (*min..=*max).contains(&id))
    })?;
    let start = starts[page].first_row_index as usize;
    Some(start..starts.get(page + 1).map_or(end, |next| next.first_row_index as usize))
}

/// Hands out every offer of a seller, until the receiver has enough.
pub fn each_of_seller<R: ChunkReader + 'static>(
    source: R,
    seller: &str,
    mut receive: impl FnMut(Offer) -> bool,
) -> Result<()> {
    let file = open(source)?;
    for group in 0..file.num_row_groups() {
        let rows = file.metadata().row_group(group).num_rows() as usize;
        let mut sellers = typed::<_, ByteArrayType>(&file, group, SELLER)?;
        let mut offers = typed::<_, ByteArrayType>(&file, group, OFFER)?;
        let (mut row, mut read) = (0, 0);
        while row < rows {
            let names = take(&mut sellers, 0, READ_ROWS.min(rows - row))?;
            for (place, name) in names.iter().enumerate() {
                if name.data() != seller.as_bytes() {
                    continue;
                }
                let found = take(&mut offers, row + place - read, 1)?;
                read = row + place + 1;
                let Some(bytes) = found.first() else { break };
                if !receive(decode(bytes)?) {
                    return Ok(());
                }
            }
            row += names.len();
            if names.is_empty() {
                return Err(Error::Archive("a column ends before its group".into()));
            }
        }
    }
    Ok(())
}

/// All offers of a file, in the order of their ids, a few at a time.
pub struct Scan<R: ChunkReader> {
    file: SerializedFileReader<R>,
    group: usize,
    column: Option<ColumnReaderImpl<ByteArrayType>>,
    ready: std::vec::IntoIter<ByteArray>,
}

impl<R: ChunkReader + 'static> Scan<R> {
    pub fn new(source: R) -> Result<Self> {
        Ok(Self { file: open(source)?, group: 0, column: None, ready: Vec::new().into_iter() })
    }

    /// The next offer, until there is none.
    pub fn read(&mut self) -> Result<Option<Offer>> {
        loop {
            if let Some(bytes) = self.ready.next() {
                return decode(&bytes).map(Some);
            }
            let Some(column) = &mut self.column else {
                if self.group == self.file.num_row_groups() {
                    return Ok(None);
                }
                self.column = Some(typed(&self.file, self.group, OFFER)?);
                self.group += 1;
                continue;
            };
            let rows = take(column, 0, READ_ROWS)?;
            if rows.is_empty() {
                self.column = None;
            }
            self.ready = rows.into_iter();
        }
    }
}

fn typed<R: ChunkReader + 'static, T: DataType>(
    file: &SerializedFileReader<R>,
    group: usize,
    column: usize,
) -> Result<ColumnReaderImpl<T>> {
    Ok(get_typed_column_reader(file.get_row_group(group)?.get_column_reader(column)?))
}

fn take<T: DataType>(column: &mut ColumnReaderImpl<T>, skip: usize, rows: usize) -> Result<Vec<T::T>> {
    if skip > 0 {
        column.skip_records(skip)?;
    }
    let mut values = Vec::with_capacity(rows);
    while values.len() < rows {
        let (records, _, _) = column.read_records(rows - values.len(), None, None, &mut values)?;
        if records == 0 {
            break;
        }
    }
    Ok(values)
}

fn decode(bytes: &ByteArray) -> Result<Offer> {
    Offer::decode(bytes.data()).map_err(|error| Error::Archive(error.to_string()))
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        Self::Archive(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn offer(id: i64) -> Offer {
        let content = model::Content {
            title: format!("offer {id}"),
            description: "long ".repeat((id % 700) as usize),
            ..model::Content::default()
        };
        let seller_id = format!("seller-{}", id % 7);
        Offer { id, seller_id, version: 3, content: Some(content), ..Offer::default() }
    }

    fn written(ids: impl Iterator<Item = i64>) -> (Bytes, Summary) {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out).unwrap();
        ids.for_each(|id| writer.push(offer(id)).unwrap());
        let summary = writer.finish().unwrap();
        (out.into(), summary)
    }

    #[test]
    fn every_offer_is_found_and_no_other() {
        let (file, summary) = written((0..20_000).map(|number| number * 3));
        assert_eq!(summary, Summary { min_id: 0, max_id: 59_997, offers: 20_000 });
        for id in [0, 3, 24_573, 24_576, 30_000, 59_997] {
            assert_eq!(find(file.clone(), id).unwrap(), Some(offer(id)));
        }
        for id in [-1, 1, 24_574, 59_998] {
            assert_eq!(find(file.clone(), id).unwrap(), None);
        }
    }

    #[test]
    fn a_scan_brings_all_in_order_and_a_seller_his_own() {
        let (file, _) = written(0..9_000);
        let mut scan = Scan::new(file.clone()).unwrap();
        let mut ids = Vec::new();
        while let Some(found) = scan.read().unwrap() {
            assert_eq!(found, offer(found.id));
            ids.push(found.id);
        }
        assert!(ids.into_iter().eq(0..9_000));
        let mut own = Vec::new();
        each_of_seller(file, "seller-5", |found| {
            own.push(found.id);
            true
        })
        .unwrap();
        assert!(own.into_iter().eq((0..9_000).filter(|id| id % 7 == 5)));
    }

    #[test]
    fn what_is_no_file_of_the_archive_is_an_error() {
        assert!(find(Bytes::from_static(b"PAR1 but no more than that"), 1).is_err());
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.push(offer(2)).unwrap();
        assert!(writer.push(offer(2)).is_err(), "ids are sorted and come once");
    }
}
