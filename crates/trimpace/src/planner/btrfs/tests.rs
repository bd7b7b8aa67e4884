use std::fs::File;

use super::*;

fn planner(unallocated: Bytes) -> Btrfs {
    let directory = Arc::new(File::open("/").unwrap().into());
    Btrfs { directory, regions: Vec::new(), unallocated, minimum: Bytes(0) }
}

#[test]
fn calls_join_whole_chunks_and_end_with_them() {
    let cutting = planner(Bytes(0)).cutting();
    assert!(cutting.joins_regions && !cutting.returns_early);
    assert!(!cutting.between_extents && !cutting.within_extents);
}

#[test]
fn unallocated_space_is_said_in_tenths_of_a_gib_unless_it_is_next_to_nothing() {
    assert_eq!(planner(NEGLIGIBLE).hazards(), [""; 0]);
    let said = |unallocated| planner(unallocated).hazards().join(" ");
    assert!(said(Bytes(NEGLIGIBLE.0 + 1)).contains(" 0.0 GiB"));
    assert!(said(Bytes::mib(2_000)).contains(" 1.9 GiB"), "{}", said(Bytes::mib(2_000)));
    assert!(said(Bytes::gib(12)).contains(" 12.0 GiB"), "{}", said(Bytes::gib(12)));
}

#[test]
fn chunks_that_cannot_be_read_anew_are_an_error() {
    let directory = Arc::new(File::open("/proc").unwrap().into());
    let failed = Btrfs { directory, ..planner(Bytes(0)) }.renew();
    assert!(matches!(failed, Err(PlannerError::Layout { what: "chunks", .. })), "{failed:?}");
}
