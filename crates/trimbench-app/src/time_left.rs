//! How much longer a run takes, from its plan and from what has been measured of it.
//!
//! Every session begins with a *prior*: on a real target the time that its method plans, on an
//! emulated one what the emulation of so many written bytes took elsewhere
//! ([`MethodInfo::emulation_s_per_gb`]). Three
//! things correct it:
//!
//! 1. Of a session that runs, the share that is done and the time that it took so far.
//! 2. Of sessions that have ended, and of the done share of those that run, how much longer they
//!    took than their prior: first those of the same method, then all.
//! 3. On a real target, the method's own estimate of what is left, which the steps measured so far
//!    correct.
//!
//! What is left is then spread over the jobs as the run does it: emulated sessions side by side,
//! the longest first, real ones alone. Nothing here reaches the record.

use std::collections::BTreeMap;

use trimbench_engine::{MethodInfo, Stage};
use trimbench_ssd::{Media, SsdConfig};

use crate::plan::{Plan, ResolvedSession};

#[cfg(test)]
mod tests;

/// What the emulation takes for a medium without translation and collection, as a share of that for
/// flash.
const IN_PLACE: f64 = 0.7;
/// What of it each program operation takes, where one writes as much as on those drives, as a
/// share. Smaller ones are more of them.
const PROGRAMS: f64 = 0.4;
const PROGRAM_BYTES: f64 = 65_536.0;
/// Drives are that much more costly at most.
const COSTLY_MAX: f64 = 3.0;
/// What opening a target takes at least, in seconds.
const OPENING: f64 = 0.02;
/// What the page of the report takes at least, in seconds.
const PAGE_BASE: f64 = 0.3;
/// What it takes for each session that it shows, in seconds.
const PAGE: f64 = 0.055;
/// A prior counts as much as measurements of this many seconds.
const TRUST: f64 = 8.0;
/// What is overdue takes this share of its time more, however long it took.
const OVERDUE: f64 = 0.1;
/// Before this share of a session is done, its own pace says little.
const SHARE_MIN: f64 = 0.05;

/// The estimate of how long a run still takes. Times (`now`) are seconds since it began; an `index`
/// is the place of a session in the plan.
#[derive(Debug)]
pub struct TimeLeft {
    jobs: usize,
    sessions: Vec<(SessionCost, State)>,
    /// Whether a page is written at the end.
    page: bool,
    /// When that began.
    page_since: Option<f64>,
}

impl TimeLeft {
    /// Of a run that begins; `page` says whether it ends with a page.
    pub fn of(plan: &Plan, page: bool) -> Self {
        let costs = plan.sessions.iter().map(|session| SessionCost::of(plan, session));
        Self::new(costs.collect(), plan.jobs, page)
    }

    fn new(sessions: Vec<SessionCost>, jobs: usize, page: bool) -> Self {
        let sessions = sessions.into_iter().map(|cost| (cost, State::Waiting)).collect();
        Self { jobs: jobs.max(1), sessions, page, page_since: None }
    }

    /// A session was done by an earlier run.
    pub fn skip(&mut self, index: usize) {
        self.sessions[index].1 = State::LeftOut;
    }

    /// A session begins.
    pub fn begin(&mut self, index: usize, now: f64) {
        self.sessions[index].1 = State::Running(Running { since: now, said: None });
    }

    /// A session is at this stage.
    pub fn stage(&mut self, index: usize, stage: &Stage<'_>, now: f64) {
        let State::Running(running) = &mut self.sessions[index].1 else { return };
        let (done, left) = (stage.now.since_start().seconds(), stage.left.seconds());
        let share = if done + left > 0.0 { done / (done + left) } else { 0.0 };
        let open = stage.total.saturating_sub(stage.done).max(1);
        running.said = Some(Said { at: now, share, left, done: stage.done, open });
    }

