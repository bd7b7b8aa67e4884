//! Unpacks traces, by content: gzip, zstd, xz, and the files of a zip archive one after the other.
//! Several layers are removed one by one.
//!
//! All decoders are Rust, and none asks for more than [`WINDOW_MAX`] of memory for its window.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

use crate::source::TraceError;

/// The largest window: what `zstd --long` takes, and twice what `xz -9` does.
const WINDOW_MAX: u64 = 128 << 20;
/// Layers that are taken off at most. More are a joke or an attack.
const LAYERS_MAX: usize = 4;
/// Bytes that tell how something is packed.
const MAGIC: usize = 6;
/// What is read from a file at a time.
const CHUNK: usize = 1 << 16;

type Stream = Box<dyn Read + Send>;

/// The content without what it is packed in.
pub fn unpack(name: &str, mut stream: Stream) -> Result<Stream, TraceError> {
    for _ in 0..LAYERS_MAX {
        let (packing, whole) = peek(stream).map_err(|error| TraceError::io(name, error))?;
        stream = match packing {
            None => return Ok(whole),
            Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(buffered(whole))),
            Some(Packing::Zstd) => Box::new(Zstd { source: Some(buffered(whole)), frame: None }),
            Some(Packing::Xz) => {
                let kib = u32::try_from(2 * WINDOW_MAX / 1024).unwrap_or(u32::MAX);
                Box::new(XzReader::new_mem_limit(buffered(whole), true, kib))
            }
            Some(Packing::Zip) => Box::new(Zip::new(buffered(whole))),
        };
    }
    let error = io::Error::other(format!("packed more than {LAYERS_MAX} times"));
    Err(TraceError::io(name, error))
}

/// How something is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Xz,
    Zip,
}

/// Looks at the first bytes, and gives them back.
fn peek(mut stream: Stream) -> io::Result<(Option<Packing>, Stream)> {
    let mut magic = Vec::with_capacity(MAGIC);
    stream.by_ref().take(MAGIC as u64).read_to_end(&mut magic)?;
    let packing = match magic.as_slice() {
        [0x1f, 0x8b, 8, ..] => Some(Packing::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Some(Packing::Xz),
        [b'P', b'K', 3, 4, ..] => Some(Packing::Zip),
        _ => None,
    };
    Ok((packing, Box::new(Cursor::new(magic).chain(stream))))
}

fn buffered(stream: Stream) -> BufReader<Stream> {
    BufReader::with_capacity(CHUNK, stream)
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Frames of zstd one after the other; those to be skipped are.
struct Zstd {
    source: Option<BufReader<Stream>>,
    frame: Option<StreamingDecoder<BufReader<Stream>, ruzstd::decoding::FrameDecoder>>,
}

impl Read for Zstd {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(out)?;
                if count > 0 || out.is_empty() {
                    return Ok(count);
                }
                let found = frame.decoder.get_calculated_checksum();
                if frame.decoder.get_checksum_from_data().is_some_and(|it| Some(it) != found) {
                    return Err(broken("the checksum of a zstd frame is wrong"));
                }
                self.source = self.frame.take().map(StreamingDecoder::into_inner);
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            let first = source.fill_buf()?;
            if first.is_empty() {
                return Ok(0);
            }
            if (0x50..=0x5f).contains(&first[0]) {
                let mut header = [0; 8];
                source.read_exact(&mut header)?;
                let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
                skip(&mut source, u64::from(length))?;
                self.source = Some(source);
                continue;
            }
            let frame = StreamingDecoder::new_with_max_window_size(source, WINDOW_MAX);
            self.frame = Some(frame.map_err(io::Error::other)?);
        }
    }
}

/// The files of a zip archive one after the other, read from its beginning: stored ones with their
/// length in front, and deflated ones.
///
/// By hand, because a library's reader borrows the archive, and a stream must own what it reads.
struct Zip {
    source: Option<BufReader<Stream>>,
    entry: Option<Entry>,
}

