//! The first fact: whether TRIM reaches the drive, and the drive acts on it.

use trimbench_core::{Bytes, Caveat};

use super::Reason;
use super::benefit::Benefit;
use super::facts::Facts;
use super::table::{Fact, Known};
use crate::record::{Session, Step};
use crate::role::Role;
use crate::step::{DeletionDiscardsStep, DeviceDiscardsStep};

/// Filesystems that send discards long after a deletion: that none was seen within a window is no
/// sign that none comes.
const DEFERRING: [&str; 3] = ["btrfs", "zfs", "f2fs"];

/// Whether TRIM reaches the drive.
pub(super) fn reaches(facts: &Facts<'_>, benefit: &Benefit) -> Fact {
    let against = against(facts, benefit);
    if !against.is_empty() {
        return Fact::new(Known::No, against);
    }
    if matches!(benefit, Benefit::Some(_)) || facts.sessions().any(|(_, it)| is_seen(it)) {
        return Fact::new(Known::Yes, Vec::new());
    }
    let late = facts.sessions().any(|(_, session)| sent_none(session));
    let because = late.then(|| {
        let text = "no discard was seen in the time that was measured; this filesystem may send \
                    them later";
        Reason::new(text, &[]).in_short("no discard was seen in time")
    });
    Fact::new(Known::Unknown, because.into_iter().collect())
}

/// What shows that it does not.
fn against(facts: &Facts<'_>, benefit: &Benefit) -> Vec<Reason> {
    let dropped = |session: &Session| sent_none(session) && !defers(session);
    let mut because = Vec::new();
    if facts.sessions().any(|(_, session)| dropped(session)) {
        let text = "files were deleted, and no discard was seen at the device";
        because.push(Reason::new(text, &[]));
    }
    if matches!(benefit, Benefit::Some(_)) {
        return because;
    }
    if let Benefit::NoEffect(found) = benefit {
        because.extend(found.iter().cloned());
    }
    let kept = facts.worst(&Role::OldDataRead);
    let broken = facts.worst(&Role::PromiseBroken);
    if let (Some(kept), Some(broken)) = (kept, broken)
        && kept.value() >= 100.0
        && broken.value() > 0.0
    {
        let text = format!(
            "all trimmed blocks still read as before, {} of them against the drive's promise",
            broken.figure.shown().number
        );
        because.push(Reason::new(text, &[kept, broken]));
    }
    because
}

/// Whether a discard was seen at the device, or the method sends TRIMs to a drive itself.
fn is_seen(session: &Session) -> bool {
    let is_direct = matches!(session.target.kind.as_str(), "emulated" | "device" | "image");
    let takes = session.target.capabilities.get("discard").is_none_or(|it| it != "none");
    let sends = !sent_none(session) && !session.has_caveat(Caveat::NoTrims);
    session.steps.iter().any(counts_some) || sends && is_direct && takes
}

/// Whether the step counts discards at the device.
fn counts_some(step: &Step) -> bool {
    let some = |bytes: Option<Bytes>| bytes > Some(Bytes(0));
    let of_step = |it: DeviceDiscardsStep| some(it.discarded_bytes) || it.discard_count > Some(0);
    let in_window = |it: DeletionDiscardsStep| some(it.discarded_bytes_window);
    step.read().is_ok_and(of_step) || step.read().is_ok_and(in_window) || counts_in_all(step)
}

/// The same of a deletion, with the discards that came after its window.
fn counts_in_all(step: &Step) -> bool {
    let in_all = |it: DeletionDiscardsStep| it.discarded_bytes_total > Some(Bytes(0));
    step.read().is_ok_and(in_all)
}

/// Whether files were deleted, and the device received no discard for any of them. Steps of older
/// records say so of discards, too, that came after the window.
fn sent_none(session: &Session) -> bool {
    let none = Caveat::NoDiscard.id();
    let has = |ids: &[String]| ids.iter().any(|id| id == none);
    let deleted = |step: &&Step| step.kind == "delete";
    let mut deletions = session.steps.iter().filter(deleted).peekable();
    has(&session.caveats)
        || deletions.peek().is_some()
            && deletions.all(|step| has(&step.caveats) && !counts_in_all(step))
}

fn defers(session: &Session) -> bool {
    let kind = session.target.identity.get("filesystem");
    kind.is_some_and(|kind| DEFERRING.iter().any(|name| kind.starts_with(name)))
}
