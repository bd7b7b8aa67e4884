//! The machine as something that tests share: one that measures time on a real device has it alone.

use std::fs::{File, OpenOptions};

/// Held while a test runs; tests of other processes see it, too.
#[derive(Debug)]
pub struct MachineLock {
    _file: File,
}

/// Waits until no other test that asked for the machine runs, and keeps them waiting.
///
/// # Panics
/// If there is no place for a lock.
pub fn alone() -> MachineLock {
    let file = open();
    file.lock().expect("a file can be locked");
    MachineLock { _file: file }
}

/// Waits until no test has the machine alone; others may run beside.
///
/// # Panics
/// If there is no place for a lock.
pub fn beside() -> MachineLock {
    let file = open();
    file.lock_shared().expect("a file can be locked");
    MachineLock { _file: file }
}

fn open() -> File {
    let path = std::env::temp_dir().join("trimbench-tests.lock");
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.expect("temporary files can be made")
}
