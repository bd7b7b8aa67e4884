//! The exit codes of trimbench's programs, in one place for code, tests and documents.

/// Done, and every figure is valid.
pub const DONE: u8 = 0;
/// Done, but a stated threshold or comparison failed.
pub const LIMIT_FAILED: u8 = 1;
/// The command line or a configuration file is wrong; nothing was measured.
pub const USAGE: u8 = 2;
/// The target is unsuitable or was refused: no permission, no discard, not enough room, not named,
/// in use by others.
pub const TARGET: u8 = 3;
/// A run finished but is invalid (noisy, throttled, discards missing); results are kept, marked. Of
/// a record that is read: it is invalid, or its run did not complete.
pub const INVALID: u8 = 4;
/// A bug: Rust's panic.
pub const BUG: u8 = 101;
/// Interrupted; what was measured before is saved.
pub const INTERRUPTED: u8 = 130;

/// Every code with its meaning, for `--help`, the documents and the tests that hold them together.
pub const TABLE: [(u8, &str); 7] = [
    (DONE, "done, and valid"),
    (LIMIT_FAILED, "done, but a stated limit or comparison failed"),
    (USAGE, "usage or configuration error"),
    (TARGET, "target unsuitable or refused"),
    (INVALID, "invalid, or a record of a run that did not complete; results kept and marked"),
    (BUG, "bug (panic)"),
    (INTERRUPTED, "interrupted; partial results saved"),
];
