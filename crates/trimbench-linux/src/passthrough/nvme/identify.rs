//! Identify data structures (\[NVME\] Base 2.0, 5.17.2, figures 275 and 284; NVM Command Set 1.0,
//! 4.1.5, figures 97 and 102).

use trimbench_core::{BlockSize, Blocks, Bytes};

use crate::passthrough::bytes::{identifier, le16, le32, le64, text};
use crate::passthrough::identity::{LbaFormat, ReportedTrimPromise, ReportedTrimmedReads};

/// Bytes of every identify data structure.
pub(super) const BYTES: usize = 4096;

/// OCP's UUID, under which its logs are found (\[OCP\] 4.1, NVMe-AD-10).
const OCP_UUID: [u8; 16] = [
    0xc1, 0x94, 0xd5, 0x5b, 0xe0, 0x94, 0x47, 0x94, 0xa2, 0x1d, 0x29, 0x99, 0x8f, 0x56, 0xbe, 0x6f,
];

/// The controller, as far as it concerns us.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the drive, each on its own")]
pub(super) struct Controller {
    pub(super) serial: String,
    pub(super) model: String,
    pub(super) firmware: String,
    /// Several controllers may share the subsystem (CMIC bit 1).
    pub(super) shares_subsystem: bool,
    /// Has a list of UUIDs (CTRATT bit 9).
    pub(super) has_uuid_list: bool,
    /// Has Format NVM (OACS bit 1).
    pub(super) has_format: bool,
    /// Has namespace management (OACS bit 3).
    pub(super) manages_namespaces: bool,
    /// Throttles for heat as the host sets it (HCTMA bit 0), and counts that.
    pub(super) host_throttling: bool,
    /// Has a temperature that it warns of (WCTEMP).
    pub(super) warns_of_heat: bool,
    /// Sanitize: crypto erase, block erase, overwrite (SANICAP bits 0 to 2).
    pub(super) sanitize_crypto: bool,
    pub(super) sanitize_block: bool,
    pub(super) sanitize_overwrite: bool,
    /// Highest number that a namespace may have (NN).
    pub(super) namespaces_max: u32,
    /// Has Dataset Management (ONCS bit 2).
    pub(super) has_deallocate: bool,
    /// A format, or a secure erase, applies to all namespaces (FNA bits 0 and 1).
    pub(super) format_hits_all: bool,
    /// Format can erase cryptographically (FNA bit 2).
    pub(super) format_crypto: bool,
    pub(super) nqn: Option<String>,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    pub(super) size: Blocks,
    pub(super) formats: Vec<LbaFormat>,
    pub(super) format_index: usize,
    /// Metadata lies behind each block (FLBAS bit 4).
    metadata_extended: bool,
    /// End-to-end protection (DPS).
    protection: u8,
    dlfeat: u8,
    granularity: Option<Blocks>,
    alignment: Option<Blocks>,
    optimal_write: Option<Blocks>,
    pub(super) nguid: Option<[u8; 16]>,
    pub(super) eui64: Option<[u8; 8]>,
}

/// Limits of Dataset Management; `None` where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeallocateLimits {
    pub(super) ranges: Option<u8>,
    pub(super) range_blocks: Option<u32>,
    pub(super) command_blocks: Option<u64>,
}

impl Controller {
    pub(super) fn decode(image: &[u8; BYTES]) -> Self {
        let commands = le16(image, 256);
        let sanitize = le32(image, 328);
        let format = image[524];
        let nqn = text(&image[768..1024]);
        Self {
            serial: text(&image[4..24]),
            model: text(&image[24..64]),
            firmware: text(&image[64..72]),
            shares_subsystem: image[76] & 1 << 1 != 0,
            has_uuid_list: le32(image, 96) & 1 << 9 != 0,
            has_format: commands & 1 << 1 != 0,
            manages_namespaces: commands & 1 << 3 != 0,
            warns_of_heat: le16(image, 266) != 0,
            host_throttling: le16(image, 322) & 1 != 0,
            sanitize_crypto: sanitize & 1 != 0,
            sanitize_block: sanitize & 1 << 1 != 0,
            sanitize_overwrite: sanitize & 1 << 2 != 0,
            namespaces_max: le32(image, 516),
            has_deallocate: le16(image, 520) & 1 << 2 != 0,
            format_hits_all: format & 0b11 != 0,
            format_crypto: format & 1 << 2 != 0,
            nqn: (!nqn.is_empty()).then_some(nqn),
        }
    }
}

