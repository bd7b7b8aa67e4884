//! The emulated SSD: a flash translation layer, NAND timing and TRIM behaviour, in virtual time.
//!
//! [`Ssd`] is a [`trimbench_core::Model`]: passive, told the time, and without any I/O. Time is
//! kept by *reservation*: each resource (controller, host link, channel, die) keeps the instant at
//! which it is next free; a write walks through them when it starts and knows its completion at
//! once.
//! A read is the exception: it waits for its die as an event and reserves its channel only when the
//! die phase ends, because reserving both at once lets one busy die block the whole channel.
//!
//! What is modelled, what is not and how far to trust it stands in `docs/model/`.

mod collector;
mod config;
mod contents;
mod counters;
mod events;
mod flash;
mod mapping;
mod memory;
mod nand;
mod profile;

mod ssd;
mod trim;
mod write_buffer;

pub use config::{
    CollectorConfig, CompressionConfig, ConfigError, ContentsConfig, Geometry, HostInterface,
    LinkDuplex, Media, NandTiming, SlcCacheConfig, SlcMode, SsdConfig, TrimConfig, TrimMode,
    TrimmedReads, VictimPolicy, WhenFull,
};
pub use counters::Counters;

pub use profile::{BUILT_IN, Origin, Profile, ProfileError, ProfileText, ProfileValue, Provenance};
pub use ssd::{Change, EraseCounts, Overreach, Ssd, TableFault};

/// Raised whenever the simulated numbers change on purpose; part of every record.
pub const MODEL_VERSION: u32 = 2;
