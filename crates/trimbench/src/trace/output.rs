//! A trace to a file: what was begun, and what came of it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use trimbench_core::Interrupt;
use trimbench_trace::{Source, WriteError, Writer, Written};

use super::args::OutputArgs;
use super::each_batch;
use crate::args::OutputFormat;
use crate::commands::interrupt;
use crate::failure::Failure;
use crate::output::{data, error_line};

/// Writes all of `source`, which `check` looks at in the end. `input` is its own file, if it has
/// one: that is not written over. What was begun is removed on any error, and after Ctrl-C.
pub(super) fn write<S: Source + ?Sized>(
    source: &mut S,
    (args, input): (&OutputArgs, Option<&Path>),
    lenient: bool,
    check: impl FnOnce(&S) -> Result<(), Failure>,
) -> Result<Written, Failure> {
    let answer = "ending; the file begun is removed (once more to end at once)";
    let (timed, settings) = (source.is_timed(), (lenient, answer));
    begin((args, input), timed, settings, |mut writer, interrupt| {
        each_batch(source, interrupt, |batch| writer.write(batch).map_err(unwritten))?;
        let written = writer.finish().map_err(unwritten)?;
        check(source).map(|()| written)
    })
}

/// Has `body` write a trace. What was begun is removed if it fails, and if the user insists on the
/// end after the `answer` to Ctrl-C.
pub(super) fn begin<R>(
    (args, input): (&OutputArgs, Option<&Path>),
    timed: bool,
    (lenient, answer): (bool, &'static str),
    body: impl FnOnce(Writer, &Interrupt) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let (out, begun) = create(args, input)?;
    let left = begun.clone();
    let interrupt = interrupt(answer, move || remove(left.as_deref()))?;
    let writer = Writer::new(args.to, out, timed, lenient).map_err(unwritten);
    let result = writer.and_then(|writer| body(writer, &interrupt));
    if result.is_err() {
        remove(begun.as_deref());
    }
    result
}

/// Removes the file that was begun.
fn remove(begun: Option<&Path>) {
    if let Some(path) = begun
        && let Err(error) = fs::remove_file(path)
    {
        error_line(&format!("cannot remove `{}`: {error}", path.display()));
    }
}

/// Opens the file to write; with its path, if it is to be removed on errors.
fn create(
    args: &OutputArgs,
    input: Option<&Path>,
) -> Result<(Box<dyn Write + Send>, Option<PathBuf>), Failure> {
    let path = args.path.as_path();
    if path == Path::new("-") {
        return Ok((Box::new(io::stdout()), None));
    }
    let refused = |text: &str, hint: &str| {
        let error = anyhow::anyhow!("`{}` {text}", path.display());
        Failure::usage(error).with_hint(hint)
    };
    if let Ok(metadata) = fs::metadata(path) {
        if !metadata.is_file() {
            let hint = "name a regular file; a pipe takes `-`";
            return Err(refused("is no regular file, and is not written over", hint));
        }
        if args.overwrite && input.is_some_and(|input| same_file(path, input)) {
            return Err(refused("is the trace itself", "name another file for the copy"));
        }
    }
    let mut options = File::options();
    options.write(true);
    if args.overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    match options.open(path) {
        Ok(file) => Ok((Box::new(file), Some(path.to_owned()))),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(refused("is there already", "name another file, or say `--overwrite`"))
        }
        Err(error) => {
            let context = format!("cannot write `{}`", path.display());
            Err(Failure::target(error).context(context))
        }
    }
}

/// Whether two names lead to one file.
fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

pub(super) fn unwritten(error: WriteError) -> Failure {
    match error {
        WriteError::Unaligned { .. } => {
            let hint = "`--to trimbench` and `--to iolog` hold it; `--lenient` leaves it out";
            Failure::usage(error).with_hint(hint)
        }
        WriteError::ReadOnly(_) => Failure::usage(error),
        _ => Failure::target(error),
    }
}

/// Says what was written, on stderr where the trace itself goes to stdout.
pub(super) fn account(args: &OutputArgs, from: &str, written: Written) {
    let Written { records, rounded_stamps, unaligned } = written;
    let document = json!({
        "from": from,
        "to": args.to.id(),
        "records": records,
        "rounded_stamps": rounded_stamps,
        "unaligned": unaligned,
    });
    let text = match args.output_format {
        OutputFormat::Human => {
            let mut text = format!("{records} commands, {from} to {}\n", args.to.id());
            if rounded_stamps > 0 {
                let _ = writeln!(
                    text,
                    "{rounded_stamps} stamps were rounded down to a microsecond, the finest that \
                     the format has"
                );
            }
            if unaligned > 0 {
                let _ = writeln!(text, "{unaligned} commands of no whole sectors were left out");
            }
            text
        }
        OutputFormat::Json => format!("{document:#}\n"),
        OutputFormat::Ndjson => format!("{document}\n"),
    };
    if args.path == Path::new("-") {
        error_line(text.trim_end());
    } else {
        data(&text);
    }
}
