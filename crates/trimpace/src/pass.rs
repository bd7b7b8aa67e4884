//! One pass over one filesystem: a law says when, the cutter what, and the device's counters what
//! came of it.

mod own_pauses;
mod trimmer;

use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use trimbench_claim::errno_in;
use trimbench_claim::mounts::Mount;
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::contract::Interrupt;
use trimbench_core::{Bytes, Errno, Instant, Nanos};
use trimbench_linux::{BorrowError, BorrowedSetting, Restored};
use trimbench_policy::pacing::{
    Amount, GovernorAccount, PaceStep, PassForecast, SeenRequest, Work,
};

use crate::cutter::{Call, Cutter};
use crate::law::{Law, LawChoice};
use crate::planner::{Planner, PlannerError};
use crate::probe::{ProbeKind, ProbePlace, Prober, now};
use crate::watch::{DiscardWatch, ForegroundWatch, doze};
use own_pauses::OwnPauses;
use trimmer::Trimmer;

/// Steps after which it is said what to expect.
const FORECAST_AFTER: u64 = 4;
/// From one look at the mount table to the next, between steps.
const MOUNT_LOOK: Nanos = Nanos::from_millis(100);

/// How far it has come is told at least so often.
const PROGRESS: Nanos = Nanos::from_secs(1);

/// Options of a mount that takes no more writes: of `mount`, and of ext4 and others after an error.
const READ_ONLY: [&str; 3] = ["ro", "emergency_ro", "shutdown"];

/// How long probes are watched before the first call, where they decide the target.
const BASELINE: Nanos = Nanos::from_millis(200);

/// What to trim, and how.
#[derive(Debug)]
pub struct PassOptions {
    /// First byte, in the filesystem's addresses, as `fstrim --offset`.
    pub offset: u64,
    /// How much from there, as `fstrim --length`.
    pub length: u64,
    /// Free extents below this are left alone.
    pub minimum: Bytes,
    /// When, and how much at once.
    pub law: LawChoice,
    /// What the law judges by; `None` for none.
    pub probe: Option<ProbeKind>,
    /// Whether it goes on with an earlier pass: then it keeps to the order of addresses.
    pub goes_on: bool,
}

/// How a pass is stopped from outside.
#[derive(Clone, Debug, Default)]
pub struct PassStop {
    /// No call begins any more. The one that is under way is waited for.
    pub soon: Interrupt,
    /// Nor is that one waited for: the process is about to end, and the call ends with it.
    pub at_once: Interrupt,
}

/// What a pass tells while it runs.
pub trait PassObserver: Debug {
    /// A sentence that the user should know.
    fn notice(&self, sentence: &str);
    /// What is expected of the rest.
    fn forecast(&self, forecast: &PassForecast, remaining: Amount, target: Option<Nanos>);
    /// How far it has come: after each call, and now and then.
    fn progress(&self, _progress: &PassProgress) {}
}

/// How far a pass has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassProgress {
    /// All below this address is done: bytes, in the filesystem's addresses. A pass that begins
    /// there goes on.
    pub cursor: u64,
    /// What the device counted since the start, discards of others meanwhile included.
    pub discarded: Amount,
    /// Free extents that are left, as far as the filesystem says.
    pub remaining: Amount,
    /// How long it has taken.
    pub took: Nanos,
    /// How long the rest is expected to take; `None` as long as nobody knows.
    pub rest: Option<Nanos>,
}

/// How a pass ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassEnd {
    /// Nothing is left.
    Done,
    /// The user stopped it.
    Interrupted,
    /// The filesystem was unmounted or became read-only, or its disk is another one now: why, as a
    /// clause.
    Gone(&'static str),
    /// The filesystem or the device refused a call.
    Refused(Errno),
}

