//! When and how much to trim: policies of systems and proposals as pure state machines, the queue
//! they empty, and the systems that send discards.
//!
//! A [`TrimPolicy`] is told the time, the freed amounts, the state of the foreground and the
//! completion of discards, and answers with a [`Grant`]: one discard of so many blocks now, nothing
//! before an instant, or nothing. It never learns *which* blocks are discarded. So the same code
//! serves freed extents of the modelled filesystem and windows of FITRIM on a mounted one.
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
//! [`Trimmer`] joins a policy to a `FreedQueue`, which merges freed extents, splits them by grants,
//! drops those that are written again, and counts. [`Choice`] makes a policy of a text such as
//! `paced,target=5ms`. A system has the name that it has as an issuer of discards ([`Issuer`]), and
//! its depth, longest discard and pause. [`pacing`] has the laws of `trimpace`; [`LawPolicy`] makes
//! policies of them: `paced`, `talos` and `mean-law`.
//!
//! Units: time in `Nanos`, space in logical blocks, shares in `Ppm`; no floats. Clocks, I/O,
//! randomness and filesystems are absent; only the queue and the catalogue allocate.

mod catalogue;
mod issuer;
mod law_policy;
pub mod pacing;
mod policies;
mod policy;
mod queue;
mod trimmer;

pub use catalogue::{Choice, POLICIES, PolicyError, policy_meant_by};
pub use issuer::{Ext4Era, IssueDepth, Issuer, IssuerRule, Sender};
pub use law_policy::{LawPolicy, LawPolicyOptions};
pub use policies::at_once::AtOnce;
pub use policy::{Backlog, Foreground, Grant, PolicyInfo, PolicyOrigin, TrimPolicy};
pub use queue::{ExtentCounts, QueueCounters};
pub use trimmer::{Extents, Options, Trimmer, TrimmerStep};
