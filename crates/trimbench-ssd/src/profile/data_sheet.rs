//! The data sheet of a named drive: what its maker publishes, beside the numbers of the model.
//!
//! Nothing of the drive is computed from it. A profile whose numbers cannot bring about what its
//! data sheet says is refused: either a number or the name of the drive is wrong. What the model
//! can do is a limit in closed form each, the least of its resources; queues and collection only
//! lower it. Left out: how far random writes stay below their limit, which is write amplification,
//! and endurance, of which the model knows nothing.

use trimbench_core::settings::IfUnset::Absent;
use trimbench_core::settings::{optional, within};
use trimbench_core::{Bytes, Nanos, Ppm, settings};

use crate::config::SsdConfig;
use crate::unit::PIECE_BYTES;

#[cfg(test)]
mod tests;

/// How many times the published rate the model's limit may be, or the other way: makers publish
/// rates that they guarantee, and measure them in their own way.
const RATE_FACTOR: f64 = 1.5;
/// The same for latencies, which are published as "typical" and with the host or without.
const LATENCY_FACTOR: f64 = 2.0;

settings! {
    /// What a maker publishes of a drive.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct DataSheet(values) {
        /// of the whole drive: {}; the profile's own may be less, to be quick
        pub capacity: Option<Bytes> = "data_sheet.capacity", Absent,
            optional(within(Bytes::mib(1), Bytes::gib(1 << 20)));
        /// sequential reads, bytes a second: {}
        pub read_rate: Option<Bytes> = "data_sheet.read_bytes_per_second", Absent,
            optional(within(Bytes(1_000_000), Bytes(1_000_000_000_000)));
        /// sequential writes, bytes a second: {}
        pub write_rate: Option<Bytes> = "data_sheet.write_bytes_per_second", Absent,
            optional(within(Bytes(1_000_000), Bytes(1_000_000_000_000)));
        /// random reads of 4 KiB a second: {}
        pub random_reads: Option<u64> = "data_sheet.random_reads", Absent,
            optional(within(1, 1_000_000_000));
        /// random writes of 4 KiB a second in the steady state: {}
        pub random_writes: Option<u64> = "data_sheet.random_writes", Absent,
            optional(within(1, 1_000_000_000));
        /// of a single random read of 4 KiB: {}
        pub read_latency: Option<Nanos> = "data_sheet.read_latency", Absent,
            optional(within(Nanos(1), Nanos::from_secs(1)));
        /// of a single write of 4 KiB: {}
        pub write_latency: Option<Nanos> = "data_sheet.write_latency", Absent,
            optional(within(Nanos(1), Nanos::from_secs(1)));
        /// bytes that may be written a day through the time of the warranty, as a share of the
        /// capacity: {}; for information only
        pub endurance: Option<Ppm> = "data_sheet.endurance", Absent,
            optional(within(Ppm(1_000), Ppm(1_000_000_000)));
    }
}

/// Two values of a profile that cannot both be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{key}` contradicts `{sheet_key}`: {problem}; correct one of them")]
pub struct Contradiction {
    /// The key that sets the model's limit.
    pub key: &'static str,
    /// The figure of the data sheet.
    pub sheet_key: &'static str,
    /// What both say.
    problem: String,
}

