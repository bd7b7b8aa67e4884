//! Caveats: what could spoil a number, said beside it, with advice.

/// Something that limits what a figure may be taken to mean. Its id is stable and in the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Caveat {
    /// Built without optimisation: wall-clock figures are too slow.
    DebugBuild,
    /// The emulated drive's figures are its model's, in virtual time, not a product's.
    Emulated,
    /// A value of the emulated drive was calibrated to a published figure; it confirms nothing.
    Calibrated,
    /// Not all freed bytes were discarded before the window closed.
    DiscardsIncomplete,
    /// The filesystem sent no discards: it is not mounted to, or a layer below takes none.
    NoDiscard,
    /// Other processes used the device during the measurement.
    OtherLoad,
    /// The stall did not end before the window closed: the figure is a lower bound.
    WindowTooShort,
    /// The load could not be issued on schedule by this machine.
    LateSchedule,
    /// The device is not a physical SSD (a loop device, a virtual disk): its TRIM is its host's.
    NotAPhysicalSsd,
    /// The effect is not distinguishable from that of deleting an empty file.
    Noise,
    /// Data went through the page cache.
    BufferedIo,
    /// The interval is missing because there are too few points.
    TooFewPoints,
    /// The file was scattered over many extents; each is a discard of its own.
    Fragmented,
    /// The placebo itself stalled; the baseline is unsteady.
    UnsteadyBaseline,
    /// Nothing was deleted: every deletion was a placebo, on request.
    PlaceboOnly,
    /// The drive was measured after a planted fault.
    PlantedFault,
    /// The drive was purged by TRIM: what a trimmed drive is compared with is a trimmed drive.
    PurgedByTrim,
    /// The test ended before the drive was steady.
    NoSteadyState,
    /// The kernel merged commands: what the device completed is not what was issued.
    CommandsMerged,
    /// The data could be compressed, which flatters a drive that compresses.
    CompressibleData,
    /// The load ended before the wanted number of commands was outstanding.
    QueueNotFull,
    /// Only a part of the drive was used; the rest served as over-provisioning.
    PartOfDrive,
    /// Little of what was written reached the device: the page cache was measured.
    CacheSwallowed,
    /// No file was left for the transactions still to come.
    OutOfFiles,
    /// The drive that was left idle first, and serves as reference, had no even pace either.
    UnsteadyTwin,
    /// What the devices were sent could not be seen.
    RequestsUnseen,
    /// Events on what the devices were sent were lost.
    RequestsLost,
    /// Commands of a trace were moved, cut or left out to fit the device.
    TraceAltered,
    /// TRIMs were issued that nobody recorded.
    SynthesisedTrims,
    /// The target was no longer what was claimed when the step ended.
    TargetChanged,
}

/// Id, meaning and advice of one caveat.
struct Text {
    caveat: Caveat,
    id: &'static str,
    meaning: &'static str,
    advice: &'static str,
}

/// One row of the table below.
const fn text(
    caveat: Caveat,
    id: &'static str,
    meaning: &'static str,
    advice: &'static str,
) -> Text {
    Text { caveat, id, meaning, advice }
}

