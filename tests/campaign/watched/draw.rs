//! Draws an attempt from a seed and a number.

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

const KINDS: [Kind; 22] = [
    Kind::Directory,
    Kind::Directory,
    Kind::Directory,
    Kind::Image,
    Kind::Image,
    Kind::Image,
    Kind::Image,
    Kind::Loop,
    Kind::Loop,
    Kind::Loop,
    Kind::Partition,
    Kind::Partition,
    Kind::MadeOnImage("ext4"),
    Kind::MadeOnLoop("ext4"),
    Kind::MadeOnImage("xfs"),
    Kind::MadeOnImage("btrfs"),
    Kind::Emulated,
    Kind::Report,
    Kind::Report,
    Kind::Convert,
    Kind::Generate,
    Kind::Record,
];
const FORMS: [Form; 7] = [
    Form::Plain,
    Form::Plain,
    Form::Link,
    Form::LinkedFolder,
    Form::Bound,
    Form::DotDot,
    Form::Relative,
];
const TRAPS: [Trap; 20] = [
    Trap::Nothing,
    Trap::Nothing,
    Trap::Nothing,
    Trap::Nothing,
    Trap::Nothing,
    Trap::Nothing,
    Trap::Nothing,
    Trap::Signature,
    Trap::ConfirmedSignature,
    Trap::NotNamed,
    Trap::WrongName,
    Trap::HardLink,
    Trap::Mounted,
    Trap::Attached,
    Trap::ReadOnly,
    Trap::OutputHasLinks,
    Trap::OutputIsLink,
    Trap::OutputLeadsAway,
    Trap::OutputInTarget,
    Trap::Workspaces,
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
    /// From a seed and the number of the attempt.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let rng = &mut Rng::new(seed).split(&format!("watched {number}"));
        Self {
            layer: *pick(&[Layer::Tmpfs, Layer::Ext4, Layer::Xfs], rng),
            kind: *pick(&KINDS, rng),
            form: *pick(&FORMS, rng),
            trap: *pick(&TRAPS, rng),
            end: end(rng),
            name: *pick::<&[u8]>(&NAMES, rng),
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
        5..9 => End::Swapped(first, *pick(&SWAPS, rng), second, *pick(&SWAPS, rng)),
        _ => End::Interrupted(rng.below(400)),
    }
}

fn pick<'a, T>(list: &'a [T], rng: &mut Rng) -> &'a T {
    let length = u64::try_from(list.len()).expect("a short list");
    &list[usize::try_from(rng.below(length)).expect("below the length")]
}
