//! The procedure: purge, precondition, rounds until steady, and again with ever more trimmed.

use trimbench_core::{Bytes, Caveat, Data, Device, Ppm};
use trimbench_results::Step;

use super::analysis::{DRIFT_MAX, SETTLE, drift};
use super::options::SteadyState;
use super::steps::SteadyShareStep;
use trimbench_engine::settings::{whole, whole_percent};
use trimbench_engine::{
    ASSUMED_RATE, DeviceRunner, Load, MethodError, MethodSession, PhaseRunner, Planned, Rounds,
    Shape, SteadyStep, UNIT, WearStep,
};

pub(super) fn run(
    method: &SteadyState,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let runner = DeviceRunner::new(device, session.interrupt);
    let shape = runner.shape;
    let span = method.span.on(shape.size, shape.logical_block);
    let rounds = method.rounds_total();
    let rounded = method.round_assumed(span, ASSUMED_RATE).saturating_mul(rounds);
    let bytes = method.precondition.of(span.0).saturating_add(rounded);
    let settling = u64::from(method.settle_rounds) * method.trimmed_shares.len() as u64;
    let settled = method.drive_write(span).map_or(0, |it| it.bytes.0.saturating_mul(settling));
    let bytes = bytes.saturating_add(settled);
    let rounds = rounds + settling;
    let steps = trimbench_core::units::index(rounds) + method.trimmed_shares.len() + 1;
    let mut phases = PhaseRunner::new(runner, session, Planned { steps, bytes });
    // Without discards there may be no purge; preconditioning alone then makes the state.
    if phases.can_purge() {
        phases.purge("purge", span)?;
    }
    precondition(method, &mut phases, span)?;
    phases.runner.rest(method.rest)?;
    let mut rounds = Rounds::default();
    // What is left alone grows from the end of the span.
    let mut used = span;
    for share in &method.trimmed_shares {
        let percent = whole_percent(*share).expect("checked when it was read");
        let rest = kept_of(span, *share, &shape).min(used);
        if rest < used {
            phases.trim(&format!("trim-{percent}"), rest, used)?;
            phases.runner.rest(method.rest)?;
        }
        used = rest;
        let (load, length) = (method.load(used), method.round(used));
        let accessed = SteadyShareStep { trimmed_percent: percent, used_bytes: used };
        let marked = |id: String, kind: &str| Step::of(id, kind, &accessed);
        let taken = rounds.until_steady(&mut phases, &load, length, |number| {
            marked(format!("trimmed-{percent}-round-{number}"), "round")
        })?;
        let spared = method.rounds_max - taken;
        phases.forgo(spared as usize, method.round_assumed(used, ASSUMED_RATE) * u64::from(spared));
        let last = format!("trimmed-{percent}-round-{taken}");
        let mut spared = method.settle_rounds;
        if phases.session.step(&last).is_some_and(is_countable) {
            spared -= settle(method, &mut phases, &mut rounds, &load, |number| {
                marked(format!("trimmed-{percent}-settle-{number}"), SETTLE)
            })?;
        }
        let each = method.drive_write(used).map_or(0, |length| length.bytes.0);
        phases.forgo(spared as usize, each.saturating_mul(spared.into()));
        for number in 1..=if *share == Ppm(0) { method.ageing_rounds } else { 0 } {
            let mut step = marked(format!("ageing-round-{number}"), "ageing");
            step.store(&SteadyStep { round: taken + number, window: None });
            rounds.round(&mut phases, &mut step, &load, length.each)?;
            phases.keep(step)?;
        }
    }
    let runner = phases.runner;
    let part = runner.part_with_spare(method.span);
    let trace_hash = runner.trace_hash();
    session.hash(trace_hash);
    session.caveat(part);
    if method.data != Data::Random {
        session.caveat(Caveat::CompressibleData);
    }
    Ok(())
}

/// Rounds of a drive write each, until the write amplification changes no more or there are too
/// many. Each is kept as the step that `new_step` makes of its number, from 1 on. Returns the
/// rounds that it took.
fn settle(
    method: &SteadyState,
    phases: &mut PhaseRunner<'_, '_>,
    rounds: &mut Rounds,
    load: &Load,
    new_step: impl Fn(u32) -> Step,
) -> Result<u32, MethodError> {
    let Some(length) = method.drive_write(load.span) else { return Ok(0) };
    let mut before = None;
    for number in 1..=method.settle_rounds {
        let mut step = new_step(number);
        rounds.round(phases, &mut step, load, length)?;
        let wear = step.read::<WearStep>().ok();
        let amplification = wear.map(|wear| wear.write_amplification_ratio);
        phases.keep(step)?;
        let drift = before.zip(amplification).map(|(before, now)| drift(before, now));
        if drift.is_some_and(|drift| drift.abs() <= DRIFT_MAX) {
            return Ok(number);
        }
        before = amplification;
    }
    Ok(method.settle_rounds)
}

/// Whether the round ended a steady window of a drive that counts what it programs.
fn is_countable(round: &Step) -> bool {
    let window = round.read::<SteadyStep>().ok().and_then(|round| round.window);
    window.is_some_and(|window| window.steady) && round.read::<WearStep>().is_ok()
}

/// What is left of the span when a share is trimmed: up to a whole unit of the device's TRIM, so
/// that all that is named in it is freed.
///
/// Where units do not begin at multiples of 4 KiB, as all accesses must, the first of those that
/// are trimmed is cut.
pub(super) fn kept_of(span: Bytes, share: Ppm, shape: &Shape) -> Bytes {
    let (kept, origin) = (span.0 - share.of(span.0), shape.origin.0);
    let whole = kept.saturating_sub(origin).next_multiple_of(shape.granularity.0) + origin;
    Bytes(whole.next_multiple_of(UNIT)).min(span)
}

/// Workload-independent preconditioning: the span in order, as often as asked for.
fn precondition(
    method: &SteadyState,
    phases: &mut PhaseRunner<'_, '_>,
    span: Bytes,
) -> Result<(), MethodError> {
    let shape = phases.runner.shape;
    let mut left = whole(Bytes(method.precondition.of(span.0)), shape.logical_block);
    let mut number = 0;
    while left.0 > 0 {
        number += 1;
        let id = format!("precondition-{number}");
        let phase = phases.write_in_order(&id, shape.first(span.min(left), method.data))?;
        left = left.saturating_sub(span);
        phases.keep_phase(&id, "precondition", &phase)?;
    }
    phases.runner.flush("flush")
}
