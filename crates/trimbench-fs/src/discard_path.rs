//! The discard paths: what becomes of freed extents once the transaction that freed them is
//! committed. A path is a row of [`DiscardPath::rule`]; commits and the worker act by its fields.

use trimbench_core::settings::Named;

/// What becomes of freed extents once the transaction that freed them is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardPath {
    /// Nothing (`nodiscard`).
    None,
    /// Discarded one after the other within the commit, after its commit record. ext4 up to Linux
    /// 4.12, and in substance up to 5.14 (which sends the discards of one commit side by side).
    InCommit,
    /// Discarded by a worker, one after the other, as far as still free. ext4 from Linux 5.15.
    Worker,
    /// As [`Self::Worker`], but a discard begins at the freed extent and runs to the end of the
    /// free space behind it. ext4 today (seen on 6.18).
    WorkerUnclipped,
}

/// How a path works.
#[derive(Clone, Copy, Debug)]
pub struct DiscardRule {
    /// Who sends the discards, and when.
    pub sender: DiscardSender,
    /// Whether a discard runs on to the end of the free space behind the freed extent.
    pub runs_on: bool,
    /// The kernels that have it, in words.
    pub linux: &'static str,
    /// What happens, in words.
    pub meaning: &'static str,
}

/// Who sends the discards of a path, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardSender {
    /// Nobody.
    Nobody,
    /// The commit, before the space is free: whoever waits for the commit waits for them.
    Commit,
    /// A worker, when the space is already free. It gives up what is left at unmount.
    Worker,
}

impl DiscardSender {
    /// Who waits for the discards, in words.
    pub const fn waits(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Commit => "whoever waits for the commit, or for space",
            Self::Worker => "nobody, except through the drive",
        }
    }
}

impl Named for DiscardPath {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("in-commit", Self::InCommit),
        ("worker", Self::Worker),
        ("worker-unclipped", Self::WorkerUnclipped),
    ];
}

impl DiscardPath {
    /// How it works.
    pub const fn rule(self) -> DiscardRule {
        let worker = DiscardRule {
            sender: DiscardSender::Worker,
            runs_on: false,
            linux: "5.15 and later",
            meaning: "the space is free at once; a worker discards what is still free of each \
                      extent",
        };
        match self {
            Self::None => DiscardRule {
                sender: DiscardSender::Nobody,
                linux: "`nodiscard`",
                meaning: "nothing",
                ..worker
            },
            Self::InCommit => DiscardRule {
                sender: DiscardSender::Commit,
                linux: "to 5.14",
                meaning: "all discards within the commit, then the space is free",
                ..worker
            },
            Self::Worker => worker,
            Self::WorkerUnclipped => DiscardRule {
                runs_on: true,
                linux: "today (seen on 6.18)",
                meaning: "the same, from the freed extent's start to the end of the free space \
                          there",
                ..worker
            },
        }
    }
}

impl DiscardRule {
    /// Where a discard ends, in a freed extent that ends at `freed` and free space that ends at
    /// `free`.
    pub(crate) fn end(self, freed: u64, free: u64) -> u64 {
        if self.runs_on { free } else { free.min(freed) }
    }
}
