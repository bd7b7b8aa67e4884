use super::*;
use crate::acceptance::planted::{Planted as Raws, failing};

#[test]
fn each_test_must_pass() {
    let failed = |change: (&str, &str)| {
        let printed = TESTS.map(|(.., tests)| {
            let lines = tests.iter().map(|test| format!("test {test} ... ok\n"));
            lines.collect::<String>() + "test result: ok. 2 passed\n"
        });
        let raws = Raws::changed(TESTS.map(|(name, ..)| name), printed, change);
        failing(&read(&raws.raw()).unwrap()).len()
    };
    assert_eq!(failed(("", "")), 0);
    assert_eq!(failed(("drive ... ok", "drive ... FAILED")), 1);
    assert_eq!(failed(("range ... ok", "range ... ignored")), 2);
}
