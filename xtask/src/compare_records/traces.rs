//! A small trace in each format that is read, for the replays among the cases.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Nanos};
use trimbench_trace::{FORMATS, Format, Record, RecordKind, Writer};

/// Commands of the trace.
const COMMANDS: u64 = 20_000;
/// What its commands lie in.
const SPAN: Bytes = Bytes(1 << 30);
const UNIT: u64 = 4096;

/// Writes `FORMAT.trace` into `folder` for each format.
pub(super) fn write(folder: &Path) -> Result<()> {
    let records = records();
    for format in FORMATS {
        let path = folder.join(format!("{}.trace", format.id));
        let result = match format.example(&records) {
            Some(file) => fs::write(&path, file).map_err(Into::into),
            None => written(&path, format, &records),
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

fn written(path: &Path, format: &'static Format, records: &[Record]) -> Result<()> {
    let file = File::create(path)?;
    let mut writer = Writer::new(format, Box::new(file), true, false)?;
    writer.write(records)?;
    writer.finish()?;
    Ok(())
}
