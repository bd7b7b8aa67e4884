//! `trimbench trace convert`: a trace in another format.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use trimbench_core::exit;
use trimbench_trace::{Source, WriteError, Writer, Written};

use super::args::ConvertArgs;
use super::{each_batch, open, refuse_empty, say_skipped};
use crate::args::OutputFormat;
use crate::commands::interrupt;
use crate::failure::Failure;
use crate::output::{data, error_line};

/// Reads one and writes the other. What was begun is removed on any error, and after Ctrl-C.
pub(super) fn convert(args: &ConvertArgs) -> Result<u8, Failure> {
    let mut reader = open::open(std::slice::from_ref(&args.input), &args.read)?;
    let (out, begun) = create(args)?;
    let answer = "ending; the file begun is removed (once more to end at once)";
    let left = begun.clone();
    let interrupt = interrupt(answer, move || remove(left.as_deref()))?;
    let mut written = Written::default();
    let result = (|| {
        let timed = reader.is_timed();
        let mut writer = Writer::new(args.to, out, timed, args.read.lenient).map_err(unwritten)?;
        each_batch(&mut reader, &interrupt, |batch| writer.write(batch).map_err(unwritten))?;
        written = writer.finish().map_err(unwritten)?;
        refuse_empty(&reader)
    })();
    if result.is_err() {
        remove(begun.as_deref());
    }
    result?;
    say_skipped(&reader);
    account(args, reader.format().id(), written);
    Ok(exit::DONE)
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
fn create(args: &ConvertArgs) -> Result<(Box<dyn Write + Send>, Option<PathBuf>), Failure> {
    let path = args.output.as_path();
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
        if args.overwrite && same_file(path, &args.input) {
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

fn unwritten(error: WriteError) -> Failure {
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
fn account(args: &ConvertArgs, from: &str, written: Written) {
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
    if args.output == Path::new("-") {
        error_line(text.trim_end());
    } else {
        data(&text);
    }
}
