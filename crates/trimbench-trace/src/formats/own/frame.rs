//! The frame after each group of a recording, which makes it readable without its footer.

use std::io::{self, SeekFrom};

use bytes::Bytes as Block;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use trimbench_core::units::index;

use crate::input::ReadSeek;

use super::{Sum, about, entry, guarded, metadata_of, value};

/// In place of Parquet's `PAR1`, which would make other readers take the one group for the whole.
const MAGIC: [u8; 4] = *b"TBG1";
const AT: &str = "trimbench.at";
const PREVIOUS: &str = "trimbench.previous";
/// Behind the metadata: its length, the magic number.
const TAIL: u64 = 8;
/// Longer than any frame.
const LONGEST: u64 = 1 << 16;
/// How far before the end the last frame is looked for: farther than the largest group is long.
const SEARCH: u64 = 64 << 20;
/// How much of that is read at a time.
const STEP: u64 = 1 << 20;

/// A frame that was found.
struct Frame {
    metadata: ParquetMetaData,
    previous: u64,
}

/// What a frame says beside a footer's entries: where it begins, and where the one before it ends.
pub(super) fn entries(at: u64, previous: u64) -> [KeyValue; 2] {
    [entry(AT, &at.to_string()), entry(PREVIOUS, &previous.to_string())]
}

/// The frame of a group.
pub(super) fn encode(group: RowGroupMetaData, entries: Vec<KeyValue>) -> io::Result<Vec<u8>> {
    let mut bytes = metadata_of(vec![group], entries)?;
    let magic = bytes.len() - MAGIC.len();
    bytes[magic..].copy_from_slice(&MAGIC);
    Ok(bytes)
}

/// The length of what is whole of a recording that was not finished, and the footer that it should
/// have there; `None` if there is no frame, or a frame before it is damaged.
pub(super) fn salvage(file: &mut dyn ReadSeek) -> io::Result<Option<(u64, Block)>> {
    let Some((end, last)) = last(file)? else { return Ok(None) };
    let Ok((timed, Some(sum))) = about(last.metadata.file_metadata()) else { return Ok(None) };
    let mut groups = last.metadata.row_groups().to_vec();
    let mut before = (end, last.previous);
    while before.1 != 0 {
        // Frames only ever lead towards the beginning.
        let found = if before.1 < before.0 { frame(file, before.1)? } else { None };
        let Some(Frame { metadata, previous }) = found else { return Ok(None) };
        groups.extend_from_slice(metadata.row_groups());
        before = (before.1, previous);
    }
    groups.reverse();
    let footer = metadata_of(groups, super::entries(timed, Sum(sum)))?;
    Ok(Some((end, Block::from(footer))))
}

/// The last whole frame, and where it ends.
fn last(file: &mut dyn ReadSeek) -> io::Result<Option<(u64, Frame)>> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut end, mut window) = (length, Vec::new());
    while end > length.saturating_sub(SEARCH) {
        let begin = end.saturating_sub(STEP);
        // A magic number may lie across the border to what was looked at before.
        let overlap = (length - end).min(MAGIC.len() as u64 - 1);
        window.resize(index(end + overlap - begin), 0);
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(&mut window)?;
        for place in memchr::memmem::rfind_iter(&window, &MAGIC) {
            let ends = begin + (place + MAGIC.len()) as u64;
            if let Some(found) = frame(file, ends)? {
                return Ok(Some((ends, found)));
            }
        }
        end = begin;
    }
    Ok(None)
}

/// The frame that ends at `end`, if one does.
fn frame(file: &mut dyn ReadSeek, end: u64) -> io::Result<Option<Frame>> {
    let Some(tail) = end.checked_sub(TAIL) else { return Ok(None) };
    let mut bytes = [0; index(TAIL)];
    file.seek(SeekFrom::Start(tail))?;
    file.read_exact(&mut bytes)?;
    let [a, b, c, d, ref magic @ ..] = bytes;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let begin = tail.checked_sub(length).filter(|_| length <= LONGEST && *magic == MAGIC);
    let Some(begin) = begin else { return Ok(None) };
    let mut bytes = vec![0; index(length)];
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut bytes)?;
    let Ok(metadata) = guarded(|| ParquetMetaDataReader::decode_metadata(&bytes)) else {
        return Ok(None);
    };
    let number = |key| value(metadata.file_metadata(), key)?.parse::<u64>().ok();
    let (at, previous) = (number(AT), number(PREVIOUS));
    Ok(previous.filter(|_| at == Some(begin)).map(|previous| Frame { metadata, previous }))
}
