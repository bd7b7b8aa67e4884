//! The measurements of `paced`: the foreground during and after the last discard.

use trimbench_core::{Blocks, Instant, Nanos, Ppm};

use crate::policy::Foreground;

/// With fewer requests beside it, a discard is judged by its service time. The longest of k evenly
/// spread requests sees about k / (k + 1) of a stall.
const OVERLAPPING_MIN: u64 = 4;
/// The budget is counted in millionths of a request.
const REQUEST: i64 = 1_000_000;
const BUDGET_MAX: i64 = 2 * REQUEST;
/// No more is owed, or one long stall would be paid off for days.
const BUDGET_MIN: i64 = -1_000 * REQUEST;

/// The foreground, the last discard, and the budget of late requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sensor {
    target: Nanos,
    /// What a request in time earns, of a request.
    earned: Ppm,
    /// Late requests that are allowed for; owed, if negative. In [`BUDGET_MIN`, `BUDGET_MAX`].
    budget: i64,
    /// When a discard was last blamed. Requests and discards before are not blamed again.
    blamed_at: Instant,
    /// Moving average of latencies without a discard about; a request weighs a sixteenth.
    usual: Nanos,
    outstanding: u64,
    busy_until: Instant,
    last: Option<Discard>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Discard {
    pub(super) blocks: Blocks,
    pub(super) issued_at: Instant,
    /// [`Instant::NEVER`] while it is in flight.
    pub(super) done_at: Instant,
    /// Requests that overlapped it, and the longest of their latencies.
    overlapping: u64,
    longest: Nanos,
    /// Whether conclusions were drawn from it.
    concluded: bool,
}

impl Discard {
    pub(super) fn service(&self) -> Nanos {
        self.done_at.since(self.issued_at)
    }

    fn overlaps(&self, submitted: Instant, completed: Instant) -> bool {
        submitted < self.done_at && completed > self.issued_at
    }
}

impl Sensor {
    pub(super) fn new(target: Nanos, earned: Ppm) -> Self {
        Self {
            target,
            earned,
            budget: BUDGET_MAX,
            blamed_at: Instant::START,
            usual: Nanos::ZERO,
            outstanding: 0,
            busy_until: Instant::START,
            last: None,
        }
    }

    pub(super) fn issued(&mut self, now: Instant, blocks: Blocks) {
        debug_assert!(self.last.is_none_or(|last| last.done_at <= now), "one at a time");
        self.last = Some(Discard {
            blocks,
            issued_at: now,
            done_at: Instant::NEVER,
            overlapping: 0,
            longest: Nanos::ZERO,
            concluded: false,
        });
    }

    pub(super) fn discarded(&mut self, now: Instant) {
        let last = self.last.as_mut().expect("what completes was issued");
        debug_assert_eq!(last.done_at, Instant::NEVER, "it completes once");
        last.done_at = now;
    }

    /// Takes a look at the foreground; whether it is too often late, after a discard that was not
    /// blamed yet.
    pub(super) fn foreground(&mut self, now: Instant, seen: Foreground) -> bool {
        if self.outstanding > 0 || seen.outstanding > 0 {
            self.busy_until = now;
        }
        self.outstanding = seen.outstanding;
        let Some(latency) = seen.latency else { return false };
        let submitted = Instant::from_start(now.since_start().saturating_sub(latency));
        match self.last.as_mut().filter(|last| last.overlaps(submitted, now)) {
            Some(last) => {
                last.overlapping += 1;
                last.longest = last.longest.max(latency);
                false
            }
            None => self.account(now, submitted, latency),
        }
    }

    /// The stall that `discard` caused, as far as it was seen.
    pub(super) fn stall_of(&self, discard: &Discard) -> Nanos {
        if discard.overlapping < OVERLAPPING_MIN {
            return discard.service();
        }
        discard.longest.saturating_sub(self.usual)
    }

    /// The last discard, if it is done and nothing was concluded from it.
    pub(super) fn conclude(&mut self) -> Option<Discard> {
        let last = self.last.as_mut().filter(|last| last.done_at < Instant::NEVER)?;
        let news = !last.concluded;
        last.concluded = true;
        news.then_some(*last)
    }

    pub(super) fn last_done(&self) -> Option<&Discard> {
        self.last.as_ref().filter(|last| last.done_at < Instant::NEVER)
    }

    /// Latency without a discard about.
    pub(super) fn usual(&self) -> Nanos {
        self.usual
    }

    /// Whether more requests were late than is tolerated.
    pub(super) fn in_debt(&self) -> bool {
        self.budget < 0
    }

    /// From when on the foreground counts as idle, if nothing comes.
    pub(super) fn idle_from(&self, idle: Nanos) -> Instant {
        if self.outstanding > 0 { Instant::NEVER } else { self.busy_until + idle }
    }

    /// A request that overlapped no discard.
    fn account(&mut self, now: Instant, submitted: Instant, latency: Nanos) -> bool {
        self.usual = self.usual - Nanos(self.usual.0 / 16) + Nanos(latency.0 / 16);
        if latency <= self.target {
            self.budget = BUDGET_MAX.min(self.budget + i64::from(self.earned.0));
            return false;
        }
        self.budget = BUDGET_MIN.max(self.budget - REQUEST);
        let news = self.last.is_some_and(|last| last.issued_at.min(submitted) >= self.blamed_at);
        let blames = self.in_debt() && news;
        if blames {
            self.blamed_at = now;
        }
        blames
    }
}
