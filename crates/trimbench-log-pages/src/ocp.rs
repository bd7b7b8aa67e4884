//! Pages of the OCP Datacenter NVMe SSD specification, which drives of many vendors follow.

pub mod latency;
pub mod smart;
pub mod telemetry;

use crate::page::VersionAt;

/// Where all OCP logs of 512 bytes have their GUID and their version.
const GUID_AT: usize = 496;
const VERSION_AT: VersionAt = VersionAt { at: 494, width: 2 };
