//! What others do with the storage below a path: the kernel's counters, its pressure, and how long
//! reads of our own take.
//!
//! Counters are those of the device itself, of a loop device therefore its own; for a directory or
//! an image file those of the devices of its filesystem. Pressure is the machine's
//! (`/proc/pressure`, since Linux 4.20): the time in `total=` counts whatever the averages beside
//! it forget. Reads are of 4 KiB at random places of the device node, past the page cache: nothing
//! is written, and nothing but the right to read the node is needed. They are one at a time and
//! [`READ_EVERY`] apart, and make some tenths of a percent of load.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use trimbench_claim::mounts::mount_of;
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_claim::{opening, random};
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, DevicesUse, Interrupt, LoadSeen, Nanos, ReadTimes};

use crate::clock::{MonotonicClock, exact_timers, pause};
use crate::memory::AlignedBuffer;
use crate::pauses::ProcessorWaits;
use crate::statistics::DeviceCounters;

#[cfg(test)]
mod tests;

/// From one read to the next.
const READ_EVERY: Nanos = Nanos::from_millis(10);
/// Bytes of a read: a multiple of every logical block in use.
const READ: usize = 4_096;
/// Bytes of a sector of sysfs.
const SECTOR: u64 = 512;
const IO_PRESSURE: &str = "/proc/pressure/io";
const MEMORY_PRESSURE: &str = "/proc/pressure/memory";

/// Looks at the storage below a path.
#[derive(Debug)]
pub struct LoadWatch {
    /// Names and counters; `None` without a device, or if it keeps no counters that we know.
    devices: Option<(String, DeviceCounters)>,
    /// The first device; `None` where it may not be read.
    node: Option<ReadNode>,
}

/// A device that is opened to read from it.
#[derive(Debug)]
struct ReadNode {
    file: File,
    /// Reads that fit in it.
    places: u64,
}

/// What our own reads came to.
#[derive(Debug, Default)]
struct OwnReads {
    times: Vec<Nanos>,
    /// All together, waits for a processor included.
    total: Nanos,
    failed: bool,
}

impl LoadWatch {
    /// For a block device, or for what an image file or a directory lies on. What cannot be looked
    /// at is left out.
    pub fn of(path: &Path) -> Self {
        if let Some(device) = BlockDevice::from_node(path) {
            let source = DeviceCounters::of_device(&device);
            return Self::with(std::slice::from_ref(&device), source);
        }
        match mount_of(path) {
            Ok(mount) => Self::with(&devices_of(&mount), DeviceCounters::open(&mount)),
            Err(_) => Self { devices: None, node: None },
        }
    }

    fn with(devices: &[BlockDevice], source: Option<DeviceCounters>) -> Self {
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let source = source.filter(|_| !names.is_empty());
        Self {
            devices: source.map(|source| (names.join(" "), source)),
            node: devices.first().and_then(|device| ReadNode::open(device).ok()),
        }
    }

    /// Looks for so long; `None` if the user wants to stop.
    pub fn look(&self, window: Nanos, interrupt: &Interrupt) -> Option<LoadSeen> {
        exact_timers();
        let pressures = || [full(IO_PRESSURE), some(MEMORY_PRESSURE)];
        let counters = || self.devices.as_ref().map(|(_, source)| source.read());
        let (before, pressed) = (counters(), pressures());
        let begun = MonotonicClock::monotonic();
        let reads = self.read_on(begun + window, interrupt)?;
        let window = MonotonicClock::monotonic().saturating_sub(begun);
        let (after, pressing) = (counters(), pressures());
        let stalled = |index: usize| Some(pressing[index]?.saturating_sub(pressed[index]?));
        let own = Bytes(reads.times.len() as u64 * READ as u64);
        let devices = self.devices.as_ref().zip(before.zip(after));
        let devices = devices.map(|((names, _), (before, after))| DevicesUse {
            names: names.clone(),
            written: after.write.bytes.saturating_sub(before.write.bytes),
            read: after.read.bytes.saturating_sub(before.read.bytes).saturating_sub(own),
        });
        Some(LoadSeen {
            window,
            devices,
            io_stalled: stalled(0).map(|all| all.saturating_sub(reads.total)),
            memory_stalled: stalled(1),
            reads: if reads.failed { None } else { ReadTimes::of(reads.times) },
        })
    }

    /// Reads until `end`, as far as it can; `None` if the user wants to stop.
    fn read_on(&self, end: Nanos, interrupt: &Interrupt) -> Option<OwnReads> {
        let mut rng = Rng::new(random().unwrap_or(1));
        let waits = ProcessorWaits::of_this_thread();
        let mut buffer = AlignedBuffer::new(READ);
        let mut reads = OwnReads::default();
        let mut next = MonotonicClock::monotonic();
        while next < end {
            if interrupt.requested() {
                return None;
            }
            if let Some(node) = self.node.as_ref().filter(|_| !reads.failed) {
                let (begun, waited) = (MonotonicClock::monotonic(), waits.total());
                reads.failed = node.read(rng.below(node.places), &mut buffer).is_err();
                let took = MonotonicClock::monotonic().saturating_sub(begun);
                let waited = waits.total().saturating_sub(waited);
                reads.total += took;
                reads.times.push(took.saturating_sub(waited));
            }
            next += READ_EVERY;
            pause(next.min(end).saturating_sub(MonotonicClock::monotonic()));
        }
        Some(reads)
    }
}

impl ReadNode {
    fn open(device: &BlockDevice) -> io::Result<Self> {
        let flags = opening::READ | OFlags::DIRECT;
        let file = rustix::fs::open(device.node(), flags, Mode::empty())?.into();
        let bytes = device.own_number("size").unwrap_or(0).saturating_mul(SECTOR);
        match bytes / READ as u64 {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            places => Ok(Self { file, places }),
        }
    }

    fn read(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, place * READ as u64)
    }
}

/// For how long some program has waited, since the machine started.
fn some(path: &str) -> Option<Nanos> {
    stalled(&std::fs::read_to_string(path).ok()?, "some")
}

/// For how long all programs that had something to do have waited at once.
fn full(path: &str) -> Option<Nanos> {
    stalled(&std::fs::read_to_string(path).ok()?, "full")
}

/// The total of one line of `/proc/pressure`, which is in microseconds.
/// Source: Documentation/accounting/psi.rst of Linux.
fn stalled(text: &str, line: &str) -> Option<Nanos> {
    let fields = text.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(' '))?;
    let total = fields.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000).map(Nanos)
}
