//! `trimbench trace record`: what a block device is asked for, as a trace.

use std::path::Path;
use std::time::Duration;

use trimbench_core::{Interrupt, OperationKind, exit};
use trimbench_linux::{RecordedCommand, Recorder, TracingError};
use trimbench_trace::{Kind, Record, Writer, Written};

use super::args::RecordArgs;
use super::output::{account, begin, unwritten};
use crate::failure::Failure;
use crate::output::error_line;

/// How often the kernel's buffers are emptied.
const INTERVAL: Duration = Duration::from_millis(50);

/// Records until Ctrl-C or for the time that was given; either is a proper end. What was begun is
/// removed on any error.
pub(super) fn record(args: &RecordArgs) -> Result<u8, Failure> {
    let device = args.device.display();
    let mut recorder = Recorder::start(&args.device, args.event()).map_err(|error| {
        let hint = hint(&error);
        let failure = Failure::target(error).context(format!("cannot record `{device}`"));
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })?;
    refuse_own_writes(args, &recorder)?;
    let answer = "ending the recording (once more to end at once and drop it)";
    let written = begin((&args.output, &[]), true, (false, answer), |writer, interrupt| {
        error_line(&match args.time {
            Some(time) => format!("recording `{device}` for {time} (Ctrl-C ends it before)"),
            None => format!("recording `{device}` until Ctrl-C"),
        });
        write(args, (&mut recorder, writer), interrupt)
    })?;
    let lost = recorder.lost();
    account(&args.output, &device.to_string(), written);
    if lost > 0 {
        error_line(&format!(
            "at least {lost} commands are missing: they came faster than they could be read"
        ));
    }
    Ok(if lost > 0 { exit::INVALID } else { exit::DONE })
}

/// Writes what comes until the end.
fn write(
    args: &RecordArgs,
    (recorder, mut writer): (&mut Recorder, Writer),
    interrupt: &Interrupt,
) -> Result<Written, Failure> {
    let (mut commands, mut records) = (Vec::new(), Vec::new());
    loop {
        let ends =
            interrupt.requested() || args.time.is_some_and(|time| recorder.elapsed() >= time);
        if ends {
            recorder.take_rest(&mut commands);
        } else {
            recorder.take(&mut commands);
        }
        let within = |command: &RecordedCommand| args.time.is_none_or(|time| command.at < time);
        records.clear();
        records.extend(commands.drain(..).filter(within).filter_map(as_record));
        writer.write(&records).map_err(unwritten)?;
        if ends {
            return writer.finish().map_err(unwritten);
        }
        #[expect(clippy::disallowed_methods, reason = "it waits for what others do")]
        std::thread::sleep(INTERVAL);
    }
}

/// The record of a command; `None` for what is none of a device.
fn as_record(command: RecordedCommand) -> Option<Record> {
    let RecordedCommand { at: time, kind, offset, length } = command;
    let kind = match kind {
        OperationKind::Read => Kind::Read,
        OperationKind::Write => Kind::Write,
        OperationKind::Discard => Kind::Discard,
        OperationKind::Flush => Kind::Flush,
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
