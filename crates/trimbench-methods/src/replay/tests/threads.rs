//! Passes on emulated drives, side by side and one after the other.

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::{Capabilities, Drives, Ppm};
use trimbench_ssd::SsdConfig;
use trimbench_trace::NoTraces;

use super::*;
use trimbench_core::Device;
use trimbench_engine::testing::{assert_defined, figure, small_tlc};
use trimbench_engine::{MethodDefinition as _, MethodResult, RunError, SessionContext, Slots};

/// Drives of 64 MiB.
struct Stable {
    config: SsdConfig,
    capabilities: Capabilities,
    at_once: usize,
    faults: FaultPlan,
}

impl Stable {
    fn of(at_once: usize) -> Self {
        let config = small_tlc(Bytes::mib(64), Ppm(80_000));
        let capabilities = config.capabilities();
        Self { config, capabilities, at_once, faults: FaultPlan::default() }
    }
}

impl Drives for Stable {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Bytes {
        Bytes(1)
    }

    fn make(&self) -> Box<dyn Device> {
        let mut ssd = self.config.clone().build().unwrap();
        ssd.precondition_sequential(Bytes(0), self.config.capacity);
        Box::new(Virtual::new(Faulty::new(ssd, self.faults)))
    }
}

fn on(
    method: &Replay,
    stable: &Stable,
    keeper: &mut KeptSteps,
    traces: &dyn Traces,
) -> Result<MethodResult, MethodError> {
    let (rng, interrupt) = (Rng::new(7), keeper.interrupt.clone());
    let done = Vec::new();
    let slots = Slots::new(stable.at_once, Bytes::gib(1));
    let _own = slots.take(Bytes(1));
    let (rng, interrupt, slots) = (&rng, &interrupt, &slots);
    let context = SessionContext { rng, interrupt, monitor: keeper, traces, slots, done };
    trimbench_engine::method::run(method, Opened::Drives(stable), context)
}

fn generated(set: &[(&str, &str)]) -> Replay {
    let own = [("window", "200"), ("span", "all")];
    Replay::resolve(Preset::Quick, &settings(&[&own, set].concat())).unwrap()
}

#[test]
fn passes_side_by_side_find_what_they_find_one_after_the_other() {
    let method = generated(&[]);
    let runs = [1, 2, 4].map(|at_once| {
        let mut keeper = KeptSteps::default();
        let found = on(&method, &Stable::of(at_once), &mut keeper, &NoTraces).unwrap();
        assert_eq!(keeper.steps, found.steps, "all are kept, in the order of the plan");
        found
    });
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
    let ids: Vec<&str> = runs[0].steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["trace", "qd1-kept", "qd1-stripped", "qd32-kept", "qd32-stripped"]);
    assert_defined(&method.metrics(), &runs[0].figures);
}

#[test]
fn trims_of_the_generated_trace_lower_the_write_amplification() {
    let mut keeper = KeptSteps::default();
    let found = on(&generated(&[]), &Stable::of(2), &mut keeper, &NoTraces).unwrap();
    let value = |id: &str| figure(&found.figures, id).value;
    for depth in ["qd1", "qd32"] {
        let with = value(&format!("write-amplification-{depth}-kept"));
        let without = value(&format!("write-amplification-{depth}-stripped"));
        assert!(with < 0.8 * without, "{depth}: {with} against {without}");
        assert!(value(&format!("gain-{depth}-kept")) > 1.3, "{depth}");
        assert!(value(&format!("gain-max-{depth}-kept")) > value(&format!("gain-{depth}-kept")));
    }
    let step = found.steps.iter().find(|step| step.id == "qd32-kept").unwrap();
    let pass: ReplayPassStep = step.read().unwrap();
    let curve = pass.meter.windows.write_amplification.unwrap().y;
    assert!(curve.iter().all(|ratio| ratio.is_some_and(|ratio| ratio >= 1.0)), "{curve:?}");
    assert!(figure(&found.figures, "gain-qd32-kept").headline);
}

#[test]
fn only_passes_before_one_that_fails_are_kept_and_none_behind_it_is_begun() {
    // Opened for the look, then for the passes without TRIMs first: the first of these breaks off.
    let shelf = Shelf { broken: &[1], ..Shelf::of(mixed()) };
    let mut keeper = KeptSteps::default();
    let failed = on(&replay(&[]), &Stable::of(1), &mut keeper, &shelf).unwrap_err();
    assert!(matches!(failed, MethodError::Trace(_)), "{failed}");
    assert_eq!(keeper.kept(), ["trace", "qd1-kept"]);
    assert_eq!(shelf.opened.load(Ordering::Relaxed), 3, "for the look and two passes");
}

#[test]
fn a_drive_that_fails_ends_the_session_with_its_reason() {
    let from = Some(Instant::START + Nanos::from_millis(1_100));
    let faults = FaultPlan { fail_from: from, ..FaultPlan::default() };
    let stable = Stable { faults, ..Stable::of(2) };
    let mut keeper = KeptSteps::default();
    let failed = on(&generated(&[]), &stable, &mut keeper, &NoTraces).unwrap_err();
    assert!(
        matches!(failed, MethodError::Broken { ref step, .. } if step == "qd1-kept"),
        "{failed}"
    );
    assert_eq!(keeper.kept(), ["trace"]);
}

#[test]
fn the_wish_to_stop_ends_all_passes() {
    for at_once in [1, 2] {
        let mut keeper = KeptSteps::stopping_after(1);
        let method = generated(&[]);
        let ended = on(&method, &Stable::of(at_once), &mut keeper, &NoTraces).unwrap_err();
        assert!(matches!(ended, MethodError::Run(RunError::Interrupted)), "{ended}");
        assert_eq!(keeper.kept(), ["trace"]);
    }
}

#[test]
fn a_drive_that_takes_no_trims_is_replayed_without() {
    let capabilities = Capabilities {
        discard: trimbench_core::Support::None,
        ..small_tlc(Bytes::mib(64), Ppm(80_000)).capabilities()
    };
    let reason = generated(&[]).fits(&capabilities).unwrap_err().to_string();
    assert!(reason.contains("passes=stripped"), "{reason}");
    assert_eq!(generated(&[("passes", "stripped")]).fits(&capabilities), Ok(()));
}
