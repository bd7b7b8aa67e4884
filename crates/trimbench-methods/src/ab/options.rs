//! The method's parameters.

use trimbench_core::settings::{
    Named as _, SettingError, Values, ascending, default_to, list, named, or_word, presets, text,
    within,
};
use trimbench_core::{Bytes, DrainRule, MountDiscard, Nanos, Ppm, named_enum, settings};

use trimbench_engine::settings::{access_size, gap_of_rate, whole_size};
use trimbench_engine::{Arrivals, DiscardWaits};

use super::metrics::BLOCKS_MIN;

const HOUR: Nanos = Nanos::from_secs(3_600);

named_enum! {
    /// What is compared: a way to trim, or none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AbArm {
        /// Mounted with `nodiscard`: what all others are compared with.
        Nodiscard = "nodiscard",
        /// Mounted with `discard`; of btrfs `discard=sync`.
        Discard = "discard",
        /// btrfs mounted with `discard=async`.
        DiscardAsync = "discard-async",
        /// Mounted with `nodiscard`; all free space is trimmed once, right after the deletion.
        Fstrim = "fstrim",
        /// The same by `trimpace`, with `noticeable` as its target; real filesystems only.
        Trimpace = "trimpace",
    }
}

impl AbArm {
    /// How the filesystem is mounted.
    pub(super) fn way(self) -> MountDiscard {
        match self {
            Self::Nodiscard | Self::Fstrim | Self::Trimpace => MountDiscard::Off,
            Self::Discard => MountDiscard::AtCommit,
            Self::DiscardAsync => MountDiscard::Deferred,
        }
    }

    /// What people type for it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Discard => "discard",
            Self::DiscardAsync => "discard=async",
            Self::Nodiscard | Self::Fstrim | Self::Trimpace => self.id(),
        }
    }
}

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Ab(values) {
        /// what is compared with `nodiscard`, separated by commas: {}; `auto`: the mode of the
        /// filesystem that is meant for everyday use (`discard`, of btrfs `discard-async`)
        pub arms: Option<Vec<AbArm>> = "arms", default_to("auto"),
            or_word("auto", ascending(list(named())));
        /// bytes that are deleted together, once a visit, {}, rounded down to 4 KiB
        pub deletes: Bytes = "deletes", presets("1GiB", "4GiB", "8GiB"),
            whole_size(Bytes(4_096), Bytes::gib(1 << 10));
        /// in so many files, {}
        pub files: u32 = "files", default_to("8"), within(1, 1 << 16);
        /// blocks, {}: in each, every arm is visited once
        pub blocks: u32 = "blocks", presets("9", "12", "20"), within(BLOCKS_MIN, 1_000);
        /// blocks at the most, {}: the first ones tell by their noise how many it takes to see a
        /// difference of half of `noticeable` in the headline
        pub blocks_max: u32 = "blocks-max", presets("18", "36", "60"), within(BLOCKS_MIN, 1_000);
        /// time measured in each visit, from the deletion on, {}
        pub window: Nanos = "window", presets("11s", "30s", "60s"),
            within(Nanos::from_millis(100), HOUR);
        /// load before the deletion, not counted, {}
        pub lead: Nanos = "lead", presets("500ms", "2s", "5s"),
            within(Nanos::ZERO, Nanos::from_secs(600));
        /// idle time between writing the files and the load, {}
        pub rest: Nanos = "rest", presets("1s", "2s", "5s"),
            within(Nanos::ZERO, Nanos::from_secs(600));
        /// the load: a command of yours, which runs to its end in each visit, in the place of all
        /// below, {}; `none`: the one below. Only with `--command`, which is given anew for each
        /// run
        pub command: Option<String> = "command", default_to("none"), or_word("none", text());
        /// how long the command may take, {}
        pub command_limit: Nanos = "command-limit", default_to("1h"),
            within(Nanos::from_secs(1), Nanos::from_secs(7 * 24 * 3_600));
        /// reads and writes of this trace at its own times, in the place of random ones; `none`
        pub trace: Option<String> = "trace", default_to("none"), or_word("none", text());
        /// reads and writes a second, in an open loop, {}
        pub gap: Nanos = "rate", default_to("1000"), gap_of_rate();
        /// {} gaps
        pub arrivals: Arrivals = "arrivals", default_to("poisson"), named();
        /// bytes of each access, {}, a multiple of 4KiB
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// share of reads among them; the rest are writes
        pub read_share: Ppm = "read-share", default_to("90%"), within(Ppm(0), Ppm::ONE);
        /// file that they access, {}
        pub span: Bytes = "span", presets("1GiB", "4GiB", "8GiB"),
            whole_size(Bytes::mib(1), Bytes::gib(1 << 10));
        /// time between starts of a small write and its fsync, as a database commits, {}; `none`:
        /// no such program
        pub fsync_interval: Option<Nanos> = "fsync-interval", default_to("8ms"),
            or_word("none", within(Nanos::from_micros(100), Nanos::from_secs(60)));
        /// time between starts of a program, which reads one place after the other, {}; `none`: no
        /// such program
        pub start_interval: Option<Nanos> = "start-interval", default_to("250ms"),
            or_word("none", within(Nanos::from_millis(1), Nanos::from_secs(60)));
        /// reads of such a start, each after the one before, {}
        pub start_reads: u32 = "start-reads", default_to("32"), within(1, 10_000);
        /// a wait that is longer by this is noticed, {}
        pub noticeable: Nanos = "noticeable", default_to("10ms"),
            within(Nanos::from_micros(1), HOUR);
    }
    check Ab::check;
}

