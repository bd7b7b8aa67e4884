//! The thread that waits in FITRIM.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use trimbench_core::{Bytes, Errno, Nanos};
use trimbench_linux::trim_range;

/// Makes one call at a time. It is left behind where a call does not return: the kernel ends it
/// with the process.
#[derive(Debug)]
pub(super) struct Trimmer {
    calls: Sender<(u64, u64)>,
    results: Receiver<Result<u64, Errno>>,
}

impl Trimmer {
    pub(super) fn start(directory: Arc<OwnedFd>, minimum: Bytes) -> std::io::Result<Self> {
        let (calls, to_make) = channel::<(u64, u64)>();
        let (done, results) = channel();
        let run = move || {
            while let Ok((start, length)) = to_make.recv() {
                let result = trim_range(directory.as_fd(), start, length, minimum.0);
                if done.send(result).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("trim".to_owned()).spawn(run)?;
        Ok(Self { calls, results })
    }

    /// Begins a call.
    pub(super) fn begin(&self, start: u64, length: u64) {
        // The thread lives as long as this end of the channel.
        let _ = self.calls.send((start, length));
    }

    /// What the call returned, if it does within this time.
    pub(super) fn result(&self, within: Nanos) -> Option<Result<u64, Errno>> {
        match self.results.recv_timeout(Duration::from_nanos(within.0)) {
            Ok(result) => Some(result),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(Errno(EIO))),
        }
    }
}

/// What a thread that has panicked answers.
const EIO: i32 = 5;
