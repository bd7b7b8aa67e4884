use trimbench_core::rng::Rng;
use trimbench_core::{Capabilities, ProvisionError, Virtual};
use trimbench_results::{Figure, Step};
use trimbench_trace::NoTraces;

use super::*;
use crate::postmark::{PostmarkPhasesStep, PostmarkStep, analyse};
use trimbench_core::Opened;
use trimbench_engine::testing::{KeptSteps, ToyFiles, close, figure, settings};
use trimbench_engine::{
    Findings, MethodDefinition as _, MethodResult, Preset, SessionContext, Slots,
};

/// What an unmount takes here.
const UNMOUNT_SPAN: Nanos = Nanos::from_millis(250);

/// Filesystems in memory; keeps what was wished for.
struct Shelf {
    capabilities: Capabilities,
    specs: Vec<FilesystemSpec>,
    mounted: Option<Virtual<ToyFiles>>,
}

impl Shelf {
    fn new(clock: Clock) -> Self {
        let capabilities = Capabilities { clock, ..ToyFiles::new().capabilities };
        Self { capabilities, specs: Vec::new(), mounted: None }
    }
}

impl Provisioner for Shelf {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn check(&self, _: &FilesystemSpec) -> Result<(), ProvisionError> {
        Ok(())
    }

    fn make(&mut self, spec: &FilesystemSpec) -> Result<(), ProvisionError> {
        assert!(self.mounted.is_none(), "the one before was unmounted");
        self.specs.push(spec.clone());
        let mut files = ToyFiles::new();
        if spec.discard == DiscardMode::Off {
            files.capabilities.discard = Support::None;
        }
        self.mounted = Some(Virtual::new(files));
        Ok(())
    }

    fn files(&mut self) -> &mut trimbench_core::Files<'_> {
        self.mounted.as_mut().unwrap()
    }

    fn unmount(&mut self) -> Result<Nanos, ProvisionError> {
        self.mounted.take().unwrap();
        Ok(UNMOUNT_SPAN)
    }
}

/// 40 files, 60 transactions, with this beside.
fn method(set: &[(&str, &str)]) -> Postmark {
    let mut all = settings(&[("number", "40"), ("transactions", "60")]);
    all.extend(settings(set));
    Postmark::resolve(Preset::Quick, &all).unwrap()
}

fn session(
    method: &Postmark,
    shelf: &mut Shelf,
    done: Vec<Step>,
) -> Result<MethodResult, MethodError> {
    let mut keeper = KeptSteps::default();
    let interrupt = keeper.interrupt.clone();
    let rng = &Rng::new(7);
    let context = SessionContext {
        rng,
        interrupt: &interrupt,
        monitor: &mut keeper,
        traces: &NoTraces,
        slots: &Slots::new(1, Bytes(0)),
        done,
    };
    trimbench_engine::method::run(method, Opened::Filesystems(shelf), context)
}

fn made(step: &Step) -> PostmarkMadeStep {
    step.read().unwrap()
}

fn seeds(found: &MethodResult) -> Vec<u64> {
    found.steps.iter().map(|step| made(step).seed).collect()
}

#[test]
fn variants_are_interleaved_each_on_a_filesystem_of_its_own() {
    let mut shelf = Shelf::new(Clock::Wall);
    let set = [("repetitions", "2"), ("mkfs-discard", "no"), ("settle", "3s")];
    let found = session(&method(&set), &mut shelf, Vec::new()).unwrap();
    let ids: Vec<&str> = found.steps.iter().map(|step| step.id.as_str()).collect();
    let expected = [
        "nodiscard-buffered-1",
        "discard-buffered-1",
        "nodiscard-unbuffered-1",
        "discard-unbuffered-1",
        "discard-unbuffered-2",
        "nodiscard-unbuffered-2",
        "discard-buffered-2",
        "nodiscard-buffered-2",
    ];
    assert_eq!(ids, expected);
    let online = [false, true, false, true, true, false, true, false];
    assert_eq!(shelf.specs.len(), 8);
    for ((spec, step), online) in shelf.specs.iter().zip(&found.steps).zip(online) {
        let discard = if online { DiscardMode::Online } else { DiscardMode::Off };
        let settle = Nanos::from_secs(3);
        let expected =
            FilesystemSpec { discard, mkfs_discard: false, settle, ..Default::default() };
        assert_eq!(*spec, expected);
        assert_eq!(step.kind, step.id[..step.id.len() - 2]);
        close(made(step).unmount_s, UNMOUNT_SPAN.seconds());
    }
    assert_eq!(seeds(&found), [42; 8]);
}

