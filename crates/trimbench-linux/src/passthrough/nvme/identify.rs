//! Identify data structures (\[NVME\] Base 2.0, 5.17.2, figures 275 and 284; NVM Command Set 1.0,
//! 4.1.5, figure 97).

use trimbench_core::{BlockSize, Blocks, Bytes, TrimPromise};

use crate::passthrough::bytes::{identifier, le16, le32, le64, text};
use crate::passthrough::purge::ReportedPurge;

/// Bytes of every identify data structure.
pub(super) const BYTES: usize = 4096;

/// Bits of LPA: parts of logs, and telemetry.
const LOG_PARTS_AND_TELEMETRY: u8 = 0b1100;
/// OCP's UUID, under which its logs are found (\[OCP\] 4.1, NVMe-AD-10).
const OCP_UUID: [u8; 16] = [
    0xc1, 0x94, 0xd5, 0x5b, 0xe0, 0x94, 0x47, 0x94, 0xa2, 0x1d, 0x29, 0x99, 0x8f, 0x56, 0xbe, 0x6f,
];

#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the drive, each on its own")]
pub(super) struct Controller {
    /// PCI vendor (VID).
    pub(super) pci_vendor: u16,
    pub(super) serial: String,
    pub(super) model: String,
    /// Several controllers may share the subsystem (CMIC bit 1).
    pub(super) shares_subsystem: bool,
    /// Has a list of UUIDs (CTRATT bit 9).
    pub(super) has_uuid_list: bool,
    /// Has telemetry logs (LPA bit 3), of which parts can be read (LPA bit 2).
    pub(super) has_telemetry: bool,
    /// Has Format NVM (OACS bit 1).
    pub(super) has_format: bool,
    /// Has namespace management (OACS bit 3).
    pub(super) manages_namespaces: bool,
    /// The means of sanitizing that it has (SANICAP), strongest first.
    pub(super) sanitizes: Vec<ReportedPurge>,
    /// Highest number that a namespace may have (NN).
    pub(super) namespaces_max: u32,
    /// Has Dataset Management (ONCS bit 2).
    has_deallocate: bool,
    /// A format, or a secure erase, applies to all namespaces (FNA bits 0 and 1).
    pub(super) format_hits_all: bool,
    /// Format can erase cryptographically (FNA bit 2).
    pub(super) format_crypto: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    pub(super) size: Blocks,
    /// The block size in use; `None` if it is none that trimbench handles.
    pub(super) logical_block: Option<BlockSize>,
    /// Its format as Format NVM wants it in CDW10: LBAFL, MSET, PI, PIL and LBAFU.
    pub(super) format_dword: u32,
    /// What reading a deallocated block gives (DLFEAT).
    dlfeat: u8,
    pub(super) nguid: Option<[u8; 16]>,
}

impl Controller {
    pub(super) fn decode(image: &[u8; BYTES]) -> Self {
        let commands = le16(image, 256);
        let format = image[524];
        let sanitizes = [
            (1 << 1, ReportedPurge::NvmeSanitizeBlockErase),
            (1, ReportedPurge::NvmeSanitizeCryptoErase),
            (1 << 2, ReportedPurge::NvmeSanitizeOverwrite),
        ];
        Self {
            pci_vendor: le16(image, 0),
            serial: text(&image[4..24]),
            model: text(&image[24..64]),
            shares_subsystem: image[76] & 1 << 1 != 0,
            has_uuid_list: le32(image, 96) & 1 << 9 != 0,
            has_telemetry: image[261] & LOG_PARTS_AND_TELEMETRY == LOG_PARTS_AND_TELEMETRY,
            has_format: commands & 1 << 1 != 0,
            manages_namespaces: commands & 1 << 3 != 0,
            sanitizes: ReportedPurge::announced(le32(image, 328), sanitizes),
            namespaces_max: le32(image, 516),
            has_deallocate: le16(image, 520) & 1 << 2 != 0,
            format_hits_all: format & 0b11 != 0,
            format_crypto: format & 1 << 2 != 0,
        }
    }
}

impl Namespace {
    pub(super) fn decode(image: &[u8; BYTES]) -> Self {
        let (selected, protection) = (image[26], u32::from(image[29]));
        // Bits 6:5 count only where there are more than 16 formats.
        let upper = if image[25] >= 16 { selected >> 5 & 0b11 } else { 0 };
        let index = usize::from(upper << 4 | selected & 0xf);
        let metadata_extended = u32::from(selected >> 4 & 1);
        // The exponent of the block size; 0 says that the format is not available.
        let exponent = u32::from(image[128 + index * 4 + 2]);
        let block = 1_u64.checked_shl(exponent).and_then(|size| BlockSize::new(Bytes(size)));
        Self {
            size: Blocks(le64(image, 0)),
            logical_block: block.filter(|_| index <= usize::from(image[25])),
            format_dword: u32::from(selected & 0xf)
                | metadata_extended << 4
                | (protection & 0b111) << 5
                | (protection >> 3 & 1) << 8
                | u32::from(upper) << 12,
            dlfeat: image[33],
            nguid: identifier(image, 104),
        }
    }

    /// What controller and namespace together promise of TRIM. That all reads of a deallocated
    /// block give the same until it is written again is part of the command's definition.
    pub(super) fn promise(&self, controller: &Controller) -> TrimPromise {
        match self.dlfeat & 0b111 {
            _ if !controller.has_deallocate => TrimPromise::Unknown,
            0b001 => TrimPromise::Zeroes,
            0b010 => TrimPromise::Ones,
            _ => TrimPromise::Deterministic,
        }
    }
}

/// The identifiers of a list of namespaces, which ends at the first 0.
pub(super) fn namespaces(image: &[u8; BYTES]) -> Vec<u32> {
    (0..BYTES / 4).map(|index| le32(image, index * 4)).take_while(|&nsid| nsid != 0).collect()
}

/// The index of OCP's UUID in a list of UUIDs, from 1; `None` if it is not there.
pub(super) fn ocp_uuid_index(image: &[u8; BYTES]) -> Option<u8> {
    // Entries of 32 bytes, the UUID in the second half; the first entry is reserved.
    (1..BYTES / 32)
        .map(|index| (index, &image[index * 32 + 16..index * 32 + 32]))
        .take_while(|(_, uuid)| uuid.iter().any(|&byte| byte != 0))
        .find(|(_, uuid)| **uuid == OCP_UUID)
        .and_then(|(index, _)| u8::try_from(index).ok())
}
