//! The measurements of the claim: the lines of its raw output.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Instant, Lba, LbaRange, Nanos, Ppm, Tag, Target, Virtual,
};
use trimbench_ssd::{Media, Profile, Ssd, SsdConfig, TrimConfig, TrimMode};

/// Logical blocks of a unit of 4 KiB.
const UNIT_BLOCKS: u64 = 8;
/// Units of every drive here.
const CAPACITY_UNITS: u64 = 1 << 18;
/// Reads before and behind a blocking TRIM.
const QUEUED: u32 = 16;
/// Units that each range of a TRIM frees.
const RANGE_UNITS: u64 = 64;

/// What a TRIM costs by its drive, ns.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Costs {
    pub(super) command: u64,
    pub(super) range: u64,
    pub(super) per_gib_mapped: u64,
}

const COSTS: Costs = Costs { command: 90_000, range: 7_000, per_gib_mapped: 250_000_000 };

/// A blocking TRIM among reads.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Blocking {
    pub(super) ranges: u64,
    pub(super) mapped_units: u64,
    pub(super) costs: Costs,
    /// How much later each read behind it ends than behind a TRIM that costs nothing.
    pub(super) delays_ns: Vec<u64>,
}

/// A background TRIM during reads in a closed loop.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Background {
    pub(super) ranges: u64,
    pub(super) mapped_units: u64,
    pub(super) costs: Costs,
    pub(super) share: f64,
    /// From the TRIM's submission until none of its work is left.
    pub(super) settled_ns: u64,
    pub(super) before_iops: f64,
    pub(super) during_iops: f64,
    pub(super) after_iops: f64,
}

/// A TRIM on an idle drive on which there is nothing to do for it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Alone {
    pub(super) units: u64,
    pub(super) costs: Costs,
    pub(super) controller_ns: u64,
    pub(super) latency_ns: u64,
    pub(super) took_ns: u64,
}

/// A drive of which a quarter was trimmed, or not.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Amplification {
    pub(super) mode: String,
    pub(super) freed_units: u64,
    pub(super) waf: f64,
}

/// A drive of 1 GiB that is written whole.
fn full(mode: TrimMode, costs: Costs) -> Result<Virtual<Ssd>> {
    let base = Profile::built_in("plain-nvme-tlc").context("a built-in profile")?.config;
    let trim = TrimConfig {
        mode,
        command: Nanos(costs.command),
        range: Nanos(costs.range),
        per_gib_mapped: Nanos(costs.per_gib_mapped),
        background_share: Ppm(250_000),
        ..base.trim
    };
    let in_place = mode == TrimMode::None;
    let config = SsdConfig {
        capacity: Bytes(CAPACITY_UNITS << 12),
        // So that a small drive has enough of them.
        geometry: trimbench_ssd::Geometry { superblock: Bytes::mib(1), ..base.geometry },
        media: if in_place { Media::InPlace } else { Media::Flash },
        trim,
        // Slow enough that nothing else is a bottleneck.
        host: trimbench_ssd::HostInterface { command: Nanos::from_micros(20), ..base.host },
        ..base
    };
    let capacity = config.capacity;
    let mut ssd = config.build()?;
    ssd.precondition_sequential(Bytes(0), capacity);
    Ok(Virtual::new(ssd))
}

fn units(first: u64, count: u64) -> Result<LbaRange> {
    let range = LbaRange::new(Lba(first * UNIT_BLOCKS), Blocks(count * UNIT_BLOCKS));
    range.context("a range on the drive")
}

/// Waits for so many completions; their tags and instants.
fn reap(target: &mut Virtual<Ssd>, count: usize) -> Vec<(Tag, Instant)> {
    let mut out = Vec::new();
    while out.len() < count {
        target.reap(Instant::NEVER, &mut out);
    }
    out.iter().map(|completion| (completion.tag, completion.at)).collect()
}

/// A TRIM of so many ranges.
pub(super) fn blocking(ranges: u64) -> Result<Blocking> {
    let (free, freed) = among_reads(ranges, Costs::default())?;
    let (costly, _) = among_reads(ranges, COSTS)?;
    let delays = costly.iter().zip(&free).map(|(costly, free)| (*costly - *free).0);
    Ok(Blocking { ranges, mapped_units: freed, costs: COSTS, delays_ns: delays.collect() })
}

/// When the reads behind a TRIM of so many ranges end, and what it freed.
fn among_reads(ranges: u64, costs: Costs) -> Result<(Vec<Instant>, u64)> {
    let mut target = full(TrimMode::Blocking, costs)?;
    let mut rng = Rng::new(ranges).split("reads");
    let half = CAPACITY_UNITS / 2;
    let trimmed: Vec<LbaRange> = (0..ranges)
        .map(|number| units(number * 2 * RANGE_UNITS, RANGE_UNITS))
        .collect::<Result<_>>()?;
    for number in 0..2 * QUEUED {
        if number == QUEUED {
            let trim = target.submit_discard(Tag(2 * QUEUED), &trimmed);
            trim.context("submit a TRIM")?;
        }
        let read = BlockCommand::Read(units(half + rng.below(half), 1)?);
        target.submit(Tag(number), read).context("submit a read")?;
    }
    let mut ends = reap(&mut target, index(2 * QUEUED + 1));
    ends.retain(|(tag, _)| (QUEUED..2 * QUEUED).contains(&tag.0));
    ends.sort_by_key(|(tag, _)| *tag);
    let freed = CAPACITY_UNITS - target.model_mut().mapped_units();
    Ok((ends.into_iter().map(|(_, at)| at).collect(), freed))
}