    /// A session has ended, or was left out.
    pub fn end(&mut self, index: usize, left_out: bool, now: f64) {
        let state = &mut self.sessions[index].1;
        *state = match *state {
            State::Running(Running { since, .. }) if !left_out => {
                State::Ended { took: now - since }
            }
            _ => State::LeftOut,
        };
    }

    /// All sessions are over: what follows is the page.
    pub fn close(&mut self, now: f64) {
        for (_, state) in &mut self.sessions {
            if !matches!(state, State::Ended { .. }) {
                *state = State::LeftOut;
            }
        }
        self.page_since = Some(now);
    }

    /// How many have ended, and how many there are.
    pub fn counts(&self) -> (usize, usize) {
        let ended = |state: &State| matches!(state, State::Ended { .. } | State::LeftOut);
        let ended = self.sessions.iter().filter(|(_, state)| ended(state)).count();
        (ended, self.sessions.len())
    }

    /// What is left of the whole run at `now`, in seconds.
    pub fn left(&self, now: f64) -> f64 {
        let paces = self.paces();
        let mut total = 0.0;
        for stretch in self.sessions.chunk_by(|a, b| a.0.emulated && b.0.emulated) {
            let left = stretch.iter().map(|session| session_left(session, &paces, now));
            total += if stretch.iter().all(|(cost, _)| cost.emulated) {
                let running = |state: &State| matches!(state, State::Running(_));
                let left: Vec<(bool, f64)> = stretch
                    .iter()
                    .zip(left)
                    .map(|((_, state), left)| (running(state), left))
                    .collect();
                side_by_side(&left, self.jobs)
            } else {
                left.sum()
            };
        }
        total + self.page_left(paces.all, now)
    }

    fn page_left(&self, pace: f64, now: f64) -> f64 {
        if !self.page {
            return 0.0;
        }
        let shown = |(cost, state): &&(SessionCost, State)| match state {
            State::LeftOut => false,
            _ => cost.prior > 0.0,
        };
        let count = self.sessions.iter().filter(shown).count() as f64;
        let expected = (PAGE_BASE + count * PAGE) * pace;
        let took = self.page_since.map_or(0.0, |since| now - since);
        (expected - took).max(expected * OVERDUE)
    }

    /// How much longer emulated sessions take than their priors, from all in one pass: a plan may
    /// have tens of thousands.
    fn paces(&self) -> Paces {
        let (mut all, mut of_method) = (Pace::default(), BTreeMap::<&str, Pace>::new());
        for (cost, state) in self.sessions.iter().filter(|(cost, _)| cost.emulated) {
            let (took, expected) = match state {
                State::Ended { took } => (*took, cost.prior),
                State::Running(Running { since, said: Some(said) }) if said.share > SHARE_MIN => {
                    (said.at - since, cost.prior * said.share)
                }
                _ => continue,
            };
            all.add(took, expected);
            of_method.entry(cost.method).or_default().add(took, expected);
        }
        let all = all.after(1.0);
        let of_method = of_method.into_iter().map(|(method, pace)| (method, pace.after(all)));
        Paces { all, of_method: of_method.collect() }
    }
}

/// What is known of a session before it begins.
#[derive(Clone, Debug)]
struct SessionCost {
    method: &'static str,
    /// Whether it runs beside others.
    emulated: bool,
    /// What it is expected to take, in seconds; zero if it will be left out.
    prior: f64,
}

impl SessionCost {
    fn of(plan: &Plan, session: &ResolvedSession) -> Self {
        let demand = session.rough_demand(&plan.consent, plan.assumed_rate);
        let demand = demand.map(|demand| plan.paced(session, demand));
        let (info, method) = (session.info, session.info.id);
        match (demand, session.target.emulated_drive()) {
            (Some(demand), Some(drive)) => {
                Self::emulated(info, &drive.profile().config, demand.written.0)
            }
            (demand, drive) => {
                let look = plan.look_time(session);
                let prior = demand.map_or(0.0, |demand| (demand.time + look).seconds());
                Self { method, emulated: drive.is_some(), prior }
            }
        }
    }

