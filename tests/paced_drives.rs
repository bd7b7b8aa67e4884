//! The governor in virtual time: emulated drives with a foreground and a churn of extents, trimmed
//! by the law of `trimpace` as a policy.
//!
//! A drive is half read at random and half divided into extents. Requests come at random times, as
//! an open loop: reads of 4 KiB, and writes that fill one freed extent after the other; whenever
//! one is full another is freed. Twice a stretch of requests comes ten times as fast. Each drive is
//! run twice: without any discard, which gives the target and the late share that the foreground
//! has by itself, and with them.
//!
//! The law's clock runs with that of the drive, but may jump forward, as after a suspend. It jumps
//! while no discard is under way, and requests that were outstanding are left out of what the law
//! is told: both are the caller's to see to.

use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::slab::Slab;
use trimbench_core::units::{index, narrow};
use trimbench_core::{
    BlockCommand, BlockSize, Blocks, Bytes, Completion, DriveDiscards, Instant, Lba, LbaRange,
    Medium, Model as _, Nanos, Ppm, Storage as _, Tag,
};
use trimbench_policy::pacing::{Amount, GovernorAccount, GradualGovernor};
use trimbench_policy::{
    Backlog, Extents, Foreground, Grant, LawPolicy, LawPolicyOptions, Options, TrimPolicy, Trimmer,
    TrimmerStep,
};
use trimbench_ssd::{Profile, Ssd, SsdConfig};

#[cfg(test)]
mod tests;

/// What is read at a time.
const READ: Bytes = Bytes::kib(4);
/// What is written at a time. Extents are multiples.
const WRITE: Bytes = Bytes::kib(16);
/// Extents have from one to so many units of 256 KiB.
const EXTENT_UNIT: Bytes = Bytes::kib(256);
const EXTENT_UNITS_MAX: u64 = 16;
/// Of the extents so many are free.
const FREE: Ppm = Ppm(200_000);
/// Of the requests so many are writes.
const WRITES: Ppm = Ppm(100_000);
/// The part of the drive's time that reads take in the stretch of fast requests.
const LOAD: Ppm = Ppm(250_000);
const FASTER: u64 = 10;
/// Reads that find how long one takes.
const SERIAL_READS: u64 = 1_000;
/// The target is so many times the 99th percentile of the foreground by itself, and at least
/// this.
const OVER_BASELINE: u64 = 4;
const TARGET_MIN: Nanos = Nanos::from_micros(500);
/// What the policy lets wait, at most.
const WAIT_MAX: Nanos = Nanos::from_secs(86_400);
/// What is overdue goes then, after the longest jump of the clock and one discard after the other.
pub const WAIT_LONGEST: Nanos = Nanos::from_secs(27 * 3_600);
/// The forecast is looked at after so many requests.
const LOOK_EVERY: u64 = 10_000;

/// A drive and what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacedDrive {
    /// A built-in profile.
    pub profile: &'static str,
    /// Its size here.
    pub capacity: Bytes,
    /// Requests and discards.
    pub commands: u64,
    /// The share of requests that may be late.
    pub tolerance: Ppm,
    /// How often the law's clock jumps forward, by a second to two hours.
    pub jumps: u64,
    /// After half of the commands all costs of a discard are so many times as high.
    pub dearer: u64,
    /// Of everything that is random.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct PacedOutcome {
    /// The latency that was to be kept.
    pub target: Nanos,
    /// Requests of the foreground.
    pub requests: u64,
    /// Of these, later than the target.
    pub late: u64,
    /// The share of late ones without discards.
    pub late_by_itself: Ppm,
    /// Requests and discards.
    pub commands: u64,
    /// What became of freed bytes.
    pub discards: DriveDiscards,
    /// The governor's own account.
    pub account: GovernorAccount,
    /// The highest late share that the governor said beforehand.
    pub said: Ppm,
    /// The longest that an extent has waited, by the law's clock.
    pub longest_wait: Nanos,
    /// How long all took in virtual time.
    pub took: Nanos,
}

