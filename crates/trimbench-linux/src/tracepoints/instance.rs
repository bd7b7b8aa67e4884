//! A tracefs instance of our own: made, settings written, removed.
//!
//! Its name is `trimbench-PID-NUMBER`, and its owner holds a lock on it (flock), which the kernel
//! releases with the process, however that ends. What a killed run left goes on recording at some
//! cost, so that every start removes those whose process is gone and whose lock is free.
//!
//! Where tracefs is not mounted, it is reached by a mount that no path leads to, and that ends with
//! its descriptor.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::FlockOperation;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use trimbench_core::Errno;

use crate::mounts::errno_of;
use crate::sysfs::names_in;

use super::TracingError;

/// What the name of each of our instances begins with.
const PREFIX: &str = "trimbench-";
/// Longer than any description of an event.
const TEXT_MAX: usize = 64 << 10;
/// Where tracefs usually is.
const USUAL: &str = "/sys/kernel/tracing";

/// An instance, removed when dropped.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
    /// Holds the mount, where it is ours.
    _mount: Option<OwnedFd>,
}

impl Instance {
    /// Makes one, after removing what killed runs left.
    pub(super) fn create() -> Result<Self, TracingError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (root, mount) = tracefs()?;
        let instances = root.join("instances");
        for name in names_in(&instances) {
            remove_if_abandoned(&instances, &name);
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = instances.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(|error| refused(&path, &error))?;
        match locked(&path) {
            Ok(lock) => Ok(Self { path, _lock: lock, _mount: mount }),
            Err(error) => {
                // The first error is the one to report.
                let _ = fs::remove_dir(&path);
                Err(refused(&path, &error))
            }
        }
    }

    /// Writes a setting.
    pub(super) fn set(&self, name: &str, value: &str) -> Result<(), TracingError> {
        let path = self.path.join(name);
        let open = OpenOptions::new().write(true).open(&path);
        open.and_then(|mut file| file.write_all(value.as_bytes()))
            .map_err(|error| refused(&path, &error))
    }

    /// Reads a description.
    pub(super) fn text(&self, name: &str) -> Result<String, TracingError> {
        let path = self.path.join(name);
        // Some end after the first read, whatever is left: it must take all.
        let mut bytes = vec![0; TEXT_MAX];
        let length = File::open(&path)
            .and_then(|mut file| file.read(&mut bytes))
            .map_err(|error| refused(&path, &error))?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    /// Where `name` is, for messages.
    pub(super) fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// The buffers, one a processor.
    pub(super) fn buffers(&self) -> Result<Vec<File>, TracingError> {
        let folder = self.path.join("per_cpu");
        let open = |name: String| {
            let path = folder.join(name).join("trace_pipe_raw");
            let flags = rustix::fs::OFlags::RDONLY
                | rustix::fs::OFlags::NONBLOCK
                | rustix::fs::OFlags::CLOEXEC;
            rustix::fs::open(&path, flags, rustix::fs::Mode::empty())
                .map(File::from)
                .map_err(|errno| refused(&path, &io::Error::from(errno)))
        };
        names_in(&folder).into_iter().map(open).collect()
    }
}

impl Drop for Instance {
    /// Ends the recording and removes it. A failure is silent; the next start tries again.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
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

fn locked(path: &Path) -> io::Result<File> {
    let directory = File::open(path)?;
    rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    Ok(directory)
}

/// Removes an instance of ours that nobody has any more.
fn remove_if_abandoned(instances: &Path, name: &str) {
    let Some(process) = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()) else {
        return;
    };
    // Of a process in another container the number may be unknown here: then there is the lock. It
    // is taken a moment after the instance is made: then there is the process.
    let is_process = process.parse::<u32>().is_ok();
    if is_process && !Path::new("/proc").join(process).exists() {
        let path = instances.join(name);
        if let Ok(_lock) = locked(&path) {
            let _ = fs::remove_dir(&path);
        }
    }
}

fn refused(path: &Path, error: &io::Error) -> TracingError {
    let errno = Errno(error.raw_os_error().unwrap_or(Errno::EIO.0));
    let path = path.display().to_string();
    match errno.0 {
        libc::EPERM | libc::EACCES => TracingError::NotPermitted { path, errno },
        libc::ENOENT => TracingError::Absent { path },
        _ => TracingError::Kernel { path, errno },
    }
}
