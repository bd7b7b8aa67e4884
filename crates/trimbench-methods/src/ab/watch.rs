//! The data collected in one visit.
//!
//! Every access with an intended start within the window counts, however late it ended. So does
//! every job that began in it.

use trimbench_core::{Errno, FileCommand, Instant, Nanos, Status};
use trimbench_results::LatencyHistogram;

use super::load::SerialJobs;
use trimbench_engine::{Observer, Sample};

/// Streams of a visit, in the order in which the runner is given them.
pub(super) const DELETION: usize = 0;
/// The reads and writes.
pub(super) const ACCESSES: usize = 1;

/// The collection of one visit.
#[derive(Debug)]
pub(super) struct VisitWatch {
    deleted_at: Instant,
    end: Instant,
    pub(super) response: LatencyHistogram,
    pub(super) longest: Nanos,
    /// Accesses that ended within the window.
    pub(super) served: u64,
    /// From the deletion to the end of the last unlink.
    pub(super) deletion: Nanos,
    /// All accesses and jobs' commands, those before the deletion included.
    pub(super) commands: u64,
    /// Why `trimpace` failed.
    pub(super) pacer_errno: Option<Errno>,
    failures: u64,
    last_errno: Option<Errno>,
}

impl VisitWatch {
    pub(super) fn new(deleted_at: Instant, end: Instant) -> Self {
        Self {
            deleted_at,
            end,
            response: LatencyHistogram::new(),
            longest: Nanos::ZERO,
            served: 0,
            deletion: Nanos::ZERO,
            commands: 0,
            pacer_errno: None,
            failures: 0,
            last_errno: None,
        }
    }

    /// Commands that failed, and the last reason.
    pub(super) fn failures(&self) -> Option<(u64, Errno)> {
        self.last_errno.map(|errno| (self.failures, errno))
    }

    fn counts(&self, at: Instant) -> bool {
        at >= self.deleted_at && at < self.end
    }

    /// The times of the jobs that began in the window, and the longest; none of a program that
    /// there is not.
    pub(super) fn of_jobs(
        &self,
        jobs: Option<&SerialJobs<'_>>,
    ) -> (Option<LatencyHistogram>, Option<Nanos>) {
        let Some(jobs) = jobs else { return (None, None) };
        let mut times = LatencyHistogram::new();
        let mut longest = None;
        for (_, took) in jobs.done.iter().filter(|(begun, _)| self.counts(*begun)) {
            times.record(*took);
            longest = longest.max(Some(*took));
        }
        (Some(times), longest)
    }
}

impl Observer<FileCommand> for VisitWatch {
    fn observe(&mut self, sample: &Sample<FileCommand>) {
        if let Status::Failed(errno) = sample.status {
            if matches!(sample.command, FileCommand::TrimPaced { .. }) {
                self.pacer_errno = Some(errno);
                return;
            }
            self.failures += 1;
            self.last_errno = Some(errno);
        }
        if sample.stream == DELETION {
            if matches!(sample.command, FileCommand::Unlink { .. }) {
                self.deletion = self.deletion.max(sample.completed.since(self.deleted_at));
            }
            return;
        }
        self.commands += 1;
        if sample.stream != ACCESSES {
            return;
        }
        self.served += u64::from(self.counts(sample.completed));
        if self.counts(sample.intended) {
            let response = sample.response_time();
            self.response.record(response);
            self.longest = self.longest.max(response);
        }
    }
}
