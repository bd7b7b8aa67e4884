//! Detects use of the device by others during a measurement: one rule for all methods.
//!
//! Other load is the difference between the device's counters and the bytes that the method read
//! and wrote itself. It spoils a measurement when it is more than [`NOTICED`] and more than a tenth
//! of the method's own; in a directory more than a half, because a filesystem also writes its
//! journal and metadata. The target is *busy* when others moved [`BUSY`] or more, and more than the
//! method itself: what was measured then is their load. An emulated target has no other load.

use trimbench_core::{Bytes, Caveat, Clock, DeviceStatistics, Medium, Target};

#[cfg(test)]
mod tests;

/// Less is what any machine does.
pub const NOTICED: Bytes = Bytes::mib(1);
/// From here on, and only if it is more than the method's own bytes, the measurement is invalid:
/// the limit of a look before it. In a directory the filesystem's own journal and metadata are far
/// below both: a commit is some hundred KB, and what a large deletion writes of them is some MB
/// beside a load that moves more.
pub const BUSY: Bytes = crate::quiet::MOVED_MAX;
/// The method's own bytes over those of others that spoil a measurement.
const DEVICE_SHARE: u64 = 10;
const DIRECTORY_SHARE: u64 = 2;

/// A look at the counters before a measurement.
#[derive(Clone, Copy, Debug)]
pub struct OtherLoad {
    moved: Bytes,
}

impl OtherLoad {
    /// Looks now.
    pub fn before(statistics: DeviceStatistics) -> Self {
        Self { moved: moved(statistics) }
    }

    /// The caveat, if others moved too much beside the `ours` that the method has read and written
    /// between the two looks: [`Caveat::BusyTarget`] where they moved more, else
    /// [`Caveat::OtherLoad`].
    pub fn caveat<T>(self, target: &T, after: DeviceStatistics, ours: Bytes) -> Option<Caveat>
    where
        T: Target + ?Sized,
    {
        let capabilities = target.capabilities();
        let others = moved(after).saturating_sub(self.moved).saturating_sub(ours);
        let share = match capabilities.medium {
            Medium::Device { .. } => DEVICE_SHARE,
            Medium::Directory { .. } => DIRECTORY_SHARE,
        };
        let spoils = others > NOTICED && others.0 > ours.0 / share;
        match capabilities.clock {
            Clock::Wall if others >= BUSY && others > ours => Some(Caveat::BusyTarget),
            Clock::Wall if spoils => Some(Caveat::OtherLoad),
            Clock::Wall | Clock::Virtual => None,
        }
    }
}

/// Whether a step with the caveat of this id was measured beside other load.
pub fn is_spoiled_by_others(id: &str) -> bool {
    [Caveat::OtherLoad, Caveat::BusyTarget].iter().any(|caveat| caveat.id() == id)
}

/// Bytes that the device has read and written.
fn moved(statistics: DeviceStatistics) -> Bytes {
    statistics.read.bytes + statistics.write.bytes
}
