//! Our own format: a Parquet file that any tool for tables reads.
//!
//! | column | type | |
//! |---|---|---|
//! | `time_ns` | `INT64` (unsigned) | since the beginning of the trace |
//! | `kind` | `INT32` (unsigned, 8 bits) | 0 read, 1 write, 2 discard, 3 flush |
//! | `offset_bytes`, `length_bytes` | `INT64` (unsigned) | |
//!
//! Offsets, lengths and times are delta-coded, kinds by a dictionary; nothing is compressed. Groups
//! of [`GROUP`] rows, so that neither side holds more. The file's own entries:
//! `trimbench.trace` = `1`, the version; `trimbench.timed` = `true` or `false`; `trimbench.sum`, a
//! checksum over all records in their order, for Parquet has none that its writers fill in.
//!
//! A recording has a *frame* behind each group, so that it can be read although its footer was
//! never written: Parquet's metadata of this group alone, with the checksum of all records so far,
//! where it begins (`trimbench.at`) and where the frame before it ends (`trimbench.previous`), then
//! its length and `TBG1` in place of `PAR1`. From the last frame a lenient reader goes back to the
//! first and makes the footer. Other readers of Parquet do not see frames.
//!
//! The library that decodes may panic on a damaged file; that is caught, and an error like others.

use std::cell::Cell;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes as Block;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter,
    RowGroupMetaData,
};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::{SchemaDescriptor, Type};
use trimbench_core::units::index;
use trimbench_core::{Bytes, Nanos};

use crate::format::{ClockOrigin, Detection, Format, OpenTrace, Reading, Writing};
use crate::input::ReadSeek;
use crate::record::{Record, RecordKind};
use crate::source::TraceError;

mod frame;
mod part;
mod writer;

pub(crate) use writer::OwnWriter;

pub(crate) static FORMAT: Format = Format {
    id: "trimbench",
    title: "our own: columns in a Parquet file",
    has_discards: true,
    timestamps: "1 ns, or none",
    grammar: include_str!("own/grammar.txt"),
    sample: "",
    detection: Detection::Beginning("`PAR1` at its beginning", |start| start.starts_with(b"PAR1")),
    clock: Some(ClockOrigin::Trace),
    reading: Reading::Seekable(|name, file, options| {
        let reader = OwnReader::new(name, file, options.lenient)?;
        Ok(OpenTrace { is_timed: reader.timed, reader: Box::new(reader) })
    }),
    writing: Writing::Own,
};

/// Rows of a group: 8 MiB of records.
pub(crate) const GROUP: usize = 1 << 18;
/// The largest footer that is read. That of 10^10 records has about 40 MB.
const FOOTER_MAX: u64 = 1 << 28;
const VERSION: &str = "trimbench.trace";
const TIMED: &str = "trimbench.timed";
const SUM: &str = "trimbench.sum";
const COLUMNS: [&str; 4] = ["time_ns", "kind", "offset_bytes", "length_bytes"];

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// A trace in our own format that is read.
struct OwnReader {
    name: String,
    file: SerializedFileReader<Shared>,
    timed: bool,
    /// What the file says of its records.
    expected: Option<u64>,
    sum: Sum,
    group: usize,
    columns: Option<Columns>,
    /// It was never finished, which is not yet counted: its footer was made of its frames.
    unfinished: bool,
}

/// What went wrong within a file.
#[derive(Debug)]
enum Damage {
    /// A group of rows cannot be decoded, or holds what is no record.
    Group {
        /// Where it begins.
        byte: u64,
        /// Its rows that were not handed out.
        rows: u64,
        /// Why.
        why: OwnFlaw,
    },
    /// The checksum is not that of the records.
    Sum,
}

/// Why a file, or a group of it, cannot be read.
#[derive(Debug, thiserror::Error)]
enum OwnFlaw {
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The library panicked.
    #[error("it is damaged where its decoder did not expect it")]
    Unexpected,
    #[error("it is of version {found}, and this reads version 1")]
    Version { found: String },
    #[error("it is a Parquet file, and no trace of ours")]
    NotOurs,
    #[error("its columns are not those of a trace")]
    Columns,
    #[error("it has no checksum")]
    NoSum,
    #[error("its checksum is no number")]
    WrongSum,
}

/// The columns of a group.
struct Columns {
    time: ColumnReaderImpl<Int64Type>,
    kind: ColumnReaderImpl<Int32Type>,
    offset: ColumnReaderImpl<Int64Type>,
    length: ColumnReaderImpl<Int64Type>,
    byte: u64,
    left: u64,
}

/// The checksum of a sequence of records: FNV-1a over their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum(u64);

/// A file that the library reads in pieces, each from its own place.
struct Shared {
    file: Arc<Mutex<Box<dyn ReadSeek>>>,
    /// How much of it counts.
    length: u64,
    /// What follows there: a footer that the file itself does not have.
    footer: Block,
}

