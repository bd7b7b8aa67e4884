//! The method's parameters: those of `PostMark`, under its names, and how often it is run.

use trimbench_core::{Bytes, Nanos, Payload, Stream};

use super::ID;
use super::arms::Arm;
use super::generator::{Forecast, Settings};
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};

/// The largest size and the largest piece.
const SIZE_MAX: Bytes = Bytes::mib(64);

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option("repetitions", ["3", "5", "10"], "how often, 1 to 100"),
    option(
        "number",
        ["5000", "50000", "50000"],
        "`set number`: files made at the beginning, 1 to 1000000",
    ),
    option(
        "transactions",
        ["5000", "50000", "50000"],
        "`set transactions`: how many, 0 to 10000000",
    ),
    option(
        "size-low",
        ["500B", "1000B", "1000B"],
        "`set size`: the least size of a new file, 0B to `size-high`",
    ),
    option(
        "size-high",
        ["10000B", "200000B", "200000B"],
        "`set size`: new files are smaller, and none grows beyond it; 1B to 64MiB",
    ),
    option("seed", ["42", "42", "42"], "`set seed`: of PostMark's own generator, 0 to 4294967295"),
    option(
        "subdirectories",
        ["0", "0", "0"],
        "`set subdirectories`: files are spread over as many; 0 and 1 are none, at most 10000",
    ),
    option(
        "read-block",
        ["4096B", "4096B", "4096B"],
        "`set read`: bytes that are read at a time, 1B to 64MiB",
    ),
    option(
        "write-block",
        ["4096B", "4096B", "4096B"],
        "`set write`: bytes that are written at a time, 1B to 64MiB",
    ),
    option(
        "bias-read",
        ["5", "5", "5"],
        "`set bias read`: of 10, how often a transaction reads and does not append; -1: neither",
    ),
    option(
        "bias-create",
        ["5", "5", "5"],
        "`set bias create`: of 10, how often it creates and does not delete; -1: neither",
    ),
    option(
        "buffering",
        ["true", "true", "true"],
        "`set buffering`: `true`, as by the C library (fopen, fwrite), or `false` (open, write)",
    ),
    option(
        "data",
        ["printable", "printable", "printable"],
        "`printable`: PostMark's characters, each file from the same beginning; or `random`",
    ),
    option(
        "mounts",
        ["both", "both", "both"],
        "on filesystems made anew: `discard`, `nodiscard`, or `both` to compare them",
    ),
    option(
        "bufferings",
        ["both", "both", "both"],
        "on filesystems made anew: `both`, or `one`, the one of `buffering`",
    ),
    option(
        "mkfs-discard",
        ["yes", "yes", "yes"],
        "on filesystems made anew: whether mkfs discards the whole device, `yes` or `no`",
    ),
    option(
        "settle",
        ["0s", "0s", "0s"],
        "on filesystems made anew: idle time between mkfs and mount, 0 to 24h",
    ),
    option(
        "vary",
        ["auto", "auto", "auto"],
        "on filesystems made anew: `yes`, repetition k takes `seed` + k - 1, and an emulated drive \
         its k-th start state; `no`; `auto`, yes in virtual time, where it would else be a copy",
    ),
];

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Postmark {
    /// How often.
    pub repetitions: u32,
    /// What decides the operations.
    pub settings: Settings,
    /// How files are read.
    pub reading: Stream,
    /// How files are written.
    pub writing: Stream,
    /// What a repetition will do.
    pub forecast: Forecast,
    /// On filesystems made anew: which mount options and bufferings, in the order of \[S0\].
    pub arms: Vec<Arm>,
    /// On filesystems made anew: whether mkfs discards the whole device.
    pub mkfs_discard: bool,
    /// On filesystems made anew: idle time between mkfs and mount.
    pub settle: Nanos,
    /// On filesystems made anew: whether repetitions differ in seed and start state; `None` if they
    /// do in virtual time.
    pub vary: Option<bool>,
    pub(super) values: Values,
}

impl Parameters for Postmark {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let size_high = size(&values, "size-high", Bytes(1), SIZE_MAX)?;
        let settings = Settings {
            number: values.quantity("number", 1, 1_000_000)?,
            transactions: values.quantity("transactions", 0, 10_000_000)?,
            size_low: size(&values, "size-low", Bytes(0), Bytes(size_high.into()))?,
            size_high,
            seed: values.quantity("seed", 0, u32::MAX)?,
            subdirectories: values.quantity("subdirectories", 0, 10_000)?,
            read_bias: bias(&values, "bias-read")?,
            create_bias: bias(&values, "bias-create")?,
        };
        let buffered = values.choice("buffering", &[("true", true), ("false", false)])?;
        let payload = values
            .choice("data", &[("printable", Payload::Source), ("random", Payload::Random)])?;
        let stream = |key| {
            let piece = size(&values, key, Bytes(1), SIZE_MAX)?;
            Ok(Stream { piece, buffered, payload })
        };
        let mounts = values.choice(
            "mounts",
            &[("both", &[false, true][..]), ("discard", &[true]), ("nodiscard", &[false])],
        )?;
        let both = values.choice("bufferings", &[("both", true), ("one", false)])?;
        let bufferings = if both { vec![true, false] } else { vec![buffered] };
        let arm = |buffered| mounts.iter().map(move |&discard| Arm { discard, buffered });
        Ok(Self {
            arms: bufferings.into_iter().flat_map(arm).collect(),
            mkfs_discard: values.choice("mkfs-discard", &[("yes", true), ("no", false)])?,
            settle: values.span("settle", Nanos::ZERO, Nanos::from_secs(24 * 3_600))?,
            vary: values
                .choice("vary", &[("auto", None), ("yes", Some(true)), ("no", Some(false))])?,
            repetitions: values.quantity("repetitions", 1, 100)?,
            settings,
            reading: stream("read-block")?,
            writing: stream("write-block")?,
            forecast: Forecast::new(&settings),
            values,
        })
    }
}

/// A size that fits into 32 bits.
fn size(values: &Values, key: &'static str, low: Bytes, high: Bytes) -> Result<u32, OptionError> {
    values.quantity(key, low, high).map(|size| trimbench_core::units::narrow(size.0))
}

/// 0 to 10; `None` for -1.
fn bias(values: &Values, key: &'static str) -> Result<Option<u32>, OptionError> {
    let bias = values.quantity(key, -1_i32, 10)?;
    Ok(u32::try_from(bias).ok())
}
