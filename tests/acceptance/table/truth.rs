//! Claims about figures and advice.

use super::seconds;
use crate::acceptance::{ClaimRow, Tier, truth};

pub(super) const TRUTH: &[ClaimRow] = &[
    ClaimRow {
        id: "truth.1",
        title: "`delete-stall` finds what is there, and where nothing is, nothing",
        bar: "nothing deleted in the windows of 1,000 runs over all built-in drives: at most \
              64 find a difference, and quiet drives (99.9 % of accesses within 0.25 ms) have \
              a detection limit of at most 0.005 s/GB; of 198 runs on drives with background \
              slices of 0.1 to 10 ms, at most 16; of 10 on this machine's own disk (full \
              form), at most 2; a planted slowdown of at most twice the limit is found in 95 % \
              of 200 (short form: fewer runs, of bars that are as strict)",
        tier: Tier::Evidence,
        short: seconds(100),
        full: seconds(1_800),
        measure: truth::baselines::measure,
        read: truth::baselines::read,
    },
    ClaimRow {
        id: "truth.2",
        title: "The card's choice is the best of what a Linux user can set, or nearly",
        bar: "on 46 drives, 14 built in and 32 made up to be difficult (short form: 4), each \
              with one card drawn from the ordinary methods: `discard`, `discard` in pieces of \
              1 MiB, `fstrim` once a week and no TRIM are simulated on an ext4 over five \
              drive writes by `kernels`; by the loss of docs/reference/verdicts.md (write \
              amplification times p99.9 of the reads after a mass deletion) the card's choice \
              costs at most 10 % more than the best of them; and so on 95 % of 40 drives whose \
              TRIM and spare area are drawn at random (full form)",
        tier: Tier::Evidence,
        short: seconds(55),
        full: seconds(300),
        measure: truth::advice::measure,
        read: truth::advice::read,
    },
    ClaimRow {
        id: "truth.3",
        title: "Figures that were wrong are right, or said to be none",
        bar: "`trim-sweep` on vendor4 with the limits of [HLK]: all hold with a load that it \
              serves, and with one that it does not serve the waits are neither measured nor \
              judged, and the run is invalid; `steady-state`: write amplification with 0, 10, \
              25, 30 and 50 % trimmed is within 2 % of the formula, where the steady state of \
              [PTS] alone is more than 3 % off; `idle-trim` on vendor2 says what the whole \
              drive takes; the dry run of a pool of ten says within 20 % what its files and \
              its drives are written",
        tier: Tier::Acceptance(&[]),
        short: seconds(40),
        full: seconds(40),
        measure: truth::quoted::measure,
        read: truth::quoted::read,
    },
    ClaimRow {
        id: "truth.4",
        title: "`trimbench run` without arguments runs all methods but `kernels` on four drives",
        bar: "each method on each of four drives, those on files through an ext4 that is made on \
              it; nothing is left out and nothing invalid; at most 30 s on 2 processors",
        tier: Tier::Evidence,
        short: seconds(30),
        full: seconds(60),
        measure: truth::defaults::measure,
        read: truth::defaults::read,
    },
    ClaimRow {
        id: "truth.5",
        title: "On the disk that the repository is on, every method is valid and its forecast kept",
        bar: "`delete-stall`, `postmark`, `delete-storm` in a directory and `trim-sweep`, \
              `idle-trim`, `recovery` on an image of 2 GiB: valid, or refused with the reason; \
              the bytes that the dry run forecasts at most 20 % off, its time (at the rate that \
              `dd` finds, as a shorter run took) at most 20 % off; \
              `delete-stall` and `idle-trim` agree on the seconds a GB within their intervals, or \
              docs/methods/README.md says why not. Needs a calm disk, and root",
        tier: Tier::Evidence,
        short: seconds(50),
        full: seconds(450),
        measure: truth::own_disk::measure,
        read: truth::own_disk::read,
    },
    ClaimRow {
        id: "truth.7",
        title: "What the sources say beside their main figures",
        bar: "like-vertex4: 200 MB/s until half full [S3] (fitted), a later pass over the full \
              drive at 0.5 of that within a tenth (from the work of programming twice), as quick \
              as at first after a TRIM; on ext4, XFS, btrfs and f2fs on like-m4-256 without \
              discards: writes after the torture at most at 0.7 of fresh, at 0.95 at least after \
              a large file was copied and deleted [S2], at 0.98 at least after fstrim, which \
              takes a twentieth of the time; vendor6 works its TRIM of 2 GiB off in 0.2 s when \
              idle, 0.3 of the time under load [S1], both within 5 %; write amplification of 128 \
              superblocks within 1.5 % of the formula with half a superblock more",
        tier: Tier::Acceptance(&[]),
        short: seconds(25),
        full: seconds(40),
        measure: truth::seeds::measure,
        read: truth::seeds::read,
    },
];
