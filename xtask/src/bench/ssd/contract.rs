//! Our side: the emulated SSD as the methods drive it, through `Virtual`, `Runner` and a histogram.

use std::time::Instant as WallClock;

use anyhow::Result;
use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Data, Instant, Interrupt, Nanos, Ppm, Target, Virtual,
};
use trimbench_methods::runner::Single;
use trimbench_methods::workload::{ClosedLoop, RandomAccess};
use trimbench_methods::{DeviceArea, Runner, Sample};
use trimbench_results::{LatencyHistogram, Quantile};
use trimbench_ssd::{Geometry, NandTiming, Profile, Ssd, SsdConfig};

use super::{Parameters, Side};

/// Commands outstanding, as in the yardstick.
const QUEUE_DEPTH: u32 = 32;
/// Writes of one measurement: at least a second's worth.
const WRITES: u64 = 20_000_000;

/// A drive in steady state.
pub(super) struct Drive {
    target: Virtual<Ssd>,
    parameters: Parameters,
    rng: Rng,
}

impl Drive {
    /// Fills the drive in order, then `fills` times at random.
    pub(super) fn warm(parameters: Parameters) -> Result<Self> {
        let config = config(parameters);
        let (capacity, units) = (config.capacity, config.exported_units());
        let rng = Rng::new(1);
        let mut ssd = config.build()?;
        ssd.precondition_sequential(Bytes(0), capacity);
        ssd.precondition_random(units * u64::from(parameters.fills), &mut rng.split("warm"));
        Ok(Self { target: Virtual::new(ssd), parameters, rng })
    }

    /// Writes at random for a while and notes the speed.
    #[expect(clippy::disallowed_types, reason = "wall time is what is measured")]
    pub(super) fn measure(&mut self, side: &mut Side) -> Result<()> {
        let area = DeviceArea {
            start: Bytes(0),
            length: self.target.model().config().capacity,
            logical_block: BlockSize::SECTOR,
            data: Data::Random,
        };
        let rng = self.rng.split(&format!("measure {}", side.values.len()));
        let access = RandomAccess::new(area, Bytes(4_096), Ppm(0), rng);
        let mut writes = Single(ClosedLoop::new(access, QUEUE_DEPTH, WRITES));
        let mut latencies = LatencyHistogram::new();
        let mut observer = |sample: &Sample<BlockCommand>| latencies.record(sample.latency());
        let mut runner = Runner::new(Interrupt::default());
        let counters = self.target.model().counters();
        let (started, virtual_start) = (WallClock::now(), self.target.now());
        runner.run_until(&mut self.target, &mut writes, &mut observer, Instant::NEVER)?;
        let elapsed = started.elapsed().as_secs_f64();
        let virtual_time = self.target.now() - virtual_start;
        let amplification = self.target.model().counters().since(&counters).waf();
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

/// The yardstick's numbers.
fn config(parameters: Parameters) -> SsdConfig {
    let base = Profile::built_in("generic-nvme-tlc").expect("a built-in profile").config;
    let superblock = Bytes(u64::from(parameters.superblock) * 4_096);
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
        },
        write_buffer: Bytes::mib(16),
        host: trimbench_ssd::HostInterface {
            queue_depth: QUEUE_DEPTH,
            command: Nanos(700),
            latency: Nanos::from_micros(6),
            ..base.host
        },
        ..base
    }
}
