//! `cargo xtask guest`: guests for people.

use std::io::{Write as _, stderr, stdout};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Error, Result, bail};

use super::{Guest, GuestDisk, GuestKind, MEMORY_MIB, stacks};
use crate::process::show_words;

/// How a command ends that ran out of time: as `timeout` of coreutils says.
const OVERDUE: u8 = 124;

/// A guest to start, and what to run in it.
#[derive(Clone, Debug, clap::Args)]
pub struct GuestOptions {
    /// What kind of machine
    #[arg(value_enum, default_value = "uml")]
    pub kind: GuestKind,
    /// Add an empty disk: `256MiB`, `256MiB,discard=ignore`, `256MiB,nvme`
    #[arg(long, value_name = "SIZE[,discard=ignore|unmap][,nvme]")]
    pub disk: Vec<GuestDisk>,
    /// End the guest after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub deadline: u64,
    /// Memory of the guest, MiB
    #[arg(long, value_name = "MIB", default_value_t = MEMORY_MIB)]
    pub memory: u32,
    /// A folder that the guest sees, writable, as `/exchange`
    #[arg(long, value_name = "FOLDER")]
    pub exchange: Option<PathBuf>,
    /// Print what the guest's kernel printed, too
    #[arg(long)]
    pub console: bool,
    /// Build every storage stack in its guest, trim it before and after its fix, and print a table
    #[arg(long, conflicts_with_all = ["command", "disk", "exchange", "console"])]
    pub stacks: bool,
    /// The command, to be run as root in `/exchange`; `$DISKS` has the paths of the disks
    #[arg(last = true, required_unless_present = "stacks")]
    pub command: Vec<String>,
}

impl FromStr for GuestDisk {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(',');
        let size = parts.next().unwrap_or_default();
        let scaled = [("GiB", 1024), ("MiB", 1)].into_iter().find_map(|(unit, scale)| {
            size.strip_suffix(unit)?.parse::<u32>().ok()?.checked_mul(scale)
        });
        let size_mib = scaled.filter(|size| *size > 0);
        let size_mib = size_mib.with_context(|| format!("`{size}` is no size such as 256MiB"))?;
        let mut disk = Self::of_mib(size_mib);
        for part in parts {
            match part {
                "discard=ignore" => disk.discard = false,
                "discard=unmap" => disk.discard = true,
                "nvme" => disk.nvme = true,
                _ => bail!("`{part}` is none of discard=ignore, discard=unmap, nvme"),
            }
        }
        Ok(disk)
    }
}

/// Starts the guest and prints what its command prints; the command's exit status.
pub fn run_command(options: &GuestOptions) -> Result<u8> {
    if options.stacks {
        return stacks::print_table().map(|()| 0);
    }
    let mut guest = Guest::new(options.kind)
        .deadline(Duration::from_secs(options.deadline))
        .memory_mib(options.memory);
    for disk in &options.disk {
        guest = guest.disk(*disk);
    }
    if let Some(exchange) = &options.exchange {
        let folder = exchange.canonicalize();
        guest = guest.exchange(&folder.with_context(|| format!("no {}", exchange.display()))?);
    }
    // One word is a line for the shell, as `ssh` takes it; several are a command.
    let script = match &options.command[..] {
        [line] => line.clone(),
        words => show_words(words),
    };
    let output = guest.run(&script)?;
    stdout().write_all(output.stdout.as_bytes()).context("print the output")?;
    let console = if options.console { &output.console } else { "" };
    let overdue = format!("the guest did not end within {} s\n", options.deadline);
    let overdue = if output.status.is_none() { &overdue } else { "" };
    for text in [console, &output.stderr, overdue] {
        stderr().write_all(text.as_bytes()).context("print the output")?;
    }
    Ok(output.status.unwrap_or(OVERDUE))
}
