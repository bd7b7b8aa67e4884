//! The law in virtual time, on drives whose waits have closed forms.

mod exact;

use std::collections::VecDeque;

use trimbench_core::rng::Rng;

use super::*;

/// A drive: discards of one call are queued behind each other, and requests come at random times.
#[derive(Clone, Copy, Debug)]
struct Drive {
    /// Of a command, and of a MiB of it.
    command: Nanos,
    mib: Nanos,
    /// Requests wait for the command under way only, not for those that are queued.
    overtakes: bool,
    /// Service time of a request, and the mean time from one to the next.
    service: Nanos,
    every: Nanos,
    /// Free extents of the filesystem, each of so many bytes.
    extents: u64,
    extent: Bytes,
    /// Whether a call may end within an extent.
    cuts: bool,
}

const DRIVE: Drive = Drive {
    command: Nanos::from_micros(200),
    mib: Nanos::from_micros(250),
    overtakes: true,
    service: Nanos::from_micros(100),
    every: Nanos::from_millis(2),
    extents: 4_000,
    extent: Bytes::mib(128),
    cuts: false,
};

/// No pass comes near so many looks at the law.
const MOST_LOOKS: u32 = 300_000;

/// What a pass was like.
#[derive(Debug, Default)]
struct Pass {
    took: Nanos,
    latencies: Vec<Nanos>,
    commands: u64,
    bytes: Bytes,
    steps: u64,
}

impl Pass {
    fn late(&self, target: Nanos) -> f64 {
        let late = self.latencies.iter().filter(|it| **it > target).count();
        late as f64 / self.latencies.len() as f64
    }
}

/// A queue in which commands and requests are served one after the other.
struct Simulation<'a> {
    drive: Drive,
    law: &'a mut Governor,
    rng: Rng,
    now: Instant,
    free_at: Instant,
    next_request: Instant,
    pass: Pass,
    /// Requests that complete at an instant that was not told yet.
    told: VecDeque<SeenRequest>,
}

impl Simulation<'_> {
    fn run(mut self, change: &mut dyn FnMut(Instant, &mut Drive)) -> Pass {
        let (mut left, mut part) = (self.drive.extents, Bytes(0));
        let mut looks = 0;
        while left > 0 {
            looks += 1;
            assert!(looks < MOST_LOOKS, "the pass does not end");
            change(self.now, &mut self.drive);
            let bytes = Bytes(left * self.drive.extent.0 - part.0);
            let remaining = Amount { discards: left, bytes };
            let upcoming = Amount { discards: 1, bytes: self.drive.extent };
            match self.law.next(self.now, Work { upcoming, remaining }) {
                PaceStep::Until(at) => {
                    let soon = later(self.now, Nanos::from_millis(5));
                    self.requests_until(at.min(soon).max(later(self.now, Nanos(1_000))));
                }
                PaceStep::Step(limit) => {
                    let size = self.size(limit, left, part);
                    self.step(limit, size.1);
                    part = Bytes(part.0 + size.1.0);
                    left -= part.0 / self.drive.extent.0;
                    part = Bytes(part.0 % self.drive.extent.0);
                }
            }
        }
        self.pass.took = self.now.since_start();
        self.pass
    }

    /// Extents and bytes of the next step, as `trimpace` cuts it.
    fn size(&self, limit: StepLimit, left: u64, part: Bytes) -> (u64, Bytes) {
        let StepExtent::Cost { budget, cost, longest } = limit.extent else { panic!("by cost") };
        let rest = Bytes(self.drive.extent.0 - part.0);
        if let Some(longest) = longest.filter(|longest| self.drive.cuts && *longest < rest) {
            return (1, longest);
        }
        let piece = limit.piece.unwrap_or(Bytes::gib(2)).0;
        let whole = |count: u64| {
            let bytes = Bytes(rest.0 + (count - 1) * self.drive.extent.0);
            (count, bytes, cost.of(Amount { discards: count + bytes.0 / piece, bytes }))
        };
        let fits = (1..=left).map(whole).take_while(|it| it.0 == 1 || it.2 <= budget).last();
        let (count, bytes, _) = fits.unwrap();
        (count, bytes)
    }

    fn step(&mut self, limit: StepLimit, bytes: Bytes) {
        self.law.began(self.now);
        self.pass.steps += 1;
        let piece = limit.piece.unwrap_or(Bytes::gib(2)).0;
        let (mut left, mut commands) = (bytes.0, 0);
        let mut of_extent = self.drive.extent.0.min(left);
        while left > 0 {
            let length = piece.min(of_extent);
            let cost = self.drive.command + scaled(self.drive.mib, length, 1 << 20);
            let start = self.now.max(self.free_at);
            self.free_at = later(start, cost);
            commands += 1;
            left -= length;
            of_extent -= length;
            let ends_extent = of_extent == 0;
            if ends_extent {
                of_extent = self.drive.extent.0.min(left);
            }
            // The kernel waits for an extent; its pieces are queued at once.
            if self.drive.overtakes || ends_extent {
                self.requests_until(self.free_at.max(self.now));
            }
        }
        let done_at = self.free_at.max(self.now);
        self.requests_until(done_at);
        self.pass.commands += commands;
        self.pass.bytes = Bytes(self.pass.bytes.0 + bytes.0);
        self.law.ended(self.now, Amount { discards: commands, bytes });
    }

    /// Lets time pass; requests that come meanwhile are queued.
    fn requests_until(&mut self, until: Instant) {
        while self.next_request < until {
            let submitted = self.next_request;
            let start = submitted.max(self.free_at);
            self.free_at = later(start, self.drive.service);
            let stands_for = self.drive.every;
            let completed = self.free_at;
            self.told.push_back(SeenRequest { submitted, completed, stands_for });
            self.pass.latencies.push(self.free_at.since(submitted));
            let mean = 2 * self.drive.every.0;
            self.next_request = later(submitted, Nanos(1 + self.rng.below(mean)));
        }
        self.now = self.now.max(until);
        let mut completed = 0;
        while self.told.front().is_some_and(|seen| seen.completed <= self.now) {
            self.law.request(self.told.pop_front().unwrap());
            completed += 1;
        }
        self.law.foreground(self.now, completed);
    }
}

