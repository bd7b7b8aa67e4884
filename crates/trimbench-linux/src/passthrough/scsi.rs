//! ATA commands in SCSI clothes: ATA PASS-THROUGH (12) and (16), and what sense data say of the
//! outcome. Source: \[SAT\] SAT-4 12.2.2 (commands), 12.2.6 and 12.2.7 (registers in sense data);
//! SPC-4 4.5 (sense data).

use std::fmt;

use trimbench_core::Nanos;

#[cfg(test)]
mod tests;

/// The status byte for "look at the sense data".
pub(super) const CHECK_CONDITION: u8 = 0x02;
/// `DRIVER_SENSE`: there is sense data. Linux sets it up to 5.13.
pub(super) const DRIVER_SENSE: u16 = 0x08;

/// Bits of byte 2 of the command.
const T_LENGTH_IN_COUNT: u8 = 0b10;
const BYTE_BLOCK: u8 = 1 << 2;
const FROM_DEVICE: u8 = 1 << 3;
const CHECK: u8 = 1 << 5;

/// How data goes, as ATA sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtaProtocol {
    NonData,
    PioIn,
    PioOut,
    DmaIn,
}

/// An ATA command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AtaCommand {
    pub(super) name: &'static str,
    pub(super) command: u8,
    pub(super) protocol: AtaProtocol,
    /// A command with 48-bit addresses and 16-bit features and counts.
    pub(super) extended: bool,
    pub(super) features: u16,
    pub(super) count: u16,
    pub(super) lba: u64,
    /// Whether the registers are wanted also after success.
    pub(super) registers: bool,
    pub(super) timeout: Nanos,
}

/// The registers after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AtaRegisters {
    pub(super) status: u8,
    pub(super) error: u8,
    /// Count; `None` if its upper half is not zero and not told.
    pub(super) count: Option<u16>,
}

/// What the sense data of a failed SCSI command say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sense {
    /// Sense key: 5 is an illegal request, Bh an aborted command.
    pub(super) key: u8,
    /// Additional sense code, and its qualifier.
    pub(super) code: u8,
    pub(super) qualifier: u8,
}

impl Sense {
    /// The translator does not know the command at all.
    pub(super) const INVALID_OPCODE: Self = Self { key: 0x5, code: 0x20, qualifier: 0 };
}

impl fmt::Display for Sense {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KEYS: [&str; 16] = [
            "no sense",
            "recovered error",
            "not ready",
            "medium error",
            "hardware error",
            "illegal request",
            "unit attention",
            "data protect",
            "blank check",
            "vendor specific",
            "copy aborted",
            "aborted command",
            "reserved",
            "volume overflow",
            "miscompare",
            "completed",
        ];
        let key = KEYS[usize::from(self.key & 0xf)];
        let meaning = match (self.code, self.qualifier) {
            (0x20, 0x00) => ", invalid command operation code",
            (0x24, 0x00) => ", invalid field in command",
            (0x00, 0x1d) => ", ATA pass-through information available",
            (0x04, _) => ", logical unit not ready",
            (0x29, _) => ", reset occurred",
            _ => "",
        };
        let (code, qualifier) = (self.code, self.qualifier);
        write!(formatter, "SCSI sense {key} ({code:02x}h/{qualifier:02x}h{meaning})")
    }
}

impl AtaCommand {
    /// ATA PASS-THROUGH (16).
    pub(super) fn sixteen(&self) -> [u8; 16] {
        let lba = self.lba.to_le_bytes();
        let [features, features_high] = self.features.to_le_bytes();
        let [count, count_high] = self.count.to_le_bytes();
        [
            0x85,
            self.protocol_byte(),
            self.flags(),
            features_high,
            features,
            count_high,
            count,
            lba[3],
            lba[0],
            lba[4],
            lba[1],
            lba[5],
            lba[2],
            self.device(),
            self.command,
            0,
        ]
    }

