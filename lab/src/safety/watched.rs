//! The program runs on random stacks, under random names, into random traps, is stopped while
//! something is exchanged, and is killed; and from outside, the kernel tells of everything that it
//! does (`runs`, with the feature `observer`).

#[cfg(feature = "observer")]
mod runs;

use tests::Need::{Filesystem, Loop, Program, Root};

use crate::entry::Entry;
#[cfg(feature = "observer")]
use runs::run;

/// The measurement.
pub(crate) const ENTRY: Entry = Entry {
    name: "watched",
    title: "The kernel sees no run change what was not named, whatever is exchanged or killed",
    needs: &[
        Root,
        Loop,
        Program("addpart"),
        Program("cc"),
        Program("clang"),
        Program("/usr/include/bpf/bpf_helpers.h"),
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
        Filesystem("xfs"),
    ],
    sources: super::GUARDS,
    run,
};

/// Stands for what watches.
#[cfg(not(feature = "observer"))]
fn run(_: &crate::lab::Lab<'_>) -> anyhow::Result<Vec<crate::figure::Figure>> {
    anyhow::bail!("what watches the kernel is not built in: it is the feature `observer` of `lab`")
}
