//! What a file is, by all of its content: one of ours, or the record of a run.

use std::io::{Cursor, Read as _};

use serde::de::IgnoredAny;
use trimbench_doctor::{PROMETHEUS_MARK, is_prometheus};
use trimbench_report::{
    CONTEXT_MARK, FIGURE_MARK, JUNIT_MARK, MARKDOWN_END, MARKDOWN_MARK, PAGE_MARK,
};
use trimbench_results::{RunRecord, sha256};
use trimbench_trace::unpacked;

#[cfg(test)]
mod tests;

/// What the profile of a fit begins with; the digest of what follows the line comes next.
pub(crate) const PROFILE_MARK: &str = "# trimbench fit, SHA-256 of the following lines: ";
/// So much is unpacked at most.
const UNPACKED_MAX: u64 = 64 << 20;

/// The file of a profile: its text behind a line by which it is recognised.
pub(crate) fn profile_file(text: &str) -> String {
    format!("{PROFILE_MARK}{}\n{text}", sha256(text.as_bytes()))
}

/// Whether these bytes are a page of ours.
pub(crate) fn is_page(bytes: &[u8]) -> bool {
    is_ours(PAGE_MARK, bytes)
}

/// Whether these bytes are a file of the kind that begins with `mark`, from its beginning to its
/// end. What somebody has added to it, or cut off, is not.
pub(crate) fn is_ours(mark: &str, bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Some(rest) = text.strip_prefix(mark) else { return false };
    match mark {
        PAGE_MARK => rest.trim_end().ends_with("</html>"),
        FIGURE_MARK => rest.trim_end().ends_with("</svg>"),
        JUNIT_MARK => rest.ends_with("</testsuites>\n"),
        MARKDOWN_MARK => rest.ends_with(MARKDOWN_END),
        CONTEXT_MARK => serde_json::from_str::<IgnoredAny>(text).is_ok(),
        PROMETHEUS_MARK => is_prometheus(rest),
        PROFILE_MARK => rest
            .split_once('\n')
            .is_some_and(|(digest, profile)| digest == sha256(profile.as_bytes())),
        header => is_table(header, rest),
    }
}

/// Whether the lines behind a header are records of a table with as many fields.
fn is_table(header: &str, rest: &str) -> bool {
    let mut table = csv::Reader::from_reader(Cursor::new([header, rest].concat()));
    table.records().all(|record| record.is_ok())
}

/// Whether it is what a run keeps: its record, its steps, or its host's part; whole or not, in
/// UTF-8 or UTF-16, packed or not, behind other lines or not.
pub(crate) fn is_record(bytes: Vec<u8>) -> bool {
    let bytes = plain(bytes);
    let has = |text: &str| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
    let has_steps = || {
        bytes.split(|byte| *byte == b'\n').any(|line| {
            let has = |text: &str| memchr::memmem::find(line, text.as_bytes()).is_some();
            has("\"session\":") && has("\"step\":{") && has("\"metrics\":{")
        })
    };
    has("\"schema\"") && has("\"program\"") && has("\"model_version\"")
        || RunRecord::salvage(&bytes).is_ok()
        || has_steps()
        || has("\"started_unix_s\"") && has("\"debug_build\"")
}

/// The text in UTF-8, without what it is packed in.
fn plain(bytes: Vec<u8>) -> Vec<u8> {
    let mut plain = Vec::new();
    // What is cut off or damaged is read as far as it goes.
    let packed = Cursor::new(bytes.clone());
    match unpacked("", Box::new(packed)).map(|it| it.take(UNPACKED_MAX).read_to_end(&mut plain)) {
        Ok(_) if !plain.is_empty() => {}
        _ => plain = bytes,
    }
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|it| unit([it[0], it[1]])).collect();
        String::from_utf16_lossy(&units).into_bytes()
    };
    match *plain {
        [0xff, 0xfe, ref text @ ..] => units(text, u16::from_le_bytes),
        [0xfe, 0xff, ref text @ ..] => units(text, u16::from_be_bytes),
        [1..=255, 0, 1..=255, 0, ..] => units(&plain, u16::from_le_bytes),
        [0, 1..=255, 0, 1..=255, ..] => units(&plain, u16::from_be_bytes),
        _ => plain,
    }
}