/// The profiles of the full form.
pub const PROFILES: [&str; 20] = [
    "generic-nvme-dramless",
    "generic-nvme-qlc",
    "generic-nvme-tlc",
    "generic-sata-tlc",
    "plain-nvme-tlc",
    "like-850-pro",
    "like-960-pro",
    "like-callaghan-raid0",
    "like-m4-256",
    "like-m500",
    "like-p3500",
    "like-rc100",
    "like-us70",
    "like-vertex4",
    "vendor1",
    "vendor2",
    "vendor3",
    "vendor4",
    "vendor5",
    "vendor6",
];

impl PacedDrive {
    /// The drive by itself, and then with discards.
    ///
    /// # Errors
    /// There is no such profile, or it cannot be as small.
    pub fn run(&self) -> Result<PacedOutcome> {
        let profile = Profile::built_in(self.profile).context("no such profile")?;
        let config = SsdConfig { capacity: self.capacity, ..profile.config };
        let read = serial_read(&mut made(&config)?)?;
        let gap = Nanos(read.0 * FASTER * u64::from(Ppm::ONE.0) / u64::from(LOAD.0));
        let alone =
            Self { commands: (self.commands / 10).max(20_000), jumps: 0, dearer: 1, ..*self };
        let mut latencies = World::new(&alone, &config, gap, None)?.run()?.latencies;
        latencies.sort_unstable();
        let p99 = latencies.get(latencies.len() * 99 / 100).context("nothing was read")?;
        let target = Nanos(u64::from(*p99).saturating_mul(OVER_BASELINE)).max(TARGET_MIN);
        let late = latencies.iter().filter(|it| u64::from(**it) > target.0).count() as u64;
        let late_by_itself = share(late, latencies.len() as u64);
        drop(latencies);
        let world = World::new(self, &config, gap, Some(target))?.run()?;
        let governed = world.trim.context("it was trimmed")?;
        let account = governed.policy.law().law().governor().account();
        Ok(PacedOutcome {
            target,
            requests: world.requests,
            late: world.late,
            late_by_itself,
            commands: world.requests + governed.sent,
            discards: governed.trimmer.discards(world.block_size),
            account,
            said: governed.said,
            longest_wait: governed.longest_wait,
            took: world.now.since_start(),
        })
    }
}

impl PacedOutcome {
    /// The share of late requests beyond what the foreground has by itself.
    pub fn late_beyond(&self) -> Ppm {
        Ppm(share(self.late, self.requests).0.saturating_sub(self.late_by_itself.0))
    }

    /// Whether the governor said that it would miss the target: by its forecast, or because most
    /// steps were begun by the floor, which may miss it.
    pub fn is_announced(&self, tolerance: Ppm) -> bool {
        2 * self.account.floor_steps > self.account.steps || self.said > tolerance
    }

    /// Freed bytes that are in no account, or in two.
    pub fn unaccounted(&self) -> u64 {
        let DriveDiscards { freed, issued, skipped, invalidated, waiting, .. } = self.discards;
        let known = issued.bytes.0 + skipped.bytes.0 + invalidated.bytes.0 + waiting.0;
        freed.bytes.0.abs_diff(known)
    }
}

/// The policy, which can be looked into while a trimmer has it.
#[derive(Clone, Debug)]
struct Watched(Arc<Mutex<LawPolicy<GradualGovernor>>>);

