//! The command line: parsed and checked for form; nothing is opened.
//!
//! `trimpace once` takes the options of fstrim(8) of util-linux, with the same letters and
//! meanings, and options of its own by long names only.

mod deadline;
mod size;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, ValueHint};
use trimbench_core::{Bytes, Instant, Nanos, Ppm};

pub use self::deadline::{PassDeadline, PassDeadlineError};
pub use self::size::{SizeError, fstrim_size};
use crate::exit::TrimRequest;
use crate::law::LawChoice;
use crate::probe::{KEEPER, ProbeKind};
use crate::selection::WhichMounts;

#[cfg(test)]
mod tests;

/// Where the configuration of the service is looked for.
pub const CONFIG: &str = "/etc/trimpace.toml";

/// Trims mounted filesystems so gently that other programs keep a stated latency.
#[derive(Debug, Parser)]
#[command(name = "trimpace", version, propagate_version = true, max_term_width = 100)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: PaceCommand,
}

/// What trimpace does.
#[derive(Debug, Subcommand)]
pub enum PaceCommand {
    /// Discard the unused blocks of mounted filesystems once, as fstrim does, but paced.
    Once(Box<OnceArgs>),
    /// Trim as the configuration says, until SIGTERM or Ctrl-C: the service.
    Run(ServiceArgs),
    /// Say what the service does, and what it has done.
    Status(StatusArgs),
    /// Check a configuration of the service, and say when each mount would be trimmed.
    CheckConfig(ServiceArgs),
    /// Put back the settings of disks that a killed trimpace left changed.
    Restore(RestoreArgs),
    /// The process that keeps the file of a probe; trimpace itself starts it.
    #[command(name = KEEPER, hide = true)]
    KeepProbeFile,
}

/// `trimpace once`.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true)]
#[command(group(ArgGroup::new("which").required(true)
    .args(["all", "fstab", "listed_in", "mount_point"])))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct OnceArgs {
    /// Trim all mounted filesystems on devices that support discards; not those on loop devices and
    /// removable disks, of FUSE, or mounted by users.
    #[arg(short, long)]
    pub all: bool,
    /// Trim the mounted filesystems of /etc/fstab, and the root filesystem.
    #[arg(short = 'A', long)]
    pub fstab: bool,
    /// Trim the filesystems of the first non-empty file of a colon-separated list; each file has
    /// the form of fstab or of mountinfo.
    #[arg(short = 'I', long, value_name = "LIST")]
    pub listed_in: Option<OsString>,
    /// Byte offset in the filesystem from which to search for free blocks.
    #[arg(short, long, value_name = "SIZE", default_value = "0", value_parser = fstrim_size)]
    pub offset: Bytes,
    /// Bytes from the offset to search for free blocks [default: to the end].
    #[arg(short, long, value_name = "SIZE", value_parser = fstrim_size)]
    pub length: Option<Bytes>,
    /// Ignore free ranges that are shorter.
    #[arg(short, long, value_name = "SIZE", value_parser = fstrim_size)]
    pub minimum: Option<Bytes>,
    /// Limit `--all`, `--fstab` and `--listed-in` to these filesystem types, comma-separated;
    /// prefixed with `no`: to all others.
    #[arg(short, long, value_name = "LIST")]
    pub types: Option<String>,
    /// Print what was discarded, and which filesystems were skipped and why.
    #[arg(short, long)]
    pub verbose: bool,
    /// Print no error if a filesystem does not support trimming, and do not fail for it.
    #[arg(long)]
    pub quiet_unsupported: bool,
    /// Do everything but trim.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// The latency that 99 % of the requests of other programs keep, as `2ms`; judged by our own
    /// probes. Like `--share` and `--deadline`, only with `--law tail`.
    #[arg(long, value_name = "TIME", conflicts_with = "share", value_parser = positive_time)]
    pub p99: Option<Nanos>,
    /// The share of the time that discards may take, as `1%`.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub share: Option<Ppm>,
    /// Be done by then if possible, at the cost of latency: the next such local time (`06:00`), or
    /// a duration (`2h`).
    #[arg(long, value_name = "HH:MM|TIME")]
    pub deadline: Option<PassDeadline>,
    /// Choose the minimum so that the ranges that are left hold this share of the free space, as
    /// `99%`.
    #[arg(long, value_name = "SHARE", conflicts_with = "minimum", value_parser = share)]
    pub cover: Option<Ppm>,
    /// The pacing law: `tail` is trimpace's own, the others are there to be compared with it. An
    /// option that the law does not use is refused.
    #[arg(long, value_enum, default_value_t)]
    pub law: LawName,
    /// The longest discard of `--law pieces` [default: 4MiB].
    #[arg(long, value_name = "SIZE", value_parser = positive_size)]
    pub piece: Option<Bytes>,
    /// The range of each call of `--law talos` and `--law mean` [default: 1GiB].
    #[arg(long, value_name = "SIZE", value_parser = positive_size)]
    pub chunk: Option<Bytes>,
    /// The pause after each call of `--law talos` [default: 1s].
    #[arg(long, value_name = "TIME")]
    pub delay: Option<Nanos>,
    /// What measures the latency of the disk.
    #[arg(long, value_enum, default_value_t)]
    pub probe: ProbeName,
    /// Format of stdout.
    #[arg(long, value_enum, default_value_t)]
    pub output_format: PaceFormat,
    /// The directory that the filesystem is mounted on.
    #[arg(value_name = "MOUNTPOINT", value_hint = ValueHint::DirPath)]
    pub mount_point: Option<PathBuf>,
}

