//! The systems that are compared: the rows of the table.

use trimbench_core::DiscardMode;
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::settings::{Named as _, ValueProblem};
use trimbench_policy::{Issuer, Sender};

/// A filesystem of some era and how it discards, or one that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedSystem {
    /// Who discards; `None` for nobody.
    issuer: Option<Issuer>,
}

impl ComparedSystem {
    /// Every one: the issuers whose discards are those of a filesystem, then nobody.
    pub fn all() -> Vec<Self> {
        let issuers = Issuer::NAMES.iter().map(|(_, issuer)| *issuer);
        let issuers = issuers.filter(|issuer| of_a_filesystem(*issuer)).map(Some);
        issuers.chain([None]).map(|issuer| Self { issuer }).collect()
    }

    /// As options, figures and steps call it.
    pub fn id(self) -> &'static str {
        self.issuer.map_or("none", |issuer| issuer.id())
    }

    /// How its filesystem is made and mounted. Without discards it is the target's own.
    pub(super) fn discard(self) -> DiscardMode {
        self.issuer.map_or(DiscardMode::Off, |issuer| DiscardMode::As(issuer.id()))
    }

    /// Whether its discards were compared with a running kernel's.
    pub(super) fn is_compared(self) -> bool {
        self.issuer.is_none_or(|issuer| issuer.rule().compared)
    }

    /// Whether the model allocates space as this filesystem does. What the drive writes in the long
    /// run depends on that; XFS, btrfs and f2fs are modelled only as deep as their discards need
    /// (`docs/model/filesystem.md`).
    pub(super) fn allocates_as_modelled(self) -> bool {
        use Issuer::{
            Ext4, Ext4NoJournal, Ext4Since2_6_33, Ext4Since4_13, Ext4Since5_15, FstrimExt4,
        };
        matches!(
            self.issuer,
            None | Some(
                Ext4 | Ext4Since5_15 | Ext4Since4_13 | Ext4Since2_6_33 | Ext4NoJournal | FstrimExt4
            )
        )
    }

    /// Whether one may be told to use it: not a kernel of the past, not a filesystem that a crash
    /// damages, and not a model that was compared with no running kernel.
    pub(super) fn is_advisable(self) -> bool {
        use Issuer::{BtrfsAsync, BtrfsSync, Ext4, FstrimBtrfs, FstrimExt4, FstrimXfs, Xfs};
        matches!(
            self.issuer,
            None | Some(Ext4 | Xfs | BtrfsSync | BtrfsAsync | FstrimExt4 | FstrimXfs | FstrimBtrfs)
        )
    }

    /// The system in words, with the releases of the kernel where they differ.
    pub(super) fn words(self) -> String {
        match self.issuer {
            Some(Issuer::Ext4) => "ext4 (Linux 6.8 on)".to_owned(),
            _ => self.id().to_owned(),
        }
    }

    /// Whether a program discards, which someone has to start.
    pub(super) fn is_program(self) -> bool {
        self.issuer.is_some_and(|issuer| issuer.rule().sender == Sender::Program)
    }
}

/// `blkdiscard` discards a device, and the others of a pool have it manage several.
fn of_a_filesystem(issuer: Issuer) -> bool {
    issuer != Issuer::Blkdiscard && issuer.rule().sender != Sender::Pool
}

/// The names of all, separated by commas.
pub(super) fn names() -> String {
    let names: Vec<&str> = ComparedSystem::all().into_iter().map(ComparedSystem::id).collect();
    names.join(", ")
}

/// Names of systems, or `all`, in the order of the table.
pub(super) fn read_systems(text: &str) -> Result<Vec<ComparedSystem>, ValueProblem> {
    let all = ComparedSystem::all();
    let named: Vec<&str> = match text.trim() {
        "all" => return Ok(all),
        list => list.split(',').map(str::trim).collect(),
    };
    for (at, name) in named.iter().enumerate() {
        if !all.iter().any(|system| system.id() == *name) {
            let meant = did_you_mean(nearest(name, all.iter().map(|system| system.id())));
            let problem = format!("there is no system `{name}`{meant}; there are {}", names());
            return Err(ValueProblem(problem));
        }
        if named[..at].contains(name) {
            return Err(ValueProblem(format!("`{name}` is named twice")));
        }
    }
    Ok(all.into_iter().filter(|system| named.contains(&system.id())).collect())
}
