use super::*;

#[test]
fn lists_of_types_are_read_as_mount_reads_them() {
    for (list, filesystem, expected) in [
        ("ext4", "ext4", true),
        ("ext4", "xfs", false),
        ("EXT4,xfs", "ext4", true),
        ("ext4,xfs", "xfs", true),
        ("noext4", "ext4", false),
        ("noext4", "xfs", true),
        ("noext4,xfs", "xfs", false),
        ("noext4,noxfs", "xfs", false),
        ("noext4,xfs", "btrfs", true),
        ("ext4,noxfs", "btrfs", false),
        ("ext", "ext4", false),
        ("", "ext4", false),
    ] {
        assert_eq!(allows(list, filesystem), expected, "{list} {filesystem}");
    }
}

#[test]
fn types_without_a_local_device_are_known() {
    for filesystem in ["proc", "tmpfs", "overlay", "autofs", "fuse", "virtiofs", "none"] {
        assert!(is_pseudo(filesystem), "{filesystem}");
    }
    for filesystem in ["nfs", "nfs4", "9p", "cifs", "fuse.sshfs"] {
        assert!(is_network(filesystem) && !is_pseudo(filesystem), "{filesystem}");
    }
    for filesystem in ["ext4", "xfs", "btrfs", "f2fs", "vfat", "ntfs3", "fuseblk"] {
        assert!(!is_network(filesystem) && !is_pseudo(filesystem), "{filesystem}");
    }
    assert!(is_fuse("fuseblk") && is_fuse("fuse.ntfs-3g") && !is_fuse("fusectl"));
    assert!(PSEUDO.is_sorted());
}
