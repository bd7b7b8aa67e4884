//! Helpers of several rows: a folder with valuable data, small runs, and runs that wait.

use std::fs::{self, File};
use std::io::{PipeReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tempfile::TempDir;

use super::running::wait_for;
use super::{command, ended, trimbench};

/// A session on one emulated drive that takes some hundredths of a second.
pub(super) const SMALL: [&str; 10] = [
    "run",
    "delete-stall",
    "--target",
    "sim:generic-nvme-tlc",
    "--capacity",
    "1GiB",
    "--set",
    "sizes=16MiB,32MiB,64MiB",
    "--set",
    "span=64MiB",
];
/// What must not be written over.
pub(super) const PRECIOUS: &[u8] = b"precious\n";
/// A trace that anyone can write.
pub(super) const LOG: &str = "fio version 3 iolog\n0 /d add\n1 /d open\n1 /d write 0 4096\n";

/// A folder for one row.
#[derive(Debug)]
pub(super) struct Folder(TempDir);

/// A run that waits for somebody to read its events, before the first step is kept.
#[derive(Debug)]
pub(super) struct Waiting {
    child: Child,
    events: PipeReader,
    /// What it said so far.
    errors: Vec<u8>,
}

impl Folder {
    pub(super) fn new() -> Self {
        Self::within(Path::new("/var/tmp"))
    }

    pub(super) fn within(parent: &Path) -> Self {
        Self(tempfile::tempdir_in(parent).expect("it is writable"))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A private file named `precious`.
    pub(super) fn precious(&self) -> PathBuf {
        let path = self.at("precious");
        fs::write(&path, PRECIOUS).expect("the folder is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the file is ours");
        path
    }

    /// That it is as it was.
    #[track_caller]
    pub(super) fn kept(&self) {
        let content = fs::read(self.at("precious")).unwrap_or_default();
        assert!(content == PRECIOUS, "the precious file holds {} other bytes", content.len());
    }

    /// Runs the program here and says how it ended if that is not `code`.
    #[track_caller]
    pub(super) fn ends(&self, arguments: &[&str], code: i32) {
        ended(&trimbench(self.path(), arguments), code);
    }

    /// A finished run in the directory `run`.
    pub(super) fn finished(&self) -> PathBuf {
        let arguments = [&SMALL[..], &["--no-report", "--output", "run"]].concat();
        ended(&trimbench(self.path(), &arguments), 0);
        self.at("run")
    }

    /// A run at work in the directory `run`.
    pub(super) fn waiting(&self, more: &[&str]) -> Waiting {
        let wanted = ["--output", "run", "--output-format", "ndjson"];
        let arguments = [&SMALL[..], &wanted, more].concat();
        let (events, mut full) = std::io::pipe().expect("pipes can be made");
        fill(&mut full);
        let mut command = command(self.path(), &arguments);
        command.stdout(full).stderr(Stdio::piped());
        let child = command.spawn().expect("the program was built");
        let new = Waiting { child, events, errors: Vec::new() };
        // It waits for room in the pipe: its first step was measured, and is not kept yet.
        let place = format!("/proc/{}/wchan", new.child.id());
        wait_for("run that waits for room", || {
            fs::read_to_string(&place).ok().filter(|place| place.contains("pipe_write"))
        });
        new
    }
}

impl Waiting {
    /// What Ctrl-C does, once it is known to have arrived.
    pub(super) fn interrupt(&mut self) {
        tests::run("kill", &["-INT", &self.child.id().to_string()]);
        let stderr = self.child.stderr.as_mut().expect("it is piped");
        let mut byte = [0];
        while !self.errors.ends_with(b"at once)\n") {
            let read = stderr.read(&mut byte).expect("the pipe is ours");
            assert_eq!(read, 1, "the run ended");
            self.errors.push(byte[0]);
        }
    }

    /// Lets it go on to its end: how that was, its events, and what it said on stderr.
    pub(super) fn go_on(mut self) -> (ExitStatus, String, String) {
        let mut events = Vec::new();
        self.events.read_to_end(&mut events).expect("the pipe is ours");
        let mut errors = std::mem::take(&mut self.errors);
        let stderr = self.child.stderr.as_mut().expect("it is piped");
        stderr.read_to_end(&mut errors).expect("the pipe is ours");
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let status = self.child.wait().expect("it is our child");
        let events = String::from_utf8_lossy(&events).trim_start_matches('\0').to_owned();
        (status, events, errors)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fills a pipe, so that the next who writes waits.
fn fill(pipe: &mut std::io::PipeWriter) {
    let flags = fcntl_getfl(&*pipe).expect("the pipe is ours");
    fcntl_setfl(&*pipe, flags | OFlags::NONBLOCK).expect("the pipe is ours");
    while pipe.write(&[0; 4096]).is_ok() {}
    fcntl_setfl(&*pipe, flags).expect("the pipe is ours");
}

/// Whether all of a file is zero.
pub(super) fn is_zero(path: impl AsRef<Path>) -> bool {
    let mut content = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut content));
    read.expect("it can be read");
    content.iter().all(|byte| *byte == 0)
}
