//! `paced`: trims freed extents in steps that do not disturb the foreground. It sees one discard at
//! a time; the law of `trimpace`, which sees calls of FITRIM, is
//! [`Governor`](crate::pacing::Governor).
//!
//! # The question
//!
//! A discard of n blocks delays the foreground: on a drive that drains its queue for it, by its
//! whole service time; on others by less, or later. Drives differ by three orders of magnitude
//! \[S0\], so no fixed rate is right. The user states a *target*, the latency that requests keep,
//! except for a *tolerance*, the share of requests that may be later.
//!
//! # The law
//!
//! One discard at a time. Four quantities decide the next:
//!
//! | state | unit | what it is |
//! |---|---|---|
//! | `cost` | stall over length | how long a discard of a length delays the foreground, a line |
//! | `size` | blocks, in \[min, max\] | the length that was acceptable so far |
//! | `share` | ppm, in \[load / 64, load\] | part of the time that discards may take |
//! | `budget` | requests | late ones that the tolerance still covers; owed, if negative |
//!
//! **The stall of a discard** is measured. If at least four requests overlapped it, it is the
//! longest of their latencies minus the usual latency (without a discard nearby). If fewer did, it
//! is the service time of the discard: the wait of a request that arrives at its start, on a drive
//! that blocks.
//!
//! **Permitted** is a stall of `target * stall-share` or, if that is more, of one and a half times
//! the minimum cost of any discard: a command that takes 82.4 ms (vendor2 of \[S0\]) does not get
//! better by being short.
//!
//! **Size.** The next discard has `min(size, the longest with a permitted stall by cost)` blocks.
//! `size` starts at the minimum, grows by one minimum with each full discard whose stall was
//! permitted, and falls to half of the discard's length when the stall was not. It doubles instead
//! of growing by one while the stall is nearer to the least than to the permitted one by a factor
//! of 3: then twice the length cannot exceed the permitted stall, if cost is a line. Every 64th
//! discard has the minimum length, to measure the least again.
//!
//! **Spacing**, while the foreground is busy. After a discard that took s and stalled d comes the
//! longer of two pauses:
//! - `s * (1 - share) / share`, so that discards take no more than `share` of the time (s counts as
//!   at least 312 us, because a discard that is acknowledged at once is not free);
//! - `2 * (usual + d - target) / tolerance`, if positive: each discard makes requests late for so
//!   long, and half of the tolerance is spent on that.
//!
//! **Feedback.** The later cost of discards (work postponed by the drive, garbage collection) shows
//! in requests that overlap none. Each request in time earns half the tolerance, each late one
//! costs a request; at most two are saved, and a thousand owed. A late one that is owed halves
//! `share`, if it and a discard began after the last halving. `share` begins at its minimum and
//! climbs by `load / 64` a second while nothing is owed: so late requests are paid for before the
//! next attempt.
//!
//! **Idle time first.** When no request was outstanding for `idle`, there is no pause. The size
//! stays: the next request may come at any time.
//!
//! **Urgency** prevents starvation. It is u = 0 up to half of `backlog-max` or of `wait-max` and
//! rises to 1 at the full value; pauses are scaled by 1 - u. Extents freed beyond `backlog-max` are
//! skipped and counted.
//!
//! # What it guarantees
//!
//! - At most one discard is in flight, and at most `backlog-max` bytes wait.
//! - Extents that have waited for `wait-max` are discarded as fast as the drive allows, regardless
//!   of the foreground.
//! - Without urgency, a busy foreground shares the drive with discards for at most `load` of the
//!   time.
//! - If the cost of a length does not change and is a line, no stall exceeds the permitted one by
//!   more than a quarter (the part that four requests may miss), except for the first discard,
//!   whose cost is unknown, and for noise.
//! - If in addition the requests come evenly and keep the target by themselves, and there is no
//!   urgency, at most the tolerance is late in the long run. This holds even if one command takes
//!   longer than the target: then discards are rare.
//! - In the steady state `size` moves between half of the longest permitted length and, above it, a
//!   quarter and one minimum; `share` between half of what the drive bears and what it climbs above
//!   it until late requests are seen.
//!
//! # What it cannot guarantee
//!
//! - An extent that cannot be divided goes at once, however long; it is paid by a longer pause.
//! - The first request after idle time may find a discard in flight, of the permitted stall.
//! - A target that the foreground misses by itself is missed; `share` then goes to its minimum.
//! - Costs that come later than the next few discards are blamed on those. Discards of others are
//!   not seen at all.
//! - A tail beyond what is observed: a target at a tolerance of 0.1 % needs thousands of requests.
//! - Under urgency the target gives way to the bounds.
//!
//! Sources: additive increase and multiplicative decrease \[CHIU89\]; no growth by what was not
//! used \[RFC7661\]; urgency by backlog as Pebble paces deletions \[PEBBLE\]; idle time as f2fs
//! \[LINUXT\].

