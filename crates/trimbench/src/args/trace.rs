//! The arguments of `trimbench trace`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Subcommand, ValueEnum};
use trimbench_app::Failure;
use trimbench_core::{BlockSize, Bytes, Nanos, Ppm};
use trimbench_linux::RecordedEvent;
use trimbench_trace::{Event, FORMATS, Format, ReadOptions, Wait};

use super::{FormatArgs, examples};

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Print statistics of a trace: commands, sizes, gaps, live data, effect of TRIMs.
    #[command(after_help = examples::STAT)]
    Stat(StatArgs),
    /// Write a trace in another format.
    #[command(after_help = examples::CONVERT)]
    Convert(ConvertArgs),
    /// Generate a trace: one like JEDEC's client master trace, or a simple mix.
    #[command(after_help = examples::GENERATE)]
    Generate(GenerateArgs),
    /// Record the commands of a block device, until Ctrl-C or for a given time. Needs root.
    #[command(after_help = examples::RECORD)]
    Record(RecordArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatArgs {
    /// The files of one trace: a single file; one file for each processor (blktrace; `NAME` alone
    /// stands for all of `NAME.blktrace.*`); or parts, in their order. `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// The mapping unit of the drive: a TRIM must cover a unit whole to free it.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = unit)]
    pub(crate) unit: BlockSize,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// The trace: a file, `NAME` for `NAME.blktrace.*`, or `-` for standard input.
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Capacity of the drive that the trace is for.
    #[arg(long, value_name = "SIZE", default_value = "256GB")]
    pub(crate) capacity: Bytes,
    /// Seed of all random numbers.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Share of the master trace's length, 1% to 100%.
    #[arg(long, value_name = "SHARE", default_value = "100%", conflicts_with = "commands")]
    pub(crate) length: Ppm,
    /// Generate a simple mix of this many commands instead.
    #[arg(long, value_name = "COUNT")]
    pub(crate) commands: Option<u64>,
    #[command(flatten)]
    pub(crate) mix: MixArgs,
}

/// The composition of a simple mix.
#[derive(Debug, clap::Args)]
pub(crate) struct MixArgs {
    /// Share of reads in a mix; the remaining commands are writes.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) reads: Ppm,
    /// Share of TRIMs, each of which covers what an earlier write wrote.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) trims: Ppm,
    /// Share of flushes.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) flushes: Ppm,
    /// Bytes of each command, a multiple of 4 KiB.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", requires = "commands")]
    pub(crate) size: Bytes,
    /// Share of reads and writes that begin where the previous one ended.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) sequential: Ppm,
    /// Mean time between two commands.
    #[arg(long, value_name = "TIME", default_value = "1ms", requires = "commands")]
    pub(crate) gap: Nanos,
}

/// Where a trace is written, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// The file to write; `-` is standard output.
    #[arg(value_name = "OUT")]
    pub(crate) path: PathBuf,
    /// The format to write [default: what the name of OUT ends with, `.parquet`,
    /// `.blkparse` or `.iolog`].
    #[arg(long, value_name = "FORMAT", value_parser = writable())]
    to: Option<&'static Format>,
    /// Replace OUT if it exists.
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What the end of a file's name says of the format.
const ENDS: [(&str, &str); 3] =
    [("parquet", "trimbench"), ("blkparse", "blkparse"), ("iolog", "iolog")];

impl OutputArgs {
    /// The format that is asked for, or that the name of the file says.
    pub(crate) fn to(&self) -> Result<&'static Format, Failure> {
        let end = self.path.extension();
        let by_name = || ENDS.iter().find(|(known, _)| end.is_some_and(|end| end == *known));
        let to = self.to.or_else(|| Format::from_id(by_name()?.1));
        to.ok_or_else(|| {
            let formats: Vec<&str> = ENDS.iter().map(|(_, id)| *id).collect();
            let ends: Vec<String> = ENDS.iter().map(|(end, _)| format!("`.{end}`")).collect();
            let hint = format!(
                "write `--to` and one of {}, or a name that ends with {}",
                formats.join(", "),
                ends.join(", ")
            );
            Failure::usage(anyhow::anyhow!("`--to` is missing")).with_hint(hint)
        })
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// The block device, whole or a partition: `/dev/sdb`.
    #[arg(value_name = "DEVICE")]
    pub(crate) device: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Event to record as a command.
    #[arg(long, value_enum, default_value_t)]
    event: EventArg,
    /// How long to record; by default until Ctrl-C.
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<Nanos>,
}

impl RecordArgs {
    pub(crate) fn event(&self) -> RecordedEvent {
        match self.event {
            EventArg::Queue => RecordedEvent::Queued,
            EventArg::Issue => RecordedEvent::Issued,
        }
    }
}

/// How traces are read.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadArgs {
    /// Format of the trace; by default detected by content.
    #[arg(long, value_name = "FORMAT", value_parser = readable())]
    format: Option<&'static Format>,
    /// Skip and count errors, instead of ending at the first.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Use only the commands of this device, as the format names it; needed if the trace names
    /// several.
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Event to read as a command (blktrace, blkparse).
    #[arg(long, value_enum, default_value_t)]
    event: EventArg,
    /// Meaning of `wait` (fio's iolog version 2).
    #[arg(long, value_enum, default_value_t)]
    wait: WaitArg,
}

/// [`Event`] on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum EventArg {
    /// `Q`: given to the block layer; this is what fio replays.
    #[default]
    Queue,
    /// `D`: issued to the drive, after merging and splitting.
    Issue,
}

/// [`Wait`] on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum WaitArg {
    /// As documented: microseconds since the previous wait.
    #[default]
    Documented,
    /// As fio does: milliseconds since its start.
    Fio,
}

impl ReadArgs {
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format,
            lenient: self.lenient,
            device: self.device.clone(),
            event: match self.event {
                EventArg::Queue => Event::Queue,
                EventArg::Issue => Event::Issue,
            },
            wait: match self.wait {
                WaitArg::Documented => Wait::Documented,
                WaitArg::Fio => Wait::Fio,
            },
            latencies: false,
        }
    }
}

fn readable() -> impl clap::builder::TypedValueParser<Value = &'static Format> {
    formats(|_| true)
}

fn writable() -> impl clap::builder::TypedValueParser<Value = &'static Format> {
    formats(Format::is_written)
}

fn formats(
    is_offered: fn(&Format) -> bool,
) -> impl clap::builder::TypedValueParser<Value = &'static Format> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let formats = FORMATS.iter().filter(|format| is_offered(format));
    let ids: Vec<&'static str> = formats.map(|format| format.id).collect();
    PossibleValuesParser::new(ids).map(|id| Format::from_id(&id).expect("it is one of them"))
}

fn unit(text: &str) -> anyhow::Result<BlockSize> {
    BlockSize::new(text.parse()?).context("not a power of two from 512B to 64KiB")
}
