//! Draws an attempt.

use trimbench_core::rng::Rng;

use super::scene::Layer;

/// What the program is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    Image,
    Loop,
    Partition,
    MadeOnImage(&'static str),
    MadeOnLoop(&'static str),
    Emulated,
    Report,
    Convert,
    Generate,
    Record,
}

/// How a path is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Link,
    LinkedFolder,
    Bound,
    DotDot,
    Relative,
}

/// What lies in wait when the program begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trap {
    Nothing,
    Signature,
    ConfirmedSignature,
    NotNamed,
    WrongName,
    HardLink,
    Mounted,
    Attached,
    ReadOnly,
    OutputHasLinks,
    OutputIsLink,
    OutputLeadsAway,
    OutputInTarget,
    Workspaces,
}

/// What is exchanged while it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Swap {
    Target,
    Device,
    Output,
    Links,
    Cover,
    Truncate,
    Remove,
}

/// How it ends, if not by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Own,
    /// Killed at this system call.
    Killed(u64),
    /// Stopped at this system call and again after so many, something exchanged each time.
    Swapped(u64, Swap, u64, Swap),
    /// Ctrl-C after so many milliseconds.
    Interrupted(u64),
}

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    pub layer: Layer,
    pub kind: Kind,
    pub form: Form,
    pub trap: Trap,
    pub end: End,
    /// Of folders and files of the run: names that shells, terminals and parsers stumble over.
    pub name: &'static [u8],
    pub method: u64,
}

/// How often each is drawn, beside the others.
const KINDS: [(Kind, u64); 13] = [
    (Kind::Directory, 3),
    (Kind::Image, 4),
    (Kind::Loop, 3),
    (Kind::Partition, 2),
    (Kind::MadeOnImage("ext4"), 1),
    (Kind::MadeOnLoop("ext4"), 1),
    (Kind::MadeOnImage("xfs"), 1),
    (Kind::MadeOnImage("btrfs"), 1),
    (Kind::Emulated, 1),
    (Kind::Report, 2),
    (Kind::Convert, 1),
    (Kind::Generate, 1),
    (Kind::Record, 1),
];
const FORMS: [(Form, u64); 6] = [
    (Form::Plain, 2),
    (Form::Link, 1),
    (Form::LinkedFolder, 1),
    (Form::Bound, 1),
    (Form::DotDot, 1),
    (Form::Relative, 1),
];
const TRAPS: [(Trap, u64); 14] = [
    (Trap::Nothing, 7),
    (Trap::Signature, 1),
    (Trap::ConfirmedSignature, 1),
    (Trap::NotNamed, 1),
    (Trap::WrongName, 1),
    (Trap::HardLink, 1),
    (Trap::Mounted, 1),
    (Trap::Attached, 1),
    (Trap::ReadOnly, 1),
    (Trap::OutputHasLinks, 1),
    (Trap::OutputIsLink, 1),
    (Trap::OutputLeadsAway, 1),
    (Trap::OutputInTarget, 1),
    (Trap::Workspaces, 1),
];
const SWAPS: [Swap; 7] = [
    Swap::Target,
    Swap::Device,
    Swap::Output,
    Swap::Links,
    Swap::Cover,
    Swap::Truncate,
    Swap::Remove,
];
const NAMES: [&[u8]; 14] = [
    b"plain",
    b"plain",
    b"plain",
    b"with space",
    b"quo'te\"",
    b"line\nfeed",
    b"-dash",
    "\u{fc}n\u{ef}\u{30c6}".as_bytes(),
    b"\xff\xfe",
    b"a\\b",
    b"$(touch x)",
    b"%s%n",
    b"a,b=c",
    b"\x1b[2J",
];

impl Draw {
    /// From random numbers.
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            layer: pick(&[Layer::Tmpfs, Layer::Ext4, Layer::Xfs], rng),
            kind: pick_weighted(&KINDS, rng),
            form: pick_weighted(&FORMS, rng),
            trap: pick_weighted(&TRAPS, rng),
            end: end(rng),
            name: pick(&NAMES, rng),
            method: rng.bits(),
        }
    }

    /// Whether a loop device shows what must not change.
    pub(super) fn has_foreign_device(&self) -> bool {
        let is_device = matches!(self.kind, Kind::Loop | Kind::Partition | Kind::MadeOnLoop(_));
        // An image that is attached is refused for that alone, which would spoil an exchange.
        is_device && !matches!(self.end, End::Swapped(..))
    }
}

fn end(rng: &mut Rng) -> End {
    // System calls: as likely among the first ten as among the next hundred.
    let mut call = || {
        let digits = rng.below(12);
        (1 << digits) + rng.below(1 << digits)
    };
    let (first, second) = (call(), call());
    match rng.below(10) {
        0..3 => End::Own,
        3..5 => End::Killed(first),
        5..9 => End::Swapped(first, pick(&SWAPS, rng), second, pick(&SWAPS, rng)),
        _ => End::Interrupted(rng.below(400)),
    }
}

fn pick<T: Copy>(list: &[T], rng: &mut Rng) -> T {
    let drawn = rng.below(list.len() as u64);
    list[usize::try_from(drawn).expect("below the length")]
}

fn pick_weighted<T: Copy>(list: &[(T, u64)], rng: &mut Rng) -> T {
    let mut drawn = rng.below(list.iter().map(|(_, weight)| weight).sum());
    let picked = list.iter().find(|(_, weight)| {
        let is_it = drawn < *weight;
        drawn = drawn.saturating_sub(*weight);
        is_it
    });
    picked.expect("it is below the sum of the weights").0
}
