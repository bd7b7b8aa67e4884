//! When and how much to trim: eight policies as pure state machines, and the queue they empty.
//!
//! A [`TrimPolicy`] is told the time, what was freed, how the foreground fares and when discards
//! complete, and answers with a [`Grant`](trimbench_core::Grant): one discard of so many blocks
//! now, nothing before an instant, or nothing. It never learns *what* is discarded. So the same
//! code runs under freed extents of the modelled filesystem and under windows of FITRIM on a
//! mounted one.
//!
//! ```text
//!             freed, rewritten                        foreground, completed
//!                    |                                          |
//!                    v               backlog                    v
//!   Trimmer:    FreedQueue  ------------------------------> TrimPolicy
//!                    |      <--- admit, shed, grant -------     |
//!                    v
//!                a discard
//! ```
//!
//! [`Trimmer`] joins a policy to a `FreedQueue`, which merges what was freed, splits it by
//! grants, forgets what is written again, and counts. [`Choice`] makes a policy of a text such as
//! `paced,target=5ms`. The control law of `paced` is written down in [`policies::paced`].
//!
//! Units: time in `Nanos`, space in logical blocks, shares in `Ppm`; no floats. Clocks, I/O,
//! randomness and filesystems are absent; nothing is allocated but by the queue and the catalogue.

mod catalogue;
pub mod policies;
mod policy;
mod queue;
mod trimmer;

pub use catalogue::{Choice, POLICIES, PolicyError};
pub use policy::{Backlog, Foreground, PolicyInfo, TrimPolicy};
pub use queue::{ExtentCounts, QueueCounters};
pub use trimmer::{Extents, Options, Trimmer, TrimmerStep};