/// The file of an archive that is being read.
struct Entry {
    body: Body,
    crc: Crc,
    /// What its header says: the checksum, unless it follows behind the content.
    expected: Option<u32>,
}

enum Body {
    Stored(io::Take<BufReader<Stream>>),
    Deflated(Box<DeflateDecoder<BufReader<Stream>>>),
}

impl Zip {
    fn new(source: BufReader<Stream>) -> Self {
        Self { source: Some(source), entry: None }
    }

    /// Begins the next file; false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        let Some(mut source) = self.source.take() else { return Ok(false) };
        let mut magic = [0; 4];
        source.read_exact(&mut magic)?;
        if magic != *b"PK\x03\x04" {
            // The directory of the archive, which follows its files.
            return Ok(false);
        }
        let mut header = [0; 26];
        source.read_exact(&mut header)?;
        let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(half(at)) | u32::from(half(at + 2)) << 16;
        let (flags, method) = (half(2), half(4));
        skip(&mut source, u64::from(half(22)) + u64::from(half(24)))?;
        if flags & 1 != 0 {
            return Err(broken("the zip archive is encrypted"));
        }
        let follows = flags & 8 != 0;
        let body = match (method, word(14)) {
            (0, _) if follows => return Err(broken("a stored file of the zip has no length")),
            (0, u32::MAX) => return Err(broken("a stored file of the zip is over 4 GiB")),
            (0, length) => Body::Stored(source.take(u64::from(length))),
            (8, _) => Body::Deflated(Box::new(DeflateDecoder::new(source))),
            _ => return Err(broken("a file of the zip is neither stored nor deflated")),
        };
        let expected = (!follows).then(|| word(10));
        self.entry = Some(Entry { body, crc: Crc::new(), expected });
        Ok(true)
    }

    /// Checks the file that has ended, and goes behind it.
    fn end(&mut self, entry: Entry) -> io::Result<()> {
        let mut source = match entry.body {
            Body::Stored(body) => body.into_inner(),
            Body::Deflated(body) => body.into_inner(),
        };
        let expected = match entry.expected {
            Some(expected) => expected,
            None => descriptor(&mut source)?,
        };
        if expected != entry.crc.sum() {
            return Err(broken("the checksum of a file of the zip is wrong"));
        }
        self.source = Some(source);
        Ok(())
    }
}

impl Read for Zip {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(mut entry) = self.entry.take() else {
                if self.begin()? {
                    continue;
                }
                return Ok(0);
            };
            let count = match &mut entry.body {
                Body::Stored(body) => body.read(out)?,
                Body::Deflated(body) => body.read(out)?,
            };
            if count > 0 || out.is_empty() {
                entry.crc.update(&out[..count]);
                self.entry = Some(entry);
                return Ok(count);
            }
            if let Body::Stored(body) = &entry.body
                && body.limit() > 0
            {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.end(entry)?;
        }
    }
}

/// Reads the checksum behind a file's content, and goes behind the lengths that follow it. Whether
/// they have 4 or 8 bytes each, and whether a signature stands before, the format leaves open.
fn descriptor(source: &mut BufReader<Stream>) -> io::Result<u32> {
    let mut word = [0; 4];
    source.read_exact(&mut word)?;
    if word == *b"PK\x07\x08" {
        source.read_exact(&mut word)?;
    }
    skip(source, 8)?;
    // At the end of the buffer one byte must do.
    let next = source.fill_buf()?;
    if !b"PK".starts_with(&next[..next.len().min(2)]) {
        skip(source, 8)?;
    }
    Ok(u32::from_le_bytes(word))
}

/// Goes on by `count` bytes, which must be there.
fn skip(source: &mut BufReader<Stream>, count: u64) -> io::Result<()> {
    let skipped = io::copy(&mut source.by_ref().take(count), &mut io::sink())?;
    if skipped == count { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests;
