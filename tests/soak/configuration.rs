//! One configuration: a tiny drive that is watched at every step, then a long run, each of them
//! twice.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use trimbench_core::rng::Rng;
use trimbench_core::trace_hash::TraceHash;

use super::canary::Canary;
use super::oracle::{Exact, Nobody, Oracle, Versions};
use super::scenario::{Scenario, Size};
use super::session::{self, Law, Outcome, Plan, Progress, Stop};
use super::tally::SoakTally;

/// The names of runs.
const TINY: &str = "tiny";
const LONG: &str = "long";
const SECOND: &str = "second";
/// Commands of the run that is watched at every step.
const TINY_COMMANDS: u64 = 2_000;

/// What came of a configuration.
#[derive(Clone, Debug)]
pub(super) struct Done {
    /// Of the first of each two runs, both sizes together.
    pub(super) tally: SoakTally,
    pub(super) hash: u64,
    /// Victims of the long run were searched for by many superblocks at once, of the second one
    /// plainly.
    pub(super) searched_both_ways: bool,
}

/// What was found, and all that is needed to find it again.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) law: Law,
    pub(super) what: String,
    /// Which of the four runs.
    pub(super) run: &'static str,
    pub(super) size: Size,
    /// The commands that had been submitted, and those after which everything held.
    pub(super) commands: u64,
    pub(super) checked: u64,
    pub(super) scenario: Box<Scenario>,
}

/// Why a configuration did not come to its end.
#[derive(Clone, Debug)]
pub(super) enum Broken {
    Violation(Violation),
    Interrupted,
}

/// Runs configuration `number` of a seed.
pub(super) fn run(seed: u64, number: u64, commands: u64) -> Result<Done, Broken> {
    let rng = configuration_rng(seed, number);
    let (tiny, small) = (Scenario::draw(&rng, Size::Tiny), Scenario::draw(&rng, Size::Small));
    let closely = twice(&tiny, &rng, TINY_COMMANDS, None)?;
    let long = twice(&small, &rng, commands, None)?;
    let mut hash = TraceHash::default();
    hash.word(closely.hash);
    hash.word(long.hash);
    let searched_both_ways = small.searches_vectorised() && long.tally.collected_units > 0;
    let tally = closely.tally.plus(&long.tally);
    Ok(Done { tally, hash: hash.value(), searched_both_ways })
}

/// Where in a long run the violation shows first, if everything is checked from the last good walk
/// on: commands, and what is violated then.
pub(super) fn narrow_down(seed: u64, number: u64, violation: &Violation) -> Option<Violation> {
    if violation.run != LONG {
        return None;
    }
    let rng = configuration_rng(seed, number);
    let plan = Plan {
        closely_from: violation.checked,
        ..plan(&violation.scenario, violation.commands, None)
    };
    match guarded::<Versions>(&violation.scenario, &rng, &plan, violation.run) {
        Err(Broken::Violation(narrower)) => Some(narrower),
        _ => None,
    }
}

/// What a canary dies of: the first violation of a run that has it.
pub(super) fn plant(
    seed: u64,
    canary: Canary,
    (size, commands): (Size, u64),
) -> Result<Outcome, Broken> {
    let rng = Rng::new(seed).split("canaries");
    twice(&canary.scenario(&rng, size), &rng, commands, Some(canary))
}

fn configuration_rng(seed: u64, number: u64) -> Rng {
    Rng::new(seed).split(&format!("configuration {number}"))
}

fn plan(scenario: &Scenario, commands: u64, canary: Option<Canary>) -> Plan {
    let walk_every = session::walk_interval(scenario);
    let closely_from = if scenario.size == Size::Tiny { 0 } else { u64::MAX };
    Plan { commands, walk_every, closely_from, plainly: false, canary }
}

/// Runs it watched, and again unwatched: the same must happen. The second run keeps the mapping up
/// to date at every command, where the first one defers that, and searches for victims plainly.
fn twice(
    scenario: &Scenario,
    rng: &Rng,
    commands: u64,
    canary: Option<Canary>,
) -> Result<Outcome, Broken> {
    let plan = plan(scenario, commands, canary);
    let first = Plan { canary: canary.filter(|canary| !canary.comes_again()), ..plan };
    let outcome = match scenario.size {
        Size::Tiny => guarded::<Exact>(scenario, rng, &first, TINY),
        Size::Small => guarded::<Versions>(scenario, rng, &first, LONG),
    }?;
    let second = Plan { plainly: true, ..plan };
    let again = guarded::<Nobody>(scenario, rng, &second, SECOND)?;
    if outcome.hash == again.hash {
        return Ok(outcome);
    }
    Err(Broken::Violation(Violation {
        law: Law::Repetition,
        what: format!("hash {:016x} at first and {:016x} again", outcome.hash, again.hash),
        run: SECOND,
        size: scenario.size,
        commands,
        checked: 0,
        scenario: Box::new(scenario.clone()),
    }))
}

/// A run whose panic is a violation.
fn guarded<O: Oracle>(
    scenario: &Scenario,
    rng: &Rng,
    plan: &Plan,
    run: &'static str,
) -> Result<Outcome, Broken> {
    let progress = Progress::default();
    let work = || session::run::<O>(scenario, rng, plan, &progress);
    let (law, what) = match quietly(work) {
        Ok(Ok(outcome)) => return Ok(outcome),
        Ok(Err(Stop::Interrupted)) => return Err(Broken::Interrupted),
        Ok(Err(Stop::Violation { law, what })) => (law, what),
        Err(panic) => (Law::Assertion, panic),
    };
    Err(Broken::Violation(Violation {
        law,
        what,
        run,
        size: scenario.size,
        commands: progress.commands.get(),
        checked: progress.checked.get(),
        scenario: Box::new(scenario.clone()),
    }))
}

thread_local! {
    /// What the panic on this thread said, while one is expected.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does something that may panic; what the panic said then. Nothing is printed.
fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let expected = SAID
                .with_borrow_mut(|said| said.as_mut().map(|said| *said = text_of(panic)).is_some());
            if !expected {
                others(panic);
            }
        }));
    });
    SAID.set(Some(String::new()));
    // Nothing of what is left behind by a panic is used again.
    let done = catch_unwind(AssertUnwindSafe(work));
    let said = SAID.take().unwrap_or_default();
    done.map_err(|_| said)
}

fn text_of(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    match panic.location() {
        Some(place) => format!("{text} ({}:{})", place.file(), place.line()),
        None => text,
    }
}
