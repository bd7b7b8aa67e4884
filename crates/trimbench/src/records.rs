//! Records of earlier runs.

use std::path::Path;

use trimbench_app::{Failure, LoadedRecord, Store};
use trimbench_results::{Outcome, RunRecord};

use crate::output::error_line;

/// The record in a run's directory. Says what of it is not believed.
pub(crate) fn load(directory: &Path) -> Result<RunRecord, Failure> {
    let LoadedRecord { record, flaws } = Store::open(directory)?.load()?;
    for flaw in &flaws {
        error_line(flaw);
    }
    Ok(record)
}

/// Whether a record is of a run that did all of its plan, and every figure of it is valid.
pub(crate) fn is_reliable(record: &RunRecord) -> bool {
    record.is_valid() && record.outcome == Outcome::Complete
}