impl OwnReader {
    /// A `lenient` reader takes a recording that was never finished.
    fn new(name: String, mut file: Box<dyn ReadSeek>, lenient: bool) -> Result<Self, TraceError> {
        let io = |error| TraceError::io(&name, error);
        let (length, footer) = match footer(&mut file) {
            Ok(length) => (length, Block::new()),
            Err(error) if lenient => match frame::salvage(&mut *file).map_err(io)? {
                Some((length, footer)) => (length, footer),
                None => return Err(io(error)),
            },
            Err(error) => return Err(io(error)),
        };
        let unfinished = !footer.is_empty();
        let shared = Shared { file: Arc::new(Mutex::new(file)), length, footer };
        let opened = guarded(|| SerializedFileReader::new(shared));
        let file = opened.map_err(|why| damaged(&name, why))?;
        let (timed, expected) =
            about(file.metadata().file_metadata()).map_err(|why| damaged(&name, why))?;
        let (group, columns) = (0, None);
        Ok(Self { name, file, timed, expected, sum: Sum::NEW, group, columns, unfinished })
    }

    /// Puts at most `most` records into `batch`, none at the end. After damage the next call goes
    /// on with the next group.
    fn next_records(&mut self, batch: &mut Vec<Record>, most: usize) -> Result<(), Damage> {
        loop {
            let mut columns = match self.columns.take() {
                Some(columns) if columns.left > 0 => columns,
                _ if self.group < self.file.num_row_groups() => self.open()?,
                _ => {
                    let right = self.expected.take().is_none_or(|sum| sum == self.sum.0);
                    return if right { Ok(()) } else { Err(Damage::Sum) };
                }
            };
            let (byte, rows) = (columns.byte, columns.left);
            guarded(|| columns.read(batch, most)).map_err(|why| {
                // What is left out cannot be in the sum.
                self.expected = None;
                Damage::Group { byte, rows, why }
            })?;
            self.columns = Some(columns);
            if !batch.is_empty() {
                self.sum.add(batch);
                return Ok(());
            }
        }
    }

    /// The next group.
    fn open(&mut self) -> Result<Columns, Damage> {
        let (file, group) = (&self.file, self.group);
        self.group += 1;
        let metadata = file.metadata().row_group(group);
        let byte = metadata.columns().first().map_or(0, ColumnChunkMetaData::data_page_offset);
        let byte = u64::try_from(byte).unwrap_or(0);
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let opened = guarded(|| {
            let group = file.get_row_group(group)?;
            Ok(Columns {
                time: get_typed_column_reader(group.get_column_reader(0)?),
                kind: get_typed_column_reader(group.get_column_reader(1)?),
                offset: get_typed_column_reader(group.get_column_reader(2)?),
                length: get_typed_column_reader(group.get_column_reader(3)?),
                byte,
                left: rows,
            })
        });
        opened.map_err(|why| {
            self.expected = None;
            Damage::Group { byte, rows, why }
        })
    }
}

impl Columns {
    fn read(&mut self, batch: &mut Vec<Record>, most: usize) -> Result<(), ParquetError> {
        let wanted = index(self.left.min(most as u64));
        if wanted == 0 {
            return Err(ParquetError::General("a group has no rows".to_owned()));
        }
        let time = rows(&mut self.time, wanted)?;
        let kind = rows(&mut self.kind, wanted)?;
        let offset = rows(&mut self.offset, wanted)?;
        let length = rows(&mut self.length, wanted)?;
        self.left -= wanted as u64;
        for at in 0..wanted {
            let record = Record {
                time: Nanos(time[at].cast_unsigned()),
                kind: kind_of(kind[at])?,
                offset: Bytes(offset[at].cast_unsigned()),
                length: Bytes(length[at].cast_unsigned()),
            };
            if record.offset.0.checked_add(record.length.0).is_none() {
                return Err(ParquetError::General("a range ends beyond 2^64".to_owned()));
            }
            batch.push(record);
        }
        Ok(())
    }
}

impl Sum {
    const NEW: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, records: &[Record]) {
        let mut sum = self.0;
        for record in records {
            let kind = u64::from(number_of(record.kind).unsigned_abs());
            for word in [record.time.0, kind, record.offset.0, record.length.0] {
                sum = (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
            }
        }
        self.0 = sum;
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.length + self.footer.len() as u64
    }
}

impl ChunkReader for Shared {
    type T = BufReader<Cursor<Block>>;

    /// The library reads the header of a page so, of which it cannot know the length.
    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        const HEADER: u64 = 1 << 12;
        let length = HEADER.min(self.len().saturating_sub(start));
        Ok(BufReader::new(Cursor::new(self.get_bytes(start, index(length))?)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Block> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not there")));
        }
        let of_file = length.min(index(self.length.saturating_sub(start)));
        let mut bytes = vec![0; of_file];
        if of_file > 0 {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut bytes)?;
        }
        let within = index(start.saturating_sub(self.length));
        bytes.extend_from_slice(&self.footer[within..within + length - of_file]);
        Ok(Block::from(bytes))
    }
}

