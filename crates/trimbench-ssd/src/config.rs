//! The numbers of one emulated drive, resolved and validated.
//!
//! Units: mapping units are `drive.mapping_unit`, 4 KiB unless it is set; capacities are bytes;
//! over-provisioning is (physical - exported) / exported and excludes the reserve of garbage
//! collection.
//!
//! The structs are read from the tables that define them. A table gives ranges in words;
//! [`SsdConfig::check`] enforces them, because most depend on other values, and quotes them.

use trimbench_core::settings::IfUnset::{Absent, Required};
use trimbench_core::settings::{
    FromSettings as _, Unit, default_to, described, named, optional, true_false,
};
use trimbench_core::{Bytes, Nanos, Ppm, TrimPromise, named_enum, settings};

use crate::unit::{PIECE_BYTES, UnitSize};

mod compression;
mod gc;
mod mapping_cache;
mod slc_cache;
mod trim;
mod write_streams;

pub use compression::CompressionConfig;
pub(crate) use compression::WHOLE;
pub use gc::{GcConfig, VictimPolicy};
pub use mapping_cache::MappingCacheConfig;
pub use slc_cache::{SlcCacheConfig, SlcMode, WhenFull};
pub use trim::{TrimArbitration, TrimConfig, TrimMode};
pub use write_streams::WriteStreamsConfig;

#[cfg(test)]
mod tests;

/// Superblocks beyond the over-provisioning that only the collector uses: its own open one, one to
/// move into while that fills, and one spare.
pub(crate) const RESERVE_SUPERBLOCKS: u64 = 3;
/// The largest mapping unit.
const UNIT_MAX: Bytes = Bytes::kib(64);
/// The most units that 32-bit tables address (16 TiB of 4 KiB), less the value that means
/// "unmapped".
const MAX_UNITS: u64 = u32::MAX as u64 - 1;

/// More dies than any drive has.
const DIES_MAX: u32 = 65_536;
/// The longest duration of a single step: beyond it the clock of a long run would overflow.
const STEP_MAX: Nanos = Nanos::from_secs(3_600);
/// The slowest link and channel, bytes a second.
const RATE_MIN: Bytes = Bytes(1_000_000);

named_enum! {
    /// What the medium does with an overwrite.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Media {
        /// NAND flash: pages are written once an erase, so that it takes a translation layer and a
        /// collector.
        Flash = "flash",
        /// Overwritten in place (3D XPoint): no translation, no collection, nothing for TRIM to do.
        InPlace = "in-place",
    }
}

settings! {
    /// How the flash is arranged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Geometry(values) {
        /// channels, each shared by `dies / channels` dies
        pub channels: u32 = "geometry.channels", Required, described("at least 1");
        /// dies in total
        pub dies: u32 = "geometry.dies", Required,
            described("a positive multiple of `geometry.channels`, at most 65536");
        /// bytes that one program operation writes: page size x planes
        pub program_bytes: Bytes = "geometry.program_bytes", Required,
            described("a power of two, at least a mapping unit");
        /// bytes of a superblock: a stripe of erase blocks over all dies, collected as one
        pub superblock: Bytes = "geometry.superblock", Required,
            described(
                "a power of two, at least 64 mapping units and a program operation, at most \
                 64GiB",
            );
        /// program operations that fit in a real erase block. An emulated superblock may be smaller
        /// than a real one (so that small drives have enough of them); its erase is charged in
        /// proportion, so that erase time a byte is right
        pub programs_per_erase: u32 = "geometry.programs_per_erase", Required,
            described("at least 1");
    }
}

settings! {
    /// How long the flash takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NandTiming(values) {
        /// read of a page into the die's register
        pub read: Nanos = "nand.read", Required, described("at most 1h");
        /// program of one page on all planes
        pub program: Nanos = "nand.program", Required, described("at most 1h");
        /// erase of a full-size erase block
        pub erase: Nanos = "nand.erase", Required, described("at most 1h");
        /// transfer rate of one channel, bytes a second
        pub channel_rate: Bytes = "nand.channel_bytes_per_second", Required,
            described("at least 1MB");
        /// Reads interrupt programs and erases; `None`: they wait for them.
        pub suspend: Option<SuspendConfig>;
    }
}

