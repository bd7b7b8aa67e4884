//! IDENTIFY DEVICE (\[ATA\] ACS-4, 7.13.7; words 0 to 255, A.11 for what was in older versions).

use trimbench_core::{BlockSize, Blocks, Bytes, Nanos};

use super::command::{BLOCK, RANGE_BLOCKS_MAX, RANGES_PER_BLOCK};
use crate::passthrough::bytes::{le16, le64, text};
use crate::passthrough::error::PassthroughError;
use crate::passthrough::identity::{
    DriveIdentity, DriveProtocol, ReportedTrimPromise, ReportedTrimmedReads,
};

const NAME: &str = "IDENTIFY DEVICE";

/// The drive, as far as it concerns us.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the drive, each on its own")]
pub(super) struct AtaIdentity {
    pub(super) identity: DriveIdentity,
    pub(super) promise: ReportedTrimPromise,
    pub(super) security: SecurityState,
    /// Sanitize: block erase, crypto scramble, overwrite (word 59).
    pub(super) sanitize_block: bool,
    pub(super) sanitize_crypto: bool,
    pub(super) sanitize_overwrite: bool,
    /// Has logs that READ LOG EXT reads (general purpose logging).
    pub(super) has_logs: bool,
    /// May have queued TRIM (NCQ with SEND FPDMA QUEUED); its log 13h decides.
    pub(super) may_queue_trim: bool,
}

/// Word 128, and the estimates of words 89 and 90.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the drive, each on its own")]
pub(super) struct SecurityState {
    pub(super) supported: bool,
    /// A user password is set.
    pub(super) enabled: bool,
    pub(super) locked: bool,
    pub(super) frozen: bool,
    pub(super) count_expired: bool,
    pub(super) enhanced: bool,
    pub(super) erase: Option<Nanos>,
    pub(super) enhanced_erase: Option<Nanos>,
}

impl AtaIdentity {
    pub(super) fn decode(image: &[u8; BLOCK]) -> Result<Self, PassthroughError> {
        let word = |index: usize| le16(image, index * 2);
        let malformed = |why| Err(PassthroughError::Malformed { command: NAME, why });
        // A sum over all bytes, where the signature says that there is one.
        let sum = image.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        if image[510] == 0xa5 && sum != 0 {
            return malformed("its checksum is wrong");
        }
        if word(0) & 1 << 15 != 0 {
            return malformed("it is no disk (word 0 bit 15)");
        }
        let Some(logical_block) = logical_block(image) else {
            return malformed("its block size is no power of two from 512 B to 64 KiB");
        };
        let capacity = capacity(image);
        if capacity.0 == 0 {
            return malformed("its capacity is 0");
        }
        let sanitize = if word(59) & 1 << 12 != 0 { word(59) } else { 0 };
        let identity = DriveIdentity {
            protocol: DriveProtocol::Ata,
            model: swapped_text(&image[54..94]),
            serial: swapped_text(&image[20..40]),
            firmware: swapped_text(&image[46..54]),
            capacity,
            logical_block,
            formats: Vec::new(),
            format_index: None,
            namespace: None,
            nqn: None,
            eui64: None,
            nguid: None,
            wwn: (valid(word(87)) && word(87) & 1 << 8 != 0).then(|| wwn(image)),
        };
        Ok(Self {
            identity,
            promise: promise(image),
            security: SecurityState::decode(image),
            sanitize_block: sanitize & 1 << 15 != 0,
            sanitize_crypto: sanitize & 1 << 13 != 0,
            sanitize_overwrite: sanitize & 1 << 14 != 0,
            has_logs: (valid(word(84)) && word(84) & 1 << 5 != 0)
                || (valid(word(87)) && word(87) & 1 << 5 != 0),
            may_queue_trim: serial_ata(word(76))
                && word(76) & 1 << 8 != 0
                && word(77) & 1 << 6 != 0,
        })
    }
}

impl AtaIdentity {
    /// What is left over a line that carries commands of 28 bits only: no logs, no sanitize. TRIM
    /// stays the drive's promise, but cannot be sent.
    pub(super) fn forget_extended_commands(&mut self) {
        self.has_logs = false;
        self.sanitize_block = false;
        self.sanitize_crypto = false;
        self.sanitize_overwrite = false;
    }
}

