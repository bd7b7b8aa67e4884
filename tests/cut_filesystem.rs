//! A filesystem on an emulated drive whose power goes while files are written.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use trimbench_attach::{AttachedDrive, Attachment, LiveFault};
use trimbench_core::Bytes;
use trimbench_ssd::{Profile, SsdConfig};

use crate::Need::{Filesystem, Fuse, Loop, Program, Root};
use crate::durable_files::{DurableContents, DurableFiles};
use crate::loops::make_filesystem;
use crate::{Mounted, Need, scratch};

/// Capacity of the drive: more than any filesystem's least.
const CAPACITY: Bytes = Bytes::gib(1);
/// Of the kernel's log, where something is wrong.
const KERNEL_LINES: usize = 40;
/// Rounds whose files stay, and are looked at after each later cut.
const KEPT: usize = 3;

/// A kind of filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutKind {
    /// As `mkfs` and `mount` call it.
    pub name: &'static str,
    mkfs: &'static str,
    /// With them each deletion sends discards.
    options: &'static str,
    /// What looks for damage, and repairs nothing.
    check: &'static [&'static str],
}

impl CutKind {
    /// Those that are tried.
    pub const ALL: [Self; 3] = [
        Self {
            name: "ext4",
            mkfs: "mkfs.ext4",
            options: "discard",
            check: &["e2fsck", "-f", "-n"],
        },
        Self { name: "xfs", mkfs: "mkfs.xfs", options: "discard", check: &["xfs_repair", "-n"] },
        Self {
            name: "btrfs",
            mkfs: "mkfs.btrfs",
            options: "discard=sync",
            check: &["btrfs", "check"],
        },
    ];

    /// What a test of it takes.
    pub fn needs(self) -> [Need; 6] {
        [Root, Loop, Fuse, Filesystem(self.name), Program(self.mkfs), Program(self.check[0])]
    }
}

/// The filesystem, unmounted between the rounds.
#[derive(Debug)]
pub struct CutFilesystem {
    kind: CutKind,
    drive: AttachedDrive,
    folder: TempDir,
    rounds: usize,
    /// What the files of the last rounds hold.
    kept: Vec<DurableContents>,
}

/// What a power cut came to.
#[derive(Clone, Debug)]
pub struct PowerCut {
    /// Changes of files that had been made durable before it.
    pub changes: u64,
    /// What is not as it was made durable, a line each; or why the filesystem cannot be mounted.
    pub faults: Vec<String>,
    /// What the check says, unless it finds all in order.
    pub damage: Option<String>,
}

impl PowerCut {
    /// All that was made durable is there, and the check finds nothing.
    pub fn is_survived(&self) -> bool {
        self.faults.is_empty() && self.damage.is_none()
    }
}

impl CutFilesystem {
    /// Made on a new drive of a built-in profile.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn new(kind: CutKind, profile: &str) -> Self {
        let profile = Profile::built_in(profile).expect("it is built in");
        let config = SsdConfig { capacity: CAPACITY, ..profile.config };
        let drive = AttachedDrive::attach(Attachment::new(config)).expect("root may attach");
        let new = Self { kind, drive, folder: scratch(), rounds: 0, kept: Vec::new() };
        make_filesystem(&new.node(), kind.name, &[]);
        new
    }

    /// Files are written, deleted and made durable; when `wait` returns the power goes. Then it
    /// comes back, the filesystem is mounted, which recovers it, unmounted, checked, and read. If
    /// `flushes_lie`, the drive makes nothing durable that it was told to.
    ///
    /// # Panics
    /// If the filesystem cannot be mounted before. After a cut with faults or damage go on with a
    /// new one.
    pub fn cut(
        &mut self,
        seed: u64,
        wait: impl FnOnce(&DurableFiles),
        flushes_lie: bool,
    ) -> PowerCut {
        let mounted = self.mount().expect("it was in order before");
        self.rounds += 1;
        if let Some(old) = self.rounds.checked_sub(KEPT + 1) {
            drop(fs::remove_dir_all(self.round(old)));
        }
        let plant = |fault| self.drive.engine().plant(&fault).expect("it can be planted");
        plant(LiveFault::LyingFlush(flushes_lie));
        let files = DurableFiles::begin(&self.round(self.rounds), seed).expect("there is room");
        wait(&files);
        let contents = files.end(|| plant(LiveFault::PowerCut));
        drop(mounted);
        plant(LiveFault::LyingFlush(false));
        plant(LiveFault::PowerOn);
        let changes = contents.changes();
        self.kept.push(contents);
        if self.kept.len() > KEPT {
            self.kept.remove(0);
        }
        let (mut faults, mut damage) = self.recover().unwrap_or_else(|why| (vec![why], None));
        if let Some(wrong) = faults.first_mut().or(damage.as_mut()).filter(|_| !flushes_lie) {
            wrong.push_str(&self.kernel_said());
        }
        PowerCut { changes, faults, damage }
    }

    /// The last lines of the kernel's log about the drive.
    fn kernel_said(&self) -> String {
        let log = Command::new("dmesg").output().map(|output| output.stdout).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let name = self.node().replace("/dev/", "");
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&name)).collect();
        let last = &lines[lines.len().saturating_sub(KERNEL_LINES)..];
        format!("\n{}", last.join("\n"))
    }

    /// Faults and damage, once the filesystem has recovered; or why it cannot be mounted.
    fn recover(&self) -> Result<(Vec<String>, Option<String>), String> {
        drop(self.mount()?);
        let damage = self.damage();
        let _mounted = self.mount()?;
        Ok((self.kept.iter().flat_map(DurableContents::faults).collect(), damage))
    }

    /// By which of `most` cuts a drive whose flushes lie is found; `None` if by none. A cut shows a
    /// lie only if something that was made durable had not reached the flash anyway. Each has a
    /// filesystem of its own, because a damaged one is of no further use.
    pub fn cuts_until_a_lie_shows(
        kind: CutKind,
        profile: &str,
        most: u64,
        mut draw: impl FnMut() -> (u64, Duration),
    ) -> Option<u64> {
        (1..=most).find(|_| {
            let (seed, after) = draw();
            let wait = |_: &DurableFiles| std::thread::sleep(after);
            !Self::new(kind, profile).cut(seed, wait, true).is_survived()
        })
    }

    fn damage(&self) -> Option<String> {
        let [program, arguments @ ..] = self.kind.check else { unreachable!("it has a program") };
        let output = Command::new(program).args(arguments).arg(self.node()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
        let said = || {
            let all = [output.stdout.as_slice(), &output.stderr].concat();
            format!("{program} ends with {}: {}", output.status, String::from_utf8_lossy(&all))
        };
        (!output.status.success()).then(said)
    }

    fn mount(&self) -> Result<Mounted, String> {
        let place = self.folder.path().join("mounted");
        Mounted::attempt(&["-o", self.kind.options, &self.node()], &place)
    }

    fn round(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("mounted/round{number}"))
    }

    fn node(&self) -> String {
        self.drive.node().to_str().expect("a device").to_owned()
    }
}
