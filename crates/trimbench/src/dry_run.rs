//! The output of `--dry-run`: what would be done, how long it takes, and what it needs.

use std::fmt::Write;

use trimbench_claim::Inspection;
use trimbench_core::text::visible;
use trimbench_core::{Bytes, Capabilities, Clock, DrainRule, Nanos};
use trimbench_devices::{
    Consent, DeviceOutlook, EmulatedSpec, ScratchSpec, TargetError, TargetSpec, inspect_device,
};
use trimbench_engine::quiet::WINDOW;
use trimbench_engine::{Demand, DiscardWaits};
use trimbench_linux::DirectoryTarget;
use trimbench_results::PlannedSession;

use crate::args::QuietArgs;
use crate::failure::Failure;
use crate::ideal::{ideal_device, ideal_directory};
use crate::plan::{Plan, Session};
use crate::trace::TraceFiles;

/// Full writes that a drive is assumed to be rated for: 0.3 a day for five years, as many client
/// drives.
const RATED_DRIVE_WRITES: f64 = 550.0;

/// The whole plan.
pub(crate) fn describe(plan: &Plan) -> String {
    let mut text = format!("seed {}\n", plan.seed);
    let mut total = Total::default();
    for session in &plan.sessions {
        if let Some(demand) = session.describe(&mut text, plan) {
            total.add(session, demand);
        }
    }
    if let [_, _, ..] = plan.sessions[..] {
        total.describe(&mut text, plan.sessions.len());
    }
    text
}

/// What all sessions take that would be run.
#[derive(Default)]
struct Total {
    sessions: usize,
    written: u64,
    /// On emulated drives, on their own clocks.
    emulated: Nanos,
    /// On real targets.
    real: Nanos,
}

impl Total {
    fn add(&mut self, session: &Session, Demand { written, time }: Demand) {
        self.sessions += 1;
        self.written = self.written.saturating_add(written.0);
        let clock = match session.target.emulated_drive() {
            Some(_) => &mut self.emulated,
            None => &mut self.real,
        };
        *clock = Nanos(clock.0.saturating_add(time.0));
    }

    fn describe(&self, text: &mut String, planned: usize) {
        let _ = writeln!(text, "\nin total");
        fact(text, "sessions", &format!("{} of {planned} suit their target", self.sessions));
        fact(text, "writes", &format!("at most about {}", rough_bytes(Bytes(self.written))));
        let clocks = [(self.real, "wall time"), (self.emulated, "virtual time (no waiting)")];
        let times = clocks.into_iter().filter(|(time, _)| *time > Nanos::ZERO);
        let times: Vec<String> =
            times.map(|(time, clock)| format!("about {} of {clock}", rough_span(time))).collect();
        if !times.is_empty() {
            fact(text, "time", &times.join(", "));
        }
    }
}

/// What is known of a target that is not open.
struct Outlook<'a> {
    /// What it offers at best: what does not fit this does not fit the target.
    ideal: Capabilities,
    /// What it holds; `None` where it must be asked for.
    capacity: Option<Bytes>,
    /// What a directory has room for by now.
    room: Option<Bytes>,
    /// The emulated drives of which it is made, and how many.
    drives: Option<(&'a EmulatedSpec, usize)>,
    device: Option<DeviceOutlook>,
    /// What the drives hold together that its writes wear, where they are real and known.
    worn: Option<Bytes>,
    /// Why it would be refused, and what to do; `None` if it will probably be accepted.
    refusal: Option<(String, String)>,
    destroys: &'static str,
    privileges: &'static str,
}

impl<'a> Outlook<'a> {
    /// An error says why it cannot be had.
    fn of(target: &'a TargetSpec, consent: &Consent) -> Result<Self, String> {
        let inspect =
            |path| inspect_device(path, consent).map_err(|error: TargetError| error.to_string());
        Ok(match target {
            TargetSpec::Emulated(spec) => Self {
                ideal: ideal_device(spec.capacity(), Clock::Virtual),
                destroys: "nothing: the drive is emulated",
                ..Self::modelled(spec, 1, spec.capacity())
            },
            TargetSpec::Modelled(spec) => Self::modelled(spec.drive(), 1, spec.drive().capacity()),
            TargetSpec::Pool(spec) => Self::modelled(spec.drive(), spec.drives(), spec.room()),
            TargetSpec::Directory(path) => Self {
                ideal: ideal_directory(Bytes(u64::MAX), Clock::Wall),
                capacity: None,
                room: DirectoryTarget::room_in(path),
                drives: None,
                device: None,
                worn: None,
                refusal: None,
                destroys: "nothing: works in a directory of its own",
                privileges: "to write in the directory; root for `mode=trim`",
            },
            TargetSpec::Scratch(spec) => Self::in_scratch(spec),
            TargetSpec::Device(path) => Self::on(
                inspect(path)?,
                ideal_device,
                "permission to open it for writing: for a device root, or its group",
            ),
            TargetSpec::Real(spec) => Self::on(
                inspect(spec.path())?,
                ideal_directory,
                "root: to attach a loop device and to mount",
            ),
        })
    }

