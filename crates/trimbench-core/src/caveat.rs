//! Caveats: what could make a number misleading, with advice, shown beside the number.

/// Declares the caveats: variant, id, meaning and advice of each.
macro_rules! caveats {
    ($($caveat:ident $id:literal: $meaning:literal => $advice:literal;)+) => {
        /// Something that limits what a figure may be taken to mean. Its id is stable and in the
        /// records.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Caveat {
            $(#[doc = concat!("`", $id, "`: ", $meaning, ".")] $caveat,)+
        }

        impl Caveat {
            const ALL: &[Self] = &[$(Self::$caveat),+];

            /// The stable name in records and on the command line.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$caveat => $id,)+ }
            }

            /// What is wrong or limited, as a phrase.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$caveat => $meaning,)+ }
            }

            /// What to do about it.
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$caveat => $advice,)+ }
            }
        }
    };
}

caveats! {
    DebugBuild "debug-build": "built without optimisation" => "build with `--release`";
    Emulated "emulated":
        "figures of a model in virtual time, not of a product"
        => "measure the real drive to learn about it";
    AttachedDrive "attached-drive":
        "the drive is a model behind FUSE and a loop device, which sends one discard at a time"
        => "measure the real drive to learn about it; `sim:NAME` has the model without the kernel";
    Calibrated "calibrated":
        "a value of this profile was fitted to the published figure that it reproduces"
        => "read the profile's sources with `trimbench list profiles --explain NAME`";
    OutsideCalibration "outside-calibration":
        "this profile's values were fitted through another method only; this figure extrapolates"
        => "use the figures of the method that the profile names, or a profile with a source";
    OutputOnTarget "output-on-target":
        "the record is kept on the filesystem under test, where its blocks are discarded, too"
        => "keep it on another one: `--output DIR`";
    DiscardsIncomplete "discards-incomplete":
        "not all freed bytes were discarded before the window closed"
        => "give a longer window (`--set window=30s`), or find out what delays the discards";
    NoDiscard "no-discard":
        "the filesystem sent no discards for the deleted files"
        => "mount with `-o discard`, or measure fstrim with `--set mode=trim`";
    UnlikeWork "unlike-work":
        "the command read and wrote more in one arm than in the other"
        => "have it do the same work each time: the same sizes, and a clean start";
    DiscardsWait "discards-wait":
        "freed bytes still waited for a discard when the measurement of this system ended"
        => "give it more time (`--set patience=10min`); some systems discard only at rest";
    OtherLoad "other-load":
        "something else used the device during the measurement"
        => "stop other work on this disk and run again";
    BusyTarget "busy-target":
        "the target was busy with something else before or while it was measured"
        => "stop other work on this disk and run again; `--quiet-wait 10min` waits longer for that";
    ByReadingOnly "by-reading-only":
        "the filesystem's model follows its source code; no running kernel was compared with it"
        => "take ext4, XFS or btrfs, whose models were compared, or measure the real filesystem";
    AllocatorNotModelled "allocator-not-modelled":
        "no write amplification of XFS, btrfs and f2fs: their allocators are not modelled"
        => "compare what ext4, `fstrim-ext4` and `none` write, or measure the real filesystem";
    WindowTooShort "window-too-short":
        "the stall had not ended when the window closed; the figure is a lower bound"
        => "give a longer window: `--set window=30s`";
    LowerBound "lower-bound":
        "the window closed before the end: the true value is at least this"
        => "give a longer window: `--set window=30s`";
    PhaseTooShort "phase-too-short":
        "a phase ended within one sampling interval: its rates are unknown"
        => "write larger files (`--set file-size=1GiB`), or sample faster: `--set interval=1ms`";
    LateSchedule "late-schedule":
        "this machine issued the load late"
        => "lower the rate (`--set rate=100`), or give the machine less other work";
    Paused "paused":
        "this program was kept from running, and its own pauses are in the figures"
        => "give the machine less other work, lift limits of processor time, and run again";
    LateAnswers "late-answers":
        "the attached drive answered later than its model says, by more than 5 % at the p99"
        => "give the machine less other work, or slow the drive: `attach,slow-down=10:NAME`";
    NotAPhysicalSsd "not-a-physical-ssd":
        "the device is virtual: its host decides the cost of its TRIM"
        => "measure on the physical drive";
    Noise "noise":
        "not distinguishable from deleting an empty file" => "use larger files or more repetitions";
    BufferedIo "buffered-io":
        "data went through the page cache, which hides stalls"
        => "use a filesystem that supports O_DIRECT";
    TooFewPoints "too-few-points":
        "too few points for an interval"
        => "use more sizes or repetitions; an emulated drive repeats itself exactly";
    Fragmented "fragmented":
        "files were scattered over many extents, each with a discard of its own"
        => "use an emptier filesystem";
    UnsteadyBaseline "unsteady-baseline":
        "deleting an empty file stalled the load too, by varying amounts"
        => "stop other work on this machine and run again";
    BaselineNotFlat "baseline-not-flat":
        "before the deletion the drive had not come back to its pace at rest"
        => "let it rest longer (`--set patience=5min`), or stop what keeps it busy";
    FasterThanPlacebo "faster-than-placebo":
        "others were faster after deletions than after placebos: something else was measured"
        => "let the drive rest longer (`--set rest=30s`), or stop other work on it";
    BelowResolution "below-resolution":
        "most accesses took no time that the clock shows"
        => "use larger accesses (`--set access=1MiB`)";
    PlaceboOnly "placebo-only":
        "nothing was deleted: this run measures the method's own noise"
        => "leave out `--set placebo-only=yes` to measure deletions";
    PlantedFault "planted-fault":
        "faults were planted on request: this run tests the method, not the drive"
        => "leave out the faults in `--target` to measure the drive";
    PurgedByTrim "purged-by-trim":
        "the drive was purged by TRIM, so comparing trimmed with fresh compares TRIM with itself"
        => "use a drive that can be purged by format, sanitize or secure erase";
    NoSteadyState "no-steady-state":
        "the test ended before the drive was steady; its figures describe a transition"
        => "use `--preset standard`";
    CommandsMerged "commands-merged":
        "the device did not complete the number of commands that were issued"
        => "write 2 into `queue/nomerges` of the device, and stop other work on it";
    CompressibleData "compressible-data":
        "the data could be compressed: a drive that compresses looks better than it is"
        => "leave out `--set data=...` to write incompressible data";
    QueueNotFull "queue-not-full":
        "fewer commands were outstanding than requested"
        => "give the machine less other work, or use a smaller queue depth";
    PartOfDrive "part-of-drive":
        "only a part of the drive was used; the rest served as over-provisioning"
        => "use the whole drive: `--set span=all`";
    PartOfFullDrive "part-of-full-drive":
        "a part of a full drive was used, and had the spare area of the whole drive to itself"
        => "use the whole drive: `--set span=all`, or an emulated drive as large as the span";
    CacheSwallowed "cache-swallowed":
        "less than half of the written data reached the device: the page cache was measured"
        => "write several times the memory of the machine, or limit the run's memory";
    OutOfFiles "out-of-files":
        "transactions ended early because no file was left"
        => "use more files, fewer transactions, or a larger `bias-create`";
    UnsteadyTwin "unsteady-twin":
        "the twin, which rested before its load, was at times also slower than its later pace"
        => "let it rest longer (`--set rest=5min`), or smooth more (`--set smoothing=25`)";
    RequestsUnseen "requests-unseen":
        "the requests of the device were not visible, so the stall was not attributed to a layer"
        => "run as root, outside of a sandbox, on a device with a request queue";
    RequestsLost "requests-lost":
        "the kernel dropped tracing events: stall attribution is incomplete"
        => "give the machine less other work, or lower the load";
    TraceAltered "trace-altered":
        "commands of the trace were moved, cut or left out to fit the device"
        => "replay it on a device as large as the recorded one";
    NoTrims "no-trims":
        "the trace has no TRIMs, so replays with and without them are the same"
        => "record one with its TRIMs (`trimbench trace record`), or synthesise some: \
            `--set passes=synthesised,stripped`";
    SynthesisedTrims "synthesised-trims":
        "TRIMs were synthesised for data that was not accessed for long; nobody deleted it"
        => "record a trace with its TRIMs, and replay those: `--set passes=kept,stripped`";
    Overloaded "overloaded":
        "the drive does not serve the load even without TRIMs: every wait would be the backlog's"
        => "give a lower rate, or `--set load-rate=auto`";
    SlowLink "slow-link":
        "the PCIe link of the drive is slower or narrower than the drive's best"
        => "put the drive into a slot of its generation and width; `nvme-link` is in the record";
    PowerSaving "power-saving":
        "the processor's governor saves power, which was seen to move latencies by a fifth"
        => "`cpupower frequency-set --governor performance`, and run again";
    Throttled "throttled":
        "heat slowed the drive down meanwhile, by its own count"
        => "cool the drive, and run again; the steps have its temperature";
    TargetChanged "target-changed":
        "the target was exchanged, resized or used by others during the session"
        => "end what used it, then continue with `--resume`: the session is measured again";
    TargetGone "target-gone":
        "the target was disconnected before the step ended"
        => "attach it again, then continue with `--resume`: the step is measured again";
}

impl Caveat {
    /// The caveat of this id; `None` for ids of later versions.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|caveat| caveat.id() == id)
    }

    /// Whether a figure with this caveat is invalid, and the run ends with
    /// [`crate::exit::INVALID`].
    pub fn invalidates(self) -> bool {
        matches!(
            self,
            Self::DiscardsIncomplete
                | Self::UnlikeWork
                | Self::NoDiscard
                | Self::WindowTooShort
                | Self::LateSchedule
                | Self::Paused
                | Self::LateAnswers
                | Self::CommandsMerged
                | Self::CacheSwallowed
                | Self::Overloaded
                | Self::BusyTarget
                | Self::TargetChanged
                | Self::TargetGone
                | Self::FasterThanPlacebo
                | Self::BelowResolution
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caveat_has_an_id_of_its_own() {
        for &caveat in Caveat::ALL {
            assert_eq!(Caveat::from_id(caveat.id()), Some(caveat));
        }
        assert_eq!(Caveat::from_id("from-the-future"), None);
    }
}
