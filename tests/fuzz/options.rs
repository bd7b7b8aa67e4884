//! Texts of the command line: a parsed value prints as text that parses to the same value, and
//! everything that is computed before a run can be computed from it.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::sync::LazyLock;

use tests::methods::capabilities;
use trimbench_core::settings::Setting;
use trimbench_core::{BlockSize, Bytes, Clock, Medium, Nanos, Ppm, Support};
use trimbench_devices::{EmulatedSpec, PurgeChoice, TargetSpec};
use trimbench_engine::{ASSUMED_RATE, MethodDefinition as _, MethodInfo, Preset};
use trimbench_methods::METHODS;
use trimbench_methods::postmark::{Imported, Postmark};
use trimbench_policy::{Choice, POLICIES};
use trimbench_results::{ChangeLimit, Limit, Metric, Quantile};
use trimbench_ssd::BUILT_IN;
use trimbench_trace::NoTraces;

use crate::damage;
use crate::harness::{Draw, Drawn, Watched};

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
const SLOW: usize = 100;

/// A kind of text: those that are damaged, and what reads one.
struct Kind {
    texts: Vec<String>,
    is_read: fn(&str) -> bool,
}

impl Kind {
    fn new<T: ToString>(texts: impl IntoIterator<Item = T>, is_read: fn(&str) -> bool) -> Self {
        Self { texts: texts.into_iter().map(|it| it.to_string()).collect(), is_read }
    }
}

#[test]
fn damaged_texts_are_refused_in_words_or_print_as_what_means_the_same() {
    let built_in = BUILT_IN.iter().map(|profile| format!("sim:{}", profile.name));
    let policies = POLICIES.iter().filter_map(|info| info.id.parse::<Choice>().ok());
    let kinds = [
        Kind::new(TARGETS.map(str::to_owned).into_iter().chain(built_in), is_target),
        Kind::new(LIMITS, is_limit),
        Kind::new(policies, is_policy),
        Kind::new(LINES, is_line),
        Kind::new(QUANTITIES, is_quantity),
    ];
    let draw_text = |draw: &mut dyn Draw| {
        // Targets have the most settings.
        let kind = draw.below(8).saturating_sub(3);
        let texts: Vec<&str> = kinds[kind].texts.iter().map(String::as_str).collect();
        let mut text = (*draw.pick(&texts)).to_owned();
        for _ in 0..draw.below(4) {
            damage::text(&mut text, &texts, draw);
        }
        (kind, text)
    };
    let watched = Watched::new("texts");
    bolero::check!()
        .with_iterations(6_000)
        .with_generator(Drawn(draw_text))
        .for_each(|text| watched.read(text, |(kind, text)| (kinds[*kind].is_read)(text)));
    watched.expect_understood(0.1..0.9);
}

/// A method with settings, of which a key is that of another method at times.
#[derive(Clone, Debug)]
struct DrawnSettings {
    method: usize,
    preset: Preset,
    set: BTreeMap<String, String>,
}

#[test]
fn damaged_settings_are_refused_in_words_or_all_before_a_run_is_computed_of_them() {
    let target = TargetSpec::parse("sim:vendor2", None).expect("it is a profile");
    let drive = target.emulated_drive().expect("a profile is an emulated drive");
    let watched = Watched::new("settings");
    bolero::check!()
        .with_iterations(4_000)
        .with_generator(Drawn(draw_settings))
        .for_each(|settings| watched.read(settings, |settings| is_resolved(settings, drive)));
    watched.expect_understood(0.1..0.9);
}

fn draw_settings(draw: &mut dyn Draw) -> DrawnSettings {
    let mut method = draw.below(METHODS.len());
    if METHODS[method].id == Postmark::INFO.id && !draw.one_in(SLOW) {
        method = 0;
    }
    let options = (METHODS[method].options)();
    let texts: Vec<&str> = options.iter().flat_map(Setting::presets).collect();
    let mut set = BTreeMap::new();
    for _ in 0..=draw.below(3) {
        let option = draw.pick(&options);
        let mut value = (*draw.pick(&option.presets())).to_owned();
        for _ in 0..draw.below(3) {
            damage::text(&mut value, &texts, draw);
        }
        set.insert(option.key.to_owned(), value);
    }
    DrawnSettings { method, preset: *draw.pick(&Preset::ALL), set }
}