    /// What demands are asked for: its capacity, or the room for files.
    fn measure(&self) -> Bytes {
        self.capacity.or(self.room).unwrap_or(Bytes(0))
    }

    /// A filesystem over emulated drives, whose files may take so many bytes at most.
    fn modelled(drive: &'a EmulatedSpec, count: usize, capacity: Bytes) -> Self {
        Self {
            ideal: ideal_directory(capacity, Clock::Virtual),
            capacity: Some(capacity),
            room: None,
            drives: Some((drive, count)),
            device: None,
            worn: None,
            refusal: None,
            destroys: "nothing: filesystem and drive are models",
            privileges: "none",
        }
    }

    /// A block device or an image file, or filesystems on one.
    fn on(
        device: DeviceOutlook,
        ideal: fn(Bytes, Clock) -> Capabilities,
        privileges: &'static str,
    ) -> Self {
        Self {
            ideal: ideal(device.capacity, Clock::Wall),
            capacity: Some(device.capacity),
            room: None,
            drives: None,
            worn: device.drives,
            refusal: device.refusal.clone(),
            device: Some(device),
            destroys: "everything on it",
            privileges,
        }
    }

    /// An image file that is made for the run.
    fn in_scratch(spec: &ScratchSpec) -> Self {
        let (directory, size) = (spec.directory(), spec.size());
        let room = DirectoryTarget::room_in(directory).filter(|room| *room < size);
        let refusal = room.map(|room| {
            let directory = directory.display();
            let why =
                format!("`{directory}` has room for {room}, and the image takes up to {size}");
            (why, "name a directory on a filesystem with more room".to_owned())
        });
        Self {
            ideal: ideal_device(size, Clock::Wall),
            capacity: Some(size),
            room: None,
            drives: None,
            device: None,
            worn: Inspection::drives_size_below(directory),
            refusal,
            destroys: "nothing: the image file is made for the run, and has no name",
            privileges: "to write in the directory",
        }
    }
}

impl Session {
    /// What it takes, without a look into traces; `None` if it will be left out.
    pub(crate) fn rough_demand(&self, consent: &Consent, rate: u64) -> Option<Demand> {
        let outlook = Outlook::of(&self.target, consent).ok()?;
        self.method.fits(&outlook.ideal).ok()?;
        let of = outlook.measure();
        let on_files = self.target.is_filesystem();
        let demand = if on_files {
            self.method.demand_on_filesystems(of, rate)
        } else {
            self.method.demand(of, rate)
        };
        Some(self.with_discard_waits(demand))
    }

    /// Its waits for discards, on whose files, and by which rule; `None` where there are none that
    /// can be foretold.
    fn discard_waits(&self) -> Option<(DiscardWaits, DrainRule, String)> {
        let (rule, files) = self.target.drain()?;
        let waits = self.method.discard_waits(&rule, self.target.is_filesystem());
        (waits.deletions > 0).then_some((waits, rule, files))
    }

    fn with_discard_waits(&self, Demand { written, time }: Demand) -> Demand {
        let waits = self.discard_waits().map_or(Nanos::ZERO, |(waits, ..)| waits.total());
        Demand { written, time: time.saturating_add(waits) }
    }

