//! Who sends discards from a filesystem, a pool or a swap area, or that nobody does.

use std::collections::BTreeMap;
use std::path::Path;

use trimbench_claim::mounts::Mount;
use trimbench_core::text::shell_path;
use trimbench_results::advice::{Action, LineToType, Place, lines_to_type};

use super::Walk;
use crate::fstab::FstabEntry;
use crate::layer::{Handling, Layer, LayerKind};
use crate::mount_table::MountTable;
use crate::senders::{SystemSenders, TimerState, UNITS, online, trims_read_only};

/// Filesystems to which Linux writes, and of which it neither discards nor trims anything: their
/// sources have neither a `discard` option nor FITRIM.
const WITHOUT_TRIM: [&str; 10] =
    ["hfs", "hfsplus", "ufs", "minix", "affs", "reiserfs", "udf", "omfs", "bfs", "adfs"];

/// Who sends discards from this mount, or that nobody does.
pub(super) fn handling(walk: &Walk<'_>, mount: &Mount, below: &[Layer]) -> Handling {
    let senders = walk.system.senders;
    if WITHOUT_TRIM.contains(&mount.filesystem.as_str()) {
        let why = format!("Linux has no TRIM for {}", mount.filesystem);
        return Handling::Drops { cause: "filesystem-without-trim", why, lines: Vec::new() };
    }
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
    if senders.is_container {
        let why = "this is a container, and its host may run `fstrim`: ask on the host";
        return Handling::Unknown { why: why.to_owned() };
    }
    if walk.system.mounts.is_read_only(mount) {
        return read_only(mount);
    }
    // Somebody has, by hand or by a program of his own. A loop device keeps its counters when it
    // gets another file, so that they prove nothing of this one.
    let own = below.iter().filter(|layer| layer.kind != LayerKind::Loop);
    let sent: u64 = own.filter_map(|layer| layer.discarded).map(|it| it.bytes).sum();
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
    // Without systemd there is no timer to switch on.
    let action = match senders.timer {
        TimerState::On | TimerState::Off | TimerState::Masked => Action::WeeklyFstrim,
        TimerState::WithoutSystemd | TimerState::Missing => Action::MountWithDiscard,
    };
    let lines = senders.lines(walk.system.tree, walk.system.mounts, mount, &action);
    Handling::Drops { cause: "nobody-sends", why, lines }
}

/// A filesystem that frees nothing while it is mounted: neither the option nor the timer would send
/// anything.
fn read_only(mount: &Mount) -> Handling {
    let by_hand =
        LineToType::command("all", format!("fstrim --verbose {}", shell_path(&mount.mount_point)))
            .untested()
            .noting("once is enough: nothing more is freed until it is mounted for writing");
    Handling::Drops {
        cause: "nobody-sends",
        why: "it is mounted read-only, so nothing is freed there, and `fstrim.timer` leaves it out"
            .to_owned(),
        lines: if trims_read_only(mount) == Some(true) { vec![by_hand] } else { Vec::new() },
    }
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

/// Who sends discards from a swap area, by its line of fstab.
pub(super) fn of_swap(entry: Option<&FstabEntry>) -> Handling {
    let mut options = entry.into_iter().flat_map(FstabEntry::options);
    let asks = options.find(|it| *it == "discard" || it.starts_with("discard="));
    if let Some(option) = asks {
        return Handling::Sends { by: vec![format!("option `{option}` of `/etc/fstab`")] };
    }
    Handling::Unknown {
        why: "neither sysfs nor `/proc/swaps` shows whether this swap area was switched on with \
              `--discard`; the kernel log does (`dmesg | grep 'swap on'`: a `D` in the last word \
              of its line)"
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