settings! {
    /// How a read interrupts a program or an erase.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SuspendConfig(values) {
        /// time from the read's arrival at a programming die until the die can read
        pub program: Nanos = "suspend.program", Required, described("at most 1h");
        /// time from the read's arrival at an erasing die until the die can read
        pub erase: Nanos = "suspend.erase", Required, described("at most 1h");
        /// additional time of an interrupted operation, for each interruption
        pub resume: Nanos = "suspend.resume", Required, described("at most 1h");
        /// maximum number of reads that go before one operation; further reads wait for its end
        pub reads_max: u32 = "suspend.reads_max", Required, described("at least 1");
        /// an operation can be interrupted only every so often after its start, as between the
        /// pulses of a program; 0: at any time
        pub slice: Nanos = "suspend.slice", default_to("0"), described("at most 1h");
        /// a read by garbage collection, which may stand for several, can be interrupted only every
        /// so often after its start, with the pause of a program; where it is not set, never
        pub collector: Option<Nanos> = "suspend.collector", Absent,
            optional(described("at most 1h"));
        /// the transfer of a read goes before all others of its channel that have been reserved
        pub channel: bool = "suspend.channel", default_to("false"), true_false();
    }
}

named_enum! {
    /// Whether both directions of the host link work at once.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LinkDuplex {
        /// One direction at a time (SATA).
        Half = "half",
        /// Both at once (PCIe).
        Full = "full",
    }
}

settings! {
    /// The interface to the host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HostInterface(values) {
        /// commands in the drive at once (SATA: 32; 1 without NCQ). More wait in the host
        pub queue_depth: u32 = "host.queue_depth", Required, described("at least 1");
        /// payload rate of the link, bytes a second
        pub link_rate: Bytes = "host.link_bytes_per_second", Required, described("at least 1MB");
        /// one direction at a time, or both
        pub duplex: LinkDuplex = "host.duplex", Required, named();
        /// controller time that each command occupies; its inverse is the drive's ceiling in IOPS
        pub command: Nanos = "host.command", Required, described("at most 1h");
        /// fixed latency of each command that occupies nothing: host, link and firmware pipeline
        pub latency: Nanos = "host.latency", Required, described("at most 1h");
        /// mean of what comes on top of it, exponentially distributed: firmware does not take the
        /// same time for each command
        pub jitter: Nanos = "host.jitter", default_to("0"), described("at most 1h");
    }
}

named_enum! {
    /// What a read of a trimmed block gives.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TrimmedReads {
        /// Zeroes.
        Zeroes = "zeroes",
        /// What was there before, until the next write.
        OldData = "old-data",
        /// Each time something else.
        Unstable = "unstable",
    }
}

settings! {
    /// Reads after TRIM: what they give and what the drive says that they give, which is not the
    /// same on a drive that lies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ContentsConfig(values) {
        /// how trimmed blocks read, on flash and if the drive acts on TRIM; elsewhere they read as
        /// written
        pub reads: TrimmedReads = "trim.reads", default_to("zeroes"), named();
        /// what the drive promises about reads of trimmed blocks
        pub promise: TrimPromise = "trim.promise", default_to("nothing"), named();
    }
}

named_enum! {
    /// What metadata and parity are a share of.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum MetadataOf {
        /// Everything that is programmed: parity of a stripe, notes beside each page.
        #[default]
        Programs = "programs",
        /// What the host writes: a journal of the map, whose entries come with the host's writes.
        HostWrites = "host-writes",
    }
}

