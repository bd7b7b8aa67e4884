//! `trimpace once` is killed at a random moment, and the next start makes good what was left.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ::tests::Need::{Filesystem, Loop, Program, Root};
use ::tests::killed_trims::{KilledTrims, TrimKill};
use anyhow::{Context as _, Result};

use crate::attempts::Attempts;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "killed",
    title: "After SIGKILL of `trimpace once` the next start leaves the largest discard as before, \
            files are unchanged, and the filesystem is intact",
    needs: &[
        Root,
        Loop,
        Filesystem("ext4"),
        Filesystem("xfs"),
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("e2fsck"),
        Program("xfs_repair"),
    ],
    sources: &[
        "crates/trimbench-claim",
        "crates/trimbench-core",
        "crates/trimbench-linux",
        "crates/trimbench-policy",
        "crates/trimpace",
        "tests/killed_trims.rs",
    ],
    run,
};

/// Kills in the short form and in full.
const KILLS: [u64; 2] = [20, 500];
/// One at work on each.
const FILESYSTEMS: [&str; 2] = ["ext4", "xfs"];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let command = lab.trimpace(&[])?;
    let program = Path::new(command.get_program());
    let folder = lab.memory_folder()?;
    let trims = FILESYSTEMS.map(|filesystem| KilledTrims::new(program, filesystem, folder.path()));
    let [ext4, xfs] = trims;
    let trims = [Mutex::new(ext4?), Mutex::new(xfs?)];
    let count = lab.form(KILLS[0], KILLS[1]);
    let workers = FILESYSTEMS.len();
    let attempts = Attempts { name: "killed trims", count, workers, deadline: lab.deadline() };
    let kills = attempts.make(|_, number| {
        let which = usize::try_from(number).context("it is small")? % trims.len();
        let mut trims = trims[which].lock().unwrap_or_else(PoisonError::into_inner);
        let kill = trims.kill(&mut attempts.random(number))?;
        for wrong in kill.wrong() {
            eprintln!("  {}: {wrong}", kill.what);
        }
        Ok(kill)
    })?;
    Ok(figures(&kills))
}

fn figures(kills: &[TrimKill]) -> Vec<Figure> {
    let number =
        |holds: &dyn Fn(&TrimKill) -> bool| kills.iter().filter(|kill| holds(kill)).count() as f64;
    let all = Bar::Equals(kills.len() as f64);
    let changed = number(&|kill| kill.was_changed);
    let note = format!("{changed} came while the setting was changed");
    let figure = |what: &str, good: f64, bar| Figure::new(what, (good, ""), bar);
    vec![
        figure("kills at random moments", kills.len() as f64, all).with_note(note),
        figure(
            "the setting as before after the next start",
            number(&|it| it.setting.is_none()),
            all,
        ),
        figure("all files unchanged", number(&|it| it.files.is_none()), all),
        figure("`e2fsck` or `xfs_repair` finds nothing", number(&|it| it.structure.is_none()), all),
        figure("the next start ends well", number(&|it| it.next_start.is_none()), all),
    ]
}
