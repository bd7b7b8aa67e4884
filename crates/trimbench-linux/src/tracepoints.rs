//! Requests as the block layer sees them, from its tracepoints: when each was given to it, passed
//! to the device, and completed.
//!
//! Binary events come from a tracefs instance of our own, so that other users of tracing are not
//! disturbed and only events of our devices are recorded. A thread empties its buffers 20 times a
//! second. Events are sorted and joined to requests here; they are never formatted as text.
//!
//! What the events mean (kernel 6.18): a bio is *queued* when the filesystem gives it to the block
//! layer, which is before it waits for a tag or is held by write-back throttling, and after
//! blk-throttle has let it go. Its request is *issued* when the driver takes it.
//!
//! Needs root. Not visible: layers above the device's own queue (dm, md), which count as the layer
//! above. Devices without a queue of requests (zram, `NVMe` multipath) are refused.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use trimbench_claim::errno_of;
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::{BlockRequest, Errno};

use crate::clock::MonotonicClock;

mod events;
mod instance;
mod pages;
mod recorder;
mod requests;
mod stream;
mod watch;

pub use events::EventTask;
pub use recorder::{RecordedCommand, RecordedEvent, Recorder};
pub use requests::TracedRequest;
pub use watch::RequestWatch;

use events::Happened;
use instance::Instance;
use requests::Requests;
use stream::EventStream;

/// How often the kernel's buffers are emptied.
const INTERVAL: Duration = Duration::from_millis(50);

/// Why requests cannot be seen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TracingError {
    /// Only root may trace; where root may not either, the kernel is locked down
    /// (`/sys/kernel/security/lockdown`), or this is a container or sandbox without tracefs.
    #[error("tracing is not permitted ({errno} at `{path}`): it needs root outside a sandbox")]
    NotPermitted {
        /// Where.
        path: String,
        /// The reason.
        errno: Errno,
    },
    /// The kernel was built without tracing or without block tracepoints
    /// (`CONFIG_BLK_DEV_IO_TRACE`).
    #[error("the kernel has no block tracepoints: `{path}` is missing")]
    Absent {
        /// What is missing.
        path: String,
    },
    /// The kernel's buffers have a layout that is not known here.
    #[error("`{path}` describes an unknown layout")]
    UnknownLayout {
        /// Where it is described.
        path: String,
    },
    /// The filesystem lies on no block device, as tmpfs does.
    #[error("there is no block device below")]
    NoDevice,
    /// The device has no queue of requests: name the devices below it.
    #[error("`{device}` handles no requests of its own")]
    NoRequests {
        /// Its kernel name.
        device: String,
    },
    /// The kernel refused.
    #[error("cannot set up tracing at `{path}`: {errno}")]
    Kernel {
        /// Where.
        path: String,
        /// Its reason.
        errno: Errno,
    },
}

/// Records the requests of devices from its start until it is dropped.
#[derive(Debug)]
pub(crate) struct Tracer {
    reader: Arc<Mutex<Reader>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Tracer {
    /// Begins to record. Times are those of `clock`; requests name devices by their place in
    /// `devices`.
    pub(crate) fn start(
        devices: &[BlockDevice],
        clock: MonotonicClock,
    ) -> Result<Self, TracingError> {
        let disks = requests::disks(devices)?;
        let instance = Instance::create()?;
        let numbers: Vec<u32> = disks.iter().flat_map(|disk| &disk.numbers).copied().collect();
        let stream = EventStream::new(instance, &numbers, &Happened::ALL)?;
        let reader = Reader { stream, clock, requests: Requests::new(disks) };
        let reader = Arc::new(Mutex::new(reader));
        let (stop, stopped) = channel::<()>();
        let shared = Arc::clone(&reader);
        let drains = move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                lock(&shared).drain();
            }
        };
        let thread = std::thread::Builder::new().name("tracepoints".to_owned()).spawn(drains);
        let thread = thread.map_err(|error| TracingError::Kernel {
            path: "a thread".to_owned(),
            errno: errno_of(error),
        })?;
        Ok(Self { reader, stop: Some(stop), thread: Some(thread) })
    }

    /// Appends the requests that ended since the last call, in the order of their ends, then those
    /// under way. Requests of the last 0.2 ms may be missing or appear not as far as they are.
    pub(crate) fn take(&mut self, out: &mut Vec<BlockRequest>) {
        let mut reader = lock(&self.reader);
        reader.drain();
        let mut taken = Vec::new();
        reader.requests.take(&mut taken);
        out.extend(taken.into_iter().map(|traced| traced.request));
    }

    /// Appends the requests that ended since the last call.
    fn take_ended(&mut self, out: &mut Vec<TracedRequest>) {
        let mut reader = lock(&self.reader);
        reader.drain();
        reader.requests.take_ended(out);
    }

    /// Appends what is left: requests that ended, then those under way.
    fn take_rest(&mut self, out: &mut Vec<TracedRequest>) {
        let mut reader = lock(&self.reader);
        reader.drain();
        reader.requests.take(out);
    }

    /// Events that the kernel dropped because its buffers were full, at least. After each loss all
    /// that was under way is forgotten.
    pub(crate) fn lost(&self) -> u64 {
        lock(&self.reader).requests.lost()
    }
}

impl Drop for Tracer {
    /// Ends the thread; the reader then removes the instance.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct Reader {
    stream: EventStream,
    clock: MonotonicClock,
    requests: Requests,
}

impl Reader {
    fn drain(&mut self) {
        let until = EventStream::settles_at();
        let lost = self.stream.drain();
        if lost > 0 {
            // What is in order after the loss cannot be told from what was before.
            self.stream.forget();
            self.requests.lose(lost);
            return;
        }
        for event in self.stream.settled(until) {
            self.requests.apply(&event, self.clock.at_monotonic(event.at));
        }
    }
}

/// A reader that panicked is as good as it was: what it lost shows as requests under way.
fn lock(reader: &Mutex<Reader>) -> MutexGuard<'_, Reader> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}
