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

#[test]
fn each_mkfs_is_quiet_overwrites_and_discards_as_wished() {
    let lazy = "-q -F -E lazy_itable_init=0,lazy_journal_init=0";
    for (kind, name, package, [discards, keeps]) in [
        (
            FilesystemKind::Ext4,
            "mkfs.ext4",
            "e2fsprogs",
            [&*format!("{lazy},discard"), &*format!("{lazy},nodiscard")],
        ),
        (FilesystemKind::Xfs, "mkfs.xfs", "xfsprogs", ["-q -f", "-q -f -K"]),
        (FilesystemKind::Btrfs, "mkfs.btrfs", "btrfs-progs", ["-q -f", "-q -f -K"]),
        (FilesystemKind::F2fs, "mkfs.f2fs", "f2fs-tools", ["-q -f -t 1", "-q -f -t 0"]),
    ] {
        assert_eq!((kind.mkfs().as_str(), kind.package()), (name, package));
        assert_eq!(kind.mkfs_arguments(true).join(" "), discards);
        assert_eq!(kind.mkfs_arguments(false).join(" "), keeps);
    }
}

#[test]
fn a_program_that_fails_says_why_in_one_line() {
    let said = |failure: ProgramFailure| failure.to_string();
    let shell = |script: &'static str| {
        let arguments = |command: &mut Command| {
            command.args(["-c", script]);
        };
        run("sh", arguments).map_err(said)
    };
    assert_eq!(shell("echo for nobody; echo just a warning >&2"), Ok(()));
    let wordy = "printf '\\n  it is broken  \\nusage: it\\n' >&2; exit 1";
    assert_eq!(shell(wordy), Err("it is broken".to_owned()));
    assert_eq!(shell("echo for nobody; exit 3"), Err("exit status: 3".to_owned()));
    let missing = run("no-such-program", |_| ()).map_err(said);
    assert_eq!(missing, Err("there is no `no-such-program`".to_owned()));
}
