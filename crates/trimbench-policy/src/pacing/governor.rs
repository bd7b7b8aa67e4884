//! The law of `trimpace`: a step may begin when the time in which requests would be late, spread
//! over the time that has passed, leaves room for it.
//!
//! # Credit
//!
//! The user states a target and a tolerance: 99 % of the requests within 2 ms. If requests come at
//! any time, the share of late ones is the share of *time* in which one that arrives would be late,
//! and that share is sampled: a late request is late for all of the time that it is the sample of.
//! Credit grows with time at [`RATE`] of the tolerance and is spent by late time, of whatever
//! cause. A step begins when there is as much credit as a step is expected to spend, or when what
//! is left of the pass, up to [`KEPT`] of it, will earn more than it will spend without any pause.
//! So late requests are paid for before they are made, or soon after; nothing needs to be known
//! about the drive; and what discards cost later (garbage collection) slows the pace as well.
//!
//! Where no request falls into a step, it spends what its length exceeds the target by; while no
//! request is seen at all, all of its length.
//!
//! # Size of a step
//!
//! A step is as long as `budget` by the cost line. It begins at [`WITHIN`] of the target, doubles
//! with each step that made no request late, up to [`BUDGET_MAX`], and is halved by one that did,
//! not below the start. If one command alone exceeds the target, a step is one free extent; if it
//! does not, extents are cut where the filesystem can.
//!
//! # Size of pieces
//!
//! Where reads overtake the pieces of an extent that are queued behind each other, a request waits
//! for one piece at most. Pieces begin at [`WITHIN`] of what the target leaves room for by the cost
//! line, grow to all of it while no request is late, and shrink while credit limits the pace, but
//! not so far that the fixed cost of a command is more than two thirds of a piece. Where they do
//! not overtake, or one command alone exceeds the target, a smaller piece only adds commands: the
//! device's own limit stays, but for a step now and then ([`TRY_AFTER`]) that has pieces of the
//! shortest length seen, by which the cost line is kept true; not where no command was longer than
//! [`FIRST_PIECE`]. Whether they overtake is measured: by
//! the longest wait in a step of several pieces against the length of the step.
//!
//! # Idle
//!
//! Without requests of others for `idle_after` nothing is spent and no step waits. Each step that a
//! request interrupts doubles `idle_after` (up to a minute), so that a sparse foreground is not
//! taken for none; a minute of undisturbed steps halves it again.
//!
//! # What it guarantees
//!
//! - Without a deadline, over any longer time, the late share stays below the tolerance, if that of
//!   the foreground by itself does, but for the first steps, whose cost nobody knows.
//! - Nothing starves: while discards wait, they get [`FLOOR`] of the time, or what
//!   [`Governor::with_floor`] says; steps begun by that rule are counted, for the target may be
//!   missed then.
//! - With a deadline the share that the rest needs is spread evenly over the time left.
//!
//! Source: additive or faster increase, decrease by half \[CHIU89\]. The closed form that `tests`
//! hold it against: in one queue a request that arrives t after the start of a discard of length c
//! waits c - t (1 - load).

use trimbench_core::{Bytes, Instant, Nanos, Ppm};

use super::{
    Amount, CostLine, DiscardCost, PaceStep, PacingLaw, SeenRequest, StepExtent, StepLimit, Work,
    later, scaled,
};

#[cfg(test)]
mod tests;

/// The part of the tolerance that is spent: the rest is for what probes do not see.
const RATE: Ppm = Ppm(850_000);
/// The part of the target that a step, or a piece, may take by the cost line.
const WITHIN: Ppm = Ppm(800_000);
/// The longest step by the cost line, beside a foreground and without one.
const BUDGET_MAX: Nanos = Nanos::from_millis(100);
/// The length of the first pieces, while nothing is known.
const FIRST_PIECE: Bytes = Bytes::mib(8);
/// Steps with first pieces: one could be a hiccup.
const FIRST_STEPS: u64 = 2;
/// The shortest piece, and the shortest part of an extent.
const PIECE_MIN: Bytes = Bytes::kib(256);
/// Credit is kept for so long, and owed for so long.
const KEPT: Nanos = Nanos::from_secs(20);
const OWED: Nanos = Nanos::from_secs(600);
/// The share of the time that discards take at least, while they wait.
const FLOOR: Ppm = Ppm(1_000);
/// The least part of the longest piece that fits.
const SCALE_MIN: Ppm = Ppm(62_500);
/// While pieces are as long as the device takes them, a step has short ones after so many, then
/// after twice as many and so on, to see whether a short command still costs what it did.
const TRY_AFTER: u64 = 4;
/// When the foreground counts as idle, at first and at most.
const IDLE_AFTER: Nanos = Nanos::from_millis(200);
const IDLE_AFTER_MAX: Nanos = Nanos::from_secs(64);
/// Requests are watched for so long before the first step.
const BASELINE: Nanos = Nanos::from_millis(100);
const ONE: u64 = Ppm::ONE.0 as u64;

