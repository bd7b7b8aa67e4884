//! ATA drives behind a translation from SCSI: commands and their answers. Source: \[ATA\] ACS-4.

mod command;
mod drive;
mod identify;
mod read_logs;
mod sanitize;
mod security;

pub(super) use drive::AtaDrive;

#[cfg(test)]
mod tests;

/// Bits of the status register: error, device fault.
const STATUS_ERROR: u8 = 1;
const STATUS_FAULT: u8 = 1 << 5;
/// The bit of the error register for "does not do this".
pub(super) const ERROR_ABORT: u8 = 1 << 2;

/// The bits of the status register that are set, by name.
pub(super) fn status_names(status: u8) -> String {
    names(status, &[(0x80, "BSY"), (0x40, "DRDY"), (0x20, "DF"), (0x08, "DRQ"), (0x01, "ERR")])
}

/// The bits of the error register that are set, by name.
pub(super) fn error_names(error: u8) -> String {
    names(error, &[(0x80, "ICRC"), (0x40, "UNC"), (0x10, "IDNF"), (0x04, "ABRT")])
}

fn names(register: u8, bits: &[(u8, &str)]) -> String {
    let set: Vec<&str> =
        bits.iter().filter(|(bit, _)| register & bit != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { "no bit known".into() } else { set.join(" ") }
}
