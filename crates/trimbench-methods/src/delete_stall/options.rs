//! The method's parameters.

use trimbench_core::settings::{
    SettingError, ValueKind, Values, ascending, default_to, list, mapped, named, or_word, presets,
    within, yes_no,
};
use trimbench_core::{Bytes, DrainRule, Nanos, Ppm, named_enum, settings};

use trimbench_engine::settings::{access_size, gap_of_rate, whole_size};
use trimbench_engine::{Arrivals, DiscardWaits, IssuePace, LimitedTail, Spacing};
use trimbench_policy::{IssueDepth, Issuer};

/// The analysis grows with the cube of the deletions: with five sizes this takes some seconds.
const REPETITIONS_MAX: u32 = 40;

/// The fewest probes of a window.
const PROBES_MIN: u64 = 5;

/// The smallest file that is deleted.
const SIZE_MIN: Bytes = Bytes::mib(1);

const HOUR: Nanos = Nanos::from_secs(3_600);

named_enum! {
    /// How a file in a directory loses its space.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Mode {
        /// The file is removed.
        Unlink = "unlink",
        /// The file is cut to nothing.
        Truncate = "truncate",
        /// The file's content is punched out.
        PunchHole = "punch-hole",
        /// The file is removed, and the filesystem told to discard its free space.
        Trim = "trim",
    }
}

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DeleteStall(values) {
        /// sizes of the deleted files, separated by commas, {}; rounded down to 4 KiB
        pub sizes: Vec<Bytes> = "sizes",
            presets(
                "128MiB,256MiB,512MiB,768MiB,1GiB",
                "512MiB,1GiB,2GiB,4GiB,8GiB",
                "1GB,2GB,4GB,8GB,16GB"
            ),
            ascending(list(whole_size(SIZE_MIN, Bytes::gib(1 << 10))));
        /// deletion that the verdict speaks of, {}, or `largest`: the largest of `sizes`. Without
        /// `sizes` a quarter, half and all of it are deleted
        pub deletes: Option<Bytes> = "deletes", default_to("largest"),
            or_word("largest", within(Bytes(1), Bytes::gib(1 << 20)));
        /// deletions of each size, each with a placebo beside it, {}
        pub repetitions: u32 = "repetitions", presets("3", "5", "3"), within(1, REPETITIONS_MAX);
        /// time measured after each deletion, {}
        pub window: Nanos = "window", presets("3s", "10s", "30s"),
            within(Nanos::from_millis(100), HOUR);
        /// load before each deletion, not counted, {}
        pub lead: Nanos = "lead", presets("500ms", "2s", "5s"),
            within(Nanos::ZERO, Nanos::from_secs(600));
        /// idle time between writing the file and the load, {}
        pub rest: Nanos = "rest", presets("1s", "5s", "10s"),
            within(Nanos::ZERO, Nanos::from_secs(600));
        /// rest of the drive before anything is measured, and how much longer than `rest` a trial
        /// waits at the most until the drive is at rest, {}
        pub patience: Nanos = "patience", presets("8s", "1min", "5min"),
            within(Nanos::ZERO, HOUR);
        /// accesses a second of the open-loop load, {}
        pub gap: Nanos = "rate", default_to("1000"), gap_of_rate();
        /// {} gaps
        pub arrivals: Arrivals = "arrivals", default_to("poisson"), named();
        /// bytes of each access, {}, a multiple of 4KiB
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// share of reads in the load; the rest are writes. Some drives of 2010 do not serve 500
        /// scattered writes a second
        pub read_share: Ppm = "read-share", default_to("90%"), within(Ppm(0), Ppm::ONE);
        /// area that load and probe access, {}
        pub span: Bytes = "span", presets("1GiB", "4GiB", "8GiB"),
            whole_size(Bytes::mib(1), Bytes::gib(1 << 10));
        /// time between starts of the serial probe, in the mean, {}
        pub probe_interval: Nanos = "probe-interval", default_to("1ms"),
            within(Nanos::from_micros(100), Nanos::from_secs(1));
        /// {}: whether each of these intervals is drawn anew, between its half and its one and a
        /// half
        pub probe_spacing: Spacing = "probe-spacing", default_to("random"), named();
        /// reads under way at all times, in a closed loop that takes the place of the open-loop
        /// load, {}; 0: none
        pub readers: u32 = "readers", default_to("0"), within(0, 1 << 16);
        /// on a device, {}: the system whose discards a deletion sends
        pub issuer: Issuer = "as", default_to("ext4"), named();
        /// on a device: bytes of one range, {}; `issuer`: the issuer's longest, at most the file
        pub chunk: Option<Bytes> = "chunk", default_to("issuer"),
            or_word("issuer", within(Bytes::mib(1), Bytes::gib(2 << 10)));
        /// on a device: ranges under way, {}, or `all`; the pieces of what the device takes at once
        /// go together. `issuer`: the issuer's
        pub discard_depth: Option<IssueDepth> = "discard-depth", default_to("issuer"),
            or_word("issuer", depth());
        /// in a directory: {} (unlink, then fstrim)
        pub mode: Mode = "mode", default_to("unlink"), named();
        /// a response beyond this is overdue, {}
        pub overdue_after: Nanos = "overdue-after", default_to("10ms"),
            within(Nanos::from_micros(1), HOUR);
        /// searches the highest rate of deletion whose p99.9 of the load's response time stays
        /// within this, {}; `none`: no search
        pub p999_limit: Option<Nanos> = "p999-limit", default_to("none"),
            or_word("none", within(Nanos::from_micros(1), HOUR));
        /// sizes of the discards, or in a directory of the files, that the search compares, {}
        pub rate_chunks: Vec<Bytes> = "rate-chunks",
            presets("1MiB,8MiB,64MiB", "1MiB,4MiB,16MiB,64MiB,256MiB", "1MiB,8MiB,64MiB"),
            ascending(list(whole_size(Bytes(64 << 10), Bytes::gib(2 << 10))));
        /// the highest rate of deletion that the search tries, bytes a second, {}
        pub rate_max: Bytes = "rate-max", presets("1GB", "2GB", "2GB"),
            within(Bytes(2_000_000), Bytes(100_000_000_000));
        /// `yes`: delete nothing before a window has closed, to see the method's noise
        pub placebo_only: bool = "placebo-only", default_to("no"), yes_no();
    }
    check DeleteStall::check;
}

