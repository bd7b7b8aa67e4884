//! The ways in which a run is invalid, or says less than it seems to.

use trimbench_core::rng::Rng;
use trimbench_core::units::index;

/// A run to be made.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) methods: Vec<&'static str>,
    pub(super) target: Target,
    /// Options, `key=value`.
    pub(super) sets: Vec<String>,
    /// Whether it is interrupted once a session has ended.
    pub(super) is_cut: bool,
}

/// On what.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A target of this text.
    Emulated(String),
    /// An ext4 in memory that is mounted so, to which somebody else writes.
    Filesystem(&'static str),
    /// A new directory of this machine's disk, to which somebody else writes.
    OwnDisk,
    /// A loop device over an image in memory.
    Loop,
}

type Way = (&'static str, fn(&mut Rng) -> Trial);

/// Each with its name, of which every second one at least makes a session invalid. The last one
/// takes as long as the others together.
pub(super) const WAYS: [Way; 13] = [
    ("a window that is too short", short_window),
    ("too few samples", few_samples),
    ("a load that the drive does not serve", overloaded),
    ("a TRIM that is ignored", ignored),
    ("files that stay in the cache", cached),
    ("nothing but placebos", placebos),
    ("cut short", cut),
    ("outside of the calibration", outside),
    ("somebody else writes", beside_others),
    ("noise", noise),
    ("a rate that this machine does not keep", late),
    ("a drive that is not steady", unsteady),
    ("somebody else writes to this machine's disk", own_disk),
];

/// Drives that TRIM does not suit, and others.
const DRIVES: [&str; 8] = [
    "generic-sata-tlc",
    "generic-nvme-tlc",
    "generic-nvme-qlc",
    "like-rc100",
    "like-850-pro",
    "generic-sata-tlc,trim.per_gib_mapped=4s",
    "generic-sata-tlc,trim.mode=blocking,trim.command=200ms",
    "plain-nvme-tlc,trim.per_gib_mapped=2s",
];
/// What a card finds beside the method in question; none is slow on a small drive.
const BESIDE: [&str; 4] = ["recovery", "trim-integrity", "idle-trim", "steady-state"];

fn of<T: Copy>(rng: &mut Rng, many: &[T]) -> T {
    many[index(rng.below(many.len() as u64))]
}

fn drive(rng: &mut Rng, more: &str) -> Target {
    Target::Emulated(format!("sim:{},capacity=2GiB{more}", of(rng, &DRIVES)))
}

/// These methods, in this order, and perhaps another one.
fn with(rng: &mut Rng, methods: &[&'static str], sets: &[&str], target: Target) -> Trial {
    let mut methods = methods.to_vec();
    let other = of(rng, &BESIDE);
    if rng.below(2) == 0 && !methods.contains(&other) {
        methods.push(other);
    }
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    Trial { methods, target, sets, is_cut: false }
}

fn short_window(rng: &mut Rng) -> Trial {
    let window = of(rng, &["window=100ms", "window=200ms", "window=400ms"]);
    let sizes = of(rng, &["sizes=512MiB,768MiB,1GiB", "sizes=128MiB,256MiB"]);
    let issuer = of(rng, &["as=ext4", "as=blkdiscard"]);
    let target = drive(rng, "");
    with(rng, &["delete-stall"], &[window, sizes, issuer, "lead=100ms"], target)
}

fn few_samples(rng: &mut Rng) -> Trial {
    let size = of(rng, &["sizes=64MiB", "sizes=256MiB"]);
    let target = drive(rng, "");
    with(rng, &["delete-stall", "trim-sweep"], &[size, "repetitions=1", "commands=3"], target)
}

fn overloaded(rng: &mut Rng) -> Trial {
    let rate = of(rng, &["load-rate=1000", "load-rate=3000", "load-rate=10000"]);
    let command = of(rng, &[",host.command=5ms", ",host.command=20ms"]);
    let target = drive(rng, command);
    let small = ["sizes=4KiB,1MiB", "reference=1MiB", "commands=50"];
    with(rng, &["trim-sweep"], &[&[rate][..], &small].concat(), target)
}

fn ignored(rng: &mut Rng) -> Trial {
    let reads = of(rng, &["", ",trim-promise=zeroes", ",trim-eats-neighbour=4KiB"]);
    let target = drive(rng, &format!(",trim.mode=ignored{reads}"));
    let window = of(rng, &["window=200ms", "window=3s"]);
    with(rng, &["delete-stall"], &[window, "sizes=64MiB,128MiB"], target)
}

/// On files: nothing is run beside it on the drive.
fn cached(rng: &mut Rng) -> Trial {
    let filesystem = of(rng, &["ext4", "xfs", "btrfs", "f2fs"]);
    let target = format!("{filesystem}:sim:{},capacity=2GiB", of(rng, &DRIVES));
    let number = of(rng, &["number=5", "number=20"]);
    let sets = [number, "transactions=20", "window=200ms", "sizes=64MiB", "file-size=16MiB"];
    Trial {
        methods: vec!["delete-stall", "postmark", "delete-storm"],
        target: Target::Emulated(target),
        sets: sets.map(str::to_owned).to_vec(),
        is_cut: false,
    }
}

fn placebos(rng: &mut Rng) -> Trial {
    let target = drive(rng, "");
    with(rng, &["delete-stall"], &["placebo-only=yes", "sizes=16MiB,32MiB,64MiB"], target)
}

/// The first method ends soon, and the second takes long.
fn cut(rng: &mut Rng) -> Trial {
    let target = drive(rng, "");
    let first = of(rng, &["recovery", "trim-integrity"]);
    let sets = ["repetitions=40", "window=10s"];
    Trial { is_cut: true, ..with(rng, &[first, "delete-stall"], &sets, target) }
}

fn outside(rng: &mut Rng) -> Trial {
    let vendor = of(rng, &["vendor1", "vendor2", "vendor3", "vendor4", "vendor5", "vendor6"]);
    let target = Target::Emulated(format!("sim:{vendor},capacity=2GiB"));
    let size = of(rng, &["sizes=64MiB", "sizes=256MiB"]);
    let sets = [size, "window=100ms", "commands=50", "load-rate=10000"];
    with(rng, &["delete-stall", "trim-sweep"], &sets, target)
}

/// On the disk that is measured, little.
const LITTLE: [&str; 6] = [
    "span=16MiB",
    "repetitions=1",
    "patience=0s",
    "lead=100ms",
    "rest=100ms",
    "probe-interval=10ms",
];

fn in_directory(rng: &mut Rng, target: Target, mode: &str) -> Trial {
    let size = of(rng, &["sizes=16MiB", "sizes=16MiB,32MiB"]);
    let sets = [&LITTLE[..], &[size, mode, "window=1s", "rate=100"]].concat();
    let sets = sets.into_iter().map(str::to_owned).collect();
    Trial { methods: vec!["delete-stall"], target, sets, is_cut: false }
}

fn beside_others(rng: &mut Rng) -> Trial {
    let (options, mode) = of(rng, &[("discard", "mode=unlink"), ("nodiscard", "mode=trim")]);
    in_directory(rng, Target::Filesystem(options), mode)
}

fn own_disk(rng: &mut Rng) -> Trial {
    in_directory(rng, Target::OwnDisk, "mode=unlink")
}

fn noise(rng: &mut Rng) -> Trial {
    let sizes = of(rng, &["sizes=4MiB,8MiB,16MiB", "sizes=16MiB,32MiB,64MiB"]);
    let target = drive(rng, "");
    with(rng, &["delete-stall"], &[sizes, "span=64MiB"], target)
}

fn late(rng: &mut Rng) -> Trial {
    let rate = of(rng, &["rate=50000", "rate=100000"]);
    let sets = [&LITTLE[..], &["sizes=8MiB", "window=200ms", rate]].concat();
    with(rng, &["delete-stall"], &sets, Target::Loop)
}

fn unsteady(rng: &mut Rng) -> Trial {
    let target = drive(rng, ",host.command=5ms");
    let sets = ["rounds-max=5", "round-share=2%", "precondition=0", "load-rate=3000"];
    let small = ["sizes=4KiB,1MiB", "reference=1MiB", "commands=50"];
    with(rng, &["steady-state", "trim-sweep"], &[&sets[..], &small].concat(), target)
}
