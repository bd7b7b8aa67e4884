//! What decides what may be written, apart from what writes: this crate can be audited alone.
//!
//! # What it promises
//!
//! 1. **A block device or an image file is opened for writing in one place**,
//!    [`Inspection::claim`], and only if the user named it ([`Consent`]), nothing uses it, and it
//!    carries no signature that was not confirmed too. Nothing is written to it here, and an
//!    inspection opens for reading at most.
//! 2. **A fact that cannot be read is a refusal.** The kernel decides (exclusive opening, leases,
//!    locks); `/proc` and `/sys` only explain.
//! 3. **A name is never trusted twice.** A target is its device number and disk sequence, or device
//!    and inode of its file. [`Guard::check`] decides all but the signatures anew; the holder of a
//!    claim calls it immediately before the first write, and keeps the guard while it writes.
//! 4. **Other files that may be written are new.** [`OutputDirectory`] and [`OutputPlace`] make
//!    each under a random name and rename it once it is whole; what it replaces must still be the
//!    file that was looked at, except in a directory of ours ([`Replaces`]). So nothing is written
//!    through a link that somebody left there. Pipes, terminals and the devices that take
//!    everything are written to as they are.
//! 5. **A scratch image belongs to nobody else**: [`ScratchImage`] never has a name, takes only
//!    room that is free and not promised to others ([`room`]), and is gone with the process.
//! 6. **A file of ours is opened again only as one** ([`open_backing`]): it begins as it must, and
//!    nobody else has it.
//! 7. **A loop device of ours is opened only through the opening that made it** ([`OwnDevice`]),
//!    never by a path, and for us alone: nothing becomes writable that was not.
//! 8. **Only leftovers of ours are removed**: those whose random name was registered before they
//!    were made ([`registry`]), drafts that nobody is writing ([`OutputDirectory::sweep`]).
//!
//! # Where a decision is made
//!
//! | decision | where |
//! |---|---|
//! | what a path means, and what stands on it | `claim/inspection`, with `loops` |
//! | who uses it | `claim/uses`, with `openers`, [`mounts`], [`sysfs`] |
//! | whether the user named it | `claim/naming` |
//! | what it carries | `claim/signatures`, with `areas` |
//! | whether it may be opened, and the opening | `claim` (`refuse`, `open`, `lock`) |
//! | whether it is still the same and ours | `claim` (`Guard`), `claim/witness`, `ioctl/identity` |
//! | the words of a refusal | `claim/refusal`, `claim/denial` |
//! | whether a file may be made or replaced | `output/draft`, `output/place` |
//! | which flags open a path, which folders have programs | [`opening`], `program` |
//!
//! Begin with `claim.rs`: `claim_once` is the decision in 20 lines. Then `opening`, whose `WRITE`
//! only the claim and [`attach_loop_device`] use (of a free loop device over a file that is open
//! already), `own_device`, and `output/draft`. `docs/reference/safety.md` has the rules as a table,
//! and what cannot be detected; `tests/obstacles.rs` has the attempts that must be refused.
//!
//! # What it does not do
//!
//! It measures nothing and knows neither methods nor records: [`inspect`] only tells what the
//! storage is. It reads no clock, and waits only for a busy target, half a second. `unsafe` is
//! allowed in `ioctl` alone (calls that no crate wraps). Needs Linux 5.8 (`statx` gives the number
//! of a mount).

mod backing;
mod claim;
mod errno;
pub mod inspect;
mod ioctl;
mod loop_device;
pub mod mounts;
pub mod opening;
mod output;
mod own_device;
mod program;
mod random;
pub mod registry;
pub mod room;
mod scratch;
pub mod sysfs;
#[cfg(test)]
mod testing;

pub use backing::{BackingError, open_backing};
pub use claim::{Claim, ClaimError, Consent, Guard, Inspection, users_of};
pub use errno::{errno_in, errno_of, last_errno};
pub use ioctl::{LoopIo, LoopStatus, disk_sequence, loop_status};
pub use loop_device::attach_loop_device;
pub use output::{
    AppendedFile, Begun, Draft, Durability, GrowingFile, Inode, OutputDirectory, OutputError,
    OutputFile, OutputPlace, Replaces,
};
pub use own_device::{DeviceIdentity, OwnDevice, OwnDeviceError, OwnDeviceGuard};
pub use program::{program, program_path};
pub use random::random;
pub use scratch::{ScratchError, ScratchGuard, ScratchImage};
