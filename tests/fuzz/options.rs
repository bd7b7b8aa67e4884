//! Texts of the command line: a parsed value prints as text that parses to the same value, and
//! everything that is computed before a run can be computed from it.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use trimbench_core::rng::Rng;
use trimbench_core::settings::Setting;
use trimbench_core::{
    BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Nanos, Ppm, Support,
};
use trimbench_devices::{EmulatedSpec, PurgeChoice, TargetSpec};
use trimbench_engine::{ASSUMED_RATE, MethodDefinition as _, MethodInfo, Preset, ResolvedMethod};
use trimbench_methods::METHODS;
use trimbench_methods::postmark::{Imported, Postmark};
use trimbench_policy::{Choice, POLICIES};
use trimbench_results::{ChangeLimit, Limit, Metric, Quantile};
use trimbench_ssd::BUILT_IN;
use trimbench_trace::NoTraces;

use super::mutate::{self, below, pick};
use super::subject::{Done, Feed, guarded};

/// Targets beside the built-in profiles. The image file is one that is there on every machine; its
/// type is looked at, and it is not opened.
const TARGETS: [&str; 19] = [
    "sim:vendor2,capacity=32GiB",
    "sim:generic-sata-tlc,trim-reads=old-data,trim-promise=zeroes,freeze-on-discard=5ms",
    "sim:generic-nvme-tlc,eio-from=3s,vanish-from=9s,capacity=1TiB",
    "sim:like-optane-900p,trim-eats-neighbour=4KiB,trim-eats-before=8KiB,trim-reads=unstable",
    "sim:generic-nvme-tlc,drive.over_provisioning=28%,collector.policy=d-choices=10",
    "ext4:sim:vendor2",
    "ext4,machine=s0,era=4.13,memory=2GiB:sim:vendor1,capacity=16GiB",
    "ext4,journal=128MiB,commit=5s,cpu-metadata=1us,cpu-call=2us,cpu-kib=3ns:sim:vendor3",
    "ext4,journaling=writeback,wbt=2ms,scheduler=mq-deadline:sim:like-m500",
    "xfs,journal=64MiB,commit=30s:sim:generic-nvme-tlc",
    "btrfs,discard=async,wbt=0s:sim:vendor3,capacity=8GiB",
    "f2fs,commit=60s,scheduler=none:sim:vendor3,capacity=8GiB",
    "raidz2:sim:vendor4*10",
    "raidz1,policy=rate-limited+iops=9,manner=zfs-trim,trim-rate=1MiB,scale=4:sim:vendor2*3",
    "stripe,write-kib=3us,read-kib=1us:sim:generic-sata-tlc*64",
    "ext4,mount=noatime;data=ordered,cache=drop:/proc/self/exe",
    "xfs,memory=1GiB:/proc/self/exe",
    "/proc/self/exe",
    "vendor2",
];
const LIMITS: [&str; 9] = [
    "p99.9=5ms",
    "stutter=0.1s/GB",
    "stutter <= 300ms/GB",
    "p50<=100us",
    "write-amplification=1.5",
    "settle=0",
    "read-p99=1e3us",
    "throughput=50MB/s",
    "10",
];
const QUANTITIES: [&str; 12] = [
    "32GiB",
    "1.5TB",
    "4096B",
    "0",
    "75us",
    "1.25h",
    "1ns",
    "7%",
    "0.0001%",
    "15ppm",
    "p99.99",
    "nvme-format",
];
/// Terse lines of `PostMark`.
const LINES: [&str; 2] = [
    "1 1 500.00 764.00 500.00 264.00 243.00 257.00 764.00 528.00 236.00 1430770.00 4662068.00",
    "3 1 500.00 16749.67 16666.67 249.00 0.00 0.00 16749.67 49998.00 251.00 0.00 9.34",
];
/// Capacities of devices for which what a run takes is computed: 0 where it is not known.
const CAPACITIES: [Bytes; 4] = [Bytes(0), Bytes::mib(1), Bytes::gib(480), Bytes::gib(1 << 20)];

/// One in so many settings of `postmark` is resolved: each plays all transactions to count them.
const SLOW: u64 = 100;

/// What texts are made of.
#[derive(Debug)]
pub(super) struct Options {
    targets: Vec<String>,
    policies: Vec<String>,
    /// The metrics of every method.
    metrics: Vec<Metric>,
    /// What methods that need room are to run on.
    drive: EmulatedSpec,
}

