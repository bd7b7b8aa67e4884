//! The policies, each in a file of its own.

pub mod paced;

pub(crate) mod batched;
pub(crate) mod deferred;
pub(crate) mod none;
pub(crate) mod online;
pub(crate) mod rate_limited;
pub(crate) mod skip_by_latency;
pub(crate) mod skip_by_queue;
mod throttle;

#[cfg(test)]
mod tests;
