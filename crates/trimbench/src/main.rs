//! The command line of trimbench.
//!
//! Arguments become a plan ([`plan`]), a plan is run ([`run`]), and results are saved after every
//! step ([`store`]). Data goes to stdout, everything else to stderr.

mod args;
mod commands;
mod compare;
mod dry_run;
mod failure;
mod files;
mod import;
mod interrupt;
mod list;
mod output;
mod plan;
mod progress;
mod report;
mod run;
mod store;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command, Compat, ImportFormat};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.use_stderr() => return refuse(&error),
        Err(error) => error.exit(),
    };
    keep_quiet_about_damaged_files();
    // A file over the limit of its size (`ulimit -f`) is an error like a full disk, not the end.
    trimbench_linux::ignore_file_size_signal();
    let result = match &args.command {
        Command::Run(run) => commands::run(run),
        Command::List { what, explain, output_format } => {
            list::list(*what, explain.as_deref(), *output_format)
        }
        Command::Report(args) => match args.compat {
            Some(Compat::V1_51) => report::terse(&args.runs),
            None => report::report(args),
        },
        Command::Compare { before, after, limits, output_format } => {
            compare::run(before, after, limits, *output_format)
        }
        Command::Import { format: ImportFormat::Postmark, file, number, output_format } => {
            import::postmark(file, *number, *output_format)
        }
        Command::Trace { command } => trace::run(command),
    };
    match result {
        Ok(trimbench_core::exit::DONE) if output::lost() => {
            ExitCode::from(trimbench_core::exit::TARGET)
        }
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}

/// Says what is wrong with the arguments, which anyone may have chosen: `trimbench report *`.
fn refuse(error: &clap::Error) -> ExitCode {
    error.render().to_string().lines().for_each(output::error_line);
    ExitCode::from(trimbench_core::exit::USAGE)
}

/// A decoder of traces may panic on a damaged file, which becomes an error like others: the panic
/// itself is not for the user.
fn keep_quiet_about_damaged_files() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !trimbench_trace::is_guarded() {
            usual(panic);
        }
    }));
}
