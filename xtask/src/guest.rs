//! Guests: a Linux kernel of its own in which a script runs as root, on the tree of the host, for
//! tests and measurements that need what the host's kernel lacks or that must not touch the host.
//!
//! ```text
//! host's tree, read-only ---+                                           stdout, stderr
//! unpacked packages --------+-- overlay on tmpfs: / of the guest -- script ----> files
//! exchange folder ----------+-- /exchange, writable
//! images -------------------+-- disks
//! ```
//!
//! Nothing on the host can be destroyed. The guest's kernel and what serves it run in a sandbox
//! (bubblewrap) in which the whole tree is mounted read-only, there are no devices and no network,
//! and no process outlives the harness. What the guest writes outside `/exchange` and its disks
//! lies in its own memory and is gone at its end.
//!
//! A guest has a deadline. Its kernel is an old one (Debian's 6.1), and in `cloud` a slow one: the
//! processor is emulated. Times measured in it say nothing about hardware.

mod cli;
mod initramfs;
mod machine;
mod stacks;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use tempfile::TempDir;

use crate::Repository;
use crate::process::run;
use crate::steps::{Deadline, seconds};

pub use cli::{GuestOptions, run_command};
pub use stacks::{MeasuredStacks, STACKS, STACKS_SCRIPT, StackFix, StackTrim, StorageStack};

/// How long a guest may take, unless something else is said: it boots in seconds, in a minute
/// beside other tests on a slow machine.
const DEADLINE: Duration = Duration::from_secs(180);
/// Its memory, MiB: enough for some images in its own tmpfs.
const MEMORY_MIB: u32 = 512;
/// How often its sandbox is begun while others change the mounts of the machine, and what it says
/// if they do.
const STARTS: usize = 5;
const DISTURBED: &str = "bwrap: Can't bind mount";
/// How many of the console's last lines an error shows.
const LAST_LINES: usize = 25;

/// What kind of machine a guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GuestKind {
    /// User-mode Linux: boots in two seconds; disks are `ubda`, `ubdb`, ...; no PCI, so no NVMe
    Uml,
    /// Debian's cloud kernel in qemu, whose processor is emulated: boots in four seconds; disks are
    /// `vda`, ... and `nvme0n1`, ...; no f2fs
    Cloud,
}

/// A disk of a guest: an image, empty and sparse, which is removed with the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestDisk {
    /// Its size.
    pub size_mib: u32,
    /// What becomes of discards. In `uml`, `false` makes a disk without discards. In `cloud` the
    /// guest sees no difference: qemu takes the discards and does nothing (`discard=ignore`).
    pub discard: bool,
    /// An NVMe drive (`cloud` only).
    pub nvme: bool,
}

impl GuestDisk {
    /// A disk that discards, of the usual transport of its guest.
    pub fn of_mib(size_mib: u32) -> Self {
        Self { size_mib, discard: true, nvme: false }
    }
}

/// A guest to be started.
#[derive(Clone, Debug)]
pub struct Guest {
    kind: GuestKind,
    disks: Vec<GuestDisk>,
    servers: Vec<PathBuf>,
    deadline: Duration,
    memory_mib: u32,
    exchange: Option<PathBuf>,
}

/// What a guest's script came to.
#[derive(Clone, Debug)]
pub struct GuestOutput {
    /// The script's exit status; `None` when the deadline passed and the guest was ended.
    pub status: Option<u8>,
    /// What the script printed, as far as it came.
    pub stdout: String,
    /// What it printed as errors.
    pub stderr: String,
    /// What the kernel and the programs that boot it printed.
    pub console: String,
    /// From the start of the guest to its end.
    pub elapsed: Duration,
    /// How much of each disk's image is allocated at the end, bytes: discards that reach the image
    /// free it.
    pub allocated_bytes: Vec<u64>,
}

impl GuestOutput {
    /// Whether the script ended by itself, with status 0.
    pub fn success(&self) -> bool {
        self.status == Some(0)
    }

    /// The output of a script that must end well; otherwise an error with all that helps to see
    /// why.
    pub fn checked(self) -> Result<Self> {
        if self.success() {
            return Ok(self);
        }
        let end = match self.status {
            Some(status) => format!("the script ended with status {status}"),
            None => format!("the guest did not end within {}", seconds(self.elapsed)),
        };
        bail!(
            "{end}\nstdout:\n{}\nstderr:\n{}\nconsole:\n{}",
            last_lines(&self.stdout),
            last_lines(&self.stderr),
            last_words(&self.console)
        )
    }
}

impl GuestKind {
    /// What this machine lacks for such guests, and what to do about it; `None` if nothing.
    pub fn missing(self) -> Option<String> {
        let found =
            Repository::here().and_then(|repository| machine::Parts::find(self, &repository));
        found.err().map(|error| format!("{error:#}"))
    }
}

impl Guest {
    /// A guest without disks, with half a GiB of memory and a minute's time.
    pub fn new(kind: GuestKind) -> Self {
        let (disks, servers, exchange) = (Vec::new(), Vec::new(), None);
        Self { kind, disks, servers, deadline: DEADLINE, memory_mib: MEMORY_MIB, exchange }
    }

