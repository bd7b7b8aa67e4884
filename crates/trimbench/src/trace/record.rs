//! `trimbench trace record`: records the commands of a block device as a trace.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use trimbench_app::Failure;
use trimbench_claim::{Durability, GrowingFile, OutputFile};
use trimbench_core::{Interrupt, Nanos, OperationKind, exit};
use trimbench_linux::{RecordedCommand, Recorder, TracingError};
use trimbench_trace::{Format, Record, RecordKind, Sink, WriteError, Writer, Written};

use super::latencies::RecordedLatencies;
use super::output::{account, create, unwritten};
use crate::args::trace::RecordArgs;
use crate::interrupt::interrupt;
use crate::output::{error_line, print_failure};

/// How often the kernel's buffers are emptied.
const INTERVAL: Duration = Duration::from_millis(50);

/// How much of a recording a kill may cost: a quarter of a second, or this part of a long one in
/// our own format, whose footer has an entry for each save.
const SAVED_EVERY: Nanos = Nanos::from_millis(250);
const SAVED_PART: u64 = 1_024;

/// Records until Ctrl-C or for the time that was given; either is a proper end. Where no more can
/// be written, what was is kept, and that is an error.
pub(super) fn record(args: &RecordArgs) -> Result<u8, Failure> {
    let device = args.device.display();
    let to = args.output.to()?;
    let mut recorder = Recorder::start(&args.device, args.event()).map_err(|error| {
        let hint = hint(&error).map(str::to_owned);
        Failure { hint, ..Failure::target(error) }.context(format!("cannot record `{device}`"))
    })?;
    refuse_own_writes(args, &recorder)?;
    let output = create(&args.output, &[])?.lasting().map_err(Failure::target)?;
    let left = left_by_kill(&output);
    let answer = "stopping the recording (Ctrl-C again stops at once)";
    let insisted = left.clone().unwrap_or_else(|| "the recording is incomplete".to_owned());
    let interrupt = interrupt(answer, move || error_line(&insisted))?;
    let writer = Writer::recording(to, sink(&output)?).map_err(unwritten)?;
    error_line(&match args.time {
        Some(time) => format!("recording `{device}` for {time} (Ctrl-C stops it earlier)"),
        None => format!("recording `{device}` until Ctrl-C"),
    });
    let (instance, watched) = recorder.instance();
    let off = if watched { "at once" } else { "with the next recording" };
    error_line(&format!("after a kill, tracing ends {off} (instance `{instance}` of tracefs)"));
    if let Some(text) = &left {
        error_line(text);
    }
    let mut latencies = RecordedLatencies::start(&args.device);
    let watched = (&mut recorder, &mut latencies);
    let (written, error) = write((args, to), watched, writer, &interrupt);
    let lost = recorder.lost();
    drop(recorder);
    latencies.print();
    let ended = keep(args, output, written, error);
    if lost > 0 {
        error_line(&format!(
            "at least {lost} commands are missing: they came faster than they could be read"
        ));
    }
    ended.map(|()| if lost > 0 { exit::INVALID } else { exit::DONE })
}

/// Gives the recording its name if there is something in it. `error` is why it ended early.
fn keep(
    args: &RecordArgs,
    output: OutputFile,
    written: Result<Written, WriteError>,
    error: Option<WriteError>,
) -> Result<(), Failure> {
    let written = match (written, &error) {
        (Ok(written), Some(_)) if written.records == 0 => Err(None),
        (written, _) => written.map_err(Some),
    };
    let kept = match written {
        Ok(written) => {
            let (out, count) = (args.output.path.display(), written.records);
            let committed = output.commit(Durability::Later).map_err(Failure::target);
            if committed.is_ok() {
                account(&args.output, &args.device.display().to_string(), written);
            }
            committed.map(|()| format!("the first {count} commands are kept in `{out}`"))
        }
        Err(None) => Ok("nothing was recorded".to_owned()),
        Err(Some(second)) => {
            // It could not be ended: it stays as a kill would have left it.
            let text = left_by_kill(&output).unwrap_or_default();
            std::mem::forget(output);
            if error.is_none() {
                return Err(unwritten(second).context(text));
            }
            Ok(text)
        }
    };
    match (error, kept) {
        (None, kept) => kept.map(drop),
        (Some(error), Ok(kept)) => {
            Err(unwritten(error).context(format!("the recording ended early: {kept}")))
        }
        (Some(error), Err(second)) => {
            print_failure(&second);
            Err(unwritten(error))
        }
    }
}

