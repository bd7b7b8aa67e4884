//! `trimpace once` is killed at random moments, and the next start makes good what was left: the
//! largest discard of the device is as before, all files are as they were written, and the
//! filesystem is intact.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use trimbench_core::rng::Rng;

use crate::loops::{LoopDevice, Mounted, make_filesystem};

/// Ways to trim, as options of `trimpace once`: the setting is changed by the first and the last
/// two.
const WAYS: [&[&str]; 5] = [
    &["--law", "pieces", "--piece", "4K"],
    &["--law", "talos", "--chunk", "4M", "--delay", "5ms"],
    &["--p99", "1ms"],
    &["--law", "pieces", "--piece", "64K"],
    &["--law", "pieces", "--piece", "4K", "--minimum", "64K"],
];
/// Size of the image: the least that `mkfs.xfs` takes, and a little more.
const MEBIBYTES: u64 = 320;
/// Files that are written, of which every second is deleted.
const FILES: u64 = 120;
/// The largest discard of a loop device that the kernel takes back.
const LARGEST: u64 = 4_294_963_200;
/// No kill comes later than this, for a pass can be long.
const LATEST: Duration = Duration::from_millis(300);
/// How often a pass is begun that ends before it is killed, each time to be killed sooner.
const TRIES: u32 = 8;
/// Nothing here takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// One time in four `trimpace restore` is killed, too, this soon at the latest.
const RESTORE_KILLED: Duration = Duration::from_millis(3);
const TICK: Duration = Duration::from_micros(200);

/// A filesystem whose trims are killed. All is gone when this is dropped.
#[derive(Debug)]
pub struct KilledTrims {
    program: PathBuf,
    filesystem: &'static str,
    /// Before the device, in the order of dropping; `None` while it is checked.
    mounted: Option<Mounted>,
    device: LoopDevice,
    folder: TempDir,
    /// Where it is mounted.
    place: PathBuf,
    /// For how long each way takes, at most [`LATEST`].
    spans: Vec<Duration>,
}

/// What a kill came to.
#[derive(Clone, Debug)]
pub struct TrimKill {
    /// The way to trim, and when it was killed.
    pub what: String,
    /// The largest discard was not the device's own when the kill came.
    pub was_changed: bool,
    /// The setting was not as before after the next start.
    pub setting: Option<String>,
    /// Files that are missing, new or different.
    pub files: Option<String>,
    /// What the filesystem's own checker found.
    pub structure: Option<String>,
    /// What the next start said, unless it ended well.
    pub next_start: Option<String>,
}

impl TrimKill {
    /// All that is wrong.
    pub fn wrong(&self) -> Vec<&str> {
        let all = [&self.setting, &self.files, &self.structure, &self.next_start];
        all.into_iter().flatten().map(String::as_str).collect()
    }
}

impl KilledTrims {
    /// A filesystem (`ext4` or `xfs`) with files, in a folder in `parent`, trimmed by the program
    /// at this path.
    ///
    /// # Errors
    /// If a pass that nobody kills does not end well, or an interrupted one leaves something.
    ///
    /// # Panics
    /// If there can be no filesystem: [`requires`](crate::requires) said that it works.
    pub fn new(program: &Path, filesystem: &'static str, parent: &Path) -> Result<Self> {
        let device = LoopDevice::within(parent, MEBIBYTES);
        make_filesystem(device.node(), filesystem, &[]);
        fs::write(device.queue("discard_max_bytes"), LARGEST.to_string())
            .context("set the largest discard to what can be put back")?;
        let folder = tempfile::tempdir_in(parent).context("make a folder")?;
        let (program, place) = (program.to_owned(), folder.path().join("mount"));
        let (mounted, spans) = (None, Vec::new());
        let mut new = Self { program, filesystem, mounted, device, folder, place, spans };
        new.mount();
        new.write_files()?;
        for way in WAYS {
            let span = new.span(way)?;
            new.spans.push(span);
        }
        new.mount_anew()?;
        Ok(new)
    }

    /// How long a pass takes; [`LATEST`] if it takes longer.
    fn span(&mut self, way: &[&str]) -> Result<Duration> {
        self.mount_anew()?;
        let begun = Instant::now();
        let mut process = self.start(way)?;
        let status = ended(&mut process, LATEST)?;
        if let Some(status) = status {
            ensure!(status.success(), "{way:?}: {status}: {}", self.errors());
        } else {
            // By the first signal it puts everything back.
            let id = Pid::from_child(&process);
            kill_process(id, Signal::TERM).context("interrupt trimpace")?;
            ended(&mut process, PATIENCE)?.context("an interrupted pass hangs")?;
        }
        let largest = self.largest()?;
        ensure!(largest == LARGEST, "{way:?} left the largest discard at {largest}");
        Ok(begun.elapsed().min(LATEST))
    }

