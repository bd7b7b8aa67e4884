use super::*;
use crate::tidy::tests::tree;

fn circle(files: &[(&str, &str)]) -> bool {
    !circles(&tree(files)).is_empty()
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let back = ("crates/a/src/two.rs", "use crate::one::One;");
    for there in [
        ("crates/a/src/one.rs", "use crate::two::Two;"),
        ("crates/a/src/one.rs", "use crate::{three, two};"),
        ("crates/a/src/one/deep.rs", "fn f() -> crate::two::Two {}"),
        ("crates/a/src/one.rs", "use super::two::Two;"),
        ("crates/a/src/one/deep.rs", "use super::super::two::Two;"),
        ("crates/a/src/one.rs", "use crate::Two;"),
    ] {
        let root = ("crates/a/src/lib.rs", "mod one;\nmod two;\npub use two::{Other, Two};");
        assert!(circle(&[root, back, there]), "{there:?}");
    }
    let three = [
        ("crates/a/src/one.rs", "use crate::two::Two;"),
        ("crates/a/src/two.rs", "use crate::three::Three;"),
        ("crates/a/src/three.rs", "use crate::one::One;"),
    ];
    assert!(circle(&three), "through a third");
}

#[test]
fn one_direction_a_folder_and_tests_are_no_circle() {
    let back = ("crates/a/src/two.rs", "use crate::one::One;");
    for there in [
        ("crates/a/src/one/deep.rs", "use super::two::Two;"),
        ("crates/a/src/one.rs", "// As crate::two::Two.\nuse crate::three::Three;"),
        ("crates/a/src/one/tests.rs", "use crate::two::Two;"),
        ("crates/b/src/one.rs", "use crate::two::Two;"),
        ("crates/a/src/two/deep.rs", "use crate::two::Two;"),
    ] {
        assert!(!circle(&[back, there]), "{there:?}");
    }
}

#[test]
fn only_public_types_share_one_space_of_names() {
    let one = ("crates/a/src/lib.rs", "pub struct One<T>(T);\nstruct Own;\npub fn own() {}\n");
    let other = |text| type_names(&tree(&[one, ("crates/b/src/lib.rs", text)])).len();
    assert_eq!(other("pub enum One {}"), 1);
    assert_eq!(other("    pub type One = u8;"), 1);
    assert_eq!(other("pub struct Own;\npub(crate) struct One;\nstruct One;\npub struct Ones;"), 0);
}