/// What is left if this process is killed, and how to read it; `None` where what was written is
/// gone already, as to a pipe.
fn left_by_kill(output: &OutputFile) -> Option<String> {
    let path: PathBuf = match output {
        OutputFile::Draft(draft) => draft.path(),
        OutputFile::Stream(_) => return None,
    };
    let path = path.display();
    Some(format!("the commands recorded until then stay in `{path}`: read it with `--lenient`"))
}

/// What the trace is written to.
fn sink(output: &OutputFile) -> Result<Box<dyn Sink>, Failure> {
    let file = output.file().try_clone();
    let file = file.map_err(|error| unwritten(WriteError::Io(error)))?;
    Ok(match output {
        OutputFile::Draft(_) => Box::new(Tape(GrowingFile::new(file))),
        OutputFile::Stream(_) => Box::new(Box::new(file) as Box<dyn Write + Send>),
    })
}

/// A file for recordings.
struct Tape(GrowingFile);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Sink for Tape {
    fn reserve(&mut self, end: u64, bytes: u64) -> io::Result<()> {
        self.0.reserve(end, bytes)
    }

    fn cut(&mut self, end: u64) -> io::Result<()> {
        self.0.cut(end)
    }
}

/// Writes what comes until the end; what is in the file, and why it ended early.
fn write(
    (args, to): (&RecordArgs, &Format),
    (recorder, latencies): (&mut Recorder, &mut RecordedLatencies),
    mut writer: Writer,
    interrupt: &Interrupt,
) -> (Result<Written, WriteError>, Option<WriteError>) {
    let (mut commands, mut records) = (Vec::new(), Vec::new());
    let mut saved = Nanos::ZERO;
    loop {
        let now = recorder.elapsed();
        let ends = interrupt.requested() || args.time.is_some_and(|time| now >= time);
        if ends {
            recorder.take_rest(&mut commands);
        } else {
            recorder.take(&mut commands);
        }
        latencies.take();
        let within = |command: &RecordedCommand| args.time.is_none_or(|time| command.at < time);
        records.clear();
        records.extend(commands.drain(..).filter(within).filter_map(as_record));
        let mut done = writer.write(&records);
        if now.saturating_sub(saved) >= pause(to, now) {
            done = done.and_then(|()| writer.save());
            saved = now;
        }
        if let Err(error) = done {
            return (writer.keep(), Some(error));
        }
        if ends {
            return writer.finish_or_keep();
        }
        #[expect(clippy::disallowed_methods, reason = "it waits for what others do")]
        std::thread::sleep(INTERVAL);
    }
}

/// How long after a save comes the next, in a recording of this length.
fn pause(format: &Format, length: Nanos) -> Nanos {
    if format.is_text() {
        return SAVED_EVERY;
    }
    SAVED_EVERY.max(Nanos(length.0 / SAVED_PART))
}

/// The record of a command; `None` for what is none of a device.
fn as_record(command: RecordedCommand) -> Option<Record> {
    let RecordedCommand { at: time, kind, offset, length } = command;
    let kind = match kind {
        OperationKind::Read => RecordKind::Read,
        OperationKind::Write => RecordKind::Write,
        OperationKind::Discard => RecordKind::Discard,
        OperationKind::Flush => RecordKind::Flush,
        OperationKind::Metadata => return None,
    };
    Some(Record { time, kind, offset, length })
}

/// A recording that is written to the recorded disk would record itself.
fn refuse_own_writes(args: &RecordArgs, recorder: &Recorder) -> Result<(), Failure> {
    let out = args.output.path.as_path();
    let folder = match out.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if out == Path::new("-") || !recorder.records(folder) {
        return Ok(());
    }
    let (out, device) = (out.display(), args.device.display());
    let error = anyhow::anyhow!("`{out}` lies on `{device}`: the recording would record itself");
    Err(Failure::usage(error).with_hint("write to another disk, to `/dev/shm`, or to a pipe (`-`)"))
}

/// What to do about a device that cannot be recorded.
fn hint(error: &TracingError) -> Option<&'static str> {
    match error {
        TracingError::NoDevice => Some("name a block device, as `lsblk --paths` shows them"),
        TracingError::NoRequests { .. } => {
            Some("`--event queue` records it; or name the whole disk below")
        }
        _ => None,
    }
}
