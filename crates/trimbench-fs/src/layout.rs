//! The location of metadata.
//!
//! ext4, with `flex_bg` and `sparse_super`: the bitmaps and inode tables of 16 groups lie
//! together at the start of the first of them. Superblock, group descriptors and the blocks
//! reserved for more descriptors come before those of the first 16, with copies at the start of
//! group 1 and of groups whose number is a power of 3, 5 or 7. The journal is in the middle of the
//! device, contiguous if possible. Only whole groups are used. Each metadata block has a number, by
//! which the journal knows it; blocks of directories and of extents get theirs when they are
//! allocated. Source: Linux Documentation/filesystems/ext4/, e2fsprogs `mke2fs.c`.
//!
//! XFS and btrfs have no such places: their inodes and trees lie wherever there was room. Here they
//! have a part at the start of each allocation group (XFS), or of the device (btrfs), where the log
//! or the tree blocks follow; the numbers of metadata blocks are formed as for ext4 (assumed). So
//! the room for data is as contiguous as theirs. f2fs has its tables at the start of the device,
//! and its node blocks in segments among those of data; here these are at the start, too.
//!
//! Not modelled: quota, extended attributes, checksums.
//!
//! Units: filesystem blocks of 4 KiB.

use trimbench_core::Bytes;
use trimbench_core::units::index;

use crate::config::{FS_BLOCK, FsConfig, FsConfigError};
use crate::extent::Extent;
use crate::kind::{AllocationGroups, BTRFS_GROUP, FsKind};

#[cfg(test)]
mod tests;

/// Groups whose metadata lie together (`flex_bg`).
const FLEX_GROUPS: u64 = 16;
/// Inodes in a block of the inode table, of 256 bytes each.
const INODES_PER_FS_BLOCK: u64 = 16;
/// Group descriptors in a block, of 64 bytes each.
const DESCRIPTORS_PER_FS_BLOCK: u64 = 64;

/// The number of a metadata block.
pub(crate) type MetadataId = u32;

/// A block of metadata, by what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metadata {
    /// The descriptor of this group.
    Descriptor(u64),
    /// Which blocks of this group are taken.
    FsBlockBitmap(u64),
    /// Which inodes of this group are taken.
    InodeBitmap(u64),
    /// The block with this inode.
    Inode(u64),
}

/// Where everything that is no data lies.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    kind: FsKind,
    /// Groups whose metadata lie together.
    flex_groups: u64,
    groups: u64,
    group_fs_blocks: u64,
    group_inodes: u64,
    /// Blocks that are no fixed ones, by their number less `fixed`.
    others: Vec<u64>,
}

impl Layout {
    pub(crate) fn new(config: &FsConfig, capacity: Bytes) -> Result<Self, FsConfigError> {
        let group_fs_blocks = u64::from(config.group_fs_blocks);
        let groups = capacity.0 / FS_BLOCK.0 / group_fs_blocks;
        let layout = Self {
            kind: config.kind,
            flex_groups: match config.kind {
                FsKind::Ext4 => FLEX_GROUPS,
                FsKind::Xfs => groups.div_ceil(AllocationGroups::COUNT).max(1),
                FsKind::Btrfs | FsKind::F2fs => groups.max(1),
            },
            groups,
            group_fs_blocks,
            group_inodes: u64::from(config.group_inodes),
            others: Vec::new(),
        };
        let fits = layout.groups >= 2
            && layout.metadata().all(|extent| extent.end() <= layout.groups * group_fs_blocks)
            && layout.fixed() <= u64::from(MetadataId::MAX / 2);
        let group = Bytes(group_fs_blocks * FS_BLOCK.0);
        fits.then_some(layout).ok_or(FsConfigError::DeviceTooSmall { capacity, group })
    }

    pub(crate) fn groups(&self) -> u64 {
        self.groups
    }

    pub(crate) fn group_fs_blocks(&self) -> u64 {
        self.group_fs_blocks
    }

    pub(crate) fn total(&self) -> u64 {
        self.groups * self.group_fs_blocks
    }

    pub(crate) fn inodes(&self) -> u64 {
        self.groups * self.group_inodes
    }

    pub(crate) fn group_of_inode(&self, inode: u64) -> u64 {
        inode / self.group_inodes
    }

    /// Where a closed file with this inode looks for space first: the second group of its flex
    /// group (`ext4_inode_to_goal_block`).
    pub(crate) fn goal(&self, inode: u64) -> u64 {
        let flex = self.group_of_inode(inode) / self.flex_groups;
        let first = match self.kind {
            FsKind::Ext4 => flex * self.flex_groups + 1,
            FsKind::Xfs | FsKind::F2fs => flex * self.flex_groups,
            // The first block group is that of metadata.
            FsKind::Btrfs => BTRFS_GROUP / self.group_fs_blocks,
        };
        first.min(self.groups - 1) * self.group_fs_blocks
    }

    /// From where on the journal, or the room for tree blocks, is looked for.
    pub(crate) fn journal_goal(&self) -> u64 {
        match self.kind {
            FsKind::Ext4 | FsKind::Xfs => self.groups / 2 * self.group_fs_blocks,
            FsKind::Btrfs | FsKind::F2fs => 0,
        }
    }

    /// Where a directory with this inode looks for space first: the first group of its flex group.
    pub(crate) fn directory_goal(&self, inode: u64) -> u64 {
        let flex = self.group_of_inode(inode) / self.flex_groups;
        flex * self.flex_groups * self.group_fs_blocks
    }

