//! Claims about discards as systems send them.

use super::{FILESYSTEMS, seconds};
use crate::acceptance::{ClaimRow, Tier, kernels};

pub(super) const KERNELS: &[ClaimRow] = &[
    ClaimRow {
        id: "kernels.1",
        title: "The modelled filesystems and block layer discard as the running kernel does",
        bar: "on loop devices, by block tracepoints, with write-back throttling on and off: ext4 \
          (ordered, writeback, no journal), XFS, btrfs (sync, async), their unmounts, fstrim on \
          each, blkdiscard: number of discards within 15 %, bytes within 10 %, mean depth over \
          time within 20 %; greatest depth equal without throttling, at most a step (4, 8, 16, \
          24) apart with it; what an unmount loses within 15 %; at least 14 cases (full form)",
        tier: Tier::Acceptance(FILESYSTEMS),
        short: seconds(125),
        full: seconds(420),
        measure: kernels::requests::measure,
        read: kernels::requests::read,
    },
    ClaimRow {
        id: "kernels.2",
        title: "An fsync beside a mass deletion takes as long as in the running kernel",
        bar: "deletions of 100 extents of 8 MiB and of 3,000 of 64 KiB (short form: the first) on \
              a device whose requests take about 2 ms: an fsync of a new file on ext4, XFS \
              (throttling on and off) and btrfs within 20 % of the kernel's",
        tier: Tier::Evidence,
        short: seconds(80),
        full: seconds(300),
        measure: kernels::fsync::measure,
        read: kernels::fsync::read,
    },
    ClaimRow {
        id: "kernels.3",
        title: "Who sends the discards decides the shape of the stall",
        bar: "one drive, 512 GB deleted beside 8 reads at a time, as in [CALL24]: some 2,500 reads \
              a second for 13 s as ext4, 215 to 285 for 4 s as XFS, reads within a factor of 2, \
              times within 30 % (the durations are fitted, the reads are not); on three drives at \
              depth 1, 8 and all, and as ext4, XFS and blkdiscard: the stutter of a GB does not \
              depend on it by more than 15 %, and on a drive that takes TRIMs in their turn the \
              longest read waits for all that are under way, within 10 % (the first in the full \
              form only)",
        tier: Tier::Acceptance(&[]),
        short: seconds(20),
        full: seconds(240),
        measure: kernels::shapes::measure,
        read: kernels::shapes::read,
    },
    ClaimRow {
        id: "kernels.4",
        title: "The modelled pool discards as OpenZFS and FreeBSD do",
        bar: "[S3]'s scenario at 1/32 (short form: 1/512) in the manners `zfs-autotrim`, \
              `zfs-trim`, `freebsd-2013` and `freebsd-2017`: number and mean size of the \
              discards of a deletion within 10 % of a calculation from the rules of the \
              sources, written apart from the model; `zfs-autotrim` takes the syncs of \
              groups that its rules ask for, within 10 %; 500 and 5,000 discards a second \
              and drive, and `zpool trim -r` at 64 and 256 MiB/s, take the time that these \
              rates give, within 10 %; on every drive freed bytes = issued + skipped + \
              written again + waiting, also under `skip-by-queue`, which skips some",
        tier: Tier::Acceptance(&[]),
        short: seconds(35),
        full: seconds(240),
        measure: kernels::zfs::measure,
        read: kernels::zfs::read,
    },
    ClaimRow {
        id: "kernels.5",
        title: "With the era of its kernel [S0]'s predictions hold as before, and what hides the \
                cost of its deletions is tested",
        bar: "the machine discards as `ext4-2.6.33`; of the 54 durations that are not fitted at \
              least 48 miss no bar of `files.3`, whose runs these are (vendor2's four deletions \
              have none), and each miss has its reason (full form only); of vendor2's deletion \
              phase: fewer files a discard than merging alone needs; of its discards the share \
              after PostMark's clock, and the number within it, that the clock as the reason \
              predicts",
        tier: Tier::Evidence,
        short: seconds(10),
        full: seconds(120),
        measure: kernels::s0::measure,
        read: kernels::s0::read,
    },
    ClaimRow {
        id: "kernels.6",
        title: "The same deletions under each filesystem and era, on six drives",
        bar: "on each drive all systems with every figure, in at most 60 s; what is lost at an \
              unmount (nothing by discards of a commit or a log, all by `btrfs-async`), how \
              much is discarded (XFS what was freed, ext4 today more, `none` nothing), the \
              longest fsync of ext4 to 4.12 over today's, and that no write amplification \
              exceeds that of `none` by more than a tenth, are as the sources say \
              (docs/model/issuers.md); docs/methods/kernels.md has the source of each column",
        tier: Tier::Evidence,
        short: seconds(30),
        full: seconds(240),
        measure: kernels::systems::measure,
        read: kernels::systems::read,
    },
];