/// What the pass is to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceTarget {
    /// Requests, but for this share, take no longer than this.
    Latency {
        /// The target.
        target: Nanos,
        /// The share that may be late: 1 % for a 99th percentile.
        tolerance: Ppm,
    },
    /// Discards take no more than this share of the time.
    Share(Ppm),
}

/// Options of [`Governor`].
#[derive(Clone, Copy, Debug)]
pub struct GovernorOptions {
    /// What to keep.
    pub target: PaceTarget,
    /// When to be done, if that can be; later steps keep the target again.
    pub deadline: Option<Instant>,
    /// The longest discard that the device takes.
    pub device_piece: Bytes,
}

/// What the governor expects of the rest of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassForecast {
    /// What discards cost.
    pub cost: DiscardCost,
    /// How far steps were from that, as a share (moving mean).
    pub error: Ppm,
    /// Whether requests overtake the pieces of an extent; `None` while no step could show it.
    pub overtakes: Option<bool>,
    /// How long the rest will take beside the foreground of now.
    pub time: Nanos,
    /// The share of late requests that follows.
    pub late: Ppm,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GovernorAccount {
    /// Steps.
    pub steps: u64,
    /// Of these, begun by the floor although the target may be missed.
    pub floor_steps: u64,
    /// Time beside a foreground, from the first look on.
    pub busy: Nanos,
    /// Of that, the time that late requests stood for.
    pub late: Nanos,
    /// Time without a foreground.
    pub idle: Nanos,
    /// Time in which steps were under way.
    pub discarding: Nanos,
    /// Requests that were seen.
    pub requests: u64,
}

/// The law.
#[derive(Clone, Debug)]
pub struct Governor {
    options: GovernorOptions,
    line: CostLine,
    /// Late time that may be made; owed if negative. In millionths of a nanosecond: what short
    /// spans earn is not lost to rounding.
    credit: i128,
    /// Up to when credit and account are kept; `None` before the first call.
    kept_to: Option<Instant>,
    began_at: Instant,
    /// The share of the time that discards take at least, and when it lets the next step begin.
    floor: Ppm,
    floor_at: Instant,
    /// The part of the time that may be late now.
    rate: Ppm,
    budget: Nanos,
    piece: Option<Bytes>,
    /// The step that tries short pieces again, and how many later the one after.
    next_try: u64,
    tries_after: u64,
    /// The part of the longest piece that fits the target.
    piece_scale: Ppm,
    /// Latency of a request outside of steps: moving mean.
    usual: Nanos,
    /// The longest wait in a step of several pieces, as a share of the step.
    waits: Option<Ppm>,
    /// Whether the step before made a request late.
    was_late: bool,
    /// What the next step is expected to spend.
    spends: Nanos,
    /// Late time of a step as a share of its length: moving mean.
    late_of_work: Ppm,
    step: Option<Step>,
    /// The next step begins by the floor.
    by_floor: bool,
    last_request_at: Instant,
    idle_after: Nanos,
    undisturbed: Nanos,
    account: GovernorAccount,
}

/// The step under way.
#[derive(Clone, Copy, Debug)]
struct Step {
    began: Instant,
    late: Nanos,
    requests: u64,
    longest: Nanos,
    idle: bool,
    /// Somebody's request fell into it although it was begun as if idle.
    disturbed: bool,
}

