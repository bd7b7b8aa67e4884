//! The lines to type for an answer: only what has to change, one thing at a time, each with the
//! command that shows its effect.
//!
//! Sources: `mount(8)`, `fstrim(8)`, `swapon(8)`, `lvm.conf(5)`, the manual pages of the `mkfs`
//! programs, `zpool-trim(8)`; the kernel's `filesystems/f2fs.rst`. How remounts behave was seen on
//! Linux 6.18: ext4 takes `discard` and `nodiscard`, btrfs each of its modes; XFS returns 0 for
//! both and stays as it was. `tests/typed.rs` does that again.

use serde::Serialize;

use super::Action;
use super::options::{Fstab, TrimSetting};
use super::place::{PLACEHOLDERS, Place, TrimFilesystem};

#[cfg(test)]
mod tests;

/// The file of the udev rule.
pub const RULES_FILE: &str = "/etc/udev/rules.d/60-discard-max.rules";
/// Where options of the root filesystem stand that no remount changes.
pub const KERNEL_LINE: &str = "the kernel command line";
const FSTAB: &str = "/etc/fstab";
const LVM: &str = "/etc/lvm/lvm.conf";
/// For whom a line is that is no filesystem's own.
const ALL: &str = "all";

/// A line to type: a command, or a line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineToType {
    /// For whom: a filesystem, `swap`, `LVM`, `mkfs`, `dm-crypt`, or `all`.
    pub system: &'static str,
    /// The file in which it stands; `None` for a command.
    pub file: Option<&'static str>,
    /// The line. [`UUID`](super::UUID) and the like are the reader's to replace.
    pub text: String,
    /// The command that shows its effect; `None` where the next line's does, or nothing shows it.
    pub check: Option<String>,
    /// What one has to know before one types it.
    pub note: Option<&'static str>,
    /// Whether trimbench's tests give it to the real program.
    pub tested: bool,
}

impl LineToType {
    /// A command.
    pub fn command(system: &'static str, text: impl Into<String>) -> Self {
        Self { system, file: None, text: text.into(), check: None, note: None, tested: true }
    }

    /// A line of a file.
    pub fn in_file(system: &'static str, file: &'static str, text: impl Into<String>) -> Self {
        Self { file: Some(file), ..Self::command(system, text) }
    }

    /// With the command that shows its effect.
    #[must_use]
    pub fn checked_by(self, check: impl Into<String>) -> Self {
        Self { check: Some(check.into()), ..self }
    }

    /// With what one has to know before.
    #[must_use]
    pub fn noting(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }

    /// Of a program that the tests do not have, or would harm the machine with.
    #[must_use]
    pub fn untested(self) -> Self {
        Self { tested: false, ..self }
    }
}

/// What to type for this answer at this place, in this order.
pub fn lines_to_type(action: &Action, place: &Place) -> Vec<LineToType> {
    match action {
        Action::MountWithDiscard => mounted(place, &TrimFilesystem::ALL, TrimSetting::Online),
        Action::SmallerDiscardMax { bytes } => {
            let limit = rule(place, *bytes);
            // The simulation is one of ext4: others send their discards otherwise.
            [limit, mounted(place, &[TrimFilesystem::Ext4], TrimSetting::Online)].concat()
        }
        Action::WeeklyFstrim => {
            let timer = LineToType::command(ALL, "systemctl enable --now fstrim.timer")
                .checked_by("systemctl list-timers fstrim.timer");
            // It does not trim pools.
            let timer = (place.filesystem() != Some(TrimFilesystem::Zfs)).then_some(timer);
            let rest = mounted(place, &TrimFilesystem::ALL, TrimSetting::Weekly);
            timer.into_iter().chain(rest).collect()
        }
        Action::NothingToGain => mounted(place, &TrimFilesystem::ALL, TrimSetting::Never),
        Action::DoNotTrim => [
            rule(place, 0),
            mounted(place, &TrimFilesystem::ALL, TrimSetting::Never),
            other_senders(),
        ]
        .concat(),
        Action::TrimDoesNotReach => vec![
            LineToType::command(ALL, "lsblk --discard"),
            LineToType::command(
                "dm-crypt",
                "cryptsetup refresh --allow-discards --persistent NAME",
            )
            .checked_by("lsblk --discard")
            .untested(),
        ],
        Action::EitherWillDo | Action::Unknown => Vec::new(),
    }
}

