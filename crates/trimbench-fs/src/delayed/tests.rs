use super::*;

const MIB: u64 = (1 << 20) / FS_BLOCK.0;

fn at(seconds: u64) -> Instant {
    Instant::from_start(Nanos::from_secs(seconds))
}

/// What is due until then, a second apart, as lengths in MiB.
fn taken(queue: &mut DelayedQueue, until: u64) -> Vec<(u64, u64)> {
    (0..=until)
        .flat_map(|second| {
            let mut due = Vec::new();
            while let Some(extent) = queue.pop(at(second)) {
                due.push((second, extent.length / MIB));
            }
            due
        })
        .collect()
}

#[test]
fn an_empty_group_is_due_after_10_s_and_another_after_120_s() {
    let mut queue = DelayedQueue::default();
    queue.push(Extent::new(0, 8 * MIB), false, at(1));
    queue.push(Extent::new(BTRFS_GROUP, 8 * MIB), true, at(2));
    assert_eq!(queue.next_due(), at(12));
    assert_eq!(taken(&mut queue, 200), [(12, 8), (121, 8)]);
    assert_eq!((queue.total(), queue.next_due()), (0, Instant::NEVER));
}

#[test]
fn long_ranges_go_in_pieces_of_64_mib_and_neighbours_are_one() {
    let mut queue = DelayedQueue::default();
    for part in [0, 2, 1] {
        queue.push(Extent::new(part * 50 * MIB, 50 * MIB), false, at(0));
    }
    assert_eq!(taken(&mut queue, 120), [(120, 64), (120, 64), (120, 22)]);
}

#[test]
fn a_rest_of_less_than_32_kib_is_not_left() {
    let mut queue = DelayedQueue::default();
    queue.push(Extent::new(0, 64 * MIB + REST - 1), true, at(0));
    queue.push(Extent::new(BTRFS_GROUP, 64 * MIB + REST), true, at(0));
    let lengths: Vec<u64> =
        std::iter::from_fn(|| queue.pop(at(10))).map(|extent| extent.length).collect();
    assert_eq!(lengths, [64 * MIB + REST - 1, 64 * MIB, REST]);
}

#[test]
fn long_extents_come_first_and_what_is_too_short_never() {
    let mut queue = DelayedQueue::default();
    for (start, length) in [(0, 7), (100, 8), (1_000, MIB), (5_000, MIB - 1)] {
        queue.push(Extent::new(start, length), false, at(0));
    }
    let starts: Vec<u64> =
        std::iter::from_fn(|| queue.pop(at(120))).map(|extent| extent.start).collect();
    assert_eq!(starts, [1_000, 100, 5_000]);
    assert_eq!((queue.total(), queue.too_short), (0, 7));
}

#[test]
fn what_is_given_up_is_counted() {
    let mut queue = DelayedQueue::default();
    queue.push(Extent::new(0, 100), false, at(0));
    queue.push(Extent::new(BTRFS_GROUP, 50), true, at(0));
    assert_eq!(queue.clear(), 150);
    assert_eq!(queue.pop(at(1_000)), None);
}
