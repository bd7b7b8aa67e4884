//! `trimbench trace`: analyses, converts, generates and records traces.

mod convert;
mod generate;
mod latencies;
mod output;
mod record;
mod stat;

use trimbench_app::Failure;
use trimbench_core::{Interrupt, exit};
use trimbench_trace::{Reader, TraceSource};

use crate::args::trace::TraceCommand;
use crate::output::error_line;

/// `trimbench trace ...`.
pub(crate) fn run(command: &TraceCommand) -> Result<u8, Failure> {
    match command {
        TraceCommand::Stat(args) => stat::stat(args),
        TraceCommand::Convert(args) => convert::convert(args),
        TraceCommand::Generate(args) => generate::generate(args),
        TraceCommand::Record(args) => record::record(args),
    }
}

/// Goes through a trace, batch by batch, until its end or Ctrl-C.
fn each_batch<S: TraceSource + ?Sized>(
    source: &mut S,
    interrupt: &Interrupt,
    mut take: impl FnMut(&[trimbench_trace::Record]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut batch = Vec::new();
    loop {
        source.read(&mut batch)?;
        if interrupt.requested() {
            return Err(Failure::interrupted());
        }
        if batch.is_empty() {
            return Ok(());
        }
        take(&batch)?;
    }
}

/// Says what was skipped, so that no count is taken for the whole.
fn say_skipped(reader: &Reader) {
    for (flaw, count) in reader.tally().flaws() {
        error_line(&format!("skipped: {count} x {flaw}"));
    }
}

/// A trace of nothing answers nothing.
fn refuse_empty(reader: &Reader) -> Result<u8, Failure> {
    if reader.tally().records > 0 {
        return Ok(exit::DONE);
    }
    let ignored: Vec<String> =
        reader.tally().ignored().map(|(what, count)| format!("{count} {}", what.text())).collect();
    let but = if ignored.is_empty() { String::new() } else { format!(": {}", ignored.join(", ")) };
    Err(Failure::usage(anyhow::anyhow!("the trace has no command{but}")))
}
