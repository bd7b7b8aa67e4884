//! The numbers of one emulated drive, resolved and validated.
//!
//! Units: mapping units are 4 KiB; capacities are bytes; over-provisioning is (physical - exported)
//! / exported and excludes the reserve of garbage collection.
//!
//! The structs are read from the tables that define them. A table gives ranges in words;
//! [`SsdConfig::check`] enforces them, because most depend on other values.

use trimbench_core::settings::IfUnset::{Absent, Required};
use trimbench_core::settings::{Named, default_to, described, named, optional, true_false};
use trimbench_core::{Bytes, Nanos, Ppm, TrimPromise, settings};

use crate::ssd::Ssd;

mod cache;
mod compression;
mod gc;
mod mapping_cache;
mod streams;

pub use cache::{SlcCacheConfig, SlcMode, WhenFull};
pub use compression::CompressionConfig;
pub(crate) use compression::WHOLE;
pub use gc::{GcConfig, VictimPolicy};
pub use mapping_cache::MappingCacheConfig;
pub use streams::WriteStreamsConfig;

#[cfg(test)]
mod tests;

/// Bytes of one mapping unit.
pub(crate) const UNIT_BYTES: u64 = 4096;
/// Superblocks beyond the over-provisioning that only the collector uses: its own open one, one to
/// move into while that fills, and one spare.
pub(crate) const RESERVE_SUPERBLOCKS: u64 = 3;
/// The most units that 32-bit tables address (16 TiB), less the value that means "unmapped".
const MAX_UNITS: u64 = u32::MAX as u64 - 1;

/// More dies than any drive has.
const DIES_MAX: u32 = 65_536;
/// The longest duration of a single step: beyond it the clock of a long run would overflow.
const STEP_MAX: Nanos = Nanos::from_secs(3_600);

/// What the medium does with an overwrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// NAND flash: pages are written once an erase; a translation layer and a collector are needed.
    Flash,
    /// Overwritten in place (3D XPoint): no translation, no collection, nothing for TRIM to do.
    InPlace,
}

impl Named for Media {
    const NAMES: &'static [(&'static str, Self)] =
        &[("flash", Self::Flash), ("in-place", Self::InPlace)];
}

settings! {
    /// How the flash is arranged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Geometry(values) {
        /// channels, each shared by `dies / channels` dies
        pub channels: u32 = "geometry.channels", Required, described("at least 1");
        /// dies in total
        pub dies: u32 = "geometry.dies", Required, described("a multiple of `geometry.channels`");
        /// bytes that one program operation writes: page size x planes
        pub program_bytes: Bytes = "geometry.program_bytes", Required,
            described("a power of two, at least 4KiB");
        /// bytes of a superblock: a stripe of erase blocks over all dies, collected as one
        pub superblock: Bytes = "geometry.superblock", Required,
            described("a power of two, at least 256KiB and a program operation, at most 64GiB");
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
    }
}

/// Whether both directions of the host link work at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDuplex {
    /// One direction at a time (SATA).
    Half,
    /// Both at once (PCIe).
    Full,
}

impl Named for LinkDuplex {
    const NAMES: &'static [(&'static str, Self)] = &[("half", Self::Half), ("full", Self::Full)];
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
    }
}

/// What the drive does with a TRIM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimMode {
    /// Waits until the queue is empty, then works with nothing beside it (non-queued SATA TRIM).
    Blocking,
    /// Occupies the controller in its turn, like any command.
    Queued,
    /// Acknowledges at once and works it off later in slices that steal a share of the controller
    /// and of the dies.
    Background,
    /// Acknowledges; there is nothing to do.
    None,
    /// Acknowledges and frees nothing (some USB bridges).
    Ignored,
}

impl Named for TrimMode {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("blocking", Self::Blocking),
        ("queued", Self::Queued),
        ("background", Self::Background),
        ("none", Self::None),
        ("ignored", Self::Ignored),
    ];
}

settings! {
    /// The cost of a TRIM: `command + ranges * range + mapped * per_gib_mapped + unmapped *
    /// per_gib_unmapped`, and who pays it when.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TrimConfig(values) {
        /// which resources a TRIM occupies, and when
        pub mode: TrimMode = "trim.mode", Required, named();
        /// fixed cost of the command
        pub command: Nanos = "trim.command", Required, described("at most 1h");
        /// cost of each range of the protocol
        pub range: Nanos = "trim.range", Required, described("at most 1h");
        /// cost of a GiB of units that hold data; charged unit by unit
        pub per_gib_mapped: Nanos = "trim.per_gib_mapped", Required, described("at most 1h");
        /// cost of a GiB of units that hold none
        pub per_gib_unmapped: Nanos = "trim.per_gib_unmapped", Required, described("at most 1h");
        /// the largest range of the protocol (ATA: 65,535 sectors)
        pub range_max: Bytes = "trim.range_max", Required, described("at least 4KiB");
        /// the largest discard that the drive takes in one command
        pub command_max: Bytes = "trim.command_max", Required,
            described("at least `trim.range_max`");
        /// the drive frees whole pieces of this size only
        pub granularity: Bytes = "trim.granularity", default_to("4KiB"),
            described("a multiple of 4KiB, at most `trim.command_max` and 64GiB");
        /// start of the first such piece
        pub alignment: Bytes = "trim.alignment", default_to("0"),
            described("a multiple of 4KiB, below `trim.granularity`");
        /// only `background`: share of controller and dies that the work takes while the host is
        /// busy
        pub background_share: Ppm = "trim.background_share", default_to("0"),
            described("above 0%, below 100%");
        /// only `background`: period of the slices
        pub background_slice: Nanos = "trim.background_slice", default_to("0"),
            described("at least 1us");
        /// only `background`: maximum postponed work; a TRIM beyond it is acknowledged only when
        /// the backlog has shrunk to the bound
        pub background_bound: Option<Nanos> = "trim.background_bound", Absent,
            optional(described("at most 1h"));
    }
}

