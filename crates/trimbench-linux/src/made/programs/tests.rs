use super::*;

#[test]
fn a_uuid_is_read_as_the_kernel_writes_it() {
    let text = "01234567-89ab-cdef-0123-456789abcdef\n";
    let bytes = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
    let expected: Vec<u8> = [bytes, bytes].concat();
    assert_eq!(parse_uuid(text).map(Vec::from), Some(expected));
    assert_eq!(parse_uuid("01234567-89ab-cdef-0123-456789abcd"), None);
    assert_eq!(parse_uuid(""), None);
}

#[test]
fn each_mkfs_is_told_the_uuid_in_its_own_way() {
    for (kind, expected) in [
        (FilesystemKind::Ext4, Some("-U x")),
        (FilesystemKind::Xfs, Some("-m uuid=x")),
        (FilesystemKind::Btrfs, Some("-U x")),
        (FilesystemKind::F2fs, None),
    ] {
        let arguments = kind.uuid_arguments("x").map(|arguments| arguments.join(" "));
        assert_eq!(arguments.as_deref(), expected, "{kind:?}");
    }
}
