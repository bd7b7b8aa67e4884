//! The method's parameters.

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::{Bytes, Nanos, Ppm};

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};
use crate::settings::{self, UNIT};
use crate::workload::Arrivals;

/// All policies, in the order in which they run. A test holds them and the modelled filesystem's
/// together.
pub const POLICIES: [&str; 8] = [
    "none",
    "online",
    "batched",
    "deferred",
    "rate-limited",
    "skip-by-queue",
    "skip-by-latency",
    PACED,
];
/// The policy that has a target.
pub(super) const PACED: &str = "paced";
/// Those without parameters, which are no options either.
const PLAIN: [&str; 2] = ["none", "online"];

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option(
        "policies",
        ["all", "all", "all"],
        "which are compared, separated by commas, or `all`: none, online, batched, deferred, \
         rate-limited, skip-by-queue, skip-by-latency, paced",
    ),
    option(
        "drive",
        ["4GiB", "16GiB", "16GiB"],
        "capacity of an emulated drive whose target sets none, 1GiB to 1TiB",
    ),
    option("used", ["80%", "80%", "80%"], "share of the room that files take, 10 to 95%"),
    option(
        "age",
        ["95%", "95%", "95%"],
        "share that they take once, before as many are deleted at random as are too many, `used` \
         to 98%",
    ),
    option(
        "file-sizes",
        ["256KiB,1MiB,4MiB,16MiB", "256KiB,1MiB,4MiB,16MiB", "256KiB,1MiB,4MiB,16MiB"],
        "sizes of files, separated by commas, each as frequent as the others, 4KiB to 1GiB",
    ),
    option(
        "churn",
        ["20MB", "20MB", "20MB"],
        "bytes of files made in a second, at the most, and as many deleted; 100000B to 10GB",
    ),
    option(
        "cycle",
        ["50%", "50%", "50%"],
        "a cycle makes so much anew, as a share of the room, 1 to 400%",
    ),
    option("cycles", ["16", "40", "40"], "cycles at the most, `stable-cycles` to 1000"),
    option(
        "stable-cycles",
        ["5", "5", "5"],
        "the amplification is stable over so many cycles, and figures are theirs, 2 to 100",
    ),
    option(
        "tolerance",
        ["10%", "10%", "10%"],
        "stable: it differs by at most this share of its mean, and a line through it rises by at \
         most half of that; 0.1 to 50%",
    ),
    option("rate", ["300", "300", "300"], "accesses of the foreground a second, 1 to 1000000"),
    option("arrivals", ["poisson", "poisson", "poisson"], "`constant` or `poisson` gaps"),
    option("access", ["4KiB", "4KiB", "4KiB"], "bytes of each access, 4KiB to 1MiB"),
    option("read-share", ["70%", "70%", "70%"], "share of reads; the rest are writes"),
    option(
        "foreground-span",
        ["256MiB", "1GiB", "1GiB"],
        "the file that the foreground accesses, 1MiB to 1TiB",
    ),
    option("mkfs-discard", ["yes", "yes", "yes"], "whether mkfs discards the whole drive"),
    option(
        "target",
        ["10ms", "10ms", "10ms"],
        "p99.9 of the foreground that `paced` is to keep, 10us to 60s",
    ),
    option(
        "slack",
        ["10%", "10%", "10%"],
        "the policy to choose has the lowest p99.9 of those whose write amplification is within \
         this share of the least, 0 to 1000%",
    ),
    option(
        "lost",
        ["10%", "10%", "10%"],
        "none is chosen that makes files more slowly than the fastest by more than this, 0 to 100%",
    ),
    option(
        "batched",
        ["period=15s", "period=60s", "period=60s"],
        "parameters of the policy `batched`, as in the catalogue of policies",
    ),
    option(
        "deferred",
        ["delay=10s,iops=1000", "delay=40s,iops=1000", "delay=40s,iops=1000"],
        "the same of `deferred`",
    ),
    option("rate-limited", ["iops=10", "iops=10", "iops=10"], "the same of `rate-limited`"),
    option(
        "skip-by-queue",
        ["pending-max=8", "pending-max=8", "pending-max=8"],
        "the same of `skip-by-queue`",
    ),
    option(
        "skip-by-latency",
        ["threshold=15ms", "threshold=15ms", "threshold=15ms"],
        "the same of `skip-by-latency`",
    ),
    option(
        PACED,
        ["tolerance=0.1%", "tolerance=0.1%", "tolerance=0.1%"],
        "the same of `paced`, but for its target",
    ),
];

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLab {
    /// What is compared: a name of [`POLICIES`], and its text with parameters.
    pub policies: Vec<(&'static str, String)>,
    /// Capacity of an emulated drive that has none of its own.
    pub drive: Bytes,
    /// Share of the room that files take.
    pub fill: Ppm,
    /// Share that they take once before.
    pub age: Ppm,
    /// Sizes of files, whole multiples of 4 KiB.
    pub sizes: Vec<Bytes>,
    /// Bytes made in a second.
    pub churn: Bytes,
    /// What a cycle makes anew, as a share of the room.
    pub cycle: Ppm,
    /// Cycles at the most.
    pub cycles_max: u32,
    /// Cycles that must agree.
    pub window: usize,
    /// How far they may differ.
    pub tolerance: Ppm,
    /// Mean gap between accesses of the foreground.
    pub gap: Nanos,
    /// How the gaps are distributed.
    pub arrivals: Arrivals,
    /// Bytes of each access.
    pub access: Bytes,
    /// Share of reads.
    pub read_share: Ppm,
    /// Bytes of the file that it accesses.
    pub span: Bytes,
    /// Whether mkfs discards the whole drive.
    pub mkfs_discard: bool,
    /// What `paced` is to keep.
    pub target: Nanos,
    /// How far above the least write amplification the policy to choose may be.
    pub slack: Ppm,
    /// How far below the highest throughput it may be.
    pub lost: Ppm,
    pub(super) values: Values,
}

impl Parameters for PolicyLab {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let percent = |count: u32| Ppm(10_000 * count);
        let fill = values.quantity("used", percent(10), percent(95))?;
        let mut sizes = values.sizes("file-sizes", Bytes(UNIT), Bytes::gib(1))?;
        for size in &mut sizes {
            *size = Bytes(size.0 / UNIT * UNIT);
        }
        let window = values.quantity("stable-cycles", 2, 100)?;
        let rate = values.quantity("rate", 1_u64, 1_000_000)?;
        let span = values.quantity("foreground-span", Bytes::mib(1), Bytes::gib(1 << 10))?;
        let target = values.span("target", Nanos(10_000), Nanos::from_secs(60))?;
        Ok(Self {
            policies: policies(&values, target)?,
            drive: values.quantity("drive", Bytes::gib(1), Bytes::gib(1 << 10))?,
            fill,
            age: values.quantity("age", fill, percent(98))?,
            sizes,
            churn: values.quantity("churn", Bytes(100_000), Bytes(10_000_000_000))?,
            cycle: values.quantity("cycle", percent(1), percent(400))?,
            cycles_max: values.quantity("cycles", window, 1_000)?,
            window: window as usize,
            tolerance: values.quantity("tolerance", Ppm(1_000), percent(50))?,
            gap: Nanos(1_000_000_000 / rate),
            arrivals: values.choice(
                "arrivals",
                &[("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson)],
            )?,
            access: settings::access(&values, "access", Bytes::mib(1))?,
            read_share: values.share("read-share")?,
            span: Bytes(span.0 / UNIT * UNIT),
            mkfs_discard: values.choice("mkfs-discard", &[("yes", true), ("no", false)])?,
            target,
            lost: values.share("lost")?,
            slack: values.quantity("slack", Ppm(0), percent(1_000))?,
            values,
        })
    }
}

impl PolicyLab {
    /// The least room: the foreground's file takes a quarter, and a hundredth holds a file.
    pub(super) fn needed(&self) -> Bytes {
        let largest = self.sizes.iter().max().copied().unwrap_or(Bytes(0));
        Bytes((4 * self.span.0).max(100 * largest.0))
    }
}

/// What is compared, in the order of [`POLICIES`].
fn policies(values: &Values, target: Nanos) -> Result<Vec<(&'static str, String)>, OptionError> {
    let key = "policies";
    let text = values.text(key);
    let named: Vec<&str> = match text {
        "all" => POLICIES.into(),
        list => list.split(',').map(str::trim).collect(),
    };
    for (at, name) in named.iter().enumerate() {
        let problem = if !POLICIES.contains(name) {
            let meant = did_you_mean(nearest(name, POLICIES));
            format!("there is no policy `{name}`{meant}; there are {}", POLICIES.join(", "))
        } else if named[..at].contains(name) {
            format!("`{name}` is named twice")
        } else {
            continue;
        };
        return Err(OptionError::Value { key, problem });
    }
    let chosen = POLICIES.into_iter().filter(|name| named.contains(name));
    Ok(chosen.map(|name| (name, with_parameters(values, name, target))).collect())
}

/// The policy's text: its name, and what is set of it.
fn with_parameters(values: &Values, name: &'static str, target: Nanos) -> String {
    if PLAIN.contains(&name) {
        return name.to_owned();
    }
    let set = match values.text(name) {
        "" => String::new(),
        set => format!(",{set}"),
    };
    let target = if name == PACED { format!(",target={target}") } else { String::new() };
    format!("{name}{target}{set}")
}
