//! Counters as block devices keep them, of one or of all of a filesystem:
//! `/sys/dev/block/MAJOR:MINOR/stat`.
//!
//! Fields: Documentation/block/stat.rst of Linux. Sectors are 512 bytes whatever the device's
//! logical block is. Times have a resolution of 1 ms. Discards have been counted since Linux 4.18,
//! flushes since 5.5 and for whole disks only. A request is counted when it completes; there is no
//! counter of discards under way (`inflight` shows them as writes).

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use trimbench_claim::mounts::Mount;
use trimbench_claim::sysfs::{BlockDevice, attribute, btrfs_folder, devices_of};
use trimbench_core::contract::ClassStatistics;
use trimbench_core::{Bytes, DeviceStatistics, Nanos};

#[cfg(test)]
mod tests;

/// Bytes of a sector of these counters.
const SECTOR: u64 = 512;

/// Reads the counters of one device, or of all devices of one filesystem.
#[derive(Debug)]
pub struct DeviceCounters {
    /// One a device; kept open, so that a look is one system call (about 2 us).
    files: Vec<File>,
    /// Where btrfs says what it still means to discard; only with `discard=async`.
    pending: Option<PathBuf>,
}

impl DeviceCounters {
    /// For the filesystem of this mount. Without any device all counters stay 0. `None` if a device
    /// keeps no discard counters (Linux before 4.18).
    pub fn open(mount: &Mount) -> Option<Self> {
        let files = devices_of(mount).iter().map(counters).collect::<Option<_>>()?;
        let pending = btrfs_folder(mount)
            .filter(|_| mount.has_option("discard=async"))
            .map(|folder| folder.join("discard/discardable_bytes"));
        Some(Self { files, pending })
    }

    /// For this device alone. `None` if it keeps no discard counters (Linux before 4.18).
    pub fn of_device(device: &BlockDevice) -> Option<Self> {
        Some(Self { files: vec![counters(device)?], pending: None })
    }

    /// The sums over the devices now; `outstanding` is left 0, for the kernel's number counts
    /// everybody's requests.
    pub fn read(&self) -> DeviceStatistics {
        let mut sum = DeviceStatistics::default();
        for device in self.files.iter().filter_map(read) {
            add(&mut sum.read, device.read);
            add(&mut sum.write, device.write);
            add(&mut sum.discard, device.discard);
            add(&mut sum.flush, device.flush);
        }
        // Signed in the kernel, and known to drift to -1 (fs/btrfs/discard.c): below 0 is none.
        let text = self.pending.as_ref().and_then(|path| attribute(path));
        let pending = text.and_then(|text| text.parse::<i64>().ok());
        sum.discard_pending = pending.map(|bytes| Bytes(u64::try_from(bytes).unwrap_or(0)));
        sum
    }
}

fn add(sum: &mut ClassStatistics, more: ClassStatistics) {
    sum.completed += more.completed;
    sum.bytes += more.bytes;
    sum.time += more.time;
}

/// The counters of a device, which include those of discards.
fn counters(device: &BlockDevice) -> Option<File> {
    let file = File::open(device.stat_path()).ok()?;
    read(&file).map(|_| file)
}

fn read(file: &File) -> Option<DeviceStatistics> {
    // 17 numbers of at most 20 digits.
    let mut text = [0_u8; 512];
    let length = file.read_at(&mut text, 0).ok()?;
    parse(std::str::from_utf8(&text[..length]).ok()?)
}

/// One line of counters; `None` if it is not of numbers or has no discard fields.
fn parse(line: &str) -> Option<DeviceStatistics> {
    let fields: Vec<u64> =
        line.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let class = |first: usize| {
        let [completed, _merged, sectors, milliseconds] = *fields.get(first..first + 4)? else {
            return None;
        };
        let bytes = Bytes(sectors.checked_mul(SECTOR)?);
        Some(ClassStatistics { completed, bytes, time: Nanos::from_millis(milliseconds) })
    };
    // Between writes and discards: in flight, busy time, weighted time.
    let (read, write, discard) = (class(0)?, class(4)?, class(11)?);
    let flush = match *fields.get(15..17).unwrap_or_default() {
        [completed, milliseconds] => {
            ClassStatistics { completed, bytes: Bytes(0), time: Nanos::from_millis(milliseconds) }
        }
        _ => ClassStatistics::default(),
    };
    Some(DeviceStatistics { read, write, discard, flush, ..DeviceStatistics::default() })
}
