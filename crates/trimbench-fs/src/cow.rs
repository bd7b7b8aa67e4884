//! The copy-on-write variant: transaction groups over striped parity, with a queue of classes for
//! each drive, as in ZFS.
//!
//! [`Pool`] is a model of file commands over several models of block devices. Nothing is written in
//! place: a transaction group collects changes, is written to free space as a whole, and frees the
//! replaced data two groups later. A trim policy discards the freed space, in one of two manners
//! ([`TrimManner`]).
//!
//! ```text
//! command -> processor -> throttle -> open group -> syncing group -> allocator -> stripe
//!                                                        |                          |
//!                                          freed records |                          v
//!                                                        v        queue of classes, per drive
//!                                  trimmer, per drive -> discards ->  (write meets a discard
//!                                                                      under way: it is parked)
//! ```
//!
//! Sources: \[FBZFS\] for the old manner of FreeBSD, \[OPENZFS\] for today's.

mod config;
mod drive;
mod pool;
mod queue;
mod space;
mod stripe;

pub use config::{ClassLimits, PoolConfig, PoolCosts, QueueLimits, TrimManner};
pub use pool::{Pool, PoolCounters};
