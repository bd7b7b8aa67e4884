//! The method's parameters.

use trimbench_core::settings::{
    SettingError, ValueProblem, Values, default_to, described, list, named, or_word, parsed,
    presets, text, within, yes_no,
};
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Nanos, Ppm, settings};

use trimbench_engine::settings::{access_size, gap_of_rate, whole_size};
use trimbench_engine::{Arrivals, UNIT};
use trimbench_policy::{POLICIES, PolicyOrigin, policy_meant_by};

/// The policy that has a target.
pub(super) const PACED: &str = "paced";
/// `ext4` behind a smaller limit for discards. No policy of its own: a setting of the host.
pub(super) const SMALL_DISCARDS: &str = "ext4-small-discards";
/// The policy that trims once a week.
const WEEKLY: &str = "fstrim-weekly";
/// The policy that [`SMALL_DISCARDS`] is a variant of.
const EXT4: &str = "ext4";

/// What the longer presets compare: also an earlier ext4, and the proposals.
const COMPARED: &str = "ext4,btrfs-async,fstrim-weekly,none,ext4-4.13,rate-limited,skip-by-queue,\
                        skip-by-latency,paced";

/// The largest share of the room that is taken while the files are aged.
const AGE_MAX: Ppm = percent(98);

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PolicyLab(values) {
        /// policies to compare, separated by commas, or `all`: {}
        pub compared: Vec<&'static str> = "policies",
            presets("ext4,btrfs-async,fstrim-weekly,none,paced", COMPARED, COMPARED),
            parsed(
                "the systems ext4, btrfs-async, fstrim-weekly, talos, none, ext4-5.15, \
                 ext4-4.13, ext4-2.6.33; the proposals rate-limited, skip-by-queue, \
                 skip-by-latency ([S3]), mean-law ([VMWARE-UNMAP]), paced (ours)",
                policies
            );
        /// capacity of an emulated drive whose target sets none, {}
        pub drive: Bytes = "drive", presets("4GiB", "16GiB", "16GiB"),
            within(Bytes::gib(1), Bytes::gib(1 << 10));
        /// share of the space that files take, {}
        pub fill: Ppm = "used", default_to("80%"), within(percent(10), percent(95));
        /// share that files take once before, until random ones are deleted down to `used`, {}
        pub age: Ppm = "age", default_to("95%"), described("`used` to 98%");
        /// sizes of files, separated by commas, each as frequent as the others, {}
        pub sizes: Vec<Bytes> = "file-sizes", default_to("256KiB,1MiB,4MiB,16MiB"),
            list(whole_size(Bytes(UNIT), Bytes::gib(1)));
        /// bytes of files written a second, at most, and as many deleted; {}
        pub churn: Bytes = "churn", default_to("20MB"),
            within(Bytes(100_000), Bytes(10_000_000_000));
        /// share of the space that a cycle writes anew, {}
        pub cycle: Ppm = "cycle", default_to("50%"), within(percent(1), percent(400));
        /// share of the space that is written in a week: so often `fstrim-weekly` trims, unless
        /// its `period` is set; {}
        pub week: Ppm = "week", default_to("100%"), within(percent(1), percent(10_000));
        /// cycles under each policy, {}
        pub cycles_max: u32 = "cycles", presets("10", "20", "20"),
            described("`stable-cycles` to 1000");
        /// the last cycles, which give the figures, and over which the write amplification must be
        /// stable; {}
        pub window: usize = "stable-cycles", default_to("4"), within(2, 100);
        /// stable: it differs by at most this share of its mean, and a line through it rises by at
        /// most half of that; {}
        pub tolerance: Ppm = "tolerance", default_to("10%"), within(Ppm(1_000), percent(50));
        /// accesses of the foreground a second, {}
        pub gap: Nanos = "rate", default_to("300"), gap_of_rate();
        /// {} gaps
        pub arrivals: Arrivals = "arrivals", default_to("poisson"), named();
        /// bytes of each access, {}
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// share of reads; the rest are writes
        pub read_share: Ppm = "read-share", default_to("70%"), within(Ppm(0), Ppm::ONE);
        /// the file that the foreground accesses, {}
        pub span: Bytes = "foreground-span", presets("256MiB", "1GiB", "1GiB"),
            whole_size(Bytes::mib(1), Bytes::gib(1 << 10));
        /// whether mkfs discards the whole drive
        pub mkfs_discard: bool = "mkfs-discard", default_to("yes"), yes_no();
        /// p99.9 of the foreground that `paced` has to keep, {}
        pub target: Nanos = "target", default_to("10ms"),
            within(Nanos(10_000), Nanos::from_secs(60));
        /// the policy to choose has the lowest p99.9 of those whose write amplification is at most
        /// this share above the least, {}
        pub slack: Ppm = "slack", default_to("10%"), within(Ppm(0), percent(1_000));
        /// a policy is not chosen if its throughput is below the highest by more than this, {}
        pub lost: Ppm = "lost", default_to("10%"), within(Ppm(0), Ppm::ONE);
        /// where `ext4` is compared, `ext4-small-discards` is, too: the same on a host with this
        /// `queue/discard_max_bytes`, {}; `none`: not
        pub small_discards: Option<Bytes> = "small-discards", default_to("1MiB"),
            or_word("none", whole_size(Bytes(UNIT), Bytes::gib(4)));
        /// parameters of the system `btrfs-async`
        pub btrfs_async: String = "btrfs-async", presets("delay=10s", "delay=40s", "delay=40s"),
            text();
        /// parameters of the system `fstrim-weekly`
        pub fstrim_weekly: String = "fstrim-weekly", default_to(""), text();
        /// parameters of the system `talos`
        pub talos: String = "talos", default_to("chunk=64MiB,delay=250ms"), text();
        /// parameters of the proposal `rate-limited`
        pub rate_limited: String = "rate-limited", default_to("iops=10"), text();
        /// parameters of the proposal `skip-by-queue`
        pub skip_by_queue: String = "skip-by-queue", default_to("pending-max=8"), text();
        /// parameters of the proposal `skip-by-latency`
        pub skip_by_latency: String = "skip-by-latency", default_to("threshold=15ms"), text();
        /// parameters of the proposal `mean-law`
        pub mean_law: String = "mean-law", default_to(""), text();
        /// parameters of the proposal `paced`, except its target
        pub paced: String = PACED, default_to("tolerance=0.1%"), text();
    } with {
        /// What is compared: a name of [`POLICIES`], and its text with parameters.
        pub policies: Vec<(&'static str, String)> =
            with_texts(values, &compared, target, small_discards.is_some());
        pub(super) values: Values = values.clone();
    }
    check PolicyLab::check;
}