fn options(target: Nanos) -> GovernorOptions {
    let target = PaceTarget::Latency { target, tolerance: Ppm(10_000) };
    GovernorOptions { target, deadline: None, device_piece: Bytes::gib(2) }
}

fn pass_with(
    drive: Drive,
    options: GovernorOptions,
    change: &mut dyn FnMut(Instant, &mut Drive),
) -> (Pass, Governor) {
    let mut law = Governor::new(options);
    let simulation = Simulation {
        drive,
        law: &mut law,
        rng: Rng::new(7),
        now: Instant::START,
        free_at: Instant::START,
        next_request: Instant::START,
        pass: Pass::default(),
        told: VecDeque::new(),
    };
    (simulation.run(change), law)
}

fn pass(drive: Drive, target: Nanos) -> (Pass, Governor) {
    pass_with(drive, options(target), &mut |_, _| {})
}

/// The shortest time in which n discards of cost c keep the tolerance, in one queue: a request that
/// arrives t after the start of one waits c - t (1 - load).
fn least_time(drive: Drive, target: Nanos, cost: Nanos) -> Nanos {
    let load = drive.service.0 * 1_000 / drive.every.0;
    let late = (cost.0 - target.0) * 1_000 / (1_000 - load);
    Nanos(drive.extents * late * 100)
}

fn assert_between(found: Nanos, low: Nanos, high: Nanos) {
    assert!(found >= low && found <= high, "{found} is not in [{low}, {high}]");
}

#[test]
fn where_requests_overtake_pieces_are_made_short_and_nothing_waits() {
    let target = Nanos::from_micros(1_500);
    let (pass, law) = pass(DRIVE, target);
    assert!(pass.late(target) <= 0.01, "{}", pass.late(target));
    // The longest piece that fits: (1.5 - 0.1 - 0.2) / 0.25 = 4.8 MiB.
    assert!(matches!(law.piece(), Some(Bytes(0x20_0000..=0x4d_0000))), "{:?}", law.piece());
    let alone = Nanos(DRIVE.mib.0 * 128 * DRIVE.extents + DRIVE.command.0 * DRIVE.extents);
    assert_between(pass.took, alone, Nanos(alone.0 * 3 / 2));
}

