//! `NVMe` drives: commands and their answers. Sources: \[NVME\], \[OCP\].

mod command;
mod drive;
mod identify;
mod logs;
mod purge;
mod read_logs;
mod sanitize;
mod status;

pub(super) use drive::{NvmeDrive, active_namespaces};
pub(super) use status::NvmeStatus;

#[cfg(test)]
mod tests;
