//! Our side: the emulated SSD as users open it and the methods drive it, with runner and histogram;
//! and the model alone, as the yardstick drives itself.

use std::time::Instant as WallClock;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::fault::FaultPlan;
use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Data, Instant, Interrupt, LbaRange, Nanos, Ppm, Tag, Target,
};
use trimbench_engine::runner::Single;
use trimbench_engine::workload::{ClosedLoop, RandomAccess};
use trimbench_engine::{DeviceArea, Runner, Sample};
use trimbench_results::{LatencyHistogram, Quantile};
use trimbench_ssd::{
    GcConfig, Geometry, HostInterface, MetadataOf, NandTiming, Profile, Ssd, SsdConfig,
    SuspendConfig, TrimArbitration, TrimConfig, TrimMode, VictimPolicy, WriteStreamsConfig,
};

use super::{Features, Parameters, Side};
use crate::bench::cpu_time;
use crate::process::resident;

/// Commands outstanding, as in the yardstick.
const QUEUE_DEPTH: u32 = 32;
/// Bytes of a mapping unit, and of each write.
const UNIT: u64 = 4_096;
/// Writes of one measurement: at least a second's worth.
const WRITES: u64 = 20_000_000;

/// A drive in steady state.
pub(super) struct WarmDrive {
    target: trimbench_devices::EmulatedDrive,
    parameters: Parameters,
    rng: Rng,
    /// What this process has grown by since before the drive was made.
    memory: Bytes,
}

impl WarmDrive {
    /// Fills the drive in order, then `fills` times at random.
    pub(super) fn warm(parameters: Parameters) -> Result<Self> {
        let config = config(parameters);
        let units = config.exported_units();
        let rng = Rng::new(1);
        let before = resident()?;
        let mut target = trimbench_devices::open_drive(config, FaultPlan::default())?;
        let ssd = target.model_mut().inner_mut();
        ssd.precondition_random(units * u64::from(parameters.fills), &mut rng.split("warm"));
        let memory = Bytes(resident()?.0.saturating_sub(before.0));
        Ok(Self { target, parameters, rng, memory })
    }

    fn ssd(&mut self) -> &mut Ssd {
        self.target.model_mut().inner_mut()
    }

    /// Memory of the drive in steady state, in bytes a unit that the host addresses.
    pub(super) fn memory(&self) -> Side {
        let units = self.target.model().inner().config().exported_units();
        Side {
            values: vec![self.memory.0 as f64 / units as f64],
            command: format!("growth of VmRSS by the drive, {}", self.parameters.name()),
            check: format!("{} for {units} units", self.memory),
        }
    }

    /// The same as [`Self::measure`] with nothing but the model and its clock: no runner, no
    /// workload, no histogram.
    pub(super) fn measure_alone(&mut self, side: &mut Side) -> Result<()> {
        let mut rng = self.rng.split(&format!("alone {}", side.values.len()));
        let units = self.target.model().inner().config().exported_units();
        let counters = self.target.model().inner().counters();
        let (mut out, mut under_way) = (Vec::new(), 0);
        let started = cpu_time();
        for number in 0..WRITES {
            while under_way == QUEUE_DEPTH as usize {
                self.target.reap(Instant::NEVER, &mut out);
                under_way -= out.len();
                out.clear();
            }
            let range = unit_range(rng.below(units), 1)?;
            let write = BlockCommand::Write { range, data: Data::Random };
            self.target.submit(Tag(narrow(number)), write)?;
            under_way += 1;
        }
        let elapsed = cpu_time().saturating_sub(started).seconds();
        while under_way > 0 {
            self.target.reap(Instant::NEVER, &mut out);
            under_way -= out.len();
            out.clear();
        }
        let amplification = self.target.model().inner().counters().waf_since(&counters);
        side.values.push(WRITES as f64 / elapsed / 1e6);
        if side.check.is_empty() {
            side.check = format!("WA {:.4}", amplification.unwrap_or(0.0));
        }
        side.command = format!("the model alone, {}", self.parameters.name());
        Ok(())
    }

    /// Trims the whole drive, all of which holds data, in the largest commands that it takes; in
    /// seconds of wall time. Nothing is left to measure writes on.
    #[expect(clippy::disallowed_types, reason = "wall time is what is measured")]
    pub(super) fn trim_all(mut self) -> Result<Side> {
        let units = self.target.model().inner().config().exported_units();
        let longest = self.target.capabilities().discard_max.0 / UNIT;
        let mapped = self.ssd().mapped_units();
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
        let left = self.ssd().mapped_units();
        ensure!(left == 0, "{left} units hold data after the TRIM");
        let commands = out.len();
        Ok(Side {
            values: vec![elapsed],
            command: format!("TRIM of {}", self.parameters.name()),
            check: format!("{mapped} units, {commands} commands"),
        })
    }

    /// Writes at random for a while and notes the speed.
    pub(super) fn measure(&mut self, side: &mut Side) -> Result<()> {
        let area = DeviceArea {
            start: Bytes(0),
            length: self.target.model().inner().config().capacity,
            logical_block: BlockSize::SECTOR,
            data: Data::Random,
        };
        let rng = self.rng.split(&format!("measure {}", side.values.len()));
        let access = RandomAccess::new(area, Bytes(UNIT), Ppm(0), rng);
        let mut writes = Single(ClosedLoop::new(access, QUEUE_DEPTH, WRITES));
        let mut latencies = LatencyHistogram::new();
        let mut observer = |sample: &Sample<BlockCommand>| latencies.record(sample.latency());
        let mut runner = Runner::new(Interrupt::default());
        let counters = self.target.model().inner().counters();
        let (started, virtual_start) = (cpu_time(), self.target.now());
        runner.run_until(&mut self.target, &mut writes, &mut observer, Instant::NEVER)?;
        let elapsed = cpu_time().saturating_sub(started).seconds();
        let virtual_time = self.target.now() - virtual_start;
        let amplification = self.target.model().inner().counters().waf_since(&counters);
        let tail = latencies.percentile(Quantile::P99_9).unwrap_or(Nanos::ZERO);
        side.values.push(WRITES as f64 / elapsed / 1e6);
        // The first measurement's: the later ones go on from another state.
        if side.check.is_empty() {
            side.check = format!(
                "WA {:.4}, {:.0} s virtual, p99.9 {tail}, hash {:016x}",
                amplification.unwrap_or(0.0),
                virtual_time.seconds(),
                runner.trace_hash()
            );
        }
        side.command = format!("through the contract, {}", self.parameters.name());
        Ok(())
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
    let superblock = Bytes(u64::from(parameters.superblock) * UNIT);
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
