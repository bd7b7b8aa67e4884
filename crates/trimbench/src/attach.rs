//! `trimbench attach`: the emulated SSD as a block device, and what is asked of attached ones.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use trimbench_app::Failure;
use trimbench_attach::{
    Answer, AttachError, AttachedDrive, Attachment, ControlSocket, DriveOwner, DriveStatus, Engine,
    InitialState, LiveFault, Order, RequestKind, Statistics, ask, attached,
};
use trimbench_claim::{Durability, OutputFile};
use trimbench_core::settings::Named as _;
use trimbench_core::{Bytes, Interrupt, Nanos, exit};
use trimbench_devices::EmulatedSpec;
use trimbench_linux::pause;
use trimbench_report::{Grid, GridColumn};
use trimbench_results::number::{count, quantity, significant};

use crate::args::attach::AttachArgs;
use crate::files::{Destination, Rules};
use crate::interrupt::interrupt;
use crate::output::{Printed, cleaned, data, document, error_line, joined, style};

/// How often the log is written, and it is looked whether the end was asked for.
const TICK: Nanos = Nanos::from_millis(100);
/// So many pieces of discarded room are given back a tick.
const RECLAIMED_A_TICK: u32 = 64;
/// A detached drive has ended after so many ticks, or does not.
const END_TICKS: u32 = 100;
/// The word that tells a process that it serves behind another one's back.
const SERVES_DETACHED: &str = "TRIMBENCH_ATTACH_DETACHED";

/// `trimbench attach`.
pub(crate) fn run(args: &AttachArgs) -> Result<u8, Failure> {
    if args.list {
        let drives = attached_drives()?.into_iter().map(|(_, status)| status).collect();
        Listed(drives).print(args.format.format());
        return Ok(exit::DONE);
    }
    if args.stop || args.stats || args.fault.is_some() {
        let (socket, status) = chosen(args.what.as_deref())?;
        return match &args.fault {
            _ if args.stop => stop(&socket, &status),
            Some(fault) => plant(&socket, fault),
            None => statistics(&socket, &status, args),
        };
    }
    if args.detach { detach() } else { serve(args) }
}

/// Serves a drive until Ctrl-C, or until it is asked to stop.
fn serve(args: &AttachArgs) -> Result<u8, Failure> {
    let profile = args.what.as_deref().expect("clap asks for it");
    // As a target is named, and as the hint to an unknown profile says.
    let profile = profile.strip_prefix("sim:").unwrap_or(profile);
    let spec = EmulatedSpec::parse(profile, args.capacity)?;
    if !rustix::process::geteuid().is_root() {
        let error = anyhow!("only root may attach a drive: it is a block device of the kernel");
        return Err(Failure::target(error).with_hint("run it by `sudo`"));
    }
    let log = args.log.as_deref().map(Log::begin).transpose()?;
    // Clears what killed processes left, too.
    attached_drives()?;
    let attachment = Attachment {
        backing: args.backing.clone().map(|path| spec.kept_in(path)),
        state: InitialState::of_id(&args.state).expect("clap has checked it"),
        slow_down: args.slow_down,
        logs: log.is_some(),
        ..spec.attachment()?
    };
    let drive = AttachedDrive::attach(attachment.clone()).map_err(unattached)?;
    let status = attachment.status(profile, drive.node().to_owned());
    let control = ControlSocket::open(drive.engine().clone(), status.clone());
    let control = control.context("no socket to ask the drive by").map_err(Failure::target)?;
    let interrupt = interrupt("detaching (Ctrl-C again detaches at once)", || {})?;
    let owner = DriveOwner::of_this_process().map_err(Failure::target)?;
    let is_behind = owner.is_some() || std::env::var_os(SERVES_DETACHED).is_some();
    if let Some(owner) = &owner {
        let handed = owner.hand_over(drive.device(), drive.node(), &control.path());
        handed.context("whoever wanted the drive is gone").map_err(Failure::target)?;
    } else if is_behind {
        // Ctrl-C in the terminal of the first process is not meant for this one.
        let _ = rustix::process::setsid();
        data(&format!("{}\n", drive.node().display()));
    } else {
        Served(status).print(args.format.format());
    }
    let wishes = Wishes { control: &control, interrupt: &interrupt, owner: owner.as_ref() };
    let ended = keep_serving(&drive, &wishes, log);
    let engine = drive.engine().clone();
    drop(control);
    drop(drive);
    ended?;
    if !is_behind {
        data(&joined(Counted(engine.statistics()).lines()));
    }
    Ok(exit::DONE)
}

/// By what it is known that a drive is to end.
struct Wishes<'a> {
    control: &'a ControlSocket,
    interrupt: &'a Interrupt,
    /// The run that wanted the drive.
    owner: Option<&'a DriveOwner>,
}