impl Namespace {
    pub(super) fn decode(image: &[u8; BYTES]) -> Self {
        let selected = image[26];
        // Bits 6:5 count only where there are more than 16 formats.
        let upper = if image[25] >= 16 { usize::from(selected >> 5 & 0b11) << 4 } else { 0 };
        // From NVM Command Set 1.1 on two bits: the lower one says that these three are there.
        let performance = image[24] >> 4;
        let preferred = |at| (performance & 1 != 0).then(|| zero_based(le16(image, at)));
        Self {
            size: Blocks(le64(image, 0)),
            formats: (0..=usize::from(image[25]).min(63))
                .map(|index| format(image, index))
                .collect(),
            format_index: upper | usize::from(selected & 0xf),
            metadata_extended: selected & 1 << 4 != 0,
            protection: image[29],
            dlfeat: image[33],
            granularity: preferred(68),
            alignment: preferred(70),
            optimal_write: preferred(72),
            nguid: identifier(image, 104),
            eui64: identifier(image, 120),
        }
    }

    /// The block size in use; `None` if it is none that trimbench handles.
    pub(super) fn logical_block(&self) -> Option<BlockSize> {
        self.formats.get(self.format_index)?.block
    }

    /// The present format as Format NVM wants it in CDW10: LBAFL, MSET, PI, PIL and LBAFU.
    pub(super) fn format_dword(&self) -> u32 {
        let index = trimbench_core::units::narrow(self.format_index as u64);
        let protection = u32::from(self.protection & 0b111);
        let at_start = u32::from(self.protection >> 3 & 1);
        (index & 0xf)
            | u32::from(self.metadata_extended) << 4
            | protection << 5
            | at_start << 8
            | (index >> 4) << 12
    }

    /// What controller and namespace together promise of TRIM.
    pub(super) fn promise(
        &self,
        controller: &Controller,
        limits: DeallocateLimits,
    ) -> ReportedTrimPromise {
        if !controller.has_deallocate {
            return ReportedTrimPromise::NONE;
        }
        ReportedTrimPromise {
            supported: true,
            deterministic: Some(true),
            reads: match self.dlfeat & 0b111 {
                0b001 => ReportedTrimmedReads::Zeroes,
                0b010 => ReportedTrimmedReads::Ones,
                _ => ReportedTrimmedReads::Unspecified,
            },
            ranges_max: limits.ranges.map_or(256, u32::from),
            range_blocks_max: u64::from(limits.range_blocks.unwrap_or(u32::MAX)),
            command_blocks_max: limits.command_blocks,
            granularity: self.granularity,
            alignment: self.alignment,
            optimal_write: self.optimal_write,
            queued: Some(true),
            write_zeroes_deallocates: Some(self.dlfeat & 1 << 3 != 0),
            guard_is_crc: Some(self.dlfeat & 1 << 4 != 0),
        }
    }
}

impl DeallocateLimits {
    /// DMRL, DMRSL and DMSL: 0 stands for no limit.
    pub(super) fn decode(image: &[u8; BYTES]) -> Self {
        Self {
            ranges: Some(image[3]).filter(|&limit| limit != 0),
            range_blocks: Some(le32(image, 4)).filter(|&limit| limit != 0),
            command_blocks: Some(le64(image, 8)).filter(|&limit| limit != 0),
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

fn format(image: &[u8; BYTES], index: usize) -> LbaFormat {
    let at = 128 + index * 4;
    // 0 says that the format is not available.
    let block =
        1_u64.checked_shl(u32::from(image[at + 2])).and_then(|size| BlockSize::new(Bytes(size)));
    LbaFormat {
        block,
        metadata: Bytes(u64::from(le16(image, at))),
        relative_performance: image[at + 3] & 0b11,
    }
}

/// A count that is stored less one.
fn zero_based(value: u16) -> Blocks {
    Blocks(u64::from(value) + 1)
}
