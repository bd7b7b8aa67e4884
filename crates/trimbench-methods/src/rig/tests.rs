//! Drives of which every number is known, and the tests of what methods on devices share.

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::{
    Blocks, Clock, Completion, Content, DrainRule, Drive, DriveError, Lba, Model, Ppm, PurgeMeans,
    Rejected, Support, Tag, TrimPromise, Virtual, Wear,
};
use trimbench_results::{Figure, Step};
use trimbench_ssd::{
    CollectorConfig, ContentsConfig, Geometry, HostInterface, LinkDuplex, Media, NandTiming, Ssd,
    SsdConfig, TrimConfig, TrimMode, VictimPolicy,
};

use super::*;
use crate::method::{KeepFailed, Monitor, Stage};

/// Of 1 GiB. A TRIM takes 10 + 100 + 20 us, and 1 us for each mapped unit of 4 KiB, 100 ns for each
/// that is not.
pub(crate) fn drive(mode: TrimMode) -> SsdConfig {
    SsdConfig {
        capacity: Bytes::gib(1),
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
        },
        write_buffer: Bytes::mib(1),
        power_loss_protection: false,
        host: HostInterface {
            queue_depth: 32,
            link_rate: Bytes(500_000_000),
            duplex: LinkDuplex::Half,
            command: Nanos::from_micros(10),
            latency: Nanos::from_micros(20),
        },
        trim: TrimConfig {
            mode,
            command: Nanos::from_micros(100),
            range: Nanos::ZERO,
            per_gib_mapped: Nanos::from_micros(262_144),
            per_gib_unmapped: Nanos(26_214_400),
            range_max: Bytes::mib(32),
            command_max: Bytes::mib(32),
            background_share: Ppm(250_000),
            background_slice: Nanos::from_millis(1),
            granularity: Bytes(4_096),
            alignment: Bytes(0),
        },
        contents: ContentsConfig::default(),
        slc_cache: None,
        compression: None,
        collector: CollectorConfig {
            policy: VictimPolicy::Greedy,
            separate_hot: false,
            idle_after: Nanos::from_millis(100),
            idle_free_target: Ppm(20_000),
            idle_valid_max: Ppm(500_000),
        },
    }
}

/// A layer that misreports: of each `merged` discards its counters show one; purged by `means`.
pub(crate) struct Lying {
    model: Faulty<Ssd>,
    pub(crate) merged: u64,
    pub(crate) means: PurgeMeans,
    capabilities: Capabilities,
    pub(crate) purges: u32,
    /// Every discard that was submitted.
    pub(crate) discards: Vec<LbaRange>,
    /// Commands that never end.
    pub(crate) hangs: bool,
    /// Bytes of each discard that never arrive at the device.
    pub(crate) short: Bytes,
    /// Bytes that another reads beside each discard.
    pub(crate) foreign: Bytes,
    /// Where the first unit of the granularity begins.
    pub(crate) alignment: Bytes,
}

impl Lying {
    pub(crate) fn new(config: SsdConfig) -> Self {
        Self::broken(config, FaultPlan::default())
    }

    pub(crate) fn broken(config: SsdConfig, plan: FaultPlan) -> Self {
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
    pub(crate) fn real(config: SsdConfig) -> Self {
        let mut lying = Self::new(config);
        lying.capabilities.clock = Clock::Wall;
        lying
    }
}

impl Model for Lying {
    type Command = BlockCommand;

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