#[test]
fn where_one_command_exceeds_the_target_discards_are_spaced_as_far_as_they_must_be() {
    let cost = Nanos::from_millis(10);
    let drive = Drive {
        command: cost,
        mib: Nanos(0),
        overtakes: false,
        extents: 200,
        extent: Bytes::mib(1),
        ..DRIVE
    };
    let target = Nanos::from_millis(5);
    let (pass, law) = pass(drive, target);
    assert!(pass.late(target) <= 0.01, "{}", pass.late(target));
    let least = least_time(drive, target, cost);
    assert_between(pass.took, least, Nanos(least.0 * 3 / 2));
    assert_eq!(law.account().floor_steps, 0);
}

#[test]
fn extents_are_cut_where_that_keeps_every_request_in_time() {
    // 100 ms and 0.5 s a GiB; a request waits for less than 300 ms if 250 MiB are cut off.
    let drive = Drive {
        command: Nanos::from_millis(100),
        mib: Nanos::from_micros(488),
        overtakes: false,
        extents: 40,
        extent: Bytes::gib(1),
        cuts: true,
        ..DRIVE
    };
    let target = Nanos::from_millis(300);
    let (pass, _) = pass(drive, target);
    assert!(pass.late(target) <= 0.01, "{}", pass.late(target));
    let one_step = |limit: Nanos| (limit.0 - 100_000_000) / 488_000;
    let steps = 40 * 1_024 / one_step(target.scaled(WITHIN));
    // The cuts are so many, and no pause is needed between them.
    let work = Nanos::from_millis(100 * steps + 40 * 500);
    assert_between(pass.took, Nanos(work.0 / 2), Nanos(2 * work.0));
}

#[test]
fn pieces_stay_those_of_the_device_where_nothing_overtakes_them() {
    let drive = Drive { overtakes: false, extents: 300, ..DRIVE };
    let target = Nanos::from_millis(5);
    let (pass, law) = pass(drive, target);
    assert_eq!(law.overtakes(), Some(false));
    assert!(law.piece().is_none_or(|piece| piece >= Bytes::mib(32)), "{:?}", law.piece());
    assert!(pass.late(target) <= 0.01, "{}", pass.late(target));
    let least = least_time(drive, target, Nanos::from_micros(32_200));
    assert_between(pass.took, Nanos(least.0 * 9 / 10), Nanos(least.0 * 3 / 2));
}

#[test]
fn without_a_foreground_nothing_waits() {
    let drive = Drive { every: Nanos::from_secs(1_000_000), extents: 500, ..DRIVE };
    let (pass, _) = pass(drive, Nanos::from_micros(100));
    let alone = Nanos((drive.mib.0 * 128 + drive.command.0) * drive.extents);
    assert_between(pass.took, alone, Nanos(alone.0 * 12 / 10));
}

#[test]
fn a_deadline_is_met_and_its_late_share_is_said_before() {
    let cost = Nanos::from_millis(10);
    let drive = Drive {
        command: cost,
        mib: Nanos(0),
        overtakes: false,
        extents: 1_000,
        extent: Bytes::mib(1),
        ..DRIVE
    };
    let target = Nanos::from_millis(5);
    let deadline = later(Instant::START, Nanos::from_secs(120));
    let options = GovernorOptions { deadline: Some(deadline), ..options(target) };
    let mut said = None;
    let mut law = Governor::new(options);
    let simulation = Simulation {
        drive,
        law: &mut law,
        rng: Rng::new(3),
        now: Instant::START,
        free_at: Instant::START,
        next_request: Instant::START,
        pass: Pass::default(),
        told: VecDeque::new(),
    };
    let pass = simulation.run(&mut |_, _| {});
    let remaining = Amount { discards: 900, bytes: Bytes::mib(900) };
    said.get_or_insert(law.forecast(later(Instant::START, Nanos::from_secs(12)), remaining));
    assert_between(pass.took, Nanos::from_secs(100), Nanos::from_secs(121));
    let late = pass.late(target);
    // In one queue: 1,000 discards, of each 5 ms / 0.95, in 120 s.
    let wanted = 1_000.0 * 0.005 / 0.95 / 120.0;
    assert!(late > 0.01 && late <= 1.1 * wanted, "{late} for {wanted}");
    let said = said.flatten().unwrap().late.fraction();
    assert!((said / late - 1.0).abs() < 0.25, "{said} was said, {late} came");
}