impl Watched {
    fn law(&self) -> MutexGuard<'_, LawPolicy<GradualGovernor>> {
        self.0.lock().expect("nobody panics with it")
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

/// A drive, its foreground and what trims it.
#[derive(Debug)]
struct World<'a> {
    drive: &'a PacedDrive,
    config: SsdConfig,
    ssd: Ssd,
    block_size: BlockSize,
    rng: Rng,
    now: Instant,
    gap: Nanos,
    next_arrival: Instant,
    under_way: Slab<UnderWay>,
    outstanding: u64,
    files: Files,
    trim: Option<Governed>,
    requests: u64,
    target: Option<Nanos>,
    late: u64,
    /// Of all requests without discards, ns.
    latencies: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum UnderWay {
    Request { submitted: Instant },
    Discard,
}

/// The trimmer and its clock.
#[derive(Debug)]
struct Governed {
    trimmer: Trimmer,
    policy: Watched,
    /// By how much its clock is ahead of the drive's.
    ahead: Nanos,
    jumps_left: u64,
    /// When it last jumped, by the drive's clock.
    jumped_at: Instant,
    /// When it is asked again if nothing happens, by the drive's clock.
    wake_at: Instant,
    in_flight: Option<LbaRange>,
    sent: u64,
    said: Ppm,
    longest_wait: Nanos,
}

/// The extents: what is full, what is free, and what is being filled.
#[derive(Debug)]
struct Files {
    full: Vec<LbaRange>,
    free: Vec<LbaRange>,
    filling: Option<LbaRange>,
    written: Blocks,
}

impl<'a> World<'a> {
    fn new(
        drive: &'a PacedDrive,
        config: &SsdConfig,
        gap: Nanos,
        target: Option<Nanos>,
    ) -> Result<Self> {
        let ssd = made(config)?;
        let Medium::Device { logical_block, .. } = ssd.capabilities().medium else {
            unreachable!("a drive is a block device");
        };
        let mut rng = Rng::new(drive.seed);
        let files = Files::new(config.capacity, logical_block, &mut rng);
        let discard_max = Bytes::mib(128).min(ssd.capabilities().discard_max);
        let discard_max = discard_max.blocks_floor(logical_block);
        let trim = target.map(|target| {
            let options = LawPolicyOptions {
                discard_max,
                wait_max: WAIT_MAX,
                ..LawPolicyOptions::unlimited(logical_block)
            };
            let policy = LawPolicy::paced(target, drive.tolerance, options);
            let policy = Watched(Arc::new(Mutex::new(policy)));
            let options =
                Options { discard_max, extents: Extents::Divisible, extents_max: 1 << 20 };
            Governed {
                trimmer: Trimmer::new(Box::new(policy.clone()), options),
                policy,
                ahead: Nanos::ZERO,
                jumps_left: drive.jumps,
                jumped_at: Instant::START,
                wake_at: Instant::NEVER,
                in_flight: None,
                sent: 0,
                said: Ppm(0),
                longest_wait: Nanos::ZERO,
            }
        });
        Ok(Self {
            drive,
            config: config.clone(),
            ssd,
            block_size: logical_block,
            rng,
            now: Instant::START,
            gap,
            next_arrival: Instant::START,
            under_way: Slab::default(),
            outstanding: 0,
            files,
            trim,
            requests: 0,
            target,
            late: 0,
            latencies: Vec::new(),
        })
    }

    fn run(mut self) -> Result<Self> {
        // A mass deletion.
        let freed = self.files.free.clone();
        for extent in freed {
            self.freed(extent);
        }
        self.run_until(self.drive.commands / 2)?;
        if self.drive.dearer > 1 {
            self.make_dearer()?;
        }
        self.run_until(self.drive.commands)?;
        self.drain();
        Ok(self)
    }

    fn run_until(&mut self, commands: u64) -> Result<()> {
        while self.requests + self.trim.as_ref().map_or(0, |trim| trim.sent) < commands {
            self.pass(self.next_arrival)?;
        }
        Ok(())
    }

    /// Lets everything end that is under way; nothing is begun.
    fn drain(&mut self) {
        while self.under_way.count() > 0 {
            self.now = self.ssd.next_event();
            self.complete();
        }
    }

    /// The drive's discards cost so many times as much from now on.
    fn make_dearer(&mut self) -> Result<()> {
        self.drain();
        let (trim, by) = (self.config.trim, self.drive.dearer);
        let more = |cost: Nanos| cost.times(by).min(Nanos::from_secs(3_600));
        let trim = trimbench_ssd::TrimConfig {
            command: more(trim.command),
            range: more(trim.range),
            per_gib_mapped: more(trim.per_gib_mapped),
            per_gib_unmapped: more(trim.per_gib_unmapped),
            latency: more(trim.latency),
            tail_per_gib: more(trim.tail_per_gib),
            ..trim
        };
        self.config.trim = trim;
        self.ssd = made(&self.config)?;
        self.ssd.advance(self.now, &mut Vec::new());
        self.next_arrival = self.next_arrival.max(self.now);
        Ok(())
    }

    /// Goes on to what happens next, at most to the next request.
    fn pass(&mut self, arrival: Instant) -> Result<()> {
        let wake_at = self.trim.as_ref().map_or(Instant::NEVER, |trim| trim.wake_at);
        self.now = arrival.min(self.ssd.next_event()).min(wake_at).max(self.now);
        self.complete();
        if self.now >= arrival {
            self.request()?;
        }
        self.ask()
    }

