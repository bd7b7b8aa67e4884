//! Parameters of a drive, shared by the emulated drive and the models that it is compared with.

use trimbench_core::{Bytes, Nanos, Ppm};
use trimbench_ssd::{
    Geometry, HostInterface, LinkDuplex, NandTiming, Profile, SsdConfig, SuspendConfig,
};

/// Bytes of a mapping unit.
pub(super) const UNIT: u64 = 4_096;
/// Units of a program group: 64 KiB.
pub(super) const GROUP_UNITS: u64 = 16;
/// Groups that writes go to, in order and round: the first half of the drive. Reads go to the other
/// one, so that none finds its data in the buffer.
pub(super) const WRITE_GROUPS: u64 = CAPACITY_UNITS / 2 / GROUP_UNITS;
/// Units of every drive here: 4 GiB.
pub(super) const CAPACITY_UNITS: u64 = 1 << 20;

/// A drive. Times in ns, rates in bytes a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) controller: u64,
    pub(super) latency: u64,
    pub(super) link_rate: u64,
    pub(super) half_duplex: bool,
    pub(super) channels: usize,
    pub(super) channel_rate: u64,
    pub(super) dies: usize,
    pub(super) read: u64,
    pub(super) program: u64,
    pub(super) erase: u64,
    /// Each group that is written erases its die first. The drive has a superblock of a group on
    /// each die for it, which is always overwritten as a whole.
    pub(super) erases: bool,
    pub(super) buffer_groups: usize,
    pub(super) suspend: Option<Suspend>,
}

/// Suspension of operations for reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspend {
    pub(super) program: u64,
    pub(super) erase: u64,
    pub(super) resume: u64,
    pub(super) reads_max: u32,
}

impl Suspend {
    pub(super) fn span(self, is_erase: bool) -> u64 {
        if is_erase { self.erase } else { self.program }
    }
}

impl Numbers {
    /// 64 dies on 8 channels behind four lanes of `PCIe` 3.0.
    pub(super) const ARRAY: Self = Self {
        controller: 1_000,
        latency: 12_000,
        link_rate: 3_500_000_000,
        half_duplex: false,
        channels: 8,
        channel_rate: 1_200_000_000,
        dies: 64,
        read: 60_000,
        program: 660_000,
        erase: 5_000_000,
        erases: true,
        buffer_groups: 256,
        suspend: None,
    };

    /// Where a group lies, of a drive that was filled in order once.
    pub(super) fn die_of(&self, group: u64) -> usize {
        usize::try_from(group % self.dies as u64).unwrap_or(0)
    }

    pub(super) fn link_span(&self, bytes: u64) -> u64 {
        span(bytes, self.link_rate)
    }

    pub(super) fn channel_span(&self, bytes: u64) -> u64 {
        span(bytes, self.channel_rate)
    }

    /// The emulated drive of these numbers.
    pub(super) fn config(&self) -> SsdConfig {
        let base = Profile::built_in("plain-nvme-tlc").expect("a built-in profile").config;
        let groups = self.dies as u64;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        SsdConfig {
            capacity: Bytes(CAPACITY_UNITS * UNIT),
            // As little as there can be: erases come as soon as writes do.
            over_provisioning: Ppm(1_000),
            geometry: Geometry {
                channels: count(self.channels),
                dies: count(self.dies),
                program_bytes: Bytes(GROUP_UNITS * UNIT),
                superblock: Bytes((groups * GROUP_UNITS * UNIT).max(1 << 18)),
                // A group on each die a superblock: an erase of each of them costs its full time.
                programs_per_erase: count((4 / self.dies).max(1)),
            },
            nand: NandTiming {
                read: Nanos(self.read),
                program: Nanos(self.program),
                erase: Nanos(self.erase),
                channel_rate: Bytes(self.channel_rate),
                suspend: self.suspend.map(|suspend| SuspendConfig {
                    program: Nanos(suspend.program),
                    erase: Nanos(suspend.erase),
                    resume: Nanos(suspend.resume),
                    reads_max: suspend.reads_max,
                    slice: Nanos::ZERO,
                    collector: None,
                    channel: false,
                }),
            },
            write_buffer: Bytes(self.buffer_groups as u64 * GROUP_UNITS * UNIT),
            host: HostInterface {
                queue_depth: u32::MAX,
                link_rate: Bytes(self.link_rate),
                duplex: if self.half_duplex { LinkDuplex::Half } else { LinkDuplex::Full },
                command: Nanos(self.controller),
                latency: Nanos(self.latency),
                jitter: Nanos::ZERO,
            },
            gc: trimbench_ssd::GcConfig { idle_after: Nanos::from_secs(3_600), ..base.gc },
            ..base
        }
    }
}

/// Time for so many bytes, to the nearest ns.
fn span(bytes: u64, rate: u64) -> u64 {
    let exact = u128::from(bytes) * 1_000_000_000;
    u64::try_from((exact + u128::from(rate) / 2) / u128::from(rate)).unwrap_or(u64::MAX)
}
