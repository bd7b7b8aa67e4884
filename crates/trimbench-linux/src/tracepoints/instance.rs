//! A tracefs instance of our own: made, settings written, removed.
//!
//! Its name is a random token that was registered before ([`registry`]), so that a later
//! start removes leftovers, and nothing of anybody else. The instance of a killed process would
//! continue recording at some cost until then. Therefore a small watcher, a shell in a process
//! group of its own, waits for the end of a pipe that closes with this process, and removes the
//! instance.
//!
//! If tracefs is not mounted, it is reached by a mount that has no path and ends with its
//! descriptor.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use trimbench_claim::registry::{self, RegistryKind, RegistryToken};
use trimbench_claim::sysfs::names_in;
use trimbench_claim::{errno_in, errno_of, program};

use super::TracingError;

/// Longer than any description of an event.
const TEXT_MAX: usize = 64 << 10;
const USUAL: &str = "/sys/kernel/tracing";
/// The shell of the watcher, and what it does with the instance and its entry: at the end of the
/// pipe the process may still have files of the instance open, which end with it a moment later.
const SHELL: &str = "sh";
const WATCH: &str = r#"read -r _
for _ in 1 2 3 4 5 6 7 8 9; do
    [ -d "$1" ] || exit 0
    rmdir -- "$1" 2>/dev/null && rm -f -- "$2" && exit 0
    sleep 0.1
done"#;

#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    token: RegistryToken,
    /// `None` where there is no shell: then the next start removes it.
    watcher: Option<Watcher>,
    /// Holds the mount, where it is ours.
    _mount: Option<OwnedFd>,
}

/// Removes the instance when this process has ended without doing it.
#[derive(Debug)]
struct Watcher {
    process: Child,
    /// Closed to end it, or with this process.
    pipe: Option<ChildStdin>,
}

impl Instance {
    /// Makes one, after removing what killed runs left.
    pub(super) fn create() -> Result<Self, TracingError> {
        let (root, mount) = tracefs()?;
        let instances = root.join("instances");
        registry::clean(RegistryKind::Tracing, &instances);
        let token = RegistryToken::new(RegistryKind::Tracing).map_err(|errno| {
            refused(&registry::folder(), &io::Error::from_raw_os_error(errno.0))
        })?;
        let path = instances.join(token.name());
        let watcher = Watcher::start(&instances, &token).ok();
        // From here on dropping ends the watcher and forgets the token.
        let instance = Self { path, token, watcher, _mount: mount };
        fs::create_dir(&instance.path).map_err(|error| refused(&instance.path, &error))?;
        Ok(instance)
    }

    pub(super) fn name(&self) -> &str {
        self.token.name()
    }

    /// Whether it goes by itself when this process is killed.
    pub(super) fn is_watched(&self) -> bool {
        self.watcher.is_some()
    }

    pub(super) fn set(&self, name: &str, value: &str) -> Result<(), TracingError> {
        let path = self.path.join(name);
        let open = OpenOptions::new().write(true).open(&path);
        open.and_then(|mut file| file.write_all(value.as_bytes()))
            .map_err(|error| refused(&path, &error))
    }

    pub(super) fn text(&self, name: &str) -> Result<String, TracingError> {
        let path = self.path.join(name);
        // Some end after the first read, whatever is left: it must take all.
        let mut bytes = vec![0; TEXT_MAX];
        let length = File::open(&path)
            .and_then(|mut file| file.read(&mut bytes))
            .map_err(|error| refused(&path, &error))?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    pub(super) fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    pub(super) fn buffers(&self) -> Result<Vec<File>, TracingError> {
        let folder = self.path.join("per_cpu");
        let open = |name: String| {
            let path = folder.join(name).join("trace_pipe_raw");
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::open(&path, flags, Mode::empty())
                .map(File::from)
                .map_err(|errno| refused(&path, &io::Error::from(errno)))
        };
        names_in(&folder).into_iter().map(open).collect()
    }
}

impl Drop for Instance {
    /// Ends the recording and removes it. A failure is silent; the watcher or the next start tries
    /// again.
    fn drop(&mut self) {
        if registry::is_gone(&self.path) {
            self.token.forget();
        }
    }
}

impl Watcher {
    /// Begins to watch over what will be made in `instances`.
    fn start(instances: &Path, token: &RegistryToken) -> io::Result<Self> {
        // In a group of its own a terminal's Ctrl-C does not reach it. By its working directory it
        // reaches a tracefs that no path leads to.
        let mut shell = program(SHELL).ok_or(io::ErrorKind::NotFound)?;
        let mut process = shell
            .args(["-c", WATCH, "trimbench-watcher", token.name()])
            .arg(token.entry())
            .current_dir(instances)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }
}

impl Drop for Watcher {
    /// Ends it: it finds nothing to remove, or tries that once more.
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.process.wait();
    }
}

/// Where tracefs is, and the mount if it was made here.
fn tracefs() -> Result<(PathBuf, Option<OwnedFd>), TracingError> {
    let usual = Path::new(USUAL);
    if usual.join("instances").exists() {
        return Ok((usual.to_owned(), None));
    }
    let mount = || {
        let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_create(&context)?;
        let flags = FsMountFlags::FSMOUNT_CLOEXEC;
        rustix::mount::fsmount(&context, flags, MountAttrFlags::empty())
    };
    match mount() {
        Ok(mount) => {
            let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
            Ok((root, Some(mount)))
        }
        // No such filesystem.
        Err(rustix::io::Errno::NODEV) => Err(TracingError::Absent { path: USUAL.to_owned() }),
        Err(errno) => {
            Err(TracingError::NotPermitted { path: USUAL.to_owned(), errno: errno_of(errno) })
        }
    }
}

fn refused(path: &Path, error: &io::Error) -> TracingError {
    let errno = errno_in(error);
    let path = path.display().to_string();
    match errno.0 {
        libc::EPERM | libc::EACCES => TracingError::NotPermitted { path, errno },
        libc::ENOENT => TracingError::Absent { path },
        _ => TracingError::Kernel { path, errno },
    }
}
