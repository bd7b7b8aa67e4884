//! The copy-on-write variant: transaction groups over striped parity, with a queue of classes for
//! each drive, as in ZFS.
//!
//! [`Pool`] is a model of file commands over several models of block devices. Nothing is written in
//! place: a transaction group collects changes, is written to free space as a whole, and frees the
//! replaced data two groups later. A trim policy discards the freed space, in the manner of one of
//! several systems ([`TrimManner`]).
//!
//! ```text
//! command -> processor -> throttle -> open group -> syncing group -> metaslabs -> stripe
//!                                        ^             | frees           | free      |
//!                                        |             v                 v           v
//!                 discards of OpenZFS are its children   trimmer, per drive     queue of classes,
//!                                        |             | gate, policy                per drive
//!                                        +-------------+-- discards ------------->
//! ```
//!
//! Sources: \[FBZFS\] for FreeBSD, \[OPENZFS\] for today's.

mod config;
mod drive;
mod gate;
mod pool;
mod queue;
mod range_tree;
mod space;
mod stripe;

pub use config::{ClassLimits, PoolConfig, PoolCosts, QueueLimits, TrimManner};
pub use pool::{Pool, PoolCounters};
