//! Logs of file operations that run on any file target: a real ext4 and the modelled one perform
//! the same operations, and the requests to their devices are compared.
//!
//! Each file is stored, and durable before the next one comes, so that its blocks get their place
//! in the order of the log and not when write-back likes; what is deleted waits for a commit. One
//! command is outstanding at any time. A phase ends with a sync, and with a wait until discards
//! have come to rest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use trimbench_core::rng::Rng;
use trimbench_core::{
    Bytes, DirectoryId, FileCommand, FileId, Instant, Nanos, Payload, Status, Storage as _, Stream,
    Tag, Target, Virtual,
};
use trimbench_fs::{FileSystem, FsConfig};
use trimbench_linux::{DirectoryOptions, DirectoryTarget};
use trimbench_ssd::{Profile, Ssd, SsdConfig};

use crate::{LoopFilesystem, run};

/// Size of the filesystem that the logs are made for: 32 block groups, so that it has what ext4
/// does on large ones only.
pub const FILESYSTEM_MEBIBYTES: u64 = 2_048;
/// Discards are over when this long has passed without one: on a loop device in memory each takes
/// less than a millisecond.
const QUIET: Nanos = Nanos::from_millis(200);
/// Between two looks at the counters.
const LOOK: Nanos = Nanos::from_millis(50);
/// ext4's block.
const FS_BLOCK: u64 = 4_096;
const KIB: u64 = 1 << 10;

/// A sequence of operations.
#[derive(Clone, Debug)]
pub struct Log {
    /// Its name.
    pub name: &'static str,
    phases: Vec<Vec<FileCommand>>,
    freed: Bytes,
}

/// What a device was sent during a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// Discard commands.
    pub discards: u64,
    /// Bytes of those.
    pub discarded: Bytes,
    /// Bytes written, journal and metadata among them.
    pub written: Bytes,
}

/// Every log; the same for the same seed.
pub fn logs(seed: u64) -> Vec<Log> {
    let rng = Rng::new(seed);
    let sizes = |log: &str, count: u64, from: u64, below: u64| -> Vec<u64> {
        let mut rng = rng.split(log);
        (0..count).map(|_| from + rng.below(below - from)).collect()
    };
    let mut shuffled: Vec<usize> = (0..150).collect();
    rng.split("order").shuffle(&mut shuffled);
    let which = &mut rng.split("which");
    vec![
        alternating("alternating", &[KIB * KIB; 100]),
        deleting("shuffled", &sizes("shuffled", 150, 20 * KIB, 300 * KIB), &|at| shuffled[at]),
        growing("growing", &sizes("growing", 180, 10 * KIB, 100 * KIB)),
        deleting("in-order", &sizes("in-order", 150, 20 * KIB, 300 * KIB), &|at| at),
        deleting("small", &sizes("small", 150, KIB, 60 * KIB), &|at| shuffled[at]),
        churning("churning", &sizes("churning", 200, 20 * KIB, 300 * KIB), which),
    ]
}

/// Plays a log on a target, from its start to its end.
///
/// # Panics
/// If a command fails: the logs fit on their filesystem.
pub fn play<T: Target<Command = FileCommand>>(target: &mut T, log: &Log) -> OperationCounts {
    // The target of a directory has a small file of its own, which gets its place with this sync
    // and not in the middle of the log; one of ours makes it the same everywhere.
    perform(target, FileCommand::SyncFilesystem);
    let [store, fsync] = durable(FIRST, FS_BLOCK);
    perform(target, store);
    perform(target, fsync);
    let before = target.statistics();
    for phase in &log.phases {
        for command in phase {
            perform(target, *command);
        }
        perform(target, FileCommand::SyncFilesystem);
        come_to_rest(target);
    }
    let after = target.statistics();
    OperationCounts {
        discards: after.discard.completed - before.discard.completed,
        discarded: after.discard.bytes - before.discard.bytes,
        written: after.write.bytes - before.write.bytes,
    }
}

/// The modelled ext4 of today on an emulated drive.
///
/// # Panics
/// If it does not fit.
fn model() -> Virtual<FileSystem<Ssd>> {
    let profile = Profile::built_in("plain-nvme-tlc").expect("it is built in");
    let capacity = Bytes::mib(FILESYSTEM_MEBIBYTES);
    let config = SsdConfig { capacity, ..profile.config };
    let drive = config.build().expect("a profile is valid");
    Virtual::new(FileSystem::make(FsConfig::default(), drive).expect("it fits"))
}

