//! The seal of a record: a digest by which it is known whether somebody changed it.
//!
//! A record of real targets ends with `"seal"`, the SHA-256 of the record without it, as this
//! version writes it. A run goes on only from a record whose seal is right. Records of emulated
//! drives have none: whoever doubts them runs the same seed again.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::RunRecord;

#[cfg(test)]
mod tests;

/// What the document ends with, before and after it is sealed.
const END: &[u8] = b"\n}";

/// SHA-256 of the JSON of a value, in hexadecimal digits.
///
/// # Panics
/// If the value has no JSON form: texts and finite numbers have one.
pub(super) fn digest(value: &impl Serialize) -> String {
    sha256(&serde_json::to_vec(value).expect("it is texts and finite numbers"))
}

/// SHA-256 in hexadecimal digits, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The document with its seal at the end.
pub(super) fn sealed(mut json: Vec<u8>) -> Vec<u8> {
    let seal = sha256(&json);
    assert!(json.ends_with(END), "a record is an object with fields, one a line");
    json.truncate(json.len() - END.len());
    json.extend_from_slice(format!(",\n  \"seal\": \"{seal}\"\n}}").as_bytes());
    json
}

impl RunRecord {
    /// Whether this record, read from `json`, is as it was written. `true` for a record that has no
    /// seal and needs none.
    pub fn is_unchanged(&self, json: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Sealed {
            seal: Option<String>,
        }
        let stated = serde_json::from_slice::<Sealed>(json).ok().and_then(|it| it.seal);
        let Some(seal) = stated else { return self.run_id.is_none() };
        // As it was written: reading adds what an older format lacks.
        let written = serde_json::from_slice::<Self>(json);
        written.is_ok_and(|record| seal == sha256(&record.unsealed()))
    }
}
