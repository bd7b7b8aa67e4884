//! A small trace in each format that is read, for the replays among the cases.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Nanos};
use trimbench_trace::{Format, Record, RecordKind, Writer};

/// Commands of the trace.
const COMMANDS: u64 = 20_000;
/// What its commands lie in.
const SPAN: Bytes = Bytes(1 << 30);
const UNIT: u64 = 4096;
const SECTOR: u64 = 512;

/// Writes `FORMAT.trace` into `folder` for each format.
pub(super) fn write(folder: &Path) -> Result<()> {
    let records = records();
    for format in Format::ALL {
        let path = folder.join(format!("{}.trace", format.id()));
        let result = match format {
            Format::Trimbench | Format::Iolog | Format::Blkparse => own(&path, format, &records),
            Format::Blktrace => fs::write(&path, events(&records)).map_err(Into::into),
            _ => fs::write(&path, text(format, &records)).map_err(Into::into),
        };
        result.with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// Mostly writes; a TRIM is of 1 MiB.
fn records() -> Vec<Record> {
    let mut rng = Rng::new(1);
    let record = |number: u64| {
        let (kind, units) = match rng.below(20) {
            0..=12 => (RecordKind::Write, 1 + rng.below(32)),
            13..=15 => (RecordKind::Read, 1 + rng.below(8)),
            16..=18 => (RecordKind::Discard, 256),
            _ => (RecordKind::Flush, 0),
        };
        let length = Bytes(units * UNIT);
        let places = (SPAN.0 - length.0) / UNIT;
        let offset = if kind == RecordKind::Flush { 0 } else { rng.below(places) * UNIT };
        Record { time: Nanos::from_micros(100 * number), kind, offset: Bytes(offset), length }
    };
    (0..COMMANDS).map(record).collect()
}

fn own(path: &Path, format: Format, records: &[Record]) -> Result<()> {
    let file = File::create(path)?;
    let mut writer = Writer::new(format, Box::new(file), true, false)?;
    writer.write(records)?;
    writer.finish()?;
    Ok(())
}

/// A line for each command that the format knows.
fn text(format: Format, records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let (micros, seconds) = (record.time.0 / 1_000, record.time.0 as f64 / 1e9);
        let (offset, length) = (record.offset.0, record.length.0);
        let (sector, sectors) = (offset / SECTOR, length / SECTOR);
        let known = match (format, record.kind) {
            (Format::Jedec, RecordKind::Flush) => writeln!(text, "Flush"),
            (Format::Jedec, RecordKind::Discard) => writeln!(text, "Trims {sector} {sectors}"),
            (Format::Jedec, kind) => writeln!(text, "{} {sector} {sectors}", word(kind)),
            (Format::Midas, RecordKind::Discard) => {
                writeln!(text, "{seconds:.6} 3 {} {length}", offset / UNIT)
            }
            (_, RecordKind::Discard | RecordKind::Flush) => Ok(()),
            (Format::Midas, kind) => {
                let number = u8::from(kind == RecordKind::Write);
                writeln!(text, "{seconds:.6} {number} {} {length}", offset / UNIT)
            }
            (Format::Msr, kind) => {
                let ticks = 128_166_372_000_000_000 + 10 * micros;
                writeln!(text, "{ticks},hm,1,{},{offset},{length},413", word(kind))
            }
            (Format::Alibaba, kind) => {
                let stamp = 1_577_808_144_000_000 + micros;
                writeln!(text, "419,{},{offset},{length},{stamp}", &word(kind)[..1])
            }
            (Format::Tencent, kind) => {
                let (stamp, number) =
                    (1_538_323_200 + micros / 1_000_000, kind == RecordKind::Write);
                writeln!(text, "{stamp},{sector},{sectors},{},1063", u8::from(number))
            }
            (_, kind) => {
                writeln!(text, "0,{sector},{length},{},{seconds:.6}", &word(kind)[..1])
            }
        };
        known.expect("a text takes what is written to it");
    }
    text
}

fn word(kind: RecordKind) -> &'static str {
    if kind == RecordKind::Read { "Read" } else { "Write" }
}

/// blktrace's events of what is queued, as a little-endian processor writes them.
fn events(records: &[Record]) -> Vec<u8> {
    const MAGIC: u32 = 0x6561_7407;
    const DEVICE: u32 = 8 << 20;
    const QUEUED: u32 = 1;
    let mut file = Vec::new();
    for (number, record) in (0_u32..).zip(records) {
        let kind = match record.kind {
            RecordKind::Read => 1 << 16,
            RecordKind::Write => 2 << 16,
            RecordKind::Flush => 4 << 16,
            RecordKind::Discard => 1 << 29 | 2 << 16,
        };
        let length = u32::try_from(record.length.0).expect("commands are short");
        file.extend([MAGIC, number].map(u32::to_le_bytes).concat());
        file.extend([record.time.0, record.offset.0 / SECTOR].map(u64::to_le_bytes).concat());
        // Bytes, action, process, device, processor; then the error and what follows it, nothing.
        file.extend([length, kind | QUEUED, 42, DEVICE, 0].map(u32::to_le_bytes).concat());
        file.extend([0_u16, 0].map(u16::to_le_bytes).concat());
    }
    file
}