impl Ab {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        if self.arms.as_ref().is_some_and(|arms| others(arms).next().is_none()) {
            let problem = "name what `nodiscard` is compared with, as `discard`".to_owned();
            return Err(values.wrong("arms", problem));
        }
        if self.command.is_some() && self.trace.is_some() {
            let problem = "there is one load: leave out `command` or `trace`".to_owned();
            return Err(values.wrong("trace", problem));
        }
        if self.command.as_ref().is_some_and(|command| command.trim().is_empty()) {
            return Err(values.wrong("command", "it is empty: give a line for a shell".to_owned()));
        }
        if self.blocks_max < self.blocks {
            let problem = format!("`blocks` is {}: give as many or more", self.blocks);
            return Err(values.wrong("blocks-max", problem));
        }
        Ok(())
    }

    /// All arms, `nodiscard` first, on a filesystem that has these ways to discard.
    pub(super) fn arms_among(&self, ways: &[MountDiscard]) -> Vec<AbArm> {
        let everyday = if ways.contains(&MountDiscard::Deferred) {
            AbArm::DiscardAsync
        } else {
            AbArm::Discard
        };
        let chosen = self.arms.clone().unwrap_or_else(|| vec![everyday]);
        std::iter::once(AbArm::Nodiscard).chain(others(&chosen)).collect()
    }

    /// All that a run may have: for `auto` either of two.
    pub(super) fn possible_arms(&self) -> Vec<AbArm> {
        let auto = || vec![AbArm::Discard, AbArm::DiscardAsync];
        let arms = self.arms.clone().unwrap_or_else(auto);
        std::iter::once(AbArm::Nodiscard).chain(others(&arms)).collect()
    }

    /// Whether this arm was asked for.
    pub(super) fn has(&self, arm: AbArm) -> bool {
        self.arms.as_ref().is_some_and(|arms| arms.contains(&arm))
    }

    /// Visits of a block.
    fn visits(&self) -> u64 {
        1 + self.arms.as_ref().map_or(1, |arms| others(arms).count() as u64)
    }

    /// Bytes that are deleted in a visit; by a command of the user's that is not known.
    pub(super) fn deleted(&self) -> Bytes {
        match self.command {
            Some(_) => Bytes(0),
            None => Bytes(self.file_size().0 * u64::from(self.files)),
        }
    }

    /// Bytes of each file.
    pub(super) fn file_size(&self) -> Bytes {
        Bytes(self.deletes.0 / u64::from(self.files) / 4_096 * 4_096).max(Bytes(4_096))
    }

    /// Bytes that the target must hold.
    pub(super) fn needed(&self) -> Bytes {
        if self.command.is_some() {
            return super::load::LOG_LENGTH;
        }
        self.span + self.deleted() + super::load::LOG_LENGTH
    }

    /// Bytes that so many blocks write.
    pub(super) fn written(&self, blocks: u32) -> Bytes {
        if self.command.is_some() {
            return super::load::LOG_LENGTH;
        }
        let accesses = (self.lead + self.window).0 / self.gap.0;
        let writes = accesses - self.read_share.of(accesses);
        let commits = self.fsync_interval.map_or(0, |it| (self.lead + self.window).0 / it.0);
        let each = self.deleted().0 + writes * self.access.0 + commits * 4_096;
        Bytes(self.span.0 + u64::from(blocks) * self.visits() * each)
    }

    /// How long so many blocks take on the target's clock, writing at `rate` bytes a second;
    /// without waits for discards.
    pub(super) fn estimate(&self, blocks: u32, rate: u64) -> Nanos {
        let writing = Nanos::from_seconds(self.written(blocks).0 as f64 / rate as f64);
        let visits = u64::from(blocks) * self.visits();
        (self.rest + self.lead + self.window).times(visits).saturating_add(writing)
    }

    /// How long the window is where discards are over by this rule: it is to contain them.
    pub(super) fn window_by(&self, rule: &DrainRule) -> Nanos {
        self.window.max(rule.latest_start + rule.quiet)
    }

    /// What a run waits for discards beyond its estimate: before each window and after it.
    pub(super) fn waits(&self, rule: &DrainRule) -> DiscardWaits {
        let longer = self.window_by(rule) - self.window;
        let each = longer + rule.latest_start + rule.quiet.times(2);
        DiscardWaits { deletions: u64::from(self.blocks) * self.visits(), each }
    }
}

fn others(arms: &[AbArm]) -> impl Iterator<Item = AbArm> + '_ {
    arms.iter().copied().filter(|arm| *arm != AbArm::Nodiscard)
}