use trimbench_core::settings::{FromSettings as _, SettingError, Values, default_to, within};
use trimbench_core::units::narrow;
use trimbench_core::{Blocks, Bytes, Instant, Nanos, Ppm, settings};

use crate::pacing::{later, scaled};
use crate::policy::{
    Backlog, Foreground, Grant, PolicyInfo, PolicyOrigin, TrimPolicy, whole_blocks,
};
use cost::Cost;
use sensor::{Discard, Sensor};

mod cost;
mod sensor;

#[cfg(test)]
mod tests;

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "paced",
    summary: "sizes and spaces discards so that the foreground keeps a target latency",
    origin: PolicyOrigin::Proposal("ours"),
    parameters: Settings::rows,
    build: Some(|values| Ok(Box::new(Paced::new(Settings::read(values)?)))),
};

/// The longest discard of all.
const DISCARD_MAX: Bytes = Bytes::gib(1 << 10);
/// One discard in so many has the minimal length.
const PROBE_EVERY: u32 = 64;
/// `share` has so many steps up to `load`: it is one at least, and climbs by one each
/// [`CLIMB_TIME`].
const SHARE_STEPS: u32 = 64;
const CLIMB_TIME: Nanos = Nanos::from_secs(1);
/// A discard counts for so long at least, or one that is acknowledged at once would cost nothing.
/// At the default load that allows 160 a second, as f2fs does beside a foreground: 8 every 50 ms
/// \[LINUXT\].
const SERVICE_MIN: Nanos = Nanos::from_micros(312);
const ONE: u64 = Ppm::ONE.0 as u64;

/// The state of the law.
#[derive(Clone, Copy, Debug)]
struct Paced {
    settings: Settings,
    cost: Cost,
    size: Blocks,
    share: Ppm,
    /// From when on the next climb of `share` counts.
    climbs_from: Instant,
    /// Discards since the last one of the minimal length.
    since_probe: u32,
    sensor: Sensor,
}

settings! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Settings(values) {
        /// latency limit for requests of the foreground (assumed: middle of FreeBSD CAM's band)
        target: Nanos = "target", default_to("10ms"), within(Nanos(10_000), Nanos::from_secs(60));
        /// share of the requests that may be later than the target (p99.9)
        tolerance: Ppm = "tolerance", default_to("0.1%"), within(Ppm(2), Ppm(500_000));
        /// share of the target by which one discard may delay the foreground (assumed)
        stall_share: Ppm = "stall-share", default_to("50%"), within(Ppm(10_000), Ppm::ONE);
        /// share of the time that discards may take in a busy foreground (proposed for Scylla)
        load: Ppm = "load", default_to("5%"), within(Ppm(100), Ppm::ONE);
        /// shortest discard, and the step of growth (btrfs, BTRFS_ASYNC_DISCARD_MAX_FILTER)
        discard_min: Blocks = "discard-min", default_to("1MiB"),
            whole_blocks(Bytes::gib(1), values);
        /// longest discard (OpenZFS, zfs_trim_extent_bytes_max)
        discard_max: Blocks = "discard-max", default_to("128MiB"),
            whole_blocks(DISCARD_MAX, values);
        /// time without requests after which the foreground is idle (assumed; f2fs: 5 s)
        idle: Nanos = "idle", default_to("100ms"), within(Nanos(1_000), Nanos::from_secs(3_600));
        /// bytes waiting, at most; more is skipped (assumed: a quarter of a small drive)
        backlog_max: Blocks = "backlog-max", default_to("64GiB"),
            whole_blocks(Bytes::gib(1 << 20), values);
        /// time after which a discard is sent regardless of the foreground (assumed)
        wait_max: Nanos = "wait-max", default_to("24h"),
            within(Nanos::from_millis(1), Nanos::from_secs(365 * 86_400));
    }
    check Settings::check;
}

impl Settings {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        let [low, high] =
            [self.discard_min, self.discard_max].map(|blocks| blocks.bytes(values.block_size()));
        values.check_within("discard-max", high, low, DISCARD_MAX)
    }

    fn share_step(&self) -> Ppm {
        Ppm((self.load.0 / SHARE_STEPS).max(1))
    }
}

impl Paced {
    fn new(settings: Settings) -> Self {
        Self {
            cost: Cost::default(),
            size: settings.discard_min,
            share: settings.share_step(),
            climbs_from: Instant::START,
            since_probe: 0,
            sensor: Sensor::new(settings.target, Ppm(settings.tolerance.0 / 2)),
            settings,
        }
    }

