//! The ATA security erase (\[ATA\] ACS-4, 4.18; commands 7.44 to 7.49).
//!
//! ```text
//!  no password ── set password ──> password, unlocked ── prepare, erase ──> no password
//!                                    │   ^                                    (verified)
//!                     loss of power  v   │ unlock
//!                                  password, locked
//! ```
//!
//! A drive must have a user password to be erased, and forgets it by being erased. Whatever goes
//! wrong in between, the password is taken off again; if even that fails, the error names it.

use trimbench_core::Nanos;

use super::command::{self, BLOCK, Security};
use super::drive::AtaDrive;
use crate::ioctl::Data;
use crate::passthrough::error::{PassthroughError, PurgeError};
use crate::passthrough::purge::timeout_of;
use crate::passthrough::transport::Transport;

/// The user password while an erase is under way. Known on purpose: it protects nothing, and who
/// finds a locked drive must be able to open it.
pub(super) const PASSWORD: &str = "trimbench";

impl<T: Transport> AtaDrive<T> {
    pub(super) fn security_erase(
        &mut self,
        enhanced: bool,
        estimate: Option<Nanos>,
    ) -> Result<(), PurgeError> {
        let set = command::security(Security::SetPassword, None);
        let erased = self
            .line
            .send(&set, Data::Out(&payload(false)))
            .and_then(|_| self.erase_unit(enhanced, estimate));
        let state = self.line.identify().map(|drive| drive.security);
        match (erased, state) {
            (Ok(()), Ok(state)) if !state.enabled => Ok(()),
            // It failed, but the drive has no password.
            (Err(error), Ok(state)) if !state.enabled => Err(error.into()),
            (erased, _) => {
                let reason = erased.err().unwrap_or(PassthroughError::Malformed {
                    command: "SECURITY ERASE UNIT",
                    why: "it succeeded, but the password is still set",
                });
                match self.take_password_off() {
                    Ok(()) => Err(reason.into()),
                    Err(_) => Err(PurgeError::PasswordLeft {
                        password: PASSWORD,
                        reason: Box::new(reason),
                    }),
                }
            }
        }
    }

    fn erase_unit(
        &mut self,
        enhanced: bool,
        estimate: Option<Nanos>,
    ) -> Result<(), PassthroughError> {
        self.line.send(&command::security(Security::ErasePrepare, None), Data::None)?;
        let erase = command::security(Security::EraseUnit, Some(timeout_of(estimate)));
        self.line.send(&erase, Data::Out(&payload(enhanced)))?;
        Ok(())
    }

    /// A reset of the drive may have locked it. Each wrong try counts, and there are five, so each
    /// is made only once.
    fn take_password_off(&mut self) -> Result<(), PassthroughError> {
        if self.line.identify()?.security.locked {
            let unlock = command::security(Security::Unlock, None);
            self.line.send(&unlock, Data::Out(&payload(false)))?;
        }
        let disable = command::security(Security::DisablePassword, None);
        self.line.send(&disable, Data::Out(&payload(false)))?;
        if self.line.identify()?.security.enabled {
            let why = "it succeeded, but the password is still set";
            return Err(PassthroughError::Malformed { command: disable.name, why });
        }
        Ok(())
    }
}

/// The data of all these commands: word 0 selects the user password (bit 0 clear), level high (bit
/// 8 clear) and, for an erase, the enhanced mode (bit 1); words 1 to 16 are the password.
fn payload(enhanced: bool) -> [u8; BLOCK] {
    let mut data = [0; BLOCK];
    data[0] = u8::from(enhanced) << 1;
    data[2..2 + PASSWORD.len()].copy_from_slice(PASSWORD.as_bytes());
    data
}
