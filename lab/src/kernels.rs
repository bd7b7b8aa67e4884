//! Discards as real systems issue them.

mod fsync;
mod pools;
mod requests;
mod shapes;
mod systems;

use tests::Need::{self, Filesystem, Fuse, Linux, Loop, Program, Root, Tracing};

use crate::entry::Subject;

/// To watch what the running kernel's filesystems send a slow loop device.
const BESIDE_KERNEL: &[Need] = &[
    Root,
    Loop,
    Fuse,
    Tracing,
    Program("mkfs.ext4"),
    Program("mkfs.xfs"),
    Program("mkfs.btrfs"),
    Filesystem("ext4"),
    Filesystem("xfs"),
    Filesystem("btrfs"),
    Linux(6, 10),
];

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "kernels",
    title: "Discards as real systems issue them: the modelled filesystems and block layer beside \
            the running kernel, modelled pools beside the rules of OpenZFS and FreeBSD, and all \
            systems on the same drives",
    entries: &[requests::ENTRY, fsync::ENTRY, shapes::ENTRY, pools::ENTRY, systems::ENTRY],
};
