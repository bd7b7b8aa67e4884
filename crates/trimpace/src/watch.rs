//! What the devices of a filesystem have counted: discards that were completed, and requests of
//! others.

use trimbench_claim::mounts::Mount;
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_core::{Bytes, Instant, Nanos};
use trimbench_linux::{DeviceCounters, pause};
use trimbench_policy::pacing::Amount;

use crate::probe::now;

/// How long the device may rest before a call's discards count as over, where their number is not
/// known.
const QUIET: Nanos = Nanos::from_millis(20);

/// The counters of discards of all devices of one filesystem.
#[derive(Debug)]
pub struct DiscardWatch {
    counters: DeviceCounters,
    devices: Vec<BlockDevice>,
}

/// Requests that others complete at one device.
#[derive(Debug)]
pub struct ForegroundWatch {
    counters: DeviceCounters,
    seen: u64,
    own: u64,
}

impl DiscardWatch {
    /// `None` if a device counts no discards (Linux before 4.18), or there is none.
    pub fn of(mount: &Mount) -> Option<Self> {
        let devices = devices_of(mount);
        let counters = DeviceCounters::open(mount).filter(|_| !devices.is_empty())?;
        Some(Self { counters, devices })
    }

    /// The devices.
    pub fn devices(&self) -> &[BlockDevice] {
        &self.devices
    }

    /// Discards that were completed since the devices appeared. Not those of a filesystem's own:
    /// whoever else discards on these devices is counted as well.
    pub fn discarded(&self) -> Amount {
        let discard = self.counters.read().discard;
        Amount { discards: discard.completed, bytes: discard.bytes }
    }

    /// Waits until the discards of a call that has returned are complete: when as much was
    /// discarded as it should, when nothing is in flight, or when the counters rest although
    /// somebody else writes. `at_each_look` is called meanwhile; it answers whether to go on.
    pub fn drain(&self, wanted: Bytes, expected: Nanos, at_each_look: &mut dyn FnMut() -> bool) {
        let limit = Nanos(expected.0.saturating_mul(4)).saturating_add(Nanos::from_secs(1));
        let (mut last, mut changed) = (self.discarded(), now());
        while at_each_look() {
            let at = now();
            let seen = self.discarded();
            if seen != last {
                (last, changed) = (seen, at);
            }
            let rests = at.since(changed);
            let is_empty = self.in_flight() == Some(0) && (wanted.0 == 0 || rests >= QUIET);
            if (wanted.0 > 0 && seen.bytes >= wanted) || is_empty || rests >= limit {
                return;
            }
            pause(Nanos::from_micros(500));
        }
    }

    /// Reads, writes and discards of anybody that the devices work on; `None` if they do not say.
    fn in_flight(&self) -> Option<u64> {
        let of = |device: &BlockDevice| {
            let text = device.whole().attribute("inflight")?;
            Some(text.split_ascii_whitespace().filter_map(|it| it.parse::<u64>().ok()).sum::<u64>())
        };
        self.devices.iter().map(of).sum()
    }
}

impl ForegroundWatch {
    /// `None` if the device does not count.
    pub fn of(device: &BlockDevice) -> Option<Self> {
        let counters = DeviceCounters::of_device(device)?;
        let mut watch = Self { counters, seen: 0, own: 0 };
        watch.seen = watch.all();
        Some(watch)
    }

    /// Requests of others since the last call; `own` is how many we have made in all.
    pub fn take(&mut self, own: u64) -> u64 {
        let all = self.all();
        let passed = all.saturating_sub(self.seen);
        let made = own.saturating_sub(self.own);
        // Ours may be counted a moment before we know of it.
        (self.seen, self.own) = (all, own - made.saturating_sub(passed));
        passed.saturating_sub(made)
    }

    fn all(&self) -> u64 {
        let counted = self.counters.read();
        counted.read.completed + counted.write.completed
    }
}

/// Sleeps until an instant, a few milliseconds at most: so the caller sees what happens meanwhile.
pub(crate) fn doze(until: Instant) {
    let span = until.since(now()).min(Nanos::from_millis(2));
    if span.0 > 0 {
        pause(span);
    }
}
