//! The first bytes of what people keep on disks, by the formats' own descriptions, so that no
//! program is needed to make them: LUKS, LVM, md, partition tables, btrfs, XFS.

/// Bytes at offsets of an image.
pub type Superblock = Vec<(u64, Vec<u8>)>;

/// LUKS2: the magic and the version of its first header (`LUKS2 On-Disk Format`, 2.1).
pub fn luks() -> Superblock {
    let mut header = vec![0; 4096];
    put(&mut header, 0, b"LUKS\xba\xbe\x00\x02");
    put(&mut header, 8, &16384_u64.to_be_bytes());
    put(&mut header, 168, b"3f1f0c1e-9d5b-4c39-8f2e-0c6a6d1f0a01");
    vec![(0, header)]
}

/// LVM2: the label in the second sector (`lib/format_text/layout.h`).
pub fn lvm() -> Superblock {
    let mut label = vec![0; 512];
    put(&mut label, 0, b"LABELONE");
    put(&mut label, 8, &1_u64.to_le_bytes());
    put(&mut label, 20, &32_u32.to_le_bytes());
    put(&mut label, 24, b"LVM2 001");
    put(&mut label, 32, b"Kx3ZJqYy1mH0n5tWcQ9aBv7LrE2pD4fG");
    // LVM's own start value, over all that follows the checksum, without the inversions of CRC-32.
    let checksum = !crc32(!0xf597_a6cf, &label[20..]);
    put(&mut label, 16, &checksum.to_le_bytes());
    vec![(512, label)]
}

/// Linux md, metadata 1.2: 4 KiB from the start (`include/uapi/linux/raid/md_p.h`).
pub fn md() -> Superblock {
    let mut block = vec![0; 256];
    put(&mut block, 0, &0xa92b_4efc_u32.to_le_bytes());
    put(&mut block, 4, &1_u32.to_le_bytes());
    put(&mut block, 16, b"0123456789abcdef");
    put(&mut block, 32, b"host:array");
    put(&mut block, 72, &1_u32.to_le_bytes());
    put(&mut block, 128, &2048_u64.to_le_bytes());
    put(&mut block, 144, &8_u64.to_le_bytes());
    // Folded to 32 bits; the field itself counts as zero.
    let words = block.as_chunks::<4>().0.iter();
    let sum: u64 = words.map(|word| u64::from(u32::from_le_bytes(*word))).sum();
    let folded = u32::try_from((sum & 0xffff_ffff) + (sum >> 32)).expect("a small image");
    put(&mut block, 216, &folded.to_le_bytes());
    vec![(4096, block)]
}

/// An MBR with one Linux partition.
pub fn dos() -> Superblock {
    vec![(0, master_boot_record(0x83, 2048, 4096))]
}

/// A GPT with one partition, its protective MBR before it, for an image of `bytes`.
pub fn gpt(bytes: u64) -> Superblock {
    let last = bytes / 512 - 1;
    let sectors = u32::try_from(last).expect("a small image");
    let mut all = vec![(0, master_boot_record(0xEE, 1, sectors))];
    all.extend(gpt_header(last, 1, 2));
    all
}

/// What is left of it at the end when the beginning is lost: the copy of header and entries.
pub fn gpt_backup(bytes: u64) -> Superblock {
    let last = bytes / 512 - 1;
    gpt_header(last, last, last - 32)
}

/// The header in sector `own` of a disk whose last sector is `last`, and its entries.
fn gpt_header(last: u64, own: u64, entries_at: u64) -> Superblock {
    let mut entries = vec![0; 128 * 128];
    // The type "Linux filesystem data", any identity, from sector 2048 to 6143.
    put(&mut entries, 0, &[0xAF, 0x3D, 0xC6, 0x0F, 0x83, 0x84, 0x72, 0x47]);
    put(&mut entries, 8, &[0x8E, 0x79, 0x3D, 0x69, 0xD8, 0x47, 0x7D, 0xE4]);
    put(&mut entries, 16, b"trimbench part 1");
    put(&mut entries, 32, &2048_u64.to_le_bytes());
    put(&mut entries, 40, &6143_u64.to_le_bytes());
    let mut header = vec![0; 512];
    put(&mut header, 0, b"EFI PART");
    put(&mut header, 8, &0x0001_0000_u32.to_le_bytes());
    put(&mut header, 12, &92_u32.to_le_bytes());
    put(&mut header, 24, &own.to_le_bytes());
    put(&mut header, 32, &(last + 1 - own).to_le_bytes());
    put(&mut header, 40, &34_u64.to_le_bytes());
    put(&mut header, 48, &(last - 33).to_le_bytes());
    put(&mut header, 56, b"trimbench disk 1");
    put(&mut header, 72, &entries_at.to_le_bytes());
    put(&mut header, 80, &128_u32.to_le_bytes());
    put(&mut header, 84, &128_u32.to_le_bytes());
    put(&mut header, 88, &crc32(0, &entries).to_le_bytes());
    let checksum = crc32(0, &header[..92]);
    put(&mut header, 16, &checksum.to_le_bytes());
    vec![(own * 512, header), (entries_at * 512, entries)]
}

