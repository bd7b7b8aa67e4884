//! The procedure: purge, precondition with the mix itself until it is steady, then rate by rate.

use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Caveat, Data, Device, LbaRange, Nanos, Ppm};
use trimbench_results::Step;
use trimbench_results::number::count;

use super::analysis::{is_good, is_steady};
use super::metrics::{RatePoint, points};
use super::options::LatencyUnderLoad;
use super::steps::{OfferedRateStep, ResponseTimesStep, SustainedStep};
use super::watch::{Class, Limited, SeenRate, TrimStream};
use trimbench_engine::settings::whole;
use trimbench_engine::{
    ASSUMED_RATE, Arrivals, Criterion, Demand, DeviceArea, DeviceRunner, Load, LoadLength,
    Method as _, MethodError, MethodSession, Misfit, OpenLoop, PhaseRunner, Planned, RandomAccess,
    RateCurve, RateLength, Several, first_confirmed,
};

/// The step that says what the drive sustains.
pub(super) const SUSTAINED: &str = "sustained";
/// The kind of the step of a rate.
pub(super) const RATE: &str = "rate";
/// That of a rate that is run for longer.
pub(super) const CONFIRM: &str = "confirm";
/// A lowest rate beyond this many times what the drive sustains is not worth a try.
const BEYOND: f64 = 1.2;
/// With more outstanding than arrive in this part of a rate, it ends.
const BACKLOG: f64 = 0.1;
/// But not with fewer than this, and always with more than that: each takes memory.
const OUTSTANDING: (u64, u64) = (1_000, 1_000_000);

/// A device under the method.
struct Loaded<'a, 's> {
    method: &'a LatencyUnderLoad,
    phases: PhaseRunner<'a, 's>,
    /// What is read and written, from the start of the device.
    used: Bytes,
    /// Where TRIMs go, behind that; from where addresses are counted.
    zone: Bytes,
    /// Bytes of a TRIM.
    chunk: Bytes,
}

pub(super) fn run(
    method: &LatencyUnderLoad,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let runner = DeviceRunner::new(device, session.interrupt);
    let shape = runner.shape;
    let span = method.span.on(shape.size, shape.logical_block);
    let chunk = method.chunk_on(&shape);
    let most = method.trim_rates.iter().copied().max().unwrap_or(0);
    // Whole units of the TRIM, at the end of what is in use.
    let zone = method.trimmed_zone(&shape, most).0;
    let unit = shape.granularity.0;
    let start = (span - shape.origin).saturating_sub(Bytes(zone)).0 / unit * unit;
    let used = match most {
        0 => span,
        _ => whole(shape.origin + Bytes(start), shape.logical_block),
    };
    let Demand { written, time } = method.demand(shape.size, ASSUMED_RATE);
    let planned = Planned { steps: method.points() + 2, bytes: written.0 };
    let phases = PhaseRunner::new(runner, session, planned);
    let purge = phases.can_purge().then(|| phases.purge_id("purge"));
    let rates = points(method).map(RatePoint::id);
    let confirmed = points(method).filter(|_| method.confirm_time.is_some());
    let confirmed = confirmed.map(RatePoint::confirmation);
    let ids = purge.into_iter().chain([SUSTAINED.to_owned()]).chain(rates).chain(confirmed);
    phases.session.plan(ids, time);
    let mut loaded = Loaded { method, phases, used, zone: Bytes(start), chunk };
    loaded.measure(span)?;
    let runner = loaded.phases.runner;
    let part = runner.part_with_spare(method.span);
    let trace_hash = runner.trace_hash();
    session.hash(trace_hash);
    session.caveat(part);
    if method.data != Data::Random {
        session.caveat(Caveat::CompressibleData);
    }
    Ok(())
}

