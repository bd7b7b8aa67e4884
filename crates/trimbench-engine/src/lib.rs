//! The engine: the interface of a method, and everything that methods share. It knows neither a
//! method by name nor the emulated SSD, a filesystem or Linux, and reads no clock.
//!
//! A [`MethodSession`] is one method on one target: it skips steps that are already measured, saves
//! new ones, and estimates the rest. [`Slots`] share jobs and memory between concurrent sessions. A
//! [`Runner`] drives a target with a load while observers watch.

mod answer_lateness;
pub mod area;
pub mod churn;
pub mod device_runner;
pub mod drain;
mod drive_heat;
pub mod method;
pub mod other_load;
pub mod own_pauses;
pub mod pattern;
pub mod phase;
pub mod quiet;
pub mod rounds;
pub mod runner;
pub mod search;
pub mod series;
pub mod settings;
mod slots;
pub mod stall_attribution;
pub mod steady;
pub mod tail;
#[cfg(any(test, feature = "testing"))]
#[allow(
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::new_without_default,
    reason = "doubles of unit tests"
)]
pub mod testing;
pub mod workload;
pub mod zones;

pub use answer_lateness::AnswerLatenessStep;
pub use area::{Area, DeviceArea, FileArea};
pub use churn::{Churn, ChurnFiles};
pub use device_runner::{DeviceRunner, Shape, unobserved};
pub use drain::{Discards, SCRATCH_LENGTH, Scratch};
pub use drive_heat::DriveHeatStep;
pub use method::{
    ASSUMED_RATE, Demand, DiscardWaits, Findings, KeepFailed, LiveFigures, Method,
    MethodDefinition, MethodError, MethodInfo, MethodResult, MethodSession, Misfit, Monitor,
    NEEDS_A_DEVICE, NEEDS_A_DIRECTORY, Preset, ResolvedMethod, SessionContext, Stage, StepKinds,
    TwinUse, check_fit, is_virtual, read_method, run,
};
pub use other_load::{NOTICED, OtherLoad, is_spoiled_by_others};
pub use own_pauses::OwnPauseStep;
pub use pattern::{Pattern, Zones};
pub use phase::live as live_of_phase;
pub use phase::{
    LatencySummary, Phase, PhaseLatencyStep, PhaseRunner, PhaseStep, Planned, WearStep,
};
pub use quiet::{LoadOfOthers, Quietness};
pub use rounds::{Load, LoadLength, RoundLength, RoundStep, Rounds, SteadyStep, WindowStep};
pub use runner::{
    HUNG_AFTER, Observer, RunError, Runner, Sample, Several, Single, Streams, UntilFailure,
};
pub use search::{Bracket, RateLength, RateSearch, first_confirmed};
pub use series::{PassSeries, PassStep, RateCurve, RateStep, SliceCurve};
pub use settings::{Span, UNIT};
pub use slots::{Permit, Slots};
pub use stall_attribution::{Slice, StallAttribution, StallLayer, attribute_stalls};
pub use steady::{Criterion, SteadyVerdict};
pub use tail::{LimitedTail, TAIL_BLOCKS, TailStep};
pub use workload::{
    Arrivals, ClosedLoop, FILL_DEPTH, FILL_PIECE, InOrder, InTurn, IssuePace, Issuing, OpenLoop,
    PacedScripts, RandomAccess, Script, SequentialWrite, SerialProbe, Spacing,
};
pub use zones::{ActiveZones, ZoneWrites};
