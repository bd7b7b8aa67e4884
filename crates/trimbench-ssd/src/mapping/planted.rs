//! Planted faults in the mapping, for testing the checks that must find them.

use super::{Mapping, UNMAPPED};

/// A planted fault in what the tables say of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFault {
    /// The flash unit says that it holds the logical unit's neighbour.
    WrongOwner,
    /// The logical unit is freed, but its flash unit still counts as valid: the collector copies
    /// what was trimmed.
    TrimmedButValid,
}

impl Mapping {
    /// Breaks what the tables say of `lpn`; whether it holds data that could be broken.
    pub(crate) fn plant(&mut self, lpn: u32, fault: TableFault) -> bool {
        let Some(ppn) = self.lookup(lpn) else { return false };
        match fault {
            TableFault::WrongOwner => self.p2l[ppn as usize] = lpn ^ 1,
            TableFault::TrimmedButValid => {
                self.l2p[lpn as usize] = UNMAPPED;
                self.mapped -= 1;
            }
        }
        true
    }
}