/// What stands above these lines; `None` if they are complete, or there are none.
pub fn template(lines: &[LineToType], place: &Place) -> Option<&'static str> {
    if lines.is_empty() {
        return None;
    }
    place.template_words(!placeholders(lines).is_empty())
}

/// What is the reader's to replace in these lines.
pub fn placeholders(lines: &[LineToType]) -> Vec<&'static str> {
    let in_name = |it: char| it.is_ascii_alphabetic() || "-/".contains(it);
    let has = |text: &str, name: &str| {
        // `/dev/DISK` has a name behind a folder.
        let words = text.split(|it: char| !in_name(it));
        words.into_iter().any(|it| it == name || it.strip_prefix("/dev/") == Some(name))
    };
    PLACEHOLDERS.into_iter().filter(|name| lines.iter().any(|it| has(&it.text, name))).collect()
}

/// Why there is nothing to change of the mount, in words; `None` where there is, or where nobody
/// knows.
pub fn already(action: &Action, place: &Place) -> Option<String> {
    let (setting, is_on) = match action {
        Action::MountWithDiscard | Action::SmallerDiscardMax { .. } => (TrimSetting::Online, true),
        Action::WeeklyFstrim => (TrimSetting::Weekly, false),
        Action::NothingToGain | Action::DoNotTrim => (TrimSetting::Never, false),
        Action::TrimDoesNotReach | Action::EitherWillDo | Action::Unknown => return None,
    };
    let is_so = place.is_on() == Some(is_on) && place.fstab_line(setting).is_none();
    let point = place.mount_point();
    is_so.then(|| match setting {
        TrimSetting::Online => {
            format!("already on: keep it (`{point}` is mounted with `discard`)")
        }
        TrimSetting::Weekly => {
            format!("already so: keep it (`{point}` is mounted without `discard`)")
        }
        TrimSetting::Never => {
            format!("already off: keep it (neither `discard` nor `fstrim.timer` trims `{point}`)")
        }
    })
}

/// The lines for the filesystem of this place; for each of these where it may be any.
fn mounted(place: &Place, all: &[TrimFilesystem], setting: TrimSetting) -> Vec<LineToType> {
    match place.filesystem() {
        Some(filesystem) => of_filesystem(place, filesystem, setting),
        None => all.iter().flat_map(|it| of_filesystem(&place.with(*it), *it, setting)).collect(),
    }
}

fn of_filesystem(
    place: &Place,
    filesystem: TrimFilesystem,
    setting: TrimSetting,
) -> Vec<LineToType> {
    if filesystem == TrimFilesystem::Zfs {
        return of_pool(place.pool(), setting);
    }
    let line = place.fstab_line(setting).map(|text| {
        let line = LineToType::in_file(filesystem.label(), FSTAB, text);
        match setting {
            TrimSetting::Never => line.checked_by("fstrim --fstab --dry-run --verbose").noting(
                "`fstrim.timer` then leaves this one filesystem alone: the check does not list it",
            ),
            TrimSetting::Weekly if place.fstab == Fstab::Absent => {
                line.checked_by("findmnt --verify").noting(
                    "`fstrim.timer` trims what this file lists, and it does not list this \
                     filesystem",
                )
            }
            _ => line.checked_by("findmnt --verify"),
        }
    });
    let is_as_wished = place.is_on() == Some(setting == TrimSetting::Online);
    let applied = if is_as_wished { Vec::new() } else { applied(place, filesystem, setting) };
    let is_tested = filesystem != TrimFilesystem::F2fs && filesystem != TrimFilesystem::Other;
    let lines = line.into_iter().chain(applied);
    lines.map(|line| LineToType { tested: line.tested && is_tested, ..line }).collect()
}

