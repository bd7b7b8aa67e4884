//! Identity of a drive, and its promises about TRIM: one form for `NVMe` and ATA.

use trimbench_core::{BlockSize, Blocks, Bytes, Lba, LbaRange};

/// The language that the drive is spoken to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriveProtocol {
    /// NVM Express.
    Nvme,
    /// ATA, through the kernel's or a bridge's translation from SCSI.
    Ata,
}

/// Who a drive is, by its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveIdentity {
    /// How it is spoken to.
    pub protocol: DriveProtocol,
    /// Model, without padding.
    pub model: String,
    /// Serial number, without padding.
    pub serial: String,
    /// Firmware revision, without padding.
    pub firmware: String,
    /// Blocks that the host may address: of the namespace (`NVMe`) or the drive (ATA).
    pub capacity: Blocks,
    /// Size of a logical block.
    pub logical_block: BlockSize,
    /// Formats that the namespace can be given; empty for ATA, which has none to choose from.
    pub formats: Vec<LbaFormat>,
    /// Which of `formats` is in use.
    pub format_index: Option<usize>,
    /// The namespace (`NVMe`).
    pub namespace: Option<u32>,
    /// Qualified name of the subsystem (`NVMe` 1.2.1 and later).
    pub nqn: Option<String>,
    /// 64-bit identifier of the namespace (`NVMe`).
    pub eui64: Option<[u8; 8]>,
    /// 128-bit identifier of the namespace (`NVMe`).
    pub nguid: Option<[u8; 16]>,
    /// World wide name (ATA).
    pub wwn: Option<u64>,
}

/// A format that an `NVMe` namespace can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LbaFormat {
    /// Size of a logical block; `None` if it is none that trimbench handles.
    pub block: Option<BlockSize>,
    /// Bytes of metadata beside each block.
    pub metadata: Bytes,
    /// What the drive says of its speed: 0 is best, 3 degraded.
    pub relative_performance: u8,
}

/// What reading a trimmed block gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportedTrimmedReads {
    /// All bits 0.
    Zeroes,
    /// All bits 1.
    Ones,
    /// The drive does not say.
    Unspecified,
}

/// What a drive says of TRIM. A promise, not a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedTrimPromise {
    /// Whether it has the command at all.
    pub supported: bool,
    /// Whether all reads of a trimmed block give the same until it is written again; `None` where
    /// the drive leaves it open. ATA: DRAT. `NVMe`: by definition of the command (\[NVME\] NVM
    /// Command Set, *Deallocated or Unwritten Logical Blocks*), so always known with support.
    pub deterministic: Option<bool>,
    /// What those reads give.
    pub reads: ReportedTrimmedReads,
    /// Ranges that one command may carry, at least 1 if supported. ATA: 64 for each block of
    /// payload.
    pub ranges_max: u32,
    /// Logical blocks that one range may span.
    pub range_blocks_max: u64,
    /// Logical blocks that all ranges of a command may span together; `None` if unlimited.
    pub command_blocks_max: Option<u64>,
    /// Ranges should be multiples of this (`NVMe`: NPDG).
    pub granularity: Option<Blocks>,
    /// Ranges should start at multiples of this (`NVMe`: NPDA).
    pub alignment: Option<Blocks>,
    /// Writes should be multiples of this (`NVMe`: NOWS).
    pub optimal_write: Option<Blocks>,
    /// Whether TRIM may be sent without draining the queue first. Always for `NVMe`; ATA: queued
    /// TRIM.
    pub queued: Option<bool>,
    /// Whether Write Zeroes with its deallocate bit trims (`NVMe`: DLFEAT bit 3).
    pub write_zeroes_deallocates: Option<bool>,
    /// Whether the guard of a trimmed block is the CRC of what reading it gives (`NVMe`: DLFEAT
    /// bit 4); otherwise it reads as `FFFFh`.
    pub guard_is_crc: Option<bool>,
}

impl DriveIdentity {
    /// Capacity in bytes.
    pub fn bytes(&self) -> Bytes {
        self.capacity.bytes(self.logical_block)
    }

    /// Whether both are the same drive (and namespace), whatever changed in it.
    pub fn is_same_drive(&self, other: &Self) -> bool {
        (self.protocol, &self.model, &self.serial, self.namespace, self.wwn, self.nguid)
            == (
                other.protocol,
                &other.model,
                &other.serial,
                other.namespace,
                other.wwn,
                other.nguid,
            )
    }
}

impl ReportedTrimPromise {
    /// A drive without TRIM.
    pub(crate) const NONE: Self = Self {
        supported: false,
        deterministic: None,
        reads: ReportedTrimmedReads::Unspecified,
        ranges_max: 0,
        range_blocks_max: 0,
        command_blocks_max: None,
        granularity: None,
        alignment: None,
        optimal_write: None,
        queued: None,
        write_zeroes_deallocates: None,
        guard_is_crc: None,
    };

    /// The ranges as the drive takes them: those that are longer than one may be, cut up.
    pub fn pieces(&self, ranges: &[LbaRange]) -> Vec<LbaRange> {
        let longest = self.range_blocks_max.max(1);
        let cut = |range: &LbaRange| {
            let (start, length) = (range.start().0, range.length().0);
            (0..length.div_ceil(longest)).map(move |index| {
                let offset = index * longest;
                let blocks = longest.min(length - offset);
                LbaRange::new(Lba(start + offset), Blocks(blocks))
                    .expect("a part of a range is not empty and ends within it")
            })
        };
        ranges.iter().flat_map(cut).collect()
    }

    /// The ranges in as few commands as the drive's limits allow, in their order.
    ///
    /// Each element can be handed to [`super::Drive::deallocate`]. Empty if TRIM is not supported.
    pub fn split(&self, ranges: &[LbaRange]) -> Vec<Vec<LbaRange>> {
        if !self.supported {
            return Vec::new();
        }
        let blocks_max = self.command_blocks_max.unwrap_or(u64::MAX).max(1);
        let shorter = Self { range_blocks_max: self.range_blocks_max.min(blocks_max), ..*self };
        let mut commands: Vec<Vec<LbaRange>> = Vec::new();
        let mut blocks = 0_u64;
        for piece in shorter.pieces(ranges) {
            let added = blocks.saturating_add(piece.length().0);
            match commands.last_mut() {
                Some(last)
                    if (last.len() as u64) < u64::from(self.ranges_max) && added <= blocks_max =>
                {
                    last.push(piece);
                    blocks = added;
                }
                _ => {
                    commands.push(vec![piece]);
                    blocks = piece.length().0;
                }
            }
        }
        commands
    }
}