settings! {
    /// All numbers of one emulated drive, and the keys of a profile.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SsdConfig(values) {
        /// bytes that the host addresses
        pub capacity: Bytes = "drive.capacity", Required,
            described("a multiple of `drive.mapping_unit`, at least 8 superblocks");
        /// bytes that an entry of the map stands for (*indirection unit*). A write of less reads
        /// the rest of its unit and writes the whole; a TRIM frees whole units only
        pub mapping_unit: Bytes = "drive.mapping_unit", default_to("4KiB"),
            described("a power of two, 4KiB to 64KiB; 4KiB in a drive that compresses");
        /// (physical - exported) / exported, without the reserve of garbage collection
        pub over_provisioning: Ppm = "drive.over_provisioning", Required,
            described("0.1% to 1000%");
        /// kind of medium: how it handles an overwrite
        pub media: Media = "drive.media", Required, named();
        /// Arrangement.
        pub geometry: Geometry;
        /// Durations.
        pub nand: NandTiming;
        /// volatile buffer that acknowledges writes early
        pub write_buffer: Bytes = "drive.write_buffer", Required,
            described("at least one program operation, at most 16GiB");
        /// the buffer survives a power cut, so that a flush is free
        pub power_loss_protection: bool = "drive.power_loss_protection", Required, true_false();
        /// a place in the buffer is free again when the program of what was in it begins, not when
        /// it ends: the die's registers hold the data meanwhile. Only with power loss protection
        pub buffer_frees_early: bool = "drive.buffer_frees_early", default_to("false"),
            true_false();
        /// a write replaces older data of the same unit that is in the buffer and whose program has
        /// not begun: the older data are not programmed. Not in a drive that compresses. Each unit
        /// is looked up first, which takes computing time
        pub buffer_overwrites: bool = "drive.buffer_overwrites", default_to("false"),
            true_false();
        /// metadata and parity that are programmed beside everything else, as a share of what
        /// `drive.metadata_of` says. The drive counts them in what it says that it has written;
        /// their time is part of `nand.program`, and their space none of the over-provisioning
        pub metadata: Ppm = "drive.metadata", default_to("0"), described("at most 100%");
        /// what `drive.metadata` is a share of
        pub metadata_of: MetadataOf = "drive.metadata_of", default_to("programs"), named();
        /// how long a secure erase or a format takes
        pub purge: Nanos = "drive.purge", default_to("0"), described("at most 1h");
        /// The host's side.
        pub host: HostInterface;
        /// TRIM.
        pub trim: TrimConfig;
        /// Garbage collection.
        pub gc: GcConfig;
        /// Reads after TRIM.
        pub contents: ContentsConfig;
        /// The SLC cache, if there is one.
        pub slc_cache: Option<SlcCacheConfig>;
        /// Compression, if the controller compresses.
        pub compression: Option<CompressionConfig>;
        /// The mapping cache of a drive without DRAM; `None`: all of the map is in DRAM.
        pub mapping_cache: Option<MappingCacheConfig>;
        /// What scattered writes cost; `None`: nothing beyond their programs.
        pub write_streams: Option<WriteStreamsConfig>;
    }
}

/// A drive that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriveConfigError {
    /// The capacity is zero, not a multiple of the mapping unit, or too small for the geometry.
    #[error(
        "capacity {capacity} is too small or not a multiple of {unit}; give at least {minimum}"
    )]
    CapacityTooSmall {
        /// As given.
        capacity: Bytes,
        /// The mapping unit.
        unit: Bytes,
        /// What this geometry needs.
        minimum: Bytes,
    },
    /// Capacity and over-provisioning need more than 32-bit tables address.
    #[error(
        "capacity {capacity} with its over-provisioning is beyond {largest}, the emulator's 2^32 \
         mapping units of {unit}; with a `drive.mapping_unit` of 64KiB these are 256TiB"
    )]
    CapacityTooLarge {
        /// As given.
        capacity: Bytes,
        /// What the tables address.
        largest: Bytes,
        /// The mapping unit.
        unit: Bytes,
    },
    /// A value is outside its range, or does not go with another one.
    #[error("{field} is {value}, but must be {requirement}")]
    Value {
        /// Which value.
        field: &'static str,
        /// As given.
        value: String,
        /// What it must be.
        requirement: String,
    },
}

