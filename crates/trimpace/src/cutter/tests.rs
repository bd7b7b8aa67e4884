use std::sync::{Arc, Mutex};

use trimbench_core::Nanos;
use trimbench_policy::pacing::DiscardCost;

use super::*;
use crate::planner::Cutting;

const MIB: u64 = 1 << 20;
const PIECE: Bytes = Bytes::gib(2);

/// The free extents of a filesystem, which may change.
type Extents = Arc<Mutex<Vec<FreeExtent>>>;

/// A filesystem of regions of 128 MiB with these free extents: start and length in MiB.
#[derive(Debug)]
struct Fake {
    regions: Vec<Region>,
    extents: Extents,
    cutting: Cutting,
    says: bool,
}

impl Planner for Fake {
    fn regions(&self) -> &[Region] {
        &self.regions
    }

    fn cutting(&self) -> Cutting {
        self.cutting
    }

    fn free_extents(&self, region: Region) -> Result<Option<Vec<FreeExtent>>, Errno> {
        let end = region.start + region.length.0;
        let inside = |it: &&FreeExtent| it.start >= region.start && it.start < end;
        let extents = self.extents.lock().unwrap();
        Ok(self.says.then(|| extents.iter().filter(inside).copied().collect()))
    }

    fn hazards(&self) -> Vec<String> {
        Vec::new()
    }
}

const EXT4: Cutting = Cutting {
    joins_regions: true,
    between_extents: true,
    within_extents: false,
    returns_early: false,
};
const XFS: Cutting =
    Cutting { joins_regions: false, within_extents: true, returns_early: true, ..EXT4 };
const BTRFS: Cutting = Cutting { between_extents: false, ..EXT4 };

fn extents_of(extents: &[(u64, u64)]) -> Vec<FreeExtent> {
    let extent = |&(start, length)| FreeExtent { start: start * MIB, length: Bytes::mib(length) };
    extents.iter().map(extent).collect()
}

fn fake(cutting: Cutting, says: bool, extents: &[(u64, u64)]) -> (Box<Fake>, Extents) {
    let regions = (0..4).map(|at| Region { start: at * 128 * MIB, length: Bytes::mib(128) });
    let extents = Arc::new(Mutex::new(extents_of(extents)));
    let kept = extents.clone();
    (Box::new(Fake { regions: regions.collect(), extents, cutting, says }), kept)
}

fn cutter(cutting: Cutting, says: bool, extents: &[(u64, u64)]) -> Cutter {
    Cutter::new(fake(cutting, says, extents).0, (0, u64::MAX), false).unwrap()
}

fn planner(cutting: Cutting, says: bool, extents: &[(u64, u64)]) -> Box<dyn Planner> {
    fake(cutting, says, extents).0
}

fn amount(discards: u64, mebibytes: u64) -> Amount {
    Amount { discards, bytes: Bytes::mib(mebibytes) }
}

/// As many extents as make `milliseconds` at 1 ms each, without cost for bytes.
fn limit(milliseconds: u64, longest: Option<u64>) -> StepLimit {
    let cost = DiscardCost { command: Nanos::from_millis(1), mib: Nanos::ZERO };
    let longest = longest.map(Bytes::mib);
    let extent = StepExtent::Cost { budget: Nanos::from_millis(milliseconds), cost, longest };
    StepLimit { extent, piece: None }
}

/// All calls, in MiB: start, end, extents, bytes.
fn calls(cutter: &mut Cutter, limit: StepLimit) -> Vec<[u64; 4]> {
    let mut all = Vec::new();
    while let Some(call) = cutter.next(limit, PIECE).unwrap() {
        let end = (call.start + call.length) / MIB;
        all.push([call.start / MIB, end, call.free.discards, call.free.bytes.0 / MIB]);
    }
    all
}

#[test]
fn a_call_of_ext4_ends_where_the_next_extent_begins() {
    let mut cutter = cutter(EXT4, true, &[(10, 4), (20, 4), (30, 4), (300, 8)]);
    assert_eq!(cutter.remaining(), Amount { discards: 4, bytes: Bytes::mib(20) });
    let all = calls(&mut cutter, limit(1, None));
    // The group with one extent is the first; the one without needs no call.
    assert_eq!(all, [[256, 384, 1, 8], [0, 20, 1, 4], [20, 30, 1, 4], [30, 128, 1, 4]]);
    assert_eq!(cutter.remaining(), Amount::default());
}

