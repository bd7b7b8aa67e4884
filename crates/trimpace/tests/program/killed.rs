//! Kills at random moments. The lab makes 500 (`cargo xtask lab pace.killed`).

use std::path::Path;

use tests::killed_trims::KilledTrims;
use trimbench_core::rng::Rng;

use crate::stage::{apart, run, trimpace};

/// Kills on each filesystem.
const KILLS: u32 = 10;

#[test]
fn after_a_kill_at_any_moment_the_next_start_leaves_all_as_it_was() {
    let test = "killed::after_a_kill_at_any_moment_the_next_start_leaves_all_as_it_was";
    let Some(_) = apart(test) else { return };
    let folder = tests::scratch();
    let known: Vec<&'static str> = ["ext4", "xfs"].into_iter().filter(|it| is_known(it)).collect();
    if known.len() < 2 {
        crate::common::skip(&format!("of ext4 and XFS there is {known:?}"));
    }
    // Side by side: each waits most of the time.
    let changed: u32 = std::thread::scope(|scope| {
        let folder = folder.path();
        let each = known.iter().map(|filesystem| scope.spawn(|| kills(filesystem, folder)));
        let each: Vec<_> = each.collect();
        each.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert!(changed > 0, "no kill came while the setting was changed");
    let again = trimpace(&["restore"]);
    assert_eq!((again.code, again.out.as_str()), (Some(0), ""));
}

/// How many of them came while the setting was changed.
fn kills(filesystem: &'static str, folder: &Path) -> u32 {
    let program = Path::new(env!("CARGO_BIN_EXE_trimpace"));
    let mut trims = KilledTrims::new(program, filesystem, folder).unwrap();
    let mut rng = Rng::new(1).split(filesystem);
    let mut changed = 0;
    for _ in 0..KILLS {
        let kill = trims.kill(&mut rng).unwrap();
        assert!(kill.wrong().is_empty(), "{kill:?}");
        changed += u32::from(kill.was_changed);
    }
    changed
}

fn is_known(filesystem: &str) -> bool {
    let known = run("cat", &["/proc/filesystems"]);
    let made = std::process::Command::new(format!("mkfs.{filesystem}")).arg("-V").output();
    made.is_ok() && known.lines().any(|line| line.ends_with(&format!("\t{filesystem}")))
}
