//! The power of an emulated drive goes at a random moment while files are written to a filesystem
//! on it: what had been made durable must be there.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::tests::cut_filesystem::{CutFilesystem, CutKind, PowerCut};
use anyhow::Result;

use crate::attempts::Attempts;
use crate::entry::{Entry, FILESYSTEMS_ON_DRIVES};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "power_cuts",
    title: "What was made durable on ext4, XFS and btrfs is there after a power cut of the drive, \
            and a drive whose flushes lie is found",
    needs: FILESYSTEMS_ON_DRIVES,
    sources: &[
        "crates/trimbench-attach",
        "crates/trimbench-core",
        "crates/trimbench-ssd",
        "profiles",
        "tests/cut_filesystem.rs",
        "tests/durable_files.rs",
    ],
    run,
};

/// A drive that may lose what no flush covered, as most do.
const PROFILE: &str = "generic-sata-tlc";
/// Cuts of an honest drive, and drives whose flushes lie, in the short form and in full.
const CUTS: [u64; 2] = [5, 50];
const LIES: [u64; 2] = [1, 10];
/// A cut comes within this of the first write, in ms.
const WITHIN_MS: u64 = 3_000;
/// Long enough for a lying drive to acknowledge flushes.
const LIE_FROM_MS: u64 = 500;
const CUTS_OF_A_LIAR: u64 = 10;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for kind in CutKind::ALL {
        figures.extend(of_honest_drive(lab, kind)?);
        figures.push(of_lying_drive(lab, kind)?);
    }
    Ok(figures)
}

/// Cuts one after the other, each on what the ones before have left.
fn of_honest_drive(lab: &Lab<'_>, kind: CutKind) -> Result<[Figure; 3]> {
    let attempts = attempts(lab, kind, lab.form(CUTS[0], CUTS[1]), 1);
    let filesystem = Mutex::new(CutFilesystem::new(kind, PROFILE));
    let cuts = attempts.make(|_, number| {
        let after = Duration::from_millis(attempts.random(number).below(WITHIN_MS));
        let mut filesystem = filesystem.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = filesystem.cut(number, |_| std::thread::sleep(after), false);
        if !cut.is_survived() {
            *filesystem = CutFilesystem::new(kind, PROFILE);
        }
        Ok(cut)
    })?;
    let number = |holds: fn(&PowerCut) -> bool| cuts.iter().filter(|cut| holds(cut)).count() as f64;
    let changes: u64 = cuts.iter().map(|cut| cut.changes).sum();
    let first =
        |said: fn(&PowerCut) -> Option<String>| cuts.iter().find_map(said).unwrap_or_default();
    let figure = |what: &str, value, bar| Figure::new(name(kind, what), (value, ""), bar);
    let all = Bar::Equals(cuts.len() as f64);
    Ok([
        figure(
            "power cuts after which all that was made durable is there",
            number(|cut| cut.faults.is_empty()),
            all,
        )
        .with_note(first(|cut| cut.faults.first().cloned())),
        figure(
            "power cuts after which the check finds nothing to repair",
            number(|cut| cut.damage.is_none()),
            all,
        )
        .with_note(first(|cut| cut.damage.clone())),
        figure(
            "changes made durable before the cuts",
            changes as f64,
            Bar::AtLeast(10.0 * cuts.len() as f64),
        ),
    ])
}

fn of_lying_drive(lab: &Lab<'_>, kind: CutKind) -> Result<Figure> {
    let attempts = attempts(lab, kind, lab.form(LIES[0], LIES[1]), 2);
    let found = attempts.make(|_, number| {
        let mut random = attempts.random(number);
        let draw = || {
            let after = Duration::from_millis(LIE_FROM_MS + random.below(WITHIN_MS));
            (random.bits(), after)
        };
        Ok(CutFilesystem::cuts_until_a_lie_shows(kind, PROFILE, CUTS_OF_A_LIAR, draw))
    })?;
    let what = format!("drives whose flushes lie that {CUTS_OF_A_LIAR} power cuts find");
    let what = name(kind, &what);
    let cuts: Vec<u64> = found.iter().flatten().copied().collect();
    let note = format!("by cut {cuts:?}");
    let figure = Figure::new(what, (cuts.len() as f64, ""), Bar::Equals(found.len() as f64));
    Ok(figure.with_note(note))
}

fn attempts(lab: &Lab<'_>, kind: CutKind, count: u64, workers: usize) -> Attempts {
    Attempts { name: kind.name, count, workers, deadline: lab.deadline() }
}

fn name(kind: CutKind, what: &str) -> String {
    format!("{}: {what}", kind.name)
}
