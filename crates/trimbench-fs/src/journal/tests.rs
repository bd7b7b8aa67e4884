use super::*;

fn journal() -> Journal {
    let region = vec![Extent::new(100, 10), Extent::new(200, 30)];
    let config = FsConfig::default();
    let layout = Layout::new(&config, trimbench_core::Bytes::gib(1)).expect("it fits");
    Journal::new(&config, layout, region)
}

/// Commits the running transaction, with its log.
fn commit(journal: &mut Journal) -> u32 {
    journal.rotate();
    let committing = journal.committing.as_ref().expect("it has just begun");
    let length = journal.log_length(&committing.transaction);
    journal.log(length);
    journal.commit_ended(Instant::START).transaction.id
}

#[test]
fn the_log_goes_round() {
    let mut journal = journal();
    assert_eq!(journal.log(4), [Extent::new(100, 4)]);
    assert_eq!(journal.log(10), [Extent::new(104, 6), Extent::new(200, 4)]);
    assert_eq!(journal.log(25), [Extent::new(204, 25)]);
    assert!(journal.has_room(1) && !journal.has_room(2));
    journal.used = 0;
    assert_eq!(journal.log(3), [Extent::new(229, 1), Extent::new(100, 2)]);
}

#[test]
fn a_block_is_once_in_a_transaction() {
    let mut journal = journal();
    assert!(journal.running.is_empty());
    for (nanos, metadata) in [(7, 3), (8, 4), (9, 3)] {
        journal.touch(Instant::from_start(trimbench_core::Nanos(nanos)), metadata);
    }
    assert_eq!(journal.running.metadata, [3, 4]);
    assert_eq!(journal.running.started, Instant::from_start(trimbench_core::Nanos(7)));
    // Both, a descriptor and the record.
    assert_eq!(journal.log_length(&journal.running), 4);
}

#[test]
fn descriptors_name_254_blocks_each() {
    let (journal, mut transaction) = (journal(), Transaction::new(1));
    transaction.metadata = (0..254).collect();
    assert_eq!(journal.log_length(&transaction), 254 + 1 + 1);
    transaction.metadata.push(254);
    assert_eq!(journal.log_length(&transaction), 255 + 2 + 1);
}

#[test]
fn a_checkpoint_writes_what_no_later_transaction_holds() {
    let mut journal = journal();
    for metadata in [1, 2, 3] {
        journal.touch(Instant::START, metadata);
    }
    let first = commit(&mut journal);
    for metadata in [2, 4] {
        journal.touch(Instant::START, metadata);
    }
    let second = commit(&mut journal);
    journal.touch(Instant::START, 4);
    assert_eq!(journal.to_checkpoint(first), [1, 3]);
    assert_eq!(journal.to_checkpoint(second), [1, 3, 2]);
    journal.revoke(3);
    assert_eq!(journal.to_checkpoint(second), [1, 2]);
    assert_eq!(journal.used, 5 + 4);
    journal.checkpointed(first);
    assert_eq!(journal.used, 4);
}

#[test]
fn room_in_the_log_is_made_from_its_oldest_end() {
    let mut journal = journal();
    for metadata in 0..8 {
        journal.touch(Instant::START, metadata);
        commit(&mut journal);
    }
    // Eight times three blocks of 40 are used.
    assert!(journal.has_room(16) && !journal.has_room(17));
    assert_eq!(journal.oldest_making_room(17), 1);
    assert_eq!(journal.oldest_making_room(19), 1);
    assert_eq!(journal.oldest_making_room(20), 2);
}

#[test]
fn freed_extents_merge_but_not_across_groups() {
    let freed = [(40, 10), (0, 10), (30, 10), (90, 10), (100, 10), (10, 5)];
    let freed = freed.map(|(start, length)| Extent::new(start, length)).to_vec();
    let expected = [(0, 15), (30, 20), (90, 10), (100, 10)];
    assert_eq!(
        merged(freed, Some(100)),
        expected.map(|(start, length)| Extent::new(start, length))
    );
}

#[test]
fn today_a_freed_extent_is_merged_with_the_neighbour_that_is_looked_at() {
    let check = |freed: &[(u64, u64)], expected: &[(u64, u64)]| {
        let extents = |pairs: &[(u64, u64)]| -> Vec<Extent> {
            pairs.iter().map(|(start, length)| Extent::new(*start, *length)).collect()
        };
        assert_eq!(merged_as_freed(&extents(freed), 1_000), extents(expected), "{freed:?}");
    };
    // In order, or backwards: there is one neighbour only.
    check(&[(10, 5), (15, 5), (20, 5)], &[(10, 15)]);
    check(&[(20, 5), (15, 5), (10, 5)], &[(10, 15)]);
    // Between two: the later one is looked at, here 40, which does not touch.
    check(&[(10, 5), (40, 5), (15, 5)], &[(10, 5), (15, 5), (40, 5)]);
    check(&[(40, 5), (10, 5), (15, 5)], &[(10, 10), (40, 5)]);
    // What touches both is merged with both, whichever comes first.
    check(&[(10, 5), (20, 5), (15, 5)], &[(10, 15)]);
    check(&[(20, 5), (10, 5), (15, 5)], &[(10, 15)]);
    // Groups are apart, and a merged extent keeps its place in the order.
    check(&[(990, 10), (1_000, 5)], &[(990, 10), (1_000, 5)]);
    check(&[(10, 5), (40, 5), (45, 5), (15, 5)], &[(10, 5), (15, 5), (40, 10)]);
}