/// The length of a file whose footer may be read.
fn footer(file: &mut Box<dyn ReadSeek>) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    if length < 12 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut off"));
    }
    let mut end = [0; 8];
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut end)?;
    let footer = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    if end[4..] != *b"PAR1" {
        let text = "its end is not that of a Parquet file: it is cut off or damaged; \
                    `--lenient` reads what a recording has left";
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    if footer > FOOTER_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its footer is too long"));
    }
    Ok(length)
}

/// Whether it has stamps, and its checksum; or why it is not ours.
fn about(metadata: &FileMetaData) -> Result<(bool, Option<u64>), OwnFlaw> {
    let value = |key| value(metadata, key);
    match value(VERSION) {
        Some("1") => {}
        Some(other) => return Err(OwnFlaw::Version { found: other.to_owned() }),
        None => return Err(OwnFlaw::NotOurs),
    }
    if metadata.schema_descr().root_schema() != schema()?.as_ref() {
        return Err(OwnFlaw::Columns);
    }
    let timed = value(TIMED) != Some("false");
    let sum = value(SUM).ok_or(OwnFlaw::NoSum)?;
    let sum = u64::from_str_radix(sum, 16).map_err(|_| OwnFlaw::WrongSum)?;
    Ok((timed, Some(sum)))
}

/// The file's own entry of this name.
fn value<'a>(metadata: &'a FileMetaData, key: &str) -> Option<&'a str> {
    let entries = metadata.key_value_metadata().into_iter().flatten();
    entries.into_iter().find(|entry| entry.key == key)?.value.as_deref()
}

/// Parquet's metadata of these groups, with its length and magic number behind it.
fn metadata_of(groups: Vec<RowGroupMetaData>, entries: Vec<KeyValue>) -> io::Result<Vec<u8>> {
    let schema = Arc::new(SchemaDescriptor::new(schema().map_err(io::Error::other)?));
    let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
    let by = Some("trimbench".to_owned());
    let file = FileMetaData::new(1, rows, by, Some(entries), schema, None);
    let mut bytes = Vec::new();
    let metadata = ParquetMetaData::new(file, groups);
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().map_err(io::Error::other)?;
    Ok(bytes)
}

/// What every file says of itself.
fn entries(timed: bool, sum: Sum) -> Vec<KeyValue> {
    let timed = if timed { "true" } else { "false" };
    vec![entry(VERSION, "1"), entry(TIMED, timed), entry(SUM, &format!("{:016x}", sum.0))]
}

fn entry(key: &str, value: &str) -> KeyValue {
    KeyValue::new(key.to_owned(), value.to_owned())
}

fn damaged(name: &str, why: OwnFlaw) -> TraceError {
    TraceError::io(name, io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Whether a panic of this thread would be caught now, and become an error: a hook for panics need
/// not speak of it.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// What the library does, with its panics on damaged files as errors.
fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, OwnFlaw> {
    GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    Ok(result.map_err(|_| OwnFlaw::Unexpected)??)
}

/// Reads exactly `wanted` rows of a column.
fn rows<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    wanted: usize,
) -> Result<Vec<T::T>, ParquetError> {
    let mut values = Vec::new();
    let (found, ..) = column.read_records(wanted, None, None, &mut values)?;
    if found != wanted {
        let text = format!("a column of a group has {found} of {wanted} rows");
        return Err(ParquetError::General(text));
    }
    Ok(values)
}

fn kind_of(number: i32) -> Result<RecordKind, ParquetError> {
    let kind = usize::try_from(number).ok().and_then(|number| RecordKind::ALL.get(number).copied());
    kind.ok_or_else(|| ParquetError::General(format!("{number} is no kind of command")))
}

fn number_of(kind: RecordKind) -> i32 {
    match kind {
        RecordKind::Read => 0,
        RecordKind::Write => 1,
        RecordKind::Discard => 2,
        RecordKind::Flush => 3,
    }
}

fn schema() -> Result<Arc<Type>, ParquetError> {
    let column = |name: &str, physical: Physical, bits: i8| {
        let logical = LogicalType::integer(bits, false);
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(logical))
            .build()
            .map(Arc::new)
    };
    let [time, kind, offset, length] = COLUMNS;
    let fields = vec![
        column(time, Physical::INT64, 64)?,
        column(kind, Physical::INT32, 8)?,
        column(offset, Physical::INT64, 64)?,
        column(length, Physical::INT64, 64)?,
    ];
    Type::group_type_builder("trace").with_fields(fields).build().map(Arc::new)
}
