//! Every claim of the project: its statement, its conditions, and where it is checked.

use std::time::Duration;

use super::{ClaimRow, Key, Tier, device, files, foundation, house, report, safe, ssd, trace};
use crate::Need::{self, Filesystem, Fuse, Linux, Loop, Program, Root, Tracing};
use crate::campaign::{inputs, killed, mutants, watched};

mod answer;
mod drives;
mod fit;
mod kernels;
mod truth;

use answer::ANSWER;
use drives::DRIVES;
use fit::FIT;
use kernels::KERNELS;
use truth::TRUTH;

/// What acceptance tests require of the machine.
const FILESYSTEMS: &[Need] = &[
    Root,
    Loop,
    Fuse,
    Tracing,
    Program("mkfs.ext4"),
    Program("mkfs.xfs"),
    Filesystem("ext4"),
    Filesystem("xfs"),
    Linux(6, 10),
];
const LOOP: &[Need] = &[Root, Loop];
const EXT4: &[Need] = &[Root, Loop, Tracing, Program("mkfs.ext4"), Filesystem("ext4")];
const TRACED: &[Need] = &[Root, Loop, Tracing];
const BLKTRACE: &[Need] =
    &[Root, Loop, Tracing, Program("mkfs.ext4"), Program("blkparse"), Program("fio")];

/// Where CI checks claims that are not acceptance tests.
const VALUES: &str = "crates/trimbench/tests/cli/values.rs";
const DIRECTORIES: &str = "crates/trimbench/tests/cli/directories.rs";
const SOAK: &str = "the step `soak`";
const KERNEL: &str = "tests/kernel.rs";
const LOCATOR: &str = "tests/locator.rs";
const BROWSER: &str = "crates/trimbench/tests/cli/browser.rs";
const HOSTILE: &str = "crates/trimbench/tests/cli/hostile.rs";

/// Every key, with its claims in the order of their numbers.
pub const KEYS: [Key; 13] = [
    Key {
        name: "foundation",
        title: "First measurements: the emulated SSD and a real directory under one command.",
        claims: FOUNDATION,
    },
    Key {
        name: "device",
        title: "Real block devices, safely: sweep, idle TRIM, recovery, integrity, steady state.",
        claims: DEVICE,
    },
    Key {
        name: "ssd",
        title: "The emulated SSD: agrees with theory, as fast as memory allows.",
        claims: SSD,
    },
    Key {
        name: "files",
        title: "Files: PostMark, the modelled ext4, [S0]'s tables, deletions, stalls, trim \
                policies.",
        claims: FILES,
    },
    Key {
        name: "trace",
        title: "Traces: replayed with and without their TRIMs, fast and fairly.",
        claims: TRACE,
    },
    Key {
        name: "report",
        title: "The report: one file, drawn from its records, clear about incomplete ones.",
        claims: REPORT,
    },
    Key {
        name: "safe",
        title: "Nothing is destroyed, lost or misstated that was not named.",
        claims: SAFE,
    },
    Key {
        name: "house",
        title: "The same seed gives the same bytes, whatever is rebuilt.",
        claims: HOUSE,
    },
    Key { name: "kernels", title: "Discards as real systems issue them.", claims: KERNELS },
    Key { name: "truth", title: "Figures and advice that an expert would sign.", claims: TRUTH },
    Key { name: "answer", title: "The answer first.", claims: ANSWER },
    Key { name: "drives", title: "Held against real drives.", claims: DRIVES },
    Key { name: "fit", title: "A twin of your own drive, and the drives of today.", claims: FIT },
];