/// `trimpace run` and `trimpace check-config`.
#[derive(Clone, Debug, Args)]
pub struct ServiceArgs {
    /// The configuration.
    #[arg(long, value_name = "FILE", default_value = CONFIG, value_hint = ValueHint::FilePath)]
    pub config: PathBuf,
}

/// `trimpace status`.
#[derive(Clone, Copy, Debug, Args)]
pub struct StatusArgs {
    /// Format of stdout.
    #[arg(long, value_enum, default_value_t)]
    pub output_format: PaceFormat,
}

/// `trimpace restore`.
#[derive(Clone, Copy, Debug, Args)]
pub struct RestoreArgs {
    /// Format of stdout.
    #[arg(long, value_enum, default_value_t)]
    pub output_format: PaceFormat,
}

/// The name of a pacing law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LawName {
    /// Keep the latency that `--p99` states.
    #[default]
    Tail,
    /// One call for the whole filesystem, as fstrim.
    Plain,
    /// One call, with discards of at most `--piece`.
    Pieces,
    /// Ranges of `--chunk`, and a pause of `--delay` after each, as Talos.
    Talos,
    /// A rate that follows the difference of a short and a long mean of latency.
    Mean,
}

/// What measures the latency of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProbeName {
    /// Reads of our own, 100 to 1,000 a second during calls.
    #[default]
    Reads,
    /// Flushes of our own.
    Flushes,
    /// Nothing: a call counts as late for all of its length.
    None,
}

/// How results are printed on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PaceFormat {
    /// Lines for people, as fstrim's.
    #[default]
    Human,
    /// One JSON document.
    Json,
}

impl ProbeName {
    /// What it names; `None` for no probe.
    pub fn kind(self) -> Option<ProbeKind> {
        match self {
            Self::Reads => Some(ProbeKind::Reads),
            Self::Flushes => Some(ProbeKind::Flushes),
            Self::None => None,
        }
    }
}

/// An option that the chosen law does not use: leave it out, or choose another law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}` has no effect with `--law {law}`")]
pub struct MisplacedOption {
    /// The option.
    pub option: &'static str,
    /// The law.
    pub law: &'static str,
}

impl OnceArgs {
    /// Which mounts are asked for.
    pub fn which(&self) -> WhichMounts {
        if let Some(list) = &self.listed_in {
            return WhichMounts::listed_in(list);
        }
        match &self.mount_point {
            Some(path) => WhichMounts::Named(path.clone()),
            None if self.fstab => WhichMounts::Fstab,
            None => WhichMounts::All,
        }
    }

    /// What the exit code depends on.
    pub fn request(&self) -> TrimRequest {
        match self.mount_point {
            Some(_) => TrimRequest::Named { quiet_unsupported: self.quiet_unsupported },
            None => TrimRequest::Listed,
        }
    }

    /// The law with its values; `deadline` is when it is to be done.
    ///
    /// # Errors
    /// [`MisplacedOption`] if an option of another law was given.
    pub fn chosen_law(&self, deadline: Option<Instant>) -> Result<LawChoice, MisplacedOption> {
        let chunk = self.chunk.unwrap_or(Bytes::gib(1));
        let (name, law, used): (_, _, &[&str]) = match self.law {
            LawName::Tail => {
                let law = match self.share {
                    Some(share) => LawChoice::Share { share, deadline },
                    None => LawChoice::Tail { target: self.p99, deadline },
                };
                ("tail", law, &["--p99", "--share", "--deadline"])
            }
            LawName::Plain => ("plain", LawChoice::Plain, &[]),
            LawName::Pieces => {
                let piece = self.piece.unwrap_or(Bytes::mib(4));
                ("pieces", LawChoice::Pieces(piece), &["--piece"])
            }
            LawName::Talos => {
                let delay = self.delay.unwrap_or(Nanos::from_secs(1));
                ("talos", LawChoice::Chunks { chunk, delay }, &["--chunk", "--delay"])
            }
            LawName::Mean => ("mean", LawChoice::Mean { chunk }, &["--chunk"]),
        };
        let given = [
            ("--p99", self.p99.is_some()),
            ("--share", self.share.is_some()),
            ("--deadline", self.deadline.is_some()),
            ("--piece", self.piece.is_some()),
            ("--chunk", self.chunk.is_some()),
            ("--delay", self.delay.is_some()),
        ];
        match given.into_iter().find(|(option, given)| *given && !used.contains(option)) {
            Some((option, _)) => Err(MisplacedOption { option, law: name }),
            None => Ok(law),
        }
    }
}

/// A text that is a quantity, but not one that makes sense here.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ValueError(String);

fn positive_size(text: &str) -> Result<Bytes, ValueError> {
    let size = fstrim_size(text).map_err(|error| ValueError(error.to_string()))?;
    if size.0 == 0 { Err(ValueError("it must be more than 0".to_owned())) } else { Ok(size) }
}

pub(crate) fn positive_time(text: &str) -> Result<Nanos, ValueError> {
    let time: Nanos = text.parse().map_err(|error| ValueError(format!("{error}")))?;
    if time.0 == 0 { Err(ValueError("it must be more than 0".to_owned())) } else { Ok(time) }
}

/// More than 0, at most 100 %.
pub(crate) fn share(text: &str) -> Result<Ppm, ValueError> {
    let share: Ppm = text.parse().map_err(|error| ValueError(format!("{error}")))?;
    let is_share = share.0 > 0 && share <= Ppm::ONE;
    if is_share { Ok(share) } else { Err(ValueError("it must be in (0%, 100%]".to_owned())) }
}
