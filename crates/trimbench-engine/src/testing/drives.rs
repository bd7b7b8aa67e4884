//! Emulated drives: those of the profiles, one with known numbers, and a layer that misreports.

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::{
    BlockCommand, Bytes, Capabilities, Clock, Completion, Content, DeviceStatistics, Drive,
    DriveError, Instant, LbaRange, Model, Nanos, Ppm, PurgeMeans, Rejected, Storage, Tag,
    TrimPromise, Virtual, Wear,
};
use trimbench_ssd::{
    BUILT_IN, ContentsConfig, GcConfig, Geometry, HostInterface, LinkDuplex, Media, MetadataOf,
    NandTiming, Profile, Ssd, SsdConfig, TrimArbitration, TrimConfig, TrimMode, TrimmedReads,
    VictimPolicy,
};

/// An emulated drive as the methods get it.
pub type Emulated = Virtual<Faulty<Ssd>>;

/// The numbers of a built-in profile.
pub fn profile(name: &str, capacity: Bytes) -> SsdConfig {
    let text = BUILT_IN.iter().find(|profile| profile.name == name).unwrap();
    SsdConfig { capacity, ..Profile::parse(text.text).unwrap().config }
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
/// that is not.
pub fn drive(mode: TrimMode) -> SsdConfig {
    SsdConfig {
        capacity: Bytes::gib(1),
        mapping_unit: Bytes::kib(4),
        over_provisioning: Ppm(100_000),
        media: Media::Flash,
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
            suspend: None,
        },
        write_buffer: Bytes::mib(1),
        power_loss_protection: false,
        buffer_frees_early: false,
        buffer_overwrites: false,
        metadata: Ppm(0),
        metadata_of: MetadataOf::Programs,
        purge: Nanos::ZERO,
        host: HostInterface {
            queue_depth: 32,
            link_rate: Bytes(500_000_000),
            duplex: LinkDuplex::Half,
            command: Nanos::from_micros(10),
            latency: Nanos::from_micros(20),
            jitter: Nanos::ZERO,
        },
        trim: TrimConfig {
            mode,
            command: Nanos::from_micros(100),
            range: Nanos::ZERO,
            per_gib_mapped: Nanos::from_micros(262_144),
            per_gib_unmapped: Nanos(26_214_400),
            uncharged: Bytes(0),
            latency: Nanos::ZERO,
            tail_chance: Ppm(0),
            tail_per_gib: Nanos::ZERO,
            range_max: Bytes::mib(32),
            ranges: 1,
            command_max: Bytes::mib(32),
            arbitration: TrimArbitration::FirstCome,
            background_share: Ppm(250_000),
            background_slice: Nanos::from_millis(1),
            background_bound: None,
            granularity: Bytes(4_096),
            alignment: Bytes(0),
        },
        contents: ContentsConfig { reads: TrimmedReads::Zeroes, promise: TrimPromise::Nothing },
        slc_cache: None,
        compression: None,
        mapping_cache: None,
        write_streams: None,
        gc: collector(),
    }
}

/// It collects greedily, and in advance when idle.
fn collector() -> GcConfig {
    GcConfig {
        policy: VictimPolicy::Greedy,
        separate_hot: false,
        read: None,
        burst: None,
        pace: Nanos::ZERO,
        level_every: None,
        read_bytes: None,
        idle_after: Nanos::from_millis(100),
        idle_free_target: Ppm(20_000),
        idle_valid_max: Ppm(500_000),
        idle_share: Ppm(1_000_000),
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
