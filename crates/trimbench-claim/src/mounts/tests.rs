use std::os::unix::ffi::OsStrExt as _;

use super::*;

const RECORDED: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict
31 23 0:28 / /sys/fs/cgroup rw,relatime shared:3 master:1 - tmpfs tmpfs rw,mode=755
77 27 0:52 /@home /srv/my\\040data rw - btrfs /dev/loop1 rw,ssd,discard=async,subvol=/@home
garbage
78 27 x:y / /broken rw - ext4 /dev/vda rw
";

#[test]
fn recorded_lines_are_parsed_and_broken_ones_left_out() {
    let mounts = parse_mountinfo(RECORDED);
    assert_eq!(mounts.len(), 3);
    assert_eq!(mounts[0].device, (254, 0));
    assert_eq!(mounts[0].source, "/dev/vda");
    assert_eq!(mounts[0].options, "rw,relatime,rw,discard,resv_strict");
    assert_eq!(mounts[1].filesystem, "tmpfs");
    assert_eq!(mounts[2].mount_point, Path::new("/srv/my data"));
    assert_eq!(mounts[2].id, 77);
}

#[test]
fn options_are_compared_whole() {
    let mounts = parse_mountinfo(RECORDED);
    assert!(mounts[0].has_option("discard"));
    assert!(!mounts[2].has_option("discard"));
    assert!(mounts[2].has_option("discard=async"));
}

#[test]
fn escapes_are_undone_only_where_they_are_complete() {
    for (escaped, plain) in [
        ("plain", "plain"),
        ("a\\040b\\011", "a b\t"),
        ("\\134040", "\\040"),
        ("end\\04", "end\\04"),
        ("\\999", "\\999"),
    ] {
        assert_eq!(unescape(escaped), plain);
    }
}

#[test]
fn names_of_any_bytes_are_read() {
    let line = b"77 27 0:52 / /srv/\xff\\040\xc3( rw - btrfs /dev/\xfe rw\n".as_slice();
    let mounts = parse_mountinfo(&table_of(line));
    assert_eq!(mounts[0].mount_point.as_os_str().as_bytes(), b"/srv/\xff \xc3(");
    assert_eq!(mounts[0].source.as_bytes(), b"/dev/\xfe");
}

#[test]
fn the_mount_of_proc_is_procfs_and_a_missing_path_is_an_error() {
    assert_eq!(mount_of(Path::new("/proc/self")).unwrap().filesystem, "proc");
    let error = mount_of(Path::new("/nowhere/at/all")).unwrap_err();
    assert!(error.to_string().contains("ENOENT"), "{error}");
}

#[test]
fn all_mounts_begin_with_ours() {
    let all = all_mounts().unwrap();
    assert_eq!(all.mounts[0].process, None);
    let own = mount_of(Path::new("/proc/self")).unwrap();
    assert!(all.mounts.iter().any(|seen| seen.mount == own && seen.process.is_none()));
    assert!(processes().expect("/proc is mounted").contains(&std::process::id()));
}
