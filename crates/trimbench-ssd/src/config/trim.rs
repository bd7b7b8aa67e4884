//! Configuration of TRIM: the modes, what each does, and the keys of its cost.
//!
//! A mode is a variant of [`TrimMode`] and what its functions say of it; one that postpones work
//! says in [`TrimConfig::slice`] how much of it is done at a time.

use trimbench_core::settings::IfUnset::{Absent, Required};
use trimbench_core::settings::{Named as _, default_to, described, named, optional};
use trimbench_core::{Bytes, Nanos, Ppm, named_enum, settings};

use super::{DriveConfigError, Media, SsdConfig, require};
use crate::unit::PIECE_BYTES;

named_enum! {
    /// What the drive does with a TRIM.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TrimMode {
        /// Waits until the queue is empty, then works with nothing beside it (non-queued SATA
        /// TRIM).
        Blocking = "blocking",
        /// Occupies the controller in its turn, like any command.
        Queued = "queued",
        /// Acknowledges at once and works it off later in slices that steal a share of the
        /// controller and of the dies.
        Background = "background",
        /// Acknowledges; there is nothing to do.
        None = "none",
        /// Acknowledges and frees nothing (some USB bridges).
        Ignored = "ignored",
    }
}

named_enum! {
    /// When the controller begins a TRIM beside commands that wait for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TrimArbitration {
        /// In the order of arrival: all TRIMs that came before a command delay it.
        FirstCome = "first-come",
        /// One TRIM, then all other commands that wait, then the next TRIM: round robin between
        /// the queue of the TRIMs and the others, with no bound on the arbitration burst.
        /// Source: \[NVME\].
        RoundRobin = "round-robin",
        /// A TRIM only while no other command wants the controller: the others are of a higher
        /// class. A TRIM that has begun is not interrupted. Source: \[NVME\].
        ReadsFirst = "reads-first",
    }
}

settings! {
    /// The cost of a TRIM: `command + ranges * range + (mapped - uncharged) * per_gib_mapped +
    /// unmapped * per_gib_unmapped + tail`, who pays it when, and what the host waits beyond it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TrimConfig(values) {
        /// which resources a TRIM occupies, and when
        pub mode: TrimMode = "trim.mode", Required, named();
        /// fixed cost of the command
        pub command: Nanos = "trim.command", Required, described("at most 1h");
        /// cost of each range of the protocol
        pub range: Nanos = "trim.range", Required, described("at most 1h");
        /// cost of a GiB of units that hold data; charged unit by unit
        pub per_gib_mapped: Nanos = "trim.per_gib_mapped", Required, described("at most 1h");
        /// cost of a GiB of units that hold none
        pub per_gib_unmapped: Nanos = "trim.per_gib_unmapped", Required, described("at most 1h");
        /// data of a command that cost nothing to free; `trim.per_gib_mapped` is paid for what goes
        /// beyond. Drives of \[SSDIQ\] take much longer for 8 GiB than four times what they take
        /// for 2 GiB
        pub uncharged: Bytes = "trim.uncharged", default_to("0"), described("any size");
        /// fixed time from the end of a TRIM's work to its acknowledgement, which occupies nothing:
        /// TRIMs that are outstanding together pass it together
        pub latency: Nanos = "trim.latency", default_to("0"), described("at most 1h");
        /// chance that a TRIM takes longer, by a random time; fixed by the drive, not by the run's
        /// seed
        pub tail_chance: Ppm = "trim.tail_chance", default_to("0"), described("at most 100%");
        /// mean of that time for a GiB of units that hold data; exponentially distributed
        pub tail_per_gib: Nanos = "trim.tail_per_gib", default_to("0"), described("at most 1h");
        /// the largest range of the protocol (ATA: 65,535 sectors)
        pub range_max: Bytes = "trim.range_max", Required, described("at least 4KiB");
        /// ranges of one command that a host's block layer sends, in [1, 256]: 1 on SATA
        pub ranges: u32 = "trim.ranges", default_to("1"), described("at most 256");
        /// the largest discard that the drive takes in one command
        pub command_max: Bytes = "trim.command_max", Required,
            described("at least `trim.range_max`");
        /// the drive frees whole granules of this size only, and never a part of a mapping unit
        pub granularity: Bytes = "trim.granularity", default_to("4KiB"),
            described(
                "a positive multiple of 4KiB, and of `drive.mapping_unit` where it is more; at \
                 most `trim.command_max` and 64GiB",
            );
        /// start of the first granule
        pub alignment: Bytes = "trim.alignment", default_to("0"),
            described("a multiple of `drive.mapping_unit`, below `trim.granularity`");
        /// only `queued`, {}: when a TRIM begins beside commands that wait
        pub arbitration: TrimArbitration = "trim.arbitration", default_to("first-come"), named();
        /// only `background`: share of controller and dies that the work takes while the host is
        /// busy
        pub background_share: Ppm = "trim.background_share", default_to("0"),
            described("above 0%, below 100%");
        /// only `background`: period of the slices
        pub background_slice: Nanos = "trim.background_slice", default_to("0"),
            described("at least 1us, at most 1h");
        /// only `background`: maximum postponed work; a TRIM beyond it is acknowledged only when
        /// the backlog has shrunk to the bound
        pub background_bound: Option<Nanos> = "trim.background_bound", Absent,
            optional(described("at most 1h"));
    }
}

