//! The sources that a campaign's result depends on, and whether they have changed since.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::Repository;

/// What protects everything that was not named: claim and guard, filesystems that are made and
/// mounted, the identity of devices, and the module that writes every file.
pub const SAFETY: &[&str] = &[
    "crates/trimbench-linux/src/claim.rs",
    "crates/trimbench-linux/src/claim/",
    "crates/trimbench-linux/src/mkfs.rs",
    "crates/trimbench-linux/src/mkfs/",
    "crates/trimbench-linux/src/opening.rs",
    "crates/trimbench-linux/src/ioctl/identity.rs",
    "crates/trimbench-linux/src/output.rs",
    "crates/trimbench-linux/src/output/",
    "crates/trimbench-linux/src/program.rs",
];

/// What reads files and words that others wrote: traces, records, profiles, and the command line.
pub const READERS: &[&str] = &[
    "crates/trimbench-core/src/settings.rs",
    "crates/trimbench-core/src/settings/",
    "crates/trimbench-core/src/units/text.rs",
    "crates/trimbench-engine/src/method.rs",
    "crates/trimbench-methods/src/postmark/formulas.rs",
    "crates/trimbench-engine/src/settings.rs",
    "crates/trimbench-policy/src/catalogue.rs",
    "crates/trimbench-policy/src/policy.rs",
    "crates/trimbench-results/src/compare/limit.rs",
    "crates/trimbench-results/src/histogram.rs",
    "crates/trimbench-results/src/limits.rs",
    "crates/trimbench-results/src/limits/",
    "crates/trimbench-results/src/record.rs",
    "crates/trimbench-results/src/record/",
    "crates/trimbench-ssd/src/config.rs",
    "crates/trimbench-ssd/src/config/",
    "crates/trimbench-ssd/src/profile.rs",
    "crates/trimbench-ssd/src/profile/",
    "crates/trimbench-devices/src/emulated.rs",
    "crates/trimbench-devices/src/modelled.rs",
    "crates/trimbench-devices/src/modelled/pool.rs",
    "crates/trimbench-devices/src/options.rs",
    "crates/trimbench-devices/src/real.rs",
    "crates/trimbench-devices/src/spec.rs",
    "crates/trimbench-trace/src/",
];

/// A hash of each file, by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sources(BTreeMap<String, String>);

impl Sources {
    /// The files at these paths and in these folders, without their tests. What is hashed is their
    /// content in the checkout, committed or not.
    pub fn read(repository: &Repository, listed: &[&str]) -> Result<Self> {
        let is_of = |path: &str, entry: &str| {
            path == entry || entry.ends_with('/') && path.starts_with(entry)
        };
        let is_test = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
        let mut files = repository.files()?;
        files.retain(|path| listed.iter().any(|entry| is_of(path, entry)) && !is_test(path));
        for entry in listed {
            let named = files.iter().any(|path| is_of(path, entry));
            ensure!(named, "{entry} is listed in tests/campaign/sources.rs, and not there");
        }
        let hashes = repository.hashes(&files)?;
        Ok(Self(files.into_iter().zip(hashes).collect()))
    }

    /// One hash of all: 16 hexadecimal digits, for the name of a journal.
    pub(super) fn digest(&self) -> String {
        // FNV-1a: what it tells apart are states of one checkout, not forgeries.
        let bytes =
            self.0.iter().flat_map(|(path, hash)| [path, hash]).flat_map(|text| text.bytes());
        let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, step))
    }

    /// The same, but files of which only comments were changed count as they were `before`: words
    /// do not do anything. A file whose earlier content is not in the repository any more counts as
    /// it is.
    pub fn but_for_comments(mut self, repository: &Repository, before: &Self) -> Result<Self> {
        for path in self.changed_since(before) {
            let (Some(hash), Some(then)) = (self.0.get_mut(&path), before.0.get(&path)) else {
                continue;
            };
            let now = std::fs::read_to_string(repository.root().join(&path));
            let now = now.with_context(|| format!("read {path}"))?;
            if repository.content(then).is_some_and(|then| is_same_code(&then, &now)) {
                hash.clone_from(then);
            }
        }
        Ok(self)
    }

    /// The files that are not in both with the same content.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let differs = |path: &&String| self.0.get(*path) != before.0.get(*path);
        let mut paths: Vec<String> =
            self.0.keys().chain(before.0.keys()).filter(differs).cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

/// Whether two texts differ at most in lines that are comments as a whole.
fn is_same_code(one: &str, other: &str) -> bool {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    one.lines().filter(is_code).eq(other.lines().filter(is_code))
}

#[cfg(test)]
mod tests;