/// Serves until the end is asked for and nobody uses the device.
fn keep_serving(
    drive: &AttachedDrive,
    wishes: &Wishes<'_>,
    mut log: Option<Log>,
) -> Result<(), Failure> {
    let mut has_said = false;
    let mut ticks_alone = 0;
    let kept = loop {
        pause(TICK);
        let engine = drive.engine();
        if let Some(log) = &mut log
            && let Err(failure) = log.take(engine)
        {
            break Err(failure);
        }
        let _more = (0..RECLAIMED_A_TICK).all(|_| engine.reclaim());
        if wishes.control.stop_asked() {
            break Ok(());
        }
        if wishes.owner.is_some_and(DriveOwner::is_gone) {
            // A killed run may have left its filesystem there, and nobody else was to use it.
            DriveOwner::unmount_leftovers(drive.node());
            ticks_alone += 1;
            if drive.users().is_empty() || ticks_alone > END_TICKS {
                break Ok(());
            }
        }
        if wishes.interrupt.requested() {
            let users = drive.users();
            if users.is_empty() {
                break Ok(());
            }
            if !has_said {
                has_said = true;
                let node = drive.node().display();
                error_line(&format!("`{node}` is in use, and is detached once it is not:"));
                for user in users {
                    error_line(&format!("  {user}"));
                }
                error_line("Ctrl-C again detaches at once: they then get I/O errors");
            }
        }
    };
    match log {
        Some(mut log) => {
            let last = log.take(drive.engine());
            kept.and(last).and_then(|()| log.end())
        }
        None => kept,
    }
}

/// Starts a process that serves the drive, and returns once the device is there.
fn detach() -> Result<u8, Failure> {
    let program = std::env::current_exe().context("this program cannot be started again");
    let words = std::env::args_os().skip(1).filter(|word| word != "--detach");
    let mut child = Command::new(program.map_err(Failure::target)?)
        .args(words)
        .env(SERVES_DETACHED, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Failure::target)?;
    let mut node = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut node).map_err(Failure::target)?;
    }
    if !node.is_empty() {
        data(&node);
        return Ok(exit::DONE);
    }
    let mut errors = String::new();
    if let Some(mut output) = child.stderr.take() {
        output.read_to_string(&mut errors).map_err(Failure::target)?;
    }
    errors.lines().for_each(error_line);
    let code = child.wait().map_err(Failure::target)?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::BUG))
}

/// The log of a drive, as it grows.
struct Log {
    path: PathBuf,
    file: OutputFile,
}

impl Log {
    fn begin(path: &Path) -> Result<Self, Failure> {
        let rules = Rules { mark: None, overwrite: false, inputs: &[] };
        let file = Destination::of(path, rules)?.begin()?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes what has happened since.
    fn take(&mut self, engine: &Engine) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for entry in engine.take_log() {
            serde_json::to_writer(&mut lines, &entry).expect("an entry is JSON");
            lines.push(b'\n');
        }
        self.file.file().write_all(&lines).map_err(|error| self.unwritten(error))
    }

    fn end(self) -> Result<(), Failure> {
        let Self { path, file } = self;
        let named = |error| Failure::target(error).context(format!("`{}`", path.display()));
        file.commit(Durability::Later).map_err(named)
    }

    fn unwritten(&self, error: std::io::Error) -> Failure {
        Failure::target(error).context(format!("cannot write `{}`", self.path.display()))
    }
}

fn unattached(error: AttachError) -> Failure {
    let advice = error.advice();
    let failure = Failure::target(error);
    match advice {
        Some(advice) => failure.with_hint(advice),
        None => failure,
    }
}

fn attached_drives() -> Result<Vec<(PathBuf, DriveStatus)>, Failure> {
    attached().map_err(|error| {
        let folder = trimbench_claim::registry::folder();
        Failure::target(error).context(format!("attached drives in `{}`", folder.display()))
    })
}

/// The attached drive that is meant.
fn chosen(device: Option<&str>) -> Result<(PathBuf, DriveStatus), Failure> {
    let mut drives = attached_drives()?;
    let known = drives.iter().map(|(_, status)| status.device.display().to_string());
    let known = known.collect::<Vec<_>>().join(", ");
    if drives.is_empty() {
        let error = anyhow!("no drive of yours is attached");
        return Err(Failure::usage(error).with_hint("`trimbench attach PROFILE` attaches one"));
    }
    let Some(device) = device else {
        if drives.len() > 1 {
            let error = anyhow!("several drives are attached");
            return Err(Failure::usage(error).with_hint(format!("name one of {known}")));
        }
        return Ok(drives.remove(0));
    };
    let place = drives.iter().position(|(_, status)| status.device == Path::new(device));
    place.map(|place| drives.swap_remove(place)).ok_or_else(|| {
        let error = anyhow!("`{device}` is no attached drive");
        Failure::usage(error).with_hint(format!("attached are {known}"))
    })
}

