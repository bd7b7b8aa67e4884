//! Shared helpers of the integration tests: what a test requires of the machine, and filesystems on
//! loop devices.
//!
//! A test that cannot run says `SKIP name: reason` on stderr and returns; `xtask` compares the
//! skips with a reviewed list.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub mod hostile;
pub mod obstacles;
pub mod operations;
pub mod planted;
pub mod slow_disk;
pub mod superblocks;
pub mod write_log;

/// Something that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To be the superuser.
    Root,
    /// Loop devices that can be set up.
    Loop,
    /// A program on the search path.
    Program(&'static str),
    /// A type of filesystem that the kernel can mount.
    Filesystem(&'static str),
    /// Disks in memory (zram) that can be added: block devices that are no loop devices.
    RamDisk,
    /// FUSE filesystems that can be mounted.
    Fuse,
    /// Block tracepoints.
    Tracing,
    /// A kernel of this version or later.
    Linux(u32, u32),
    /// A running system whose root directory lies on a block device.
    RootDevice,
    /// Chromium, and what drives it: [`browser_python`].
    Browser,
}

/// Whether the machine has all of `needs`; says what is missing.
#[expect(clippy::print_stderr, reason = "skips are reported on stderr")]
pub fn requires(test: &str, needs: &[Need]) -> bool {
    let missing = needs.iter().find_map(|need| need.missing());
    if let Some(reason) = &missing {
        eprintln!("SKIP {test}: {reason}");
    }
    missing.is_none()
}

/// A filesystem on a loop device. Unmounted and detached when dropped.
#[derive(Debug)]
pub struct LoopFilesystem {
    device: String,
    mount_point: TempDir,
    /// Goes with the filesystem where it is its own.
    folder: Option<TempDir>,
}

impl Need {
    fn missing(self) -> Option<String> {
        match self {
            Self::Root => {
                let user = Command::new("id").arg("-u").output().ok()?;
                (user.stdout.trim_ascii() != b"0").then(|| "not root".to_owned())
            }
            Self::Loop => {
                let there = Path::new("/dev/loop-control").exists();
                let free = Command::new("losetup").arg("--find").output();
                let usable = there && free.is_ok_and(|output| output.status.success());
                (!usable).then(|| "no loop device".to_owned())
            }
            Self::Program(name) => {
                let there = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
                    .iter()
                    .any(|folder| Path::new(folder).join(name).exists());
                (!there).then(|| format!("no {name}"))
            }
            Self::RamDisk => {
                let there = Path::new("/sys/class/zram-control/hot_add").exists();
                (!there).then(|| "no zram".to_owned())
            }
            Self::Fuse => (!Path::new("/dev/fuse").exists()).then(|| "no FUSE".to_owned()),
            Self::Tracing => {
                let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
                let there = known.lines().any(|line| line == "nodev\ttracefs");
                (!there).then(|| "the kernel has no tracefs".to_owned())
            }
            Self::Linux(major, minor) => {
                let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
                let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
                let running = (parts.next()?.ok()?, parts.next()?.ok()?);
                (running < (major, minor)).then(|| format!("Linux is older than {major}.{minor}"))
            }
            Self::RootDevice => {
                let there = obstacles::root_device().is_some();
                (!there).then(|| "the root directory is not on a block device".to_owned())
            }
            Self::Browser => Self::Program("chromium").missing().or_else(|| {
                let reason = "nothing that drives Chromium: run `cargo xtask setup`";
                browser_python().is_none().then(|| reason.to_owned())
            }),
            Self::Filesystem(name) => {
                let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
                let there = known.lines().any(|line| line.split('\t').next_back() == Some(name));
                (!there).then(|| format!("the kernel has no {name}"))
            }
        }
    }
}

impl LoopFilesystem {
    /// Makes a filesystem of this type in an image of `mebibytes` of its own and mounts it with
    /// `options`.
    ///
    /// # Panics
    /// If that fails: [`requires`] said that it works.
    pub fn new(filesystem: &str, mebibytes: u64, options: &str) -> Self {
        Self::within(Path::new("/var/tmp"), filesystem, mebibytes, options)
    }

    /// As [`LoopFilesystem::new`], with its image in a folder in `parent`.
    ///
    /// # Panics
    /// If that fails: [`requires`] said that it works.
    pub fn within(parent: &Path, filesystem: &str, mebibytes: u64, options: &str) -> Self {
        let folder = tempfile::tempdir_in(parent).expect("the folder is writable");
        let image = folder.path().join("image");
        let file = std::fs::File::create(&image).expect("the folder is ours");
        file.set_len(mebibytes << 20).expect("sparse files take no room");
        let mut new = Self::on(&image, filesystem, options);
        new.folder = Some(folder);
        new
    }

    /// The same in an image that is there.
    ///
    /// # Panics
    /// If that fails: [`requires`] said that it works.
    pub fn on(image: &Path, filesystem: &str, options: &str) -> Self {
        let new = Self::attached(image);
        let program = format!("mkfs.{filesystem}");
        let quick: &[&str] = match filesystem {
            // No lazy initialisation: it would write during the test.
            "ext4" => &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            _ => &["-q", "-f"],
        };
        run(&program, &[quick, &[&new.device]].concat());
        new.mount(options);
        new
    }

    /// Mounts the filesystem that an image holds.
    ///
    /// # Panics
    /// If that fails.
    pub fn existing(image: &Path, options: &str) -> Self {
        let new = Self::attached(image);
        new.mount(options);
        new
    }

    fn attached(image: &Path) -> Self {
        let image = image.to_str().expect("temporary names are ASCII");
        let mount_point = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
        let device = run("losetup", &["--find", "--show", image]).trim().to_owned();
        // From here on `drop` cleans up, also when a later step panics.
        Self { device, mount_point, folder: None }
    }

    fn mount(&self, options: &str) {
        let mount_point = self.path().to_str().expect("temporary names are ASCII");
        run("mount", &["-o", options, &self.device, mount_point]);
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.mount_point.path()
    }

    /// An attribute of the device's queue in sysfs.
    pub fn queue(&self, attribute: &str) -> PathBuf {
        queue_of(&self.device, attribute)
    }

    /// Unmounts and detaches; a second time does nothing.
    pub fn close(&mut self) {
        if !self.device.is_empty() {
            let _ = Command::new("umount").arg(self.path()).output();
            let _ = Command::new("losetup").args(["--detach", &self.device]).output();
            self.device.clear();
            drop(self.folder.take());
        }
    }

    /// The name of the device in `/sys` and `/proc`: `loop0`.
    pub fn device_name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }
}

