//! For tests of what is put back after a kill: a process that changes a thing and waits for its
//! end. It is the same test, started again.

use std::env;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Where the process finds its journals, and the thing that it is to change.
const CHILD: &str = "TRIMBENCH_TEST_BORROWS";
/// By then the test that was to kill it is gone.
const LONGEST: Duration = Duration::from_secs(30);

/// Starts the test of this name (with its module) again as a process that changes `thing`; returns
/// once the change can be seen.
pub(crate) fn borrower(
    test: &str,
    entries: &Path,
    thing: &str,
    is_changed: impl Fn() -> bool,
) -> Child {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child.env(CHILD, format!("{}\n{thing}", entries.display()));
    let child = child.stdout(Stdio::null()).spawn().unwrap();
    while !is_changed() {
        rest(Duration::from_millis(10));
    }
    child
}

/// In the process that is to be killed: has `change` change the thing, and never returns. In the
/// test itself it does nothing.
pub(crate) fn borrow_until_killed<T>(change: impl FnOnce(&Path, &str) -> T) {
    let Some(place) = env::var_os(CHILD) else { return };
    let place = place.into_string().unwrap();
    let (entries, thing) = place.split_once('\n').unwrap();
    let _changed = change(Path::new(entries), thing);
    rest(LONGEST);
    std::process::abort();
}

/// Kills it, and waits until it is gone.
pub(crate) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[expect(clippy::disallowed_methods, reason = "waits for a real process")]
fn rest(time: Duration) {
    sleep(time);
}
