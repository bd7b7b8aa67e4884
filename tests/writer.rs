//! Somebody else who writes to a disk while it is measured.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Writes a file to its disk again and again, a MiB at a time, until it is dropped.
#[derive(Debug)]
pub struct OtherWriter {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl OtherWriter {
    /// A new file of so many MiB at `path`, which stays.
    pub fn start(path: &Path, mebibytes: u64) -> io::Result<Self> {
        let file = File::create_new(path)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let data = vec![7_u8; 1 << 20];
            for place in (0..mebibytes).cycle() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                file.write_all_at(&data, place << 20)?;
                file.sync_data()?;
            }
            Ok(())
        });
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for OtherWriter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        let wrote = matches!(ended, Some(Ok(Ok(()))));
        assert!(wrote || std::thread::panicking(), "it could not write: {ended:?}");
    }
}