impl Options {
    pub(super) fn new() -> Result<Self> {
        let TargetSpec::Emulated(drive) = TargetSpec::parse("sim:vendor2", None)? else {
            bail!("a profile is no emulated drive");
        };
        let built_in = BUILT_IN.iter().map(|profile| format!("sim:{}", profile.name));
        let mut metrics = Vec::new();
        for info in METHODS {
            let method = info.resolve(Preset::Standard, &BTreeMap::new());
            metrics.extend(method.context("resolve a method")?.method.metrics());
        }
        let policy = |id: &str| Some(id.parse::<Choice>().ok()?.to_string());
        Ok(Self {
            targets: TARGETS.map(str::to_owned).into_iter().chain(built_in).collect(),
            policies: POLICIES.iter().filter_map(|info| policy(info.id)).collect(),
            metrics,
            drive: *drive,
        })
    }

    /// One of them, often damaged.
    fn draw<T: AsRef<str>>(texts: &[T], rng: &mut Rng) -> String {
        let mut text = pick(texts, rng).as_ref().to_owned();
        let others: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        for _ in 0..rng.below(4) {
            mutate::text(&mut text, &others, rng);
        }
        text
    }
}

impl Feed for Options {
    fn run(&self, rng: &mut Rng) -> Result<Done, String> {
        let kind = rng.below(16);
        let text = match kind {
            0..=3 => return self.settings(rng),
            4..=7 => Self::draw(&self.targets, rng),
            8 | 9 => Self::draw(&LIMITS, rng),
            10 | 11 => Self::draw(&self.policies, rng),
            12 | 13 => Self::draw(&LINES, rng),
            _ => Self::draw(&QUANTITIES, rng),
        };
        let number = (rng.below(2) == 0).then_some(500);
        let read = || match kind {
            4..=7 => target(&text),
            8 | 9 => self.limit(&text),
            10 | 11 => policy(&text),
            12 | 13 => line(&text, number),
            _ => quantity(&text),
        };
        guarded(read, || text.escape_debug().to_string())
    }
}

impl Options {
    /// Settings of a method; a key is that of another method at times.
    fn settings(&self, rng: &mut Rng) -> Result<Done, String> {
        let mut info = pick(METHODS, rng);
        if info.id == Postmark::INFO.id && rng.below(SLOW) > 0 {
            info = &METHODS[0];
        }
        let preset = *pick(&Preset::ALL, rng);
        let options = (info.options)();
        let texts: Vec<&str> = options.iter().flat_map(Setting::presets).collect();
        let mut set = BTreeMap::new();
        for _ in 0..=below(rng, 3) {
            let option = pick(&options, rng);
            let mut value = (*pick(&option.presets(), rng)).to_owned();
            for _ in 0..rng.below(3) {
                mutate::text(&mut value, &texts, rng);
            }
            set.insert(option.key.to_owned(), value);
        }
        guarded(|| self.method(info, preset, &set), || format!("{} {preset:?} {set:?}", info.id))
    }

    /// What is computed of a method before it runs.
    fn method(
        &self,
        info: &MethodInfo,
        preset: Preset,
        set: &BTreeMap<String, String>,
    ) -> Result<Done, String> {
        let ResolvedMethod { options, method } = match info.resolve(preset, set) {
            Ok(resolved) => resolved,
            Err(error) => return said(&error),
        };
        let map = options.to_map();
        let again = info.resolve(preset, &map).map_err(|error| error.to_string())?;
        if again.options.to_map() != map {
            return Err(format!("{map:?} resolves to {:?}", again.options.to_map()));
        }
        let metrics = method.metrics();
        for text in method.built_in_limits() {
            let limit: Limit = text.parse().map_err(|error| format!("{text}: {error}"))?;
            limit.check_metrics(&metrics).map_err(|error| format!("{text}: {error}"))?;
        }
        let space = method.space();
        for capacity in CAPACITIES.into_iter().chain([space]).chain(method.emulated_capacity()) {
            let _ = method.fits(&device(capacity));
            // A trace that is named is not there.
            let _ = method.demand_with_traces(capacity, ASSUMED_RATE, &NoTraces);
            method.demand_on_filesystems(capacity, ASSUMED_RATE);
        }
        let drive = self.drive.clone().settled(space);
        if drive.capacity() < space {
            return Err(format!("a drive of {} for {space}", drive.capacity()));
        }
        Ok(Done::whole("method"))
    }

