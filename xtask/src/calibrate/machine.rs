//! The machine and the kernel of \[S0\]'s tests: one set for all six drives.
//!
//! \[S0\] names neither. Its mount option is of 2009 to 2010 (Linux 2.6.33 brought ext4's online
//! discard into its present form, 2.6.37 changed what mkfs and the block layer do), so the kernel
//! is assumed to be of that time: CFQ, discards inside the commit, the allocator of up to 5.5.
//!
//! **These values are no blind guess.** They were chosen with the published deletions in view,
//! among values that such a machine may have: the memory (of 1 to 4 GiB), the processor time of a
//! command (of 10, 50, 70 and 80 us), the limit of dirty pages (of 12.5 to 20 %), the depth of
//! write-back (of 32, 113 and 128), the dies of the drives, and the rule of the scheduler. So what
//! is said to be predicted, deletions above all, is predicted by a machine that was chosen to
//! predict it. `docs/model/calibration.md` says what the others gave.

use trimbench_core::{Bytes, Nanos, Ppm};
use trimbench_fs::{Allocation, CpuCosts, DiscardPath, FsConfig, Scheduler};

/// The filesystem as mounted with or without `discard`, and the machine.
pub fn config(discard: bool) -> FsConfig {
    FsConfig {
        discard: if discard { DiscardPath::InCommit } else { DiscardPath::None },
        // Chosen by what comes out, of 1 to 4 GiB: 4 GiB less what programs and the kernel take.
        memory: Bytes::gib(3),
        // vm.dirty_background_ratio since 2.6.30.
        dirty_background: Ppm(100_000),
        // Chosen by what comes out, of 12.5 to 20 %: vm.dirty_ratio is 20 %; writers are held from
        // halfway between the two on (`balance_dirty_pages`).
        dirty_limit: Ppm(150_000),
        // Chosen by what comes out, of 32, 113 and 128: a queue of 128 requests counts as congested
        // from 113 on (`blk_queue_congestion_threshold`).
        write_back_depth: 113,
        scheduler: Scheduler::Cfq,
        // That of up to Linux 5.5.
        allocation: Allocation::Linear,
        // Chosen by what comes out, of 10, 50, 70 and 80 us.
        cpu: CpuCosts { metadata: Nanos::from_micros(50), ..FsConfig::default().cpu },
        // mke2fs's journal, 5 s between commits, read-ahead of 128 KiB, requests of 512 KiB.
        ..FsConfig::default()
    }
}