impl Governor {
    /// A governor that knows nothing yet.
    pub fn new(options: GovernorOptions) -> Self {
        let governor = Self {
            line: CostLine::default(),
            credit: 0,
            kept_to: None,
            began_at: Instant::START,
            floor: FLOOR,
            floor_at: Instant::START,
            rate: Ppm(0),
            budget: BUDGET_MAX,
            piece: None,
            next_try: TRY_AFTER,
            tries_after: TRY_AFTER,
            piece_scale: WITHIN,
            usual: Nanos::ZERO,
            waits: None,
            was_late: false,
            spends: Nanos::ZERO,
            late_of_work: Ppm(0),
            step: None,
            by_floor: false,
            last_request_at: Instant::START,
            idle_after: IDLE_AFTER,
            undisturbed: Nanos::ZERO,
            account: GovernorAccount::default(),
            options,
        };
        let piece = Some(FIRST_PIECE).filter(|it| *it < governor.options.device_piece);
        let piece = piece.filter(|_| governor.target().is_some());
        Self { rate: governor.allowed(), budget: governor.budget_min(), piece, ..governor }
    }

    /// The same with another share of the time that discards take at least while they wait, instead
    /// of 0.1 %: who tolerates less lets them wait longer.
    #[must_use]
    pub fn with_floor(self, floor: Ppm) -> Self {
        Self { floor, ..self }
    }

    /// What happened so far.
    pub fn account(&self) -> GovernorAccount {
        self.account
    }

    /// What to expect of the rest; `None` while the cost of a discard is unknown.
    pub fn forecast(&self, now: Instant, remaining: Amount) -> Option<PassForecast> {
        let cost = self.line.cost()?;
        let work = cost.of(self.in_pieces(remaining));
        let late = work.scaled(self.late_of_work);
        let own = self.own_late_share();
        let room = Ppm(self.allowed().0.saturating_sub(own.0));
        let by_rate = scaled(late, ONE, u64::from(room.0));
        let longest = Nanos(work.0.saturating_mul(ONE) / u64::from(self.floor.0.max(1)));
        let paced = by_rate.max(work).min(longest.max(work));
        let time = match self.time_left(now) {
            _ if self.is_idle(now) => work,
            Some(left) if left < paced => left.max(work),
            _ => paced,
        };
        let share = scaled(late, ONE, time.0.max(1)).0.saturating_add(own.0.into()).min(ONE);
        let late = if self.is_idle(now) { Ppm(0) } else { ppm(share) };
        Some(PassForecast {
            cost,
            error: self.line.error(),
            overtakes: self.overtakes(),
            time,
            late,
        })
    }

    /// How long so many free extents are expected to take; nothing while nobody knows.
    pub fn expected(&self, amount: Amount) -> Nanos {
        self.line.cost().map_or(Nanos::ZERO, |cost| cost.of(self.in_pieces(amount)))
    }

    /// Whether requests overtake pieces; `None` while no step could show it.
    pub fn overtakes(&self) -> Option<bool> {
        self.waits.map(|waits| waits < Ppm(500_000))
    }

    /// The longest discard that steps have now; `None` for the device's own.
    pub fn piece(&self) -> Option<Bytes> {
        self.piece
    }

    /// From when on the foreground counts as idle, if nothing comes.
    pub(crate) fn idle_at(&self) -> Instant {
        later(self.last_request_at, self.idle_after)
    }

    /// Whether more late time was made than is earned.
    pub(crate) fn is_owing(&self) -> bool {
        self.credit < 0
    }

    fn target(&self) -> Option<Nanos> {
        match self.options.target {
            PaceTarget::Latency { target, .. } => Some(target),
            PaceTarget::Share(_) => None,
        }
    }

    /// The part of the time that may be late.
    fn allowed(&self) -> Ppm {
        match self.options.target {
            PaceTarget::Latency { tolerance, .. } => ppm(RATE.of(tolerance.0.into())),
            PaceTarget::Share(share) => share,
        }
    }

    fn budget_min(&self) -> Nanos {
        self.target().map_or(BUDGET_MAX, |target| target.scaled(WITHIN))
    }

    fn budget_max(&self) -> Nanos {
        BUDGET_MAX.max(self.budget_min())
    }

    fn is_idle(&self, now: Instant) -> bool {
        now.since(self.last_request_at) >= self.idle_after
    }

    fn time_left(&self, now: Instant) -> Option<Nanos> {
        self.options.deadline.map(|deadline| deadline.since(now)).filter(|left| left.0 > 0)
    }