impl TrimMode {
    /// Whether a TRIM frees anything; else it is only acknowledged.
    pub fn frees(self) -> bool {
        !matches!(self, Self::None | Self::Ignored)
    }

    /// Whether a TRIM waits for all other commands, and they for it.
    pub(crate) fn is_exclusive(self) -> bool {
        self == Self::Blocking
    }

    /// Whether the work of a TRIM goes into the backlog.
    pub(crate) fn postpones(self) -> bool {
        self == Self::Background
    }

    /// What happens, and which drives have it, in words.
    pub fn meaning(self) -> [&'static str; 2] {
        match self {
            Self::Blocking => [
                "waits at the head of the queue until the drive is empty, then runs alone; the \
                 whole cost holds the controller",
                "SATA, non-queued",
            ],
            Self::Queued => [
                "the whole cost holds the controller in its turn; the flash continues",
                "NVMe and SATA that do the work at once",
            ],
            Self::Background => [
                "`command` at once, then the work goes into a backlog",
                "drives that answer first and work later (vendor6 of [S0])",
            ],
            Self::None => ["`command`; there is nothing to do", "3D XPoint [S1]"],
            Self::Ignored => ["`command`; frees nothing", "some USB bridges"],
        }
    }
}

impl TrimConfig {
    /// How much postponed work a slice does at most: of the foreground, unless the drive is idle.
    pub(crate) fn slice(&self, is_idle: bool) -> Nanos {
        let slice = self.background_slice;
        if is_idle { slice } else { slice.scaled(self.background_share).max(Nanos(1)) }
    }

    pub(super) fn check(&self, config: &SsdConfig) -> Result<(), DriveConfigError> {
        let (share, postpones) = (self.background_share, self.mode.postpones());
        let unit = config.mapping_unit;
        let is_whole = |bytes: Bytes| bytes.0.is_multiple_of(unit.0);
        let granularity_max = self.command_max.min(Bytes::gib(64));
        let is_granularity = self.granularity.0.is_multiple_of(PIECE_BYTES)
            && (self.granularity <= unit || is_whole(self.granularity));
        config.hold(&[
            ("trim.range_max", self.range_max.0 >= PIECE_BYTES),
            ("trim.command_max", self.command_max >= self.range_max),
            ("trim.ranges", (1..=256).contains(&self.ranges)),
            (
                "trim.granularity",
                self.granularity.0 > 0
                    && is_granularity
                    && config.discard_granularity() <= granularity_max,
            ),
            (
                "trim.alignment",
                is_whole(self.alignment) && self.alignment < config.discard_granularity(),
            ),
            ("trim.tail_chance", self.tail_chance <= Ppm::ONE),
            ("trim.background_share", !postpones || (share.0 > 0 && share < Ppm::ONE)),
            ("trim.background_slice", !postpones || self.background_slice >= Nanos::from_micros(1)),
        ])?;
        let has_tail = (self.tail_chance.0 > 0, self.tail_per_gib > Nanos::ZERO);
        require(
            has_tail.0 == has_tail.1,
            "trim.tail_chance",
            self.tail_chance,
            "above 0% where `trim.tail_per_gib` is set, and 0% where it is not",
        )?;
        require(
            self.uncharged == Bytes(0)
                || self.uncharged < self.command_max && self.per_gib_mapped > Nanos::ZERO,
            "trim.uncharged",
            self.uncharged,
            "less than `trim.command_max`, and 0 where `trim.per_gib_mapped` is 0: else nothing is \
             charged",
        )?;
        require(
            self.mode == TrimMode::Queued || self.arbitration == TrimArbitration::FirstCome,
            "trim.arbitration",
            self.arbitration.id(),
            "`first-come` where TRIMs are not `queued`",
        )?;
        let is_flash = config.media == Media::Flash;
        let translates = config.slc_cache.is_some()
            || config.compression.is_some()
            || config.mapping_cache.is_some();
        require(
            is_flash || !translates,
            "drive.media",
            "in-place",
            "`flash` where there is an SLC cache, compression or a mapping cache",
        )?;
        require(
            is_flash || !self.mode.frees(),
            "trim.mode",
            self.mode.id(),
            "`none` or `ignored` on a medium that is overwritten in place",
        )
    }
}
