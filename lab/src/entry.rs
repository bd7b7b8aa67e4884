//! What can be measured: entries, by subject.

use std::fmt;

use anyhow::Result;
use tests::Need;

use crate::figure::Figure;
use crate::lab::Lab;

/// What is measured of one subject. Its module has the entries, each in a file of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    /// Its name, which is that of its module.
    pub(crate) name: &'static str,
    /// What it is about, for the title of its part of `docs/measured.md`.
    pub(crate) title: &'static str,
    /// Its measurements.
    pub(crate) entries: &'static [Entry],
}

/// A measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its name, which is that of its module.
    pub(crate) name: &'static str,
    /// What it finds, in one sentence.
    pub(crate) title: &'static str,
    /// What the machine must have.
    pub(crate) needs: &'static [Need],
    /// Folders and files of the repository that its figures speak of. Where one has changed, the
    /// figures are older than their sources. The entry's own module counts as well.
    pub(crate) sources: &'static [&'static str],
    /// Measures.
    pub(crate) run: fn(&Lab<'_>) -> Result<Vec<Figure>>,
}

/// Why the machine cannot measure an entry, where that is found only while it runs: too little free
/// space, too much other load. Returned as an error, it is reported as skipped.
#[derive(Debug)]
pub(crate) struct NotMeasured(pub(crate) String);

impl fmt::Display for NotMeasured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotMeasured {}

/// What filesystems on attached drives need, with what makes and trims them.
pub(crate) const FILESYSTEMS_ON_DRIVES: &[Need] = &[
    Need::Root,
    Need::Loop,
    Need::Fuse,
    Need::Filesystem("ext4"),
    Need::Filesystem("xfs"),
    Need::Filesystem("btrfs"),
    Need::Program("fstrim"),
    Need::Program("mkfs.ext4"),
    Need::Program("mkfs.xfs"),
    Need::Program("mkfs.btrfs"),
];

/// The emulated SSD and its profiles.
pub(crate) const DRIVES: &[&str] = &["crates/trimbench-core", "crates/trimbench-ssd", "profiles"];
/// The same, and the filesystems and the block layer on it.
pub(crate) const MODELS: &[&str] = &[
    "crates/trimbench-core",
    "crates/trimbench-ssd",
    "crates/trimbench-block",
    "crates/trimbench-fs",
    "profiles",
];
/// What measures on emulated targets: the models, the methods and what runs them.
pub(crate) const EMULATED: &[&str] = &[
    "crates/trimbench-core",
    "crates/trimbench-ssd",
    "crates/trimbench-block",
    "crates/trimbench-fs",
    "crates/trimbench-engine",
    "crates/trimbench-methods",
    "crates/trimbench-results",
    "profiles",
];
/// What measures on real targets.
pub(crate) const REAL: &[&str] = &[
    "crates/trimbench-core",
    "crates/trimbench-claim",
    "crates/trimbench-engine",
    "crates/trimbench-linux",
    "crates/trimbench-methods",
    "crates/trimbench-results",
];
