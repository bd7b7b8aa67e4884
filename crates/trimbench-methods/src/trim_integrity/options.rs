//! The method's parameters.

use trimbench_core::{Bytes, Ppm};

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option(
        "region",
        ["64MiB", "1GiB", "1GiB"],
        "what is written and trimmed, 1MiB to 1TiB; rounded down to 64 of what is trimmed at once",
    ),
    option(
        "guard",
        ["1MiB", "16MiB", "1MiB"],
        "what is written before and behind the region and never trimmed, 4KiB to 1GiB",
    ),
    option("cases", ["all", "all", "shares"], "`all`, `shares` (random pieces only) or `shapes`"),
    option(
        "shares",
        ["0%,1%,10%,25%,50%,100%", "0%,1%,10%,25%,50%,100%", "0%,25%,50%,75%,100%"],
        "shares of the region that are trimmed at random, separated by commas, 0% to 100%",
    ),
    option(
        "piece",
        ["64KiB", "256KiB", "192KiB"],
        "what is trimmed at once in those, 512B to 1GiB; rounded up to what the drive can trim",
    ),
    option("reads", ["3", "5", "2"], "reads of everything after each TRIM, 2 to 100"),
    option("queue-depth", ["8", "32", "1"], "discards and writes outstanding, 1 to 1024"),
];

/// Which cases are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cases {
    /// All.
    All,
    /// Random pieces of a share of the region.
    Shares,
    /// Everything but those.
    Shapes,
}

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimIntegrity {
    /// What is written and trimmed, before it is rounded to what the drive can trim.
    pub region: Bytes,
    /// What is written before and behind the region.
    pub guard: Bytes,
    /// Which cases are run.
    pub cases: Cases,
    /// Shares of the region that are trimmed at random, ascending.
    pub shares: Vec<Ppm>,
    /// What is trimmed at once in those.
    pub piece: Bytes,
    /// Reads of everything after each TRIM, at least 2.
    pub reads: u32,
    /// Discards and writes outstanding.
    pub queue_depth: u32,
    pub(super) values: Values,
}

impl Parameters for TrimIntegrity {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let mut shares = values.list("shares", Ppm(0), Ppm::ONE)?;
        shares.sort_unstable();
        shares.dedup();
        let cases = [("all", Cases::All), ("shares", Cases::Shares), ("shapes", Cases::Shapes)];
        Ok(Self {
            region: values.quantity("region", Bytes::mib(1), Bytes::gib(1 << 10))?,
            guard: values.quantity("guard", Bytes(4_096), Bytes::gib(1))?,
            cases: values.choice("cases", &cases)?,
            shares,
            piece: values.quantity("piece", Bytes(512), Bytes::gib(1))?,
            reads: values.quantity("reads", 2, 100)?,
            queue_depth: values.quantity("queue-depth", 1, 1_024)?,
            values,
        })
    }
}
