use trimbench_core::Nanos;
use trimbench_policy::pacing::DiscardCost;

use super::*;
use crate::planner::Cutting;

const MIB: u64 = 1 << 20;
const PIECE: Bytes = Bytes::gib(2);

/// A filesystem of regions of 128 MiB with these free extents: start and length in MiB.
#[derive(Debug)]
struct Fake {
    regions: Vec<Region>,
    extents: Vec<FreeExtent>,
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
        Ok(self.says.then(|| self.extents.iter().filter(inside).copied().collect()))
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

fn cutter(cutting: Cutting, says: bool, extents: &[(u64, u64)]) -> Cutter {
    let regions = (0..4).map(|at| Region { start: at * 128 * MIB, length: Bytes::mib(128) });
    let extents = extents
        .iter()
        .map(|&(start, length)| FreeExtent { start: start * MIB, length: Bytes::mib(length) });
    let planner = Fake { regions: regions.collect(), extents: extents.collect(), cutting, says };
    Cutter::new(Box::new(planner), 0, u64::MAX).unwrap()
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
fn the_whole_is_one_call() {
    let mut cutter = cutter(EXT4, true, &[(10, 4), (130, 4)]);
    let call = cutter.next(StepLimit::WHOLE, PIECE).unwrap().unwrap();
    let free = Amount { discards: 2, bytes: Bytes::mib(8) };
    assert_eq!(call, Call { start: 0, length: u64::MAX, free });
    assert_eq!(cutter.next(StepLimit::WHOLE, PIECE).unwrap(), None);
}
