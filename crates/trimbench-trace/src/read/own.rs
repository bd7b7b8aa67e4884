//! Files in our own format, one after the other.

use crate::own::{Damage, OwnReader};
use crate::record::Record;
use crate::source::{Place, TraceError};
use crate::tally::Flaw;

use super::strictness::Shared;
use super::{BATCH, Inner};

/// Parts of a trace.
pub(super) struct Parts {
    files: Vec<OwnReader>,
    at: usize,
}

impl Parts {
    pub(super) fn new(files: Vec<OwnReader>) -> Self {
        Self { files, at: 0 }
    }
}

impl Inner for Parts {
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        while let Some(file) = self.files.get_mut(self.at) {
            if file.take_unfinished() {
                shared.tally.flaw(Flaw::Cut);
            }
            let first = batch.len();
            match file.read(batch, BATCH) {
                Ok(()) if batch.is_empty() => self.at += 1,
                Ok(()) => {
                    let name = file.name();
                    return batch[first..].iter_mut().try_for_each(|it| order(it, name, shared));
                }
                Err(damage) => {
                    batch.clear();
                    if !shared.lenient {
                        return Err(damage.error(file.name()));
                    }
                    match damage {
                        Damage::Group { rows, .. } => shared.tally.count(Flaw::Group, rows),
                        Damage::Sum => shared.tally.flaw(Flaw::Sum),
                    }
                }
            }
        }
        Ok(())
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
                place: Place::Byte(0),
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
            Self::Group { byte, why, .. } => (byte, why),
            Self::Sum => (0, "records whose checksum is not the file's".to_owned()),
        };
        TraceError::Broken {
            name: name.to_owned(),
            place: Place::Byte(place),
            found,
            expected: "a trace in our own format, as it was written",
        }
    }
}
