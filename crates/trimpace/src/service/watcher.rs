//! Keeps what a pass has done while it works, and shows it.

use std::cell::RefCell;

use trimbench_core::{Instant, Nanos};
use trimbench_policy::pacing::{Amount, PassForecast};

use crate::cursor::{BegunPass, Memory, MemoryError, Remembered};
use crate::pass::{PassObserver, PassProgress};
use crate::probe::now;
use crate::report::{Voice, say};
use crate::status::{ServiceStatus, StatusBoard};

/// What has been done outlives a power cut after this time.
const LASTS_AFTER: Nanos = Nanos::from_secs(30);
/// The status is that of this time ago at most.
const SHOWN_EVERY: Nanos = Nanos::from_secs(1);

/// The observer of one pass.
#[derive(Debug)]
pub(super) struct Watcher<'a> {
    name: &'a str,
    filesystem: &'a str,
    memory: &'a Memory,
    board: &'a StatusBoard,
    voice: Voice,
    /// What earlier parts of the pass have done.
    before: BegunPass,
    seen: RefCell<Seen>,
}

#[derive(Debug)]
struct Seen {
    passes: Remembered,
    status: ServiceStatus,
    /// The place of the mount in the status.
    at: usize,
    shown: Instant,
    lasting: Instant,
    complaint: String,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        (name, filesystem, passes): (&'a str, &'a str, Remembered),
        (memory, board): (&'a Memory, &'a StatusBoard),
        (status, at): (&ServiceStatus, usize),
    ) -> Self {
        let before = passes.pass.expect("it was begun");
        let voice = Voice { subject: name.to_owned(), tells: true };
        let seen = Seen {
            passes,
            status: status.clone(),
            at,
            shown: Instant::START,
            lasting: Instant::START,
            complaint: String::new(),
        };
        Self { name, filesystem, memory, board, voice, before, seen: RefCell::new(seen) }
    }

    /// The pass as it was when this part of it began.
    pub(super) fn before(&self) -> BegunPass {
        self.before
    }

    /// Says something of the mount.
    pub(super) fn say(&self, what: &str) {
        say(&format!("{}: {what}", self.name));
    }

    /// What is to be remembered.
    pub(super) fn passes(&self) -> Remembered {
        self.seen.borrow().passes
    }

    fn keep(&self, seen: &mut Seen) -> Result<(), MemoryError> {
        let uuid = self.filesystem;
        if now().since(seen.lasting) < LASTS_AFTER {
            return self.memory.keep_running(uuid, &seen.passes);
        }
        seen.lasting = now();
        self.memory.keep(uuid, &seen.passes)
    }

    fn show(&self, seen: &mut Seen, progress: &PassProgress) {
        if now().since(seen.shown) < SHOWN_EVERY {
            return;
        }
        seen.shown = now();
        let mount = &mut seen.status.mounts[seen.at];
        mount.passes = seen.passes;
        mount.remaining_bytes = Some(progress.remaining.bytes.0);
        mount.rest_s = progress.rest.map(|rest| rest.0 / 1_000_000_000);
        // The next look of the service says why, if it cannot be written.
        let _ = self.board.show(&seen.status);
    }
}

impl PassObserver for Watcher<'_> {
    fn notice(&self, sentence: &str) {
        self.voice.notice(sentence);
    }

    fn forecast(&self, forecast: &PassForecast, remaining: Amount, target: Option<Nanos>) {
        self.voice.forecast(forecast, remaining, target);
    }

    fn progress(&self, progress: &PassProgress) {
        let seen = &mut *self.seen.borrow_mut();
        let is_further = seen.passes.pass.is_none_or(|pass| pass.cursor != progress.cursor);
        seen.passes.pass = Some(BegunPass {
            begun: self.before.begun,
            cursor: progress.cursor,
            discarded_bytes: self.before.discarded_bytes + progress.discarded.bytes.0,
            worked_s: self.before.worked_s + progress.took.0 / 1_000_000_000,
        });
        if is_further && let Err(error) = self.keep(seen) {
            let complaint = format!("{}: {error}", self.name);
            if complaint != seen.complaint {
                say(&format!("trimpace: {complaint}"));
                seen.complaint = complaint;
            }
        }
        self.show(seen, progress);
    }
}
