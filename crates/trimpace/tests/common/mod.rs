//! What tests of trimpace share: a mount namespace of a test's own, and the count of what a device
//! was asked to discard.

#![allow(dead_code, reason = "each test program uses a part")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use trimbench_core::Nanos;
use trimbench_linux::pause;

/// Set where a test runs again, in its own mount namespace: the folder that it may use.
const APART: &str = "TRIMPACE_TEST_APART";
/// Its name, for what it skips.
const NAME: &str = "TRIMPACE_TEST_NAME";

/// Runs a test again in a mount namespace of its own; its folder there.
pub(crate) fn apart(test: &str) -> Option<PathBuf> {
    if let Some(folder) = env::var_os(APART) {
        return Some(PathBuf::from(folder));
    }
    let needs: [&[&str]; 4] = [
        &["unshare", "--mount", "true"],
        &["losetup", "--find"],
        &["mkfs.ext4", "-V"],
        &["fstrim", "--version"],
    ];
    let works = |command: &&[&str]| {
        let output = Command::new(command[0]).args(&command[1..]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if let Some(missing) = needs.iter().find(|command| !works(command)) {
        eprintln!("SKIP {test}: no {}", missing.join(" "));
        return None;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "slave"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(APART, folder.path())
        .env(NAME, test)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    printed.lines().filter(|line| line.starts_with("SKIP")).for_each(|line| eprintln!("{line}"));
    None
}

/// Says what a test that runs [`apart`] skips.
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIP {}: {reason}", env::var_os(NAME).unwrap().display());
}

/// Bytes that a device was asked to discard since it appeared, by its counters in sysfs.
pub(crate) fn discarded(stat: &Path) -> u64 {
    counters(stat)[13] * 512
}

/// The same, once no request is in flight and the count has rested.
pub(crate) fn discarded_at_rest(stat: &Path) -> u64 {
    let (mut last, mut rested) = (counters(stat), 0);
    while rested < 4 {
        pause(Nanos::from_millis(25));
        let now = counters(stat);
        // Requests in flight, and sectors discarded.
        let is_at_rest = now[8] == 0 && now[13] == last[13];
        rested = if is_at_rest { rested + 1 } else { 0 };
        last = now;
    }
    last[13] * 512
}

fn counters(stat: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(stat).unwrap();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}
