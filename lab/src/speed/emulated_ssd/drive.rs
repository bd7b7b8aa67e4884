//! Our side: the emulated SSD as users open it and the methods drive it, with runner and histogram;
//! and the model alone, as the yardstick drives itself.

use std::time::Instant as WallClock;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::fault::FaultPlan;
use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Data, Instant, Interrupt, LbaRange, Nanos, Ppm, Storage as _,
    Tag, Target,
};
use trimbench_engine::runner::Single;
use trimbench_engine::workload::{ClosedLoop, RandomAccess};
use trimbench_engine::{DeviceArea, Runner, Sample};
use trimbench_results::LatencyHistogram;
use trimbench_ssd::{
    GcConfig, Geometry, HostInterface, MetadataOf, NandTiming, Profile, Ssd, SsdConfig,
    SuspendConfig, TrimArbitration, TrimConfig, TrimMode, VictimPolicy, WriteStreamsConfig,
};

use super::{Features, Parameters, Speed};
use crate::lab::resident;
use crate::speed::turns::cpu_time;

/// Drive fills at random before anything is measured.
pub(super) const FILLS: u32 = 3;
/// Commands outstanding, as in the yardstick.
const QUEUE_DEPTH: u32 = 32;
/// Bytes of a mapping unit, and of each write.
const UNIT: u64 = 4_096;
/// Writes of one measurement: at least a second's worth.
const WRITES: u64 = 20_000_000;

/// A drive in steady state.
pub(super) struct WarmDrive {
    target: trimbench_devices::EmulatedDrive,
    rng: Rng,
    /// How often it was measured.
    measured: u32,
    /// What this process has grown by since before the drive was made.
    memory: Bytes,
}

impl WarmDrive {
    /// Fills the drive in order, then at random.
    pub(super) fn warm(parameters: Parameters) -> Result<Self> {
        let config = config(parameters);
        let rng = Rng::new(1);
        let before = resident()?;
        let mut target = trimbench_devices::open_drive(config, FaultPlan::default())?;
        let ssd = target.model_mut().inner_mut();
        let writes = ssd.config().exported_units() * u64::from(FILLS);
        ssd.precondition_random(writes, &mut rng.split("warm"));
        let memory = Bytes(resident()?.0.saturating_sub(before.0));
        Ok(Self { target, rng, measured: 0, memory })
    }

    fn ssd(&self) -> &Ssd {
        self.target.model().inner()
    }

    fn units(&self) -> u64 {
        self.ssd().config().exported_units()
    }

    /// Memory of the drive in steady state, in bytes a unit that the host addresses.
    pub(super) fn bytes_per_unit(&self) -> f64 {
        self.memory.0 as f64 / self.units() as f64
    }

    /// Random writes through the contract, with runner and histogram.
    pub(super) fn through_contract(&mut self) -> Result<Speed> {
        let area = DeviceArea {
            start: Bytes(0),
            length: self.ssd().config().capacity,
            logical_block: BlockSize::SECTOR,
            data: Data::Random,
        };
        let access = RandomAccess::new(area, Bytes(UNIT), Ppm(0), self.next_rng());
        let mut writes = Single(ClosedLoop::new(access, QUEUE_DEPTH, WRITES));
        let mut latencies = LatencyHistogram::new();
        let mut observer = |sample: &Sample<BlockCommand>| latencies.record(sample.latency());
        let mut runner = Runner::new(Interrupt::default());
        self.timed(|target| {
            runner.run_until(target, &mut writes, &mut observer, Instant::NEVER)?;
            Ok(())
        })
    }

    /// The same with nothing but the model and its clock: no runner, no workload, no histogram.
    pub(super) fn alone(&mut self) -> Result<Speed> {
        let (mut rng, units) = (self.next_rng(), self.units());
        let (mut out, mut under_way) = (Vec::new(), 0);
        let speed = self.timed(|target| {
            for number in 0..WRITES {
                while under_way == QUEUE_DEPTH as usize {
                    target.reap(Instant::NEVER, &mut out);
                    under_way -= out.len();
                    out.clear();
                }
                let range = unit_range(rng.below(units), 1)?;
                let write = BlockCommand::Write { range, data: Data::Random };
                target.submit(Tag(narrow(number)), write)?;
                under_way += 1;
            }
            Ok(())
        })?;
        while under_way > 0 {
            self.target.reap(Instant::NEVER, &mut out);
            under_way -= out.len();
            out.clear();
        }
        Ok(speed)
    }

    /// Trims the whole drive, all of which holds data, in the largest commands that it takes; in
    /// seconds of wall time. Nothing is left to measure writes on.
    pub(super) fn trim_all(mut self) -> Result<f64> {
        let units = self.units();
        let longest = self.target.capabilities().discard_max.0 / UNIT;
        let mapped = self.target.model_mut().inner_mut().mapped_units();
        ensure!(mapped == units, "{mapped} of {units} units hold data before the TRIM");
        let started = WallClock::now();
        let (mut first, mut out) = (0, Vec::new());
        while first < units {
            let count = longest.min(units - first);
            self.target.submit(Tag(0), BlockCommand::Discard(unit_range(first, count)?))?;
            self.target.reap(Instant::NEVER, &mut out);
            first += count;
        }
        let elapsed = started.elapsed().as_secs_f64();
        let left = self.target.model_mut().inner_mut().mapped_units();
        ensure!(left == 0, "{left} units hold data after the TRIM");
        Ok(elapsed)
    }

