//! Known reasons why the kernel denies opening: facts, no guesses.

use std::fmt;
use std::path::Path;

use rustix::fs::{IFlags, Mode};

use crate::mounts::read_table;
use crate::opening;
use crate::sysfs::attribute;

#[cfg(test)]
mod tests;

/// `CAP_DAC_OVERRIDE`: files may be opened whatever their mode.
const DAC_OVERRIDE: u32 = 1;
/// `CAP_SYS_PTRACE`: every process may be looked at.
pub(super) const SYS_PTRACE: u32 = 19;
/// `CAP_SYS_ADMIN`.
const SYS_ADMIN: u32 = 21;

/// The facts that bear on EPERM and EACCES.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, printed one by one")]
pub(crate) struct Denial {
    pub(super) is_root: bool,
    pub(super) missing_capabilities: Vec<&'static str>,
    /// Whether system calls are filtered (`Seccomp: 2`).
    pub(super) is_filtered: bool,
    /// Whether root is another user outside (user namespace).
    pub(super) is_mapped: bool,
    /// The file has the immutable or the append-only attribute.
    pub(super) is_immutable: bool,
}

impl Denial {
    pub(super) fn of(path: &Path) -> Self {
        let status = read_table(Path::new("/proc/self/status")).unwrap_or_default();
        let users = attribute(Path::new("/proc/self/uid_map")).unwrap_or_default();
        let flags = rustix::fs::open(path, opening::READ, Mode::empty())
            .and_then(rustix::fs::ioctl_getflags)
            .unwrap_or(IFlags::empty());
        Self {
            is_root: rustix::process::geteuid().is_root(),
            is_immutable: flags.intersects(IFlags::IMMUTABLE.union(IFlags::APPEND)),
            ..Self::from_texts(&status, &users)
        }
    }

    /// What `/proc/self/status` and `/proc/self/uid_map` say.
    fn from_texts(status: &str, users: &str) -> Self {
        let value = |key: &str| value_of(status, key);
        let missing = |bit: u32| value("CapEff").is_some() && !has_capability(status, bit);
        let named = [(DAC_OVERRIDE, "CAP_DAC_OVERRIDE"), (SYS_ADMIN, "CAP_SYS_ADMIN")];
        let whole: Vec<&str> = users.split_whitespace().collect();
        Self {
            is_root: false,
            missing_capabilities: named
                .into_iter()
                .filter_map(|(bit, name)| missing(bit).then_some(name))
                .collect(),
            is_filtered: value("Seccomp") == Some("2"),
            // The first namespace maps all users to themselves.
            is_mapped: !whole.is_empty() && whole != ["0", "0", "4294967295"],
            is_immutable: false,
        }
    }
}

/// Whether `/proc/self/status` says that this capability is effective.
pub(super) fn has_capability(status: &str, bit: u32) -> bool {
    let effective = value_of(status, "CapEff").and_then(|text| u64::from_str_radix(text, 16).ok());
    effective.is_some_and(|set| set & (1 << bit) != 0)
}

fn value_of<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut facts = Vec::new();
        if self.is_immutable {
            facts.push("the file is immutable or append-only (`lsattr`)".to_owned());
        }
        if !self.is_root {
            facts.push("you are not root".to_owned());
        }
        if self.is_root && !self.missing_capabilities.is_empty() {
            let names = self.missing_capabilities.join(", ");
            facts.push(format!("this root lacks {names}"));
        }
        if self.is_mapped {
            facts.push("this is a user namespace, whose root is another user outside".to_owned());
        }
        if self.is_filtered {
            facts.push("system calls are filtered (seccomp)".to_owned());
        }
        if facts.is_empty() {
            // Nothing that a process can read of itself: what remains are rules from outside.
            facts.push(
                "you are root with all capabilities, so a rule from outside forbids it: the \
                 container's device cgroup, or a security module (SELinux, AppArmor)"
                    .to_owned(),
            );
        }
        formatter.write_str(&facts.join("; "))
    }
}
