//! The systems that are compared: the rows of the table.

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::settings::Named as _;
use trimbench_core::{DiscardMode, Issuer, Sender};

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
        self.issuer.map_or(DiscardMode::Off, DiscardMode::As)
    }

    /// Whether its discards were compared with a running kernel's.
    pub(super) fn is_compared(self) -> bool {
        self.issuer.is_none_or(|issuer| issuer.rule().compared)
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
pub(super) fn read_systems(text: &str) -> Result<Vec<ComparedSystem>, String> {
    let all = ComparedSystem::all();
    let named: Vec<&str> = match text.trim() {
        "all" => return Ok(all),
        list => list.split(',').map(str::trim).collect(),
    };
    for (at, name) in named.iter().enumerate() {
        if !all.iter().any(|system| system.id() == *name) {
            let meant = did_you_mean(nearest(name, all.iter().map(|system| system.id())));
            return Err(format!("there is no system `{name}`{meant}; there are {}", names()));
        }
        if named[..at].contains(name) {
            return Err(format!("`{name}` is named twice"));
        }
    }
    Ok(all.into_iter().filter(|system| named.contains(&system.id())).collect())
}