/// Refuses a value that does not go with another one.
fn require(
    holds: bool,
    field: &'static str,
    value: impl std::fmt::Display,
    requirement: &str,
) -> Result<(), DriveConfigError> {
    let (value, requirement) = (value.to_string(), requirement.to_owned());
    if holds { Ok(()) } else { Err(DriveConfigError::Value { field, value, requirement }) }
}

impl SsdConfig {
    /// Mapping units that the host addresses.
    pub fn exported_units(&self) -> u64 {
        self.unit().units(self.capacity)
    }

    pub(crate) fn unit(&self) -> UnitSize {
        UnitSize::new(self.mapping_unit)
    }

    /// The pieces that a TRIM frees: never parts of a mapping unit.
    pub fn discard_granularity(&self) -> Bytes {
        self.trim.granularity.max(self.mapping_unit)
    }

    /// Superblocks that the collector works with, its reserve included: all but those of a fixed
    /// SLC cache. There is one more beside an SLC cache of either kind, for the host then has two
    /// superblocks open, and two more where hot data is separated, for the collector has, too; so
    /// it has where a cache is reorganised.
    pub fn superblocks(&self) -> u64 {
        let exported = self.exported_units();
        let physical = exported + self.over_provisioning.of(exported);
        let second = u64::from(self.slc_cache.is_some())
            + u64::from(self.reorganises())
            + 2 * u64::from(self.gc.separate_hot);
        physical.div_ceil(self.superblock_units()) + RESERVE_SUPERBLOCKS + second
    }

    /// Whether there is an SLC cache that shrinks as `WhenFull::Reorganise` says.
    pub(crate) fn reorganises(&self) -> bool {
        self.slc_cache.as_ref().is_some_and(|cache| cache.when_full == WhenFull::Reorganise)
    }

    /// Superblocks of a fixed SLC cache, beyond the others.
    pub fn cache_superblocks(&self) -> u64 {
        match &self.slc_cache {
            Some(cache) if cache.mode == SlcMode::Fixed => cache.superblocks_of(cache.size, self),
            _ => 0,
        }
    }

    /// Mapping units of a superblock.
    pub fn superblock_units(&self) -> u64 {
        self.unit().units(self.geometry.superblock)
    }

    /// Mapping units of a program operation.
    pub fn program_units(&self) -> u64 {
        self.unit().units(self.geometry.program_bytes)
    }

    /// Addresses of physical units.
    fn slots(&self) -> u64 {
        let superblocks = self.superblocks().saturating_add(self.cache_superblocks());
        superblocks.saturating_mul(self.superblock_slots())
    }

    /// Memory that the drive's tables take: 8 bytes and a bit for each physical unit, at most; what
    /// is kept of each superblock is a few bytes in 256KiB or more. A drive that compresses has as
    /// many units as the best compression gives it. A mapping cache adds 12 bytes for each
    /// translation page, and 16 for each that it holds.
    pub fn memory(&self) -> Bytes {
        let physical = self.slots();
        let map =
            self.mapping_cache.map_or(0, |cache| cache.pages(self) * 12 + cache.frames(self) * 16);
        let more = physical / 8 + map;
        match self.media {
            Media::InPlace => Bytes(0),
            Media::Flash => Bytes(physical.saturating_mul(8).saturating_add(more)),
        }
    }