/// btrfs: the superblock at 64 KiB (`include/uapi/linux/btrfs_tree.h`), with its CRC-32C.
pub fn btrfs(bytes: u64) -> Superblock {
    let mut block = vec![0; 4096];
    put(&mut block, 32, b"fedcba9876543210");
    put(&mut block, 48, &65536_u64.to_le_bytes());
    put(&mut block, 64, b"_BHRfS_M");
    put(&mut block, 112, &bytes.to_le_bytes());
    put(&mut block, 136, &1_u64.to_le_bytes());
    put(&mut block, 144, &4096_u32.to_le_bytes());
    put(&mut block, 148, &16384_u32.to_le_bytes());
    let checksum = crc(0x82F6_3B78, 0, &block[32..]);
    put(&mut block, 0, &checksum.to_le_bytes());
    vec![(65536, block)]
}

/// XFS, version 4 (no checksum): the superblock at 0 (`fs/xfs/libxfs/xfs_format.h`).
pub fn xfs() -> Superblock {
    let mut block = vec![0; 512];
    put(&mut block, 0, b"XFSB");
    put(&mut block, 4, &4096_u32.to_be_bytes());
    put(&mut block, 8, &2048_u64.to_be_bytes());
    put(&mut block, 32, b"xfs of trimbench");
    put(&mut block, 80, &1_u32.to_be_bytes());
    put(&mut block, 84, &1024_u32.to_be_bytes());
    put(&mut block, 88, &2_u32.to_be_bytes());
    put(&mut block, 96, &512_u32.to_be_bytes());
    put(&mut block, 100, &4_u16.to_be_bytes());
    put(&mut block, 102, &512_u16.to_be_bytes());
    put(&mut block, 104, &256_u16.to_be_bytes());
    put(&mut block, 106, &16_u16.to_be_bytes());
    // Logarithms of block, sector, inode, inodes per block, blocks of a group.
    put(&mut block, 120, &[12, 9, 8, 4, 10, 0, 0, 25]);
    vec![(0, block)]
}

fn master_boot_record(kind: u8, start: u32, sectors: u32) -> Vec<u8> {
    let mut record = vec![0; 512];
    put(&mut record, 440, b"trim");
    put(&mut record, 446, &[0, 0, 2, 0, kind, 0xFF, 0xFF, 0xFF]);
    put(&mut record, 454, &start.to_le_bytes());
    put(&mut record, 458, &sectors.to_le_bytes());
    put(&mut record, 510, &[0x55, 0xAA]);
    record
}

fn put(block: &mut [u8], offset: usize, bytes: &[u8]) {
    block[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// CRC-32 as of Ethernet and zlib; `start` is the checksum of what stands before.
fn crc32(start: u32, bytes: &[u8]) -> u32 {
    crc(0xEDB8_8320, start, bytes)
}

fn crc(polynomial: u32, start: u32, bytes: &[u8]) -> u32 {
    let mut register = !start;
    for byte in bytes {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            let low = register & 1;
            register = (register >> 1) ^ (polynomial * low);
        }
    }
    !register
}

#[cfg(test)]
mod tests {
    #[test]
    fn checksums_have_the_published_check_values() {
        assert_eq!(super::crc32(0, b"123456789"), 0xCBF4_3926);
        assert_eq!(super::crc(0x82F6_3B78, 0, b"123456789"), 0xE306_9283);
    }
}