/// A number of ranges, or `all`.
fn depth() -> ValueKind<IssueDepth> {
    let ranges = or_word("all", within(1, 1 << 16));
    mapped(ranges, |ranges| ranges.map_or(IssueDepth::All, IssueDepth::Ranges))
}

impl DeleteStall {
    /// The smallest file that it deletes.
    pub const SIZE_MIN: Bytes = SIZE_MIN;

    /// The text of `sizes` that measures deletions of this size: of three sizes the cost of a GB
    /// has an interval.
    pub fn sizes_about(deletes: Bytes) -> String {
        let parts = [4, 2, 1].map(|part| Bytes(deletes.0 / part));
        let parts = parts.iter().filter(|it| **it >= SIZE_MIN || **it == deletes);
        parts.map(Bytes::to_string).collect::<Vec<_>>().join(",")
    }

    /// The text of `sizes` that measures deletions of a typical size and of a larger one; as
    /// [`Self::sizes_about`] where they are much the same.
    pub fn sizes_with(typical: Bytes, largest: Bytes) -> String {
        let typical = typical.max(SIZE_MIN);
        if typical.0 > largest.0 / 4 {
            return Self::sizes_about(largest);
        }
        let middle = Bytes(typical.0.midpoint(largest.0));
        [typical, middle, largest].map(|size| size.to_string()).join(",")
    }