    fn complete(&mut self) {
        let mut completions: Vec<Completion> = Vec::new();
        self.ssd.advance(self.now, &mut completions);
        for Completion { tag: Tag(number), at, .. } in completions {
            match self.under_way.remove(number) {
                UnderWay::Discard => {
                    if let Some(trim) = &mut self.trim {
                        trim.in_flight = None;
                        trim.trimmer.completed(at + trim.ahead);
                    }
                }
                UnderWay::Request { submitted } => {
                    self.outstanding -= 1;
                    let latency = at - submitted;
                    if let Some(target) = self.target {
                        self.late += u64::from(latency > target);
                    } else {
                        self.latencies.push(narrow(latency.0.min(u64::from(u32::MAX))));
                    }
                    let jumped_at = self.trim.as_ref().map(|trim| trim.jumped_at);
                    let is_whole = jumped_at.is_none_or(|jumped_at| submitted >= jumped_at);
                    self.look(at, is_whole.then_some(latency));
                }
            }
        }
    }

    fn look(&mut self, at: Instant, latency: Option<Nanos>) {
        if let Some(trim) = &mut self.trim {
            let outstanding = self.outstanding;
            trim.trimmer.foreground(at + trim.ahead, Foreground { outstanding, latency });
        }
    }

    /// A request comes.
    fn request(&mut self) -> Result<()> {
        let command = if self.rng.chance(WRITES) {
            let write = WRITE.blocks_floor(self.block_size);
            let range = self.files.next_write(write, &mut self.rng, self.trim.as_mut());
            if let Some((range, freed)) = range {
                if let Some(extent) = freed {
                    self.freed(extent);
                }
                BlockCommand::write(range)
            } else {
                self.read()
            }
        } else {
            self.read()
        };
        self.requests += 1;
        self.outstanding += 1;
        let submitted = self.now;
        let number = self.under_way.add(UnderWay::Request { submitted });
        self.ssd.submit(self.now, Tag(number), command)?;
        self.look(self.now, None);
        // Two tenths of the requests come faster.
        let tenth = self.requests * 10 / self.drive.commands.max(1);
        let faster = if matches!(tenth, 3 | 7) { FASTER } else { 1 };
        let gap = self.rng.exponential(Nanos(self.gap.0 / faster));
        self.next_arrival = self.now + gap.max(Nanos(1));
        self.jump_at_times();
        self.note_forecast();
        Ok(())
    }

    fn read(&mut self) -> BlockCommand {
        let length = READ.blocks_floor(self.block_size);
        let reads = self.config.capacity.0 / 2 / READ.0;
        let start = Lba(self.rng.below(reads) * length.0);
        BlockCommand::Read(LbaRange::new(start, length).expect("a read is not empty"))
    }

    fn freed(&mut self, extent: LbaRange) {
        if let Some(trim) = &mut self.trim {
            trim.trimmer.freed(self.now + trim.ahead, extent);
        }
    }

    /// Sends what may be sent.
    fn ask(&mut self) -> Result<()> {
        let Some(trim) = &mut self.trim else { return Ok(()) };
        let now = self.now + trim.ahead;
        let backlog = trim.trimmer.backlog();
        if backlog.blocks > Blocks(0) {
            trim.longest_wait = trim.longest_wait.max(now.since(backlog.oldest));
        }
        trim.wake_at = loop {
            match trim.trimmer.next(now) {
                TrimmerStep::Discard(range) => {
                    trim.in_flight = Some(range);
                    trim.sent += 1;
                    let number = self.under_way.add(UnderWay::Discard);
                    self.ssd.submit(self.now, Tag(number), BlockCommand::Discard(range))?;
                }
                TrimmerStep::Until(Instant::NEVER) | TrimmerStep::Idle => break Instant::NEVER,
                TrimmerStep::Until(at) => break self.now + at.since(now),
            }
        };
        Ok(())
    }

    /// Evenly over the run, at the first instant without a discard under way.
    fn jump_at_times(&mut self) {
        let Some(trim) = &mut self.trim else { return };
        let made = self.drive.jumps - trim.jumps_left;
        let due = self.requests > self.drive.commands * (made + 1) / (self.drive.jumps + 1);
        if trim.jumps_left == 0 || !due || trim.in_flight.is_some() {
            return;
        }
        let spans = [1, 60, 600, 7_200].map(Nanos::from_secs);
        trim.ahead += spans[index(made % 4)];
        trim.jumps_left -= 1;
        // What is outstanding is left out.
        trim.jumped_at = self.now + Nanos(1);
    }