const FOUNDATION: &[ClaimRow] = &[
    ClaimRow {
        id: "foundation.1",
        title: "A clean clone builds and runs at once",
        bar: "the first release build takes at most 180 s on 2 cores, the first run at most 20 \
              s; 3D XPoint has 0.000 s/GB, and vendor2 is the worst of the four drives",
        tier: Tier::Evidence,
        short: seconds(110),
        full: seconds(240),
        measure: foundation::clean_clone::measure,
        read: foundation::clean_clone::read,
    },
    ClaimRow {
        id: "foundation.2",
        title: "The same seed gives the same bytes, also after an interruption",
        bar: "no byte of run.json differs between two runs of one seed, nor after SIGINT or \
              SIGKILL and `--resume`; another seed gives another trace hash in every session",
        tier: Tier::Acceptance(&[]),
        short: seconds(25),
        full: seconds(60),
        measure: foundation::determinism::measure,
        read: foundation::determinism::read,
    },
    ClaimRow {
        id: "foundation.3",
        title: "A real directory is measured and left as it was",
        bar: "exit code 0, every deletion's discards seen within its window, a stutter with \
              interval and verdict, a picture, and no entry left behind: after the end, after \
              SIGINT, and after SIGKILL and the next start",
        tier: Tier::Tests(DIRECTORIES),
        short: seconds(45),
        full: seconds(420),
        measure: foundation::directory::measure,
        read: foundation::directory::read,
    },
    ClaimRow {
        id: "foundation.4",
        title: "Known stalls are measured correctly",
        bar: "a stop of 2 s: stutter, equivalent stop, overdue time and read gap are 2 s and the \
              delay is 2000 request-s, each within 1 %; a drive of 0.25 s/GB: the slope is \
              within 3 % over all sizes and at each size, and the delay grows with the square of \
              the size",
        tier: Tier::Acceptance(&[]),
        short: seconds(3),
        full: seconds(20),
        measure: foundation::arithmetic::measure,
        read: foundation::arithmetic::read,
    },
    ClaimRow {
        id: "foundation.5",
        title: "No deletion, no stutter; and after a deletion the run waits for all discards",
        bar: "for at least 18 of 20 placebo-only runs on the real disk the interval covers 0 \
              (short form: for 1 of 1); on ext4, XFS and btrfs the bytes discarded within the \
              window reach the bytes freed",
        tier: Tier::Evidence,
        short: seconds(55),
        full: seconds(1_160),
        measure: foundation::noise::measure,
        read: foundation::noise::read,
    },
    ClaimRow {
        id: "foundation.6",
        title: "The emulated SSD is fast enough for whole drives",
        bar: "4 KiB random writes in steady state on 256 GiB, through the contract with a \
              histogram at queue depth 32: at least 0.2 of the bare C model, at 7 and at 28 % \
              over-provisioning (short form: on 4 GiB; `ssd.5` has 256 GiB in its short form, \
              too)",
        tier: Tier::Evidence,
        short: seconds(15),
        full: seconds(300),
        measure: foundation::speed::measure,
        read: foundation::speed::read,
    },
    ClaimRow {
        id: "foundation.7",
        title: "The tests pass in a clean clone and fail on a wrong line",
        bar: "`cargo xtask test`: no test fails, only listed tests skip, at least 150 pass, \
              within 20 min (short form: the tests of two packages); a bug planted in garbage \
              collection and one planted in the statistics each fail a test",
        tier: Tier::Evidence,
        short: seconds(45),
        full: seconds(500),
        measure: foundation::suite::measure,
        read: foundation::suite::read,
    },
];

