//! The policies, each in a file of its own.

pub(crate) mod at_once;
pub(crate) mod btrfs_async;
pub(crate) mod fstrim_weekly;
pub(crate) mod mean_law;
pub(crate) mod none;
pub(crate) mod own_path;
pub(crate) mod paced;
pub(crate) mod rate_limited;
pub(crate) mod skip_by_latency;
pub(crate) mod skip_by_queue;
pub(crate) mod talos;
mod throttle;

#[cfg(test)]
mod tests;
