//! What unit tests share: programs, images, loop devices, and a mount namespace of a test's own in
//! which folders that it has filled stand for what the kernel shows.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a test needs that runs itself again by [`run_apart`].
pub(crate) const APART: &[&str] = &["unshare", "--mount", "true"];
/// Set where a test runs again: the folder that it is given.
const FOLDER: &str = "TRIMBENCH_TEST_APART";

/// Runs a program and returns what it printed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let [text, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{program} {arguments:?} failed: {text}{errors}");
    text
}

/// Says that the test cannot be run here.
pub(crate) fn skip(test: &str, reason: &str) {
    eprintln!("SKIP {test}: {reason}");
}

/// Whether the test is run by root and each of these commands succeeds; says so if not.
pub(crate) fn requires(test: &str, commands: &[&[&str]]) -> bool {
    let works = |command: &[&str]| {
        let output = Command::new(command[0]).args(&command[1..]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let missing = match commands.iter().find(|command| !works(command)) {
        _ if !rustix::process::geteuid().is_root() => "not root".to_owned(),
        Some(command) => format!("no {}", command.join(" ")),
        None => return true,
    };
    skip(test, &missing);
    false
}

/// An image that begins with `content`, by the name that the kernel has for it.
pub(crate) fn image(path: &Path, content: &[u8], size: u64) -> PathBuf {
    fs::write(path, content).unwrap();
    File::options().write(true).open(path).unwrap().set_len(size).unwrap();
    path.canonicalize().unwrap()
}

/// A loop device over an image of ours; detached when dropped.
pub(crate) struct LoopDevice(pub(crate) PathBuf);

impl LoopDevice {
    /// `None` where there can be none, which is said.
    pub(crate) fn new(test: &str, image: &Path, options: &[&str]) -> Option<Self> {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .args(options)
            .arg(image)
            .output()
            .ok()
            .filter(|output| output.status.success());
        if output.is_none() {
            skip(test, "it needs root and loop devices");
        }
        let node = String::from_utf8(output?.stdout).unwrap();
        Some(Self(PathBuf::from(node.trim())))
    }

    pub(crate) fn set_read_only(&self, option: &str) {
        let output = Command::new("blockdev").arg(option).arg(&self.0).output();
        assert!(output.unwrap().status.success(), "{option}");
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // The read-only flag outlives what is attached.
        for (program, option) in [("blockdev", "--setrw"), ("losetup", "--detach")] {
            let _ = Command::new(program).arg(option).arg(&self.0).output();
        }
    }
}

/// A process that does nothing but hold its descriptors; killed when dropped.
pub(crate) struct Holder(pub(crate) Child);

impl Holder {
    pub(crate) fn of(input: impl Into<Stdio>, output: impl Into<Stdio>) -> Self {
        Self(Command::new("sleep").arg("60").stdin(input).stdout(output).spawn().unwrap())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder that [`run_apart`] was given, where the test runs again.
pub(crate) fn folder_apart() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs a test of `module` again in a mount namespace of its own, after a script of `sh` in which
/// `$folder` is `folder`.
pub(crate) fn run_apart(module: &str, test: &str, folder: &Path, script: &str) {
    // The program is opened first: the script may cover the folder that it is in.
    let script = format!(
        "exec 3<\"$0\"; folder=$1; test=$2; {script}\n\
         exec /proc/self/fd/3 --exact \"$test\" --nocapture"
    );
    let (_, module) = module.split_once("::").unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-ec", &script])
        .args([env::current_exe().unwrap().as_os_str(), folder.as_os_str()])
        .arg(format!("{module}::{test}"))
        .env(FOLDER, folder)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

/// A folder that stands for `/sys`.
pub(crate) struct Sys(PathBuf);

impl Sys {
    /// Without any device.
    pub(crate) fn new(folder: PathBuf) -> Self {
        for part in ["block", "class/block", "dev/block", "devices", "fs/btrfs"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        Self(folder)
    }

    /// Gives an attribute a text.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// A device in this folder of `devices`, with these numbers. One below another is a partition.
    pub(crate) fn add(&self, device: &str, numbers: &str) {
        let name = device.rsplit('/').next().unwrap();
        self.write(&format!("devices/{device}/dev"), numbers);
        fs::create_dir_all(self.0.join("devices").join(device).join("holders")).unwrap();
        let link = |path: String| {
            symlink(Path::new("/sys/devices").join(device), self.0.join(path)).unwrap();
        };
        link(format!("class/block/{name}"));
        link(format!("dev/block/{numbers}"));
        if !device.contains('/') {
            link(format!("block/{name}"));
        }
    }
}
