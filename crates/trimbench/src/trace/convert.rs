//! `trimbench trace convert`: a trace in another format.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use trimbench_core::exit;
use trimbench_trace::{Source, Writer, Written};

use super::args::ConvertArgs;
use super::out::{create, remove, unwritten};
use super::{each_batch, open, refuse_empty, say_skipped};
use crate::args::OutputFormat;
use crate::commands::interrupt;
use crate::failure::Failure;
use crate::output::{data, error_line};

/// Reads one and writes the other. What was begun is removed on any error, and after Ctrl-C.
pub(super) fn convert(args: &ConvertArgs) -> Result<u8, Failure> {
    let mut reader = open::open(std::slice::from_ref(&args.input), &args.read)?;
    let (out, begun) = create(&args.output, args.overwrite, Some(&args.input))?;
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
