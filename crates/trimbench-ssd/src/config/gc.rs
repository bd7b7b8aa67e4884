//! Configuration of garbage collection: how it chooses victims, and when it works in advance.

use trimbench_core::settings::IfUnset::{Absent, Required};
use trimbench_core::settings::{
    Scalar as _, ValueProblem, default_to, described, optional, parsed, true_false,
};
use trimbench_core::{Bytes, Nanos, Ppm, settings};

use super::{DriveConfigError, SsdConfig, require};

/// More choices than any collector draws.
const CHOICES_MAX: u32 = 1_024;
/// More than any collector moves at once.
const BURST_MAX: Bytes = Bytes::gib(1);
/// Slower than any drive.
const PACE_MAX: Nanos = Nanos::from_secs(1);
/// Mapping units that the collector looks at together.
const UNITS_OF_WORD: u64 = 64;

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
    /// The same with the square root of the age: between greedy, which knows no age, and
    /// cost-benefit. Ours; data that is left alone comes apart from other data more slowly.
    CostBenefitRoot,
    /// The one with the fewest valid units of so many drawn at random, with replacement. In
    /// [1, 1024]; 1 is a random choice. Source: \[VHOU13\].
    DChoices(u32),
}

impl VictimPolicy {
    /// Reads its name: `d-choices=10` on the command line, `{ d-choices = 10 }` in a profile.
    fn read(text: &str) -> Result<Self, ValueProblem> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        match inner.unwrap_or(text).split_once('=') {
            None if text == "greedy" => Ok(Self::Greedy),
            None if text == "fifo" => Ok(Self::Fifo),
            None if text == "cost-benefit" => Ok(Self::CostBenefit),
            None if text == "cost-benefit-root" => Ok(Self::CostBenefitRoot),
            Some((name, count)) if name.trim() == "d-choices" => {
                u32::parse(count.trim()).map(Self::DChoices)
            }
            _ => Err(ValueProblem(format!(
                "`{text}` is not one of greedy, fifo, cost-benefit, cost-benefit-root, d-choices=N"
            ))),
        }
    }
}

settings! {
    /// Garbage collection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct GcConfig(values) {
        /// garbage collection: which superblock is collected
        pub policy: VictimPolicy = "collector.policy", default_to("greedy"),
            parsed("`greedy`, `fifo`, `cost-benefit`, `cost-benefit-root` or `d-choices=N`, N 1 to \
                1024", VictimPolicy::read);
        /// the host has two write frontiers, one of them for data that is overwritten before it was
        /// ever moved
        pub separate_hot: bool = "collector.separate_hot", default_to("false"), true_false();
        /// flash time of a read by garbage collection, outside an SLC cache; where it is not set,
        /// `nand.read`. A collector that reads page by page, and checks and decodes what it moves,
        /// is slower than the host's reads
        pub read: Option<Nanos> = "collector.read", Absent, optional(described("at most 1h"));
        /// data that garbage collection moves in a burst, before the host's next program: what it
        /// owes waits until there is so much of it. Where it is not set, each program operation of
        /// the host pays its share
        pub burst: Option<Bytes> = "collector.burst", Absent,
            optional(described("whole program operations, at most 1GiB"));
        /// bytes of a page that one read by garbage collection covers, where it reads only the
        /// pages of a program operation that hold something valid, one after the other; where it
        /// is not set, all of the operation. A collector that reads page by page pays less for
        /// victims that hold little
        pub read_bytes: Option<Bytes> = "collector.read_bytes", Absent,
            optional(described("a power of two, at least 4KiB, at most a program operation and \
                256KiB"));
        /// least time between the acknowledgements of two writes of 4 KiB while garbage collection
        /// has work to do (of longer writes in proportion); 0: none. Firmware that paces the host
        /// holds one rate however much the flash could do
        pub pace: Nanos = "collector.pace", default_to("0"), described("at most 1s");
        /// every so many collections one takes the superblock that was erased least often, whatever
        /// it holds (static wear levelling); where it is not set, never
        pub level_every: Option<u32> = "collector.level_every", Absent,
            optional(described("at least 2"));
        /// idle time of the host before garbage collection works in advance
        pub idle_after: Nanos = "collector.idle_after", Required, described("at most 1h");
        /// in idle time, collects until this share of all superblocks is free
        pub idle_free_target: Ppm = "collector.idle_free_target", Required,
            described("any share");
        /// in idle time, skips superblocks that hold more valid data than this share
        pub idle_valid_max: Ppm = "collector.idle_valid_max", Required, described("any share");
        /// share of idle time in which garbage collection and folding work: a drive that spares
        /// power rests for the others
        pub idle_share: Ppm = "collector.idle_share", default_to("100%"),
            described("at most 100%");
    }
}

impl GcConfig {
    /// Checks the values that do not concern time.
    pub(super) fn check(&self, config: &SsdConfig) -> Result<(), DriveConfigError> {
        if let VictimPolicy::DChoices(count) = self.policy {
            require(
                (1..=CHOICES_MAX).contains(&count),
                "collector.policy",
                count,
                "1 to 1024 choices",
            )?;
        }
        require(self.pace <= PACE_MAX, "collector.pace", self.pace, "at most 1s")?;
        require(
            self.idle_share.0 <= 1_000_000,
            "collector.idle_share",
            self.idle_share,
            "at most 100%",
        )?;
        require(
            self.level_every.is_none_or(|every| every >= 2),
            "collector.level_every",
            self.level_every.unwrap_or_default(),
            "at least 2: a collector that only levels frees nothing",
        )?;
        let program = config.geometry.program_bytes.0;
        require(
            self.burst.is_none_or(|burst| {
                burst.0.is_multiple_of(program) && (1..=BURST_MAX.0).contains(&burst.0)
            }),
            "collector.burst",
            self.burst.unwrap_or_default(),
            "whole program operations, at most 1GiB",
        )?;
        if let Some(bytes) = self.read_bytes {
            let unit = config.mapping_unit.0;
            let most = config.geometry.program_bytes.0.min(UNITS_OF_WORD * unit);
            require(
                bytes.0.is_power_of_two() && (unit..=most).contains(&bytes.0),
                "collector.read_bytes",
                bytes,
                "a power of two, at least a mapping unit, at most a program operation and 64 units",
            )?;
            require(
                config.compression.is_none(),
                "collector.read_bytes",
                bytes,
                "absent where there is compression: pages then begin anywhere",
            )?;
        }
        require(
            self.policy != VictimPolicy::CostBenefitRoot || config.compression.is_none(),
            "collector.policy",
            "cost-benefit-root",
            "another one where there is compression",
        )?;
        let alone = config.slc_cache.is_none() && config.compression.is_none();
        require(
            !self.separate_hot || alone,
            "collector.separate_hot",
            self.separate_hot,
            "false where there is an SLC cache or compression",
        )?;
        require(
            !self.separate_hot || config.write_buffer.0 >= 2 * config.geometry.program_bytes.0,
            "drive.write_buffer",
            config.write_buffer,
            "at least two program operations where hot data is separated",
        )
    }
}
