use std::panic::{AssertUnwindSafe, catch_unwind};

use trimbench_core::rng::Rng;

use super::*;
use crate::ssd::tests::plain;
use crate::unit::PIECE_BYTES;

fn full() -> Ssd {
    let mut drive = plain().build().unwrap();
    drive.precondition_sequential(Bytes(0), Bytes::mib(64));
    drive
}

#[test]
fn a_fault_in_the_tables_is_planted_where_there_is_data_and_found() {
    for fault in [TableFault::WrongOwner, TableFault::TrimmedButValid] {
        let mut fresh = plain().build().unwrap();
        assert!(!fresh.plant_table_fault(77, fault) && !fresh.holds_data(Bytes(77 * PIECE_BYTES)));
        fresh.check();
        let mut drive = full();
        assert!(drive.holds_data(Bytes(77 * PIECE_BYTES)));
        assert!(drive.plant_table_fault(77, fault));
        assert!(catch_unwind(AssertUnwindSafe(|| drive.check())).is_err(), "{fault:?}");
    }
}

#[test]
#[should_panic(expected = "no trimmed unit is copied")]
fn a_trimmed_unit_that_stays_valid_is_noticed_when_it_is_copied() {
    let mut drive = full();
    drive.plant_table_fault(77, TableFault::TrimmedButValid);
    assert!(!drive.holds_data(Bytes(77 * PIECE_BYTES)));
    drive.precondition_random(100_000, &mut Rng::new(1));
}
