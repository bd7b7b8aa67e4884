//! A filesystem on a loop device of a test's own, and trimpace as it works on it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use trimbench_core::Nanos;
use trimbench_linux::{monotonic_time, pause};

use crate::common;

/// Loop devices that nobody who asks for a free one gets.
const NUMBERS: std::ops::Range<u32> = 600..900;
/// Longer than anything here should take, beside other tests on one disk.
const PATIENCE: Nanos = Nanos::from_secs(120);

pub(crate) const EXT4: &[&str] = &["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0"];
pub(crate) const XFS: &[&str] = &["mkfs.xfs", "-q", "-K"];
pub(crate) const BTRFS: &[&str] = &["mkfs.btrfs", "-q", "-K", "-m", "single", "-d", "single"];

/// Unmounted, detached and removed when dropped.
pub(crate) struct Stage {
    pub(crate) node: String,
    pub(crate) place: PathBuf,
    pub(crate) image: PathBuf,
}

/// A loop device without a filesystem, detached and removed when dropped.
pub(crate) struct BareDevice {
    pub(crate) node: String,
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) errors: String,
}

/// A trimpace that works.
pub(crate) struct Running(Option<Child>);

/// Runs a test again in a mount namespace of its own, where the journals of settings are its own as
/// well; its folder there.
pub(crate) fn apart(test: &'static str) -> Option<PathBuf> {
    let folder = common::apart(test)?;
    run("mount", &["-t", "tmpfs", "-o", "mode=755", "none", "/run"]);
    Some(folder)
}

impl Stage {
    /// An empty filesystem of this size; `None`, said, without the program that makes it.
    pub(crate) fn new(folder: &Path, name: &str, mib: u64, mkfs: &[&str]) -> Option<Self> {
        let image = folder.join(name);
        File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let program = [mkfs, &[image.to_str().unwrap()]].concat();
        let made = Command::new(program[0]).args(&program[1..]).output();
        if !made.is_ok_and(|output| output.status.success()) {
            return skip(&format!("no {}", program[0]));
        }
        let place = folder.join(format!("{name}-mount"));
        fs::create_dir(&place).unwrap();
        let node = attach(&image);
        let stage = Self { node, place, image };
        let mounted = Command::new("mount").args(stage.mount_arguments()).output().unwrap();
        if !mounted.status.success() {
            return skip(&format!("the kernel does not mount {name}"));
        }
        Some(stage)
    }

    /// The same, with files of 16 KiB to 112 KiB of which every second was deleted.
    pub(crate) fn filled(folder: &Path, name: &str, mib: u64, mkfs: &[&str]) -> Option<Self> {
        const FILES: u32 = 1_200;
        let stage = Self::new(folder, name, mib, mkfs)?;
        let content = vec![0x5a; 112 << 10];
        let path = |file: u32| stage.place.join(file.to_string());
        for file in 0..FILES {
            let length = trimbench_core::units::index(u64::from(16 + file * 7919 % 97)) << 10;
            fs::write(path(file), &content[..length]).unwrap();
        }
        run("sync", &["-f", stage.point()]);
        (0..FILES).step_by(2).for_each(|file| fs::remove_file(path(file)).unwrap());
        stage.mount_anew();
        Some(stage)
    }

    pub(crate) fn point(&self) -> &str {
        self.place.to_str().unwrap()
    }

    /// What it remembers as trimmed is forgotten.
    pub(crate) fn mount_anew(&self) {
        self.unmount();
        self.mount();
    }

    pub(crate) fn mount(&self) {
        run("mount", &self.mount_arguments());
    }

    pub(crate) fn unmount(&self) {
        run("sync", &["-f", self.point()]);
        run("umount", &[self.point()]);
    }

    fn mount_arguments(&self) -> [&str; 4] {
        ["-o", "nodiscard", &self.node, self.point()]
    }

    /// An attribute of its device.
    pub(crate) fn queue(&self, name: &str) -> PathBuf {
        sysfs(&self.node).join(name)
    }

    /// From now on, its device seems to have this attribute, for whom shares these mounts.
    pub(crate) fn pretend(&self, name: &str, content: &str) {
        let file = self.image.with_extension(name.replace('/', "-"));
        fs::write(&file, content).unwrap();
        let real = fs::canonicalize(self.queue(name)).unwrap();
        run("mount", &["--bind", file.to_str().unwrap(), real.to_str().unwrap()]);
    }

    /// The largest discard, now.
    pub(crate) fn largest(&self) -> u64 {
        let text = fs::read_to_string(self.queue("queue/discard_max_bytes")).unwrap();
        text.trim().parse().unwrap()
    }

    pub(crate) fn set_largest(&self, bytes: u64) {
        fs::write(self.queue("queue/discard_max_bytes"), bytes.to_string()).unwrap();
    }