    /// Of an emulated session that writes so many bytes on such a drive.
    fn emulated(method: &MethodInfo, drive: &SsdConfig, written: u64) -> Self {
        let programs = PROGRAM_BYTES / drive.geometry.program_bytes.0 as f64;
        let costly = match drive.media {
            Media::InPlace => IN_PLACE,
            Media::Flash => (1.0 - PROGRAMS + PROGRAMS * programs).min(COSTLY_MAX),
        };
        let emulation = written as f64 / 1e9 * method.emulation_s_per_gb * costly;
        Self { method: method.id, emulated: true, prior: OPENING + emulation }
    }
}

/// Where a session is. Times are seconds since the run began.
#[derive(Clone, Copy, Debug)]
enum State {
    Waiting,
    Running(Running),
    Ended { took: f64 },
    LeftOut,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    since: f64,
    said: Option<Said>,
}

/// What a method last said of itself.
#[derive(Clone, Copy, Debug)]
struct Said {
    at: f64,
    /// The share of the session that was done, on the target's clock.
    share: f64,
    /// What was left, in seconds of the target's clock.
    left: f64,
    /// Steps that were done, and that were not.
    done: usize,
    open: usize,
}

/// How long sessions took, and what was expected of them.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    took: f64,
    expected: f64,
}

impl Pace {
    fn add(&mut self, took: f64, expected: f64) {
        self.took += took;
        self.expected += expected;
    }

    /// The ratio, where it was `before` until anything was measured.
    fn after(self, before: f64) -> f64 {
        (TRUST * before + self.took) / (TRUST + self.expected)
    }
}

/// How much longer emulated sessions take than their priors.
#[derive(Debug)]
struct Paces {
    all: f64,
    of_method: BTreeMap<&'static str, f64>,
}

impl Paces {
    /// What a session takes that has not begun.
    fn expected(&self, cost: &SessionCost) -> f64 {
        let own = || self.of_method.get(cost.method).copied().unwrap_or(self.all);
        if cost.emulated { cost.prior * own() } else { cost.prior }
    }
}

/// What is left of one session.
fn session_left((cost, state): &(SessionCost, State), paces: &Paces, now: f64) -> f64 {
    match state {
        State::Ended { .. } | State::LeftOut => 0.0,
        State::Waiting => paces.expected(cost),
        State::Running(Running { since, said: None }) => {
            let expected = paces.expected(cost);
            (expected - (now - since)).max(expected * OVERDUE)
        }
        State::Running(Running { since, said: Some(said) }) => {
            let left = if cost.emulated {
                let planned = paces.expected(cost) * (1.0 - said.share);
                let own = (said.at - since) / said.share.max(SHARE_MIN) * (1.0 - said.share);
                // The more of it is done, the more its own pace counts.
                planned * (1.0 - said.share) + own * said.share
            } else {
                said.left
            };
            // While a step runs, its time passes. If it is overdue, the mean of all steps was too
            // low, the plan's own guess being one more of them.
            let (step, behind) = (left / said.open as f64, (said.open - 1) as f64);
            let took = now - said.at;
            let seen = (said.done + 2) as f64;
            let late = if cost.emulated { 0.0 } else { (took - step).max(0.0) / seen };
            (step - took).max(0.0) + behind * (step + late)
        }
    }
}

/// When the last of the sessions ends, of which so many run at a time: those that run go on, and
/// whenever one ends the longest of the others begins.
fn side_by_side(left: &[(bool, f64)], jobs: usize) -> f64 {
    let mut ends: Vec<f64> = left.iter().filter(|it| it.0).map(|it| it.1).collect();
    ends.resize(ends.len().max(jobs), 0.0);
    let mut waiting: Vec<f64> = left.iter().filter(|it| !it.0).map(|it| it.1).collect();
    waiting.sort_by(|a, b| b.total_cmp(a));
    for session in waiting {
        let first = ends.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("there is a job");
        *first += session;
    }
    ends.into_iter().fold(0.0, f64::max)
}