const DEVICE: &[ClaimRow] = &[
    ClaimRow {
        id: "device.1",
        title: "One command runs six methods on four drives, and TRIM restores the speed of a \
                fragmented drive",
        bar: "under 60 s; sequential writes after TRIM at least 0.98 of fresh, fragmented at \
              most 0.7, the second pass above the fragmented one; compressible data make the \
              compressing drive look at least 1.5 times as fast as it is, and the report says so",
        tier: Tier::Acceptance(&[]),
        short: seconds(60),
        full: seconds(180),
        measure: device::drives::measure,
        read: device::drives::read,
    },
    ClaimRow {
        id: "device.2",
        title: "Every method completes on a loop device, and its discards free space of the image",
        bar: "exit code 0 for each of six methods; the image is full after the passes of \
              `recovery`, and empty after `idle-trim`, which ends with a TRIM; `recovery` calls \
              its ratio not measurable where TRIM is the only purge",
        tier: Tier::Acceptance(LOOP),
        short: seconds(40),
        full: seconds(540),
        measure: device::arrival::measure,
        read: device::arrival::read,
    },
    ClaimRow {
        id: "device.3",
        title: "The block target measures the same as fio, for no more CPU time",
        bar: "4 KiB random writes on one loop device at queue depths 1 and 32, in turns with \
              fio: ratio of medians at least 0.95 for IOPS, at most 1.1 for p50 and p99, at most \
              1.05 for CPU time per command; fio compared with itself as the control",
        tier: Tier::Evidence,
        short: seconds(50),
        full: seconds(420),
        measure: device::peer::measure,
        read: device::peer::read,
    },
    ClaimRow {
        id: "device.4",
        title: "A target that was not named is refused, and none of its bytes changes",
        bar: "at least 15 attempts through the command line end with exit code 3 and leave every \
              checksum unchanged; each succeeds, and writes, once its obstacle is gone; every \
              row of the table is attempted through the command line or in the library's test",
        tier: Tier::Acceptance(LOOP),
        short: seconds(50),
        full: seconds(240),
        measure: device::refusals::measure,
        read: device::refusals::read,
    },
    ClaimRow {
        id: "device.5",
        title: "Each discard of the sweep is one discard at the device; integrity verdicts are \
                right",
        bar: "block tracepoints on a loop device: commands completed equal commands issued in \
              every row, at every queue depth, size and alignment; `trim-integrity`: right \
              verdict, figure and exit code for drives that read zeroes, old data or unstable \
              data, and for planted faults that destroy 4 KiB on either side",
        tier: Tier::Acceptance(TRACED),
        short: seconds(20),
        full: seconds(480),
        measure: device::discards::measure,
        read: device::discards::read,
    },
    ClaimRow {
        id: "device.6",
        title: "Steady state is what its definition says, and trimmed space counts as \
                over-provisioning",
        bar: "the first steady round of 1,000 random series, hundreds of them exactly at or just \
              beyond a limit, and of every measured window, equals an independent integer \
              calculation; write amplification with 0, 10, 25 and 50 % trimmed is within 2 % of \
              the formulas",
        tier: Tier::Acceptance(&[]),
        short: seconds(25),
        full: seconds(180),
        measure: device::steady::measure,
        read: device::steady::read,
    },
    ClaimRow {
        id: "device.7",
        title: "However a run ends, its record can be read, and it resumes or says why it cannot",
        bar: "six methods, each with each ending: the right exit code and reason, a record from \
              which `trimbench report` shows what was measured, and a `--resume` that completes \
              or ends for the same reason. The endings: EIO, a device that vanishes, a full disk \
              below the record and below a loop device, SIGINT, SIGKILL (after which an emulated \
              session starts again); SIGINT and SIGKILL also on a loop device",
        tier: Tier::Acceptance(LOOP),
        short: seconds(55),
        full: seconds(420),
        measure: device::endings::measure,
        read: device::endings::read,
    },
];