    /// The fixed metadata, as extents; the journal and directories are apart. None overlap if each
    /// flex group holds its own.
    pub(crate) fn metadata(&self) -> impl Iterator<Item = Extent> {
        let backups = (0..self.groups)
            .filter(|group| self.has_fs_superblock(*group))
            .map(|group| Extent::new(group * self.group_fs_blocks, self.head()));
        let flexes = (0..self.groups.div_ceil(self.flex_groups)).map(|flex| {
            let members = self.flex_groups.min(self.groups - flex * self.flex_groups);
            Extent::new(self.flex_start(flex), members * (2 + self.table()))
        });
        backups.chain(flexes)
    }

    /// The journal's size: the configured one, or mke2fs's for this size. Source: e2fsprogs,
    /// `ext2fs_default_journal_size`.
    pub(crate) fn journal_length(&self, config: &FsConfig) -> u64 {
        const SIZES: [(u64, u64); 8] = [
            (32_768, 1_024),
            (256 << 10, 4_096),
            (512 << 10, 8_192),
            (4_096 << 10, 16_384),
            (8_192 << 10, 32_768),
            (16_384 << 10, 65_536),
            (32_768 << 10, 131_072),
            (u64::MAX, 262_144),
        ];
        match config.journal {
            Some(size) => size.0 / FS_BLOCK.0,
            None => SIZES
                .iter()
                .find(|(below, _)| self.total() < *below)
                .map_or(0, |&(_, length)| length),
        }
    }

    /// The number of a metadata block.
    pub(crate) fn id(&self, metadata: Metadata) -> MetadataId {
        let in_group =
            |group: u64, offset: u64| 1 + self.descriptors() + group * (2 + self.table()) + offset;
        let id = match metadata {
            Metadata::Descriptor(group) => 1 + group / DESCRIPTORS_PER_FS_BLOCK,
            Metadata::FsBlockBitmap(group) => in_group(group, 0),
            Metadata::InodeBitmap(group) => in_group(group, 1),
            Metadata::Inode(inode) => {
                let offset = inode % self.group_inodes / INODES_PER_FS_BLOCK;
                in_group(inode / self.group_inodes, 2 + offset)
            }
        };
        trimbench_core::units::narrow(id)
    }

    /// A number for a block at this address: of a directory, or of a file's extents.
    pub(crate) fn add_fs_block(&mut self, address: u64) -> MetadataId {
        self.others.push(address);
        trimbench_core::units::narrow(self.fixed() + self.others.len() as u64 - 1)
    }

    /// How many numbers are given.
    pub(crate) fn ids(&self) -> usize {
        index(self.fixed()) + self.others.len()
    }

    pub(crate) fn address(&self, id: MetadataId) -> u64 {
        let id = u64::from(id);
        let head = 1 + self.descriptors();
        if id < head {
            return id;
        }
        if id >= self.fixed() {
            return self.others[index(id - self.fixed())];
        }
        let (group, offset) = ((id - head) / (2 + self.table()), (id - head) % (2 + self.table()));
        let (flex, member) = (group / self.flex_groups, group % self.flex_groups);
        let members = self.flex_groups.min(self.groups - flex * self.flex_groups);
        let within = match offset {
            0 => member,
            1 => members + member,
            _ => 2 * members + member * self.table() + offset - 2,
        };
        self.flex_start(flex) + within
    }

    /// Blocks of an inode table.
    fn table(&self) -> u64 {
        self.group_inodes / INODES_PER_FS_BLOCK
    }

    /// Blocks of group descriptors.
    pub(crate) fn descriptors(&self) -> u64 {
        self.groups.div_ceil(DESCRIPTORS_PER_FS_BLOCK)
    }

    /// Blocks of the superblock or a copy of it, of the descriptors, and what mke2fs reserves for
    /// more of them: as many as a filesystem of 1024 times the size has, 1024 at most.
    fn head(&self) -> u64 {
        if self.kind != FsKind::Ext4 {
            return 1 + self.descriptors();
        }
        let grown = (self.total() << 10).min(u64::from(u32::MAX));
        let groups = grown.div_ceil(self.group_fs_blocks);
        let reserved = groups.div_ceil(DESCRIPTORS_PER_FS_BLOCK).saturating_sub(self.descriptors());
        1 + self.descriptors() + reserved.min(FS_BLOCK.0 / 4).min(self.group_fs_blocks / 4)
    }

    /// Numbers of fixed metadata blocks.
    fn fixed(&self) -> u64 {
        1 + self.descriptors() + self.groups * (2 + self.table())
    }

    /// Where the metadata of a flex group begins.
    fn flex_start(&self, flex: u64) -> u64 {
        let start = flex * self.flex_groups * self.group_fs_blocks;
        if flex == 0 { self.head() } else { start }
    }

    /// Whether a group begins with a superblock or a copy of it.
    fn has_fs_superblock(&self, group: u64) -> bool {
        group == 0 || (self.kind == FsKind::Ext4 && has_copy(group))
    }
}

/// `sparse_super` of ext4.
fn has_copy(group: u64) -> bool {
    let is_power_of = |base: u64| {
        let mut power = base;
        while power < group {
            power *= base;
        }
        power == group
    };
    group <= 1 || [3, 5, 7].into_iter().any(is_power_of)
}
