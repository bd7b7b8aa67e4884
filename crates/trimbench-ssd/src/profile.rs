//! Profiles: the numbers of an emulated drive as TOML, each with its source.
//!
//! Every value is written `name = { value = …, sourced = "…" }`, or `fitted` and to what, or
//! `assumed` and why. A drive's name is shown with the count of each, so that nobody takes an
//! assumption for a measurement. Unknown keys are errors. The schema is in
//! `docs/reference/profiles.md`.

use std::fmt;

use serde::Deserialize;
use trimbench_core::{Bytes, Nanos, Ppm, TrimPromise};

use crate::config::{
    CollectorConfig, CompressionConfig, ContentsConfig, Geometry, HostInterface, LinkDuplex,
    MappingCacheConfig, Media, NandTiming, SlcCacheConfig, SlcMode, SsdConfig, SuspendConfig,
    TrimConfig, TrimMode, TrimmedReads, UNIT_BYTES, VictimPolicy, WhenFull, WriteStreamsConfig,
};

mod provenance;
#[cfg(test)]
mod tests;

pub use provenance::{Origin, ProfileValue, Provenance};

/// A profile that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct ProfileText {
    /// Its name on the command line.
    pub name: &'static str,
    /// The TOML.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),+ $(,)?) => {
        [$(ProfileText {
            name: $name,
            text: include_str!(concat!("../../../profiles/", $name, ".toml")),
        }),+]
    };
}

/// The profiles that come with the program, in the order of `trimbench list profiles`. The first
/// four are the default targets of `trimbench run`.
pub const BUILT_IN: [ProfileText; 19] = built_in![
    "generic-sata-tlc",
    "vendor2",
    "generic-nvme-tlc",
    "like-optane-900p",
    "generic-nvme-qlc",
    "generic-nvme-dramless",
    "generic-sata-compressing",
    "vendor1",
    "vendor3",
    "vendor4",
    "vendor5",
    "vendor6",
    "like-850-pro",
    "like-rc100",
    "like-m4-256",
    "like-p3500",
    "like-vertex4",
    "like-ssd340",
    "like-m500",
];

/// A parsed profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// One line on what the drive stands for.
    pub summary: String,
    /// The numbers, with the capacity of the profile.
    pub config: SsdConfig,
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// Every value, sorted by key.
    pub values: Vec<ProfileValue>,
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Not TOML, an unknown key, a missing key or a value of the wrong kind: the message has line,
    /// column and what was expected.
    #[error("the profile is not valid: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A value does not say where it comes from, or says it twice.
    #[error("`{key}` must say exactly one of `sourced`, `fitted` or `assumed`")]
    Source {
        /// The key of the value.
        key: String,
    },
}

/// A value and where it comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<T> {
    value: T,
    #[serde(default)]
    #[expect(dead_code, reason = "read from the untyped tree; here so that other keys are errors")]
    sourced: Option<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "as above")]
    fitted: Option<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "as above")]
    assumed: Option<String>,
}

/// A quantity as text with its unit.
#[derive(Clone, Copy, Debug)]
struct Quantity<T>(T);

impl<'de, T: std::str::FromStr<Err: fmt::Display>> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

