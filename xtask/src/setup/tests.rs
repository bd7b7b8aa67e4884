use super::{Extra, describe, is_there, missing, packages, wanted};

#[test]
fn only_what_is_missing_is_installed_and_each_package_once() {
    let wanted = wanted(None);
    assert_eq!(missing(&wanted, |_| true), []);
    let absent = missing(&wanted, |program| !["fstrim", "blkid", "mkfs.xfs"].contains(&program));
    assert_eq!(packages(&absent), ["util-linux", "xfsprogs"]);
}

#[test]
fn the_lab_asks_for_a_compiler_and_tests_do_not() {
    let nothing_there = |_: &str| false;
    assert!(!packages(&missing(&wanted(None), nothing_there)).contains(&"gcc"));
    assert!(packages(&missing(&wanted(Some(Extra::Lab)), nothing_there)).contains(&"gcc"));
}

#[test]
fn guests_ask_for_what_runs_them_and_install_nothing_that_runs_in_them() {
    let packages = packages(&missing(&wanted(Some(Extra::Guest)), |_: &str| false));
    assert!(packages.contains(&"bubblewrap") && packages.contains(&"qemu-system-x86"));
    for inside in ["lvm2", "mdadm", "bcache-tools", "linux-image-cloud-amd64"] {
        assert!(!packages.contains(&inside), "{inside} would change the machine");
    }
}

#[test]
fn a_missing_program_is_named_with_its_package_and_purpose() {
    let absent = missing(&wanted(None), |program| program != "mkfs.btrfs");
    assert_eq!(describe(absent[0]), "mkfs.btrfs (package btrfs-progs), for tests on btrfs");
}

#[test]
fn a_program_is_found_in_the_search_path() {
    assert!(is_there("sh"));
    assert!(!is_there("no-such-program-of-trimbench"));
}