const SSD: &[ClaimRow] = &[
    ClaimRow {
        id: "ssd.1",
        title: "Write amplification agrees with closed forms",
        bar: "uniform random 4 KiB writes under FIFO, greedy and d-choices, 80/20 and 90/10 \
              under FIFO: within 0.5 % of the formulas at an over-provisioning of 7, 12.5, 20 \
              and 28 %, without the superblocks reserved for garbage collection, on 8 and 32 \
              GiB, three superblock sizes each (short form: 8 GiB, at 7 and 28 %); sequential \
              writes: 1",
        tier: Tier::Acceptance(&[]),
        short: seconds(60),
        full: seconds(640),
        measure: ssd::uniform::measure,
        read: ssd::uniform::read,
    },
    ClaimRow {
        id: "ssd.2",
        title: "Trimmed space counts as over-provisioning, and a sequential pass restores a drive",
        bar: "random deallocation at rates of 0.1, 0.2 and 0.3, and 10, 13 and 25 % trimmed \
              permanently, on 8 GiB, under greedy and FIFO at an over-provisioning of 7 and 28 % \
              (short form: greedy, 7 %, 13 % trimmed): within 0.5 % of the formulas; after \
              torture, write amplification of a sequential pass falls from each tenth to the \
              next, and is 1 in a second pass",
        tier: Tier::Acceptance(&[]),
        short: seconds(30),
        full: seconds(150),
        measure: ssd::trimmed::measure,
        read: ssd::trimmed::read,
    },
    ClaimRow {
        id: "ssd.3",
        title: "Queues in the drive agree with queueing theory and with an exact simulation",
        bar: "mean wait of one die within 2 % of M/D/1 at loads 0.3, 0.6 and 0.9; the limits of \
              link, channel and die within 1 % of arithmetic; IOPS, mean and p99 of 64 dies on 8 \
              channels within 2 % of an exact event simulation at queue depths 1, 32 and 128, \
              with and without erases; throughput over queue depth within 1 % of Little's law, \
              also at the corner of its curve",
        tier: Tier::Acceptance(&[]),
        short: seconds(40),
        full: seconds(90),
        measure: ssd::queueing::measure,
        read: ssd::queueing::read,
    },
    ClaimRow {
        id: "ssd.4",
        title: "The cost of each TRIM mode is computed exactly",
        bar: "a blocking TRIM of 1, 16 and 256 ranges adds its cost, to the nanosecond, to every \
              command queued behind it; a background TRIM takes its share of the foreground \
              within 2 % until its work is done, after work / share within 2 %, and nothing \
              afterwards; `none` costs its command, to the nanosecond; `ignored` frees nothing \
              and leaves write amplification within 2 % of a run without TRIM, where a drive \
              that acts on TRIM has less than half",
        tier: Tier::Acceptance(&[]),
        short: seconds(20),
        full: seconds(30),
        measure: ssd::trim_modes::measure,
        read: ssd::trim_modes::read,
    },
    ClaimRow {
        id: "ssd.5",
        title: "A drive of 256 GiB is emulated nearly as fast as memory allows",
        bar: "4 KiB random writes in steady state on 256 GiB, compared with the bare C model in \
              the same run: the model alone at least 0.6, through the contract with runner and \
              histogram at queue depth 32 at least 0.35, at 7 and 28 % over-provisioning; at \
              most 10 bytes of memory per 4 KiB unit; TRIM of the whole mapped drive in at most \
              1 s of wall time (short form: at 28 %, where the ratio is lower)",
        tier: Tier::Evidence,
        short: seconds(50),
        full: seconds(420),
        measure: ssd::speed::measure,
        read: ssd::speed::read,
    },
    ClaimRow {
        id: "ssd.6",
        title: "`recovery` on a drive of 256 GB: hours of bench time in two minutes",
        bar: "preset `published` (20 minutes of random writes, twice) in at most 120 s of wall \
              time, at least 50 times as fast as the drive; the m4 of [S2] writes 250 MB/s when \
              fresh, at most 0.7 of that when fragmented, more after a second pass, at least \
              0.98 after TRIM; full form also on a TLC drive, and `standard` on both until the \
              steady state of [PTS], in at most 300 s",
        tier: Tier::Evidence,
        short: seconds(60),
        full: seconds(240),
        measure: ssd::recovery::measure,
        read: ssd::recovery::read,
    },
    ClaimRow {
        id: "ssd.7",
        title: "No invariant is violated in a long soak, and planted faults are found",
        bar: "10^9 commands over at least 200 random configurations (short form: 2 x 10^7 over \
              40) without a violation; every run is made twice and gives the same hash: the \
              second time the mapping is updated at every command, and in at least a tenth of \
              the configurations a plain search for victims replaces the vectorised one; every \
              planted fault is detected by the invariant that must detect it",
        tier: Tier::Tests(SOAK),
        short: seconds(40),
        full: seconds(1_130),
        measure: ssd::soak::measure,
        read: ssd::soak::read,
    },
];

