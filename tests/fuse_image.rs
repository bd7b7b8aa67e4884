//! An image file that this program serves by FUSE from memory: a read of it can be interrupted, and
//! what is written to it can be logged.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::FallocateFlags;
use tempfile::TempDir;
use trimbench_attach::{BlockServer, Reply, Request, ServedFile};
use trimbench_claim::errno_of;
use trimbench_core::units::index;

use crate::Mounted;
use crate::write_log::WriteLog;

/// The file. Unmounted when dropped.
#[derive(Debug)]
pub struct FuseImage {
    path: PathBuf,
    interrupts: Arc<AtomicBool>,
    // The order is that of dropping.
    _mounted: Mounted,
    _folder: TempDir,
}

struct ImageServer {
    content: File,
    size: u64,
    /// Whether the next read is interrupted.
    interrupts: Arc<AtomicBool>,
    /// Where what changes it is noted.
    log: Option<Arc<WriteLog>>,
}

impl FuseImage {
    /// Of this size.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(mebibytes: u64) -> Self {
        Self::logged(mebibytes, None)
    }

    /// The same, with a log of its writes.
    pub(crate) fn logged(mebibytes: u64, log: Option<Arc<WriteLog>>) -> Self {
        let folder = crate::scratch();
        let size = mebibytes << 20;
        let content = tempfile::tempfile_in(folder.path()).expect("the folder is ours");
        content.set_len(size).expect("sparse files take no room");
        let interrupts = Arc::<AtomicBool>::default();
        let server = ImageServer { content, size, interrupts: Arc::clone(&interrupts), log };
        let place = folder.path().join("fuse");
        std::fs::create_dir(&place).expect("the folder is ours");
        let path = ServedFile::of(server).and_then(|served| served.mount(&place));
        let path = path.expect("root may mount FUSE");
        Self { path, interrupts, _mounted: Mounted::by_another(&place), _folder: folder }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next read ends with EINTR, as if a signal had come.
    pub fn interrupt(&self) {
        self.interrupts.store(true, Ordering::Relaxed);
    }
}

impl ImageServer {
    fn does(&self, request: Request<'_>) -> io::Result<Vec<u8>> {
        match request {
            Request::Read { .. } if self.interrupts.swap(false, Ordering::Relaxed) => {
                Err(rustix::io::Errno::INTR.into())
            }
            Request::Read { offset, length } => {
                let length = length.min(self.size.saturating_sub(offset));
                let mut bytes = vec![0; index(length)];
                self.content.read_exact_at(&mut bytes, offset).map(|()| bytes)
            }
            Request::Write { offset, data } => {
                self.content.write_all_at(data, offset).map(|()| Vec::new())
            }
            // Whatever a range is freed for, it reads as zeroes afterwards.
            Request::Discard { offset, length }
            | Request::Zero { offset, length }
            | Request::ZeroFreeing { offset, length } => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(&self.content, flags, offset, length)?;
                Ok(Vec::new())
            }
            Request::Flush => Ok(Vec::new()),
        }
    }
}

impl BlockServer for ImageServer {
    fn size(&self) -> u64 {
        self.size
    }

    fn submit(&self, request: Request<'_>, reply: Reply) {
        if let Some(log) = &self.log {
            log.note(request);
        }
        reply(self.does(request).map_err(errno_of));
    }
}