/// What has the new options take effect.
fn applied(place: &Place, filesystem: TrimFilesystem, setting: TrimSetting) -> Vec<LineToType> {
    let is_online = setting == TrimSetting::Online;
    let (label, point) = (filesystem.label(), place.mount_point());
    let check = format!("findmnt -no OPTIONS {point}");
    let option = match filesystem {
        TrimFilesystem::Btrfs if is_online => "discard=async",
        _ if is_online => "discard",
        _ => "nodiscard",
    };
    let by_remount =
        matches!(filesystem, TrimFilesystem::Ext4 | TrimFilesystem::Btrfs | TrimFilesystem::F2fs);
    if by_remount {
        let text = format!("mount -o remount,{option} {point}");
        return vec![LineToType::command(label, text).checked_by(check)];
    }
    if point == "/" {
        let text = format!("rootflags={option}");
        let line = LineToType::in_file(label, KERNEL_LINE, text).checked_by(check).untested();
        return vec![line.noting(
            "it is taken only by a mount, and the kernel mounts `/`: restart the machine",
        )];
    }
    let note = match filesystem {
        TrimFilesystem::Xfs => {
            "a remount reports success on XFS and changes nothing; nothing may use the files \
             meanwhile, else restart the machine"
        }
        _ => "nothing may use the files meanwhile, else restart the machine",
    };
    let away = LineToType::command(label, format!("umount {point}")).noting(note);
    vec![away, LineToType::command(label, format!("mount {point}")).checked_by(check)]
}

/// The same for a pool of ZFS, which has a property instead of a mount option.
fn of_pool(pool: &str, setting: TrimSetting) -> Vec<LineToType> {
    let command = |text: String| LineToType::command("ZFS", text).untested();
    let value = if setting == TrimSetting::Online { "on" } else { "off" };
    let property = command(format!("zpool set autotrim={value} {pool}"))
        .checked_by(format!("zpool get autotrim {pool}"));
    let timer = command(format!("systemctl enable --now zfs-trim-weekly@{pool}.timer"))
        .checked_by(format!("zpool status -t {pool}"));
    match setting {
        TrimSetting::Weekly => vec![timer, property],
        _ => vec![property],
    }
}

/// The udev rule that limits discards to the drive to so many bytes, and how it takes effect.
fn rule(place: &Place, bytes: u64) -> Vec<LineToType> {
    let (serial, disk) = (place.serial(), place.disk());
    let rule = format!(
        "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", \
         ENV{{ID_SERIAL_SHORT}}==\"{serial}\", ATTR{{queue/discard_max_bytes}}=\"{bytes}\""
    );
    let rule = LineToType::in_file(ALL, RULES_FILE, rule);
    let rule = match bytes {
        0 => rule.noting(
            "the kernel then refuses every discard to this drive, whoever sends it; to undo it, \
             remove the rule and restart the machine",
        ),
        _ => rule,
    };
    let trigger = format!("udevadm trigger --action=change /dev/{disk}");
    let trigger =
        LineToType::command(ALL, trigger).checked_by(format!("lsblk --discard /dev/{disk}"));
    vec![rule, LineToType::command(ALL, "udevadm control --reload"), trigger]
}

/// Who else sends discards to a drive, beside what is mounted.
fn other_senders() -> Vec<LineToType> {
    let make = |text: &str| {
        LineToType::command("mkfs", format!("{text} /dev/PARTITION")).noting(
            "only when you make a filesystem, which destroys what is there: without this option \
             it discards the whole partition first",
        )
    };
    let swap = LineToType::in_file("swap", FSTAB, "UUID=SWAP-UUID none swap defaults 0 0");
    let lvm = LineToType::in_file("LVM", LVM, "devices { issue_discards = 0 }");
    let timer = LineToType::command(ALL, "systemctl disable --now fstrim.timer");
    vec![
        swap.checked_by("findmnt --fstab --types swap").noting(
            "swap on this drive: no `discard` among its options; then `swapoff -a` and `swapon -a`",
        ),
        lvm.checked_by("lvmconfig devices/issue_discards")
            .noting("if this is 1, `lvremove` and `lvreduce` discard what they free")
            .untested(),
        make("mkfs.ext4 -E nodiscard"),
        make("mkfs.xfs -K"),
        make("mkfs.btrfs -K"),
        make("mkfs.f2fs -t 0").untested(),
        timer.checked_by("systemctl list-timers fstrim.timer").noting(
            "it stops the weekly TRIM of every filesystem of the machine: only if all its drives \
             lose data",
        ),
    ]
}