    /// Describes what a session waits for: quiet, and discards.
    fn describe_waits(&self, text: &mut String, plan: &Plan) {
        if let Some((waits, rule, files)) = self.discard_waits() {
            let DiscardWaits { deletions, each } = waits;
            let waits = format!(
                "waits up to {} after each of {deletions} deletions until they are over ({files}), \
                 {} together, in the time above; where others keep discarding, up to {} each",
                rough_span(each),
                rough_span(waits.total()),
                rough_span(rule.timeout)
            );
            fact(text, "discards", &waits);
        }
        if !self.rests_on_quiet() {
            return;
        }
        let QuietArgs { quiet_wait, busy_ok } = plan.others;
        let quiet = if plan.others.looks() {
            let (window, wait) = (rough_span(WINDOW), rough_span(quiet_wait));
            let then = if busy_ok { ", and measures all the same (`--busy-ok`)" } else { "" };
            format!("looks for other load for {window}, waits up to {wait} for quiet{then}")
        } else {
            "does not look for other load (`--quiet-wait 0s`)".to_owned()
        };
        fact(text, "quiet", &quiet);
    }

    /// Why its target may not be overwritten, and what to do; `None` if it may, or if nothing is.
    pub(crate) fn refusal(&self, consent: &Consent) -> Option<(String, String)> {
        match Outlook::of(&self.target, consent) {
            Ok(outlook) => outlook.refusal,
            Err(reason) => Some((reason, "name a block device or an image file".to_owned())),
        }
    }

    /// What its target holds; `None` where that is not known before it is open.
    pub(crate) fn capacity(&self, consent: &Consent) -> Option<Bytes> {
        Outlook::of(&self.target, consent).ok()?.capacity
    }

    /// What so many bytes are of the life of its drive; `None` where no drive is known.
    pub(crate) fn endurance(&self, consent: &Consent, written: Bytes) -> Option<String> {
        Some(endurance(written, Outlook::of(&self.target, consent).ok()?.worn?))
    }

    /// Describes it; what it takes, if it would be run.
    fn describe(&self, text: &mut String, plan: &Plan) -> Option<Demand> {
        let PlannedSession { method, target, preset, .. } = &self.planned;
        let _ = writeln!(text, "\n{method} ({preset}) on {}", visible(target));
        let outlook = match Outlook::of(&self.target, &plan.consent) {
            Ok(outlook) => outlook,
            Err(reason) => {
                fact(text, "refused", &reason);
                return None;
            }
        };
        for line in outlook.device.iter().flat_map(|device| device.stack.lines()) {
            let _ = writeln!(text, "  {line}");
        }
        if let Err(reason) = self.method.fits(&outlook.ideal) {
            fact(text, "left out", &reason);
            return None;
        }
        if let Some((drive, _)) = outlook.drives {
            fact(text, "profile", &drive.profile().summary);
            fact(text, "provenance", &drive.profile().provenance.to_string());
        }
        let demand = self.describe_demand(text, &outlook, plan)?;
        if let Some((drive, count)) = outlook.drives {
            self.describe_memory(text, drive, count);
        }
        if let (Some(memory), None) = (self.method.memory(), outlook.drives) {
            let limit = format!(
                "{memory} for the run and its page cache, by a control group, if the target sets \
                 none; that takes root"
            );
            fact(text, "memory", &limit);
        }
        if let Some(drives) = outlook.worn {
            fact(text, "endurance", &endurance(demand.written, drives));
        }
        fact(text, "destroys", outlook.destroys);
        if let TargetSpec::Device(_) = self.target {
            fact(text, "purge", &format!("{} (`--purge`)", plan.purge));
        }
        fact(text, "privileges", outlook.privileges);
        match &outlook.device {
            _ if outlook.refusal.is_some() => {}
            Some(_) => fact(
                text,
                "not checked",
                "whether another program opens it before the \
                run does",
            ),
            None if outlook.drives.is_none() => {
                fact(text, "not checked", "space, permission and discards: checked when it starts");
            }
            None => {}
        }
        if let Some((refusal, hint)) = &outlook.refusal {
            fact(text, "refused", refusal);
            fact(text, "hint", hint);
        }
        outlook.refusal.is_none().then_some(demand)
    }

    /// What `count` emulated drives keep in memory, beside some 15 MB for all else.
    fn describe_memory(&self, text: &mut String, drive: &EmulatedSpec, count: usize) {
        let tables = rough_bytes(Bytes(drive.memory().0.saturating_mul(count as u64)));
        let also = if self.method.drives_at_once() > 1 {
            "; twice that if there is memory for two passes at a time"
        } else {
            ""
        };
        fact(text, "memory", &format!("about {tables} for the tables of emulated drives{also}"));
    }

