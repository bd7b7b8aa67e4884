//! The command line of `trimbench doctor`.

use std::path::PathBuf;

use clap::ValueHint;
use trimbench_core::Bytes;

use super::FormatArgs;
use crate::misuse::{NumberError, whole};

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct DoctorArgs {
    /// Directories or files on the filesystems in question, or block devices; by default every
    /// mounted filesystem that has a device.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Look at every mounted filesystem that has a device, one line each.
    #[arg(long, conflicts_with = "paths")]
    pub(crate) all: bool,
    /// Print all layers and notes, and what to know of each line to type.
    #[arg(long)]
    pub(crate) full: bool,
    /// Watch the disks below one path for so many seconds instead: whether its stalls are TRIM's
    /// doing, and who waited. As root each request is seen, else counters only.
    #[arg(long, value_name = "SECONDS", value_parser = seconds,
        conflicts_with_all = ["sysroot", "probe", "all", "prometheus", "full"])]
    pub(crate) watch: Option<u64>,
    /// Print what this drive says of itself instead: health, wear, heat, what it counted of TRIM;
    /// with `--full` every value of its log pages. Needs root.
    #[arg(long, value_name = "DEVICE", value_hint = ValueHint::AnyPath,
        conflicts_with_all = ["paths", "sysroot", "probe", "all", "prometheus", "watch"])]
    pub(crate) drive: Option<PathBuf>,
    /// Have the drive capture its telemetry anew, which replaces what it holds.
    #[arg(long, requires = "drive")]
    pub(crate) new_telemetry: bool,
    /// Ask only for what every drive of its kind has.
    #[arg(long, hide = true, requires = "drive", conflicts_with = "new_telemetry")]
    pub(crate) standard_logs: bool,
    /// Look at a recorded system instead: a directory with its `sys`, `proc` and `etc`. Paths are
    /// then mount points and devices of that system.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) sysroot: Option<PathBuf>,
    /// Test it: write one file without a name, delete it, trim the ranges that it had, and count
    /// what arrives at each layer. Asks first; needs root.
    #[arg(long, requires = "paths", conflicts_with = "sysroot")]
    pub(crate) probe: bool,
    /// The size of that file.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", requires = "probe")]
    pub(crate) probe_size: Bytes,
    /// Do not ask.
    #[arg(long, requires = "probe")]
    pub(crate) yes: bool,
    /// Agree that btrfs discards all its unallocated space as well, as each FITRIM of it does.
    #[arg(long, requires = "probe")]
    pub(crate) trim_unallocated: bool,
    /// Write the verdicts and the counters into this file as well, as metrics for Prometheus; a
    /// timer that does it keeps them over time.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) prometheus: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

fn seconds(text: &str) -> Result<u64, NumberError> {
    whole(text, 1..=86_400)
}
