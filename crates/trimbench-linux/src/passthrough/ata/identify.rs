//! IDENTIFY DEVICE (\[ATA\] ACS-4, 7.13.7; words 0 to 255, A.11 for what was in older versions).

use trimbench_core::{BlockSize, Blocks, Bytes, Nanos, TrimPromise};

use super::command::BLOCK;
use crate::passthrough::DriveIdentity;
use crate::passthrough::bytes::{le16, le64, text};
use crate::passthrough::error::PassthroughError;
use crate::passthrough::purge::ReportedPurge;

const NAME: &str = "IDENTIFY DEVICE";

/// The drive, as far as it concerns us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AtaIdentity {
    pub(super) identity: DriveIdentity,
    pub(super) promise: TrimPromise,
    pub(super) security: SecurityState,
    /// Has general purpose logs (word 87 bit 5).
    pub(super) has_logs: bool,
    /// The means of sanitizing that it has (word 59), strongest first.
    pub(super) sanitizes: Vec<ReportedPurge>,
}

/// Word 128, and the estimates of words 89 and 90.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the drive, each on its own")]
pub(super) struct SecurityState {
    pub(super) supported: bool,
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
        if logical_block(image).is_none() {
            return malformed("its block size is no power of two from 512 B to 64 KiB");
        }
        if capacity(image).0 == 0 {
            return malformed("its capacity is 0");
        }
        let sanitize = if word(59) & 1 << 12 != 0 { word(59) } else { 0 };
        let sanitizes = [
            (1 << 15, ReportedPurge::AtaSanitizeBlockErase),
            (1 << 13, ReportedPurge::AtaSanitizeCryptoScramble),
            (1 << 14, ReportedPurge::AtaSanitizeOverwrite),
        ];
        let identity = DriveIdentity {
            model: swapped_text(&image[54..94]),
            serial: swapped_text(&image[20..40]),
            namespace: None,
            nguid: None,
            wwn: (valid(word(87)) && word(87) & 1 << 8 != 0).then(|| wwn(image)),
        };
        Ok(Self {
            identity,
            promise: promise(image),
            security: SecurityState::decode(image),
            has_logs: valid(word(87)) && word(87) & 1 << 5 != 0,
            sanitizes: ReportedPurge::announced(sanitize.into(), sanitizes),
        })
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

/// Without DRAT each read of a trimmed block may differ. Zeroes (RZAT) are promised only together
/// with determinism.
fn promise(image: &[u8; BLOCK]) -> TrimPromise {
    let word = |index: usize| le16(image, index * 2);
    let (deterministic, zeroes) = (word(69) & 1 << 14 != 0, word(69) & 1 << 5 != 0);
    match (word(169) & 1 != 0, deterministic) {
        (false, _) => TrimPromise::Unknown,
        (true, false) => TrimPromise::Nothing,
        (true, true) if zeroes => TrimPromise::Zeroes,
        (true, true) => TrimPromise::Deterministic,
    }
}
