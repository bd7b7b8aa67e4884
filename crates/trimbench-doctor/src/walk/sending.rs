//! Who sends discards from a filesystem, a pool or a swap area, or that nobody does.

use std::collections::BTreeMap;
use std::path::Path;

use trimbench_claim::mounts::Mount;
use trimbench_results::advice::{Action, Place, lines_to_type};

use super::Walk;
use crate::layer::{Handling, Layer};
use crate::mount_table::MountTable;
use crate::senders::{SystemSenders, TimerState, UNITS, mount_facts, online};

/// Who sends discards from this mount, or that nobody does.
pub(super) fn handling(walk: &Walk<'_>, mount: &Mount, below: &[Layer]) -> Handling {
    let senders = walk.system.senders;
    let mut by = Vec::new();
    if let Some(option) = online(mount) {
        by.push(format!("mount option `{option}`"));
    }
    if senders.timer_trims(walk.system.mounts, mount) {
        by.push("`fstrim.timer`".to_owned());
    }
    by.extend(senders.jobs.iter().map(|job| format!("`{job}`")));
    if !by.is_empty() {
        return Handling::Sends { by };
    }
    // Somebody has, by hand or by a program of his own.
    let sent: u64 = below.iter().filter_map(|layer| layer.discarded).map(|it| it.bytes).sum();
    if senders.is_container {
        let why = "this is a container, and its host may run `fstrim`: ask on the host";
        return Handling::Unknown { why: why.to_owned() };
    }
    let why = format!(
        "it is mounted without `discard`, and {}{}",
        timer_words(senders, walk.system.mounts, mount),
        if sent > 0 {
            "; somebody has sent discards since the device appeared, by hand or by a program that \
             is not known here"
        } else {
            ""
        }
    );
    let place = Place::of_mount(&mount_facts(walk.system.tree, walk.system.senders, mount));
    // Without systemd there is no timer to switch on.
    let action = match senders.timer {
        TimerState::On | TimerState::Off | TimerState::Masked => Action::WeeklyFstrim,
        TimerState::WithoutSystemd | TimerState::Missing => Action::MountWithDiscard,
    };
    Handling::Drops { cause: "nobody-sends", why, lines: lines_to_type(&action, &place) }
}

/// The same of a pool of ZFS.
pub(super) fn of_pool(
    walk: &Walk<'_>,
    pool: &str,
    autotrim: Option<&str>,
    below: &[Layer],
) -> Handling {
    let timer = UNITS.iter().flat_map(|folder| {
        let wanted = Path::new(folder).join("timers.target.wants");
        let of_pool = ["weekly", "monthly"].map(|it| format!("zfs-trim-{it}@{pool}.timer"));
        of_pool.map(|name| (wanted.join(&name), name))
    });
    let mut by: Vec<String> = timer
        .filter(|(link, _)| {
            walk.system
                .tree
                .names_or_none(link.parent().unwrap_or(link))
                .iter()
                .any(|name| link.file_name().is_some_and(|it| it == name.as_str()))
        })
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    match autotrim {
        Some("on") => by.push("`autotrim`".to_owned()),
        Some(_) => {}
        None => return Handling::Unknown { why: "`zpool get autotrim` says nothing".to_owned() },
    }
    if !by.is_empty() || below.is_empty() {
        return Handling::Sends { by };
    }
    let facts: BTreeMap<String, String> = [("filesystem", "zfs"), ("source-device", pool)]
        .map(|(key, text)| (key.to_owned(), text.to_owned()))
        .into();
    Handling::Drops {
        cause: "nobody-sends",
        why: "`autotrim` of the pool is off, and no timer of its own runs `zpool trim`".to_owned(),
        lines: lines_to_type(&Action::WeeklyFstrim, &Place::of_mount(&facts)),
    }
}

/// Who sends discards from a swap area.
pub(super) fn of_swap(walk: &Walk<'_>, area: &str) -> Handling {
    let line = walk.system.senders.fstab.iter().find(|line| line[2] == "swap" && line[0] == area);
    let asks = line.is_some_and(|line| {
        line[3].split(',').any(|it| it == "discard" || it.starts_with("discard="))
    });
    if asks {
        return Handling::Sends { by: vec!["option `discard` of `/etc/fstab`".to_owned()] };
    }
    Handling::Unknown {
        why: "whether this swap area was switched on with `--discard`, the kernel does not show"
            .to_owned(),
    }
}

/// Why the timer does not trim a filesystem, as a clause.
fn timer_words(senders: &SystemSenders, mounts: &MountTable, mount: &Mount) -> String {
    let covers = senders.timer_covers(mounts, mount);
    match (senders.timer, covers) {
        (TimerState::On, Err(why)) => format!("`fstrim.timer` is on, but {why}"),
        (TimerState::On, Ok(())) => "`fstrim.timer` trims it".to_owned(),
        (TimerState::Off, _) => "`fstrim.timer` is not enabled".to_owned(),
        (TimerState::Masked, _) => "`fstrim.timer` is masked".to_owned(),
        (TimerState::WithoutSystemd, _) => {
            "`fstrim.timer` is enabled, but systemd does not run here".to_owned()
        }
        (TimerState::Missing, _) => "`fstrim.timer` is not installed".to_owned(),
    }
}