#[test]
fn one_arm_alone_can_be_had() {
    let set = [("mounts", "discard"), ("bufferings", "one"), ("buffering", "false")];
    let found = session(&method(&set), &mut Shelf::new(Clock::Wall), Vec::new()).unwrap();
    let kinds: Vec<&str> = found.steps.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(kinds, ["discard-unbuffered"; 3]);
    assert!(figure(&found.figures, "total-duration-discard-unbuffered").headline);
}

#[test]
fn repetitions_in_virtual_time_differ_as_declared_or_there_is_one() {
    let one_arm = [("mounts", "discard"), ("bufferings", "one")];
    let mut shelf = Shelf::new(Clock::Virtual);
    let found = session(&method(&one_arm), &mut shelf, Vec::new()).unwrap();
    assert_eq!(seeds(&found), [42, 43, 44]);
    let states: Vec<Option<u32>> = shelf.specs.iter().map(|spec| spec.start_state).collect();
    assert_eq!(states, [Some(1), Some(2), Some(3)]);
    let written = |index: usize| written(&found.steps[index]);
    assert_ne!(written(0), written(1), "another seed makes other files");

    let same = method(&[&one_arm[..], &[("vary", "no")]].concat());
    let found = session(&same, &mut Shelf::new(Clock::Virtual), Vec::new()).unwrap();
    assert_eq!(found.steps.len(), 1);
    assert_eq!(figure(&found.figures, "total-duration-discard-buffered").n, 1);
}

#[test]
fn drawn_seeds_are_one_for_a_repetition_and_the_same_when_it_goes_on() {
    let drawn = method(&[("vary", "drawn"), ("repetitions", "2"), ("bufferings", "one")]);
    let whole = session(&drawn, &mut Shelf::new(Clock::Virtual), Vec::new()).unwrap();
    let drawn_seeds = seeds(&whole);
    let [first, second] = [drawn_seeds[0], drawn_seeds[2]];
    assert_eq!(drawn_seeds, [first, first, second, second]);
    assert!(first != second && first != 42, "{first}, {second}");
    let resumed = session(&drawn, &mut Shelf::new(Clock::Wall), whole.steps[..1].to_vec()).unwrap();
    assert_eq!(seeds(&resumed), drawn_seeds);
}

#[test]
fn what_is_done_is_not_done_again() {
    let all = method(&[("repetitions", "1")]);
    let whole = session(&all, &mut Shelf::new(Clock::Wall), Vec::new()).unwrap();
    let mut shelf = Shelf::new(Clock::Wall);
    let resumed = session(&all, &mut shelf, whole.steps[..3].to_vec()).unwrap();
    assert_eq!(shelf.specs.len(), 1);
    assert_eq!(resumed.figures, whole.figures);
}

#[test]
fn a_device_without_discards_has_nothing_to_compare() {
    let mut shelf = Shelf::new(Clock::Wall);
    shelf.capabilities.discard = Support::None;
    let error = session(&method(&[]), &mut shelf, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("mounts=nodiscard"), "{error}");
    assert!(shelf.specs.is_empty());
    let found = session(&method(&[("mounts", "nodiscard")]), &mut shelf, Vec::new()).unwrap();
    assert_eq!(found.steps.len(), 6);
}