    /// Adds a disk. The script finds the paths of all disks, in order, in `$DISKS`.
    #[must_use]
    pub fn disk(mut self, disk: GuestDisk) -> Self {
        self.disks.push(disk);
        self
    }

    /// Adds an NVMe drive (`cloud` only) whose contents an NBD server has, on this Unix socket of
    /// the host. The script finds such drives in `$DISKS` after all others.
    #[must_use]
    pub fn served_nvme(mut self, socket: &Path) -> Self {
        self.servers.push(socket.to_owned());
        self
    }

    /// After this long the guest is ended.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Its memory, MiB.
    #[must_use]
    pub fn memory_mib(mut self, memory_mib: u32) -> Self {
        self.memory_mib = memory_mib;
        self
    }

    /// The folder that the guest sees, writable, as `/exchange`; otherwise an empty one that is
    /// removed. What a guest that was ended had written there may be missing.
    #[must_use]
    pub fn exchange(mut self, folder: &Path) -> Self {
        self.exchange = Some(folder.to_owned());
        self
    }

    /// Runs this shell script in the guest, in `/exchange`, as root. `Ok` if the script began,
    /// whatever became of it; an error if the guest did not boot or died below the script: it
    /// has the last lines of the console.
    pub fn run(&self, script: &str) -> Result<GuestOutput> {
        // Bubblewrap gives up if another program unmounts something while it copies all mounts.
        let is_disturbed = |error: &anyhow::Error| format!("{error:#}").contains(DISTURBED);
        for _ in 1..STARTS {
            match self.start(script) {
                Err(error) if is_disturbed(&error) => {}
                ended => return ended,
            }
        }
        self.start(script)
    }

    fn start(&self, script: &str) -> Result<GuestOutput> {
        let repository = Repository::here()?;
        let parts = machine::Parts::find(self.kind, &repository)?;
        let scratch = scratch()?;
        let folder = |name: &str| -> Result<PathBuf> {
            let path = scratch.path().join(name);
            fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
            Ok(path)
        };
        let (files, own_exchange) = (folder("machine")?, folder("exchange")?);
        let exchange = self.exchange.clone().unwrap_or(own_exchange);
        let images = self.make_images(&files)?;
        let disks = machine::Disks { images: &self.disks, servers: &self.servers };
        let initramfs = parts.initramfs(disks, script)?;
        fs::write(files.join("initramfs"), initramfs).context("write the initramfs")?;
        let sandbox = machine::Sandbox { files: &files, exchange: &exchange };
        let mut command = parts.command(&sandbox, self.memory_mib, disks);
        let console = File::create(files.join("console")).context("make the console's file")?;
        command.stderr(console.try_clone().context("share the console's file")?).stdout(console);
        let ended = run(&mut command, Some(Deadline::after(self.deadline)))?;
        let read = |name: &str| {
            let bytes = fs::read(files.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (control, console) = (read("control"), read("console"));
        let status = control.lines().find_map(|line| line.strip_prefix("ended ")?.parse().ok());
        // Whoever ended by itself must have said how the script ended.
        let died = ended.status.is_some() && status.is_none();
        if !control.starts_with("began\n") || died {
            let what = if control.is_empty() { "the guest did not boot" } else { "the guest died" };
            bail!(
                "{what}: `{}` {}; the last lines of its console:\n{}\nstdout:\n{}\nstderr:\n{}",
                self.kind.program(),
                ended.describe(),
                last_words(&console),
                last_lines(&read("stdout")),
                last_lines(&read("stderr"))
            );
        }
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        let allocated_bytes = images.iter().map(|image| allocated(image)).collect::<Result<_>>()?;
        let elapsed = ended.elapsed;
        Ok(GuestOutput { status, stdout, stderr, console, elapsed, allocated_bytes })
    }

    fn make_images(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let mut images = Vec::new();
        for (index, disk) in self.disks.iter().enumerate() {
            let path = folder.join(machine::image_name(index));
            let image = File::create(&path).with_context(|| format!("make {}", path.display()))?;
            image
                .set_len(u64::from(disk.size_mib) << 20)
                .with_context(|| format!("size {}", path.display()))?;
            images.push(path);
        }
        Ok(images)
    }
}

/// A folder for images: in memory where that is possible, so that no disk is slow.
fn scratch() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("trimbench-guest-");
    builder
        .tempdir_in("/dev/shm")
        .or_else(|_| builder.tempdir())
        .context("make a folder for images")
}

fn allocated(image: &Path) -> Result<u64> {
    let metadata = fs::metadata(image).with_context(|| format!("look at {}", image.display()))?;
    // The unit of `st_blocks`, whatever the filesystem.
    Ok(metadata.blocks() * 512)
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// What a console says last, or round the line that says that the kernel died: what it prints
/// afterwards is mostly its registers.
fn last_words(console: &str) -> String {
    let lines: Vec<&str> = console.lines().collect();
    let Some(death) = lines.iter().position(|line| line.contains("Kernel panic")) else {
        return last_lines(console);
    };
    let begin = death.saturating_sub(LAST_LINES / 2);
    lines[begin..lines.len().min(begin + LAST_LINES)].join("\n")
}

#[cfg(test)]
mod tests;