#[test]
fn whole_groups_of_ext4_are_joined_and_parts_are_not() {
    let mut cutter = cutter(EXT4, true, &[(10, 4), (130, 4), (300, 8), (400, 1), (410, 1)]);
    let all = calls(&mut cutter, limit(3, None));
    assert_eq!(all, [[0, 384, 3, 16], [384, 512, 2, 2]]);
    let mut later_ones =
        Cutter::new(fake(EXT4, true, &[(130, 4), (300, 8)]).0, (0, u64::MAX), false).unwrap();
    assert_eq!(calls(&mut later_ones, limit(3, None)), [[128, 384, 2, 12]]);
}

#[test]
fn xfs_cuts_within_an_extent_and_stays_within_a_group() {
    let mut cutter = cutter(XFS, true, &[(10, 100), (130, 4), (140, 4)]);
    let all = calls(&mut cutter, limit(9, Some(40)));
    assert_eq!(all, [[0, 50, 1, 40], [50, 90, 1, 40], [90, 128, 1, 20], [128, 256, 2, 8]]);
}

#[test]
fn btrfs_is_trimmed_by_whole_chunks() {
    let mut cutter = cutter(BTRFS, true, &[(10, 4), (20, 4), (130, 4)]);
    let all = calls(&mut cutter, limit(1, Some(1)));
    assert_eq!(all, [[128, 256, 1, 4], [0, 128, 2, 8]]);
}

#[test]
fn a_filesystem_that_says_nothing_is_trimmed_region_by_region() {
    let mut cutter = cutter(BTRFS, false, &[]);
    let all = calls(&mut cutter, limit(1, None));
    assert_eq!(all, [[0, 128, 0, 0], [128, 256, 0, 0], [256, 384, 0, 0], [384, 512, 0, 0]]);
}

#[test]
fn ranges_follow_each_other_without_a_gap_and_end() {
    let mut cutter = cutter(EXT4, true, &[(10, 4), (130, 4), (300, 8), (400, 1)]);
    let extent = StepExtent::Range(Bytes::mib(200));
    let all = calls(&mut cutter, StepLimit { extent, piece: None });
    let ranges: Vec<_> = all.iter().map(|call| [call[0], call[1]]).collect();
    assert_eq!(ranges, [[0, 200], [200, 400], [400, 600]]);
    assert_eq!(cutter.remaining(), Amount::default());
}

#[test]
fn ranges_end_where_what_is_asked_for_ends() {
    let planner = planner(EXT4, true, &[(110, 4), (130, 4), (300, 8)]);
    let mut cutter = Cutter::new(planner, (100 * MIB, 100 * MIB), false).unwrap();
    let everything = cutter.everything();
    assert_eq!((everything.start, everything.length), (100 * MIB, 100 * MIB));
    let extent = StepExtent::Range(Bytes::mib(64));
    let all = calls(&mut cutter, StepLimit { extent, piece: None });
    let ranges: Vec<_> = all.iter().map(|call| [call[0], call[1]]).collect();
    assert_eq!(ranges, [[100, 164], [164, 200]]);
}

#[test]
fn the_whole_is_one_call() {
    let mut cutter = cutter(EXT4, true, &[(10, 4), (130, 4)]);
    let call = cutter.next(StepLimit::WHOLE, PIECE).unwrap().unwrap();
    let free = Amount { discards: 2, bytes: Bytes::mib(8) };
    assert_eq!(call, Call { start: 0, length: u64::MAX, free });
    assert_eq!(cutter.next(StepLimit::WHOLE, PIECE).unwrap(), None);
}

#[test]
fn only_what_is_asked_for_is_covered() {
    let part = |says: bool, extents: &[(u64, u64)], from: u64, length: u64| {
        let planner = fake(EXT4, says, extents).0;
        let mut cutter = Cutter::new(planner, (from * MIB, length * MIB), false).unwrap();
        calls(&mut cutter, limit(1, None))
    };
    let all = part(true, &[(10, 4), (110, 4), (130, 4), (260, 8), (310, 8)], 100, 200);
    assert_eq!(all, [[100, 128, 1, 4], [128, 256, 1, 4], [256, 300, 1, 8]]);
    // No empty regions at the ends.
    assert_eq!(part(false, &[], 128, 256), [[128, 256, 0, 0], [256, 384, 0, 0]]);
}

#[test]
fn what_is_left_falls_with_each_call() {
    let mut cutter = cutter(EXT4, true, &[(10, 4), (20, 8), (130, 16), (260, 1), (270, 1)]);
    // The group with one extent is the first, then they follow in order.
    let left = [amount(4, 14), amount(3, 10), amount(2, 2), amount(1, 1), amount(0, 0)];
    assert_eq!(cutter.remaining(), amount(5, 30));
    for left in left {
        assert!(!cutter.is_done());
        cutter.next(limit(1, None), PIECE).unwrap().unwrap();
        assert_eq!(cutter.remaining(), left);
    }
    assert!(cutter.is_done());
}