/// What a read of a trimmed block gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimmedReads {
    /// Zeroes.
    Zeroes,
    /// What was there before, until the next write.
    OldData,
    /// Each time something else.
    Unstable,
}

impl Named for TrimmedReads {
    const NAMES: &'static [(&'static str, Self)] =
        &[("zeroes", Self::Zeroes), ("old-data", Self::OldData), ("unstable", Self::Unstable)];
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

settings! {
    /// All numbers of one emulated drive, and the keys of a profile.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SsdConfig(values) {
        /// bytes that the host addresses
        pub capacity: Bytes = "drive.capacity", Required,
            described("a multiple of 4KiB, at least 8 superblocks");
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
    /// The capacity is zero, not a multiple of 4 KiB, or too small for the geometry.
    #[error("capacity {capacity} is too small or not a multiple of 4KiB; give at least {minimum}")]
    CapacityTooSmall {
        /// As given.
        capacity: Bytes,
        /// What this geometry needs.
        minimum: Bytes,
    },
    /// Capacity and over-provisioning need more than 32-bit tables address.
    #[error("capacity {capacity} with its over-provisioning is beyond the emulator's 16TiB")]
    CapacityTooLarge {
        /// As given.
        capacity: Bytes,
    },
    /// The tables would not fit in this machine's address space or the limit that was set.
    #[error("{field} is {value}, but must be {requirement}")]
    Value {
        /// Which value.
        field: &'static str,
        /// As given.
        value: String,
        /// What it must be.
        requirement: &'static str,
    },
}

fn require(
    holds: bool,
    field: &'static str,
    value: impl std::fmt::Display,
    requirement: &'static str,
) -> Result<(), DriveConfigError> {
    let error = || DriveConfigError::Value { field, value: format!("{value}"), requirement };
    if holds { Ok(()) } else { Err(error()) }
}

impl SsdConfig {
    /// Checks all values and makes a fresh drive.
    pub fn build(self) -> Result<Ssd, DriveConfigError> {
        self.check()?;
        Ok(Ssd::new(self))
    }

    /// Mapping units that the host addresses.
    pub fn exported_units(&self) -> u64 {
        self.capacity.0 / UNIT_BYTES
    }

    /// Superblocks that the collector works with, its reserve included: all but those of a fixed
    /// SLC cache. There is one more beside an SLC cache of either kind, for the host then has two
    /// superblocks open, and two more where hot data is separated, for the collector has, too.
    pub fn superblocks(&self) -> u64 {
        let exported = self.exported_units();
        let physical = exported + self.over_provisioning.of(exported);
        let second = u64::from(self.slc_cache.is_some()) + 2 * u64::from(self.gc.separate_hot);
        physical.div_ceil(self.superblock_units()) + RESERVE_SUPERBLOCKS + second
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
        self.geometry.superblock.0 / UNIT_BYTES
    }

    /// Mapping units of a program operation.
    pub fn program_units(&self) -> u64 {
        self.geometry.program_bytes.0 / UNIT_BYTES
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
        match self.media {
            Media::InPlace => Bytes(0),
            Media::Flash => Bytes(physical.saturating_mul(8).saturating_add(physical / 8 + map)),
        }
    }

