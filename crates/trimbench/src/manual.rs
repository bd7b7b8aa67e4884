//! Shell completions and man pages, made of the definitions that `--help` prints.

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use trimbench_app::Failure;
use trimbench_core::exit;

use crate::args::Args;
use crate::complete;
use crate::output::data;

/// `trimbench completions SHELL`.
pub(crate) fn completions(shell: Shell) -> u8 {
    data(&complete::registration(shell));
    exit::DONE
}

/// `trimbench man [COMMAND]...`: the page of the program, or of one of its commands.
pub(crate) fn man(path: &[String]) -> Result<u8, Failure> {
    // `trimbench help` has no page that others could refer to.
    let mut command = Args::command().disable_help_subcommand(true).long_version(None);
    command.build();
    for word in path {
        let Some(inner) = command.find_subcommand(word).cloned() else {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            return Err(Failure::unknown("command", word, &known));
        };
        command = inner;
    }
    let mut page = Vec::new();
    let release = concat!("trimbench ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command)
        .source(release)
        .render(&mut page)
        .expect("memory takes all that is written");
    data(&String::from_utf8_lossy(&page));
    Ok(exit::DONE)
}