/// What the model can do, and the key of the resource that decides it.
type Limit = (&'static str, f64);

/// The least of several limits.
fn least<const N: usize>(limits: [Limit; N]) -> Limit {
    limits.into_iter().min_by(|one, other| one.1.total_cmp(&other.1)).expect("there are some")
}

/// Refuses a limit that is further from the published figure than `factor`.
fn compare(
    (key, ours): Limit,
    published: Option<(&'static str, f64)>,
    (what, unit, factor): (&str, &str, f64),
) -> Result<(), Contradiction> {
    let Some((sheet_key, published)) = published else { return Ok(()) };
    let (relation, off) =
        if ours < published { ("less", published / ours) } else { ("more", ours / published) };
    if off <= factor {
        return Ok(());
    }
    let problem = format!(
        "with it, {what} are {ours:.0} {unit}, the data sheet has {published:.0} {unit}: \
         {relation} by more than a factor of {factor}"
    );
    Err(Contradiction { key, sheet_key, problem })
}

impl DataSheet {
    /// Whether a drive of these numbers can be the one of the data sheet.
    pub(super) fn check(&self, config: &SsdConfig) -> Result<(), Contradiction> {
        self.check_itself()?;
        if let Some(capacity) = self.capacity.filter(|capacity| *capacity < config.capacity) {
            let problem = format!("{} is more than the whole drive's {capacity}", config.capacity);
            let (key, sheet_key) = ("drive.capacity", "data_sheet.capacity");
            return Err(Contradiction { key, sheet_key, problem });
        }
        self.check_rates(config)?;
        self.check_latencies(config)
    }

    /// Sequential and random rates against what the narrowest resource allows.
    fn check_rates(&self, config: &SsdConfig) -> Result<(), Contradiction> {
        let (geometry, nand, host) = (&config.geometry, &config.nand, &config.host);
        let (dies, unit) = (f64::from(geometry.dies), PIECE_BYTES as f64);
        let of_dies = |bytes: f64, time: Nanos| dies * bytes / time.seconds();
        let channels = f64::from(geometry.channels) * nand.channel_rate.0 as f64;
        let program = geometry.program_bytes.0 as f64;
        let link = ("host.link_bytes_per_second", host.link_rate.0 as f64);
        let channels = ("nand.channel_bytes_per_second", channels);
        let reads = least([link, channels, ("nand.read", of_dies(program, nand.read))]);
        let writes = least([link, channels, ("nand.program", of_dies(program, nand.program))]);
        let commands = ("host.command", 1.0 / host.command.seconds());
        let units = |(key, bytes): Limit| (key, bytes / unit);
        let sensed = ("nand.read", of_dies(1.0, nand.read));
        let random_reads = least([commands, units(link), units(channels), sensed]);
        // A write of 4 KiB programs its whole unit.
        let programs = writes.1 / config.mapping_unit.0 as f64;
        let random_writes = least([commands, (writes.0, programs)]);
        let megabytes = |(key, bytes): Limit| (key, bytes / 1e6);
        let bytes = |key, value: Option<Bytes>| Some((key, value?.0 as f64 / 1e6));
        let count = |key, value: Option<u64>| Some((key, value? as f64));
        compare(
            megabytes(reads),
            bytes("data_sheet.read_bytes_per_second", self.read_rate),
            ("sequential reads", "MB/s", RATE_FACTOR),
        )?;
        compare(
            megabytes(writes),
            bytes("data_sheet.write_bytes_per_second", self.write_rate),
            ("sequential writes", "MB/s", RATE_FACTOR),
        )?;
        compare(
            random_reads,
            count("data_sheet.random_reads", self.random_reads),
            ("random reads", "a second", RATE_FACTOR),
        )?;
        // Collection only lowers it: above the published rate it contradicts nothing.
        let published = count("data_sheet.random_writes", self.random_writes);
        compare(
            random_writes,
            published.filter(|(_, published)| *published > random_writes.1),
            ("random writes without collection", "a second", RATE_FACTOR),
        )
    }

    /// A single read and a single write of an idle drive.
    fn check_latencies(&self, config: &SsdConfig) -> Result<(), Contradiction> {
        let (nand, host, unit) = (&config.nand, &config.host, PIECE_BYTES as f64);
        // Summed as seconds: the three have no common bound that a sum of theirs fits in.
        let fixed: f64 = [host.command, host.latency, host.jitter].map(Nanos::seconds).iter().sum();
        let written = fixed + unit / host.link_rate.0 as f64;
        let sensed = nand.read.seconds();
        let read = written + sensed + unit / nand.channel_rate.0 as f64;
        let most = if sensed > read / 2.0 { "nand.read" } else { "host.latency" };
        let latency = |key, value: Option<Nanos>| Some((key, value?.seconds() * 1e6));
        compare(
            (most, read * 1e6),
            latency("data_sheet.read_latency", self.read_latency),
            ("single reads", "us", LATENCY_FACTOR),
        )?;
        compare(
            ("host.latency", written * 1e6),
            latency("data_sheet.write_latency", self.write_latency),
            ("single writes", "us", LATENCY_FACTOR),
        )
    }

    /// Whether random accesses of the data sheet move no more than its sequential ones.
    fn check_itself(&self) -> Result<(), Contradiction> {
        let pairs = [
            (
                "data_sheet.random_reads",
                self.random_reads,
                "data_sheet.read_bytes_per_second",
                self.read_rate,
            ),
            (
                "data_sheet.random_writes",
                self.random_writes,
                "data_sheet.write_bytes_per_second",
                self.write_rate,
            ),
        ];
        for (key, random, sheet_key, sequential) in pairs {
            let Some((random, sequential)) = random.zip(sequential) else { continue };
            let moved = random as f64 * PIECE_BYTES as f64;
            if moved > sequential.0 as f64 * RATE_FACTOR {
                let problem = format!(
                    "{random} accesses of 4 KiB a second move {:.0} MB/s, more than {RATE_FACTOR} \
                     times the sequential {:.0} MB/s",
                    moved / 1e6,
                    sequential.0 as f64 / 1e6
                );
                return Err(Contradiction { key, sheet_key, problem });
            }
        }
        Ok(())
    }
}