fn asked(socket: &Path, order: &Order) -> Result<Answer, Failure> {
    ask(socket, order).context("the attached drive does not answer").map_err(Failure::target)
}

fn unexpected() -> Failure {
    Failure::target(anyhow!("the attached drive is served by another version of trimbench"))
}

fn stop(socket: &Path, status: &DriveStatus) -> Result<u8, Failure> {
    match asked(socket, &Order::Stop)? {
        Answer::Done => {}
        Answer::InUse(users) => {
            let node = status.device.display();
            let error = anyhow!("`{node}` is in use: {}", users.join("; "));
            return Err(Failure::target(error).with_hint("unmount or close it first"));
        }
        Answer::Refused(reason) => return Err(Failure::usage(anyhow!(reason))),
        _ => return Err(unexpected()),
    }
    for _ in 0..END_TICKS {
        if !socket.exists() {
            return Ok(exit::DONE);
        }
        pause(TICK);
    }
    let process = status.process;
    Err(Failure::target(anyhow!("process {process}, which serves the drive, does not end")))
}

fn plant(socket: &Path, fault: &str) -> Result<u8, Failure> {
    let fault = parse_fault(fault)?;
    match asked(socket, &Order::Fault(fault))? {
        Answer::Done => Ok(exit::DONE),
        Answer::Refused(reason) => Err(Failure::usage(anyhow!(reason))),
        _ => Err(unexpected()),
    }
}

fn statistics(socket: &Path, status: &DriveStatus, args: &AttachArgs) -> Result<u8, Failure> {
    let interrupt = interrupt("", || {})?;
    loop {
        let Answer::Statistics(statistics) = asked(socket, &Order::Statistics)? else {
            return Err(unexpected());
        };
        Asked(status.clone(), Counted(statistics)).print(args.format.format());
        if !args.watch {
            return Ok(exit::DONE);
        }
        for _ in 0..10 {
            pause(TICK);
            if interrupt.requested() {
                return Ok(exit::DONE);
            }
        }
    }
}

/// Reads `NAME` or `NAME=VALUE`.
fn parse_fault(text: &str) -> Result<LiveFault, Failure> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let wrong = |expected: &str| {
        Failure::usage(anyhow!("`{text}` is no fault")).with_hint(format!("{name} is {expected}"))
    };
    let switch = || match value {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(_) => Err(wrong("`on` or `off`")),
    };
    let span = || match value {
        Some("off") => Ok(0),
        text => text
            .and_then(|text| text.parse().ok())
            .map(|Nanos(span)| span)
            .ok_or_else(|| wrong("a time, as in `20ms`, or `off`")),
    };
    let size = |text: &str| text.parse().map(|Bytes(bytes)| bytes);
    Ok(match (name, value) {
        ("power-cut", None) => LiveFault::PowerCut,
        ("power-on", None) => LiveFault::PowerOn,
        ("lying-flush", _) => LiveFault::LyingFlush(switch()?),
        ("ignored-discards", _) => LiveFault::IgnoredDiscards(switch()?),
        ("old-data-after-discard", _) => LiveFault::OldDataAfterDiscard(switch()?),
        ("slow", Some(_)) => LiveFault::Slow(span()?),
        ("slow-discards", Some(_)) => LiveFault::SlowDiscards(span()?),
        ("stall", Some("on")) => LiveFault::Stall { after: 0, span: u64::MAX },
        ("stall", Some(_)) => LiveFault::Stall { after: 0, span: span()? },
        ("unreadable", Some("off")) => LiveFault::Unreadable { ranges: Vec::new(), good_reads: 0 },
        ("unreadable", Some(range)) => {
            let expected = "an offset and a length, as in `unreadable=1MiB+4KiB`";
            let parts = range.split_once('+').ok_or_else(|| wrong(expected))?;
            let [offset, length] = [parts.0, parts.1].map(size);
            let (offset, length) = (offset.ok(), length.ok());
            let end = offset.zip(length).and_then(|(offset, length)| offset.checked_add(length));
            let (offset, end) = offset.zip(end).ok_or_else(|| wrong(expected))?;
            let ranges = std::iter::once(offset..end).collect();
            LiveFault::Unreadable { ranges, good_reads: 0 }
        }
        ("neighbour-lost", Some("off")) => LiveFault::NeighbourLost { before: 0, behind: 0 },
        ("neighbour-lost", Some(behind)) => {
            let behind = size(behind).map_err(|_| wrong("a size, or `off`"))?;
            LiveFault::NeighbourLost { before: 0, behind }
        }
        _ => {
            let known = [
                "power-cut",
                "power-on",
                "lying-flush",
                "ignored-discards",
                "old-data-after-discard",
                "slow",
                "slow-discards",
                "stall",
                "unreadable",
                "neighbour-lost",
            ];
            return Err(Failure::unknown("fault", name, &known));
        }
    })
}

