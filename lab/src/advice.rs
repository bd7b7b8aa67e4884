//! What advice about TRIM is worth.

use crate::entry::Subject;

mod choice;
mod invalid;
mod own_disk;
mod readme;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "advice",
    title: "Whether the cards advise what is best, and nothing that rests on invalid figures",
    entries: &[choice::ENTRY, invalid::ENTRY, own_disk::ENTRY, readme::ENTRY],
};

/// Which side an answer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Online TRIM.
    Online,
    /// TRIM once a week, or none.
    Offline,
    /// Either, or no answer.
    Open,
}

impl Side {
    /// That of the answer of this id.
    fn of(action: &str) -> Self {
        match action {
            "mount-with-discard" | "smaller-discard-max" => Self::Online,
            "weekly-fstrim" | "nothing-to-gain" | "do-not-trim" | "trim-does-not-reach" => {
                Self::Offline
            }
            _ => Self::Open,
        }
    }
}

/// Whether one of these answers asks for online TRIM and another against it.
fn contradict(actions: &[&str]) -> bool {
    let has = |side| actions.iter().any(|action| Side::of(action) == side);
    has(Side::Online) && has(Side::Offline)
}

/// How many of these answers are the one that is given most often.
fn alike(actions: &[&str]) -> usize {
    let count = |action| actions.iter().filter(|other| *other == action).count();
    actions.iter().map(count).max().unwrap_or_default()
}
