//! What is read of a system once, whatever place of it is asked about.

use crate::mount_table::MountTable;
use crate::senders::SystemSenders;
use crate::tree::SystemTree;

/// A system that can be asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System<'a> {
    pub(crate) tree: &'a SystemTree,
    pub(crate) mounts: &'a MountTable,
    pub(crate) senders: &'a SystemSenders,
}
