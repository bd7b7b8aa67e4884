//! Reads the records of a file in our own format: in order, strictly or not.

use crate::format::shared::Shared;
use crate::format::{BATCH, BatchReader};
use crate::record::Record;
use crate::source::{TraceError, TracePosition};
use crate::tally::Flaw;

use super::{Damage, OwnReader};

impl BatchReader for OwnReader {
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        if std::mem::take(&mut self.unfinished) {
            shared.tally.flaw(Flaw::Cut);
        }
        loop {
            let Err(damage) = self.next_records(batch, BATCH) else {
                let name = &self.name;
                return batch.iter_mut().try_for_each(|record| order(record, name, shared));
            };
            batch.clear();
            match damage {
                _ if !shared.lenient => return Err(damage.error(&self.name)),
                Damage::Group { rows, .. } => shared.tally.count(Flaw::Group, rows),
                Damage::Sum => shared.tally.flaw(Flaw::Sum),
            }
        }
    }
}

/// Gives a record a stamp that is not before the last.
#[inline]
fn order(record: &mut Record, name: &str, shared: &mut Shared) -> Result<(), TraceError> {
    let (time, right) = shared.clock.stamp(record.time.0, false);
    if !right {
        if !shared.lenient {
            return Err(TraceError::Broken {
                name: name.to_owned(),
                place: TracePosition::Byte(0),
                found: format!("a stamp of {} ns after one of {} ns", record.time.0, time.0),
                expected: "stamps that do not go back",
            });
        }
        shared.tally.flaw(Flaw::Order);
    }
    record.time = time;
    Ok(())
}

impl Damage {
    fn error(self, name: &str) -> TraceError {
        let (place, found) = match self {
            Self::Group { byte, why, .. } => (byte, why.to_string()),
            Self::Sum => (0, "records whose checksum is not the file's".to_owned()),
        };
        TraceError::Broken {
            name: name.to_owned(),
            place: TracePosition::Byte(place),
            found,
            expected: "a trace in our own format, as it was written",
        }
    }
}
