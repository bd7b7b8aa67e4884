//! The program without its command line: from options to a plan, from a plan to the record of a
//! run. It prints nothing and never exits: whatever is to be said is a value or goes to a
//! [`RunMonitor`], and an error is a [`Failure`].
//!
//! ```text
//! let plan = Plan::new(&PlanOptions { targets, ..PlanOptions::default() })?;
//! plan.check_traces()?;
//! let store = Store::create_below(Path::new(RUNS))?;      // or none: the record is in memory
//! let mut run = OpenRun::new(plan, caller, Some(store))?; // or `OpenRun::resumed`
//! let end = run.measure(&mut monitor, &interrupt)?;       // `&mut ()`: nobody watches
//! let record = run.into_record();
//! ```
//!
//! A [`Plan`] resolves [`PlanOptions`], which a [job file](read_job) may give, too; what it would
//! do and need is a [`SessionForecast`] for each of its sessions. A [`Store`] is the directory of a
//! run, and reads those of earlier ones. [`TimeLeft`] tells a monitor how long a run still takes.

mod failure;
mod forecast;
mod job;
mod judge;
mod monitor;
mod options;
mod plan;
mod rough;
mod run;
mod sizes;
mod store;
mod time_left;
mod traces;

pub use failure::Failure;
pub use forecast::{ForecastTotal, Obstacle, SessionForecast};
pub use job::{job_text, read_job};
pub use judge::Judgement;
pub use monitor::{RunMonitor, RunWarning};
pub use options::{PlanOptions, QuietOptions};
pub use plan::{DiscardOutlook, LEAVE_METHODS_OUT, Plan, ResolvedSession, jobs, preset};
pub use rough::{rough_bytes, rough_span};
pub use run::{OpenRun, RunCaller, RunEnd, TargetBusy};
pub use sizes::ask_for_sizes_below;
pub use store::{LoadedRecord, PAGE, RECORD, RUNS, SetAside, Store};
pub use time_left::TimeLeft;
pub use traces::open_trace;