#[test]
fn a_cost_that_rises_tenfold_midway_is_followed() {
    let drive = Drive {
        command: Nanos::from_millis(1),
        mib: Nanos(0),
        overtakes: false,
        extents: 600,
        extent: Bytes::mib(1),
        ..DRIVE
    };
    let target = Nanos::from_millis(5);
    let begins = later(Instant::START, Nanos::from_millis(400));
    let (pass, _) = pass_with(drive, options(target), &mut |now, drive| {
        if now > begins {
            drive.command = Nanos::from_millis(10);
        }
    });
    assert!(pass.late(target) <= 0.011, "{}", pass.late(target));
}

#[test]
fn a_foreground_that_misses_the_target_by_itself_starves_nothing() {
    let drive = Drive {
        command: Nanos::from_millis(1),
        service: Nanos::from_micros(1_500),
        extents: 50,
        extent: Bytes::mib(1),
        overtakes: false,
        ..DRIVE
    };
    let (pass, law) = pass(drive, Nanos::from_millis(1));
    assert_eq!(pass.bytes, Bytes::mib(50));
    assert!(law.account().floor_steps > 0);
}

#[test]
fn without_any_latency_the_pace_is_the_slowest() {
    let mut law = Governor::new(options(Nanos::from_millis(5)));
    let mut now = Instant::START;
    let mut steps = 0;
    let one = Amount { discards: 1, bytes: Bytes::mib(1) };
    let remaining = Amount { discards: 100, bytes: Bytes::mib(100) };
    while now < later(Instant::START, Nanos::from_secs(100)) {
        law.foreground(now, 10);
        match law.next(now, Work { upcoming: one, remaining }) {
            PaceStep::Until(at) => {
                assert!(at > now, "no time would pass");
                now = at.min(later(now, Nanos::from_millis(100)));
            }
            PaceStep::Step(_) => {
                law.began(now);
                now = later(now, Nanos::from_millis(10));
                // A latency of nothing is none.
                let stands_for = Nanos::from_millis(5);
                law.request(SeenRequest { submitted: now, completed: now, stands_for });
                law.ended(now, Amount { discards: 1, bytes: Bytes::mib(1) });
                steps += 1;
            }
        }
    }
    // 10 ms at 0.85 % of the time: one in 1.2 s.
    assert!((70..=90).contains(&steps), "{steps}");
}

#[test]
fn a_hiccup_at_the_start_does_not_decide_the_pass() {
    let mut first = true;
    let target = Nanos::from_micros(1_500);
    let (pass, _) = pass_with(DRIVE, options(target), &mut |now, drive| {
        // The first step alone is slow.
        drive.command = if now < later(Instant::START, Nanos::from_millis(150)) {
            Nanos::from_millis(9)
        } else {
            first = false;
            DRIVE.command
        };
    });
    assert!(!first);
    assert!(pass.late(target) <= 0.01, "{}", pass.late(target));
    let alone = Nanos((DRIVE.mib.0 * 128 + DRIVE.command.0) * DRIVE.extents);
    assert_between(pass.took, alone, Nanos(2 * alone.0));
}

#[test]
fn short_extents_are_never_cut_into_shorter_ones_to_look_what_that_costs() {
    let mut law = Governor::new(options(Nanos::from_millis(5)));
    let (mut now, mut steps) = (Instant::START, 0);
    while steps < 64 {
        let bytes = if steps % 8 == 0 { Bytes::kib(300) } else { Bytes::mib(1) };
        let remaining = Amount { discards: 64, bytes: Bytes::mib(64) };
        law.foreground(now, 1);
        match law.next(now, Work { upcoming: Amount { discards: 1, bytes }, remaining }) {
            PaceStep::Until(at) => {
                assert!(at > now, "no time would pass");
                now = at.min(later(now, Nanos::from_millis(100)));
            }
            PaceStep::Step(limit) => {
                assert!(limit.piece.is_none_or(|piece| piece >= bytes), "{limit:?}");
                law.began(now);
                let submitted = now;
                now = later(now, Nanos::from_millis(10));
                let stands_for = Nanos::from_millis(5);
                law.request(SeenRequest { submitted, completed: now, stands_for });
                law.ended(now, Amount { discards: 1, bytes });
                steps += 1;
            }
        }
    }
}