#[test]
fn a_terse_line_counts_with_the_seed_of_its_repetition() {
    let one_arm = [("mounts", "discard"), ("bufferings", "one"), ("repetitions", "2")];
    let method = method(&one_arm);
    let found = session(&method, &mut Shelf::new(Clock::Virtual), Vec::new()).unwrap();
    for step in &found.steps {
        let line = method.terse_1_51(step).unwrap();
        let printed: f64 = line.split(' ').next_back().unwrap().parse().unwrap();
        // A total below 1 s counts as 1 s.
        assert!((printed - written(step).0 as f64).abs() < 1.0, "{line}");
    }
}

#[test]
fn a_step_of_a_damaged_record_gives_a_terse_line_or_none() {
    let method = method(&[]);
    let mut step = took("discard", 1, 1.0);
    for phase in ["creation_s", "transactions_s", "deletion_s"] {
        step.metrics.insert(phase.to_owned(), 1e300);
    }
    assert!(method.terse_1_51(&step).is_some());
    step.parameters.insert("seed".to_owned(), 4_294_967_296.0);
    assert_eq!(method.terse_1_51(&step), None);
    step.parameters.insert("seed".to_owned(), 42.0);
    step.metrics.remove("deletion_s");
    assert_eq!(method.terse_1_51(&step), None);
}

/// Bytes that a step's files have.
fn written(step: &Step) -> Bytes {
    let PostmarkStep { phases, .. } = step.read().unwrap();
    phases.written_bytes
}

/// A step of this arm that took so long.
fn took(variant: &str, repetition: u64, seconds: f64) -> Step {
    let phases = PostmarkPhasesStep { total_s: seconds, ..Default::default() };
    let made = PostmarkMadeStep { repetition, ..Default::default() };
    let run = PostmarkStep { phases, made: Some(made), ..Default::default() };
    Step::of(format!("{variant}-{repetition}"), variant, &run)
}

/// The difference that these totals make, without and with discard.
fn difference(without: &[f64], with: &[f64]) -> Figure {
    let of = |variant: &'static str, spans: &[f64]| -> Vec<Step> {
        (1..).zip(spans).map(|(repetition, span)| took(variant, repetition, *span)).collect()
    };
    let mut steps = of("nodiscard-buffered", without);
    // In another order: pairs go by repetition.
    steps.extend(of("discard-buffered", with).into_iter().rev());
    let Findings { figures, .. } = analyse(&steps, &mut Rng::new(1));
    let found = figure(&figures, "total-duration-diff-buffered").clone();
    assert!(found.headline);
    found
}

#[test]
fn a_difference_is_that_of_the_means_and_its_interval_goes_by_pairs() {
    // Each pair differs by a factor of 2 to 2.2, the pairs among themselves by one of 10.
    let found = difference(&[1.0, 10.0, 4.0], &[2.0, 22.0, 8.4]);
    close(found.value, (32.4 / 15.0 - 1.0) * 100.0);
    assert_eq!(found.words().as_deref(), Some("differs"));
    // t(2) = 4.303: the mean of ln 2, ln 2.2, ln 2.1, and 4.303 times its standard error.
    let interval = found.interval.unwrap();
    let mean = (2.0_f64.ln() + 2.2_f64.ln() + 2.1_f64.ln()) / 3.0;
    let squares: f64 = [2.0_f64, 2.2, 2.1].iter().map(|it| (it.ln() - mean).powi(2)).sum();
    let half = 4.303 * (squares / 6.0).sqrt();
    close(interval.low, ((mean - half).exp() - 1.0) * 100.0);
    close(interval.high, ((mean + half).exp() - 1.0) * 100.0);
}

#[test]
fn a_difference_that_may_be_none_is_noise_and_few_repetitions_say_nothing() {
    let noise = difference(&[10.0, 11.0, 10.5], &[10.4, 10.6, 10.6]);
    assert_eq!(noise.words().as_deref(), Some("noise"));
    let few = difference(&[10.0, 10.0], &[20.0, 20.0]);
    assert_eq!((few.interval, few.words().as_deref()), (None, None));
    assert_eq!(few.caveats, ["too-few-points"]);
    close(few.value, 100.0);
}