    /// Describes what the method takes, and says it. `None` where a trace cannot be replayed.
    fn describe_demand(
        &self,
        text: &mut String,
        outlook: &Outlook<'_>,
        plan: &Plan,
    ) -> Option<Demand> {
        let (of, rate) = (outlook.measure(), plan.assumed_rate);
        let demand = match &self.target {
            target if target.is_filesystem() => Ok(self.method.demand_on_filesystems(of, rate)),
            _ => self.method.demand_with_traces(of, rate, &TraceFiles),
        };
        let Demand { written, time } = match demand {
            Ok(demand) => plan.paced(self, self.with_discard_waits(demand)),
            Err(error) => {
                fact(text, "refused", &Failure::from(error).message());
                return None;
            }
        };
        if let Err(failure) = self.check_trace() {
            fact(text, "refused", &failure.message());
            return None;
        }
        fact(text, "space", &format!("{} needed", self.method.space()));
        let (of_files, room) = match &self.target {
            TargetSpec::Emulated(_) | TargetSpec::Device(_) => ("", "the drive"),
            TargetSpec::Scratch(_) => ("", "the image"),
            TargetSpec::Directory(_) => (" to its files", "the filesystem"),
            TargetSpec::Modelled(_) | TargetSpec::Real(_) => (" to its files", "the drive"),
            TargetSpec::Pool(_) => (" to its files", "the room for them"),
        };
        let fills = outlook.capacity.filter(|capacity| capacity.0 > 0).map(|capacity| {
            format!(", {} times {room}", rough_ratio(written.0 as f64 / capacity.0 as f64))
        });
        let (rough, fills) = (rough_bytes(written), fills.unwrap_or_default());
        fact(text, "writes", &format!("at most about {rough}{of_files}{fills}"));
        if let TargetSpec::Pool(pool) = &self.target {
            let below = format!(
                "about {} with parity, all {} together; padding, metadata and records that are \
                 rewritten for a part of them come on top",
                rough_bytes(pool.with_parity(written)),
                pool.drives()
            );
            fact(text, "on drives", &below);
        }
        let time = time.saturating_add(plan.look_time(self));
        let (span, rate) = (rough_span(time), rough_bytes(Bytes(rate)));
        let at = format!("{rate} a second (assumed)");
        let told = match plan.timed_by.pace(&self.planned) {
            _ if outlook.drives.is_some() => format!("about {span} of virtual time, at {at}"),
            Some(pace) => {
                let times = rough_ratio(pace);
                format!(
                    "about {span} of wall time, {times} times as long as at {at}: as in the \
                     earlier run"
                )
            }
            None => format!(
                "about {span} of wall time, at {at}; what the target needs for its TRIMs comes on \
                 top (`--timed-by` the directory of a short run on the same target knows it)"
            ),
        };
        fact(text, "time", &told);
        self.describe_waits(text, plan);
        Some(Demand { written, time })
    }
}

/// What so many bytes are of the life of a drive.
fn endurance(written: Bytes, drives: Bytes) -> String {
    let share = written.0 as f64 / drives.0 as f64 / RATED_DRIVE_WRITES * 100.0;
    format!(
        "about {share:.2} % of the life of a drive of {drives}, if it is rated for \
         {RATED_DRIVE_WRITES} full writes (assumed: see its data sheet)"
    )
}

/// One line.
fn fact(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:12} {}", visible(value));
}

/// A number of times, to a tenth, or to two digits below that.
fn rough_ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 0.95 => format!("{ratio:.1}"),
        ratio if ratio >= 0.0995 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.3}"),
    }
}

/// To three digits, upwards, in decimal units as drives are sold.
pub(crate) fn rough_bytes(bytes: Bytes) -> String {
    let value = bytes.0 as f64;
    let (unit, size) = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)]
        .into_iter()
        .find(|(_, size)| value >= *size)
        .unwrap_or(("kB", 1e3));
    let scaled = value / size;
    let (digits, steps) = match scaled {
        small if small < 10.0 => (2, 100.0),
        middle if middle < 100.0 => (1, 10.0),
        _ => (0, 1.0),
    };
    format!("{:.digits$} {unit}", (scaled * steps).ceil() / steps)
}

/// A span to the second or the minute.
pub(crate) fn rough_span(span: Nanos) -> String {
    let seconds = span.0.div_ceil(1_000_000_000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}
