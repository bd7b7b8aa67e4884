//! Writes our own format. Groups are built in memory and appended as a whole, so a full disk costs
//! only the group that does not fit.

use std::io;
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::record::Record;
use crate::sink::Whole;

use super::{COLUMNS, GROUP, Sum, entries, frame, metadata_of, number_of, schema};

/// More than a footer has beside its groups, and than it has for each of them.
const FOOTER: (u64, u64) = (1_024, 512);

/// Writes a trace in our own format.
pub(crate) struct OwnWriter {
    encoder: SerializedFileWriter<Vec<u8>>,
    timed: bool,
    /// Where the frame before ends, in a recording: 0 before the first.
    frames: Option<u64>,
    waiting: Vec<Record>,
    sum: Sum,
    groups: Vec<Written>,
}

/// A group that is in the file.
struct Written {
    metadata: RowGroupMetaData,
    begin: u64,
    /// Of all records up to its end.
    sum: Sum,
}

impl OwnWriter {
    pub(crate) fn new(out: &mut Whole, timed: bool, recording: bool) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(ColumnPath::from(COLUMNS[1]), true)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let schema = schema().map_err(io::Error::other)?;
        let encoder = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties));
        let encoder = encoder.map_err(io::Error::other)?;
        let (waiting, groups) = (Vec::new(), Vec::new());
        let frames = recording.then_some(0);
        let mut new = Self { encoder, timed, frames, waiting, sum: Sum::NEW, groups };
        let magic = new.take_encoded()?;
        out.append(&magic, new.footer_room())?;
        Ok(new)
    }

    pub(crate) fn write(&mut self, out: &mut Whole, mut records: &[Record]) -> io::Result<()> {
        while !records.is_empty() {
            let (now, rest) = records.split_at(records.len().min(GROUP - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            self.sum.add(now);
            records = rest;
            if self.waiting.len() == GROUP {
                self.save(out)?;
            }
        }
        Ok(())
    }

    /// Writes the rows that wait as a group.
    pub(crate) fn save(&mut self, out: &mut Whole) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let begin = out.end();
        self.encode().map_err(io::Error::other)?;
        self.waiting.clear();
        let mut bytes = self.take_encoded()?;
        let metadata = self.encoder.flushed_row_groups().last().cloned();
        let metadata = metadata.expect("a group was written");
        if let Some(previous) = self.frames {
            let at = begin + bytes.len() as u64;
            let mut known = entries(self.timed, self.sum);
            known.extend(frame::entries(at, previous));
            let frame = frame::encode(metadata.clone(), known)?;
            // By the encoder, which counts where the next group begins.
            self.encoder.write_all(&frame)?;
            bytes.extend(self.take_encoded()?);
            self.frames = Some(begin + bytes.len() as u64);
        }
        self.groups.push(Written { metadata, begin, sum: self.sum });
        let appended = out.append(&bytes, self.footer_room());
        if appended.is_err() {
            self.groups.pop();
        }
        appended
    }

    pub(crate) fn finish(&mut self, out: &mut Whole) -> io::Result<()> {
        self.save(out)?;
        out.finish(&self.footer()?)
    }

    /// Ends the file with the groups that are in it; how many records these have. Where there is
    /// no room for the footer, the last groups make it.
    pub(crate) fn keep(&mut self, out: &mut Whole) -> io::Result<u64> {
        let mut end = out.end();
        loop {
            out.cut(end)?;
            match (out.finish(&self.footer()?), self.groups.pop()) {
                (Ok(()), last) => {
                    self.groups.extend(last);
                    let rows = self.groups.iter().map(|group| group.metadata.num_rows());
                    return Ok(rows.sum::<i64>().unsigned_abs());
                }
                (Err(error), None) => return Err(error),
                (Err(_), Some(last)) => end = last.begin,
            }
        }
    }

    fn footer(&self) -> io::Result<Vec<u8>> {
        let groups = self.groups.iter().map(|group| group.metadata.clone()).collect();
        let sum = self.groups.last().map_or(Sum::NEW, |group| group.sum);
        metadata_of(groups, entries(self.timed, sum))
    }

    /// What a recording keeps free for its footer.
    fn footer_room(&self) -> u64 {
        let (fixed, each) = FOOTER;
        if self.frames.is_some() { fixed + each * self.groups.len() as u64 } else { 0 }
    }

    /// What the encoder has made since the last call.
    fn take_encoded(&mut self) -> io::Result<Vec<u8>> {
        self.encoder.flush()?;
        Ok(std::mem::take(self.encoder.inner_mut()))
    }

    fn encode(&mut self) -> Result<(), ParquetError> {
        let longs = |field: fn(&Record) -> u64| {
            self.waiting.iter().map(|it| field(it).cast_signed()).collect::<Vec<i64>>()
        };
        let columns = [longs(|it| it.time.0), longs(|it| it.offset.0), longs(|it| it.length.0)];
        let [times, offsets, lengths] = &columns;
        let kinds: Vec<i32> = self.waiting.iter().map(|it| number_of(it.kind)).collect();
        let mut group = self.encoder.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            match at {
                0 => column.typed::<Int64Type>().write_batch(times, None, None),
                1 => column.typed::<Int32Type>().write_batch(&kinds, None, None),
                2 => column.typed::<Int64Type>().write_batch(offsets, None, None),
                _ => column.typed::<Int64Type>().write_batch(lengths, None, None),
            }?;
            column.close()?;
            at += 1;
        }
        group.close().map(drop)
    }
}