    /// The device ends there, until this is called with 0: what lies behind fails with `EIO`.
    pub(crate) fn cut_short(&self, bytes: u64) {
        const SCRIPT: &str = "import fcntl, struct, sys\n\
            device = open(sys.argv[1])\n\
            status = bytearray(232)\n\
            fcntl.ioctl(device, 0x4C05, status)\n\
            struct.pack_into('<Q', status, 32, int(sys.argv[2]))\n\
            fcntl.ioctl(device, 0x4C04, status)\n";
        run("python3", &["-c", SCRIPT, &self.node, &bytes.to_string()]);
    }

    /// Bytes that the device has discarded so far.
    pub(crate) fn counted(&self) -> u64 {
        common::discarded(&self.queue("stat"))
    }

    /// Bytes that the device was asked to discard since it was attached, once it is at rest.
    pub(crate) fn discarded(&self) -> u64 {
        run("sync", &["-f", self.point()]);
        common::discarded_at_rest(&self.queue("stat"))
    }

    /// What a program has discarded that must succeed.
    pub(crate) fn discarded_by(&self, program: &str, arguments: &[&str]) -> u64 {
        let before = self.discarded();
        run(program, &[arguments, &[self.point()]].concat());
        self.discarded() - before
    }

    /// Begins `trimpace once` here.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Running {
        Running::begin(&[&["once"], arguments, &[self.point()]].concat())
    }

    /// `trimpace once` here.
    pub(crate) fn once(&self, arguments: &[&str]) -> Ended {
        self.begin(arguments).ended()
    }

    /// Names and contents of all files.
    pub(crate) fn checksums(&self) -> String {
        let sums = "find . -type f -print0 | sort -z | xargs -0 -r sha256sum | sha256sum";
        run("sh", &["-c", &format!("cd {} && {sums}", self.point())])
    }

    /// Unmounted, it is what its own checker takes for intact.
    pub(crate) fn check(&self, program: &[&str]) {
        self.unmount();
        run(program[0], &[&program[1..], &[self.image.to_str().unwrap()]].concat());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = quietly("fsfreeze", &["--unfreeze", self.point()]);
        let _ = quietly("umount", &["--lazy", self.point()]);
        detach(&self.node);
    }
}

impl BareDevice {
    /// Over a new image of this size.
    pub(crate) fn new(folder: &Path, name: &str, mib: u64) -> Self {
        let image = folder.join(name);
        File::create(&image).unwrap().set_len(mib << 20).unwrap();
        Self { node: attach(&image) }
    }

    /// Bytes that it has discarded so far.
    pub(crate) fn counted(&self) -> u64 {
        common::discarded(&sysfs(&self.node).join("stat"))
    }
}

impl Drop for BareDevice {
    fn drop(&mut self) {
        detach(&self.node);
    }
}

impl Running {
    pub(crate) fn begin(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trimpace"));
        command.args(arguments).stdin(Stdio::null());
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    /// A signal by name, as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        run("kill", &["-s", name, &self.id().to_string()]);
    }

    /// What it did. It must end.
    pub(crate) fn ended(mut self) -> Ended {
        assert!(holds_within(PATIENCE, || self.is_over()), "it does not end");
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        Ended {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `trimpace` with these arguments.
pub(crate) fn trimpace(arguments: &[&str]) -> Ended {
    Running::begin(arguments).ended()
}

/// Whether it comes true within this time.
pub(crate) fn holds_within(time: Nanos, mut condition: impl FnMut() -> bool) -> bool {
    let end = monotonic_time() + time;
    loop {
        if condition() {
            return true;
        }
        if monotonic_time() > end {
            return false;
        }
        pause(Nanos::from_millis(1));
    }
}

/// What a program prints that must succeed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn skip(reason: &str) -> Option<Stage> {
    common::skip(reason);
    None
}

fn sysfs(node: &str) -> PathBuf {
    PathBuf::from(node.replace("/dev/", "/sys/block/"))
}

fn quietly(program: &str, arguments: &[&str]) -> std::io::Result<std::process::ExitStatus> {
    Command::new(program).args(arguments).stderr(Stdio::null()).status()
}

fn detach(node: &str) {
    let _ = quietly("losetup", &["--detach", node]);
    let number = node.trim_start_matches("/dev/loop");
    let remove = format!("import fcntl; fcntl.ioctl(open('/dev/loop-control'), 0x4C81, {number})");
    let _ = quietly("python3", &["-c", &remove]);
}

/// A loop device whose number did not exist: nobody has changed its settings.
fn attach(image: &Path) -> String {
    let is_unused = |number: &u32| !Path::new(&format!("/sys/block/loop{number}")).exists();
    let mut nodes = NUMBERS.filter(is_unused).map(|number| format!("/dev/loop{number}"));
    let attached = |node: &String| {
        let output = Command::new("losetup").arg(node).arg(image).output();
        output.is_ok_and(|output| output.status.success())
    };
    nodes.find(attached).expect("there are loop devices")
}