    /// Checks all values.
    pub fn check(&self) -> Result<(), DriveConfigError> {
        self.check_geometry()?;
        self.check_timing()?;
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
            streams.check()?;
        }
        let minimum = Bytes(self.geometry.superblock.0 * 8);
        let fits = self.capacity >= minimum && self.capacity.0.is_multiple_of(UNIT_BYTES);
        if !fits {
            return Err(DriveConfigError::CapacityTooSmall { capacity: self.capacity, minimum });
        }
        if self.capacity.0 / UNIT_BYTES > MAX_UNITS || self.slots() > MAX_UNITS {
            return Err(DriveConfigError::CapacityTooLarge { capacity: self.capacity });
        }
        Ok(())
    }

    fn check_geometry(&self) -> Result<(), DriveConfigError> {
        let Geometry { channels, dies, program_bytes, superblock, programs_per_erase } =
            self.geometry;
        require(channels > 0, "geometry.channels", channels, "at least 1")?;
        require(
            dies > 0 && dies <= DIES_MAX && dies.is_multiple_of(channels),
            "geometry.dies",
            dies,
            "a positive multiple of the channels, at most 65536",
        )?;
        require(
            program_bytes.0 >= UNIT_BYTES && program_bytes.0.is_power_of_two(),
            "geometry.program_bytes",
            program_bytes,
            "a power of two of at least 4KiB",
        )?;
        require(
            superblock.0.is_power_of_two()
                && superblock.0 >= (64 * UNIT_BYTES).max(program_bytes.0)
                && superblock.0 <= Bytes::gib(64).0,
            "geometry.superblock",
            superblock,
            "a power of two, at least 256KiB and a program operation, at most 64GiB",
        )?;
        require(
            programs_per_erase > 0,
            "geometry.programs_per_erase",
            programs_per_erase,
            "at least 1",
        )?;
        require(
            self.over_provisioning.0 >= 1_000 && self.over_provisioning.0 <= 10_000_000,
            "drive.over_provisioning",
            self.over_provisioning,
            "between 0.1% and 1000%",
        )
    }

    fn check_timing(&self) -> Result<(), DriveConfigError> {
        let buffer = self.write_buffer;
        require(
            buffer >= self.geometry.program_bytes && buffer <= Bytes::gib(16),
            "drive.write_buffer",
            buffer,
            "at least one program operation, at most 16GiB",
        )?;
        require(
            self.host.queue_depth > 0,
            "host.queue_depth",
            self.host.queue_depth,
            "at least 1",
        )?;
        for (field, rate) in [
            ("host.link_bytes_per_second", self.host.link_rate),
            ("nand.channel_bytes_per_second", self.nand.channel_rate),
        ] {
            require(rate.0 >= 1_000_000, field, rate, "at least 1MB a second")?;
        }
        self.check_steps()?;
        let trim = &self.trim;
        require(
            trim.range_max.0 >= UNIT_BYTES && trim.command_max >= trim.range_max,
            "trim.command_max",
            trim.command_max,
            "at least trim.range_max, and that at least 4KiB",
        )?;
        require(
            trim.granularity.0 >= UNIT_BYTES
                && trim.granularity.0.is_multiple_of(UNIT_BYTES)
                && trim.granularity <= trim.command_max.min(Bytes::gib(64)),
            "trim.granularity",
            trim.granularity,
            "a positive multiple of 4KiB, at most trim.command_max and 64GiB",
        )?;
        require(
            trim.alignment.0.is_multiple_of(UNIT_BYTES) && trim.alignment < trim.granularity,
            "trim.alignment",
            trim.alignment,
            "a multiple of 4KiB below trim.granularity",
        )?;
        let in_place_mode = matches!(trim.mode, TrimMode::None | TrimMode::Ignored);
        let translates =
            self.slc_cache.is_some() || self.compression.is_some() || self.mapping_cache.is_some();
        require(
            self.media == Media::Flash || !translates,
            "drive.media",
            "in-place",
            "`flash` where there is an SLC cache, compression or a mapping cache",
        )?;
        require(
            self.media == Media::Flash || in_place_mode,
            "trim.mode",
            trim.mode.id(),
            "`none` or `ignored` on a medium that is overwritten in place",
        )?;
        let background = trim.mode == TrimMode::Background;
        let share = trim.background_share;
        require(
            !background || (share.0 > 0 && share.0 < 1_000_000),
            "trim.background_share",
            share,
            "above 0% and below 100%",
        )?;
        require(
            !background || trim.background_slice >= Nanos::from_micros(1),
            "trim.background_slice",
            trim.background_slice,
            "at least 1us",
        )
    }

    fn check_steps(&self) -> Result<(), DriveConfigError> {
        let (nand, host, trim) = (&self.nand, &self.host, &self.trim);
        let suspend = nand.suspend.as_ref();
        for (field, span) in [
            ("nand.read", nand.read),
            ("nand.program", nand.program),
            ("nand.erase", nand.erase),
            ("host.command", host.command),
            ("host.latency", host.latency),
            ("trim.command", trim.command),
            ("trim.range", trim.range),
            ("trim.per_gib_mapped", trim.per_gib_mapped),
            ("trim.per_gib_unmapped", trim.per_gib_unmapped),
            ("trim.background_slice", trim.background_slice),
            ("trim.background_bound", trim.background_bound.unwrap_or(Nanos::ZERO)),
            ("drive.purge", self.purge),
            ("collector.idle_after", self.gc.idle_after),
            ("suspend.program", suspend.map_or(Nanos::ZERO, |suspend| suspend.program)),
            ("suspend.erase", suspend.map_or(Nanos::ZERO, |suspend| suspend.erase)),
            ("suspend.resume", suspend.map_or(Nanos::ZERO, |suspend| suspend.resume)),
        ] {
            require(span <= STEP_MAX, field, span, "at most 1h")?;
        }
        let reads_max = suspend.map_or(1, |suspend| suspend.reads_max);
        require(reads_max > 0, "suspend.reads_max", reads_max, "at least 1")
    }
}