    /// The longest stall that a discard may cause.
    fn permitted(&self) -> Nanos {
        let least = self.cost.least();
        self.settings.target.scaled(self.settings.stall_share).max(least + Nanos(least.0 / 2))
    }

    /// How long the next discard may be, but for probes.
    fn length(&self) -> Blocks {
        let Settings { discard_min, discard_max, .. } = self.settings;
        let by_cost = self.cost.longest_within(self.permitted(), discard_min);
        self.size.min(by_cost).clamp(discard_min, discard_max)
    }

    /// The pause after `discard`, in a busy foreground without urgency.
    fn pause(&self, discard: &Discard) -> Nanos {
        let share = u64::from(self.share.0);
        let by_share = scaled(discard.service().max(SERVICE_MIN), ONE - share, share);
        let waited = self.sensor.usual() + self.sensor.stall_of(discard);
        let late = waited.saturating_sub(self.settings.target);
        by_share.max(scaled(late, 2 * ONE, u64::from(self.settings.tolerance.0)))
    }

    /// 0 up to half of either bound, 1 at the whole of it. As of `at`, the end of the last discard:
    /// so a pause does not change unless something happens.
    fn urgency(&self, at: Instant, backlog: &Backlog) -> Ppm {
        let waited = at.since(backlog.oldest).0;
        let used = portion(backlog.blocks.0, self.settings.backlog_max.0)
            .max(portion(waited, self.settings.wait_max.0));
        Ppm((2 * used.0).saturating_sub(Ppm::ONE.0))
    }

    /// Draws the conclusions from the last discard, once.
    fn learn(&mut self) {
        let Some(discard) = self.sensor.conclude() else { return };
        let (stall, min) = (self.sensor.stall_of(&discard), self.settings.discard_min);
        self.cost.learn(discard.blocks, stall, min);
        let (permitted, least) = (self.permitted(), self.cost.least());
        if stall > permitted {
            if discard.blocks <= self.size {
                self.size = Blocks(discard.blocks.0 / 2).max(min);
            }
        } else if discard.blocks >= self.size {
            let safe = stall.saturating_sub(least) <= Nanos((permitted - least).0 / 4);
            let step = if safe { self.size } else { min };
            self.size = (self.size + step).min(self.settings.discard_max);
        }
        debug_assert!(self.size >= min && self.size <= self.settings.discard_max);
    }

    fn climb(&mut self, now: Instant) {
        if self.sensor.in_debt() {
            self.climbs_from = now;
            return;
        }
        let steps = now.since(self.climbs_from).0 / CLIMB_TIME.0;
        let climbed = steps.saturating_mul(self.settings.share_step().0.into());
        let share = climbed.saturating_add(self.share.0.into()).min(self.settings.load.0.into());
        self.share = Ppm(narrow(share));
        self.climbs_from += CLIMB_TIME.times(steps);
    }

    fn back_off(&mut self, now: Instant) {
        self.share = Ppm(self.share.0 / 2).max(self.settings.share_step());
        self.climbs_from = now;
    }
}

impl TrimPolicy for Paced {
    fn admit(&mut self, _: Instant, freed: Blocks, backlog: &Backlog) -> Blocks {
        backlog.room(self.settings.backlog_max).min(freed)
    }

    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant {
        if backlog.in_flight > 0 {
            return Grant::Idle;
        }
        let ready_at = self.sensor.last_done().map_or(Instant::START, |discard| {
            let calm = Ppm(Ppm::ONE.0 - self.urgency(discard.done_at, backlog).0);
            later(discard.done_at, self.pause(discard).scaled(calm))
        });
        let idle_at = self.sensor.idle_from(self.settings.idle);
        let due = ready_at.min(idle_at).min(later(backlog.oldest, self.settings.wait_max));
        if now < due {
            return Grant::Until(due);
        }
        self.learn();
        Grant::Blocks(if self.since_probe + 1 >= PROBE_EVERY {
            self.settings.discard_min
        } else {
            self.length()
        })
    }

    fn issued(&mut self, now: Instant, blocks: Blocks) {
        self.since_probe =
            if blocks <= self.settings.discard_min { 0 } else { self.since_probe + 1 };
        self.sensor.issued(now, blocks);
    }

    fn completed(&mut self, now: Instant) {
        self.sensor.discarded(now);
        self.climb(now);
    }

    fn foreground(&mut self, now: Instant, seen: Foreground) {
        if self.sensor.foreground(now, seen) {
            self.back_off(now);
        }
    }
}

/// `part` of `whole`, at most one.
fn portion(part: u64, whole: u64) -> Ppm {
    let portion = u128::from(part) * u128::from(ONE) / u128::from(whole);
    Ppm(u32::try_from(portion).unwrap_or(u32::MAX)).min(Ppm::ONE)
}
