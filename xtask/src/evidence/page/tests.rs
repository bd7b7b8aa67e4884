use trimbench_ssd::MODEL_VERSION;

use super::{MODEL, OLDER, escape, is_old, with_age};

#[test]
fn a_cell_stays_in_its_column_and_line() {
    assert_eq!(escape("a | b\nc"), r"a \| b c");
}

#[test]
fn a_page_says_when_it_is_older_than_the_model() {
    let page = |version: u32| format!("# Evidence: a\n\n{MODEL}{version}.\n\n| id |\n");
    let (old, new) = (page(MODEL_VERSION - 1), page(MODEL_VERSION));
    assert!(is_old(&old).unwrap() && !is_old(&new).unwrap());
    let aged = with_age(&old).unwrap();
    assert_eq!(aged, old.replace("| id |", &format!("{OLDER}| id |")));
    assert_eq!(with_age(&aged).unwrap(), aged, "said once");
    assert_eq!(with_age(&new).unwrap(), new);
    assert!(is_old("# Evidence: a\n").is_err(), "a page must say its version");
}
