//! What client drives give back after TRIM and a rest, beside what a reviewer measured.
//!
//! The reviewer filled 80 % of a drive, wrote at random for half an hour, and measured sequential
//! writes at once (*dirty*), after half an hour of rest (*trimmed*), and on the erased drive. What
//! TRIM covered and which file he wrote, he does not say. Ours: everything was written at random;
//! the reviewer's file, a tenth of the drive, is trimmed, and nine tenths stay. Times are scaled as
//! the capacity is. Source: \[CDRL\].

use anyhow::Result;
use trimbench_core::{Bytes, Nanos};

use crate::expectation::Expectation;
use crate::program::BuiltProgram;

/// A drive of the reviews; ratios of sequential writes to those on the erased drive.
#[derive(Clone, Copy, Debug)]
pub struct ReviewedDrive {
    /// The profile that stands for it.
    pub profile: &'static str,
    /// GB.
    capacity: u64,
    /// At once after random writes.
    pub dirty: f64,
    /// After TRIM and half an hour of rest.
    pub trimmed: f64,
}

/// Sequential writes in MB/s: 475.83, 1797.74 and 1973.73; 269.29, 1153.22 and 3762.51.
pub const REVIEWED: [ReviewedDrive; 2] = [
    ReviewedDrive {
        profile: "like-960-pro",
        capacity: 512,
        dirty: 475.83 / 1973.73,
        trimmed: 1797.74 / 1973.73,
    },
    ReviewedDrive {
        profile: "like-us70",
        capacity: 1_000,
        dirty: 269.29 / 3762.51,
        trimmed: 1153.22 / 3762.51,
    },
];

/// Of the emulated drive.
const CAPACITY: Bytes = Bytes::gib(8);
/// How long the reviewer wrote at random, and let the drive rest.
const HALF_AN_HOUR: Nanos = Nanos::from_secs(1_800);
/// How far off a ratio may be.
const OFF: f64 = 0.15;
/// A longer rest gives no less back, to this.
const ORDER: f64 = 0.02;

impl ReviewedDrive {
    /// The options of `recovery` on an emulated drive of this capacity, for a rest of so many
    /// quarters of an hour.
    pub fn options(&self, capacity: Bytes, quarters: u64) -> Vec<String> {
        let whole = u128::from(self.capacity) * 1_000_000_000;
        let scaled = |time: u64| {
            let scaled = u128::from(time) * u128::from(capacity.0) / whole;
            Nanos(u64::try_from(scaled).unwrap_or(time))
        };
        let (torture, rest) = (scaled(HALF_AN_HOUR.0), scaled(HALF_AN_HOUR.0 / 2 * quarters));
        let fixed = ["span=all", "part=10%", "torture-rest=0s"].map(str::to_owned);
        [format!("torture={torture}"), format!("rest={rest}")].into_iter().chain(fixed).collect()
    }

    /// Both ratios, and what half and twice the rest give back.
    pub fn expectations(&self, program: &BuiltProgram) -> Result<Vec<Expectation>> {
        let target = format!("sim:{},capacity={CAPACITY}", self.profile);
        let rested = |quarters| {
            let options = self.options(CAPACITY, quarters);
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            program.run("recovery", &target, &options)
        };
        let after = |quarters| rested(quarters)?.value("trimmed-of-fresh");
        let whole = rested(2)?;
        let (dirty, trimmed) =
            (whole.value("fragmented-of-fresh")?, whole.value("trimmed-of-fresh")?);
        let expected = |what: &str, value: f64, range: [f64; 2]| {
            Expectation::new(format!("{}, {what}", self.profile), (value, ""), range)
        };
        let real = |what, ours, theirs: f64| {
            let range = [(theirs - OFF).max(0.0), theirs + OFF];
            expected(what, ours, range).with_note(format!("the reviewer's {theirs:.4}"))
        };
        let (shorter, longer) = ([0.0, trimmed + ORDER], [trimmed - ORDER, f64::INFINITY]);
        Ok(vec![
            real("dirty, over erased", dirty, self.dirty),
            real("after TRIM and a rest, over erased", trimmed, self.trimmed),
            expected("after half the rest, over erased: predicted", after(1)?, shorter),
            expected("after twice the rest, over erased: predicted", after(4)?, longer),
        ])
    }
}
