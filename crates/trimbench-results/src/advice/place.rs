//! Where an answer will be applied: the filesystem that was measured, as far as the record has it.
//!
//! A record is anybody's, and its texts end up in commands of root. So a text gets in here only if
//! it means itself to a shell, in `/etc/fstab` and in a rule of udev; else its placeholder stays.

use std::collections::BTreeMap;

use trimbench_core::Caveat;
use trimbench_core::text::shell_word;

use super::options::{self, Fstab, FstabLine, TrimSetting};
use crate::record::Session;

#[cfg(test)]
mod tests;

/// Stands in lines for what only the reader knows: the filesystem's UUID (`lsblk --fs`).
pub const UUID: &str = "FILESYSTEM-UUID";
/// The same: where the filesystem is mounted.
pub const MOUNTPOINT: &str = "/MOUNTPOINT";
/// The same: the options that the filesystem is mounted with today.
pub const OPTIONS: &str = "EXISTING-OPTIONS";
/// The same: the serial number of the drive (`udevadm info /dev/DISK`, `ID_SERIAL_SHORT`).
pub const SERIAL: &str = "SERIAL-NUMBER";
/// The same: the drive, as the kernel calls it.
pub const DISK: &str = "DISK";
/// The same: the type of a filesystem that the record does not name.
const TYPE: &str = "FILESYSTEM-TYPE";
/// The same: the file that a filesystem is in.
const IMAGE: &str = "/IMAGE-FILE";
/// The same: the pool.
pub const POOL: &str = "POOL";
/// All of them, with those of which no record knows anything.
pub const PLACEHOLDERS: [&str; 11] = [
    UUID,
    MOUNTPOINT,
    TYPE,
    OPTIONS,
    SERIAL,
    DISK,
    IMAGE,
    POOL,
    "NAME",
    "SWAP-UUID",
    "/dev/PARTITION",
];

/// Filesystems that take TRIM each in a way of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimFilesystem {
    /// And ext3 and ext2.
    Ext4,
    /// Takes `discard` when it is mounted, and never by a remount.
    Xfs,
    /// Has three modes; from Linux 6.2 on `discard=async` is the default.
    Btrfs,
    /// Discards unless told not to.
    F2fs,
    /// Has a property of the pool instead of a mount option.
    Zfs,
    /// Whether it takes `discard` by a remount is not known.
    Other,
}

/// What the record says of the place where the answer will be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    origin: PlaceOrigin,
    filesystem: Option<TrimFilesystem>,
    /// As fstab names the filesystem; empty where there is none.
    kind: String,
    uuid: Option<String>,
    mount_point: Option<String>,
    loop_image: Option<LoopImage>,
    /// As the kernel shows them; `None` where they are unknown, or not plain text.
    pub(super) options: Option<Vec<String>>,
    pub(super) fstab: Fstab,
    pool: Option<String>,
    disk: Option<String>,
    serial: Option<String>,
}

/// A file that a loop device makes a disk of. Once it is unmounted its UUID cannot be found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LoopImage {
    /// `None` where the path needs quotes.
    file: Option<String>,
    /// Those by which `mount` makes the loop device.
    options: String,
}

/// What was measured, which says how much of a place there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaceOrigin {
    /// A model: the reader has a place of his own.
    Emulated,
    /// A drive or an image, or a filesystem that was made on it for the run.
    Drive,
    /// A directory on a mounted filesystem.
    Directory,
}

impl TrimFilesystem {
    /// Those with lines of their own, in the order in which a template shows them.
    pub const ALL: [Self; 5] = [Self::Ext4, Self::Xfs, Self::Btrfs, Self::F2fs, Self::Zfs];

    /// For people, and in [`LineToType::system`](super::LineToType::system).
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "XFS",
            Self::Btrfs => "btrfs",
            Self::F2fs => "f2fs",
            Self::Zfs => "ZFS",
            Self::Other => "filesystem",
        }
    }

    /// Of a type of mount.
    fn of(kind: &str) -> Self {
        match kind {
            "ext2" | "ext3" | "ext4" => Self::Ext4,
            "xfs" => Self::Xfs,
            "btrfs" => Self::Btrfs,
            "f2fs" => Self::F2fs,
            "zfs" => Self::Zfs,
            _ => Self::Other,
        }
    }

    /// Its type of mount, in a template.
    const fn kind(self) -> &'static str {
        match self {
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::F2fs => "f2fs",
            Self::Zfs => "zfs",
            Self::Ext4 => "ext4",
            Self::Other => TYPE,
        }
    }

    /// Whether it discards online unless it is told not to.
    pub(super) const fn is_on_by_default(self) -> bool {
        matches!(self, Self::Btrfs | Self::F2fs)
    }
}

