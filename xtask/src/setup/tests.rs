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
fn a_missing_program_is_named_with_its_package_and_purpose() {
    let absent = missing(&wanted(None), |program| program != "mkfs.btrfs");
    assert_eq!(describe(absent[0]), "mkfs.btrfs (package btrfs-progs), for tests on btrfs");
}

#[test]
fn a_program_is_found_in_the_search_path() {
    assert!(is_there("sh"));
    assert!(!is_there("no-such-program-of-trimbench"));
}
