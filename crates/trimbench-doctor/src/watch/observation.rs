//! What a watch saw: requests of disks, and threads that waited. All times count from its begin.

use trimbench_core::{Bytes, Nanos, OperationKind};

/// Everything that was seen, for [`super::analyse`].
#[derive(Clone, Debug, Default)]
pub struct WatchObservation {
    /// Where requests were seen.
    pub source: WatchSource,
    /// How long the watch took.
    pub span: Nanos,
    /// Kernel names of the disks, in the order in which requests number them.
    pub disks: Vec<String>,
    /// The requests, in any order.
    pub requests: Vec<WatchedRequest>,
    /// Threads, which requests name by their place here.
    pub threads: Vec<WatchedThread>,
    /// Waits that lasted.
    pub waits: Vec<ThreadWait>,
    /// How uncertain the times of requests are: 0 for tracepoints, a sample for counters.
    pub resolution: Nanos,
    /// How uncertain the beginnings and ends of waits are.
    pub wait_resolution: Nanos,
    /// Events that the kernel dropped, at least.
    pub events_lost: u64,
}

/// How requests were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchSource {
    /// Each by itself, through the block tracepoints.
    #[default]
    Tracepoints,
    /// As sums over a sample, through the counters of sysfs.
    Counters,
}

/// A request, or with counters those of a class that ended within one sample, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedRequest {
    /// Place of its disk.
    pub disk: u16,
    /// Its class.
    pub kind: OperationKind,
    /// How many requests this stands for: 1 for tracepoints.
    pub count: u32,
    /// Bytes of all of them.
    pub length: Bytes,
    /// When it was given to the block layer: before it waited for a tag.
    pub entered: Nanos,
    /// When the driver took it; `None` while it waits.
    pub issued: Option<Nanos>,
    /// When it was done; `None` if it was under way at the end.
    pub completed: Option<Nanos>,
    /// Place of the thread that caused it; `None` where that is not known.
    pub thread: Option<u32>,
    /// Whether it is a read of the watch itself.
    pub is_own: bool,
}

/// A thread. Its number is that of the first namespace of processes.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct WatchedThread {
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// Its number.
    pub pid: u32,
}

/// A thread that waited without interruption (state D) for something of the watched filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadWait {
    /// Which.
    pub thread: WatchedThread,
    /// The function of the kernel in which it waited; empty where that may not be read.
    pub function: String,
    /// When it was first seen to wait.
    pub from: Nanos,
    /// When it was last seen to wait.
    pub to: Nanos,
}

impl ThreadWait {
    /// Whether it waited where a frozen filesystem keeps its writers (`sb_start_write`).
    pub(super) fn seems_frozen(&self) -> bool {
        ["percpu_rwsem_wait", "percpu_down_read", "__percpu_down_read", "__sb_start_write"]
            .contains(&self.function.as_str())
    }
}

impl WatchedRequest {
    /// When it ended, as far as the watch goes.
    pub(super) fn end(&self, span: Nanos) -> Nanos {
        self.completed.unwrap_or(span).max(self.entered)
    }

    /// For how long it was under way, as far as the watch goes.
    pub(super) fn took(&self, span: Nanos) -> Nanos {
        self.end(span).saturating_sub(self.entered)
    }

    /// Whether somebody waits for its data: no discard.
    pub(super) fn is_foreground(&self) -> bool {
        matches!(self.kind, OperationKind::Read | OperationKind::Write | OperationKind::Flush)
    }
}
