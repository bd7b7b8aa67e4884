//! The command line of `trimbench attach`.

use std::path::PathBuf;

use clap::ValueHint;
use trimbench_attach::InitialState;
use trimbench_core::Bytes;
use trimbench_core::settings::Named as _;

use super::FormatArgs;
use crate::complete;
use crate::misuse::{NumberError, whole};

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct AttachArgs {
    /// The drive: a profile or a file of one, with settings after commas, as behind `sim:`. With
    /// `--stop`, `--stats` or `--fault` the block device of an attached drive, which may be left
    /// out where there is one.
    #[arg(value_name = "PROFILE|DEVICE", required_unless_present_any = ["list", "stop", "stats",
        "fault"], add = complete::profiles())]
    pub(crate) what: Option<String>,
    /// The capacity of the drive; by default the profile's.
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<Bytes>,
    /// What the drive holds at first: `fresh` nothing, `filled` each block written once, `steady`
    /// three times its capacity written at random since.
    #[arg(long, value_name = "STATE", default_value = InitialState::default().id(),
        value_parser = InitialState::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>())]
    pub(crate) state: String,
    /// Have the drive's time run so many times slower than the machine's.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = slow_down)]
    pub(crate) slow_down: u32,
    /// Keep what the drive holds in this file, which is made if there is none. The profile and the
    /// capacity are part of it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) backing: Option<PathBuf>,
    /// Write everything that the drive is asked, and when each command ended, as lines of JSON.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Return once the device is there; another process serves it until `attach --stop`.
    #[arg(long)]
    pub(crate) detach: bool,
    /// List attached drives.
    #[arg(long, conflicts_with_all = ["what", "detach", "log", "capacity"])]
    pub(crate) list: bool,
    /// Detach a drive that nobody uses.
    #[arg(long, conflicts_with_all = ["list", "detach", "log", "capacity"])]
    pub(crate) stop: bool,
    /// Print what an attached drive has counted, and how late its answers were.
    #[arg(long, conflicts_with_all = ["list", "stop", "detach", "log", "capacity"])]
    pub(crate) stats: bool,
    /// Print it every second, until Ctrl-C.
    #[arg(long, requires = "stats")]
    pub(crate) watch: bool,
    /// Plant a fault in an attached drive, or take it back: `power-cut`, `power-on`,
    /// `lying-flush=on`, `ignored-discards=on`, `old-data-after-discard=on` (and `=off`),
    /// `slow=20ms`, `slow-discards=20ms`, `stall=2s` (or `on`), `unreadable=1MiB+4KiB` (offset,
    /// length), `neighbour-lost=4KiB` (each until `off`).
    #[arg(long, value_name = "FAULT", conflicts_with_all = ["list", "stop", "stats", "detach",
        "log", "capacity"])]
    pub(crate) fault: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

fn slow_down(text: &str) -> Result<u32, NumberError> {
    whole(text, 1..=1_000_000).map(|number| u32::try_from(number).expect("it is within the limits"))
}