/// A drive that has just been attached.
struct Served(DriveStatus);

impl Printed for Served {
    fn human(&self) -> String {
        let DriveStatus { profile, capacity, device, slow_down, .. } = &self.0;
        let node = device.display();
        let slow = match slow_down {
            1 => String::new(),
            times => format!(", {times} times slower"),
        };
        joined(vec![
            cleaned(&format!("{node}: {profile}, {}{slow}", Bytes(*capacity))),
            format!("  in another terminal: `mkfs.ext4 {node}`, `trimbench attach --stats {node}`"),
            "  Ctrl-C detaches it; what it holds is then gone".to_owned(),
        ])
    }

    fn json(&self) -> String {
        document(&json!(self.0))
    }

    fn items(&self) -> Vec<Value> {
        vec![json!(self.0)]
    }
}

/// Attached drives.
struct Listed(Vec<DriveStatus>);

impl Printed for Listed {
    fn human(&self) -> String {
        if self.0.is_empty() {
            return "no drive of yours is attached\n".to_owned();
        }
        let line = |status: &DriveStatus| {
            let DriveStatus { profile, capacity, device, process, .. } = status;
            let size = Bytes(*capacity);
            cleaned(&format!("{}: {profile}, {size}, process {process}", device.display()))
        };
        joined(self.0.iter().map(line).collect())
    }

    fn json(&self) -> String {
        document(&json!(self.0))
    }

    fn items(&self) -> Vec<Value> {
        self.0.iter().map(|status| json!(status)).collect()
    }
}

/// What a drive has counted.
struct Counted(Statistics);

impl Counted {
    /// A row for each kind of request, what else was counted, and whether times on the device may
    /// be believed.
    fn lines(&self) -> Vec<String> {
        let statistics = &self.0;
        let time = |ns: u64| quantity(ns as f64 / 1e9, "s");
        let mut table = Grid::new(vec![
            GridColumn::name("requests"),
            GridColumn::number("ended"),
            GridColumn::number("drive p50"),
            GridColumn::number("p99"),
            GridColumn::number("max"),
            GridColumn::number("late p99"),
            GridColumn::number("max"),
        ]);
        for kind in &statistics.kinds {
            let [model, model_99, model_max] = kind.model_ns.map(time);
            let [_, late_99, late_max] = kind.late_ns.map(time);
            let name = match kind.kind {
                RequestKind::Read => "reads",
                RequestKind::Write => "writes",
                RequestKind::Zero => "zeroes",
                RequestKind::Discard => "discards",
                RequestKind::Flush => "flushes",
            };
            let ended = count(kind.count);
            table.row([name.to_owned(), ended, model, model_99, model_max, late_99, late_max]);
        }
        let mut lines = if statistics.kinds.is_empty() {
            vec!["no request has ended".to_owned()]
        } else {
            table.render(style())
        };
        lines.push(format!(
            "at most {} requests at once, {} now; TRIM work put off: {}{}",
            statistics.most_under_way,
            statistics.under_way,
            time(statistics.discard_backlog_ns),
            if statistics.power_is_off { "; the power is off" } else { "" }
        ));
        if statistics.host_written > 0 {
            let ratio = statistics.media_written as f64 / statistics.host_written as f64;
            lines.push(format!(
                "written since it was made: {}, write amplification {}",
                quantity(statistics.host_written as f64, "B"),
                significant(ratio)
            ));
        }
        let reasons = statistics.invalid_because();
        if !reasons.is_empty() {
            lines.push("times measured on this device are not the drive's:".to_owned());
            lines.extend(reasons.into_iter().map(|reason| format!("  {reason}")));
        }
        lines
    }
}

/// What a drive that was asked is, and has counted.
struct Asked(DriveStatus, Counted);

impl Printed for Asked {
    fn human(&self) -> String {
        let head = Listed(vec![self.0.clone()]).human();
        let lines = self.1.lines().into_iter().map(|line| format!("  {line}"));
        head + &joined(lines.collect())
    }

    fn json(&self) -> String {
        document(&self.value())
    }

    fn items(&self) -> Vec<Value> {
        vec![self.value()]
    }
}

impl Asked {
    fn value(&self) -> Value {
        let invalid = self.1.0.invalid_because();
        json!({ "drive": self.0, "statistics": self.1.0, "invalid_because": invalid })
    }
}
