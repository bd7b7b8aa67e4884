use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::*;

#[test]
fn superblocks_of_every_kind_are_known_by_magic_and_uuid() {
    let uuid: Uuid = *b"0123456789abcdef";
    // Magic number and UUID, each where the kernel's header has it.
    let all = [
        (FilesystemKind::Ext4, (1080, &[0x53, 0xEF][..]), 1128),
        (FilesystemKind::Xfs, (0, b"XFSB"), 32),
        (FilesystemKind::Btrfs, (65_600, b"_BHRfS_M"), 65_568),
        (FilesystemKind::F2fs, (1024, &[0x10, 0x20, 0xF5, 0xF2]), 1132),
    ];
    for (kind, (magic_at, magic), uuid_at) in all {
        let file = tempfile::tempfile().expect("a folder for temporary files");
        file.set_len(1 << 20).expect("a sparse file");
        assert_eq!(carried(file.as_fd(), kind), Ok(None));
        file.write_all_at(&uuid, uuid_at).expect("there is room");
        assert_eq!(carried(file.as_fd(), kind), Ok(None), "{kind:?}: no magic number");
        file.write_all_at(magic, magic_at).expect("there is room");
        assert_eq!(carried(file.as_fd(), kind), Ok(Some(uuid)), "{kind:?}");
        for other in FilesystemKind::ALL.into_iter().filter(|other| *other != kind) {
            assert_eq!(carried(file.as_fd(), other), Ok(None), "{kind:?} is no {other:?}");
        }
    }
    let null = File::open("/dev/null").expect("it is there");
    assert!(carried(null.as_fd(), FilesystemKind::Ext4) != Ok(Some(uuid)));
}
