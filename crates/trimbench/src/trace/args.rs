//! The arguments of `trimbench trace`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use trimbench_core::{BlockSize, Bytes, Nanos, Ppm};
use trimbench_linux::RecordedEvent;
use trimbench_trace::{Event, Format, ReadOptions, Wait};

use crate::args::OutputFormat;

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Print what a trace does: commands, sizes, gaps, what is live, what TRIMs do.
    Stat(StatArgs),
    /// Write a trace in another format.
    Convert(ConvertArgs),
    /// Make a trace: one like JEDEC's client master trace, or a simple mix.
    Generate(GenerateArgs),
    /// Record what a block device is asked for, until Ctrl-C or for a time. Takes root.
    Record(RecordArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatArgs {
    /// The files: one; one for each processor (blktrace; `NAME` alone stands for all of
    /// `NAME.blktrace.*`); or parts, in their order. `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// The unit in which a drive maps: what a TRIM must cover whole to free it.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = unit)]
    pub(crate) unit: BlockSize,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output_format: OutputFormat,
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
    /// The drive for which it is made.
    #[arg(long, value_name = "SIZE", default_value = "256GB")]
    pub(crate) capacity: Bytes,
    /// Everything random comes from it.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How much of the trace like the master trace, 1% to 100%.
    #[arg(long, value_name = "SHARE", default_value = "100%", conflicts_with = "commands")]
    pub(crate) length: Ppm,
    /// Make a simple mix of so many commands instead.
    #[arg(long, value_name = "COUNT")]
    pub(crate) commands: Option<u64>,
    #[command(flatten)]
    pub(crate) mix: MixArgs,
}

/// What a simple mix is made of.
#[derive(Debug, clap::Args)]
pub(crate) struct MixArgs {
    /// The share of reads in a mix; what is not said of others are writes.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) reads: Ppm,
    /// The share of TRIMs, each of what an earlier write wrote.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) trims: Ppm,
    /// The share of flushes.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) flushes: Ppm,
    /// Bytes of a command, whole 4 KiB.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", requires = "commands")]
    pub(crate) size: Bytes,
    /// The share of reads and writes that begin where the one before ended.
    #[arg(long, value_name = "SHARE", default_value = "0%", requires = "commands")]
    pub(crate) sequential: Ppm,
    /// Time between two commands, on average.
    #[arg(long, value_name = "TIME", default_value = "1ms", requires = "commands")]
    pub(crate) gap: Nanos,
}

/// Where a trace is written, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// The file to write, which must not exist; `-` is standard output.
    #[arg(value_name = "OUT")]
    pub(crate) path: PathBuf,
    /// The format to write.
    #[arg(long, value_name = "FORMAT", value_parser = writable())]
    pub(crate) to: Format,
    /// Write over OUT if it is there.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// How the account of what was written is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output_format: OutputFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// The block device, whole or a partition: `/dev/sdb`.
    #[arg(value_name = "DEVICE")]
    pub(crate) device: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Which event is a command.
    #[arg(long, value_enum, default_value_t)]
    event: EventArg,
    /// How long to record; until Ctrl-C if not given.
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
    /// The format of the trace; found by its content if not given.
    #[arg(long, value_name = "FORMAT", value_parser = readable())]
    format: Option<Format>,
    /// Skip what is wrong and count it, instead of ending with it.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The device whose commands count, as the format names it; needed where it names several.
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Which event is a command (blktrace, blkparse).
    #[arg(long, value_enum, default_value_t)]
    event: EventArg,
    /// What `wait` means (fio's iolog version 2).
    #[arg(long, value_enum, default_value_t)]
    wait: WaitArg,
}

/// [`Event`] on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum EventArg {
    /// `Q`: handed to the block layer; what fio replays.
    #[default]
    Queue,
    /// `D`: issued to the drive, after merging and splitting.
    Issue,
}

/// [`Wait`] on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum WaitArg {
    /// As documented: microseconds since the wait before.
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
        }
    }
}

fn readable() -> impl clap::builder::TypedValueParser<Value = Format> {
    formats(Format::ALL.as_slice())
}

fn writable() -> impl clap::builder::TypedValueParser<Value = Format> {
    formats(Format::WRITABLE.as_slice())
}

fn formats(formats: &[Format]) -> impl clap::builder::TypedValueParser<Value = Format> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let ids: Vec<&'static str> = formats.iter().map(|format| format.id()).collect();
    PossibleValuesParser::new(ids).map(|id| Format::from_id(&id).expect("it is one of them"))
}

fn unit(text: &str) -> Result<BlockSize, String> {
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    BlockSize::new(bytes).ok_or_else(|| "not a power of two from 512B to 64KiB".to_owned())
}
