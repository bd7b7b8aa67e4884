use super::*;

const FSTAB: &str = "\
# a comment
UUID=12-34  /               ext4  defaults,discard 0 1

/dev/sdb1\t/srv/my\\040data//\txfs\trw,X-fstrim.notrim
  LABEL=swap none swap sw
/dev/sdc1 /short
broken
";

#[test]
fn fstab_is_read_line_by_line() {
    let list = parse_list(FSTAB.as_bytes());
    assert!(!list.is_mountinfo);
    let points: Vec<&Path> = list.lines.iter().map(|line| line.mount_point.as_path()).collect();
    assert_eq!(points, ["/", "/srv/my data", "none", "/short"].map(Path::new));
    assert_eq!(list.lines[0].source, "UUID=12-34");
    assert!(list.lines[1].has_option("X-fstrim.notrim"));
    assert!(!list.lines[0].has_option("X-fstrim.notrim"));
    assert_eq!(list.lines[3].filesystem, "auto");
}

#[test]
fn names_of_any_bytes_stay_what_they_are() {
    let list = parse_list(b"/dev/sd\xff /srv/\xfe\\012\\134 ext4 rw\n");
    assert_eq!(list.lines[0].mount_point.as_os_str().as_bytes(), b"/srv/\xfe\n\\");
    assert_eq!(list.lines[0].source.as_bytes(), b"/dev/sd\xff");
}

#[test]
fn a_table_of_the_kernel_is_told_by_its_numbers() {
    let list = parse_list(b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n");
    assert!(list.is_mountinfo);
    assert_eq!(list.lines[0].mount_point, Path::new("/"));
    assert!(list.lines[0].has_option("discard"));
    assert_eq!(parse_list(b"").lines, []);
    assert_eq!(parse_list(b"# nothing\n\n").lines, []);
    assert!(!parse_list(b"27 /mnt ext4\n").is_mountinfo);
}

#[test]
fn mounts_of_users_are_found_in_utab() {
    let utab = b"SRC=/dev/sdb1 TARGET=/media/a\\040b ROOT=/ OPTS=user=anna\n\
        SRC=/dev/sdc1 TARGET=/media/c ROOT=/ OPTS=x-a,uhelper=udisks2\n\
        SRC=/dev/sdd1 TARGET=/srv ROOT=/ OPTS=x-systemd.automount\n\
        garbage\n";
    let users = parse_utab(utab);
    assert_eq!(users.len(), 2);
    assert_eq!(users[0].mount_point, Path::new("/media/a b"));
    assert_eq!(
        (users[0].option.as_str(), users[1].option.as_str()),
        ("user=anna", "uhelper=udisks2")
    );
}

#[test]
fn slashes_that_say_nothing_are_dropped() {
    for (path, expected) in [("/", "/"), ("//a///b/", "/a/b"), ("a/", "a"), ("", "")] {
        assert_eq!(without_slashes(OsStr::new(path)), Path::new(expected), "{path}");
    }
    assert!(is_fstab(Path::new("/etc//fstab")) && !is_fstab(Path::new("/tmp/fstab")));
}
