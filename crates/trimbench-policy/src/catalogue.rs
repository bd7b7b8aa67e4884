//! The policies by name, and their parameters as text: `paced,target=5ms,load=2%`.

use std::fmt;
use std::str::FromStr;

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::{BlockSize, Blocks, Bytes};

use crate::policies;
use crate::policy::TrimPolicy;

#[cfg(test)]
mod tests;

/// Every policy, the simplest first.
pub static POLICIES: [PolicyInfo; 8] = [
    policies::none::INFO,
    policies::online::INFO,
    policies::batched::INFO,
    policies::deferred::INFO,
    policies::rate_limited::INFO,
    policies::skip_by_queue::INFO,
    policies::skip_by_latency::INFO,
    policies::paced::INFO,
];

/// A policy of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Its name, kebab-case; never changes.
    pub id: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Makes it of its values.
    pub(crate) build: Build,
}

/// What makes a policy of its values.
pub(crate) type Build = fn(&Values<'_>) -> Result<Box<dyn TrimPolicy>, PolicyError>;

/// A parameter of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its key, kebab-case.
    pub key: &'static str,
    /// Its value where none is set.
    pub default: &'static str,
    /// What it sets, and where the default is from.
    pub meaning: &'static str,
}

/// A policy, and a value for each of its parameters.
///
/// Its text is `NAME[,KEY=VALUE]...`. Printed, it has every value: what is recorded stays true when
/// a default changes.
#[derive(Clone, Debug)]
pub struct Choice {
    info: &'static PolicyInfo,
    /// In the order of the parameters.
    texts: Vec<String>,
}

/// A policy that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has this name: give one of [`POLICIES`].
    #[error("no policy is called `{name}`{}; there are {}", hint(name, &ids()), ids().join(", "))]
    UnknownPolicy {
        /// As given.
        name: String,
    },
    /// The policy has no such parameter.
    #[error("`{policy}` has no parameter `{key}`{}; it has {}", hint(key, known), keys(known))]
    UnknownKey {
        /// The policy.
        policy: &'static str,
        /// As given.
        key: String,
        /// The keys that it has.
        known: Vec<&'static str>,
    },
    /// A parameter without a value: write `KEY=VALUE`.
    #[error("`{text}` sets nothing; write `KEY=VALUE`")]
    NoValue {
        /// As given.
        text: String,
    },
    /// A parameter is set twice.
    #[error("`{key}` is set twice")]
    SetTwice {
        /// Its key.
        key: &'static str,
    },
    /// A value is not of the parameter's kind.
    #[error("`{key}`: {problem}")]
    Unreadable {
        /// The parameter.
        key: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A value is out of its range.
    #[error("`{key}`: `{value}` is out of range; give {} to {}", range[0], range[1])]
    OutOfRange {
        /// The parameter.
        key: &'static str,
        /// As given.
        value: String,
        /// The least and the greatest that it may be.
        range: [String; 2],
    },
    /// A size is not a whole number of logical blocks.
    #[error("`{key}`: {value} is no whole number of blocks of {block_size}")]
    NotWholeBlocks {
        /// The parameter.
        key: &'static str,
        /// As given.
        value: Bytes,
        /// The logical block of the drive.
        block_size: BlockSize,
    },
}

impl Choice {
    /// The policy with these values.
    pub fn build(&self, block_size: BlockSize) -> Result<Box<dyn TrimPolicy>, PolicyError> {
        (self.info.build)(&Values { choice: self, block_size })
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
        let parameters = info.parameters;
        let mut set = vec![None; parameters.len()];
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(PolicyError::NoValue { text: part.to_owned() });
            };
            let Some(index) = parameters.iter().position(|parameter| parameter.key == key) else {
                let known = parameters.iter().map(|parameter| parameter.key).collect();
                return Err(PolicyError::UnknownKey {
                    policy: info.id,
                    key: key.to_owned(),
                    known,
                });
            };
            if set[index].replace(value).is_some() {
                return Err(PolicyError::SetTwice { key: parameters[index].key });
            }
        }
        let values = parameters.iter().zip(set);
        let texts = values.map(|(parameter, text)| text.unwrap_or(parameter.default).to_owned());
        Ok(Self { info, texts: texts.collect() })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.info.id)?;
        let keys = self.info.parameters.iter().map(|parameter| parameter.key);
        keys.zip(&self.texts).try_for_each(|(key, text)| write!(formatter, ",{key}={text}"))
    }
}

/// The values of a policy's parameters, for the drive it is made for.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    choice: &'a Choice,
    block_size: BlockSize,
}

impl Values<'_> {
    /// A value in `[low, high]`.
    pub(crate) fn quantity<T>(&self, key: &'static str, low: T, high: T) -> Result<T, PolicyError>
    where
        T: FromStr<Err: fmt::Display> + PartialOrd + fmt::Display + Copy,
    {
        let text = self.text(key);
        let value: T = text.parse().map_err(|error: T::Err| {
            let problem = format!("`{text}`: {error}");
            PolicyError::Unreadable { key, problem }
        })?;
        if value < low || value > high {
            let range = [low.to_string(), high.to_string()];
            return Err(PolicyError::OutOfRange { key, value: text.to_owned(), range });
        }
        Ok(value)
    }

    /// A size of at least one logical block, and of whole ones.
    pub(crate) fn blocks(&self, key: &'static str, high: Bytes) -> Result<Blocks, PolicyError> {
        let value = self.quantity(key, self.block_size.bytes(), high)?;
        let block_size = self.block_size;
        value.blocks_exact(block_size).ok_or(PolicyError::NotWholeBlocks { key, value, block_size })
    }

    /// The logical block of the drive.
    pub(crate) fn block_size(&self) -> BlockSize {
        self.block_size
    }

    fn text(&self, key: &str) -> &str {
        let parameters = self.choice.info.parameters;
        let index = parameters.iter().position(|parameter| parameter.key == key);
        &self.choice.texts[index.expect("a policy reads its own parameters")]
    }
}

fn ids() -> Vec<&'static str> {
    POLICIES.iter().map(|info| info.id).collect()
}

fn hint(name: &str, known: &[&str]) -> String {
    did_you_mean(nearest(name, known.iter().copied()))
}

fn keys(known: &[&str]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}
