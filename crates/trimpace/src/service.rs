//! `trimpace run`: the service. One filesystem at a time, each in its hours; what stops a pass does
//! not lose what it has done.
//!
//! While it waits it looks at the mount table only. A directory is opened when it is its turn: one
//! that is open cannot be unmounted.

mod overseer;
mod targets;
mod watcher;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{Timestamp, Zoned};
use trimbench_claim::mounts::Mount;
use trimbench_core::contract::Interrupt;
use trimbench_core::text::{to_text, visible};
use trimbench_core::{Bytes, Errno, Instant, Nanos};
use trimbench_linux::BorrowError;

use crate::args::ServiceArgs;
use crate::config::{Config, ConfigError};
use crate::cursor::{BegunPass, Memory, MemoryError, Remembered, identity_of};
use crate::exit::{DONE, FAILED};
use crate::once::{is_unsupported, put_back_what_was_left};
use crate::pass::{Pass, PassEnd, PassError, PassOptions, PassOutcome, PassStop};
use crate::planner::{PlannerError, plan};
use crate::probe::now;
use crate::report::{account_line, say, size};
use crate::schedule::{Rhythm, Slot, Turn};
use crate::selection::ChosenMount;
use crate::status::{Activity, BoardError, MountStatus, RUN, ServiceStatus, StatusBoard, local};
use overseer::{Break, Overseer};
use targets::{Target, TargetList, obstacle};
use watcher::Watcher;

/// From one look at mounts, clock and hindrances to the next.
const LOOK: Nanos = Nanos::from_secs(10);
/// How soon the end of the service is noticed.
const TICK: Nanos = Nanos::from_millis(100);
/// After this, what failed is tried again.
const RETRY: Nanos = Nanos::from_secs(3_600);
/// The same where another trimmer has the disk, or something has just changed.
const RETRY_SOON: Nanos = Nanos::from_secs(60);
/// The same where discards are not supported: another path to the disk may.
const RETRY_UNSUPPORTED: Nanos = Nanos::from_secs(86_400);
/// The link by which systemd begins fstrim's timer.
const FSTRIM_TIMER: &str = "/etc/systemd/system/timers.target.wants/fstrim.timer";

/// Why the service cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another service runs, or there is no place for its status.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// What was done cannot be remembered.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The fleet does not know this host.
    #[error("`{host}` is not one of the `hosts` of `[fleet]`: name it as the list does, by `host`")]
    Stranger {
        /// As it calls itself.
        host: String,
    },
}

/// What is known of a mount from one look to the next.
#[derive(Debug, Default)]
struct Known {
    /// The kernel's numbers of mount and device: others are another filesystem, perhaps.
    mounted: Option<(u64, (u32, u32))>,
    filesystem: Option<String>,
    passes: Remembered,
    /// Not before then, because it could not be trimmed.
    retry: Option<(Instant, Activity)>,
}

/// The service.
#[derive(Debug)]
struct Service<'a> {
    config: &'a Config,
    host: String,
    interrupt: &'a Interrupt,
    memory: Memory,
    board: StatusBoard,
    status: ServiceStatus,
    known: BTreeMap<PathBuf, Known>,
    /// The last complaint about each mount.
    said: BTreeMap<PathBuf, String>,
}

/// `trimpace run`: returns when it is to end; the exit code.
pub fn run(args: &ServiceArgs, interrupt: &Interrupt) -> u8 {
    put_back_what_was_left();
    let served = Config::read(&args.config).map_err(ServiceError::from).and_then(|config| {
        Service::begin(&config, interrupt)?.serve();
        Ok(())
    });
    match served {
        Ok(()) => DONE,
        Err(error) => {
            say(&format!("trimpace: {error}"));
            FAILED
        }
    }
}