const TABLE: [Text; 30] = [
    text(Caveat::DebugBuild, "debug-build", "built without optimisation", "build with `--release`"),
    text(
        Caveat::Emulated,
        "emulated",
        "figures of a model in virtual time, not of a product",
        "measure the real drive to learn about it",
    ),
    text(
        Caveat::Calibrated,
        "calibrated",
        "a value of this profile was fitted to the published figure that it reproduces",
        "read the profile's sources with `trimbench list profiles --explain NAME`",
    ),
    text(
        Caveat::DiscardsIncomplete,
        "discards-incomplete",
        "not all freed bytes were discarded before the window closed",
        "give a longer window (`--set window=30s`), or find out what holds the discards back",
    ),
    text(
        Caveat::NoDiscard,
        "no-discard",
        "the filesystem sent no discards for the deleted files",
        "mount with `-o discard`, or measure fstrim with `--set mode=trim`",
    ),
    text(
        Caveat::OtherLoad,
        "other-load",
        "something else used the device during the measurement",
        "stop other work on this disk and run again",
    ),
    text(
        Caveat::WindowTooShort,
        "window-too-short",
        "the stall had not ended when the window closed; the figure is a lower bound",
        "give a longer window: `--set window=30s`",
    ),
    text(
        Caveat::LateSchedule,
        "late-schedule",
        "this machine issued the load late",
        "lower the rate (`--set rate=100`), or give the machine less other work",
    ),
    text(
        Caveat::NotAPhysicalSsd,
        "not-a-physical-ssd",
        "the device is virtual: what its TRIM costs is decided by its host",
        "measure on the physical drive",
    ),
    text(
        Caveat::Noise,
        "noise",
        "not distinguishable from deleting an empty file",
        "use larger files or more repetitions",
    ),
    text(
        Caveat::BufferedIo,
        "buffered-io",
        "data went through the page cache, which hides stalls",
        "use a filesystem that supports O_DIRECT",
    ),
    text(
        Caveat::TooFewPoints,
        "too-few-points",
        "too few points for an interval",
        "use more sizes or repetitions; a drive that is emulated repeats itself exactly",
    ),
    text(
        Caveat::Fragmented,
        "fragmented",
        "files were scattered over many extents, each a discard of its own",
        "use an emptier filesystem",
    ),
    text(
        Caveat::UnsteadyBaseline,
        "unsteady-baseline",
        "deleting an empty file stalled the load too, and unevenly",
        "stop other work on this machine and run again",
    ),
    text(
        Caveat::PlaceboOnly,
        "placebo-only",
        "nothing was deleted: this run measures the method's own noise",
        "leave out `--set placebo-only=yes` to measure deletions",
    ),
    text(
        Caveat::PlantedFault,
        "planted-fault",
        "faults were planted on request: this run tests the method, not the drive",
        "leave out the faults in `--target` to measure the drive",
    ),
    text(
        Caveat::PurgedByTrim,
        "purged-by-trim",
        "the drive was purged by TRIM, so that trimmed against fresh compares TRIM with itself",
        "use a drive that can be purged by format, sanitize or secure erase",
    ),
    text(
        Caveat::NoSteadyState,
        "no-steady-state",
        "the test ended before the drive was steady; its figures are those of a transition",
        "use `--preset standard`",
    ),
    text(
        Caveat::CommandsMerged,
        "commands-merged",
        "the device completed another number of commands than were issued",
        "write 2 into `queue/nomerges` of the device, and stop other work on it",
    ),
    text(
        Caveat::CompressibleData,
        "compressible-data",
        "the data could be compressed: a drive that compresses looks better than it is",
        "leave out `--set data=...` to write incompressible data",
    ),
    text(
        Caveat::QueueNotFull,
        "queue-not-full",
        "fewer commands were outstanding than asked for",
        "give the machine less other work, or ask for a smaller queue depth",
    ),
    text(
        Caveat::PartOfDrive,
        "part-of-drive",
        "only a part of the drive was used; the rest served as over-provisioning",
        "use the whole drive: `--set span=all`",
    ),
    text(
        Caveat::CacheSwallowed,
        "cache-swallowed",
        "less than half of what was written reached the device: the page cache was measured",
        "write several times the memory of the machine, or limit the run's memory",
    ),
    text(
        Caveat::OutOfFiles,
        "out-of-files",
        "transactions ended early because no file was left",
        "use more files, fewer transactions, or a larger `bias-create`",
    ),
    text(
        Caveat::UnsteadyTwin,
        "unsteady-twin",
        "the drive that was left idle first was below its later pace too, at some time",
        "let it rest longer (`--set rest=5min`), or smooth more (`--set smoothing=25`)",
    ),
    text(
        Caveat::RequestsUnseen,
        "requests-unseen",
        "what the device was sent could not be seen, so that the stall was not located",
        "run as root, outside of a sandbox, on a device with a queue of requests",
    ),
    text(
        Caveat::RequestsLost,
        "requests-lost",
        "the kernel dropped events on requests: the place of the stall is known in part only",
        "give the machine less other work, or lower the load",
    ),
    text(
        Caveat::TraceAltered,
        "trace-altered",
        "commands of the trace were moved, cut or left out to fit the device",
        "replay it on a device as large as the one that it was recorded on",
    ),
    text(
        Caveat::SynthesisedTrims,
        "synthesised-trims",
        "TRIMs were made up from what was not accessed for long; nobody deleted it",
        "record a trace with its TRIMs, and replay those: `--set passes=kept,stripped`",
    ),
    text(
        Caveat::TargetChanged,
        "target-changed",
        "the target was cut off, exchanged or taken by others before the step ended",
        "look at the target, then go on with `--resume`: the step is measured again",
    ),
];

impl Caveat {
    fn text(self) -> &'static Text {
        TABLE.iter().find(|text| text.caveat == self).expect("every caveat has its row: tested")
    }

    /// The stable name in records and on the command line.
    pub fn id(self) -> &'static str {
        self.text().id
    }

    /// What is wrong or limited, as a phrase.
    pub fn meaning(self) -> &'static str {
        self.text().meaning
    }

    /// What to do about it.
    pub fn advice(self) -> &'static str {
        self.text().advice
    }

    /// The caveat of this id; `None` for ids of later versions.
    pub fn from_id(id: &str) -> Option<Self> {
        TABLE.iter().find(|text| text.id == id).map(|text| text.caveat)
    }

    /// Whether a figure with this caveat is invalid, and the run ends with
    /// [`crate::exit::INVALID`].
    pub fn invalidates(self) -> bool {
        matches!(
            self,
            Self::DiscardsIncomplete
                | Self::NoDiscard
                | Self::WindowTooShort
                | Self::LateSchedule
                | Self::CommandsMerged
                | Self::CacheSwallowed
                | Self::TargetChanged
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caveat_has_exactly_one_row_and_id() {
        for (index, text) in TABLE.iter().enumerate() {
            assert_eq!(text.caveat as usize, index, "{}", text.id);
            assert_eq!(Caveat::from_id(text.id), Some(text.caveat));
        }
        assert_eq!(Caveat::from_id("from-the-future"), None);
    }
}
