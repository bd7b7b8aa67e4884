//! Writes a trace to a file: its start, and a summary at the end.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use serde_json::{Value, json};
use trimbench_app::Failure;
use trimbench_claim::{Begun, Durability, Inode, OutputFile};
use trimbench_trace::{TraceSource, WriteError, Writer, Written};

use super::each_batch;
use crate::args::trace::OutputArgs;
use crate::files::{Destination, Rules};
use crate::interrupt::interrupt;
use crate::output::{Printed, data, document, error_line, joined};

/// Writes all of `source`, which `check` looks at in the end. It comes from `inputs`, which are not
/// written over. The file gets its name when it is whole; what was begun is removed on any error,
/// and after Ctrl-C.
pub(super) fn write<S: TraceSource + ?Sized>(
    source: &mut S,
    args: &OutputArgs,
    inputs: &[Inode],
    lenient: bool,
    check: impl FnOnce(&S) -> Result<(), Failure>,
) -> Result<Written, Failure> {
    let to = args.to()?;
    let output = create(args, inputs)?;
    let begun = output.begun();
    let answer = "stopping; the incomplete file is removed (Ctrl-C again stops at once)";
    let interrupt = interrupt(answer, move || remove(begun.as_ref()))?;
    let file = output.file().try_clone().map_err(|error| unwritten(WriteError::Io(error)))?;
    let timed = source.is_timed();
    let mut writer = Writer::new(to, Box::new(file), timed, lenient).map_err(unwritten)?;
    each_batch(source, &interrupt, |batch| writer.write(batch).map_err(unwritten))?;
    let written = writer.finish().map_err(unwritten)?;
    check(source)?;
    output.commit(Durability::Later).map_err(Failure::target)?;
    Ok(written)
}

/// Removes the file that was begun.
fn remove(begun: Option<&Begun>) {
    if let Some(begun) = begun
        && let Err(error) = begun.remove()
    {
        error_line(&error.to_string());
    }
}

/// Begins the file to write.
pub(super) fn create(args: &OutputArgs, inputs: &[Inode]) -> Result<OutputFile, Failure> {
    if args.path == Path::new("-") {
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        let stdout = stdout.map_err(|error| unwritten(WriteError::Io(error)))?;
        let is_file = stdout.metadata().is_ok_and(|metadata| metadata.is_file());
        if is_file && Inode::of(&stdout).is_ok_and(|inode| inputs.contains(&inode)) {
            let error = anyhow::anyhow!("standard output is the trace itself");
            return Err(Failure::usage(error).with_hint("name another file for the copy"));
        }
        return Ok(OutputFile::Stream(stdout));
    }
    Destination::of(&args.path, Rules { mark: None, overwrite: args.overwrite, inputs })?.begin()
}

pub(super) fn unwritten(error: WriteError) -> Failure {
    match error {
        WriteError::Unaligned { .. } => {
            let hint = "`--to trimbench` and `--to iolog` can store it; `--lenient` leaves it out";
            Failure::usage(error).with_hint(hint)
        }
        WriteError::ReadOnly(_) => Failure::usage(error),
        _ => Failure::target(error),
    }
}

/// Says what was written, on stderr where the trace itself goes to stdout.
pub(super) fn account(args: &OutputArgs, from: &str, written: Written) {
    let to = args.to().map_or("", |to| to.id);
    let text = Account { from, to, written }.text(args.format.format());
    if args.path == Path::new("-") {
        text.lines().for_each(error_line);
    } else {
        data(&text);
    }
}

/// What was written, and from what.
struct Account<'a> {
    from: &'a str,
    to: &'a str,
    written: Written,
}

impl Printed for Account<'_> {
    fn human(&self) -> String {
        let Self { from, to, written: Written { records, rounded_stamps, unaligned } } = self;
        let mut lines = vec![format!("{records} commands, {from} to {to}")];
        if *rounded_stamps > 0 {
            lines.push(format!(
                "{rounded_stamps} stamps were rounded down to a microsecond, the finest that the \
                 format has"
            ));
        }
        if *unaligned > 0 {
            lines.push(format!("{unaligned} commands that are not whole sectors were left out"));
        }
        joined(lines)
    }

    fn json(&self) -> String {
        self.items().iter().map(document).collect()
    }

    fn items(&self) -> Vec<Value> {
        let Self { from, to, written: Written { records, rounded_stamps, unaligned } } = self;
        vec![json!({
            "from": from,
            "to": to,
            "records": records,
            "rounded_stamps": rounded_stamps,
            "unaligned": unaligned,
        })]
    }
}