/// `trimpace check-config`: what it prints, and the exit code.
pub fn check_config(args: &ServiceArgs) -> (String, u8) {
    let checked = Config::read(&args.config).map_err(ServiceError::from);
    let lines = checked.and_then(|config| {
        let now = Zoned::now();
        let line = |target: &Target| {
            let point = visible(&to_text(&target.path)).into_owned();
            let volume = target.found.as_ref().ok().and_then(|mount| identity_of(mount).ok());
            let slot = slot(&config, &host_name(), volume.as_deref().unwrap_or(&point))?;
            let promise = promise(&target.settings.rhythm(slot), &now);
            let why = target.found.as_ref().err().map(|why| format!("; now {}", why.clause()));
            Ok(format!("{point}: {promise}{}\n", why.unwrap_or_default()))
        };
        let unread = |(path, why)| ConfigError::Unread { path, why };
        let targets = TargetList::default().look(&config).map_err(unread)?;
        targets.iter().map(line).collect::<Result<String, ServiceError>>()
    });
    match lines {
        Ok(lines) => (lines, DONE),
        Err(error) => {
            say(&format!("trimpace: {error}"));
            (String::new(), FAILED)
        }
    }
}

/// When a rhythm would have a mount trimmed that never was.
fn promise(rhythm: &Rhythm, now: &Zoned) -> String {
    let first = match rhythm.turn(now, None, false) {
        Turn::Now { .. } => "at once".to_owned(),
        Turn::At(at) => local(at, now),
    };
    let hours = hours_of(rhythm).map_or_else(String::new, |hours| format!(", between {hours}"));
    format!("once in {}{hours}; if never before, {first}", period(rhythm.every))
}

fn period(every: Nanos) -> String {
    const DAY: u64 = 86_400_000_000_000;
    match every.0 {
        DAY => "a day".to_owned(),
        span if span % DAY == 0 => format!("{} days", span / DAY),
        _ => every.to_string(),
    }
}

fn hours_of(rhythm: &Rhythm) -> Option<String> {
    let hours = rhythm.hours?;
    Some(match rhythm.slot {
        Slot::WHOLE => hours.to_string(),
        slot => format!("{hours}, slot {slot}"),
    })
}

/// Of this host.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn slot(config: &Config, host: &str, volume: &str) -> Result<Slot, ServiceError> {
    let Some(fleet) = &config.fleet else { return Ok(Slot::WHOLE) };
    let stranger = || ServiceError::Stranger { host: fleet.host().unwrap_or(host).to_owned() };
    fleet.slot(host, volume).ok_or_else(stranger)
}