/// What the modelled ext4 sends its drive.
pub fn modelled(log: &Log) -> OperationCounts {
    play(&mut model(), log)
}

/// A new ext4 on a loop device over an image in `parent`, and the target of a directory in it.
fn new_ext4(parent: &Path) -> (LoopFilesystem, DirectoryTarget) {
    let filesystem = LoopFilesystem::within(parent, "ext4", FILESYSTEM_MEBIBYTES, "discard");
    // ext4 looks at its groups at some time in the first seconds after the mount, and allocates in
    // those only that it knows: whoever reads this file makes it look at all.
    std::fs::read(format!("/proc/fs/ext4/{}/mb_groups", filesystem.device_name()))
        .expect("ext4 shows its groups");
    let options = DirectoryOptions::default();
    let target = DirectoryTarget::open(filesystem.path(), options).expect("it is suitable");
    (filesystem, target)
}

/// What the running kernel's ext4 sends a loop device over an image in `parent`. The calling
/// process should be held to one processor: ext4 keeps chunks for small files for each.
///
/// # Panics
/// If there is no such filesystem, or a command fails.
pub fn real(log: &Log, parent: &Path) -> OperationCounts {
    let (_filesystem, mut target) = new_ext4(parent);
    let tally = play(&mut target, log);
    target.close().expect("the filesystem is still there");
    tally
}

/// Of so many files that lie between others and are deleted, how many the model discards, if it is
/// told to sync and then to unmount at once.
///
/// # Panics
/// If a command fails.
pub fn modelled_at_unmount(files: usize) -> u64 {
    let mut target = model();
    for command in stores(&vec![ISOLATED; 2 * files]) {
        perform(&mut target, command);
    }
    perform(&mut target, FileCommand::SyncFilesystem);
    for file in 0..files {
        perform(&mut target, unlink(2 * file));
    }
    perform(&mut target, FileCommand::SyncFilesystem);
    let now = target.now();
    target.model_mut().unmount(now, Tag(0)).expect("nothing is outstanding");
    let mut out = Vec::new();
    while out.is_empty() {
        target.reap(Instant::NEVER, &mut out);
    }
    target.statistics().discard.completed
}

/// The same by the running kernel, without a target: its directory would be emptied before.
///
/// # Panics
/// If there is no such filesystem, or an operation fails.
pub fn real_at_unmount(files: usize, parent: &Path) -> u64 {
    let filesystem = LoopFilesystem::within(parent, "ext4", FILESYSTEM_MEBIBYTES, "discard");
    let path = |file: usize| filesystem.path().join(file.to_string());
    let data = vec![1; trimbench_core::units::index(ISOLATED)];
    for file in 0..2 * files {
        let mut new = File::create(path(file)).expect("there is room");
        new.write_all(&data).expect("there is room");
        new.sync_all().expect("the device works");
    }
    let mount_point = filesystem.path().to_str().expect("temporary names are ASCII");
    run("sync", &["--file-system", mount_point]);
    let before = discards_of(&filesystem);
    for file in 0..files {
        std::fs::remove_file(path(2 * file)).expect("it is there");
    }
    run("sync", &["--file-system", mount_point]);
    run("umount", &[mount_point]);
    discards_of(&filesystem) - before
}

/// Size of the files that are deleted before an unmount.
const ISOLATED: u64 = 100 * KIB;

/// Discards that the device has completed.
fn discards_of(filesystem: &LoopFilesystem) -> u64 {
    let path = format!("/sys/block/{}/stat", filesystem.device_name());
    let text = std::fs::read_to_string(path).expect("the device is there");
    let field = text.split_ascii_whitespace().nth(11).expect("it counts discards");
    field.parse().expect("a number")
}

impl Log {
    fn new(name: &'static str, phases: Vec<Vec<FileCommand>>) -> Self {
        let mut lengths = BTreeMap::new();
        let mut freed = 0;
        for command in phases.iter().flatten() {
            match *command {
                FileCommand::Store { file, length, .. }
                | FileCommand::Append { file, length, .. } => {
                    *lengths.entry(file).or_insert(0) += length.0;
                }
                FileCommand::Unlink { file } => {
                    let length: u64 = lengths.remove(&file).unwrap_or(0);
                    freed += length.next_multiple_of(FS_BLOCK);
                }
                _ => {}
            }
        }
        Self { name, phases, freed: Bytes(freed) }
    }