impl Loaded<'_, '_> {
    /// Everything that is not measured yet. What was measured before a resume ends a curve too.
    fn measure(&mut self, span: Bytes) -> Result<(), MethodError> {
        let mut sustained = None;
        for &trim_rate in &self.method.trim_rates {
            let mut rates = self.method.rates.clone();
            if rates.is_empty() {
                continue;
            }
            let known = match sustained {
                Some(known) => known,
                None if self.all_known() => break,
                None => *sustained.insert(self.precondition(span)?),
            };
            rates.sort_by(|a, b| a.per_second(known).total_cmp(&b.per_second(known)));
            let (lowest, beside) = (rates[0].per_second(known), self.method.reads);
            if lowest + beside as f64 > known * BEYOND {
                let beside = match beside {
                    0 => String::new(),
                    reads => format!(" with `reads={reads}` beside it"),
                };
                let reason = format!(
                    "its lowest rate, {}{beside}, is beyond what the drive sustains, {} accesses a \
                     second of this mix; give lower `rates`, or shares as `50%`, or fewer `reads`",
                    count(rounded(lowest)),
                    count(rounded(known))
                );
                return Err(MethodError::Unfit { reason: Misfit(reason) });
            }
            for rate in rates {
                let point = RatePoint { rate, trim_rate };
                if !self.phases.session.is_done(&point.id()) {
                    let (per_second, length) = (rate.per_second(known), RateLength::Tried);
                    let step = self.rate(point, per_second, length)?;
                    self.phases.keep(step)?;
                }
                let step = self.phases.session.step(&point.id()).expect("it was kept");
                if !step.read::<OfferedRateStep>().is_ok_and(|rate| rate.kept_up) {
                    break;
                }
            }
            while let Some(point) = self.to_confirm(trim_rate) {
                let per_second = point.rate.per_second(known);
                let step = self.rate(point, per_second, RateLength::Confirmed)?;
                self.phases.keep(step)?;
            }
        }
        Ok(())
    }

    /// The highest rate beside so many TRIMs that is good and not confirmed yet; `None` once one
    /// is, or where all were tried.
    fn to_confirm(&self, trim_rate: u64) -> Option<RatePoint> {
        self.method.confirm_time?;
        let rate = |id: String| self.phases.session.step(&id)?.read::<OfferedRateStep>().ok();
        let of_curve = points(self.method).filter(|point| point.trim_rate == trim_rate);
        let mut rates: Vec<(RatePoint, OfferedRateStep)> =
            of_curve.filter_map(|point| Some((point, rate(point.id())?))).collect();
        rates.sort_by(|a, b| a.1.offered_per_s.total_cmp(&b.1.offered_per_s));
        let good = rates.iter().take_while(|(_, rate)| is_good(self.method, rate)).count();
        let is_steady = |rate: &OfferedRateStep| is_steady(self.method, rate);
        let steady = rates[..good].iter().rev().filter(|(_, rate)| is_steady(rate));
        first_confirmed(steady.map(|it| it.0), |point: RatePoint| {
            let confirmed = self.phases.session.step(&point.confirmation()).ok_or(point)?;
            Ok(confirmed.read().is_ok_and(|rate| is_steady(&rate)))
        })
        .err()
    }

    /// Whether a resume has nothing left to measure.
    fn all_known(&self) -> bool {
        points(self.method).all(|point| self.phases.session.is_done(&point.id()))
            && self.method.trim_rates.iter().all(|rate| self.to_confirm(*rate).is_none())
    }

    /// Purges the drive, writes it in order, and then with the mix itself until that is steady: how
    /// many accesses a second it sustains. A resumed session does the rounds of the first.
    fn precondition(&mut self, span: Bytes) -> Result<f64, MethodError> {
        let Self { method, phases, .. } = self;
        if phases.can_purge() {
            if phases.session.is_done(&phases.purge_id("purge")) {
                phases.runner.purge(span)?;
            } else {
                phases.purge("purge", span)?;
            }
        }
        let shape = phases.runner.shape;
        let mut left = whole(Bytes(method.precondition.of(span.0)), shape.logical_block);
        while left.0 > 0 {
            phases.write_in_order("precondition", shape.first(span.min(left), method.data))?;
            left = left.saturating_sub(span);
        }
        phases.runner.flush("flush")?;
        let known = phases.session.step(SUSTAINED);
        let known = known.and_then(|step| step.read::<SustainedStep>().ok());
        let rounds = known.map(|known| known.rounds);
        let (bytes, time) = (method.round(self.used), Nanos::ZERO);
        let load = Load {
            span: self.used,
            access: method.access,
            queue_depth: method.queue_depth,
            read_share: method.read_share,
            data: method.data,
            pattern: method.pattern,
        };
        let (mut iops, mut is_steady) = (Vec::new(), false);
        for number in 1..=rounds.unwrap_or(method.rounds_max.into()) {
            let id = format!("precondition-round-{number}");
            let mut curve = RateCurve::new(bytes.pieces(method.access), phases.runner.now());
            let phase = load.once(phases, &id, LoadLength { time, bytes }, &mut curve)?;
            iops.extend(phase.rate());
            is_steady = Criterion::PTS.judge_last(&iops).is_some_and(|verdict| verdict.steady);
            if rounds.is_none() && is_steady {
                break;
            }
        }
        if let Some(known) = known {
            return Ok(known.iops);
        }
        let window = &iops[iops.len().saturating_sub(Criterion::PTS.window)..];
        let mean = window.iter().sum::<f64>() / window.len().max(1) as f64;
        let sustained = SustainedStep { rounds: iops.len() as u64, iops: mean };
        let mut step = Step::of(SUSTAINED, SUSTAINED, &sustained);
        step.caveat((!is_steady).then_some(Caveat::NoSteadyState));
        self.phases.keep(step)?;
        Ok(mean)
    }