    fn statistics(&self) -> Statistics {
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

/// Keeps steps; asks for the end after some.
#[derive(Default)]
pub(crate) struct Keeper {
    pub(crate) steps: Vec<Step>,
    pub(crate) stages: Vec<(usize, usize, Nanos)>,
    pub(crate) stop_after: Option<(usize, Interrupt)>,
}

impl Monitor for Keeper {
    fn stage(&mut self, stage: &Stage<'_>) {
        self.stages.push((stage.done, stage.total, stage.left));
    }

    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed> {
        self.steps.push(step.clone());
        if let Some((count, interrupt)) = &self.stop_after
            && self.steps.len() >= *count
        {
            interrupt.request();
        }
        Ok(())
    }
}

pub(crate) fn figure<'a>(figures: &'a [Figure], id: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id} is found"))
}

pub(crate) fn close(value: f64, expected: f64) {
    let off = (value - expected).abs();
    assert!(off <= 1e-6 * expected.abs() + 1e-12, "{value} instead of {expected}");
}

/// What a device says that takes discards of up to `discard_max`.
pub(crate) fn says(capacity: Bytes, granularity: Bytes, discard_max: Bytes) -> Capabilities {
    Capabilities {
        clock: Clock::Virtual,
        medium: Medium::Device { capacity, logical_block: BlockSize::SECTOR },
        discard: Support::Native,
        discard_max,
        discard_granularity: granularity,
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

#[test]
fn the_shape_is_of_whole_units() {
    let shape =
        Shape::of(&says(Bytes(10_000_000), Bytes(4_096), Bytes(100_001)), Bytes(0)).unwrap();
    assert_eq!(shape.capacity, Bytes(9_998_336));
    assert_eq!(shape.discard_max, Bytes(98_304));
    let odd = Shape::of(&says(Bytes(1 << 20), Bytes(0), Bytes(u64::MAX)), Bytes(0)).unwrap();
    assert_eq!((odd.granularity, odd.discard_max), (Bytes(512), Bytes(1 << 20)));
}

#[test]
fn on_a_real_device_a_command_holds_what_a_request_of_the_kernel_does() {
    let mut says = says(Bytes::gib(64), Bytes(4_096), Bytes::gib(2_048));
    assert_eq!(Shape::of(&says, Bytes(0)).unwrap().discard_max, Bytes::gib(64));
    says.clock = Clock::Wall;
    let max = Shape::of(&says, Bytes(0)).unwrap().discard_max;
    assert_eq!(max, Bytes(Bytes::gib(4).0 - 4_096));
}

#[test]
fn discards_cover_all_bytes_once() {
    let shape = Shape::of(&says(Bytes(1 << 20), Bytes(512), Bytes(1 << 20)), Bytes(0)).unwrap();
    let ranges: Vec<(u64, u64)> = shape
        .discards(Bytes(1_024), Bytes(2_560), Bytes(1_024))
        .iter()
        .map(|command| match command {
            BlockCommand::Discard(range) => (range.start().0, range.length().0),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ranges, [(2, 2), (4, 2), (6, 1)]);
}

#[test]
fn counters_that_lag_are_waited_for_and_no_longer_than_stated() {
    let interrupt = Interrupt::default();
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.merged = 2;
    let mut target = Virtual::new(lying);
    let mut rig = Rig::new(&mut target, &interrupt);
    let before = rig.device.statistics();
    let range = LbaRange::new(Lba(0), Blocks(8)).unwrap();
    let discards = vec![BlockCommand::Discard(range); 4];
    rig.all("test", discards, 1).unwrap();
    let issued = ClassStatistics { completed: 2, bytes: Bytes(16_384), ..Default::default() };
    let from = rig.now();
    assert_eq!(rig.discards_since(before, issued).unwrap().completed, 2);
    assert_eq!(rig.now(), from, "what is there needs no waiting");
    let issued = ClassStatistics { completed: 4, ..issued };
    assert_eq!(rig.discards_since(before, issued).unwrap().completed, 2);
    assert_eq!(rig.now() - from, COUNTERS_LAG);
}

#[test]
fn a_device_that_says_nothing_for_very_long_hangs() {
    let interrupt = Interrupt::default();
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.hangs = true;
    let mut target = Virtual::new(lying);
    let mut rig = Rig::new(&mut target, &interrupt);
    let range = LbaRange::new(Lba(0), Blocks(8)).unwrap();
    let error = rig.all("test", vec![BlockCommand::Discard(range)], 1).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Hung { outstanding: 1, .. })), "{error}");
}

#[test]
fn the_first_failure_ends_a_preparation_and_names_the_step() {
    let interrupt = Interrupt::default();
    let plan = FaultPlan { fail_from: Some(Instant::START), ..FaultPlan::default() };
    let mut target = Virtual::new(Lying::broken(drive(TrimMode::Queued), plan));
    let mut rig = Rig::new(&mut target, &interrupt);
    let area = rig.shape.area(Bytes(0), Bytes::mib(8));
    match rig.fill("step-7", area).unwrap_err() {
        MethodError::Broken { step, errno, .. } => {
            assert_eq!((step.as_str(), errno), ("step-7", Errno::EIO));
        }
        other => panic!("{other}"),
    }
}