const FILES: &[ClaimRow] = &[
    ClaimRow {
        id: "files.1",
        title: "PostMark exactly: its operations, and no slower",
        bar: "both golden vectors and a third set are exact; counts and bytes of five further \
              sets of parameters equal those of Debian's postmark in the same directory; wall \
              time at most 1.05 of it on tmpfs: median of 12 interleaved pairs (short form: 3)",
        tier: Tier::Acceptance(&[Need::Program("postmark")]),
        short: seconds(70),
        full: seconds(420),
        measure: files::postmark::measure,
        read: files::postmark::read,
    },
    ClaimRow {
        id: "files.2",
        title: "Old terse lines are printed, and read with the correct deletion rate",
        bar: "`report --compat 1.51` prints the line of Debian's postmark, field by field, where \
              no phase takes a second; the import of the 24 published columns detects the old \
              formula in each, and gives 507 deletions a second for vendor2 where the table says \
              971.77",
        tier: Tier::Acceptance(&[Need::Program("postmark")]),
        short: seconds(15),
        full: seconds(60),
        measure: files::lines::measure,
        read: files::lines::read,
    },
    ClaimRow {
        id: "files.3",
        title: "18 fitted values reproduce the published tables of six drives on the modelled \
                filesystem",
        bar: "unbuffered durations within 5 %; creation under discard within 3 %; the increase \
              of the total under discard within 1.5 points (vendor4 to 6), 3 (vendor1), 5 \
              (vendor3), as a ratio within 10 % (vendor2); deletion within 2 s or 30 %, without \
              a bar for vendor2; 240 runs (short form: 72) at 240 a minute on 2 cores",
        tier: Tier::Evidence,
        short: seconds(60),
        full: seconds(200),
        measure: files::table::measure,
        read: files::table::read,
    },
    ClaimRow {
        id: "files.4",
        title: "The modelled ext4 sends its device the same requests as the kernel's ext4",
        bar: "six logs of operations (short form: two) on the model and on ext4 on a loop \
              device, median of 5 runs: discards within 15 %, discarded bytes within 10 %, \
              written bytes within 10 %; for files deleted next to free space both discard more \
              than twice the freed bytes, and both drop discards at unmount",
        tier: Tier::Tests(KERNEL),
        short: seconds(60),
        full: seconds(240),
        measure: files::kernel::measure,
        read: files::kernel::read,
    },
    ClaimRow {
        id: "files.5",
        title: "How long a deletion stalls the load, on drives and on newly made filesystems",
        bar: "like-optane-900p 0.000 s/GB and like-rc100 0.25 s/GB, as in [S1] (the second is \
              fitted), both bare and under the modelled ext4; real ext4, XFS and btrfs on loop \
              devices complete, and the verdict agrees with the interval: noise where it \
              contains 0 (short form: ext4 only). A deletion there costs what it costs on a file \
              in memory: no bar. The highest rate of deletion that keeps the load's p99.9 below \
              80 ms: on the modelled ext4 on vendor2, where every TRIM makes 2 or 3 accesses \
              exceed it, 3 to 5 chunks in 10.5 s; on real ext4 a rate exists that keeps 20 ms \
              (full form)",
        tier: Tier::Acceptance(&[]),
        short: seconds(25),
        full: seconds(480),
        measure: files::deletions::measure,
        read: files::deletions::read,
    },
    ClaimRow {
        id: "files.6",
        title: "`settle` measures settling time by trimmed range and by bytes written between \
                TRIMs",
        bar: "vendor6 and plain-nvme-tlc: at each of nine points, including no writes in \
              between, the settling time is the model's work divided by its share, from one \
              slice less to two slices more; the twins show 0, or one slice where a new stream \
              of writes costs more than 5 % of it; a drive that does not postpone TRIM work \
              settles at once at every point, and its TRIM takes that time instead",
        tier: Tier::Acceptance(&[]),
        short: seconds(10),
        full: seconds(60),
        measure: files::settle::measure,
        read: files::settle::read,
    },
    ClaimRow {
        id: "files.7",
        title: "A stall is attributed to the right layer; `delete-storm` reproduces that of [S3] \
                at 1/32",
        bar: "planted on ext4 with `discard` on a loop device: a device that freezes for 2 s, a \
              filesystem frozen for 2 s, four tags for seven callers on a slow device; at least \
              95 % of the stalled time is attributed to the right layer, no event is lost. On a \
              modelled raidz2 of 10 x P3500, in at most 60 s of wall time: discards take 1.0 +- \
              0.2 of the writing before them (both fitted) and the next round stalls for 0.5 +- \
              0.15 of that (predicted); during the stall the drives complete no write for at \
              least 0.85 of the time, and at least 0.85 of it is attributed to the layers above \
              the device; with a drive whose TRIM blocks most of it is attributed to the device, \
              in the manner of FreeBSD, and above it in that of OpenZFS, whose groups wait for \
              their discards",
        tier: Tier::Tests(LOCATOR),
        short: seconds(35),
        full: seconds(240),
        measure: files::stalls::measure,
        read: files::stalls::read,
    },
    ClaimRow {
        id: "files.8",
        title: "`policy` charges trim policies with both costs, on three drives",
        bar: "on each drive: the ten policies of the default with every figure; bytes freed = \
              trimmed + not trimmed + rewritten; `none` trims nothing, and no policy's write \
              amplification exceeds its by more than the tolerance; `paced` keeps its target \
              unless one TRIM takes longer than the target, and then the result says so; both \
              cases occur",
        tier: Tier::Acceptance(&[]),
        short: seconds(25),
        full: seconds(240),
        measure: files::policies::measure,
        read: files::policies::read,
    },
];

