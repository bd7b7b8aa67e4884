//! The run record, all statistics over it, and the rules of validity.
//!
//! A run is one [`RunRecord`]: what was planned, what was measured, what the figures are and what
//! limits them. It is written at the end of every session ([`KeptStep`] keeps single steps before
//! that), and read again by reports, comparisons and resumed runs. [`LatencyHistogram`] counts
//! latencies, [`statistics`] turns points into figures with intervals, [`Limit`] judges figures
//! against stated limits.
//!
//! [`chart`] has charts as data. This crate reads no clock, no file and no environment: bytes in,
//! bytes out. Nothing is drawn or laid out here; that is `trimbench-report`.

pub mod advice;
pub mod cards;
pub mod chart;
pub mod compare;
pub mod drives;
pub mod harm;
pub mod histogram;
pub mod limits;
pub mod metric;
pub mod number;
pub mod order;
pub mod record;
pub mod role;
pub mod statistics;
pub mod step;
#[cfg(test)]
mod testing;
pub mod verdict;

pub use advice::{Action, Advice, Reason, advise};
pub use chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession, Mark};
pub use compare::{ChangeLimit, Comparison, Effect, MetricChange, Pair, compare};
pub use harm::{Harm, HarmStep};
pub use histogram::{HistogramError, LatencyHistogram, Quantile};
pub use limits::{
    Limit, LimitError, LimitOutcome, VerdictLimit, VerdictLimitError, VerdictOutcome,
};
pub use metric::{Coordinates, Direction, Metric, MetricAxis};
pub use order::{DriveOrder, OrderError};
pub use record::{
    AdviceCard, CardLine, CardReason, Figure, Interval, KeptStep, LineFlaw, NOT_BEGUN,
    NOT_FINISHED, Outcome, PlannedSession, Program, Provenance, RecordError, RejectedLine,
    RunRecord, SCHEMA, Salvaged, Series, Session, Step, StepOrigin, TargetRecord, sha256,
};
pub use role::Role;
pub use statistics::{Bootstrap, Line};
pub use step::{
    DeletionDiscardsStep, DeletionStep, DeviceDiscardsStep, PercentilesStep, StepField, StepLacks,
    StepOf, StepPlace, StepRow, StepTable,
};
pub use verdict::Verdict;
