//! `/etc/fstab`: what is mounted at the start of the machine, and with which options.
//!
//! Source: `fstab(5)`; libmount's `mnt_parse_table_line`, by which the options and the two numbers
//! may be left out.

use std::ffi::OsString;

use trimbench_claim::mounts::{Mount, unescape};

use crate::mount_table::{MountTable, of_source};
use crate::tree::{SystemFact, SystemTree};

/// The lines of fstab; none where there is no such file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FstabTable {
    /// `None` if the file cannot be read.
    entries: Option<Vec<FstabEntry>>,
}

/// A line of fstab as fields, at least three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FstabEntry {
    fields: Vec<String>,
}

impl FstabTable {
    pub(crate) fn of(tree: &SystemTree) -> Self {
        let entries = match tree.text("/etc/fstab") {
            SystemFact::Known(text) => Some(text.lines().filter_map(FstabEntry::of).collect()),
            SystemFact::Absent => Some(Vec::new()),
            SystemFact::Unreadable(_) => None,
        };
        Self { entries }
    }

    /// Whether it could be read, or is not there.
    pub(crate) fn is_known(&self) -> bool {
        self.entries.is_some()
    }

    /// Its lines.
    pub(crate) fn entries(&self) -> &[FstabEntry] {
        self.entries.as_deref().unwrap_or_default()
    }

    /// The line that mounts this very mount.
    pub(crate) fn of_mount(&self, mount: &Mount) -> Option<&FstabEntry> {
        self.entries().iter().rfind(|entry| entry.is_at(mount))
    }

    /// The line that mounts this filesystem, here or elsewhere.
    pub(crate) fn of_filesystem(&self, mounts: &MountTable, mount: &Mount) -> Option<&FstabEntry> {
        let is_it = |entry: &&FstabEntry| mounts.same_filesystem(mount).any(|it| entry.is_at(it));
        self.entries().iter().rfind(is_it)
    }

    /// The line of a swap area, however it names the area.
    pub(crate) fn of_swap(&self, tree: &SystemTree, area: &str) -> Option<&FstabEntry> {
        let device = of_source(tree, area);
        let is_it = |entry: &&FstabEntry| {
            let path = entry.path().to_string_lossy().into_owned();
            let is_same = device.is_some() && of_source(tree, &path) == device;
            entry.kind() == "swap" && (path == area || is_same)
        };
        self.entries().iter().rfind(is_it)
    }
}

impl FstabEntry {
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
        let is_comment = fields.first().is_some_and(|it| it.starts_with('#'));
        (fields.len() >= 3 && !is_comment).then_some(Self { fields })
    }

    /// The type of the filesystem, or `swap`.
    pub(crate) fn kind(&self) -> &str {
        &self.fields[2]
    }

    /// Whether it has this very option.
    pub(crate) fn has_option(&self, option: &str) -> bool {
        self.options().any(|it| it == option)
    }

    pub(crate) fn options(&self) -> impl Iterator<Item = &str> {
        self.fields.get(3).into_iter().flat_map(|it| it.split(','))
    }

    /// The line with one blank between fields.
    pub(crate) fn text(&self) -> String {
        match self.fields.len() {
            3 => format!("{} defaults", self.fields.join(" ")),
            _ => self.fields.join(" "),
        }
    }

    /// The line without some of its options.
    pub(crate) fn text_without(&self, is_left_out: impl Fn(&str) -> bool) -> String {
        let mut kept: Vec<&str> = self.options().filter(|it| !is_left_out(it)).collect();
        if kept.is_empty() {
            kept.push("defaults");
        }
        let mut fields = self.fields.clone();
        fields.truncate(3);
        fields.push(kept.join(","));
        fields.extend(self.fields.iter().skip(4).cloned());
        fields.join(" ")
    }

    fn is_at(&self, mount: &Mount) -> bool {
        unescape(&self.fields[1]) == mount.mount_point.as_os_str()
    }

    /// The path of what is mounted: `UUID=...` and the like by the links of udev.
    fn path(&self) -> OsString {
        const TAGS: [(&str, &str); 5] = [
            ("UUID=", "by-uuid"),
            ("LABEL=", "by-label"),
            ("PARTUUID=", "by-partuuid"),
            ("PARTLABEL=", "by-partlabel"),
            ("ID=", "by-id"),
        ];
        let spec = self.fields[0].as_str();
        let tagged = TAGS.iter().find_map(|(tag, links)| {
            let value = spec.strip_prefix(tag)?.trim_matches('"');
            Some(format!("/dev/disk/{links}/{value}"))
        });
        unescape(tagged.as_deref().unwrap_or(spec))
    }
}