impl<'a> Service<'a> {
    fn begin(config: &'a Config, interrupt: &'a Interrupt) -> Result<Self, ServiceError> {
        let host = host_name();
        // Whether the fleet knows this host does not depend on the volume.
        slot(config, &host, "")?;
        let board = StatusBoard::take(Path::new(RUN), config.metrics.clone())?;
        let memory = Memory::open(&config.state, board.folder())?;
        let status =
            ServiceStatus { process: std::process::id(), since: Timestamp::now(), mounts: vec![] };
        say(&format!("trimpace {} trims as configured", env!("CARGO_PKG_VERSION")));
        if Path::new(FSTRIM_TIMER).symlink_metadata().is_ok() {
            say("trimpace: fstrim.timer is enabled, too, and trims once a week without a pace: \
                 `systemctl disable --now fstrim.timer`");
        }
        let (known, said) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { config, host, interrupt, memory, board, status, known, said })
    }

    fn serve(&mut self) {
        let mut list = TargetList::default();
        while !self.interrupt.requested() {
            let targets = match list.look(self.config) {
                Ok(targets) => targets,
                Err((path, why)) => {
                    self.complain(&path, &why);
                    Vec::new()
                }
            };
            self.status.mounts = Vec::new();
            for target in &targets {
                let status = self.look(target);
                self.status.mounts.push(status);
            }
            self.show();
            match self.choose(&targets) {
                Some((at, until)) => self.pass(&targets[at], at, until),
                None => self.wait(),
            }
        }
        say("trimpace ends");
    }

    /// Until the next look, or the end.
    fn wait(&self) {
        let end = now() + LOOK;
        while now() < end && !self.interrupt.requested() {
            trimbench_linux::pause(TICK);
        }
    }

    /// What there is to say of a mount.
    fn look(&mut self, target: &Target) -> MountStatus {
        let name = visible(&to_text(&target.path)).into_owned();
        let activity = match &target.found {
            Ok(mount) => self.activity(target, mount),
            Err(why) => {
                self.complain(&target.path, &why.clause());
                why.activity()
            }
        };
        let rhythm = self.rhythm(target);
        let known = self.known.entry(target.path.clone()).or_default();
        let due = known.passes.last.map_or(self.status.since, |last| last.begun);
        let waited = Timestamp::now().duration_since(due).as_secs();
        let every_s = target.settings.every.0 / 1_000_000_000;
        let first = if known.passes.last.is_some() { every_s } else { 0 };
        MountStatus {
            mount_point: name,
            filesystem: known.filesystem.clone(),
            every_s,
            hours: hours_of(&rhythm),
            overdue_s: u64::try_from(waited).unwrap_or(0).saturating_sub(first),
            activity,
            passes: known.passes,
            remaining_bytes: None,
            rest_s: None,
        }
    }

    /// What is to be done with a mount that is there.
    fn activity(&mut self, target: &Target, mount: &Mount) -> Activity {
        if let Err(why) = self.know(&target.path, mount) {
            self.complain(&target.path, &why);
            return Activity::Failing { because: why };
        }
        let known = self.known.entry(target.path.clone()).or_default();
        let filesystem = known.filesystem.as_deref();
        let seen = &self.status.mounts;
        if let Some(other) = seen.iter().find(|other| other.filesystem.as_deref() == filesystem) {
            let because = format!("it is the filesystem on `{}`", other.mount_point);
            self.complain(&target.path, &because);
            return Activity::Unsupported { because };
        }
        if let Some((until, activity)) = &known.retry
            && *until > now()
        {
            return activity.clone();
        }
        match self.turn(target) {
            Turn::At(until) => Activity::Waiting { until },
            Turn::Now { .. } => match obstacle(&self.config.pause, &target.path) {
                Ok(None) => Activity::Queued,
                Ok(Some(because)) => Activity::Paused { because },
                Err(why) => {
                    self.complain(&target.path, &why.clause());
                    why.activity()
                }
            },
        }
    }

    /// Reads what is remembered of a filesystem that was not mounted there before.
    fn know(&mut self, path: &Path, mount: &Mount) -> Result<(), String> {
        let at = Timestamp::now();
        let mounted = Some((mount.id, mount.device));
        if let Some(known) = self.known.get_mut(path).filter(|known| known.mounted == mounted) {
            known.passes = known.passes.settled(at);
            return Ok(());
        }
        let filesystem = identity_of(mount).map_err(|error| {
            format!("its superblock cannot be read: {}", trimbench_core::reason(&error))
        })?;
        let passes = self.memory.of(&filesystem).unwrap_or_else(|error| {
            self.complain(path, &format!("{error}; its next pass begins anew"));
            Remembered::default()
        });
        let (filesystem, passes) = (Some(filesystem), passes.settled(at));
        self.known.insert(path.to_owned(), Known { mounted, filesystem, passes, retry: None });
        Ok(())
    }

    fn rhythm(&self, target: &Target) -> Rhythm {
        let known = self.known.get(&target.path);
        let identity = known.and_then(|known| known.filesystem.clone());
        let volume = identity.unwrap_or_else(|| to_text(&target.path));
        // The host is one of the fleet: that was seen at the start.
        let slot = slot(self.config, &self.host, &volume).unwrap_or(Slot::WHOLE);
        target.settings.rhythm(slot)
    }

    fn turn(&self, target: &Target) -> Turn {
        let passes = self.known.get(&target.path).map(|known| known.passes).unwrap_or_default();
        let last = passes.last.map(|last| last.begun);
        self.rhythm(target).turn(&Zoned::now(), last, passes.pass.is_some())
    }

    /// The one of those whose turn it is that should have been trimmed first; until when.
    fn choose(&self, targets: &[Target]) -> Option<(usize, Option<Timestamp>)> {
        let ready = self.status.mounts.iter().enumerate();
        let ready = ready.filter(|(_, mount)| mount.activity == Activity::Queued);
        let due = |mount: &MountStatus| match mount.passes.last {
            Some(last) => last.begun.as_second() + i64::try_from(mount.every_s).unwrap_or(0),
            None => self.status.since.as_second(),
        };
        let (at, _) = ready.min_by_key(|(_, mount)| due(mount))?;
        match self.turn(&targets[at]) {
            Turn::Now { until } => Some((at, until)),
            Turn::At(_) => None,
        }
    }

    /// A pass, or the part of one that fits now.
    fn pass(&mut self, target: &Target, at: usize, until: Option<Timestamp>) {
        let path = &target.path;
        let chosen = match targets::chosen(path) {
            Ok(chosen) => chosen,
            Err(why) => return self.set_aside(path, RETRY_SOON, why.activity()),
        };
        let known = self.known.entry(path.clone()).or_default();
        // Numbers are given anew: only the superblock says that it is the same.
        if identity_of(&chosen.mount).ok() != known.filesystem {
            known.mounted = None;
            return;
        }
        let fresh =
            BegunPass { begun: Timestamp::now(), cursor: 0, discarded_bytes: 0, worked_s: 0 };
        let begun = known.passes.pass.unwrap_or(fresh);
        known.passes.pass = Some(begun);
        let (passes, filesystem) = (known.passes, known.filesystem.clone().unwrap_or_default());
        self.status.mounts[at].activity = Activity::Trimming;
        self.show();
        let name = visible(&to_text(path)).into_owned();
        let watcher = Watcher::new(
            (&name, &filesystem, passes),
            (&self.memory, &self.board),
            (&self.status, at),
        );
        let trimmed = self.trim(&chosen, target, until, &watcher);
        let passes = watcher.passes();
        self.known.entry(path.clone()).or_default().passes = passes;
        match trimmed {
            Ok((outcome, cause)) => self.ended((path, &name), begun, &outcome, cause),
            Err(TrimError::Stopped(cause)) => say(&format!("{name}: stops: {cause}")),
            Err(error) => self.refused(path, &error),
        }
    }

    /// Works until the end of the filesystem, or until something breaks in.
    fn trim(
        &self,
        chosen: &ChosenMount,
        target: &Target,
        until: Option<Timestamp>,
        watcher: &Watcher<'_>,
    ) -> Result<(PassOutcome, Option<Break>), TrimError> {
        let ChosenMount { mount, directory } = chosen;
        let directory = Arc::new(directory.try_clone().map_err(TrimError::Directory)?);
        let soon = Interrupt::default();
        let overseer = Overseer::start(
            (soon.clone(), self.interrupt.clone()),
            until,
            (self.config.pause.clone(), mount.clone(), Arc::clone(&directory)),
        );
        let (planner, minimum) = plan(mount, &directory, target.settings.leave)?;
        let begun = watcher.before();
        let options = PassOptions {
            offset: begun.cursor,
            length: u64::MAX,
            minimum,
            law: target.settings.law(),
            probe: target.settings.probe.kind(),
            goes_on: begun.cursor > 0,
        };
        let stop = PassStop { soon: soon.clone(), at_once: self.interrupt.clone() };
        let pass = Pass::begin(mount, &directory, planner, (&options, watcher, stop))?;
        if soon.requested() {
            return Err(TrimError::Stopped(overseer.end().unwrap_or(Break::Asked)));
        }
        watcher.say(&opening_line(&begun));
        let outcome = pass.run();
        Ok((outcome, overseer.end()))
    }

    fn ended(
        &mut self,
        (path, name): (&Path, &str),
        begun: BegunPass,
        outcome: &PassOutcome,
        cause: Option<Break>,
    ) {
        let known = self.known.entry(path.to_owned()).or_default();
        let cursor = known.passes.pass.map_or(begun.cursor, |pass| pass.cursor);
        let mut pass = BegunPass {
            cursor,
            discarded_bytes: begun.discarded_bytes + outcome.discarded.bytes.0,
            worked_s: begun.worked_s + outcome.took.0 / 1_000_000_000,
            ..begun
        };
        let bytes = size(Bytes(pass.discarded_bytes));
        let mut failure = None;
        let account = account_line(outcome);
        match &outcome.end {
            PassEnd::Done => {
                say(&format!("{name}: trimmed: {bytes} discarded; {account}"));
                let last = Some(pass.completed(Timestamp::now()));
                known.passes = Remembered { pass: None, last };
                self.said.remove(path);
            }
            PassEnd::Interrupted => {
                // The service's end may be seen by the pass first.
                let why = cause.unwrap_or(Break::Asked);
                say(&format!("{name}: stops: {why}; {bytes} discarded so far; {account}"));
            }
            PassEnd::Gone(why) => {
                failure = Some((LOOK, Activity::Failing { because: (*why).to_owned() }));
            }
            PassEnd::Refused(errno) if is_unsupported(*errno) => {
                let because = "it, or its device, does not support discards".to_owned();
                failure = Some((RETRY_UNSUPPORTED, Activity::Unsupported { because }));
            }
            PassEnd::Refused(errno) => {
                // A cursor beyond the end: the filesystem was made smaller.
                let is_beyond = *errno == Errno::EINVAL && cursor > 0;
                pass.cursor = if is_beyond { 0 } else { cursor };
                let because = format!("FITRIM failed: {errno}");
                failure = Some((RETRY, Activity::Failing { because }));
            }
        }
        if outcome.end != PassEnd::Done {
            known.passes.pass = Some(pass);
        }
        let (passes, filesystem) = (known.passes, known.filesystem.clone().unwrap_or_default());
        if let Err(error) = self.memory.keep(&filesystem, &passes) {
            self.complain(path, &format!("{error}; after a restart its pass begins anew"));
        }
        if let Some((retry, activity)) = failure {
            self.set_aside(path, retry, activity);
        }
    }

    fn refused(&mut self, path: &Path, error: &TrimError) {
        let because = error.to_string();
        let (retry, activity) = match error {
            TrimError::Pass(PassError::Borrow(BorrowError::NoDiscards { .. })) => {
                (RETRY_UNSUPPORTED, Activity::Unsupported { because })
            }
            TrimError::Pass(PassError::Borrow(_)) => (RETRY_SOON, Activity::Failing { because }),
            _ => (RETRY, Activity::Failing { because }),
        };
        self.set_aside(path, retry, activity);
    }

    /// Not to be trimmed for some time; why is said once.
    fn set_aside(&mut self, path: &Path, retry: Nanos, activity: Activity) {
        if let Activity::Failing { because } | Activity::Unsupported { because } = &activity {
            self.complain(path, because);
        }
        let known = self.known.entry(path.to_owned()).or_default();
        known.retry = Some((now() + retry, activity));
    }

    /// Says what is wrong with a mount, unless that was the last thing that was said of it.
    fn complain(&mut self, path: &Path, what: &str) {
        if self.said.insert(path.to_owned(), what.to_owned()).as_deref() != Some(what) {
            say(&format!("trimpace: {}: {what}", visible(&to_text(path))));
        }
    }

    fn show(&mut self) {
        if let Err(error) = self.board.show(&self.status) {
            self.complain(Path::new(RUN), &format!("{error}; what is shown stays as it was"));
        }
    }
}

/// Why a pass did not begin.
#[derive(Debug, thiserror::Error)]
enum TrimError {
    #[error("cannot hold its directory: {0}")]
    Directory(std::io::Error),
    #[error("{0}")]
    Stopped(Break),
    #[error(transparent)]
    Planner(#[from] PlannerError),
    #[error(transparent)]
    Pass(#[from] PassError),
}

fn opening_line(begun: &BegunPass) -> String {
    if begun.cursor == 0 {
        return "begins".to_owned();
    }
    let [done, at] = [begun.discarded_bytes, begun.cursor].map(|bytes| size(Bytes(bytes)));
    format!("goes on at {at}; {done} discarded before")
}