    fn note_forecast(&mut self) {
        let Some(trim) = self.trim.as_mut().filter(|_| self.requests.is_multiple_of(LOOK_EVERY))
        else {
            return;
        };
        let Backlog { blocks, extents, .. } = trim.trimmer.backlog();
        let waiting = Amount { discards: extents, bytes: blocks.bytes(self.block_size) };
        let law = trim.policy.law();
        if let Some(forecast) = law.law().governor().forecast(self.now + trim.ahead, waiting) {
            trim.said = trim.said.max(forecast.late);
        }
    }
}

impl Files {
    fn new(capacity: Bytes, block_size: BlockSize, rng: &mut Rng) -> Self {
        let unit = EXTENT_UNIT.blocks_floor(block_size);
        let all = capacity.blocks_floor(block_size);
        let (mut at, mut full) = (Lba(all.0 / 2), Vec::new());
        loop {
            let length = Blocks(unit.0 * (1 + rng.below(EXTENT_UNITS_MAX)));
            // A unit apart, so that each stays one extent.
            if (at + length).0 > all.0 {
                break;
            }
            full.push(LbaRange::new(at, length).expect("an extent is not empty"));
            at = at + length + Blocks(unit.0 / 4);
        }
        rng.shuffle(&mut full);
        let kept = full.len() - index(FREE.of(full.len() as u64)).max(2);
        let free = full.split_off(kept);
        Self { full, free, filling: None, written: Blocks(0) }
    }

    /// Where the next write goes, and what is freed for it; `None` while a discard is under way in
    /// all that is free.
    fn next_write(
        &mut self,
        write: Blocks,
        rng: &mut Rng,
        trim: Option<&mut Governed>,
    ) -> Option<(LbaRange, Option<LbaRange>)> {
        let mut freed = None;
        if self.filling.is_none() {
            let at = index(rng.below(self.free.len() as u64));
            let extent = self.free[at];
            if let Some(trim) = trim {
                if trim.in_flight.is_some_and(|it| overlap(it, extent)) {
                    return None;
                }
                trim.trimmer.rewritten(extent);
            }
            self.free.swap_remove(at);
            (self.filling, self.written) = (Some(extent), Blocks(0));
            let gone = self.full.swap_remove(index(rng.below(self.full.len() as u64)));
            self.free.push(gone);
            freed = Some(gone);
        }
        let extent = self.filling?;
        let range = LbaRange::new(extent.start() + self.written, write)?;
        self.written += write;
        if self.written >= extent.length() {
            self.full.push(extent);
            self.filling = None;
        }
        Some((range, freed))
    }
}

/// A drive, written once in order.
fn made(config: &SsdConfig) -> Result<Ssd> {
    let mut ssd = config.clone().build()?;
    ssd.precondition_sequential(Bytes(0), config.capacity);
    Ok(ssd)
}

/// How long a read takes where nothing else happens.
fn serial_read(ssd: &mut Ssd) -> Result<Nanos> {
    let Medium::Device { capacity, logical_block } = ssd.capabilities().medium else {
        unreachable!("a drive is a block device");
    };
    let (mut rng, mut now, mut completions) = (Rng::new(1), Instant::START, Vec::new());
    let length = READ.blocks_floor(logical_block);
    for _ in 0..SERIAL_READS {
        let start = Lba(rng.below(capacity.0 / READ.0) * length.0);
        let range = LbaRange::new(start, length).context("a read is not empty")?;
        ssd.submit(now, Tag(0), BlockCommand::Read(range))?;
        completions.clear();
        while completions.is_empty() {
            now = ssd.next_event();
            ssd.advance(now, &mut completions);
        }
    }
    Ok(Nanos(now.since_start().0 / SERIAL_READS))
}

fn overlap(one: LbaRange, other: LbaRange) -> bool {
    one.start() < other.end() && other.start() < one.end()
}

fn share(part: u64, whole: u64) -> Ppm {
    Ppm(narrow(part * u64::from(Ppm::ONE.0) / whole.max(1)))
}
