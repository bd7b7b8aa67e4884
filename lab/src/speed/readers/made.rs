//! Generated traces of any size and always the same, as other programs write them.

use std::io::{BufWriter, Write};

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;

/// The seed of all made traces.
const SEED: u64 = 6;
/// A TRIM of 4 GiB and one sector's worth of pages: more than 32 bits hold.
const LONG: u64 = (4 << 30) + 4096;

/// What a made trace is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// fio's iolog, version 3.
    Iolog,
    /// The same with writes for TRIMs: fio 3.33 complains of each TRIM, which takes its time.
    Untrimmed,
    /// Events `Q` of blktrace.
    Blktrace,
}

impl Format {
    /// Its name on the command line.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Iolog | Self::Untrimmed => "iolog",
            Self::Blktrace => "blktrace",
        }
    }
}

/// Commands of a made trace: 80 % writes, 14 % reads, 5 % TRIMs, 1 % flushes, over 256 GiB, with
/// whole microseconds between them.
struct Commands {
    rng: Rng,
    microseconds: u64,
    number: u64,
}

/// A command.
struct Made {
    microseconds: u64,
    action: &'static str,
    /// As blktrace has it.
    category: u32,
    offset: u64,
    length: u64,
}

impl Iterator for Commands {
    type Item = Made;

    fn next(&mut self) -> Option<Made> {
        self.microseconds += self.rng.below(100);
        self.number += 1;
        let offset = self.rng.below(64 << 20) * 4096;
        let length = [4096, 8192, 65_536, 131_072][index(self.rng.below(4))];
        let microseconds = self.microseconds;
        let made = |action, category, (offset, length)| {
            Some(Made { microseconds, action, category, offset, length })
        };
        match self.rng.below(100) {
            _ if self.number.is_multiple_of(1000) => made("trim", 1 << 29 | 2 << 16, (0, LONG)),
            0..80 => made("write", 2 << 16, (offset, length)),
            80..94 => made("read", 1 << 16, (offset, length)),
            94..99 => made("trim", 1 << 29 | 2 << 16, (offset, length)),
            _ => made("sync", 4 << 16, (0, 0)),
        }
    }
}

/// Writes the first records of the made trace; how many bytes that took.
pub(super) fn write(
    form: Format,
    out: impl Write,
    (records, bytes): (u64, u64),
) -> Result<(u64, u64)> {
    let mut out = BufWriter::with_capacity(1 << 18, out);
    let commands = Commands { rng: Rng::new(SEED), microseconds: 0, number: 0 };
    let (mut count, mut written) = (0, 0);
    let mut line = Vec::new();
    if form != Format::Blktrace {
        line.extend_from_slice(b"fio version 3 iolog\n0 trace add\n0 trace open\n");
    }
    for made in commands {
        if count == records || written >= bytes {
            break;
        }
        match form {
            Format::Untrimmed if made.action == "trim" => {
                log(&mut line, &Made { action: "write", length: 4096, ..made })?;
            }
            Format::Iolog | Format::Untrimmed => log(&mut line, &made)?,
            Format::Blktrace => event(&mut line, &made),
        }
        out.write_all(&line).context("write a made trace")?;
        written += line.len() as u64;
        line.clear();
        count += 1;
    }
    out.flush().context("write a made trace")?;
    Ok((count, written))
}

/// A line of an iolog.
fn log(line: &mut Vec<u8>, made: &Made) -> Result<()> {
    let Made { microseconds, action, offset, length, .. } = made;
    writeln!(line, "{microseconds} trace {action} {offset} {length}").context("write a line")
}

/// An event `Q` of a machine whose least significant bytes come first. What does not fit into 32
/// bits is cut off, as the block layer would have cut it.
fn event(line: &mut Vec<u8>, made: &Made) {
    let length = u32::try_from(made.length).unwrap_or(u32::MAX - 511);
    line.extend(0x6561_7407_u32.to_le_bytes());
    line.extend(0_u32.to_le_bytes());
    line.extend((made.microseconds * 1_000).to_le_bytes());
    line.extend((made.offset / 512).to_le_bytes());
    for word in [length, made.category | 1, 1, 8 << 20, 0, 0] {
        line.extend(word.to_le_bytes());
    }
}
