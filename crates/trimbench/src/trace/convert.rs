//! `trimbench trace convert`: writes a trace in another format.

use trimbench_app::{Failure, open_trace};
use trimbench_core::exit;

use super::output::{account, write};
use super::{refuse_empty, say_skipped};
use crate::args::trace::ConvertArgs;

/// Reads one and writes the other. What was begun is removed on any error, and after Ctrl-C.
pub(super) fn convert(args: &ConvertArgs) -> Result<u8, Failure> {
    // What is missing on the command line is said first.
    args.output.to()?;
    let (mut reader, inputs) = open_trace(std::slice::from_ref(&args.input), &args.read.options())?;
    let written = write(&mut reader, &args.output, &inputs, args.read.lenient, |reader| {
        refuse_empty(reader).map(|_| ())
    })?;
    say_skipped(&reader);
    account(&args.output, reader.format().id, written);
    Ok(exit::DONE)
}
