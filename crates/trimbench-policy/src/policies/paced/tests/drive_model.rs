//! Small drive models: a foreground, a drive and a [`Trimmer`], in virtual time.
//!
//! The drive serves requests one by one, in their order. It either drains its queue for a discard
//! (its cost then delays all that follows) or acknowledges it at once and works it off later,
//! taking a share of its time; what it puts off beyond a slack makes it serve slowly. Frees and
//! requests come by the clock, so that no stall slows them down.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use trimbench_core::rng::Rng;
use trimbench_core::settings::{FromSettings as _, Values};
use trimbench_core::units::narrow;
use trimbench_core::{BlockSize, Blocks, Bytes, Instant, Lba, LbaRange, Nanos, Ppm};

use super::super::Settings;
use crate::law_policy::LawPolicy;
use crate::pacing::{GovernorAccount, GradualGovernor};
use crate::policy::{Backlog, Foreground, Grant, TrimPolicy};
use crate::queue::QueueCounters;
use crate::trimmer::{Extents, Options, Trimmer, TrimmerStep};

const BLOCK_BYTES: u64 = 4_096;

/// A model.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriveModel {
    pub(super) policy: &'static str,
    pub(super) extents: Extents,
    pub(super) drive: Drive,
    pub(super) load: Load,
    /// This much is freed at the start, as one extent, ...
    pub(super) freed: Bytes,
    /// ... and this much each second.
    pub(super) freed_per_second: Bytes,
    pub(super) duration: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    pub(super) command: Nanos,
    pub(super) per_gib: Nanos,
    /// Costs vary evenly by so much, up and down.
    pub(super) noise: Ppm,
    pub(super) mode: Mode,
    /// What a request takes.
    pub(super) request: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    Blocking,
    /// Works discards off in `share` of the time, and takes `slow` for a request while more than
    /// `slack` is left.
    Background {
        share: Ppm,
        slack: Nanos,
        slow: Nanos,
    },
}

/// Requests at even intervals, during the first `on` of every `on + off`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) interval: Nanos,
    pub(super) on: Nanos,
    pub(super) off: Nanos,
}

/// What happened.
#[derive(Debug)]
pub(super) struct Run {
    /// The latencies of all requests.
    pub(super) requests: Vec<Nanos>,
    pub(super) discards: Vec<Issue>,
    pub(super) account: GovernorAccount,
    pub(super) counters: QueueCounters,
    /// The most that waited.
    pub(super) waiting_max: Bytes,
    /// What still waits.
    pub(super) waiting: Bytes,
}

/// A discard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issue {
    pub(super) at: Instant,
    pub(super) bytes: Bytes,
    pub(super) service: Nanos,
}

/// The law at work in a trimmer, which can be looked into meanwhile.
#[derive(Clone, Debug)]
struct Watched(Arc<Mutex<LawPolicy<GradualGovernor>>>);

impl Watched {
    fn law(&self) -> MutexGuard<'_, LawPolicy<GradualGovernor>> {
        self.0.lock().unwrap()
    }
}

impl TrimPolicy for Watched {
    fn admit(&mut self, now: Instant, freed: Blocks, backlog: &Backlog) -> Blocks {
        self.law().admit(now, freed, backlog)
    }

    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant {
        self.law().grant(now, backlog)
    }

    fn issued(&mut self, now: Instant, blocks: Blocks) {
        self.law().issued(now, blocks);
    }

    fn completed(&mut self, now: Instant) {
        self.law().completed(now);
    }

