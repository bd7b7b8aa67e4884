//! The policies by name, and their parameters as text: `paced,target=5ms,tolerance=1%`.

use std::fmt;
use std::str::FromStr;

use trimbench_core::BlockSize;
use trimbench_core::nearest::{did_you_mean, meant};
use trimbench_core::settings::{SettingError, Values};

use crate::issuer::Issuer;
use crate::policies;
use crate::policy::{PolicyInfo, PolicyOrigin, TrimPolicy};

#[cfg(test)]
mod tests;

/// Every policy: the systems of today, those before, proposals.
pub static POLICIES: [PolicyInfo; 13] = [
    policies::own_path::EXT4,
    policies::btrfs_async::INFO,
    policies::fstrim_weekly::INFO,
    policies::talos::INFO,
    policies::none::INFO,
    policies::own_path::EXT4_5_15,
    policies::own_path::EXT4_4_13,
    policies::own_path::EXT4_2_6_33,
    policies::rate_limited::INFO,
    policies::skip_by_queue::INFO,
    policies::skip_by_latency::INFO,
    policies::mean_law::INFO,
    policies::paced::INFO,
];

/// What policies were called before each had the name of the system that it models: former name,
/// today's.
const FORMER_POLICIES: [(&str, &str); 3] =
    [("online", "ext4-4.13"), ("batched", "fstrim-weekly"), ("deferred", "btrfs-async")];

/// A policy, and a value for each of its parameters.
///
/// Its text is `NAME[,KEY=VALUE]...`. Printed, it has every value: what is recorded stays true when
/// a default changes.
#[derive(Clone, Debug)]
pub struct Choice {
    info: &'static PolicyInfo,
    /// Of all parameters, in their order.
    values: Values,
}

/// A policy that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has this name: give one of [`POLICIES`].
    #[error("no policy is called `{name}`{}; there are {}", policy_meant_by(name),
        ids().join(", "))]
    UnknownPolicy {
        /// As given.
        name: String,
    },
    /// What a filesystem does by itself, where another one or a pool is asked for it.
    #[error("`{policy}` is what a modelled ext4 does by itself: nothing else can do it")]
    OwnPath {
        /// The policy.
        policy: &'static str,
    },
    /// A parameter cannot be used.
    #[error(transparent)]
    Parameter(#[from] SettingError),
}

impl Choice {
    /// The policy with these values.
    ///
    /// # Errors
    /// A value is not of its kind or out of its range; a filesystem's own path, which is no policy
    /// of a queue.
    pub fn build(&self, block_size: BlockSize) -> Result<Box<dyn TrimPolicy>, PolicyError> {
        let build = self.info.build.ok_or(PolicyError::OwnPath { policy: self.info.id })?;
        Ok(build(&self.values.clone().in_blocks(block_size))?)
    }

    /// Whose discard path it is, if it is one that a modelled filesystem has by itself.
    pub fn own_path(&self) -> Option<Issuer> {
        match self.info.origin {
            PolicyOrigin::OwnPath(issuer) => Some(issuer),
            PolicyOrigin::System | PolicyOrigin::Proposal(_) => None,
        }
    }

    /// The policy.
    pub fn info(&self) -> &'static PolicyInfo {
        self.info
    }
}

impl FromStr for Choice {
    type Err = PolicyError;

    /// Reads names and keys. Values are read by [`Choice::build`], which knows the drive's blocks.
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let Some(info) = POLICIES.iter().find(|info| info.id == name) else {
            return Err(PolicyError::UnknownPolicy { name: name.to_owned() });
        };
        let rows = (info.parameters)();
        let owner = format!("`{}`", info.id);
        let mut values = Values::new("parameter", owner).in_preset(&rows, 0);
        let mut seen: Vec<&str> = Vec::new();
        for part in parts {
            values.set_part(&rows, part)?;
            let row = rows.iter().find(|row| part.split('=').next() == Some(row.key));
            let key = row.expect("its key was just set").key;
            if seen.contains(&key) {
                return Err(SettingError::SetTwice { key }.into());
            }
            seen.push(key);
        }
        Ok(Self { info, values })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.info.id)?;
        self.values.texts().try_for_each(|(key, text)| write!(formatter, ",{key}={text}"))
    }
}

/// The end of a message about a name that no policy has: `; did you mean ...?`, or nothing.
pub fn policy_meant_by(name: &str) -> String {
    did_you_mean(meant(name, &FORMER_POLICIES, ids()))
}

fn ids() -> Vec<&'static str> {
    POLICIES.iter().map(|info| info.id).collect()
}
