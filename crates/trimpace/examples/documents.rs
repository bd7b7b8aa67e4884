//! Prints what a release has beside `trimpace`: `man [COMMAND]` a man page, `completions SHELL` a
//! script, both from the definitions that `--help` prints.
//!
//! `cargo xtask dist` runs it, as it runs `trimbench man`. An example, so that the program carries
//! neither the code nor commands that `fstrim` does not have.

use std::io::Write as _;

use clap::{Command, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use trimpace::args::CommandLine;

/// The section of programs for root, where `fstrim` is.
const SECTION: &str = "8";

#[derive(Debug, Parser)]
struct Documents {
    #[command(subcommand)]
    which: Document,
}

#[derive(Debug, Subcommand)]
enum Document {
    /// The page of the program, or of one of its commands.
    Man { command: Option<String> },
    /// The script with which a shell completes its command line.
    Completions { shell: Shell },
}

fn main() -> std::io::Result<()> {
    let mut printed = Vec::new();
    match Documents::parse().which {
        Document::Man { command } => {
            let release = concat!("trimpace ", env!("CARGO_PKG_VERSION"));
            let page = clap_mangen::Man::new(described(command.as_deref()));
            page.section(SECTION).source(release).render(&mut printed)?;
        }
        Document::Completions { shell } => {
            let mut program = CommandLine::command();
            clap_complete::generate(shell, &mut program, "trimpace", &mut printed);
        }
    }
    std::io::stdout().write_all(&printed)
}

/// The program, or its command of this name.
fn described(name: Option<&str>) -> Command {
    // `trimpace help` has no page that others could refer to.
    let mut program = CommandLine::command().disable_help_subcommand(true);
    program.build();
    match name {
        Some(name) => program.find_subcommand(name).expect("it has this command").clone(),
        None => program,
    }
}