/// What a pass did.
#[derive(Clone, Debug)]
pub struct PassOutcome {
    /// How it ended.
    pub end: PassEnd,
    /// What the device counted, discards of others meanwhile included.
    pub discarded: Amount,
    /// Free extents for which a call was made, as far as the filesystem says.
    pub called: Amount,
    /// Free extents for which none was made before the end, or one that did not end.
    pub deferred: Amount,
    /// The latency that was to be kept; `None` with a law that keeps none.
    pub target: Option<Nanos>,
    /// From the first look to the last.
    pub took: Nanos,
    /// Calls of FITRIM.
    pub calls: u64,
    /// What the governor saw; `None` with another law.
    pub account: Option<GovernorAccount>,
    /// Where the probe looked; `None` without one.
    pub probed: Option<String>,
    /// The longest wait of a probe.
    pub longest_wait: Nanos,
    /// The longest discard that was allowed last; `None` where the setting was never changed.
    pub piece: Option<Bytes>,
}

/// Why a pass did not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassError {
    /// The devices do not count discards (Linux before 4.18), or cannot be found.
    #[error("the devices below `{}` do not count discards", path.display())]
    NoCounters {
        /// The mount point.
        path: std::path::PathBuf,
    },
    /// The filesystem does not say what is free.
    #[error("the free space of `{}` cannot be asked for: {errno}", path.display())]
    FreeSpace {
        /// The mount point.
        path: std::path::PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The filesystem does not say where its regions are.
    #[error(transparent)]
    Planner(#[from] PlannerError),
    /// Another trimmer works on the device.
    #[error(transparent)]
    Borrow(#[from] BorrowError),
    /// There can be no thread.
    #[error("cannot start a thread: {errno}")]
    Thread {
        /// The reason.
        errno: Errno,
    },
}

/// A pass that was begun.
#[derive(Debug)]
pub struct Pass<'a> {
    mount: &'a Mount,
    law: Law,
    observer: &'a dyn PassObserver,
    stop: PassStop,
    cutter: Cutter,
    /// All below this address is done.
    cursor: u64,
    /// When it began, and what the devices had discarded by then.
    start: (Instant, Amount),
    discards: DiscardWatch,
    sequences: Vec<Option<u64>>,
    borrowed: Vec<BorrowedSetting>,
    device_piece: Bytes,
    piece: Option<Bytes>,
    trimmer: Trimmer,
    probe: Option<Probing>,
    pauses: OwnPauses,
    /// Of the call that was under way at the end, what the device did not count.
    unfinished: Amount,
    outcome: PassOutcome,
    is_forecast: bool,
    next_mount_look: Instant,
    next_progress: Instant,
}

#[derive(Debug)]
struct Probing {
    prober: Prober,
    foreground: Option<ForegroundWatch>,
    /// From one request to the next in a step, and between steps.
    gaps: [Nanos; 2],
}

impl<'a> Pass<'a> {
    /// Looks at the filesystem, takes hold of its devices' settings and starts the probe.
    ///
    /// # Errors
    /// See [`PassError`]. A probe that cannot be made is none of them: it is said, and the law
    /// takes its slowest pace.
    pub fn begin(
        mount: &'a Mount,
        directory: &Arc<OwnedFd>,
        mut planner: Box<dyn Planner>,
        (options, observer, stop): (&PassOptions, &'a dyn PassObserver, PassStop),
    ) -> Result<Self, PassError> {
        let path = || mount.mount_point.clone();
        let discards =
            DiscardWatch::of(mount).ok_or_else(|| PassError::NoCounters { path: path() })?;
        let borrowed = borrow(discards.devices(), observer)?;
        let thread = |error: std::io::Error| PassError::Thread { errno: errno_in(&error) };
        let trimmer = Trimmer::start(Arc::clone(directory), options.minimum).map_err(thread)?;
        let probe = options.probe.filter(|_| options.law.needs_probe()).and_then(|kind| {
            match ProbePlace::in_mount(mount, directory) {
                Ok(place) => Some(Probing::start(place, kind, options.law.target())),
                Err(error) => {
                    observer.notice(&format!("{error}; without a probe the pace is the slowest"));
                    None
                }
            }
        });
        let probe = probe.transpose().map_err(thread)?;
        // Now: btrfs may have given the probe's file a chunk of its own.
        planner.renew()?;
        planner.hazards().iter().for_each(|hazard| observer.notice(hazard));
        let cutter = Cutter::new(planner, (options.offset, options.length), options.goes_on)
            .map_err(|errno| PassError::FreeSpace { path: path(), errno })?;
        let device_piece = borrowed.iter().map(BorrowedSetting::original).min();
        let device_piece = device_piece.unwrap_or(Bytes(u64::MAX));
        let usual = probe.as_ref().filter(|_| options.law.needs_baseline());
        let usual = usual.and_then(|(_, probing)| probing.usual(&stop.soon));
        let law = Law::new(options.law, device_piece, usual);
        let sequences = discards.devices().iter().map(sequence_of).collect();
        let outcome = PassOutcome {
            end: PassEnd::Done,
            discarded: Amount::default(),
            called: Amount::default(),
            deferred: cutter.remaining(),
            target: law.target(),
            took: Nanos::ZERO,
            calls: 0,
            account: None,
            probed: probe.as_ref().map(|(what, _)| what.clone()),
            longest_wait: Nanos::ZERO,
            piece: None,
        };
        Ok(Self {
            mount,
            law,
            observer,
            stop,
            cursor: options.offset,
            start: (now(), discards.discarded()),
            cutter,
            discards,
            sequences,
            borrowed,
            device_piece,
            piece: None,
            trimmer,
            probe: probe.map(|(_, probing)| probing),
            pauses: OwnPauses::watch(),
            unfinished: Amount::default(),
            outcome,
            is_forecast: false,
            next_mount_look: Instant::START,
            next_progress: Instant::START,
        })
    }

    /// Trims until nothing is left, or something ends it; the settings are as before then.
    pub fn run(mut self) -> PassOutcome {
        let (begun, before) = self.start;
        self.outcome.end = self.steps();
        // What was in force, where it could be set at all.
        let in_force = self.borrowed.iter().map(BorrowedSetting::in_force).min();
        self.outcome.piece = self.piece.and(in_force);
        // Also where a call is under way that cannot be waited for: what is changed is put back.
        for setting in self.borrowed.drain(..) {
            match setting.restore() {
                Restored::PutBack { .. } => {}
                other => self.observer.notice(&other.to_string()),
            }
        }
        self.outcome.discarded = self.since(before);
        self.outcome.deferred = self.cutter.remaining().and(self.unfinished);
        self.outcome.took = now().since(begun);
        self.outcome.account = self.law.account();
        self.outcome
    }

    fn steps(&mut self) -> PassEnd {
        loop {
            self.look();
            // A law would pause first, before it is seen that there is no more to do.
            if self.cutter.is_done() && self.outcome.calls > 0 {
                return PassEnd::Done;
            }
            if let Some(end) = self.must_end() {
                return end;
            }
            if self.cutter.is_done() {
                // Nothing is known to be free. The filesystem says whether the range is wrong.
                return self.step(self.cutter.everything()).unwrap_or(PassEnd::Done);
            }
            let remaining = self.cutter.remaining();
            let upcoming = self.cutter.upcoming();
            match self.law.pacing().next(now(), Work { upcoming, remaining }) {
                PaceStep::Until(at) => doze(at),
                PaceStep::Step(limit) => {
                    self.set_piece(limit.piece);
                    let piece = self.piece.unwrap_or(self.device_piece);
                    let call = match self.cutter.next(limit, piece) {
                        Ok(Some(call)) => call,
                        Ok(None) => return PassEnd::Done,
                        Err(errno) => return PassEnd::Refused(errno),
                    };
                    if let Some(end) = self.step(call) {
                        return end;
                    }
                    self.cursor = self.cutter.cursor();
                    self.forecast();
                    self.progress();
                }
            }
        }
    }

    /// One call, from its begin until its discards are complete.
    fn step(&mut self, call: Call) -> Option<PassEnd> {
        self.set_gap(0);
        // What came before is not of this step.
        self.look();
        let before = self.discards.discarded();
        let paused = self.pauses.total();
        let begun = now();
        self.law.pacing().began(begun);
        self.outcome.calls += 1;
        self.outcome.called = self.outcome.called.and(call.free);
        self.cutter.planner().before_call();
        self.trimmer.begin(call.start, call.length);
        let result = loop {
            if let Some(result) = self.trimmer.result(Nanos::from_millis(1)) {
                break result;
            }
            self.look();
            if now() >= self.next_progress {
                self.progress();
            }
            if self.stop.at_once.requested() {
                self.unfinished = call.free.without(self.since(before));
                return Some(PassEnd::Interrupted);
            }
        };
        if let Err(errno) = result {
            self.unfinished = call.free.without(self.since(before));
            return Some(PassEnd::Refused(errno));
        }
        if self.cutter.planner().cutting().returns_early {
            self.drain(before, call, now().since(begun));
        }
        // A request that was submitted meanwhile belongs to the step.
        let ended = now();
        let patience = ended + Nanos::from_secs(2);
        while self.probe.as_ref().is_some_and(|it| it.prober.waits_since(ended)) && now() < patience
        {
            trimbench_linux::pause(Nanos::from_micros(100));
        }
        self.look();
        let done = self.since(before);
        // A second in which this process was stopped is none of the device's.
        let took = ended.since(begun).saturating_sub(self.pauses.total().saturating_sub(paused));
        self.law.pacing().ended(begun + took, done);
        self.set_gap(1);
        None
    }

    /// What the devices have discarded since then.
    fn since(&self, before: Amount) -> Amount {
        self.discards.discarded().without(before)
    }

    fn drain(&mut self, before: Amount, call: Call, so_far: Nanos) {
        let wanted = match call.free.bytes {
            Bytes(0) => Bytes(0),
            bytes => Bytes(before.bytes.0.saturating_add(bytes.0)),
        };
        let expected = self.law.expected(call.free).max(so_far);
        let Self { discards, probe, law, stop, pauses, outcome, .. } = &mut *self;
        discards.drain(wanted, expected, &mut || {
            tell(law, probe.as_mut(), pauses, outcome);
            !stop.at_once.requested()
        });
    }

    /// Tells the law what was seen.
    fn look(&mut self) {
        tell(&mut self.law, self.probe.as_mut(), &mut self.pauses, &mut self.outcome);
        let failure = self.probe.as_ref().and_then(|it| it.prober.failure());
        if let Some(error) = failure {
            self.observer.notice(&format!(
                "the probe ended: {error}; from now on the pace is judged by the length of steps"
            ));
        }
    }

    fn must_end(&mut self) -> Option<PassEnd> {
        if self.stop.soon.requested() || self.stop.at_once.requested() {
            return Some(PassEnd::Interrupted);
        }
        if now() < self.next_mount_look {
            return None;
        }
        self.next_mount_look = now() + MOUNT_LOOK;
        if now() >= self.next_progress {
            self.progress();
        }
        let same =
            self.discards.devices().iter().map(sequence_of).eq(self.sequences.iter().copied());
        if !same {
            return Some(PassEnd::Gone("its disk is another one now"));
        }
        let mounted = trimbench_claim::mounts::own_mounts().unwrap_or_default();
        match mounted.iter().find(|it| it.id == self.mount.id) {
            None => Some(PassEnd::Gone("it was unmounted")),
            // Who asks for a read-only one by name gets what fstrim does there. One that becomes so
            // may have found an error, and its map of free space be wrong.
            Some(now) if is_read_only(now) && !is_read_only(self.mount) => {
                Some(PassEnd::Gone("it became read-only"))
            }
            Some(_) => None,
        }
    }

    /// Has the kernel send discards of at most this length, or as long as before.
    fn set_piece(&mut self, piece: Option<Bytes>) {
        if piece == self.piece {
            return;
        }
        for setting in &mut self.borrowed {
            let wanted = piece.unwrap_or(setting.original());
            if let Err(error) = setting.set(wanted) {
                self.observer.notice(&format!("{error}; discards stay as long as they are"));
            }
        }
        // What the law asked for: a refusal is said once for each value.
        self.piece = piece;
    }

    fn set_gap(&self, which: usize) {
        if let Some(probe) = &self.probe {
            probe.prober.set_gap(probe.gaps[which]);
        }
    }

    fn progress(&mut self) {
        self.next_progress = now() + PROGRESS;
        let (begun, before) = self.start;
        let remaining = self.cutter.remaining();
        self.observer.progress(&PassProgress {
            cursor: self.cursor,
            discarded: self.since(before),
            remaining,
            took: now().since(begun),
            rest: self.law.forecast(now(), remaining).map(|forecast| forecast.time),
        });
    }

    /// Says once what to expect, before most of it is done.
    fn forecast(&mut self) {
        if self.is_forecast || self.outcome.calls < FORECAST_AFTER {
            return;
        }
        let remaining = self.cutter.remaining();
        // Nothing is left, or nobody knows how much.
        if remaining.bytes == Bytes(0) {
            return;
        }
        if let Some(forecast) = self.law.forecast(now(), remaining) {
            self.is_forecast = true;
            self.observer.forecast(&forecast, remaining, self.law.target());
        }
    }
}

impl Probing {
    fn start(
        place: ProbePlace,
        kind: ProbeKind,
        target: Option<Nanos>,
    ) -> std::io::Result<(String, Self)> {
        // Once in the time that a request may take, and a quarter of that between steps.
        let target = target.unwrap_or(Nanos::from_millis(4));
        let dense = target.clamp(Nanos::from_millis(1), Nanos::from_millis(10));
        let gaps = [dense, Nanos(4 * dense.0)];
        let foreground = ForegroundWatch::of(&place.device);
        let what = place.what.clone();
        let prober = Prober::start(place, kind, gaps[1])?;
        Ok((what, Self { prober, foreground, gaps }))
    }

    /// What nine of ten requests keep now.
    fn usual(&self, interrupt: &Interrupt) -> Option<Nanos> {
        self.prober.set_gap(Nanos::from_millis(1));
        let end = now() + BASELINE;
        while now() < end && !interrupt.requested() {
            doze(end);
        }
        self.prober.set_gap(self.gaps[1]);
        let mut latencies: Vec<Nanos> =
            self.prober.take().iter().map(SeenRequest::latency).collect();
        latencies.sort_unstable();
        latencies.get(latencies.len() * 9 / 10).copied()
    }
}

/// Takes the settings of the disks of these devices, each once. Where the kernel does not number
/// disks (before Linux 5.15) nothing is changed: discards stay as long as they are.
fn borrow(
    devices: &[BlockDevice],
    observer: &dyn PassObserver,
) -> Result<Vec<BorrowedSetting>, BorrowError> {
    let mut disks: Vec<BlockDevice> = devices.iter().map(BlockDevice::whole).collect();
    disks.dedup_by(|one, other| one.name == other.name);
    let mut borrowed = Vec::new();
    for disk in &disks {
        match BorrowedSetting::take(disk) {
            Ok(setting) => {
                setting.recovered().iter().for_each(|it| observer.notice(&it.to_string()));
                borrowed.push(setting);
            }
            Err(error @ (BorrowError::Unknown { .. } | BorrowError::Lock { .. })) => {
                observer.notice(&format!("{error}; discards stay as long as they are"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(borrowed)
}

/// Whether it takes no more writes, also where that is because of an error.
pub(crate) fn is_read_only(mount: &Mount) -> bool {
    READ_ONLY.iter().any(|option| mount.has_option(option))
}

/// The number that the kernel gives a disk once, since Linux 5.15; `None` before.
fn sequence_of(device: &BlockDevice) -> Option<u64> {
    device.number("diskseq")
}

/// Tells the law of the requests since the last look, without those during which this process did
/// not run.
fn tell(
    law: &mut Law,
    probe: Option<&mut Probing>,
    pauses: &mut OwnPauses,
    outcome: &mut PassOutcome,
) {
    let Some(probe) = probe else {
        // Without a probe nobody knows whether there is a foreground: there is.
        law.pacing().foreground(now(), 1);
        return;
    };
    // The samples first: a pause that one of them spans is over by then, and will be known.
    let samples = probe.prober.take();
    pauses.look();
    for sample in samples {
        if pauses.explain(sample) {
            continue;
        }
        let latency = sample.latency();
        outcome.longest_wait = outcome.longest_wait.max(latency);
        law.pacing().request(sample);
    }
    let others = match &mut probe.foreground {
        Some(watch) => watch.take(probe.prober.count()),
        None => 1,
    };
    law.pacing().foreground(now(), others);
}
