//! The governor, started slowly.
//!
//! A drive may acknowledge a discard at once and work it off for seconds. The governor sees that as
//! late requests, after it has sent far too much: a pass of `trimpace` pays for it later, but a
//! policy runs for as long as the filesystem is mounted, and has time to begin slowly. So beside a
//! foreground discards first take [`SHARE_MIN`] of the time. The share rises by a quarter, at most
//! once a second, while it is what limits the pace, because a share that was not used is not known
//! to be harmless \[RFC7661\]. It is halved when more requests are late than is tolerated; then it
//! rises by a thirty-second each time.

use trimbench_core::{Instant, Nanos, Ppm};

use super::{Amount, Governor, PaceStep, PacingLaw, SeenRequest, Work, later, scaled};

/// The share of the time at first, and at least.
const SHARE_MIN: Ppm = Ppm(1_000);
/// A discard counts as this long at least: one that is acknowledged at once is not free.
const SERVICE_MIN: Nanos = Nanos::from_micros(312);
const CLIMB_TIME: Nanos = Nanos::from_secs(1);
const ONE: u64 = Ppm::ONE.0 as u64;

/// A [`Governor`] whose discards take no more of the time than has proved harmless.
#[derive(Clone, Debug)]
pub struct GradualGovernor {
    law: Governor,
    share: Ppm,
    /// When the share lets the next step begin.
    ready_at: Instant,
    climbed_at: Instant,
    /// The share, and not the governor, made the next step wait.
    is_held: bool,
    has_fallen: bool,
    /// When the step under way began, and whether beside a foreground.
    step: Option<(Instant, bool)>,
    /// Whether a step began since the share fell last.
    is_news: bool,
}

impl GradualGovernor {
    /// The governor, which was told nothing yet, with the least share.
    pub fn new(law: Governor) -> Self {
        Self {
            law,
            share: SHARE_MIN,
            ready_at: Instant::START,
            climbed_at: Instant::START,
            is_held: false,
            has_fallen: false,
            step: None,
            is_news: false,
        }
    }

    /// The governor, to read what it has learned.
    pub fn governor(&self) -> &Governor {
        &self.law
    }

    fn climb(&mut self, now: Instant) {
        if self.is_held && now.since(self.climbed_at) >= CLIMB_TIME {
            let part = if self.has_fallen { 32 } else { 4 };
            self.share = Ppm(self.share.0 + self.share.0 / part).min(Ppm::ONE);
            self.climbed_at = now;
        }
        self.is_held = false;
    }
}

impl PacingLaw for GradualGovernor {
    fn next(&mut self, now: Instant, work: Work) -> PaceStep {
        let step = self.law.next(now, work);
        let due = self.ready_at.min(self.law.idle_at());
        if matches!(step, PaceStep::Step(_)) && due > now {
            self.is_held = true;
            return PaceStep::Until(due);
        }
        step
    }

    fn began(&mut self, now: Instant) {
        self.step = Some((now, now < self.law.idle_at()));
        self.is_news = true;
        self.law.began(now);
    }

    fn ended(&mut self, now: Instant, done: Amount) {
        if let Some((began, true)) = self.step.take() {
            self.climb(now);
            let service = now.since(began).max(SERVICE_MIN);
            let share = u64::from(self.share.0);
            self.ready_at = later(now, scaled(service, ONE - share, share));
        }
        self.law.ended(now, done);
    }

    fn request(&mut self, seen: SeenRequest) {
        self.law.request(seen);
        if self.law.is_owing() && self.is_news {
            (self.is_news, self.has_fallen) = (false, true);
            self.share = Ppm(self.share.0 / 2).max(SHARE_MIN);
            self.climbed_at = seen.completed;
        }
    }

    fn foreground(&mut self, now: Instant, requests: u64) {
        self.law.foreground(now, requests);
    }
}