type Size = Entry<Quantity<Bytes>>;
type Span = Entry<Quantity<Nanos>>;
type Ratio = Entry<Quantity<Ppm>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    summary: String,
    drive: Drive,
    geometry: GeometryTable,
    nand: NandTable,
    host: HostTable,
    trim: TrimTable,
    collector: CollectorTable,
    slc_cache: Option<SlcCacheTable>,
    compression: Option<CompressionTable>,
    mapping_cache: Option<MappingCacheTable>,
    suspend: Option<SuspendTable>,
    write_streams: Option<WriteStreamsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drive {
    capacity: Size,
    over_provisioning: Ratio,
    media: Entry<MediaName>,
    write_buffer: Size,
    power_loss_protection: Entry<bool>,
    purge: Option<Span>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MediaName {
    Flash,
    InPlace,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GeometryTable {
    channels: Entry<u32>,
    dies: Entry<u32>,
    program_bytes: Size,
    superblock: Size,
    programs_per_erase: Entry<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NandTable {
    read: Span,
    program: Span,
    erase: Span,
    channel_bytes_per_second: Size,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTable {
    queue_depth: Entry<u32>,
    link_bytes_per_second: Size,
    duplex: Entry<DuplexName>,
    command: Span,
    latency: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DuplexName {
    Half,
    Full,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrimTable {
    mode: Entry<ModeName>,
    command: Span,
    range: Span,
    per_gib_mapped: Span,
    per_gib_unmapped: Span,
    range_max: Size,
    command_max: Size,
    granularity: Option<Size>,
    alignment: Option<Size>,
    background_share: Option<Ratio>,
    background_slice: Option<Span>,
    background_bound: Option<Span>,
    reads: Option<Entry<ReadsName>>,
    promise: Option<Entry<PromiseName>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReadsName {
    Zeroes,
    OldData,
    Unstable,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PromiseName {
    Unknown,
    Nothing,
    Deterministic,
    Zeroes,
    Ones,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ModeName {
    Blocking,
    Queued,
    Background,
    None,
    Ignored,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectorTable {
    policy: Option<Entry<PolicyName>>,
    separate_hot: Option<Entry<bool>>,
    idle_after: Span,
    idle_free_target: Ratio,
    idle_valid_max: Ratio,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PolicyName {
    Greedy,
    Fifo,
    CostBenefit,
    DChoices(u32),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlcCacheTable {
    mode: Entry<SlcModeName>,
    size: Ratio,
    minimum: Option<Ratio>,
    bits_per_cell: Entry<u32>,
    program: Span,
    read: Option<Span>,
    when_full: Entry<WhenFullName>,
    fold_idle_after: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SlcModeName {
    Fixed,
    Dynamic,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WhenFullName {
    Direct,
    Fold,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompressionTable {
    floor: Ratio,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MappingCacheTable {
    size: Size,
    page: Size,
    read: Option<Span>,
    program: Option<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteStreamsTable {
    count: Entry<u32>,
    switch: Span,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuspendTable {
    program: Span,
    erase: Span,
    resume: Span,
    reads_max: Entry<u32>,
}

impl Profile {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let file: File = toml::from_str(text)?;
        let tree: toml::Table = toml::from_str(text)?;
        let values = provenance::values(&tree)?;
        let provenance = Provenance::of(&values);
        let name = file.name.clone();
        let summary = file.summary.clone();
        Ok(Self { name, summary, config: file.config(), provenance, values })
    }

    /// The built-in profile of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let text = BUILT_IN.iter().find(|profile| profile.name == name)?.text;
        Some(Self::parse(text).expect("built-in profiles are tested"))
    }

    /// The same drive with another capacity.
    #[must_use]
    pub fn with_capacity(mut self, capacity: Bytes) -> Self {
        self.config.capacity = capacity;
        self
    }
}

impl File {
    fn config(&self) -> SsdConfig {
        SsdConfig {
            capacity: self.drive.capacity.value.0,
            over_provisioning: self.drive.over_provisioning.value.0,
            media: match self.drive.media.value {
                MediaName::Flash => Media::Flash,
                MediaName::InPlace => Media::InPlace,
            },
            geometry: Geometry {
                channels: self.geometry.channels.value,
                dies: self.geometry.dies.value,
                program_bytes: self.geometry.program_bytes.value.0,
                superblock: self.geometry.superblock.value.0,
                programs_per_erase: self.geometry.programs_per_erase.value,
            },
            nand: NandTiming {
                read: self.nand.read.value.0,
                program: self.nand.program.value.0,
                erase: self.nand.erase.value.0,
                channel_rate: self.nand.channel_bytes_per_second.value.0,
                suspend: self.suspend.as_ref().map(|suspend| SuspendConfig {
                    program: suspend.program.value.0,
                    erase: suspend.erase.value.0,
                    resume: suspend.resume.value.0,
                    reads_max: suspend.reads_max.value,
                }),
            },
            write_buffer: self.drive.write_buffer.value.0,
            power_loss_protection: self.drive.power_loss_protection.value,
            purge: self.drive.purge.as_ref().map_or(Nanos::ZERO, |span| span.value.0),
            host: self.host.config(),
            trim: self.trim.config(),
            collector: self.collector.config(),
            contents: self.trim.contents(),
            slc_cache: self.slc_cache.as_ref().map(|cache| cache.config(&self.nand)),
            compression: self
                .compression
                .as_ref()
                .map(|table| CompressionConfig { floor: table.floor.value.0 }),
            mapping_cache: self.mapping_cache.as_ref().map(|cache| cache.config(&self.nand)),
            write_streams: self.write_streams.as_ref().map(|table| WriteStreamsConfig {
                count: table.count.value,
                switch: table.switch.value.0,
            }),
        }
    }
}

impl CollectorTable {
    fn config(&self) -> CollectorConfig {
        CollectorConfig {
            policy: match self.policy.as_ref().map(|entry| entry.value) {
                None | Some(PolicyName::Greedy) => VictimPolicy::Greedy,
                Some(PolicyName::Fifo) => VictimPolicy::Fifo,
                Some(PolicyName::CostBenefit) => VictimPolicy::CostBenefit,
                Some(PolicyName::DChoices(count)) => VictimPolicy::DChoices(count),
            },
            separate_hot: self.separate_hot.as_ref().is_some_and(|entry| entry.value),
            idle_after: self.idle_after.value.0,
            idle_free_target: self.idle_free_target.value.0,
            idle_valid_max: self.idle_valid_max.value.0,
        }
    }
}

impl SlcCacheTable {
    fn config(&self, nand: &NandTable) -> SlcCacheConfig {
        SlcCacheConfig {
            mode: match self.mode.value {
                SlcModeName::Fixed => SlcMode::Fixed,
                SlcModeName::Dynamic => SlcMode::Dynamic,
            },
            size: self.size.value.0,
            minimum: self.minimum.as_ref().map_or(Ppm(0), |ratio| ratio.value.0),
            bits_per_cell: self.bits_per_cell.value,
            program: self.program.value.0,
            read: self.read.as_ref().unwrap_or(&nand.read).value.0,
            when_full: match self.when_full.value {
                WhenFullName::Direct => WhenFull::Direct,
                WhenFullName::Fold => WhenFull::Fold,
            },
            fold_idle_after: self.fold_idle_after.value.0,
        }
    }
}

impl MappingCacheTable {
    fn config(&self, nand: &NandTable) -> MappingCacheConfig {
        MappingCacheConfig {
            size: self.size.value.0,
            page: self.page.value.0,
            read: self.read.as_ref().unwrap_or(&nand.read).value.0,
            program: self.program.as_ref().unwrap_or(&nand.program).value.0,
        }
    }
}

impl HostTable {
    fn config(&self) -> HostInterface {
        HostInterface {
            queue_depth: self.queue_depth.value,
            link_rate: self.link_bytes_per_second.value.0,
            duplex: match self.duplex.value {
                DuplexName::Half => LinkDuplex::Half,
                DuplexName::Full => LinkDuplex::Full,
            },
            command: self.command.value.0,
            latency: self.latency.value.0,
        }
    }
}

impl TrimTable {
    fn config(&self) -> TrimConfig {
        TrimConfig {
            mode: match self.mode.value {
                ModeName::Blocking => TrimMode::Blocking,
                ModeName::Queued => TrimMode::Queued,
                ModeName::Background => TrimMode::Background,
                ModeName::None => TrimMode::None,
                ModeName::Ignored => TrimMode::Ignored,
            },
            command: self.command.value.0,
            range: self.range.value.0,
            per_gib_mapped: self.per_gib_mapped.value.0,
            per_gib_unmapped: self.per_gib_unmapped.value.0,
            range_max: self.range_max.value.0,
            command_max: self.command_max.value.0,
            granularity: self.granularity.as_ref().map_or(Bytes(UNIT_BYTES), |size| size.value.0),
            alignment: self.alignment.as_ref().map_or(Bytes(0), |size| size.value.0),
            background_share: self.background_share.as_ref().map_or(Ppm(0), |ratio| ratio.value.0),
            background_slice: self
                .background_slice
                .as_ref()
                .map_or(Nanos::ZERO, |span| span.value.0),
            background_bound: self.background_bound.as_ref().map(|span| span.value.0),
        }
    }

    fn contents(&self) -> ContentsConfig {
        let default = ContentsConfig::default();
        ContentsConfig {
            reads: self.reads.as_ref().map_or(default.reads, |entry| match entry.value {
                ReadsName::Zeroes => TrimmedReads::Zeroes,
                ReadsName::OldData => TrimmedReads::OldData,
                ReadsName::Unstable => TrimmedReads::Unstable,
            }),
            promise: self.promise.as_ref().map_or(default.promise, |entry| match entry.value {
                PromiseName::Unknown => TrimPromise::Unknown,
                PromiseName::Nothing => TrimPromise::Nothing,
                PromiseName::Deterministic => TrimPromise::Deterministic,
                PromiseName::Zeroes => TrimPromise::Zeroes,
                PromiseName::Ones => TrimPromise::Ones,
            }),
        }
    }
}