    /// Begins a pass, kills it, makes the next start and looks at what is there.
    ///
    /// # Errors
    /// If a program hangs or cannot be run: what is wrong after a kill is no error.
    pub fn kill(&mut self, rng: &mut Rng) -> Result<TrimKill> {
        let way = usize::try_from(rng.below(WAYS.len() as u64))?;
        let mut part = rng.below(1_000) as f64 / 1_000.0;
        for _ in 0..TRIES {
            let moment = self.spans[way].mul_f64(part);
            let mut process = self.start(WAYS[way])?;
            thread::sleep(moment);
            process.kill().context("kill trimpace")?;
            let status =
                ended(&mut process, PATIENCE)?.context("the killed trimpace does not go")?;
            if status.signal().is_none() {
                part *= 0.75;
                self.mount_anew()?;
                continue;
            }
            let was_changed = self.largest()? != LARGEST;
            let next_start = self.next_start(rng)?;
            let found = self.largest()?;
            let setting = (found != LARGEST).then(|| format!("the largest discard is {found}"));
            // The files are read afterwards, from the device.
            let structure = self.check_structure()?;
            let files = self.check_files();
            let what = format!("{} {:?} after {moment:?}", self.filesystem, WAYS[way]);
            return Ok(TrimKill { what, was_changed, setting, files, structure, next_start });
        }
        bail!("{:?} always ends before it is killed", WAYS[way])
    }

    /// The next trimpace, or `trimpace restore`, which one time in four is killed itself, and made
    /// again. What it says, unless it ends well.
    fn next_start(&self, rng: &mut Rng) -> Result<Option<String>> {
        if rng.below(4) == 0 {
            let mut process = self.spawn(&["restore"])?;
            thread::sleep(RESTORE_KILLED.mul_f64(rng.below(1_000) as f64 / 1_000.0));
            process.kill().context("kill `trimpace restore`")?;
            ended(&mut process, PATIENCE)?.context("the killed `trimpace restore` does not go")?;
        }
        let mut process = if rng.below(2) == 0 {
            self.spawn(&["restore"])?
        } else {
            self.start(&["--law", "plain", "--length", "1M"])?
        };
        let status = ended(&mut process, PATIENCE)?.context("the next start hangs")?;
        Ok((!status.success()).then(|| format!("{status}: {}", self.errors())))
    }

    fn start(&self, way: &[&str]) -> Result<Child> {
        self.spawn(&[&["once"], way, &[self.point()]].concat())
    }

    fn spawn(&self, arguments: &[&str]) -> Result<Child> {
        let errors = fs::File::create(self.folder.path().join("errors")).context("make a file")?;
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        command.spawn().context("start trimpace")
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default()
    }

    fn point(&self) -> &str {
        self.place.to_str().expect("temporary names are ASCII")
    }

    fn largest(&self) -> Result<u64> {
        let text = fs::read_to_string(self.device.queue("discard_max_bytes"));
        text.context("read the largest discard")?.trim().parse().context("it is a number")
    }

    fn mount(&mut self) {
        let arguments = ["-o", "nodiscard", self.device.node()];
        self.mounted = Some(Mounted::new(&arguments, &self.place));
    }

    /// What it remembers as trimmed is forgotten, and what was read is read again.
    fn mount_anew(&mut self) -> Result<()> {
        self.unmount()?;
        self.mount();
        Ok(())
    }

    /// Who keeps the file of a killed probe has it open for a moment longer.
    fn unmount(&mut self) -> Result<()> {
        let begun = Instant::now();
        while self.mounted.is_some() {
            match rustix::mount::unmount(&self.place, UnmountFlags::NOFOLLOW) {
                Ok(()) => drop(self.mounted.take()),
                Err(error) if begun.elapsed() > PATIENCE => {
                    bail!("it cannot be unmounted: {error}")
                }
                Err(_) => thread::sleep(TICK),
            }
        }
        Ok(())
    }

    fn write_files(&self) -> Result<()> {
        for file in 0..FILES {
            fs::write(self.place.join(file.to_string()), content(file)).context("write a file")?;
        }
        rustix::fs::sync();
        let deleted = (1..FILES).step_by(2).map(|file| self.place.join(file.to_string()));
        deleted.into_iter().try_for_each(fs::remove_file).context("delete a file")
    }

    /// Which files are not what was written.
    fn check_files(&self) -> Option<String> {
        let kept: BTreeSet<u64> = (0..FILES).step_by(2).collect();
        let names = fs::read_dir(&self.place).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let there: BTreeSet<u64> = names.filter_map(|name| name.parse().ok()).collect();
        if there != kept {
            return Some(format!("the files are {there:?}"));
        }
        let path = |file: &u64| self.place.join(file.to_string());
        let differs = |file: &&u64| fs::read(path(file)).ok() != Some(content(**file));
        kept.iter().find(differs).map(|file| format!("file {file} is different"))
    }

    /// What the checker says unless it finds nothing.
    fn check_structure(&mut self) -> Result<Option<String>> {
        self.unmount()?;
        let checker: &[&str] = match self.filesystem {
            "ext4" => &["e2fsck", "-fn"],
            "xfs" => &["xfs_repair", "-n"],
            other => bail!("{other} has no checker here"),
        };
        let output = Command::new(checker[0]).args(&checker[1..]).arg(self.device.node()).output();
        let output = output.with_context(|| format!("run {}", checker[0]))?;
        self.mount();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((!output.status.success()).then_some(said))
    }
}

/// What a file holds: 16 KiB to 112 KiB that are like those of no other file.
fn content(file: u64) -> Vec<u8> {
    let mut rng = Rng::new(file);
    let words = (16 + rng.below(97)) * 128;
    (0..words).flat_map(|_| rng.bits().to_le_bytes()).collect()
}

/// How it ended; `None` if it is still there after this time.
fn ended(process: &mut Child, time: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if let Some(status) = process.try_wait().context("wait for trimpace")? {
            return Ok(Some(status));
        }
        thread::sleep(TICK);
    }
    Ok(None)
}