const TRACE: &[ClaimRow] = &[
    ClaimRow {
        id: "trace.1",
        title: "`replay` of 800 GB of writes, four times, on a drive of 256 GB",
        bar: "a generated trace of the master trace's size at queue depth 1 and 32, with and \
              without TRIM, on an emulated TLC drive, in at most 45 s of wall time on 2 cores \
              and 2 GiB of memory; statistics of the trace compared with the published ones: 800 \
              GB within 1 %, at least 37 million writes and at most 2 % more, a quarter of them \
              sequential within 4 %, 13 % of the space trimmed at the end within 4 % of that; in \
              both forms",
        tier: Tier::Evidence,
        short: seconds(75),
        full: seconds(75),
        measure: trace::master::measure,
        read: trace::master::read,
    },
    ClaimRow {
        id: "trace.2",
        title: "The drives of [S4]: equal on average, different at most times",
        bar: "like-ssd340 and like-m500, a generated trace at queue depth 32: averages with TRIM \
              within 5 % of each other (fitted), at least a fifth of the windows more than 25 % \
              apart, and in some window of each at least 3 times as many writes with TRIM as \
              without; at 256 GB in windows of 100,000 commands (short form: 32 GiB, windows of \
              13,400)",
        tier: Tier::Evidence,
        short: seconds(25),
        full: seconds(150),
        measure: trace::drives::measure,
        read: trace::drives::read,
    },
    ClaimRow {
        id: "trace.3",
        title: "A trace keeps its schedule with and without its TRIMs",
        bar: "a trace with its recorded times on emulated vendor2, which stops for 80 ms per \
              TRIM: without the TRIMs no other command is issued at another time, and a TRIM of \
              4 GiB and 4 KiB arrives exactly; on a loop device that stops for 2 s, no command \
              is issued more than 10 ms late (needs root)",
        tier: Tier::Acceptance(&[]),
        short: seconds(30),
        full: seconds(90),
        measure: trace::fairness::measure,
        read: trace::fairness::read,
    },
    ClaimRow {
        id: "trace.4",
        title: "Traces are read correctly, and written so that they read back the same",
        bar: "one blktrace recorded here: commands and bytes of each kind equal blkparse's; two \
              iologs written by fio and one replayed by fio: fio's counts; every round trip \
              through a format that is written gives the same bytes, also with TRIMs of more \
              than 4 GiB; every reader survives damaged files and garbage, 10^7 in the full form",
        tier: Tier::Acceptance(BLKTRACE),
        short: seconds(50),
        full: seconds(900),
        measure: trace::counts::measure,
        read: trace::counts::read,
    },
    ClaimRow {
        id: "trace.5",
        title: "Traces are read faster than by other programs, in constant memory",
        bar: "medians of runs in turns: blktrace's binary to blkparse's text at least 5 times as \
              fast as blkparse; that text is read at least 3 times as fast as blkparse prints \
              it; an iolog at least 3 times as fast as fio reads it, not counting fio's start; \
              10 GB through a pipe takes the memory of a thirtieth of it, and at most 64 MiB",
        tier: Tier::Evidence,
        short: seconds(85),
        full: seconds(600),
        measure: trace::speed::measure,
        read: trace::speed::read,
    },
    ClaimRow {
        id: "trace.6",
        title: "PostMark on a real ext4 with `-o discard` is recorded, and replayed",
        bar: "the recorded writes and TRIMs equal the kernel's own counters of the device to the \
              byte, and there are 100 TRIMs; an emulated drive and a loop device each receive as \
              many writes and as many trimmed bytes as were recorded (mounted with `sync`, \
              because files deleted within seconds would not leave the page cache; needs root)",
        tier: Tier::Acceptance(EXT4),
        short: seconds(35),
        full: seconds(120),
        measure: trace::recorded::measure,
        read: trace::recorded::read,
    },
];