    /// Late time outside of steps, as a share of the time: of the foreground by itself.
    fn own_late_share(&self) -> Ppm {
        let of_steps = self.account.discarding.scaled(self.late_of_work);
        let own = self.account.late.saturating_sub(of_steps);
        ppm(scaled(own, ONE, self.account.busy.0.max(1)).0.min(ONE))
    }

    /// Extents as the commands that the device gets.
    fn in_pieces(&self, amount: Amount) -> Amount {
        let piece = self.piece.unwrap_or(self.options.device_piece).0.max(1);
        Amount { discards: amount.discards + amount.bytes.0 / piece, ..amount }
    }

    /// Keeps credit and account up to now.
    fn keep(&mut self, now: Instant) {
        // What was told of a step may come after what was seen since.
        let now = self.kept_to.map_or(now, |kept_to| kept_to.max(now));
        let Some(from) = self.kept_to.replace(now) else {
            (self.began_at, self.last_request_at) = (now, now);
            return;
        };
        let passed = now.since(from);
        if self.is_idle(now) {
            self.account.idle += passed;
            return;
        }
        self.account.busy += passed;
        let kept = KEPT.scaled(self.rate).max(Nanos(self.spends.0.saturating_mul(2)));
        let earned = i128::from(passed.0) * i128::from(self.rate.0);
        self.credit = (self.credit + earned).clamp(-credit(OWED), credit(kept));
    }

    fn spend(&mut self, late: Nanos) {
        self.account.late += late;
        self.credit -= credit(late);
    }

    /// The share of late time from now on: that of the tolerance, or what the deadline needs.
    fn set_rate(&mut self, now: Instant, remaining: Amount) {
        self.rate = self.allowed();
        let (Some(left), Some(cost)) = (self.time_left(now), self.line.cost()) else { return };
        let work = cost.of(self.in_pieces(remaining));
        let needed = match self.options.target {
            PaceTarget::Latency { .. } => work.scaled(self.late_of_work),
            PaceTarget::Share(_) => work,
        };
        let share = scaled(needed, ONE, left.0).0.saturating_add(self.own_late_share().0.into());
        self.rate = self.rate.max(ppm(share.min(ONE)));
    }

    /// Late time that the next step is expected to make.
    fn expected_to_spend(&self, work: Work) -> Nanos {
        let Some(cost) = self.line.cost() else { return Nanos::ZERO };
        let least = cost.of(self.in_pieces(work.upcoming));
        let most = cost.of(self.in_pieces(work.remaining)).max(least);
        let length = self.budget.max(least).min(most);
        match self.options.target {
            PaceTarget::Latency { .. } => length.scaled(self.late_of_work),
            PaceTarget::Share(_) => length,
        }
    }

    /// Whether the rest of the pass, or the next of it, earns without pauses what it spends, and
    /// what is owed.
    fn rest_pays_for_itself(&self, remaining: Amount) -> bool {
        let (Some(cost), PaceTarget::Latency { .. }) = (self.line.cost(), self.options.target)
        else {
            return false;
        };
        let work = cost.of(self.in_pieces(remaining)).min(KEPT);
        let earned = i128::from(work.0) * i128::from(self.rate.0);
        self.credit + earned > credit(work.scaled(self.late_of_work)) && self.account.requests > 0
    }

    fn limit(&self, idle: bool) -> StepLimit {
        let Some(cost) = self.line.cost() else {
            let cost = DiscardCost { command: BUDGET_MAX, mib: Nanos(1) };
            let extent = StepExtent::Cost { budget: Nanos::ZERO, cost, longest: Some(FIRST_PIECE) };
            return StepLimit { extent, piece: self.piece };
        };
        let budget = if idle { self.budget_max() } else { self.budget };
        let longest = match self.overtakes() {
            _ if idle => cost.longest_within(budget),
            Some(true) => cost.longest_within(budget),
            _ => cost.longest_within(self.budget_min()),
        };
        // A line needs a second length; what made nobody late may grow.
        let longest = match self.line.only_length() {
            Some(only) if !self.was_late => longest.max(Some(Bytes(4 * only.0))),
            _ => longest,
        };
        // No part of an extent is made of two commands.
        let piece = self.piece.unwrap_or(self.options.device_piece);
        let longest = longest.map(|longest| longest.max(PIECE_MIN).min(piece));
        StepLimit { extent: StepExtent::Cost { budget, cost, longest }, piece: self.piece }
    }

