//! Emulated drives: those of the profiles, one with known numbers, and a layer that misreports.

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::{
    BlockCommand, Bytes, Capabilities, Clock, Completion, Content, DeviceStatistics, Drive,
    DriveError, Instant, LbaRange, Model, Nanos, Ppm, PurgeMeans, Rejected, Storage, Tag,
    TrimPromise, Virtual, Wear,
};
use trimbench_ssd::{
    ContentsConfig, Geometry, HostInterface, LinkDuplex, NandTiming, Profile, Ssd, SsdConfig,
    TrimConfig, TrimMode, TrimmedReads,
};

/// An emulated drive as the methods get it.
pub type Emulated = Virtual<Faulty<Ssd>>;

/// The numbers of a built-in profile.
pub fn profile(name: &str, capacity: Bytes) -> SsdConfig {
    SsdConfig { capacity, ..Profile::built_in(name).unwrap().config }
}

/// A drive without SLC cache that is small enough for a test: superblocks of 64 units, spare space
/// in whole ones.
pub fn small_tlc(capacity: Bytes, over_provisioning: Ppm) -> SsdConfig {
    let mut config = profile("plain-nvme-tlc", capacity);
    config.over_provisioning = over_provisioning;
    config.geometry.superblock = Bytes(64 * 4_096);
    config.geometry.program_bytes = Bytes(65_536);
    config.geometry.channels = 4;
    config.geometry.dies = 4;
    config.write_buffer = Bytes::mib(1);
    config
}

pub fn emulated(config: SsdConfig) -> Emulated {
    faulty(config, FaultPlan::default())
}

pub fn faulty(config: SsdConfig, plan: FaultPlan) -> Emulated {
    Virtual::new(Faulty::new(config.build().unwrap(), plan))
}

/// Of 1 GiB. A TRIM takes 10 + 100 + 20 us, and 1 us for each mapped unit of 4 KiB, 100 ns for each
/// that is not. It collects greedily, and in advance when idle.
pub fn drive(mode: TrimMode) -> SsdConfig {
    let base = profile("plain-nvme-tlc", Bytes::gib(1));
    SsdConfig {
        over_provisioning: Ppm(100_000),
        geometry: Geometry {
            channels: 2,
            dies: 4,
            program_bytes: Bytes(65_536),
            superblock: Bytes::mib(4),
            programs_per_erase: 256,
        },
        nand: NandTiming {
            read: Nanos::from_micros(50),
            program: Nanos::from_micros(600),
            erase: Nanos::from_millis(4),
            channel_rate: Bytes(1_000_000_000),
            ..base.nand
        },
        write_buffer: Bytes::mib(1),
        host: HostInterface {
            queue_depth: 32,
            link_rate: Bytes(500_000_000),
            duplex: LinkDuplex::Half,
            command: Nanos::from_micros(10),
            latency: Nanos::from_micros(20),
            ..base.host
        },
        trim: TrimConfig {
            mode,
            command: Nanos::from_micros(100),
            per_gib_mapped: Nanos::from_micros(262_144),
            per_gib_unmapped: Nanos(26_214_400),
            range_max: Bytes::mib(32),
            ranges: 1,
            command_max: Bytes::mib(32),
            background_share: Ppm(250_000),
            ..base.trim
        },
        contents: ContentsConfig { reads: TrimmedReads::Zeroes, promise: TrimPromise::Nothing },
        ..base
    }
}

/// A layer that misreports: of each `merged` discards its counters show one; purged by `means`.
pub struct Lying {
    model: Faulty<Ssd>,
    pub merged: u64,
    pub means: PurgeMeans,
    capabilities: Capabilities,
    pub purges: u32,
    /// Every discard that was submitted.
    pub discards: Vec<LbaRange>,
    /// Commands that never end.
    pub hangs: bool,
    /// Bytes of each discard that never arrive at the device.
    pub short: Bytes,
    /// Bytes that another reads beside each discard.
    pub foreign: Bytes,
    /// Where the first unit of the granularity begins.
    pub alignment: Bytes,
}

impl Lying {
    pub fn new(config: SsdConfig) -> Self {
        Self::broken(config, FaultPlan::default())
    }

    pub fn broken(config: SsdConfig, plan: FaultPlan) -> Self {
        let model = Faulty::new(config.build().unwrap(), plan);
        let capabilities = model.capabilities().clone();
        let means = PurgeMeans::Model;
        Self {
            model,
            merged: 1,
            means,
            capabilities,
            purges: 0,
            discards: Vec::new(),
            hangs: false,
            short: Bytes(0),
            foreign: Bytes(0),
            alignment: Bytes(0),
        }
    }

    /// The same with a clock that counts as the wall's.
    pub fn real(config: SsdConfig) -> Self {
        let mut lying = Self::new(config);
        lying.capabilities.clock = Clock::Wall;
        lying
    }
}

impl Storage for Lying {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        let mut statistics = self.model.statistics();
        statistics.read.bytes += Bytes(self.foreign.0 * statistics.discard.completed);
        let short = Bytes(self.short.0 * statistics.discard.completed);
        statistics.discard.bytes = statistics.discard.bytes.saturating_sub(short);
        statistics.discard.completed /= self.merged;
        statistics
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Lying {
    fn submit(&mut self, now: Instant, tag: Tag, what: BlockCommand) -> Result<(), Rejected> {
        if let BlockCommand::Discard(range) = what {
            self.discards.push(range);
            if self.hangs {
                return Ok(());
            }
        }
        self.model.submit(now, tag, what)
    }

    fn next_event(&self) -> Instant {
        self.model.next_event()
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        self.model.advance(now, out);
    }
}

impl Drive for Lying {
    fn purge_means(&self) -> PurgeMeans {
        self.means
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.purges += 1;
        self.model.purge()
    }

    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        self.model.examine(range, out)
    }

    fn discard_alignment(&self) -> Bytes {
        self.alignment
    }

    fn trim_promise(&self) -> TrimPromise {
        self.model.trim_promise()
    }

    fn wear(&mut self) -> Option<Wear> {
        self.model.wear()
    }
}
