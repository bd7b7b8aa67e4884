//! The files that the kernel and the system describe themselves in: `/sys`, `/proc`, `/etc`,
//! `/run`, below a root directory.
//!
//! The root is `/` on the machine itself, or a recorded tree (`--sysroot`). In a recorded tree
//! nothing outside of it is read: absolute links are taken from its root, and no program is
//! started. What `dmsetup` would print is then read from files (see [`SystemTree::printed`]).
//!
//! A fact that cannot be read is not a fact that is absent: [`SystemFact`] keeps the two apart.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

use trimbench_claim::{errno_in, program};
use trimbench_core::text::to_text;
use trimbench_core::{Errno, Nanos};
use trimbench_linux::{monotonic_time, pause};

/// Links that are followed before a path counts as a loop, as in the kernel.
const MAX_LINKS: usize = 40;
/// How long a program of the system may take before it is left behind.
const PROGRAM_LIMIT: Nanos = Nanos::from_secs(2);
/// From one look at whether it has ended to the next.
const LOOK: Nanos = Nanos::from_millis(5);
/// Bytes of a file that are read: `/proc/self/mountinfo` of a machine with 10,000 mounts has 2 MB.
const MAX_FILE: u64 = 16 << 20;

/// What became of looking for a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemFact<T> {
    /// It is there.
    Known(T),
    /// It is not there: the kernel, or the system, does not have it.
    Absent,
    /// It may be there, and cannot be read.
    Unreadable(ReadObstacle),
}

/// Why a fact could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadObstacle {
    /// The file, or the program.
    pub what: String,
    /// The reason.
    pub errno: Errno,
}

impl<T> SystemFact<T> {
    /// The fact, if it is known.
    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(fact) => Some(fact),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }

    /// The same as a reference.
    pub fn as_known(&self) -> Option<&T> {
        match self {
            Self::Known(fact) => Some(fact),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }

    /// Why it could not be read, if so.
    pub fn obstacle(&self) -> Option<&ReadObstacle> {
        match self {
            Self::Unreadable(obstacle) => Some(obstacle),
            Self::Known(_) | Self::Absent => None,
        }
    }

    /// The fact by a function that may find no sense in it; then it is absent.
    pub fn and_then<U>(self, read: impl FnOnce(T) -> Option<U>) -> SystemFact<U> {
        match self {
            Self::Known(fact) => read(fact).map_or(SystemFact::Absent, SystemFact::Known),
            Self::Absent => SystemFact::Absent,
            Self::Unreadable(obstacle) => SystemFact::Unreadable(obstacle),
        }
    }
}

impl ReadObstacle {
    /// For people: the file, and why.
    pub fn words(&self) -> String {
        format!("`{}` cannot be read ({})", self.what, self.errno)
    }
}

/// The system's files below a root.
#[derive(Clone, Debug)]
pub struct SystemTree {
    root: PathBuf,
}

impl SystemTree {
    /// This machine.
    pub fn live() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// A recorded tree below this directory.
    pub fn recorded(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Whether it is this machine.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A text file, trimmed; absent if it is empty.
    pub fn text(&self, path: impl AsRef<Path>) -> SystemFact<String> {
        self.bytes(path.as_ref()).and_then(|bytes| {
            let trimmed = bytes.trim_ascii();
            (!trimmed.is_empty()).then(|| to_text(OsStr::from_bytes(trimmed)))
        })
    }

    /// A whole number of a file.
    pub fn number(&self, path: impl AsRef<Path>) -> SystemFact<u64> {
        self.text(path).and_then(|text| text.parse().ok())
    }

    /// The content of a file.
    pub fn bytes(&self, path: &Path) -> SystemFact<Vec<u8>> {
        let read = |path: PathBuf| -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            io::Read::read_to_end(
                &mut io::Read::take(fs::File::open(path)?, MAX_FILE),
                &mut bytes,
            )?;
            Ok(bytes)
        };
        looked(path, self.resolved(path).and_then(read))
    }