    fn foreground(&mut self, now: Instant, seen: Foreground) {
        self.law().foreground(now, seen);
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Request,
    RequestDone { submitted: Instant },
    DiscardDone,
    Free { bytes: Bytes },
}

impl Default for DriveModel {
    /// A drive with a fair TRIM beside 1000 requests a second; 16 GiB are freed at the start.
    fn default() -> Self {
        let ever = Nanos::from_secs(1 << 30);
        Self {
            policy: "paced",
            extents: Extents::Divisible,
            drive: Drive {
                command: Nanos::from_micros(200),
                per_gib: Nanos::from_millis(100),
                noise: Ppm(0),
                mode: Mode::Blocking,
                request: Nanos::from_micros(100),
            },
            load: Load { interval: Nanos::from_millis(1), on: ever, off: Nanos::ZERO },
            freed: Bytes::gib(16),
            freed_per_second: Bytes(0),
            duration: Nanos::from_secs(300),
        }
    }
}

impl Run {
    /// The share of the requests that were later than `target`.
    pub(super) fn late(&self, target: Nanos) -> Ppm {
        let late = self.requests.iter().filter(|&&latency| latency > target).count() as u64;
        Ppm(narrow(late * 1_000_000 / self.requests.len() as u64))
    }

    /// The share of the time until the last discard that discards took.
    pub(super) fn occupied(&self) -> Ppm {
        let service: u64 = self.discards.iter().map(|discard| discard.service.0).sum();
        let time = self.discards.last().unwrap().at.since_start().0;
        Ppm(narrow(service * 1_000_000 / time))
    }
}

impl DriveModel {
    pub(super) fn run(&self) -> Run {
        let mut world = World::new(self);
        while world.step() {}
        world.finish()
    }
}

struct World<'a> {
    model: &'a DriveModel,
    policy: Watched,
    trimmer: Trimmer,
    rng: Rng,
    events: BTreeMap<(Instant, u64), Event>,
    sequence: u64,
    /// When the policy is asked again if nothing happens before.
    wake_at: Instant,
    free_at: Instant,
    worked_off_at: Instant,
    outstanding: u64,
    freed_to: Lba,
    run: Run,
}

impl<'a> World<'a> {
    fn new(model: &'a DriveModel) -> Self {
        let block_size = BlockSize::new(Bytes(BLOCK_BYTES)).unwrap();
        let rows = Settings::rows();
        let mut values = Values::new("parameter", "`paced`").in_preset(&rows, 0);
        for part in model.policy.split(',').skip(1) {
            values.set_part(&rows, part).unwrap();
        }
        let values = values.in_blocks(block_size);
        let law = Settings::read(&values).unwrap().build(&values);
        let policy = Watched(Arc::new(Mutex::new(law)));
        let discard_max = Bytes::gib(2).blocks_floor(block_size);
        let options = Options { discard_max, extents: model.extents, extents_max: 1 << 20 };
        let trimmer = Trimmer::new(Box::new(policy.clone()), options);
        let run = Run {
            requests: Vec::new(),
            discards: Vec::new(),
            account: GovernorAccount::default(),
            counters: QueueCounters::default(),
            waiting_max: Bytes(0),
            waiting: Bytes(0),
        };
        let mut world = Self {
            model,
            policy,
            trimmer,
            rng: Rng::new(1),
            events: BTreeMap::new(),
            sequence: 0,
            wake_at: Instant::NEVER,
            free_at: Instant::START,
            worked_off_at: Instant::START,
            outstanding: 0,
            freed_to: Lba(0),
            run,
        };
        world.schedule(Instant::START, Event::Free { bytes: model.freed });
        if model.freed_per_second > Bytes(0) {
            for second in 1..=model.duration.0 / Nanos::from_secs(1).0 {
                let at = Instant::from_start(Nanos::from_secs(second));
                world.schedule(at, Event::Free { bytes: model.freed_per_second });
            }
        }
        if model.load.on > Nanos::ZERO {
            world.schedule(Instant::START, Event::Request);
        }
        world
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.sequence += 1;
        self.events.insert((at, self.sequence), event);
    }