    /// One rate: accesses that arrive at random, `per_second` of them, for as long as it warms up
    /// and counts.
    fn rate(
        &mut self,
        point: RatePoint,
        per_second: f64,
        length: RateLength,
    ) -> Result<Step, MethodError> {
        let method = self.method;
        let tried = method.length_at(per_second);
        let (id, kind, length) = match length {
            RateLength::Tried => (point.id(), RATE, tried),
            RateLength::Confirmed => {
                let length = method.confirmed_at(per_second).unwrap_or(tried);
                (point.confirmation(), CONFIRM, length)
            }
        };
        let trims = self.fill_zone(point)?;
        let Self { phases, used, .. } = self;
        let shape = phases.runner.shape;
        let warm_up = method.warm_up_at(per_second);
        let start = phases.runner.now();
        let times = start..start + warm_up + length;
        let area = shape.first(*used, method.data);
        let open = |name: &str, read_share: Ppm, per_second: f64| {
            let rng = phases.rng(&id).split(name);
            let access = RandomAccess::new(area, method.access, read_share, rng);
            let gap = Nanos(rounded(1e9 / per_second).max(1));
            OpenLoop::new(access.by(method.pattern), Arrivals::Poisson, gap, times.clone())
        };
        let mut load: OpenLoop<DeviceArea> = open("load", method.read_share, per_second);
        let mut reads = open("reads", Ppm::ONE, method.reads.max(1) as f64);
        if method.reads == 0 {
            reads.end();
        }
        let rng = phases.rng(&id).split("trims");
        let mut trims = TrimStream::new(trims, point.trim_rate, times.clone(), rng);
        let all = per_second + method.reads as f64;
        let arrivals = all * (warm_up + length).seconds();
        let most = rounded(arrivals * BACKLOG).clamp(OUTSTANDING.0, OUTSTANDING.1);
        let streams = Several(vec![&mut trims, &mut load, &mut reads]);
        let mut streams = Limited::new(streams, most, method.places);
        let mut seen = SeenRate::new(start + warm_up, length);
        let phase = phases.run(&id, &mut streams, &mut seen)?;
        let keeps_up = !streams.has_overflowed && seen.keeps_up(all, method.places.is_some());
        let [read, write, trim] =
            Class::ALL.map(|class| keeps_up.then(|| seen.responses(class)).flatten().unzip());
        let values = OfferedRateStep {
            offered_per_s: all,
            offered_reads_per_s: self.reads_of(per_second),
            trims_per_s: point.trim_rate,
            trim_bytes: (point.trim_rate > 0).then_some(self.chunk),
            kept_up: keeps_up,
            achieved_per_s: if keeps_up { Some(seen.achieved()) } else { phase.rate() },
            served: phase.work(),
            trim_latency_ns_max: phase.latencies().trim_latency.map(|it| it.ns_max),
            read: read.0,
            write: write.0,
            trim: trim.0,
        };
        let mut step = Step::of(id, kind, &values);
        step.caveat(phase.other_load);
        step.store(&ResponseTimesStep { read: read.1, write: write.1, trim: trim.1 });
        Ok(step)
    }

    fn reads_of(&self, per_second: f64) -> f64 {
        per_second * self.method.read_share.fraction() + self.method.reads as f64
    }

    /// Writes what the TRIMs of a rate will discard, and says what each does, in random order.
    fn fill_zone(&mut self, point: RatePoint) -> Result<Vec<LbaRange>, MethodError> {
        let count = self.method.trims(point.trim_rate);
        if count == 0 {
            return Ok(Vec::new());
        }
        let Self { phases, zone, chunk, .. } = self;
        let shape = phases.runner.shape;
        let area = shape.area(*zone, Bytes(count * chunk.0));
        phases.runner.fill(&point.id(), area)?;
        let starts = (0..count).map(|index| *zone + Bytes(index * chunk.0));
        let mut ranges: Vec<LbaRange> = starts.map(|start| shape.range(start, *chunk)).collect();
        phases.rng(&point.id()).split("order").shuffle(&mut ranges);
        Ok(ranges)
    }
}