impl PolicyLab {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        values.check_within("age", self.age, self.fill, AGE_MAX)?;
        values.check_within("cycles", self.cycles_max as usize, self.window, 1_000)
    }

    /// The text of a policy where so many bytes are available: a week is a share of them written at
    /// the rate of the churn.
    pub(super) fn text_in(&self, policy: &str, text: &str, available: Bytes) -> String {
        if policy != WEEKLY || text.contains("period=") {
            return text.to_owned();
        }
        let seconds = self.week.of(available.0) as f64 / self.churn.0 as f64;
        let week = Nanos::from_millis(rounded(seconds * 1e3).max(1));
        format!("{text},period={week}")
    }

    /// What the foreground does, in words.
    pub(super) fn accesses(&self) -> String {
        let kinds = match self.read_share {
            Ppm::ONE => "reads".to_owned(),
            Ppm(0) => "writes".to_owned(),
            share => format!("{share} reads and {} writes", Ppm(Ppm::ONE.0 - share.0)),
        };
        format!("{kinds} of {} over {}", self.access, self.span)
    }

    /// The least room: the foreground's file takes a quarter, and a hundredth holds a file.
    pub(super) fn needed(&self) -> Bytes {
        let largest = self.sizes.iter().max().copied().unwrap_or(Bytes(0));
        Bytes((4 * self.span.0).max(100 * largest.0))
    }
}

/// Each with its text; behind `ext4` the same behind a smaller limit for discards, if wished for.
fn with_texts(
    values: &Values,
    compared: &[&'static str],
    target: Nanos,
    small: bool,
) -> Vec<(&'static str, String)> {
    let mut policies = Vec::new();
    for name in compared {
        policies.push((*name, with_parameters(values, name, target)));
        if small && *name == EXT4 {
            policies.push((SMALL_DISCARDS, EXT4.to_owned()));
        }
    }
    policies
}

/// The policy's text: its name, and what is set of it.
fn with_parameters(values: &Values, name: &str, target: Nanos) -> String {
    // Those without parameters are no options either.
    if name == "none" || is_own_path(name) {
        return name.to_owned();
    }
    let set = match values.text(name).map_or("", str::trim) {
        "" => String::new(),
        set => format!(",{set}"),
    };
    let target = if name == PACED { format!(",target={target}") } else { String::new() };
    format!("{name}{target}{set}")
}

/// What an ext4 does by itself, and no other filesystem.
pub(super) fn is_own_path(name: &str) -> bool {
    let mut own = POLICIES.iter().filter(|info| matches!(info.origin, PolicyOrigin::OwnPath(_)));
    own.any(|info| info.id == name)
}

/// Names of policies, in the order of [`POLICIES`].
fn policies(text: &str) -> Result<Vec<&'static str>, ValueProblem> {
    let all = POLICIES.each_ref().map(|info| info.id);
    let named: Vec<&str> = match text.trim() {
        "all" => all.into(),
        list => list.split(',').map(str::trim).collect(),
    };
    for (at, name) in named.iter().enumerate() {
        if !all.contains(name) {
            let (meant, all) = (policy_meant_by(name), all.join(", "));
            let problem = format!("there is no policy `{name}`{meant}; there are {all}");
            return Err(ValueProblem(problem));
        }
        if named[..at].contains(name) {
            return Err(ValueProblem(format!("`{name}` is named twice")));
        }
    }
    Ok(all.into_iter().filter(|name| named.contains(name)).collect())
}

const fn percent(count: u32) -> Ppm {
    Ppm(10_000 * count)
}
