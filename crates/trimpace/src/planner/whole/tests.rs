use trimbench_claim::mounts::parse_mountinfo;

use super::*;

fn planner(filesystem: &str, options: &str) -> Whole {
    let line = format!("36 25 7:0 / /m rw - {filesystem} /dev/loop0 {options}");
    Whole::new(&parse_mountinfo(&line)[0])
}

#[test]
fn an_unknown_filesystem_is_one_region_without_extents() {
    let planner = planner("vfat", "rw,discard");
    assert_eq!(planner.regions(), [Region { start: 0, length: Bytes(u64::MAX) }]);
    assert_eq!(planner.free_extents(planner.regions()[0]), Ok(None));
    assert!(!planner.cutting().returns_early && planner.hazards().is_empty());
}

#[test]
fn f2fs_returns_early_only_where_its_discard_thread_sends_the_discards() {
    let with = planner("f2fs", "rw,discard");
    assert!(with.cutting().returns_early);
    assert_eq!(with.hazards().len(), 2);
    let without = planner("f2fs", "rw,nodiscard");
    assert!(!without.cutting().returns_early);
    assert_eq!(without.hazards().len(), 1);
}