    /// Names in a folder, sorted.
    pub fn names(&self, folder: impl AsRef<Path>) -> SystemFact<Vec<String>> {
        let folder = folder.as_ref();
        let read = |path: PathBuf| -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(path)? {
                names.extend(entry?.file_name().into_string().ok());
            }
            names.sort();
            Ok(names)
        };
        looked(folder, self.resolved(folder).and_then(read))
    }

    /// The names that can be read; none where the folder is absent or closed.
    pub fn names_or_none(&self, folder: impl AsRef<Path>) -> Vec<String> {
        self.names(folder).known().unwrap_or_default()
    }

    /// Whether a file or folder is there and can be reached.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.resolved(path.as_ref()).is_ok()
    }

    /// When a file was last written to, in seconds since 1970.
    pub fn modified_s(&self, path: impl AsRef<Path>) -> Option<u64> {
        let status = fs::metadata(self.resolved(path.as_ref()).ok()?).ok()?;
        u64::try_from(std::os::unix::fs::MetadataExt::mtime(&status)).ok()
    }

    /// The path without links, as seen from the root of the tree; `None` where it does not exist.
    pub fn canonical(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let found = self.resolved(path.as_ref()).ok()?;
        Some(Path::new("/").join(found.strip_prefix(&self.root).ok()?))
    }

    /// What a program of the system prints, for root only; in a recorded tree the file
    /// `commands/NAME`, with blanks of the command line as `_` (`commands/dmsetup_table`).
    pub fn printed(&self, name: &str, arguments: &[&str]) -> SystemFact<String> {
        let line = [&[name], arguments].concat().join(" ");
        if !self.is_live() {
            return self.text(Path::new("/commands").join(line.replace(' ', "_")));
        }
        let Some(mut command) = program(name) else { return SystemFact::Absent };
        let command = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        match output_within(command, PROGRAM_LIMIT) {
            Ok(Some(text)) => SystemFact::Known(text),
            Ok(None) => {
                SystemFact::Unreadable(ReadObstacle { what: line, errno: Errno(libc::EPERM) })
            }
            Err(error) => {
                SystemFact::Unreadable(ReadObstacle { what: line, errno: errno_in(&error) })
            }
        }
    }

    /// The path on this machine. In a recorded tree each part is looked up by ourselves, so that no
    /// link leads out of it.
    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        if self.is_live() {
            return fs::canonicalize(path);
        }
        let mut left: VecDeque<PathBuf> = parts(path).collect();
        let (mut place, mut links) = (self.root.clone(), 0);
        while let Some(part) = left.pop_front() {
            if part == Path::new("..") {
                if place != self.root {
                    place.pop();
                }
                continue;
            }
            let next = place.join(&part);
            if !fs::symlink_metadata(&next)?.is_symlink() {
                place = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(io::Error::from_raw_os_error(libc::ELOOP));
            }
            let link = fs::read_link(&next)?;
            if link.is_absolute() {
                place.clone_from(&self.root);
            }
            for part in parts(&link).collect::<Vec<_>>().into_iter().rev() {
                left.push_front(part);
            }
        }
        Ok(place)
    }
}

/// What became of reading at a path.
fn looked<T>(path: &Path, read: io::Result<T>) -> SystemFact<T> {
    match read {
        Ok(fact) => SystemFact::Known(fact),
        Err(error) => match errno_in(&error) {
            Errno(libc::ENOENT | libc::ENOTDIR | libc::ENXIO | libc::ENODEV) => SystemFact::Absent,
            errno => {
                SystemFact::Unreadable(ReadObstacle { what: path.display().to_string(), errno })
            }
        },
    }
}

/// The parts of a path that name something, and `..`.
fn parts(path: &Path) -> impl Iterator<Item = PathBuf> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// What a program prints; `None` if it fails. After the limit it is killed and, if it hangs in the
/// kernel, left behind.
pub(crate) fn output_within(
    command: &mut std::process::Command,
    limit: Nanos,
) -> io::Result<Option<String>> {
    let mut child = command.spawn()?;
    let mut stdout = child.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(&mut stdout, MAX_FILE), &mut text).map(|_| text)
    });
    let begun = monotonic_time();
    loop {
        if let Some(status) = child.try_wait()? {
            let text = reader.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
            return Ok(status.success().then(|| String::from_utf8_lossy(&text).trim().to_owned()));
        }
        if monotonic_time() > begun + limit {
            child.kill()?;
            return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
        }
        pause(LOOK);
    }
}