const REPORT: &[ClaimRow] = &[
    ClaimRow {
        id: "report.1",
        title: "Every chart shows its data and reacts to the reader; the page is free of errors, \
                fits the window and is accessible",
        bar: "records of emulated drives, modelled filesystems, an image and a directory: no \
              check in Chromium fails, and the verdicts of four different drives are right; on a \
              page broken on purpose, in 17 ways, the check for each detects it",
        tier: Tier::Tests(BROWSER),
        short: seconds(100),
        full: seconds(600),
        measure: report::checks::measure,
        read: report::checks::read,
    },
    ClaimRow {
        id: "report.2",
        title: "A report of much data is small and fast, and no extreme value is lost",
        bar: "twelve drives with every method: file under 6 MB, drawn within 2 s; 10^7 samples: \
              file under 8 MB, and the one stall of 2 s among them is drawn, and visible at \
              every zoom from the whole axis to a millionth of it; without a planted stall none \
              is visible",
        tier: Tier::Evidence,
        short: seconds(125),
        full: seconds(400),
        measure: report::size::measure,
        read: report::size::read,
    },
    ClaimRow {
        id: "report.3",
        title: "There are pictures of every section of the page, in light and dark",
        bar: "in `docs/images/report` (short form: with the raw output), made again by this \
              measurement: two pictures of each of at least 16 sections, none of them blank, \
              none larger than 60 KiB",
        tier: Tier::Acceptance(&[Need::Browser]),
        short: seconds(45),
        full: seconds(120),
        measure: report::pictures::measure,
        read: report::pictures::read,
    },
    ClaimRow {
        id: "report.4",
        title: "One report shows records of two hosts and three versions of the schema",
        bar: "an original record of schema 1, a current one of another host, and one of a future \
              schema: each is named with its host and has its verdict and its charts; the future \
              one has a message that says so, the first one a message about how it ended, the \
              current one none; the page reports no error",
        tier: Tier::Acceptance(&[Need::Browser]),
        short: seconds(13),
        full: seconds(60),
        measure: report::schemas::measure,
        read: report::schemas::read,
    },
    ClaimRow {
        id: "report.5",
        title: "Broken, empty, partial and future records are named, and the rest is shown",
        bar: "next to a sound record one that is cut off, one of no bytes, one that is JSON but \
              no record, one whose run did not end, one of a future schema and a folder without \
              one: a message about each of these and no other; the verdict and all figures of \
              the sound one are shown; exit code 2; the page reports no error",
        tier: Tier::Acceptance(&[Need::Browser]),
        short: seconds(15),
        full: seconds(60),
        measure: report::flaws::measure,
        read: report::flaws::read,
    },
];

