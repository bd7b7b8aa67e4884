//! Reading a record: what is wrong with bytes that are none, and what can be done.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::histograms::{HistogramFlaw, histogram_flaws};
use super::older::upgrade;
use super::{RunRecord, SCHEMA};

/// Bytes that are not a run record, or a record that must not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The document ends in the middle: a copy that did not finish, or a full disk.
    #[error("the record is cut off after {offset} bytes")]
    CutOff {
        /// How many bytes there are.
        offset: u64,
    },
    /// The bytes are not JSON.
    #[error("not JSON: unexpected text at line {line}, column {column}")]
    NotJson {
        /// Line of the first unexpected byte, from 1.
        line: u64,
        /// Its column, from 1; 0 at a line's end.
        column: u64,
    },
    /// JSON, but not a run record: it has no `schema` and `program`.
    #[error("JSON, but not a run record of trimbench")]
    NotARecord,
    /// Written by a later version in a format that this one would misread.
    #[error("the record has format {found}; this version reads up to {supported}")]
    Newer {
        /// Its format.
        found: u64,
        /// The latest format understood here.
        supported: u32,
    },
    /// A record of this format that lacks a field.
    #[error("the record lacks the field `{field}` (line {line})")]
    MissingField {
        /// The field.
        field: String,
        /// Line at which it was found missing, from 1.
        line: u64,
    },
    /// A record of this format with a value of the wrong kind.
    #[error("a value in the record is not what its field holds")]
    WrongValue {
        /// What and where.
        source: serde_json::Error,
    },
    /// A number is NaN or infinite, a curve's lengths differ, or an interval is out of order.
    #[error("session {session}, `{part}`: `{key}` is not a sound number")]
    NotANumber {
        /// Index of the session.
        session: usize,
        /// Id of the step or figure.
        part: String,
        /// Key of the number within it.
        key: String,
    },
    /// A histogram cannot be read, or counts other commands than its step.
    #[error("session {session}, step `{step}`: {flaw}")]
    Histogram {
        /// Index of the session.
        session: usize,
        /// Id of the step.
        step: String,
        /// What is wrong.
        flaw: HistogramFlaw,
    },
}

impl RecordError {
    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::CutOff { .. } => {
                "copy the record again from where it was made; a run cannot be resumed from a \
                 record that is cut off, start it anew in another directory"
            }
            Self::NotJson { .. } | Self::NotARecord => {
                "name a run directory, or the `run.json` in it"
            }
            Self::Newer { .. } => "read it with the version of trimbench that wrote it, or later",
            Self::MissingField { .. }
            | Self::WrongValue { .. }
            | Self::NotANumber { .. }
            | Self::Histogram { .. } => {
                "the record was changed after it was written; use an unchanged copy"
            }
        }
    }
}

/// What marks a document as a run record, whatever its format.
#[derive(Deserialize)]
struct Mark {
    schema: u64,
    #[expect(dead_code, reason = "its presence is what matters")]
    program: IgnoredAny,
}

pub(super) fn parse(json: &[u8]) -> Result<RunRecord, RecordError> {
    serde_json::from_slice::<IgnoredAny>(json).map_err(|error| syntax(&error, json))?;
    let mark: Mark = serde_json::from_slice(json).map_err(|_| RecordError::NotARecord)?;
    if mark.schema > u64::from(SCHEMA) {
        return Err(RecordError::Newer { found: mark.schema, supported: SCHEMA });
    }
    if mark.schema == 0 {
        return Err(RecordError::NotARecord);
    }
    let mut record: RunRecord = serde_json::from_slice(json).map_err(content)?;
    record.validate()?;
    check_histograms(&record)?;
    record.sessions.iter_mut().for_each(|session| upgrade(session, mark.schema));
    record.schema = SCHEMA;
    Ok(record)
}

/// The histograms of a record that was written are sound by the way they are made: only who reads
/// one needs to look.
fn check_histograms(record: &RunRecord) -> Result<(), RecordError> {
    for (session, steps) in record.sessions.iter().map(|session| &session.steps).enumerate() {
        for step in steps {
            if let Some(flaw) = histogram_flaws(step).next() {
                return Err(RecordError::Histogram { session, step: step.id.clone(), flaw });
            }
        }
    }
    Ok(())
}

/// An error of the text as such: `IgnoredAny` takes every value, so none is about content.
pub(super) fn syntax(error: &serde_json::Error, json: &[u8]) -> RecordError {
    // A number cut off after its point, sign or `e` is reported as malformed, at the very end.
    let open_number = json.last().is_some_and(|last| b".-+eE".contains(last));
    let whole_lines =
        json.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
    let position = whole_lines.map(<[u8]>::len).sum::<usize>() + error.column();
    if error.is_eof() || (open_number && position == json.len()) {
        return RecordError::CutOff { offset: json.len() as u64 };
    }
    RecordError::NotJson { line: error.line() as u64, column: error.column() as u64 }
}

/// An error of the content: `serde` names a missing field in its message only.
fn content(source: serde_json::Error) -> RecordError {
    let message = source.to_string();
    let field = message.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
    match field {
        Some((field, _)) => {
            RecordError::MissingField { field: field.to_owned(), line: source.line() as u64 }
        }
        None => RecordError::WrongValue { source },
    }
}