impl SecurityState {
    fn decode(image: &[u8; BLOCK]) -> Self {
        let word = |index: usize| le16(image, index * 2);
        let state = word(128);
        let bit = |index: u16| state & 1 << index != 0;
        let supported = bit(0);
        Self {
            supported,
            enabled: supported && bit(1),
            locked: supported && bit(2),
            frozen: supported && bit(3),
            count_expired: supported && bit(4),
            enhanced: supported && bit(5),
            erase: erase_time(word(89)),
            enhanced_erase: erase_time(word(90)),
        }
    }
}

/// Bits 15:14 of a word that says 01b if it is valid.
fn valid(word: u16) -> bool {
    word >> 14 == 0b01
}

/// Whether words 76 to 79 are those of Serial ATA.
fn serial_ata(word_76: u16) -> bool {
    word_76 != 0 && word_76 != 0xffff
}

/// Time for a security erase. Bit 15 set: 15 bits, else 8 bits; in units of 2 minutes. 0 stands
/// for not specified; the largest value for longer than can be told.
fn erase_time(word: u16) -> Option<Nanos> {
    let (value, largest) =
        if word & 1 << 15 != 0 { (word & 0x7fff, 0x7fff) } else { (word & 0xff, 0xff) };
    (value != 0 && value != largest).then(|| Nanos::from_secs(u64::from(value) * 120))
}

/// Characters lie in words with the first in the upper byte.
fn swapped_text(bytes: &[u8]) -> String {
    text(&bytes.chunks_exact(2).flat_map(|word| [word[1], word[0]]).collect::<Vec<u8>>())
}

/// Words 108 to 111, the first the most significant.
fn wwn(image: &[u8; BLOCK]) -> u64 {
    (108..112).fold(0, |name, index| name << 16 | u64::from(le16(image, index * 2)))
}

/// Words 117 and 118 hold the size in words of 2 bytes, if word 106 says so.
fn logical_block(image: &[u8; BLOCK]) -> Option<BlockSize> {
    let layout = le16(image, 106 * 2);
    if !valid(layout) || layout & 1 << 12 == 0 {
        return Some(BlockSize::SECTOR);
    }
    let words = u64::from(le16(image, 117 * 2)) | u64::from(le16(image, 118 * 2)) << 16;
    BlockSize::new(Bytes(words * 2))
}

/// User addressable blocks: words 230 to 233 (word 69 bit 3), 100 to 103 (48-bit addresses), or
/// 60 and 61.
fn capacity(image: &[u8; BLOCK]) -> Blocks {
    let word = |index: usize| le16(image, index * 2);
    Blocks(if word(69) & 1 << 3 != 0 {
        le64(image, 230 * 2)
    } else if valid(word(83)) && word(83) & 1 << 10 != 0 {
        le64(image, 100 * 2) & 0xffff_ffff_ffff
    } else {
        u64::from(word(60)) | u64::from(word(61)) << 16
    })
}

fn promise(image: &[u8; BLOCK]) -> ReportedTrimPromise {
    let word = |index: usize| le16(image, index * 2);
    if word(169) & 1 == 0 {
        return ReportedTrimPromise::NONE;
    }
    let deterministic = word(69) & 1 << 14 != 0;
    // Zeroes are promised only together with determinism.
    let zeroes = deterministic && word(69) & 1 << 5 != 0;
    // 0 stands for not told; one block is what every drive takes.
    let payload_blocks = u32::from(word(105).max(1));
    ReportedTrimPromise {
        supported: true,
        deterministic: Some(deterministic),
        reads: if zeroes {
            ReportedTrimmedReads::Zeroes
        } else {
            ReportedTrimmedReads::Unspecified
        },
        ranges_max: payload_blocks * trimbench_core::units::narrow(RANGES_PER_BLOCK as u64),
        range_blocks_max: RANGE_BLOCKS_MAX,
        command_blocks_max: None,
        granularity: None,
        alignment: None,
        optimal_write: None,
        queued: Some(false),
        write_zeroes_deallocates: None,
        guard_is_crc: None,
    }
}
