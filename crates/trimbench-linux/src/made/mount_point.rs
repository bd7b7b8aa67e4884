//! The directory of our own that filesystems are mounted on.

use std::path::{Path, PathBuf};

use rustix::mount::UnmountFlags;
use trimbench_core::{Errno, Nanos};

use crate::directory::{Workspace, clean_leftovers};
use crate::mounts::errno_of;

/// Where it is made: a directory in memory that every system has, else the one for temporary files.
const PARENTS: [&str; 2] = ["/run", "/tmp"];
/// Its name in the workspace. One that the workspace removes when it is empty.
const NAME: &str = "s0";
/// How often an unmount is tried that others keep busy (indexers, udev), and after what pause.
const TRIES: u32 = 20;
const PAUSE: Nanos = Nanos::from_millis(50);

/// A place to mount on. What is mounted there is unmounted and the place removed when dropped, or
/// after a kill by the next one that is made.
#[derive(Debug)]
pub(super) struct MountPoint {
    path: PathBuf,
    cleaned: Vec<PathBuf>,
    workspace: Workspace,
}

impl MountPoint {
    /// Removes what killed runs left, then makes a place of its own.
    pub(super) fn create() -> Result<Self, Errno> {
        let parent = PARENTS.map(Path::new).into_iter().find(|parent| parent.is_dir());
        let parent = parent.unwrap_or(Path::new("/"));
        let cleaned = clean_leftovers(parent, |workspace| unmount_all(&workspace.join(NAME)))?;
        let workspace = Workspace::create(parent)?;
        let path = workspace.path().join(NAME);
        std::fs::create_dir(&path)
            .map_err(|error| Errno(error.raw_os_error().unwrap_or(Errno::EIO.0)))?;
        Ok(Self { path, cleaned, workspace })
    }

    /// Where to mount.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What killed runs had left.
    pub(super) fn cleaned(&self) -> &[PathBuf] {
        &self.cleaned
    }

    /// Unmounts what is mounted there.
    #[expect(clippy::disallowed_methods, reason = "the target is closed: no time of its passes")]
    pub(super) fn unmount(&self) -> Result<(), Errno> {
        let once = || rustix::mount::unmount(&self.path, UnmountFlags::NOFOLLOW).map_err(errno_of);
        let mut ended = once();
        for _ in 0..TRIES {
            if ended != Err(Errno(libc::EBUSY)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_nanos(PAUSE.0));
            ended = once();
        }
        ended
    }
}

impl Drop for MountPoint {
    /// Detaches what could not be unmounted: the kernel unmounts it with its last user.
    fn drop(&mut self) {
        unmount_all(&self.path);
        // A failure is silent here; the next start tries again.
        let _ = self.workspace.remove();
    }
}

/// Detaches every filesystem that is mounted on `path`.
fn unmount_all(path: &Path) {
    let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
    while rustix::mount::unmount(path, flags).is_ok() {}
}
