//! Mount options with regard to TRIM: those that are there, and those that an answer asks for.

use trimbench_core::text::shell_word;

use super::place::{OPTIONS, Place, TrimFilesystem};

/// Keeps `fstrim.timer` from one mount (util-linux 2.38, `fstrim(8)`).
pub(super) const NOTRIM: &str = "X-fstrim.notrim";

/// When a filesystem is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrimSetting {
    /// When files are deleted.
    Online,
    /// By `fstrim.timer` only.
    Weekly,
    /// Never.
    Never,
}

/// What `/etc/fstab` says of the mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fstab {
    /// The record does not say, or it is not plain text.
    Unknown,
    /// It has no line for it.
    Absent,
    /// This line.
    Line(FstabLine),
}

/// A line of `/etc/fstab`, without the place, which the record has on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FstabLine {
    /// What is mounted: `UUID=...`, `LABEL=...`, a path.
    pub(super) spec: String,
    pub(super) kind: String,
    pub(super) options: Vec<String>,
    /// The numbers for dump and fsck.
    pub(super) rest: String,
}

impl Fstab {
    /// Of the text of a record: a line with one blank between fields, or `none`.
    pub(super) fn of(text: &str) -> Self {
        if text == "none" {
            return Self::Absent;
        }
        let fields: Vec<&str> = text.split(' ').collect();
        let Some((&[spec, _, kind, options], numbers)) = fields.split_first_chunk::<4>() else {
            return Self::Unknown;
        };
        let is_number = |it: &&str| it.len() == 1 && it.chars().all(|it| it.is_ascii_digit());
        let is_known = is_plain(spec.trim_start_matches('/')) && is_plain(kind);
        let is_known = is_known && numbers.len() <= 2 && numbers.iter().all(is_number);
        match split(options) {
            Some(options) if is_known => {
                let number = |at: usize| numbers.get(at).copied().unwrap_or("0");
                let rest = format!("{} {}", number(0), number(1));
                Self::Line(FstabLine {
                    spec: spec.to_owned(),
                    kind: kind.to_owned(),
                    options,
                    rest,
                })
            }
            _ => Self::Unknown,
        }
    }
}

/// The options of a text; `None` if one needs quotes, as a label of `SELinux` does.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let options: Vec<String> = text.split(',').map(str::to_owned).collect();
    options.iter().all(|it| is_plain(it)).then_some(options)
}

/// Whether a text means itself to a shell and in fstab, and is no option of a program.
fn is_plain(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphanumeric()) && shell_word(text) == text
}

/// Whether an option asks for discards.
pub(super) fn is_on(option: &str) -> bool {
    let mode = option.strip_prefix("discard=");
    // JFS: the least number of blocks.
    let is_least = mode.is_some_and(|it| it.parse::<u32>().is_ok());
    is_least || matches!(option, "discard" | "discard=sync" | "discard=async")
}

/// The options that fstab should have for this setting; `None` if it has them, or if nothing needs
/// a line there.
pub(super) fn wished(place: &Place, setting: TrimSetting) -> Option<Vec<String>> {
    let filesystem = place.filesystem()?;
    let is_now_on = place.is_on();
    let line = match &place.fstab {
        Fstab::Line(line) => Some(line),
        _ => None,
    };
    let asks = |all: &[String]| all.iter().any(|it| is_on(it));
    let refuses = |all: &[String]| all.iter().any(|it| it == "nodiscard");
    let is_kept = match (setting, line) {
        // What is mounted by something else than fstab, and is as it should be, needs no line.
        (TrimSetting::Online, None) => is_now_on == Some(true),
        (TrimSetting::Online, Some(line)) => {
            let by_default = filesystem.is_on_by_default() && !refuses(&line.options);
            is_now_on == Some(true) && (asks(&line.options) || by_default)
        }
        (TrimSetting::Weekly, None) => is_now_on == Some(false) && place.fstab == Fstab::Unknown,
        (TrimSetting::Never, None) => is_now_on == Some(false) && place.fstab == Fstab::Absent,
        (_, Some(_)) => false,
    };
    if is_kept {
        return None;
    }
    let before = line.map_or_else(|| unlisted(place), |line| line.options.clone());
    let on = before.iter().find(|it| is_on(it)).cloned();
    let mut after: Vec<String> = before
        .iter()
        .filter(|it| !is_on(it) && *it != "nodiscard")
        .filter(|it| setting != TrimSetting::Weekly || *it != NOTRIM)
        .cloned()
        .collect();
    if setting == TrimSetting::Online {
        let own = if filesystem == TrimFilesystem::Btrfs { "discard=async" } else { "discard" };
        after.push(on.unwrap_or_else(|| own.to_owned()));
    } else {
        if filesystem.is_on_by_default() {
            after.push("nodiscard".to_owned());
        }
        if setting == TrimSetting::Never && !after.iter().any(|it| it == NOTRIM) {
            after.push(NOTRIM.to_owned());
        }
    }
    if after.is_empty() {
        after.push("defaults".to_owned());
    }
    let same = line.is_some_and(|line| {
        line.options.len() == after.len() && after.iter().all(|it| line.options.contains(it))
    });
    (!same).then_some(after)
}

/// The options of a mount that fstab does not list, as it would list them.
fn unlisted(place: &Place) -> Vec<String> {
    let Some(shown) = &place.options else {
        let all = if place.is_directory() { OPTIONS } else { "defaults" };
        return vec![all.to_owned()];
    };
    let mut kept: Vec<String> = Vec::new();
    for option in shown {
        if !is_default(place.filesystem(), option) && !kept.contains(option) {
            kept.push(option.clone());
        }
    }
    if let Some(options) = place.loop_options() {
        kept.insert(0, options.to_owned());
    }
    if !kept.iter().any(|it| !is_on(it) && it != "nodiscard") {
        kept.insert(0, "defaults".to_owned());
    }
    if place.fstab == Fstab::Absent && place.mount_point() != "/" {
        // A drive that is not always attached must not keep the machine from starting.
        kept.push("nofail".to_owned());
    }
    kept
}

/// Whether the kernel shows this option without anybody asking for it, or does not take it.
fn is_default(filesystem: Option<TrimFilesystem>, option: &str) -> bool {
    const ALL: [&str; 3] = ["rw", "relatime", "seclabel"];
    const XFS: [&str; 5] = ["attr2", "inode64", "logbufs=8", "logbsize=32k", "noquota"];
    const F2FS: [&str; 19] = [
        "lazytime",
        "background_gc=on",
        "nogc_merge",
        "discard_unit=block",
        "user_xattr",
        "inline_xattr",
        "acl",
        "inline_data",
        "inline_dentry",
        "flush_merge",
        "barrier",
        "extent_cache",
        "mode=adaptive",
        "active_logs=6",
        "alloc_mode=default",
        "checkpoint_merge",
        "fsync_mode=posix",
        "memory=normal",
        "errors=continue",
    ];
    let of_filesystem = match filesystem {
        Some(TrimFilesystem::Ext4) => option == "data=ordered",
        Some(TrimFilesystem::Xfs) => XFS.contains(&option),
        // `subvol` says the same.
        Some(TrimFilesystem::Btrfs) => option.starts_with("subvolid="),
        Some(TrimFilesystem::F2fs) => F2FS.contains(&option),
        _ => false,
    };
    of_filesystem || ALL.contains(&option)
}