impl Drop for LoopFilesystem {
    fn drop(&mut self) {
        self.close();
    }
}

/// A loop device over a sparse image of its own. Detached and deleted when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    node: String,
    image: PathBuf,
    /// Goes with the device where it is the device's own.
    folder: Option<TempDir>,
}

impl LoopDevice {
    /// Over an image of `mebibytes` in `/var/tmp`.
    ///
    /// # Panics
    /// If that fails: [`requires`] said that it works.
    pub fn new(mebibytes: u64) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
        let mut new = Self::over(&folder.path().join("image"), mebibytes);
        new.folder = Some(folder);
        new
    }

    /// Over an image of `mebibytes` that is made at this path.
    ///
    /// # Panics
    /// If that fails: [`requires`] said that it works.
    pub fn over(image: &Path, mebibytes: u64) -> Self {
        let file = std::fs::File::create_new(image).expect("the folder is ours");
        file.set_len(mebibytes << 20).expect("sparse files take no room");
        Self::on(image)
    }

    /// Over an image that is there.
    ///
    /// # Panics
    /// If that fails: [`requires`] said that it works.
    pub fn on(image: &Path) -> Self {
        let text = image.to_str().expect("temporary names are ASCII");
        let node = run("losetup", &["--find", "--show", text]).trim().to_owned();
        Self { node, image: image.to_owned(), folder: None }
    }

    /// `/dev/loop0`.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The file below.
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// An attribute of its queue in sysfs.
    pub fn queue(&self, attribute: &str) -> PathBuf {
        queue_of(&self.node, attribute)
    }
}

fn queue_of(node: &str, attribute: &str) -> PathBuf {
    let name = node.trim_start_matches("/dev/");
    Path::new("/sys/block").join(name).join("queue").join(attribute)
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.node]).output();
        drop(self.folder.take());
    }
}

/// The interpreter of the environment that `cargo xtask setup` makes in the target folder, in which
/// the running test lies, too.
pub fn browser_python() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let python = program.ancestors().map(|folder| folder.join("browser/bin/python"));
    python.into_iter().find(|python| python.exists())
}

/// A folder for images: in memory, so that no disk is slow where none is meant to be.
///
/// # Panics
/// If there is no room for it.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").expect("/dev/shm is writable")
}

/// Runs a program and returns what it printed.
///
/// # Panics
/// If it fails.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} failed: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