    /// The length of pieces of a step that looks whether a short command still costs what it did;
    /// `None` for the device's own, as of most steps.
    fn piece_to_try(&mut self) -> Option<Bytes> {
        let below_device = |it: &Bytes| *it < self.options.device_piece;
        if let (None, Some(only)) = (self.overtakes().filter(|it| !it), self.line.only_length()) {
            // One length says nothing of the cost of a command: twice the length does.
            return Some(Bytes(2 * only.0)).filter(below_device);
        }
        // What is no longer than a first piece is not worth cutting: only more commands follow.
        let is_worth_it = self.line.longest_length()? > FIRST_PIECE;
        if self.account.steps < self.next_try || !is_worth_it {
            return None;
        }
        let short = self.line.shortest_length()?.0.next_multiple_of(PIECE_MIN.0);
        self.next_try = self.account.steps + self.tries_after;
        self.tries_after = self.tries_after.saturating_mul(2);
        Some(Bytes(short)).filter(below_device)
    }

    /// The length of pieces for the next steps.
    fn choose_piece(&mut self) {
        let (Some(cost), Some(target)) = (self.line.cost(), self.target()) else { return };
        if self.line.steps() < FIRST_STEPS {
            return;
        }
        let fits = cost.longest_within(target.saturating_sub(self.usual));
        let Some(fits) = fits.filter(|_| self.overtakes() != Some(false)) else {
            self.piece = self.piece_to_try();
            return;
        };
        self.tries_after = TRY_AFTER;
        // The fixed cost of a command is two thirds of a piece of this length.
        let worth = scaled(Nanos(cost.command.0 / 2), Bytes::mib(1).0, cost.mib.0.max(1)).0;
        let worth = Bytes(worth);
        let wanted = Bytes(self.piece_scale.of(fits.0)).max(worth).max(PIECE_MIN);
        let settled = self.piece.is_some_and(|now| wanted.0.abs_diff(now.0) < now.0 / 8);
        if !settled {
            let wanted = Bytes(wanted.0 / PIECE_MIN.0 * PIECE_MIN.0);
            self.piece = Some(wanted).filter(|it| *it < self.options.device_piece);
        }
    }

    /// Draws the conclusions from a step.
    fn conclude(&mut self, step: Step, service: Nanos, done: Amount) {
        let piece = self.piece.unwrap_or(self.options.device_piece);
        let was_known = self.line.steps() > 0;
        self.line.learn(done, service);
        // Only a step of several pieces, seen by several requests, shows whether they overtake.
        let divided =
            was_known && done.discards >= 4 && done.bytes.0 / done.discards >= piece.0 / 2;
        if divided && step.requests >= 3 && !step.idle {
            let share = ppm(scaled(step.longest, ONE, service.0.max(1)).0.min(ONE));
            self.waits = Some(Ppm(match self.waits {
                Some(waits) => waits.0 - waits.0 / 4 + share.0 / 4,
                None => share.0,
            }));
        }
        if step.idle {
            self.undisturbed += service;
            if self.undisturbed >= Nanos::from_secs(60) {
                self.undisturbed = Nanos::ZERO;
                self.idle_after = Nanos(self.idle_after.0 / 2).max(IDLE_AFTER);
            }
            return;
        }
        let share = ppm(scaled(step.late, ONE, service.0.max(1)).0.min(4 * ONE));
        let weight = self.account.steps.clamp(1, 8);
        let mean = u64::from(self.late_of_work.0) * (weight - 1) + u64::from(share.0);
        self.late_of_work = ppm(mean / weight);
        self.was_late = step.late > Nanos::ZERO;
        if step.late == Nanos::ZERO {
            self.budget = Nanos(self.budget.0.saturating_mul(2)).min(self.budget_max());
            if self.late_of_work.0 < self.rate.0 / 2 {
                let grown = self.piece_scale.0 + self.piece_scale.0 / 32;
                self.piece_scale = Ppm(grown).min(Ppm::ONE);
            }
        } else {
            self.budget = Nanos(self.budget.0 / 2).max(self.budget_min());
            if self.late_of_work > self.rate && self.piece.is_some() {
                let smaller = Ppm(self.piece_scale.0 - self.piece_scale.0 / 8);
                self.piece_scale = smaller.max(SCALE_MIN);
            }
        }
    }
}

