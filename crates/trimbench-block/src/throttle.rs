//! Write-back throttling: how many discards may be under way.
//!
//! Model, after block/blk-wbt.c and block/blk-rq-qos.c (Linux 6.12): discards have a counter of
//! their own with the limit `(D + 3) / 4`. `D` is 16 at step 0, `1 + 15 * 2^s` at step `-s` but at
//! most three quarters of the tags, `1 + (15 >> s)` at step `s`: limits of 4, 8, 16, 24 with 128
//! tags. A window of 100 ms (shorter at positive steps) decides the step. The least latency of its
//! reads is compared with the target: above it the limit shrinks; below it, or if there were only
//! writes, it grows; without either it returns to step 0 after five windows. Discards count as
//! writes there.
//!
//! Who waits is woken when nothing is under way or half of the first limit is free again, not
//! before: the number under way goes up and down between the limit and that.

use trimbench_core::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// `D` at step 0 (`RWB_DEF_DEPTH`).
const DEPTH: u32 = 16;
/// The window (`RWB_WINDOW_NSEC`).
const WINDOW: Nanos = Nanos::from_millis(100);
/// Writes that a window needs beside a read to be judged by (`RWB_MIN_WRITE_SAMPLES`).
const WRITES_LEAST: u64 = 3;
/// Windows without either, after which the step returns (`RWB_UNKNOWN_BUMP`).
const UNKNOWN: u32 = 5;

/// What a window has seen.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    reads: u64,
    /// The least latency of its reads, if there were any.
    least: Nanos,
    writes: u64,
}

/// What a window says.
enum Verdict {
    /// Reads are too slow.
    Exceeded,
    /// They are not.
    Kept,
    /// There are writes or discards, and too few reads.
    OnlyWrites,
    /// There is neither.
    Unknown,
}

/// The throttle of one queue.
#[derive(Debug)]
pub(crate) struct Throttle {
    target: Nanos,
    tags: u32,
    step: i32,
    /// The limit cannot grow further.
    largest: bool,
    depth: u32,
    unknown: u32,
    discards: u32,
    writes: u32,
    window: Window,
    /// When the window ends; never while none runs.
    ends: Instant,
    /// The tag of the read that is watched, and since when it is under way.
    oldest_read: Option<(u32, Instant)>,
}

impl Throttle {
    pub(crate) fn new(target: Nanos, tags: u32) -> Self {
        let mut throttle = Self {
            target,
            tags,
            step: 0,
            largest: false,
            depth: 0,
            unknown: 0,
            discards: 0,
            writes: 0,
            window: Window::default(),
            ends: Instant::NEVER,
            oldest_read: None,
        };
        throttle.calculate();
        throttle
    }

    /// Discards that may be under way.
    pub(crate) fn limit(&self) -> u32 {
        if self.depth <= 2 { 1 } else { self.depth.div_ceil(4) }
    }

    /// Counts a discard, if one more may be under way.
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        let admits = self.discards < self.limit();
        self.discards += u32::from(admits);
        self.arm(now);
        admits
    }

    /// A write begins: it is not held back, but counts in the window.
    pub(crate) fn write_begins(&mut self, now: Instant) {
        self.writes += 1;
        self.arm(now);
    }

    pub(crate) fn write_ended(&mut self) {
        self.writes -= 1;
        self.window.writes += 1;
    }

    pub(crate) fn read_begins(&mut self, tag: u32, now: Instant) {
        self.oldest_read.get_or_insert((tag, now));
    }

    pub(crate) fn read_ended(&mut self, tag: u32, latency: Nanos) {
        if self.oldest_read.is_some_and(|(oldest, _)| oldest == tag) {
            self.oldest_read = None;
        }
        let Window { reads, least, .. } = &mut self.window;
        *least = if *reads == 0 { latency } else { latency.min(*least) };
        *reads += 1;
    }

    /// A discard ended; whether those who wait are woken.
    pub(crate) fn discard_ended(&mut self) -> bool {
        self.discards -= 1;
        self.window.writes += 1;
        let (limit, under_way) = (self.limit(), self.discards);
        under_way == 0 || (under_way < limit && limit - under_way >= limit / 2)
    }

    /// When the window ends.
    pub(crate) fn next_event(&self) -> Instant {
        self.ends
    }

    /// The window ends at `now`; whether the limit changed, which wakes those who wait.
    pub(crate) fn end_window(&mut self, now: Instant) -> bool {
        let before = self.step;
        match self.verdict(now) {
            Verdict::Exceeded => self.shrink(true),
            Verdict::Kept | Verdict::OnlyWrites => self.grow(),
            Verdict::Unknown => {
                self.unknown += 1;
                if self.unknown >= UNKNOWN && self.step > 0 {
                    self.grow();
                } else if self.unknown >= UNKNOWN && self.step < 0 {
                    self.shrink(false);
                }
            }
        }
        self.window = Window::default();
        self.ends = Instant::NEVER;
        if self.step != 0 || self.discards + self.writes > 0 {
            self.arm(now);
        }
        self.step < before
    }

    fn verdict(&self, now: Instant) -> Verdict {
        let window = &self.window;
        if let Some((_, since)) = self.oldest_read {
            let waits = now - since;
            if waits > self.window_length() || (waits > self.target && window.reads == 0) {
                return Verdict::Exceeded;
            }
        }
        if window.reads == 0 || window.writes < WRITES_LEAST {
            let writes = window.writes > 0 || self.discards + self.writes > 0;
            return if writes { Verdict::OnlyWrites } else { Verdict::Unknown };
        }
        if window.least > self.target { Verdict::Exceeded } else { Verdict::Kept }
    }

    fn grow(&mut self) {
        if !self.largest {
            self.step -= 1;
            self.calculate();
        }
    }

    fn shrink(&mut self, hard: bool) {
        if self.depth == 1 {
            return;
        }
        self.step = if self.step < 0 && hard { 0 } else { self.step + 1 };
        self.largest = false;
        self.calculate();
    }

    /// `rq_depth_calc_max_depth`.
    fn calculate(&mut self) {
        self.unknown = 0;
        if self.tags == 1 {
            (self.depth, self.largest) = if self.step > 0 { (1, false) } else { (2, true) };
            return;
        }
        let more = DEPTH.min(self.tags) - 1;
        let steps = self.step.unsigned_abs().min(20);
        self.depth = if self.step > 0 {
            1 + (more >> steps)
        } else {
            let most = (3 * self.tags / 4).max(1);
            let wanted = 1 + (more << steps);
            self.largest = self.step < 0 && wanted > most;
            if self.step < 0 { wanted.min(most) } else { wanted }
        };
    }

    /// A window begins, if none runs.
    fn arm(&mut self, now: Instant) {
        if self.ends == Instant::NEVER {
            self.window = Window::default();
            self.ends = now + self.window_length();
        }
    }

    /// The window shrinks with the root of the steps (`rwb_arm_timer`).
    fn window_length(&self) -> Nanos {
        match u64::try_from(self.step) {
            Ok(step) if step > 0 => Nanos((WINDOW.0 << 4) / ((step + 1) << 8).isqrt()),
            _ => WINDOW,
        }
    }
}