#[test]
fn only_the_first_call_is_out_of_order() {
    let extents = [(10, 1), (20, 1), (30, 1), (130, 1), (140, 1), (260, 1)];
    let starts: Vec<_> = calls(&mut cutter(BTRFS, true, &extents), limit(1, None))
        .iter()
        .map(|call| call[0])
        .collect();
    assert_eq!(starts, [256, 0, 128]);
    // What follows a region that comes before it is not in the same call.
    let all = calls(&mut cutter(BTRFS, true, &extents), limit(100, None));
    assert_eq!(all, [[256, 384, 1, 1], [0, 256, 5, 5]]);
}

#[test]
fn the_least_that_the_next_call_can_be_is_known_before_it() {
    let extents = [(10, 4), (20, 8)];
    let mut ext4 = cutter(EXT4, true, &extents);
    // The mean, until the region is looked at.
    assert_eq!(ext4.upcoming(), amount(1, 6));
    ext4.next(limit(1, None), PIECE).unwrap();
    assert_eq!(ext4.upcoming(), amount(1, 8));
    assert_eq!(cutter(BTRFS, true, &extents).upcoming(), amount(2, 12));
    assert_eq!(cutter(BTRFS, false, &[]).upcoming(), amount(0, 0));
    assert_eq!(cutter(EXT4, false, &[]).upcoming(), amount(0, 0));
}

#[test]
fn what_is_freed_or_taken_meanwhile_counts_as_it_is_then() {
    let (planner, extents) = fake(EXT4, true, &[(10, 4), (130, 4), (260, 4), (270, 4)]);
    let mut cutter = Cutter::new(planner, (0, u64::MAX), false).unwrap();
    cutter.next(limit(1, None), PIECE).unwrap();
    assert_eq!(cutter.remaining(), amount(3, 12));
    // Of the second region all is taken, in the third something is freed.
    *extents.lock().unwrap() = extents_of(&[(260, 4), (270, 4), (280, 16)]);
    let call = cutter.next(limit(1, None), PIECE).unwrap().unwrap();
    assert_eq!((call.start / MIB, call.free), (256, amount(1, 4)));
    assert_eq!(cutter.remaining(), amount(2, 20));
}

#[test]
fn an_extent_as_long_as_allowed_is_not_cut() {
    let mut cutter = cutter(XFS, true, &[(10, 40), (60, 41), (110, 4)]);
    let all = calls(&mut cutter, limit(1, Some(40)));
    assert_eq!(all, [[0, 60, 1, 40], [60, 100, 1, 40], [100, 110, 1, 1], [110, 128, 1, 4]]);
}

#[test]
fn an_extent_counts_as_a_command_and_one_for_each_whole_piece_in_it() {
    let extents = [(10, 8), (20, 8), (30, 8)];
    for (budget, ends) in [(5, 20), (6, 30), (8, 30), (9, 128)] {
        let mut cutter = cutter(EXT4, true, &extents);
        let call = cutter.next(limit(budget, None), Bytes::mib(4)).unwrap().unwrap();
        assert_eq!((call.start + call.length) / MIB, ends, "{budget}");
    }
}

#[test]
fn ranges_count_the_regions_that_end_in_them() {
    let extents = [(10, 4), (130, 4), (300, 8), (400, 1)];
    for (length, counts) in [(200, [1, 2, 1, 0]), (128, [1, 1, 1, 1])] {
        let mut cutter = cutter(EXT4, true, &extents);
        for count in counts.into_iter().filter(|count| *count > 0) {
            let (before, extent) = (cutter.remaining(), StepExtent::Range(Bytes::mib(length)));
            let call = cutter.next(StepLimit { extent, piece: None }, PIECE).unwrap().unwrap();
            assert_eq!(call.free.discards, count, "{length}");
            assert_eq!(cutter.remaining(), before.without(call.free));
        }
        assert!(cutter.is_done());
    }
}

#[test]
fn the_whole_is_all_that_no_call_has_covered() {
    let mut begun = cutter(EXT4, true, &[(10, 4), (20, 4), (130, 4)]);
    begun.next(limit(1, None), PIECE).unwrap();
    begun.next(limit(1, None), PIECE).unwrap();
    let call = begun.next(StepLimit::WHOLE, PIECE).unwrap().unwrap();
    let start = 20 * MIB;
    assert_eq!(call, Call { start, length: u64::MAX - start, free: amount(1, 4) });
    assert!(begun.is_done() && begun.remaining() == amount(0, 0));
    // Nothing free, nothing to call for.
    assert_eq!(cutter(EXT4, true, &[]).next(StepLimit::WHOLE, PIECE), Ok(None));
}