impl PacingLaw for Governor {
    fn next(&mut self, now: Instant, work: Work) -> PaceStep {
        debug_assert!(self.step.is_none(), "asked between steps only");
        self.spends = self.expected_to_spend(work);
        self.keep(now);
        self.set_rate(now, work.remaining);
        if self.is_idle(now) {
            return PaceStep::Step(self.limit(true));
        }
        if self.account.steps == 0 {
            let begin = later(self.began_at, BASELINE);
            return if now < begin {
                PaceStep::Until(begin)
            } else {
                PaceStep::Step(self.limit(false))
            };
        }
        let missing = u128::try_from(credit(self.spends) - self.credit).unwrap_or(0);
        let wait = missing.div_ceil(u128::from(self.rate.0.max(1)));
        let wait = Nanos(u64::try_from(wait).unwrap_or(u64::MAX));
        let due = if self.rest_pays_for_itself(work.remaining) { now } else { later(now, wait) };
        self.by_floor = due > now && self.floor_at <= now;
        let due = due.min(self.floor_at).min(self.idle_at());
        if due > now { PaceStep::Until(due) } else { PaceStep::Step(self.limit(false)) }
    }

    fn began(&mut self, now: Instant) {
        self.keep(now);
        let idle = self.is_idle(now);
        self.account.steps += 1;
        self.account.floor_steps += u64::from(std::mem::take(&mut self.by_floor));
        let (late, longest) = (Nanos::ZERO, Nanos::ZERO);
        self.step = Some(Step { began: now, late, requests: 0, longest, idle, disturbed: false });
    }

    fn ended(&mut self, now: Instant, done: Amount) {
        self.keep(now);
        let mut step = self.step.take().expect("a step that ends has begun");
        let service = now.since(step.began);
        self.account.discarding += service;
        self.floor_at = later(step.began, scaled(service, ONE, self.floor.0.into()));
        let unseen = match self.target() {
            None => service,
            Some(_) if self.account.requests == 0 => service,
            Some(target) if step.requests == 0 => service.saturating_sub(target),
            Some(_) => Nanos::ZERO,
        };
        if !step.idle && done.discards > 0 {
            step.late += unseen;
            self.spend(unseen);
        }
        self.conclude(step, service, done);
        self.choose_piece();
        if !step.idle {
            // Requests that waited for the step complete after it.
            self.last_request_at = now;
        }
    }

    fn request(&mut self, seen: SeenRequest) {
        let latency = seen.latency();
        // A latency of nothing is no latency: the source is broken.
        if latency == Nanos::ZERO {
            return;
        }
        self.account.requests += 1;
        let is_idle = self.step.map_or_else(|| self.is_idle(seen.completed), |step| step.idle);
        let Some(target) = self.target() else { return };
        let late = if latency > target { seen.stands_for } else { Nanos::ZERO };
        if let Some(step) = &mut self.step {
            step.requests += 1;
            let in_step = seen.completed.since(seen.submitted.max(step.began));
            step.longest = step.longest.max(in_step);
            step.late += if step.idle { Nanos::ZERO } else { late };
        } else {
            let mean = if self.usual.0 == 0 { latency.0 } else { self.usual.0 };
            self.usual = Nanos(mean - mean / 16 + latency.0 / 16);
        }
        if !is_idle {
            self.spend(late);
        }
    }

    fn foreground(&mut self, now: Instant, requests: u64) {
        if requests == 0 {
            return;
        }
        self.keep(now);
        if let Some(step) = self.step.as_mut().filter(|step| step.idle && !step.disturbed) {
            step.disturbed = true;
            self.idle_after = Nanos(self.idle_after.0.saturating_mul(2)).min(IDLE_AFTER_MAX);
            self.undisturbed = Nanos::ZERO;
        }
        self.last_request_at = now;
    }
}

fn ppm(value: u64) -> Ppm {
    Ppm(u32::try_from(value).unwrap_or(u32::MAX))
}

/// Late time as credit.
fn credit(late: Nanos) -> i128 {
    i128::from(late.0) * i128::from(ONE)
}
