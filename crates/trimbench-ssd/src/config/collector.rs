//! How the collector chooses, and when it works beside what it must.

use trimbench_core::{Nanos, Ppm};

use super::{ConfigError, SsdConfig, require};

/// More choices than any collector draws.
const CHOICES_MAX: u32 = 1_024;

/// Which closed superblock is collected next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VictimPolicy {
    /// The one with the fewest valid units, the first of equals.
    #[default]
    Greedy,
    /// The one that was filled first.
    Fifo,
    /// The one with the most `age (1 - u) / 2u`, the first of equals: u is the valid share, age
    /// counts the superblocks that were filled since it was. Source: \[KAWA95\].
    CostBenefit,
    /// The one with the fewest valid units of so many drawn at random, with replacement. In
    /// [1, 1024]; 1 is a random choice. Source: \[VHOU13\].
    DChoices(u32),
}

/// The collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorConfig {
    /// Which superblock it takes.
    pub policy: VictimPolicy,
    /// The host has two write points, one of them for data that is overwritten before it was ever
    /// moved.
    pub separate_hot: bool,
    /// The host must have been quiet for this long before the collector works ahead.
    pub idle_after: Nanos,
    /// Collects in idle time until this share of all superblocks is free.
    pub idle_free_target: Ppm,
    /// In idle time, leaves superblocks alone that hold more valid data than this share.
    pub idle_valid_max: Ppm,
}

impl CollectorConfig {
    /// Checks the values that do not concern time.
    pub(super) fn check(&self, config: &SsdConfig) -> Result<(), ConfigError> {
        if let VictimPolicy::DChoices(count) = self.policy {
            require(
                (1..=CHOICES_MAX).contains(&count),
                "collector.policy",
                count,
                "1 to 1024 choices",
            )?;
        }
        let alone = config.slc_cache.is_none() && config.compression.is_none();
        require(
            !self.separate_hot || alone,
            "collector.separate_hot",
            self.separate_hot,
            "false where there is an SLC cache or compression",
        )?;
        require(
            !self.separate_hot || config.write_buffer.0 >= 2 * config.geometry.program_bytes.0,
            "write_buffer",
            config.write_buffer,
            "at least two program operations where hot data is separated",
        )
    }
}