    /// Bytes of the blocks of all files that it deletes.
    pub fn freed(&self) -> Bytes {
        self.freed
    }
}

/// Files of these sizes; the even ones are deleted, then the odd ones: first what lies alone is
/// freed, then what has free neighbours on both sides.
fn alternating(name: &'static str, sizes: &[u64]) -> Log {
    let every_second = |from: usize| (from..sizes.len()).step_by(2).map(unlink).collect();
    Log::new(name, vec![stores(sizes), every_second(0), every_second(1)])
}

/// Files of these sizes, deleted in an order in some transactions, each when the discards of the
/// one before are over: what a discard covers depends on what is free meanwhile.
fn deleting(name: &'static str, sizes: &[u64], order: &dyn Fn(usize) -> usize) -> Log {
    let deletions: Vec<FileCommand> = (0..sizes.len()).map(|at| unlink(order(at))).collect();
    let transactions = deletions.chunks(50).map(<[_]>::to_vec);
    Log::new(name, std::iter::once(stores(sizes)).chain(transactions).collect())
}

/// Half of the files is stored; the other half takes the place of as many, in some rounds: first
/// they are deleted and discarded, then the new ones come.
fn churning(name: &'static str, sizes: &[u64], rng: &mut Rng) -> Log {
    const ROUND: usize = 40;
    let half = sizes.len() / 2;
    let mut there: Vec<usize> = (0..half).collect();
    let mut phases = vec![stores(&sizes[..half])];
    for first in (half..sizes.len()).step_by(ROUND) {
        let new = first..(first + ROUND).min(sizes.len());
        rng.shuffle(&mut there);
        let stored = new.clone().flat_map(|file| durable(file, sizes[file]));
        let old = there.splice(..new.len(), new.clone());
        phases.push(old.map(unlink).collect());
        phases.push(stored.collect());
    }
    Log::new(name, phases)
}

/// Thirty files that grow in turns by these sizes; the even ones are deleted, then the odd ones.
fn growing(name: &'static str, sizes: &[u64]) -> Log {
    const FILES: usize = 30;
    let mut growth = stores(&sizes[..FILES]);
    for (at, size) in sizes.iter().enumerate().skip(FILES) {
        let file = id(at % FILES);
        growth.push(FileCommand::Append { file, length: Bytes(*size), stream: STREAM });
        growth.push(FileCommand::Fsync { file });
    }
    let every_second = |from: usize| (from..FILES).step_by(2).map(unlink).collect();
    Log::new(name, vec![growth, every_second(0), every_second(1)])
}

/// The number of a file that is in no log.
const FIRST: usize = 1_000_000;
/// How files are written.
const STREAM: Stream = Stream { piece: 4_096, buffered: false, payload: Payload::Random };

fn id(file: usize) -> FileId {
    FileId(u32::try_from(file).expect("a log has few files"))
}

fn unlink(file: usize) -> FileCommand {
    FileCommand::Unlink { file: id(file) }
}

fn durable(file: usize, length: u64) -> [FileCommand; 2] {
    let (file, length, directory) = (id(file), Bytes(length), DirectoryId::OWN);
    let store = FileCommand::Store { file, directory, length, stream: STREAM };
    [store, FileCommand::Fsync { file }]
}

fn stores(sizes: &[u64]) -> Vec<FileCommand> {
    sizes.iter().enumerate().flat_map(|(file, size)| durable(file, *size)).collect()
}

fn perform<T: Target<Command = FileCommand>>(target: &mut T, command: FileCommand) {
    target.submit(Tag(0), command).expect("it is a command");
    let mut out = Vec::new();
    while out.is_empty() {
        target.reap(Instant::NEVER, &mut out);
    }
    assert_eq!(out[0].status, Status::Done, "{command:?}");
}

/// Waits until discards have come to rest.
fn come_to_rest<T: Target<Command = FileCommand>>(target: &mut T) {
    let (mut seen, mut since) = (target.statistics().discard, target.now());
    while target.now() < since + QUIET {
        let until = target.now() + LOOK;
        while target.now() < until {
            target.reap(until, &mut Vec::new());
        }
        let now = target.statistics().discard;
        if now != seen {
            (seen, since) = (now, target.now());
        }
    }
}
