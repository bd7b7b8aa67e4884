//! Canaries: planted faults that a soak must find, each by another of its laws. One that lives on
//! shows that the soak is blind.

use trimbench_core::fault::FaultPlan;
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Instant, Nanos, Ppm};
use trimbench_ssd::{Overreach, Ssd, TableFault, VictimPolicy};

use super::scenario::{PIECE, Scenario, Size, Start};
use super::session::Law;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Canary {
    /// Each TRIM takes the unit behind its last one with it.
    TrimEatsNeighbour,
    /// Midway the tables disagree about one unit.
    TablesDisagree,
    /// Midway a unit is trimmed, but garbage collection still copies it.
    TrimmedIsCopied,
    /// Every command fails though none should.
    CommandsFail,
    /// The second run is a nanosecond slower at each TRIM.
    AnotherTime,
    /// The vectorised search takes the last of equal victims; the second run searches plainly.
    AnotherVictim,
}

impl Canary {
    pub(super) const ALL: [Self; 6] = [
        Self::TrimEatsNeighbour,
        Self::TablesDisagree,
        Self::TrimmedIsCopied,
        Self::CommandsFail,
        Self::AnotherTime,
        Self::AnotherVictim,
    ];

    /// The law that must find it.
    pub(super) fn law(self) -> Law {
        match self {
            Self::TrimEatsNeighbour => Law::Contents,
            Self::TablesDisagree | Self::TrimmedIsCopied => Law::Assertion,
            Self::CommandsFail => Law::Completion,
            Self::AnotherTime | Self::AnotherVictim => Law::Repetition,
        }
    }

    /// A drive in which it has something to break: the first that trims units, without other
    /// faults.
    pub(super) fn scenario(self, rng: &Rng, size: Size) -> Scenario {
        let fits = |it: &Scenario| {
            it.trims()
                && it.faults == FaultPlan::default()
                && it.unit_pieces() == 1
                && it.drive.trim.granularity.0 <= 4 * PIECE
                && (self != Self::AnotherVictim || Self::collects_emptiest(it))
        };
        let mut tries = (0_u32..).map(|number| rng.split(&format!("cage {number}")));
        let scenario = tries.find_map(|rng| Some(Scenario::draw(&rng, size)).filter(fits));
        let scenario = scenario.expect("one in some hundred fits, or in four");
        Scenario { load: scenario.load.leaving_the_end_alone(), ..scenario }
    }

    /// Whether the emptiest superblocks are victims, and often enough that some are equals: the
    /// drive is full with as little to spare as usual.
    fn collects_emptiest(it: &Scenario) -> bool {
        it.drive.gc.policy == VictimPolicy::Greedy
            && it.searches_vectorised()
            && it.load.start == Start::Fragmented
            && (Ppm(70_000)..=Ppm(200_000)).contains(&it.drive.over_provisioning)
    }

    /// Whether it shows only in a second run.
    pub(super) fn comes_again(self) -> bool {
        self == Self::AnotherTime
    }

    /// Whether it must show on drives of this size: among a few superblocks equals are rare.
    pub(super) fn shows_on(self, size: Size) -> bool {
        self != Self::AnotherVictim || size == Size::Small
    }

    /// Plants what is there from the start on.
    pub(super) fn plant_first(self, drive: &mut Ssd, faults: &mut FaultPlan) {
        match self {
            Self::TrimEatsNeighbour => {
                drive.plant_overreach(Overreach { before: Bytes(0), behind: Bytes(PIECE) });
            }
            Self::CommandsFail => faults.fail_from = Some(Instant::START),
            Self::AnotherTime => faults.freeze_on_discard = Nanos(1),
            Self::TablesDisagree | Self::TrimmedIsCopied | Self::AnotherVictim => {}
        }
    }

    /// Plants what comes later.
    pub(super) fn plant_midway(self, drive: &mut Ssd) {
        let fault = match self {
            Self::TablesDisagree => TableFault::WrongOwner,
            Self::TrimmedIsCopied => TableFault::TrimmedButValid,
            _ => return,
        };
        let units = drive.config().exported_units();
        // The load leaves it alone. Were it not there, nothing would be found.
        drive.plant_table_fault(units - 1, fault);
    }
}
