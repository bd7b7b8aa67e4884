//! Logs of ATA drives.

pub mod statistics;
