//! The command line of trimbench.
//!
//! Arguments become options of `trimbench-app`, which plans, runs and keeps results; what of it is
//! printed is decided here. Data goes to stdout, everything else to stderr.

mod args;
mod attach;
mod commands;
mod compare;
mod complete;
mod doctor;
mod dry_run;
mod files;
mod fit;
mod import;
mod interrupt;
mod list;
mod manual;
mod misuse;
mod output;
mod progress;
mod records;
mod report;
mod restore;
mod trace;

use std::process::ExitCode;

use clap::Parser;
use trimbench_core::Bytes;
use trimbench_core::text::to_text;

use crate::args::{Args, Command, Compat, ImportFormat};

/// What the program has been seen to need of a stack, several times over.
const STACK: Bytes = Bytes::mib(4);

fn main() -> ExitCode {
    // The first thread's stack has the user's limit (`ulimit -s`), which may be some KiB.
    if trimbench_linux::stack_limit().is_none_or(|limit| limit >= STACK) {
        return run_program();
    }
    let stack = usize::try_from(STACK.0).unwrap_or(usize::MAX);
    match std::thread::Builder::new().stack_size(stack).spawn(run_program) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(trimbench_core::exit::BUG)),
        // No more threads for this user: it has this one.
        Err(_) => run_program(),
    }
}

fn run_program() -> ExitCode {
    complete::answer();
    let words = misuse::without_help_of_help(std::env::args_os().collect());
    let args = match Args::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) if error.use_stderr() => {
            let words: Vec<String> = words.into_iter().map(to_text).collect();
            return refuse(&error, &words);
        }
        Err(error) => error.exit(),
    };
    keep_quiet_about_damaged_files();
    // A file over the limit of its size (`ulimit -f`) is an error like a full disk, not the end.
    trimbench_linux::ignore_file_size_signal();
    let result = match &args.command {
        Command::Doctor(args) => doctor::run(args),
        Command::Attach(args) => attach::run(args),
        Command::Run(run) => commands::run(run),
        Command::List { what, explain, format } => {
            list::list(what.as_deref(), explain.as_deref(), format.format())
        }
        Command::Restore { format } => restore::run(format.format()),
        Command::Completions { shell } => Ok(manual::completions(*shell)),
        Command::Man { command } => manual::man(command),
        Command::Report(args) => match args.compat {
            Some(Compat::V1_51) => report::terse(args),
            None => report::report(args),
        },
        Command::Compare { before, after, limits, format } => {
            compare::run(before, after, limits, format.format())
        }
        Command::Fit(args) => fit::run(args),
        Command::WhatIf(args) => fit::what_if(args),
        Command::Import { format: ImportFormat::Postmark, file, number, output } => {
            import::postmark(file, *number, output.format())
        }
        Command::Trace { command } => trace::run(command),
    };
    match result {
        Ok(trimbench_core::exit::DONE) if output::lost() => {
            ExitCode::from(trimbench_core::exit::TARGET)
        }
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::print_failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

/// Says what is wrong with the arguments, which anyone may have chosen: `trimbench report *`.
fn refuse(error: &clap::Error, words: &[String]) -> ExitCode {
    match misuse::failure(error, words) {
        Some(failure) => output::print_failure(&failure),
        None => error.render().to_string().lines().for_each(output::error_line),
    }
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
