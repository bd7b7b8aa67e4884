//! Waits until nobody else uses a real target, before a session on it begins.

use trimbench_core::{Caveat, Interrupt, LoadSeen, Nanos};
use trimbench_engine::quiet::{WINDOW, judge, seen_text};
use trimbench_engine::{LoadOfOthers, MethodError, Quietness, RunError};
use trimbench_linux::monotonic_time;
use trimbench_results::Session as SessionRecord;

use super::session::Listener;
use crate::failure::Failure;
use crate::options::QuietOptions;
use crate::plan::ResolvedSession;
use crate::rough::rough_span;

#[cfg(test)]
mod tests;

/// Where the environment of a session says what was seen.
const KEY: &str = "quiet";
/// What to do about others.
const HINT: &str = "stop what uses it, wait longer (`--quiet-wait 10min`), or add `--busy-ok`: \
                    then without a recommendation";

/// The target did not come to rest for as long as it was waited for.
#[derive(Debug, thiserror::Error)]
#[error("the target is not quiet: {load} (waited {})", rough_span(*waited))]
pub struct TargetBusy {
    load: LoadOfOthers,
    waited: Nanos,
}

/// How the looks at a target ended.
#[derive(Debug, PartialEq, Eq)]
struct Looked {
    last: LoadSeen,
    quietness: Quietness,
    /// How long they took together.
    took: Nanos,
}

/// Looks at the target of a session until it is quiet, and notes what was seen in the record of
/// the session. An error if it stays busy and nobody said that this is no matter.
pub(super) fn wait_for_quiet(
    session: &ResolvedSession,
    options: QuietOptions,
    record: &mut SessionRecord,
    (listener, interrupt): (&mut dyn Listener, &Interrupt),
) -> Result<(), Failure> {
    if !session.rests_on_quiet() {
        return Ok(());
    }
    // It opens the device, so only where it is asked for.
    let Some(watch) = options.looks().then(|| session.target.load_watch()).flatten() else {
        note(record, "not looked (`--quiet-wait 0s`)".to_owned());
        return Ok(());
    };
    listener.waits("looking for other load", false);
    let look = || watch.look(WINDOW, interrupt);
    let told = |text: &str| listener.waits(text, true);
    let looked = looks(options.wait, look, monotonic_time, told);
    let Looked { last, quietness, took } = looked.ok_or(MethodError::Run(RunError::Interrupted))?;
    let seen = seen_text(&last);
    match quietness {
        Quietness::Quiet => note(record, format!("yes: {seen}")),
        Quietness::Unknown => note(record, "not known: nothing could be looked at".to_owned()),
        Quietness::Busy(load) if options.busy_ok => {
            note(record, format!("no: {load}; {seen}"));
            record.caveat(Caveat::BusyTarget);
        }
        Quietness::Busy(load) => {
            let error = TargetBusy { load, waited: took };
            return Err(Failure::target(error).with_hint(HINT));
        }
    }
    Ok(())
}

fn note(record: &mut SessionRecord, text: String) {
    record.environment_before.insert(KEY.to_owned(), text);
}

/// Looks once, and again as long as the target is busy and as many looks as fit into `wait` are not
/// over; `None` if the user wants to stop. `told` is told what is waited for.
fn looks(
    wait: Nanos,
    mut look: impl FnMut() -> Option<LoadSeen>,
    now: impl Fn() -> Nanos,
    mut told: impl FnMut(&str),
) -> Option<Looked> {
    let begun = now();
    let mut more = (wait.0 / WINDOW.0).saturating_sub(1);
    let mut idle_median: Option<Nanos> = None;
    loop {
        let last = look()?;
        let quietness = judge(&last, idle_median);
        let took = now().saturating_sub(begun);
        let load = match &quietness {
            Quietness::Busy(load) if more > 0 => load,
            _ => return Some(Looked { last, quietness, took }),
        };
        let left = rough_span(wait.saturating_sub(took));
        told(&format!("waiting up to {left} for quiet: {load}"));
        let median = last.reads.map(|reads| reads.median);
        more -= 1;
        idle_median = idle_median.into_iter().chain(median).min();
    }
}
