//! Operations on a whole drive besides commands: purge it, examine its contents, count its wear.

use crate::command::{BlockCommand, Content};
use crate::contract::{Capabilities, Target};
use crate::errno::Errno;
use crate::named_enum;
use crate::settings::Named;
use crate::units::{Bytes, LbaRange, Nanos};

/// A drive that can be put into a stated condition and asked about itself. Both a model and the
/// target made of it are one.
///
/// None of this is timed, but for a purge on a virtual clock ([`Drive::purge_time`]), and no
/// command may be outstanding during a call.
pub trait Drive {
    /// By what means [`Self::purge`] purges: the strongest that there is.
    fn purge_means(&self) -> PurgeMeans;

    /// Takes the drive back to where no logical block holds anything.
    fn purge(&mut self) -> Result<(), DriveError>;

    /// How long a purge takes on a virtual clock.
    fn purge_time(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Writes everything from `from` on once, in order and in no time; whether it did. A drive
    /// whose writes take time changes nothing, and says `false`.
    fn fill_from(&mut self, from: Bytes) -> Result<bool, DriveError> {
        let _ = from;
        Ok(false)
    }

    /// Reads the range and appends what each of its logical blocks holds.
    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError>;

    /// Cuts the drive's power and brings it back: what was not flushed may be lost, a TRIM that was
    /// not flushed may be undone. A flush counts once it has ended. As with all of this, no command
    /// may be outstanding; a model may have a cut under load of its own.
    ///
    /// # Errors
    /// [`DriveError::Refused`] where that cannot be done from here; then nothing has happened.
    fn power_cut(&mut self) -> Result<(), DriveError> {
        let reason = "the power of this target cannot be cut from here".to_owned();
        Err(DriveError::Refused { operation: "power cut", reason })
    }

    /// Where on the device the first whole piece of `Capabilities::discard_granularity` begins:
    /// below that granularity.
    fn discard_alignment(&self) -> Bytes {
        Bytes(0)
    }

    /// What the drive says of reads after TRIM.
    fn trim_promise(&self) -> TrimPromise;

    /// What has been written since the drive was made, by its own counters; `None` where it does
    /// not say. Only differences mean something. On a virtual clock commands may be outstanding.
    fn wear(&mut self) -> Option<Wear>;
}

/// A block device: it takes block commands, and can be purged and asked about itself.
pub trait Device: Target<Command = BlockCommand> + Drive {}

impl<D: Target<Command = BlockCommand> + Drive> Device for D {}

/// Emulated drives that are all alike, each handed out as new: purged, filled in order, at rest. So
/// measurements that need a drive of their own each can run side by side.
pub trait Drives: Sync {
    /// What each can do.
    fn capabilities(&self) -> &Capabilities;

    /// Memory that the tables of each take.
    fn memory(&self) -> Bytes;

    /// Another one, with a clock of its own that starts at zero.
    fn make(&self) -> Box<dyn Device>;

    /// The same behind the modelled block layer of a host, as a program has it that opens the
    /// device there; just the drive where no host is modelled.
    fn make_in_host(&self) -> Box<dyn Device> {
        self.make()
    }
}

/// By what means a drive is purged, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PurgeMeans {
    /// A sanitize operation of the drive (`NVMe`, ATA).
    Sanitize,
    /// ATA secure erase.
    SecureErase,
    /// `NVMe` format with secure erase.
    Format,
    /// An emulated drive is made anew: as fresh out of the box.
    Model,
    /// A TRIM of every block: all that there is on drives without purge, loop devices and files.
    /// What a trimmed drive is compared with is then itself a trimmed drive.
    Trim,
}

impl PurgeMeans {
    /// The stable name in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Sanitize => "sanitize",
            Self::SecureErase => "secure-erase",
            Self::Format => "format",
            Self::Model => "model",
            Self::Trim => "trim",
        }
    }
}

named_enum! {
    /// What a drive says that a trimmed block reads as (ATA: DRAT, RZAT; `NVMe`: DLFEAT).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum TrimPromise {
        /// Nothing is known of what it says.
        Unknown = "unknown",
        /// It says that it promises nothing: each read may give something else.
        Nothing = "nothing",
        /// The same at every read, whatever it is.
        Deterministic = "deterministic",
        /// Zeroes.
        Zeroes = "zeroes",
        /// Ones.
        Ones = "ones",
    }
}

impl TrimPromise {
    /// The stable name in records.
    pub fn id(self) -> &'static str {
        Named::id(self)
    }
}

/// What has been written to a drive and in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    /// Bytes that the host wrote.
    pub host_written: Bytes,
    /// Bytes that the medium was programmed with, the host's and the drive's own.
    pub media_written: Bytes,
}

impl Wear {
    /// Write amplification since `earlier`; `None` if the host wrote nothing.
    pub fn amplification_since(self, earlier: Self) -> Option<f64> {
        let host = self.host_written.0.checked_sub(earlier.host_written.0)?;
        let media = self.media_written.0.checked_sub(earlier.media_written.0)?;
        (host > 0).then(|| media as f64 / host as f64)
    }
}

/// Something beside commands that a drive did not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The drive failed at it.
    #[error("{operation} failed: {errno}")]
    Failed {
        /// What was asked.
        operation: &'static str,
        /// Its reason.
        errno: Errno,
    },
    /// It was not begun.
    #[error("{operation} is refused: {reason}")]
    Refused {
        /// What was asked.
        operation: &'static str,
        /// Why, and what to do.
        reason: String,
    },
}
