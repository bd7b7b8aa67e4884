//! Planted faults in the mapping, for testing the checks that must find them.

use super::{Mapping, UNMAPPED};
use crate::ssd::TableFault;

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