impl Place {
    /// The place of these sessions, which are all on one drive or directory.
    pub fn of(sessions: &[&Session]) -> Self {
        let directory = sessions.iter().find(|it| it.target.kind == "directory");
        if let Some(session) = directory {
            return Self::mounted(session);
        }
        let real = sessions.iter().find(|it| is_real(it));
        let mut place = Self::empty(real.map_or(PlaceOrigin::Emulated, |_| PlaceOrigin::Drive));
        let mut kinds: Vec<TrimFilesystem> =
            sessions.iter().filter_map(|session| filesystem_of(session)).collect();
        kinds.dedup();
        if let [only] = kinds.as_slice() {
            place = place.with(*only);
        }
        if let Some(session) = real {
            (place.disk, place.serial) = disk_of(session);
        }
        place
    }

    /// A template for a filesystem of the reader's: what a drive that is emulated has.
    pub fn template() -> Self {
        Self::empty(PlaceOrigin::Emulated)
    }

    fn empty(origin: PlaceOrigin) -> Self {
        Self {
            origin,
            filesystem: None,
            kind: String::new(),
            uuid: None,
            mount_point: None,
            loop_image: None,
            options: None,
            fstab: Fstab::Unknown,
            pool: None,
            disk: None,
            serial: None,
        }
    }

    /// The place of a directory.
    fn mounted(session: &Session) -> Self {
        Self::of_facts(|key| fact(session, key), disk_of(session))
    }

    /// The place of a mounted filesystem of which these facts are known, by the keys of a record's
    /// environment (`filesystem`, `mount-options`, `fstab-line`, ...).
    pub fn of_mount(facts: &BTreeMap<String, String>) -> Self {
        Self::of_facts(|key| facts.get(key).map(String::as_str), (None, None))
    }

    fn of_facts<'a>(
        fact: impl Fn(&str) -> Option<&'a str>,
        (disk, serial): (Option<String>, Option<String>),
    ) -> Self {
        let kind = fact("filesystem").filter(|it| is_plain(it)).unwrap_or_default();
        let filesystem = TrimFilesystem::of(kind);
        let empty = Self::empty(PlaceOrigin::Directory).with(filesystem);
        if !kind.is_empty() {
            let source = fact("source-device").filter(|_| filesystem == TrimFilesystem::Zfs);
            let pool = source.and_then(|it| it.split('/').next()).filter(|it| is_plain(it));
            let options = fact("mount-options").and_then(options::split);
            // A bind mount, or a volume of a container: fstab mounts something else.
            let part_of_it = fact("mount-root").is_some_and(|root| {
                let of_root = format!("subvol={root}");
                !options.iter().flatten().any(|it| *it == of_root)
            });
            let point = fact("mount-point").filter(|it| is_typed_as_it_is(it) && !part_of_it);
            let loop_image = fact("loop-options").filter(|it| is_loop(it)).map(|it| LoopImage {
                file: fact("loop-file").filter(|it| is_typed_as_it_is(it)).map(str::to_owned),
                options: it.to_owned(),
            });
            return Self {
                kind: kind.to_owned(),
                loop_image,
                uuid: fact("filesystem-uuid").filter(|it| is_uuid(it)).map(str::to_owned),
                mount_point: point.map(str::to_owned),
                options,
                fstab: fact("fstab-line").map_or(Fstab::Unknown, Fstab::of),
                pool: pool.map(str::to_owned),
                disk,
                serial,
                ..empty
            };
        }
        Self { disk, serial, ..empty }
    }

    /// The same for a filesystem of this kind.
    pub(super) fn with(&self, filesystem: TrimFilesystem) -> Self {
        let kind = filesystem.kind().to_owned();
        Self { filesystem: Some(filesystem), kind, ..self.clone() }
    }

    /// The filesystem; `None` where several may be meant.
    pub fn filesystem(&self) -> Option<TrimFilesystem> {
        self.filesystem
    }

    /// Where it is mounted, or the placeholder.
    pub fn mount_point(&self) -> &str {
        self.mount_point.as_deref().unwrap_or(MOUNTPOINT)
    }

    pub(super) fn pool(&self) -> &str {
        self.pool.as_deref().unwrap_or(POOL)
    }

    pub(super) fn disk(&self) -> &str {
        self.disk.as_deref().unwrap_or(DISK)
    }

    pub(super) fn serial(&self) -> &str {
        self.serial.as_deref().unwrap_or(SERIAL)
    }

    /// The options by which `mount` makes a loop device of its file; `None` if it is in none.
    pub(super) fn loop_options(&self) -> Option<&str> {
        self.loop_image.as_ref().map(|image| image.options.as_str())
    }

    /// Whether it discards online today; `None` where the record does not say.
    pub(super) fn is_on(&self) -> Option<bool> {
        let options =
            self.options.as_ref().filter(|_| self.filesystem != Some(TrimFilesystem::Zfs));
        options.map(|all| all.iter().any(|it| options::is_on(it)))
    }

    /// The line of fstab for this setting; `None` where the one that is there stays as it is.
    pub(super) fn fstab_line(&self, setting: TrimSetting) -> Option<String> {
        let options = options::wished(self, setting)?.join(",");
        let Self { kind, fstab, .. } = self;
        let point = self.mount_point();
        if let Fstab::Line(FstabLine { spec, kind, rest, .. }) = fstab {
            return Some(format!("{spec} {point} {kind} {options} {rest}"));
        }
        if let Some(LoopImage { file, .. }) = &self.loop_image {
            let file = file.as_deref().unwrap_or(IMAGE);
            return Some(format!("{file} {point} {kind} {options} 0 0"));
        }
        let uuid = self.uuid.as_deref().unwrap_or(UUID);
        let pass = match self.filesystem {
            Some(TrimFilesystem::Ext4) if point == "/" => 1,
            Some(TrimFilesystem::Ext4) => 2,
            _ => 0,
        };
        Some(format!("UUID={uuid} {point} {kind} {options} 0 {pass}"))
    }

    /// What stands above lines that the reader has to complete, or to apply to a place of his own.
    pub fn template_words(&self, has_placeholders: bool) -> Option<&'static str> {
        match self.origin {
            PlaceOrigin::Emulated => Some("template, for a filesystem of yours"),
            PlaceOrigin::Drive if has_placeholders => {
                Some("template, for the filesystem that is to be on the drive")
            }
            PlaceOrigin::Directory if has_placeholders => {
                Some("template: the record does not say what stands in capitals")
            }
            _ => None,
        }
    }

    /// Whether it is known what fstab would have instead of the options that the kernel shows.
    pub(super) fn is_directory(&self) -> bool {
        self.origin == PlaceOrigin::Directory
    }
}