    /// Other random numbers at every measurement.
    fn next_rng(&mut self) -> Rng {
        self.measured += 1;
        self.rng.split(&format!("measure {}", self.measured))
    }

    /// The speed of something that writes [`WRITES`] units.
    fn timed(
        &mut self,
        write: impl FnOnce(&mut trimbench_devices::EmulatedDrive) -> Result<()>,
    ) -> Result<Speed> {
        let counters = self.ssd().counters();
        let started = cpu_time();
        write(&mut self.target)?;
        let seconds = cpu_time().saturating_sub(started).seconds();
        let amplification = self.ssd().counters().waf_since(&counters);
        let amplification = amplification.context("nothing was written")?;
        Ok(Speed { millions: WRITES as f64 / seconds / 1e6, amplification })
    }
}

/// So many mapping units.
fn unit_range(first: u64, count: u64) -> Result<LbaRange> {
    let range = LbaRange::from_bytes(Bytes(first * UNIT), Bytes(count * UNIT), BlockSize::SECTOR);
    range.context("a range of whole blocks")
}

/// The yardstick's numbers, with all features or without.
fn config(parameters: Parameters) -> SsdConfig {
    let config = yardstick(parameters);
    match parameters.features {
        Features::None => config,
        Features::NoHot => all_on(&config, false),
        Features::All => all_on(&config, true),
    }
}

fn yardstick(parameters: Parameters) -> SsdConfig {
    let base = Profile::built_in("plain-nvme-tlc").expect("a built-in profile").config;
    let superblock = Bytes(u64::from(parameters.superblock()) * UNIT);
    let programs = superblock.0 / 65_536;
    SsdConfig {
        capacity: Bytes::gib(parameters.capacity.into()),
        over_provisioning: Ppm(parameters.over_provisioning * 10_000),
        geometry: Geometry {
            channels: 8,
            dies: 64,
            program_bytes: Bytes(65_536),
            superblock,
            // An erase of every die costs its full time, as there.
            programs_per_erase: u32::try_from(programs / 64).map_or(1, |count| count.max(1)),
        },
        nand: NandTiming {
            read: Nanos::from_micros(60),
            program: Nanos::from_micros(660),
            erase: Nanos::from_millis(5),
            channel_rate: Bytes(1_200_000_000),
            suspend: None,
        },
        write_buffer: Bytes::mib(16),
        host: HostInterface {
            queue_depth: QUEUE_DEPTH,
            command: Nanos(700),
            latency: Nanos::from_micros(6),
            ..base.host
        },
        ..base
    }
}

/// The same with every key set that is off by default, as far as they go together; the numbers are
/// about those of `micron-7450-max-800`. Left out is what makes another kind of drive: an SLC
/// cache, compression and a mapping cache.
fn all_on(config: &SsdConfig, separate_hot: bool) -> SsdConfig {
    SsdConfig {
        power_loss_protection: true,
        buffer_frees_early: true,
        buffer_overwrites: true,
        metadata: Ppm(29_600),
        metadata_of: MetadataOf::HostWrites,
        nand: NandTiming {
            suspend: Some(SuspendConfig {
                program: Nanos::from_micros(20),
                erase: Nanos::from_micros(100),
                resume: Nanos::from_micros(20),
                reads_max: 1_000,
                slice: Nanos::from_micros(130),
                collector: Some(Nanos::from_micros(400)),
                channel: true,
            }),
            ..config.nand
        },
        host: HostInterface { jitter: Nanos::from_micros(1), ..config.host },
        trim: TrimConfig {
            mode: TrimMode::Queued,
            arbitration: TrimArbitration::ReadsFirst,
            uncharged: Bytes::mib(1_024),
            per_gib_mapped: Nanos::from_micros(1_100),
            latency: Nanos::from_micros(100),
            tail_chance: Ppm(50_000),
            tail_per_gib: Nanos::from_micros(800),
            granularity: Bytes(64 << 10),
            ..config.trim
        },
        gc: GcConfig {
            policy: VictimPolicy::CostBenefitRoot,
            separate_hot,
            read: Some(Nanos::from_micros(128)),
            read_bytes: Some(Bytes(16 << 10)),
            burst: Some(Bytes(config.geometry.superblock.0 / 2)),
            pace: Nanos::from_micros(14),
            level_every: Some(1_000),
            ..config.gc
        },
        write_streams: Some(WriteStreamsConfig { count: 8, switch: Nanos::from_micros(1) }),
        ..config.clone()
    }
}