    /// ATA PASS-THROUGH (12), for bridges that know no other; `None` for commands of 48 bits.
    pub(super) fn twelve(&self) -> Option<[u8; 12]> {
        if self.extended {
            return None;
        }
        let lba = self.lba.to_le_bytes();
        let (features, count) = (self.features.to_le_bytes()[0], self.count.to_le_bytes()[0]);
        let (protocol, flags) = (self.protocol_byte(), self.flags());
        let (device, command) = (self.device(), self.command);
        Some([
            0xa1, protocol, flags, features, count, lba[0], lba[1], lba[2], device, command, 0, 0,
        ])
    }

    fn protocol_byte(&self) -> u8 {
        let protocol = match self.protocol {
            AtaProtocol::NonData => 3,
            AtaProtocol::PioIn => 4,
            AtaProtocol::PioOut => 5,
            AtaProtocol::DmaIn => 6,
        };
        protocol << 1 | u8::from(self.extended)
    }

    fn flags(&self) -> u8 {
        let transfer = match self.protocol {
            AtaProtocol::NonData => 0,
            AtaProtocol::PioIn | AtaProtocol::DmaIn => FROM_DEVICE | BYTE_BLOCK | T_LENGTH_IN_COUNT,
            AtaProtocol::PioOut => BYTE_BLOCK | T_LENGTH_IN_COUNT,
        };
        transfer | if self.registers { CHECK } else { 0 }
    }

    /// The LBA bit, for commands with an address.
    fn device(&self) -> u8 {
        if self.extended { 0x40 } else { 0 }
    }
}

/// Key, code and qualifier, from either format of sense data; `None` if there are none.
pub(super) fn sense(data: &[u8]) -> Option<Sense> {
    let [key, code, qualifier] = match data.first()? & 0x7f {
        0x70 | 0x71 => [*data.get(2)?, *data.get(12)?, *data.get(13)?],
        0x72 | 0x73 => [*data.get(1)?, *data.get(2)?, *data.get(3)?],
        _ => return None,
    };
    Some(Sense { key: key & 0xf, code, qualifier })
}

/// The drive's registers, from either format of sense data; `None` if they hold none.
pub(super) fn registers(data: &[u8]) -> Option<AtaRegisters> {
    match data.first()? & 0x7f {
        0x72 | 0x73 => from_descriptors(data),
        0x70 | 0x71 => from_fixed(data),
        _ => None,
    }
}

/// The ATA Status Return descriptor: code 09h, 12 bytes after the two of its header.
fn from_descriptors(data: &[u8]) -> Option<AtaRegisters> {
    let end = data.len().min(8 + usize::from(*data.get(7)?));
    let mut rest = data.get(8..end)?;
    while let [code, length, ..] = *rest {
        let whole = 2 + usize::from(length);
        if code == 0x09 && length == 12 && rest.len() >= whole {
            // Without the extend bit the upper halves are not defined.
            let count_high = if rest[2] & 1 != 0 { rest[4] } else { 0 };
            return Some(AtaRegisters {
                status: rest[13],
                error: rest[3],
                count: Some(u16::from_le_bytes([rest[5], count_high])),
            });
        }
        rest = rest.get(whole..)?;
    }
    None
}

/// Fixed format has room for the lower halves only, and says whether the upper ones are zero. It
/// holds registers if it says so (00h/1Dh). Linux from 6.11 on gives them without saying so when
/// the drive reported an error, which then shows in the status register.
fn from_fixed(data: &[u8]) -> Option<AtaRegisters> {
    const ERROR_OR_FAULT: u8 = 0x21;
    let found = sense(data)?;
    let told = (found.code, found.qualifier) == (0x00, 0x1d);
    let of_drive = [0x1, 0x3, 0x4, 0xb].contains(&found.key);
    if data.len() < 14 || !(told || of_drive && data[4] & ERROR_OR_FAULT != 0) {
        return None;
    }
    let count_is_larger = data[8] & 1 << 6 != 0;
    Some(AtaRegisters {
        status: data[4],
        error: data[3],
        count: (!count_is_larger).then(|| u16::from(data[6])),
    })
}