fn index(count: u32) -> usize {
    trimbench_core::units::index(count.into())
}

/// Reads in a closed loop that the controller limits: what is taken from it is missing in full.
struct Foreground {
    target: Virtual<Ssd>,
    rng: Rng,
    reads: u32,
}

impl Foreground {
    const QUEUE_DEPTH: u32 = 16;

    fn submit(&mut self) -> Result<()> {
        let half = CAPACITY_UNITS / 2;
        let read = BlockCommand::Read(units(half + self.rng.below(half), 1)?);
        self.reads = self.reads.wrapping_add(1) % (1 << 20);
        self.target.submit(Tag(self.reads), read).context("submit a read")
    }

    /// Reads until `end` says so; reads a second.
    fn read_until(&mut self, end: impl Fn(&Virtual<Ssd>) -> bool) -> Result<f64> {
        let begin = self.target.now();
        let (mut out, mut count) = (Vec::new(), 0_u64);
        while !end(&self.target) {
            self.target.reap(Instant::NEVER, &mut out);
            for completion in out.drain(..) {
                if completion.tag != TRIM {
                    count += 1;
                    self.submit()?;
                }
            }
        }
        Ok(count as f64 / (self.target.now() - begin).seconds())
    }

    fn read_for(&mut self, span: Nanos) -> Result<f64> {
        let until = self.target.now() + span;
        self.read_until(|target| target.now() >= until)
    }
}

const TRIM: Tag = Tag(u32::MAX);

/// A TRIM of so many times 64 MiB.
pub(super) fn background(size: u64) -> Result<Background> {
    let mapped_units = (size * 16_384).min(CAPACITY_UNITS / 2);
    let target = full(TrimMode::Background, COSTS)?;
    let share = target.model().config().trim.background_share.fraction();
    let mut foreground = Foreground { target, rng: Rng::new(size), reads: 0 };
    for _ in 0..Foreground::QUEUE_DEPTH {
        foreground.submit()?;
    }
    let window = Nanos::from_millis(500);
    foreground.read_for(window)?;
    let before_iops = foreground.read_for(window)?;
    let begin = foreground.target.now();
    let trim = BlockCommand::Discard(units(0, mapped_units)?);
    foreground.target.submit(TRIM, trim).context("submit a TRIM")?;
    let pending = |target: &Virtual<Ssd>| target.model().counters().trim_work_pending;
    let during_iops = foreground.read_until(|target| pending(target) == Nanos::ZERO)?;
    let settled = foreground.target.now() - begin;
    foreground.read_for(window)?;
    let after_iops = foreground.read_for(window)?;
    Ok(Background {
        ranges: 1,
        mapped_units,
        costs: COSTS,
        share,
        settled_ns: settled.0,
        before_iops,
        during_iops,
        after_iops,
    })
}

/// A TRIM of so many units.
pub(super) fn none(count: u64) -> Result<Alone> {
    let mut target = full(TrimMode::None, COSTS)?;
    let begin = target.now();
    target.submit(TRIM, BlockCommand::Discard(units(0, count)?)).context("submit a TRIM")?;
    let took = reap(&mut target, 1)[0].1 - begin;
    let host = target.model().config().host;
    Ok(Alone {
        units: count,
        costs: COSTS,
        controller_ns: host.command.0,
        latency_ns: host.latency.0,
        took_ns: took.0,
    })
}

/// Random writes beside a quarter that was trimmed in this mode; without a mode it was not. The
/// writes are so many times those of the short form.
pub(super) fn ignored(mode: Option<TrimMode>, times: u64) -> Result<Amplification> {
    let mut target = full(mode.unwrap_or(TrimMode::Queued), COSTS)?;
    let quarter = CAPACITY_UNITS / 4;
    if mode.is_some() {
        let trim = BlockCommand::Discard(units(0, quarter)?);
        target.submit(TRIM, trim).context("submit a TRIM")?;
        reap(&mut target, 1);
    }
    let freed_units = CAPACITY_UNITS - target.model_mut().mapped_units();
    let mut rng = Rng::new(7).split("writes");
    let mut write = |target: &mut Virtual<Ssd>, fills: u64| -> Result<()> {
        let mut out = Vec::new();
        for _ in 0..fills * CAPACITY_UNITS {
            let first = quarter + rng.below(CAPACITY_UNITS - quarter);
            let write = BlockCommand::write(units(first, 1)?);
            target.submit(Tag(0), write).context("submit a write")?;
            while target.statistics().outstanding >= 32 {
                target.reap(Instant::NEVER, &mut out);
                out.clear();
            }
        }
        Ok(())
    };
    write(&mut target, 6)?;
    let before = target.model().counters();
    write(&mut target, 2 * times)?;
    let waf = target.model().counters().waf_since(&before).context("nothing was written")?;
    let mode = mode.map_or("never trimmed".to_owned(), |mode| format!("{mode:?}").to_lowercase());
    Ok(Amplification { mode, freed_units, waf })
}