    fn step(&mut self) -> bool {
        let next = self.events.first_key_value().map_or(Instant::NEVER, |(&(at, _), _)| at);
        let now = next.min(self.wake_at);
        if now.since_start() > self.model.duration {
            return false;
        }
        if next == now {
            let (_, event) = self.events.pop_first().unwrap();
            self.happen(now, event);
        }
        let waiting = blocks_bytes(self.trimmer.backlog().blocks);
        self.run.waiting_max = self.run.waiting_max.max(waiting);
        self.wake_at = self.trim(now);
        true
    }

    fn happen(&mut self, now: Instant, event: Event) {
        match event {
            Event::Request => {
                self.outstanding += 1;
                let start = now.max(self.free_at);
                self.free_at = start + self.request_cost(start);
                self.schedule(self.free_at, Event::RequestDone { submitted: now });
                self.schedule(self.next_request(now), Event::Request);
                self.look(now, None);
            }
            Event::RequestDone { submitted } => {
                self.outstanding -= 1;
                self.run.requests.push(now - submitted);
                self.look(now, Some(now - submitted));
            }
            Event::DiscardDone => self.trimmer.completed(now),
            Event::Free { bytes } if bytes > Bytes(0) => {
                let length = Blocks(bytes.0 / BLOCK_BYTES);
                self.trimmer.freed(now, LbaRange::new(self.freed_to, length).unwrap());
                // A hole between extents, so that each stays one.
                self.freed_to = self.freed_to + length + Blocks(1);
            }
            Event::Free { .. } => {}
        }
    }

    fn look(&mut self, now: Instant, latency: Option<Nanos>) {
        self.trimmer.foreground(now, Foreground { outstanding: self.outstanding, latency });
    }

    /// Issues what may be issued; when to ask again.
    fn trim(&mut self, now: Instant) -> Instant {
        loop {
            match self.trimmer.next(now) {
                TrimmerStep::Discard(range) => {
                    let bytes = blocks_bytes(range.length());
                    let done = self.discard(now, bytes);
                    self.schedule(done, Event::DiscardDone);
                    self.run.discards.push(Issue { at: now, bytes, service: done - now });
                }
                TrimmerStep::Until(at) => return at,
                TrimmerStep::Idle => return Instant::NEVER,
            }
        }
    }

    fn discard(&mut self, now: Instant, bytes: Bytes) -> Instant {
        let Drive { command, per_gib, noise, mode, .. } = self.model.drive;
        let work = (u128::from(per_gib.0) * u128::from(bytes.0)) >> 30;
        let cost = command + Nanos(u64::try_from(work).unwrap());
        let factor = 1_000_000 - u64::from(noise.0) + self.rng.below(2 * u64::from(noise.0) + 1);
        let cost = cost.scaled(Ppm(narrow(factor)));
        match mode {
            Mode::Blocking => {
                self.free_at = now.max(self.free_at) + cost;
                self.free_at
            }
            Mode::Background { share, .. } => {
                let span = Nanos(cost.0 * 1_000_000 / u64::from(share.0));
                self.worked_off_at = now.max(self.worked_off_at) + span;
                now + Nanos::from_micros(100)
            }
        }
    }

    fn request_cost(&self, start: Instant) -> Nanos {
        match self.model.drive.mode {
            Mode::Background { slack, slow, .. } if self.worked_off_at.since(start) > slack => slow,
            _ => self.model.drive.request,
        }
    }

    fn next_request(&self, now: Instant) -> Instant {
        let Load { interval, on, off } = self.model.load;
        let next = now + interval;
        let period = on + off;
        let within = next.since_start().0 % period.0;
        if within < on.0 { next } else { next + Nanos(period.0 - within) }
    }

    fn finish(mut self) -> Run {
        self.run.account = self.policy.law().law().governor().account();
        self.run.counters = *self.trimmer.counters();
        self.run.waiting = blocks_bytes(self.trimmer.backlog().blocks);
        self.run
    }
}

fn blocks_bytes(blocks: Blocks) -> Bytes {
    Bytes(blocks.0 * BLOCK_BYTES)
}