/// Whether a session ran on something real.
fn is_real(session: &Session) -> bool {
    match session.target.kind.as_str() {
        _ if session.has_caveat(Caveat::AttachedDrive) => false,
        "device" | "image" => true,
        "filesystem" => !is_modelled(session),
        _ => false,
    }
}

fn is_modelled(session: &Session) -> bool {
    session.target.identity.get("filesystem").is_none_or(|it| it.ends_with(", modelled"))
}

/// The filesystem that a session ran on, modelled or made for the run.
fn filesystem_of(session: &Session) -> Option<TrimFilesystem> {
    if session.target.kind != "filesystem" {
        return None;
    }
    let kind = session.target.identity.get("filesystem")?;
    Some(match TrimFilesystem::of(kind.strip_suffix(", modelled").unwrap_or(kind)) {
        // A model of a kernel's way, as `freebsd`: none that the reader mounts.
        TrimFilesystem::Other => return None,
        known => known,
    })
}

/// The disk and its serial number as udev has it, where there is one disk only.
fn disk_of(session: &Session) -> (Option<String>, Option<String>) {
    let fact = |key: &str| fact(session, key).filter(|it| is_plain(it)).map(str::to_owned);
    let kind = fact("device-kind").or_else(|| fact("kind"));
    let is_drive = matches!(kind.as_deref(), Some("nvme" | "sata" | "scsi" | "virtio"));
    if !is_drive || fact("device-name-2").is_some() {
        return (None, None);
    }
    // What sysfs calls the serial number of an NVMe drive is what udev does.
    let serial = fact("serial").filter(|_| kind.as_deref() == Some("nvme"));
    (fact("disk-name"), fact("udev-serial").or(serial))
}

/// What a record says under this key.
fn fact<'a>(session: &'a Session, key: &str) -> Option<&'a str> {
    let found = session.target.identity.get(key).or_else(|| session.environment_before.get(key));
    found.map(String::as_str)
}

/// Whether a path means itself to a shell and in `/etc/fstab`, without quotes. Any other stays out
/// of the lines to type: the two quote differently, and a line is wrapped at blanks.
fn is_typed_as_it_is(path: &str) -> bool {
    path.starts_with('/') && shell_word(path) == path
}

/// Letters, digits and what joins them: no option of a program, no path.
fn is_plain(text: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || "_-.".contains(it);
    !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(is_letter)
}

/// `loop` with what says which part of a file it is of.
fn is_loop(text: &str) -> bool {
    let mut parts = text.split(',');
    let is_part = |it: &str| {
        let number = it.strip_prefix("offset=").or(it.strip_prefix("sizelimit="));
        number.is_some_and(|it| it.parse::<u64>().is_ok())
    };
    parts.next() == Some("loop") && parts.all(is_part)
}

fn is_uuid(text: &str) -> bool {
    text.chars().all(|it| it.is_ascii_hexdigit() || it == '-') && text.len() >= 8
}
