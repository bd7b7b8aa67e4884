//! What each layer saw of a wait: which caller waited, and which requests the device had meanwhile.
//!
//! A stall that callers notice arises in the device, in the queue before it, or above both.
//! Counters are not enough to decide: for a pure stall of the device the kernel's counters show 12
//! % of the waiting, because the rest waits for free tags. The deciding times are when each request
//! was given to the queue and when it was passed to the device.
//!
//! Times are instants of the target's clock.

use crate::command::OperationKind;
use crate::units::Instant;

/// One request of the block layer, or of a modelled drive's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Which of the target's devices, counted from 0.
    pub device: u16,
    /// Its class.
    pub kind: OperationKind,
    /// When it was given to the block layer, or to the drive's queue.
    pub entered: Instant,
    /// When it was handed to the device; [`Instant::NEVER`] while it waits.
    pub issued: Instant,
    /// When the device had done it; [`Instant::NEVER`] while outstanding.
    pub completed: Instant,
}

/// A caller of the topmost layer waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerWait {
    /// The class of what it waited for.
    pub kind: OperationKind,
    /// Since when.
    pub from: Instant,
    /// Until when.
    pub to: Instant,
}
