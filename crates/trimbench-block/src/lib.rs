//! The modelled block layer of Linux: what becomes of requests between those who send them and the
//! device, in virtual time.
//!
//! [`BlockLayer`] lies over any [`Model`](trimbench_core::Model) of a block device. It splits what
//! is too long, merges discards that are sent together, holds discards back (write-back
//! throttling), hands out tags, and lets reads pass writes where a scheduler does that. It says
//! when a sender has got rid of what it sent ([`QueueEvent::Submitted`]) and when the device is
//! done with it ([`QueueEvent::Ended`]): some filesystems make others wait for the first, some for
//! the second.
//!
//! `docs/model/block-layer.md` says what is modelled, from which sources, and what is not.

mod config;
mod host;
mod layer;
mod merge;
mod scheduler;
mod throttle;

pub use config::{DISCARD_BIO_MAX, QueueConfig, Scheduler};
pub use host::HostQueue;
pub use layer::{BlockLayer, QueueEvent, Urgency};
