//! The command line of trimpace.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use serde_json::json;
use trimbench_core::contract::Interrupt;
use trimbench_core::exit::INTERRUPTED;
use trimbench_linux::restore_abandoned;
use trimpace::args::{CommandLine, PaceCommand, PaceFormat, RestoreArgs};
use trimpace::exit::{DONE, FAILED};
use trimpace::once::once;
use trimpace::probe::keep_probe_file;
use trimpace::report::say;
use trimpace::service;
use trimpace::status::status;

fn main() -> ExitCode {
    let args = match CommandLine::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // As fstrim: 1 for a wrong command line, where clap would end with 2.
            let code = if error.use_stderr() { FAILED } else { DONE };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let (text, code) = match &args.command {
        PaceCommand::Once(once_args) => {
            let result = once(once_args, &interrupt());
            (result.text, result.code)
        }
        PaceCommand::Run(args) => (String::new(), service::run(args, &interrupt())),
        PaceCommand::Status(args) => status(*args),
        PaceCommand::CheckConfig(args) => service::check_config(args),
        PaceCommand::Restore(args) => restore(*args),
        PaceCommand::KeepProbeFile => {
            let is_kept = keep_probe_file().is_ok();
            return ExitCode::from(if is_kept { DONE } else { FAILED });
        }
    };
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("trimpace: cannot write to stdout: {error}"));
            ExitCode::from(code.max(FAILED))
        }
        _ => ExitCode::from(code),
    }
}

/// Set by the first Ctrl-C or SIGTERM; a second one ends the program. What is still changed then is
/// put back by the next trimpace.
fn interrupt() -> Interrupt {
    let interrupt = Interrupt::default();
    let asked = interrupt.clone();
    let handler = move || {
        if asked.requested() {
            #[expect(clippy::exit, reason = "the user insists")]
            std::process::exit(i32::from(INTERRUPTED));
        }
        asked.request();
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        say(&format!("trimpace: {error}; Ctrl-C ends it at once"));
    }
    interrupt
}

fn restore(args: RestoreArgs) -> (String, u8) {
    let all = match restore_abandoned() {
        Ok(all) => all,
        Err(error) => {
            say(&format!("trimpace: {error}"));
            return (String::new(), FAILED);
        }
    };
    let is_done = !all.iter().any(trimbench_linux::Restored::needs_attention);
    let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
    let text = match args.output_format {
        PaceFormat::Human => lines.iter().flat_map(|line| [line, "\n"]).collect(),
        PaceFormat::Json => format!("{:#}\n", json!({ "done": is_done, "settings": lines })),
    };
    (text, if is_done { DONE } else { FAILED })
}