/// Whether a method takes the settings: then all that is computed before it runs is.
fn is_resolved(settings: &DrawnSettings, drive: &EmulatedSpec) -> bool {
    let info: &MethodInfo = &METHODS[settings.method];
    let resolved = match info.resolve(settings.preset, &settings.set) {
        Ok(resolved) => resolved,
        Err(error) => return refused(&error),
    };
    let map = resolved.options.to_map();
    let again = info.resolve(settings.preset, &map).expect("what was resolved can be again");
    assert_eq!(again.options.to_map(), map);
    let method = resolved.method;
    let metrics = method.metrics();
    for text in method.built_in_limits() {
        let limit: Limit = text.parse().expect("a limit of ours");
        limit.check_metrics(&metrics).expect("a limit of what is measured");
    }
    let space = method.space();
    for capacity in CAPACITIES.into_iter().chain([space]).chain(method.emulated_capacity()) {
        let medium = Medium::Device { capacity, logical_block: BlockSize::SECTOR };
        let _ = method.fits(&capabilities(medium, Clock::Wall, Support::Native));
        // A trace that is named is not there.
        let _ = method.demand_with_traces(capacity, ASSUMED_RATE, &NoTraces);
        method.demand_on_filesystems(capacity, ASSUMED_RATE);
    }
    assert!(drive.clone().settled(space).capacity() >= space, "a drive for {space}");
    true
}

fn is_target(text: &str) -> bool {
    let target = match TargetSpec::parse(text, None) {
        Ok(target) => target,
        Err(error) => return refused(&error),
    };
    let printed = target.to_string();
    let again = TargetSpec::parse(&printed, None).unwrap_or_else(|it| panic!("{printed}: {it}"));
    assert_eq!(again.to_string(), printed);
    let _ = target.settled(None, Bytes::gib(100));
    true
}

fn is_limit(text: &str) -> bool {
    if let Ok(change) = text.parse::<ChangeLimit>() {
        assert!(change.percent.is_finite() && change.percent >= 0.0, "{}", change.percent);
    }
    let limit: Limit = match text.parse() {
        Ok(limit) => limit,
        Err(error) => return refused(&error),
    };
    assert!(limit.value.is_finite(), "a limit of {}", limit.value);
    prints_as_the_same(&limit);
    limit.check_metrics(&METRICS).map_or_else(|error| refused(&error), |()| true)
}

/// The metrics of every method.
static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let metrics = |info: &MethodInfo| {
        info.resolve(Preset::Standard, &BTreeMap::new())
            .expect("presets are valid")
            .method
            .metrics()
    };
    METHODS.iter().flat_map(metrics).collect()
});

fn is_policy(text: &str) -> bool {
    let policy: Choice = match text.parse() {
        Ok(policy) => policy,
        Err(error) => return refused(&error),
    };
    let printed = policy.to_string();
    let again: Choice = printed.parse().unwrap_or_else(|it| panic!("{printed}: {it}"));
    assert_eq!(again.to_string(), printed);
    let large = BlockSize::new(Bytes(4_096)).expect("a power of two");
    let built = [large, BlockSize::SECTOR].map(|block_size| policy.build(block_size));
    built.into_iter().all(|built| built.map_or_else(|error| refused(&error), |_| true))
}

fn is_line(text: &str) -> bool {
    let is_imported = |number| {
        let imported = match Imported::read(text, number) {
            Ok(imported) => imported,
            Err(error) => return refused(&error),
        };
        let computed = [Some(imported.number), imported.deletion, imported.deletion_alone];
        assert!(computed.into_iter().flatten().all(f64::is_finite), "{imported:?}");
        true
    };
    is_imported(None) & is_imported(Some(500))
}

/// A text is a quantity of several kinds, or of none.
fn is_quantity(text: &str) -> bool {
    let is_one = [
        prints_again::<Bytes>(text),
        prints_again::<Nanos>(text),
        prints_again::<Ppm>(text),
        prints_again::<Quantile>(text),
        prints_again::<PurgeChoice>(text),
    ];
    is_one.contains(&true)
}

fn prints_again<T: FromStr<Err: Display + Debug> + Display + PartialEq + Debug>(
    text: &str,
) -> bool {
    match text.parse::<T>() {
        Ok(value) => prints_as_the_same(&value),
        Err(error) => return refused(&error),
    }
    true
}

/// What is read prints as a text that reads as the same.
fn prints_as_the_same<T: FromStr<Err: Display> + Display + PartialEq + Debug>(value: &T) {
    let printed = value.to_string();
    match printed.parse::<T>() {
        Ok(again) => assert_eq!(again, *value, "{printed}"),
        Err(error) => panic!("{value:?} prints as `{printed}`: {error}"),
    }
}

/// A refusal must say something.
fn refused(error: &(impl Display + Debug)) -> bool {
    assert!(!error.to_string().trim().is_empty(), "a refusal without a word: {error:?}");
    false
}
