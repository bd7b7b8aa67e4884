//! What a run reports while it goes on.

use trimbench_engine::Stage;
use trimbench_results::{Figure, Step};

use crate::failure::Failure;
use crate::store::SetAside;

/// Receives the events of a run, on the thread that measures. An `index` is the place of a session
/// in the plan. Sessions on emulated drives run side by side, but their steps and figures are
/// reported in the order of the plan, one session after the other.
pub trait RunMonitor {
    /// An earlier run has finished this session.
    fn session_skipped(&mut self, _index: usize) {}

    /// The next sessions are on this real target, which takes minutes.
    fn target_begins(&mut self, _target: &str) {}

    /// A session waits before it begins: for what, and whether that is news, once for each session.
    fn session_waits(&mut self, _index: usize, _text: &str, _is_news: bool) {}

    /// A session begins: its target is open.
    fn session_begins(&mut self, _index: usize) {}

    /// A session reached another stage.
    fn stage(&mut self, _index: usize, _stage: &Stage<'_>) {}

    /// A step was measured.
    fn step(&mut self, _index: usize, _step: &Step) {}

    /// A session has ended, or was left out because its method does not fit its target.
    fn session_ends(&mut self, _index: usize, _left_out: bool) {}

    /// A session that has ended found this.
    fn figure(&mut self, _index: usize, _figure: &Figure) {}

    /// Something that the user may want to know: a sentence without a full stop.
    fn note(&mut self, _text: &str) {}

    /// Something that the user should know.
    fn warning(&mut self, _warning: &RunWarning) {}
}

/// Nobody watches.
impl RunMonitor for () {}

/// What went wrong and does not end the run.
#[derive(Debug)]
pub enum RunWarning {
    /// A file of somebody else had the name of one of ours.
    SetAside(SetAside),
    /// A target could not be closed whose session had failed before.
    AlsoFailed(Failure),
}