const SAFE: &[ClaimRow] = &[
    ClaimRow {
        id: "safe.1",
        title: "What a hostile tester destroyed, lost or falsified is safe now",
        bar: "at least 60 rows; each loses something with the program before the safety work, \
              and nothing with the current one",
        tier: Tier::Tests(HOSTILE),
        short: seconds(110),
        full: seconds(900),
        measure: safe::attacks::measure,
        read: safe::attacks::read,
    },
    ClaimRow {
        id: "safe.2",
        title: "The kernel sees no run change a target that was not named, whatever is exchanged \
                or killed",
        bar: "5,000 runs watched: no change outside of the named targets and the run's output \
              and temporary directories; every planted violation is detected, at least 10; the \
              sources of the campaign are unchanged, and a new sample of 2 % holds as well",
        tier: Tier::Campaign,
        short: seconds(45),
        full: seconds(240),
        measure: |context| safe::campaign::measure(context, &watched::CAMPAIGN, 40),
        read: |raw| safe::campaign::read(raw, &watched::CAMPAIGN),
    },
    ClaimRow {
        id: "safe.3",
        title: "Every mutant of the safety code is killed by a test",
        bar: "at least 98 % of the mutants of claim, guard, mkfs and the writing module are \
              killed; each other one is explained, and no test fails without a mutant; the \
              sources of the campaign are unchanged, and a new sample of 2 % holds as well (not \
              in the short form: building it takes minutes)",
        tier: Tier::Campaign,
        short: seconds(10),
        full: seconds(900),
        measure: |context| safe::campaign::measure(context, &mutants::CAMPAIGN, 0),
        read: |raw| safe::campaign::read(raw, &mutants::CAMPAIGN),
    },
    ClaimRow {
        id: "safe.4",
        title: "After SIGKILL and power cuts records are complete, readable and resumable",
        bar: "500 kills and 200 power cuts of ext4, XFS and btrfs: the record is the last one \
              acknowledged as saved or a later one, the run resumes and completes, emulated runs \
              with the same bytes, and after the next start nothing is left behind; a new sample \
              of 2 % holds as well",
        tier: Tier::Campaign,
        short: seconds(45),
        full: seconds(120),
        measure: |context| safe::campaign::measure(context, &killed::CAMPAIGN, 7),
        read: |raw| safe::campaign::read(raw, &killed::CAMPAIGN),
    },
    ClaimRow {
        id: "safe.5",
        title: "Damaged inputs and garbage break no reader",
        bar: "10^7 inputs, no panic, no hang, at most 256 MiB; the sources of the campaign are \
              unchanged, and a new sample of 2 % holds as well",
        tier: Tier::Campaign,
        short: seconds(60),
        full: seconds(180),
        measure: |context| safe::campaign::measure(context, &inputs::CAMPAIGN, 4),
        read: |raw| safe::campaign::read(raw, &inputs::CAMPAIGN),
    },
];

const HOUSE: &[ClaimRow] = &[
    ClaimRow {
        id: "house.1",
        title: "Every record equals that of the program before the redesign, except its commit \
                and reviewed differences",
        bar: "no record and no exit code differs: every method in virtual time, three seeds, \
              three kills; on loop devices no step and no number of commands; each of three \
              planted changes of behaviour is detected",
        tier: Tier::Evidence,
        short: seconds(90),
        full: seconds(900),
        measure: house::records::measure,
        read: house::records::read,
    },
    ClaimRow {
        id: "house.2",
        title: "Small enough to know, with one name for one type and no circle of modules",
        bar: "at most 66,000 lines of Rust outside of tests, comments included, and 12,000 of them \
              in `xtask`; `cargo xtask tidy` finds no fault",
        tier: Tier::Evidence,
        short: seconds(20),
        full: seconds(60),
        measure: house::size::measure,
        read: house::size::read,
    },
    ClaimRow {
        id: "house.3",
        title: "Sessions on emulated drives use the machine",
        bar: "of `trimbench run` with every method, in turns, medians of 5 (short form: 1): two \
              jobs at most 0.60 of the time of one without report and 0.68 with it, one job at \
              most 0.80 of the program before the redesign; 1, 2 and 16 jobs write the same bytes",
        tier: Tier::Evidence,
        short: seconds(60),
        full: seconds(440),
        measure: house::speed::measure,
        read: house::speed::read,
    },
    ClaimRow {
        id: "house.4",
        title: "Every acceptance test fails where its claim is false",
        bar: "every acceptance test passes on the unchanged sources, and fails after a fault is \
              planted in them (short form: one fault)",
        tier: Tier::Evidence,
        short: seconds(100),
        full: seconds(1_240),
        measure: house::red::measure,
        read: house::red::read,
    },
    ClaimRow {
        id: "house.5",
        title: "Every value of a profile can be set on the command line, and the record says so",
        bar: "every key reaches the drive, the record and the report; a wrong key, unit or value \
              is refused with the nearest key and the range",
        tier: Tier::Tests(VALUES),
        short: seconds(30),
        full: seconds(60),
        measure: house::settings::measure,
        read: house::settings::read,
    },
];

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
