//! The emulated SSD: a flash translation layer, NAND timing and TRIM behaviour, in virtual time.
//!
//! [`Ssd`] is a [`trimbench_core::Model`]: passive, told the time, and without any I/O. Time is
//! kept by *reservation*: each resource (controller, host link, channel, die) keeps the instant at
//! which it is next free. A command reserves a resource when it reaches it, not at submission;
//! otherwise commands in between would wait for something that has not begun. A write completes
//! when the buffer holds it, so a program group, not each write, is an event.
//!
//! `docs/model/` says what is modelled, what is not, and how far to trust it.

mod config;
mod contents;
mod counters;
mod events;
mod ftl;
mod gc;
mod mapping;
mod memory;
mod nand;
mod profile;
mod slots;
mod ssd;
mod streams;
mod trim;
mod unit;
mod write_buffer;

pub use config::{
    CompressionConfig, ContentsConfig, DriveConfigError, GcConfig, Geometry, HostInterface,
    LinkDuplex, MappingCacheConfig, Media, MetadataOf, NandTiming, SlcCacheConfig, SlcMode,
    SsdConfig, SuspendConfig, TrimArbitration, TrimConfig, TrimMode, TrimmedReads, VictimPolicy,
    WhenFull, WriteStreamsConfig,
};
pub use counters::DriveCounters;
pub use mapping::TableFault;
#[doc(hidden)]
pub use mapping::VictimSearch;
pub use profile::{
    BUILT_IN, Contradiction, DataSheet, Origin, OriginCounts, Profile, ProfileError, ProfileText,
    ProfileValue,
};
pub use ssd::{Overreach, PreconditionStep, Ssd};

/// Raised whenever the simulated numbers change on purpose; part of every record.
pub const MODEL_VERSION: u32 = 4;