    /// A window holds some probes, the chunks that the search compares are not larger than what is
    /// deleted, and the search has the open-loop load, whose response time it holds.
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        if self.p999_limit.is_some() && self.readers > 0 {
            let problem = "the search (`p999-limit`) wants the open-loop load: leave it at 0";
            return Err(values.wrong("readers", problem.to_owned()));
        }
        if self.probe_interval.times(PROBES_MIN) > self.window {
            let problem = format!(
                "`window`, {}, does not hold {PROBES_MIN} probes this far apart: shorten it, or \
                 lengthen `window`",
                self.window
            );
            return Err(values.wrong("probe-interval", problem));
        }
        match (self.rate_chunks.last(), self.sizes.last()) {
            (Some(chunk), Some(size)) if self.p999_limit.is_some() && chunk > size => {
                let problem = format!("`{chunk}` is more than the largest of `sizes`, {size}");
                Err(values.wrong("rate-chunks", problem))
            }
            _ => Ok(()),
        }
    }

    /// The longest range that a deletion on a device sends; `None` where there is no bound.
    pub(super) fn longest_range(&self) -> Option<Bytes> {
        self.chunk.or(self.issuer.rule().chunk)
    }

    /// How a deletion on a device sends its ranges.
    pub(super) fn pace(&self) -> IssuePace {
        let rule = self.issuer.rule();
        let depth = self.discard_depth.unwrap_or(rule.depth).most();
        IssuePace { depth, pause: rule.pause }
    }

    /// Bytes that the target must hold: the load's area and the largest file.
    pub fn needed(&self) -> Bytes {
        self.span + self.sizes.last().copied().unwrap_or(Bytes(0))
    }

    /// Bytes that a run writes to prepare: the load's area once, and every file, that of a placebo
    /// and of the two trials that find the rest too.
    pub fn written(&self) -> Bytes {
        let files: u64 = self.sizes.iter().map(|size| size.0).sum();
        let extremes = [self.sizes.last(), self.sizes.first()].into_iter().flatten();
        let first = if self.patience > Nanos::ZERO { extremes.map(|size| size.0).sum() } else { 0 };
        Bytes(self.span.0 + first + files * 2 * u64::from(self.repetitions))
    }

    /// Deletions and placebos.
    fn trials(&self) -> u64 {
        self.sizes.len() as u64 * u64::from(self.repetitions) * 2
    }

    /// Bytes that the search writes at the most, to have them deleted.
    pub fn searched(&self) -> Bytes {
        let each = self.rate_max.0 as f64 * self.shortest_try().seconds();
        Bytes(trimbench_core::units::rounded(each).saturating_mul(self.tries()))
    }

    /// How long the search takes at the most on the target's clock, writing at `bytes_per_second`;
    /// without what a filesystem waits before it discards.
    pub(super) fn search_time(&self, bytes_per_second: u64) -> Nanos {
        let writing = self.searched().0 as f64 / bytes_per_second as f64;
        self.shortest_try().times(self.tries()) + Nanos::from_seconds(writing)
    }

    /// Tries at the most, in lengths of the shortest; none without a limit.
    fn tries(&self) -> u64 {
        match self.p999_limit {
            Some(_) => self.rate_chunks.len() as u64 * super::rate::LENGTHS_MAX,
            None => 0,
        }
    }

    pub(super) fn shortest_try(&self) -> Nanos {
        self.gap.times(LimitedTail::accesses_meant())
    }

    /// Bytes that the load writes.
    pub fn load_written(&self) -> Bytes {
        if self.readers > 0 {
            return Bytes(0);
        }
        let accesses = (self.lead + self.window).times(self.trials()).0 / self.gap.0;
        let writes = accesses - self.read_share.of(accesses);
        Bytes(writes * self.access.0)
    }

    /// How long a window is where discards are over by this rule: it is to contain them.
    pub(super) fn window_by(&self, rule: &DrainRule) -> Nanos {
        self.window.max(rule.latest_start + rule.quiet)
    }

    /// What a run waits for discards beyond its [`estimate`](Self::estimate): the longer windows,
    /// and no discard for a while before each deletion and after it.
    pub(super) fn waits(&self, rule: &DrainRule) -> DiscardWaits {
        let each = self.window_by(rule) - self.window + rule.quiet.times(2);
        DiscardWaits { deletions: self.measured_or_tried(), each }
    }

    /// Deletions and placebos, those that find the rest included.
    fn measured_or_tried(&self) -> u64 {
        self.trials() + if self.patience > Nanos::ZERO { 3 } else { 0 }
    }

    /// How long a run takes on the target's clock, writing at `bytes_per_second`.
    pub fn estimate(&self, bytes_per_second: u64) -> Nanos {
        let writing = self.written().0 as f64 / bytes_per_second as f64;
        let trials = (self.lead + self.window + self.rest).times(self.measured_or_tried());
        trials.saturating_add(self.patience).saturating_add(Nanos::from_seconds(writing))
    }
}
