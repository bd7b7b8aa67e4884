use std::collections::BTreeSet;

use super::*;

fn layout(groups: u64) -> Layout {
    let config = FsConfig { group_fs_blocks: 4_096, group_inodes: 256, ..FsConfig::default() };
    let capacity = Bytes(groups * 4_096 * 4_096 + 12_345);
    Layout::new(&config, capacity).expect("it fits")
}

#[test]
fn each_metadata_block_has_a_place_of_its_own() {
    for groups in [2, 16, 37] {
        let layout = layout(groups);
        assert_eq!(layout.total(), groups * 4_096, "only whole groups are used");
        let addresses: BTreeSet<u64> =
            (0..layout.ids()).map(|id| layout.address(u32::try_from(id).expect("few"))).collect();
        assert_eq!(addresses.len(), layout.ids());
        let covered: BTreeSet<u64> =
            layout.metadata().flat_map(|extent| extent.start..extent.end()).collect();
        assert!(addresses.is_subset(&covered), "and is taken");
        // Superblock and descriptors in group 0 lie before what is reserved; the rest are copies.
        let copies = (1..groups).filter(|group| [1, 3, 5, 7, 9, 25, 27].contains(group)).count();
        let reserved = layout.head() - 2;
        let numbered = covered.len() as u64 - reserved - copies as u64 * layout.head();
        assert_eq!(addresses.len() as u64, numbered, "and nothing else");
    }
}

#[test]
fn numbers_name_what_they_should() {
    let layout = layout(37);
    // Superblock, one block of descriptors, what is reserved for 1024 times as many groups, then
    // bitmaps and tables of 16 groups.
    let table = 1 + 37 * 1_024 / 64;
    assert_eq!(layout.head(), table);
    assert_eq!(layout.address(layout.id(Metadata::Descriptor(5))), 1);
    assert_eq!(layout.address(layout.id(Metadata::FsBlockBitmap(0))), table);
    assert_eq!(layout.address(layout.id(Metadata::FsBlockBitmap(3))), table + 3);
    assert_eq!(layout.address(layout.id(Metadata::InodeBitmap(0))), table + 16);
    assert_eq!(layout.address(layout.id(Metadata::Inode(0))), table + 32);
    assert_eq!(layout.address(layout.id(Metadata::Inode(15))), table + 32);
    assert_eq!(layout.address(layout.id(Metadata::Inode(256))), table + 48);
    // The last flex group has five members.
    let start = 32 * 4_096;
    assert_eq!(layout.address(layout.id(Metadata::FsBlockBitmap(36))), start + 4);
    assert_eq!(layout.address(layout.id(Metadata::InodeBitmap(32))), start + 5);
    assert_eq!(layout.address(layout.id(Metadata::Inode(33 * 256 + 16))), start + 10 + 16 + 1);
}

#[test]
fn closed_files_begin_in_the_second_group_of_their_flex_group() {
    let layout = layout(37);
    assert_eq!(layout.goal(0), 4_096);
    assert_eq!(layout.goal(15 * 256), 4_096);
    assert_eq!(layout.goal(16 * 256), 17 * 4_096);
}

#[test]
fn the_journal_is_of_the_size_that_mke2fs_takes() {
    let config = FsConfig::default();
    let length = |gib| {
        let layout = Layout::new(&config, Bytes::gib(gib)).expect("it fits");
        layout.journal_length(&config)
    };
    assert_eq!(length(1), 8_192);
    assert_eq!(length(15), 16_384);
    assert_eq!(length(120), 131_072);
    assert_eq!(length(240), 262_144);
}
