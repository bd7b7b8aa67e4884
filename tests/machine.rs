//! The machine as something that tests share: one that measures time on a real device has it alone.

use std::fs::{File, OpenOptions};
use std::process::Command;

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
    exclusive("trimbench-tests.lock")
}

/// Waits until no other test holds the lock of this name.
pub(crate) fn exclusive(name: &str) -> MachineLock {
    let file = open(name);
    file.lock().expect("a file can be locked");
    MachineLock { _file: file }
}

/// Waits until no test has the machine alone; others may run beside.
///
/// # Panics
/// If there is no place for a lock.
pub fn beside() -> MachineLock {
    let file = open("trimbench-tests.lock");
    file.lock_shared().expect("a file can be locked");
    MachineLock { _file: file }
}

/// What runs a program in a mount namespace of its own.
///
/// Such a namespace begins with a copy of everybody's mounts, which would keep the filesystems of
/// other tests in use. `cargo xtask test` shares all mounts of its tests, so that here what they
/// unmount goes as well.
pub const APART_FROM_MOUNTS: [&str; 4] = ["unshare", "--mount", "--propagation", "slave"];

/// The command of [`APART_FROM_MOUNTS`], to which a program is to be added.
pub fn apart_from_mounts() -> Command {
    let mut command = Command::new(APART_FROM_MOUNTS[0]);
    command.args(&APART_FROM_MOUNTS[1..]);
    command
}

fn open(name: &str) -> File {
    let path = std::env::temp_dir().join(name);
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.expect("temporary files can be made")
}