    /// Checks all values.
    pub fn check(&self) -> Result<(), DriveConfigError> {
        self.check_geometry()?;
        self.check_interfaces()?;
        self.trim.check(self)?;
        self.check_times()?;
        self.gc.check(self)?;
        if let Some(cache) = &self.slc_cache {
            cache.check(self)?;
        }
        if let Some(compression) = &self.compression {
            compression.check(self)?;
        }
        if let Some(cache) = &self.mapping_cache {
            cache.check(self)?;
        }
        if let Some(streams) = &self.write_streams {
            streams.check(self)?;
        }
        let minimum = Bytes(self.geometry.superblock.0 * 8);
        let (capacity, unit) = (self.capacity, self.mapping_unit);
        if capacity < minimum || !capacity.0.is_multiple_of(unit.0) {
            return Err(DriveConfigError::CapacityTooSmall { capacity, unit, minimum });
        }
        if self.exported_units() > MAX_UNITS || self.slots() > MAX_UNITS {
            let largest = Bytes(unit.0 << 32);
            return Err(DriveConfigError::CapacityTooLarge { capacity, largest, unit });
        }
        Ok(())
    }

    /// Refuses the first value that is not within its range, with the range as its table has it.
    fn hold(&self, ranges: &[(&'static str, bool)]) -> Result<(), DriveConfigError> {
        let Some(&(field, _)) = ranges.iter().find(|(_, holds)| !holds) else { return Ok(()) };
        let row = Self::rows().into_iter().find(|row| row.key == field);
        let shown = self.shown().into_iter().find(|(key, _)| *key == field);
        let (_, value) = shown.expect("a value that is looked at is there");
        let requirement = row.expect("a key of a table").range;
        Err(DriveConfigError::Value { field, value, requirement })
    }

    fn check_geometry(&self) -> Result<(), DriveConfigError> {
        let Geometry { channels, dies, program_bytes, superblock, programs_per_erase } =
            self.geometry;
        let (over_provisioning, unit) = (self.over_provisioning.0, self.mapping_unit);
        // The first: all that follows counts in units.
        self.hold(&[(
            "drive.mapping_unit",
            unit.0.is_power_of_two()
                && (Bytes(PIECE_BYTES)..=UNIT_MAX).contains(&unit)
                && (unit.0 == PIECE_BYTES || self.compression.is_none()),
        )])?;
        self.hold(&[
            ("geometry.channels", channels > 0),
            ("geometry.dies", dies > 0 && dies <= DIES_MAX && dies.is_multiple_of(channels)),
            ("geometry.program_bytes", program_bytes >= unit && program_bytes.0.is_power_of_two()),
            (
                "geometry.superblock",
                superblock.0.is_power_of_two()
                    && superblock >= Bytes(64 * unit.0).max(program_bytes)
                    && superblock <= Bytes::gib(64),
            ),
            ("geometry.programs_per_erase", programs_per_erase > 0),
            ("drive.over_provisioning", (1_000..=10_000_000).contains(&over_provisioning)),
            ("drive.metadata", self.metadata <= Ppm::ONE),
        ])
    }

    fn check_interfaces(&self) -> Result<(), DriveConfigError> {
        let buffer = self.write_buffer;
        self.hold(&[
            (
                "drive.write_buffer",
                buffer >= self.geometry.program_bytes && buffer <= Bytes::gib(16),
            ),
            ("drive.buffer_frees_early", !self.buffer_frees_early || self.power_loss_protection),
            ("drive.buffer_overwrites", !self.buffer_overwrites || self.compression.is_none()),
            ("host.queue_depth", self.host.queue_depth > 0),
            ("host.link_bytes_per_second", self.host.link_rate >= RATE_MIN),
            ("nand.channel_bytes_per_second", self.nand.channel_rate >= RATE_MIN),
            ("suspend.reads_max", self.nand.suspend.is_none_or(|suspend| suspend.reads_max > 0)),
        ])
    }

    /// Every time in the tables is at most [`STEP_MAX`].
    fn check_times(&self) -> Result<(), DriveConfigError> {
        let rows = Self::rows();
        let is_time = |key| rows.iter().any(|row| row.key == key && row.unit == Unit::Time);
        let short = |text: &str| text.parse().is_ok_and(|span: Nanos| span <= STEP_MAX);
        let times = self.shown().into_iter().filter(|(key, _)| is_time(*key));
        self.hold(&times.map(|(key, text)| (key, short(&text))).collect::<Vec<_>>())
    }
}