    fn limit(&self, text: &str) -> Result<Done, String> {
        if let Ok(change) = text.parse::<ChangeLimit>()
            && !(change.percent.is_finite() && change.percent >= 0.0)
        {
            return Err(format!("a change of {}", change.percent));
        }
        let limit: Limit = match text.parse() {
            Ok(limit) => limit,
            Err(error) => return said(&error),
        };
        if !limit.value.is_finite() {
            return Err(format!("a limit of {}", limit.value));
        }
        same(&limit)?;
        if let Err(error) = limit.check_metrics(&self.metrics) {
            return said(&error);
        }
        Ok(Done::whole("limit"))
    }
}

/// A device that lacks nothing.
fn device(capacity: Bytes) -> Capabilities {
    Capabilities {
        clock: Clock::Wall,
        medium: Medium::Device { capacity, logical_block: BlockSize::SECTOR },
        discard: Support::Native,
        discard_max: Bytes(u64::MAX),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

fn target(text: &str) -> Result<Done, String> {
    let target = match TargetSpec::parse(text, None) {
        Ok(target) => target,
        Err(error) => return said(&error),
    };
    let printed = target.to_string();
    let again = TargetSpec::parse(&printed, None).map_err(|error| format!("{printed}: {error}"))?;
    if again.to_string() != printed {
        return Err(format!("`{printed}` prints as `{again}`"));
    }
    let end = match target {
        TargetSpec::Emulated(spec) => {
            let _ = spec.settled(Bytes::gib(100));
            "emulated"
        }
        TargetSpec::Modelled(spec) => {
            let _ = spec.settled(Bytes::gib(100));
            "modelled"
        }
        TargetSpec::Pool(spec) => {
            let _ = spec.settled(Bytes::gib(100));
            "pool"
        }
        TargetSpec::Real(_) => "filesystem",
        TargetSpec::Scratch(_) => "scratch image",
        TargetSpec::Directory(_) => "directory",
        TargetSpec::Device(_) => "device",
    };
    Ok(Done::whole(end))
}

fn policy(text: &str) -> Result<Done, String> {
    let policy: Choice = match text.parse() {
        Ok(policy) => policy,
        Err(error) => return said(&error),
    };
    let printed = policy.to_string();
    let again: Choice = printed.parse().map_err(|error| format!("{printed}: {error}"))?;
    if again.to_string() != printed {
        return Err(format!("`{printed}` prints as `{again}`"));
    }
    let large = BlockSize::new(Bytes(4_096)).expect("a power of two");
    for block_size in [large, BlockSize::SECTOR] {
        if let Err(error) = policy.build(block_size) {
            return said(&error);
        }
    }
    Ok(Done::whole("policy"))
}

fn line(text: &str, number: Option<u32>) -> Result<Done, String> {
    let imported = match Imported::read(text, number) {
        Ok(imported) => imported,
        Err(error) => return said(&error),
    };
    let computed = [Some(imported.number), imported.deletion, imported.deletion_alone];
    match computed.into_iter().flatten().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("{value} comes of it: {imported:?}")),
        None => Ok(Done::whole("line")),
    }
}

/// A text is a quantity of several kinds, or of none.
fn quantity(text: &str) -> Result<Done, String> {
    let (bytes, span) = (text.parse::<Bytes>(), text.parse::<Nanos>());
    let (share, quantile) = (text.parse::<Ppm>(), text.parse::<Quantile>());
    bytes.iter().try_for_each(same)?;
    span.iter().try_for_each(same)?;
    share.iter().try_for_each(same)?;
    quantile.iter().try_for_each(same)?;
    let purge = text.parse::<PurgeChoice>();
    purge.iter().try_for_each(same)?;
    match (bytes, span, share, quantile.is_ok() || purge.is_ok()) {
        (Err(error), Err(_), Err(_), false) => said(&error),
        _ => Ok(Done::whole("quantity")),
    }
}

/// What is read prints as a text that reads as the same.
fn same<T: FromStr<Err: Display> + Display + PartialEq + Debug>(value: &T) -> Result<(), String> {
    let printed = value.to_string();
    match printed.parse::<T>() {
        Ok(again) if again == *value => Ok(()),
        Ok(again) => Err(format!("{value:?} prints as `{printed}`, which is {again:?}")),
        Err(error) => Err(format!("{value:?} prints as `{printed}`: {error}")),
    }
}

/// A refusal must say something.
fn said(error: &(impl Display + Debug)) -> Result<Done, String> {
    if error.to_string().trim().is_empty() {
        return Err(format!("a refusal without a word: {error:?}"));
    }
    Ok(Done::refused(error))
}
