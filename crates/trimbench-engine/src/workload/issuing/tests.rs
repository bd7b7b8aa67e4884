use super::*;

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).unwrap()
}

fn issued(workload: &mut Issuing, now: Instant) -> Vec<LbaRange> {
    let mut issued = Vec::new();
    while let Next::Issue { command: BlockCommand::Discard(range), .. } = workload.next(now) {
        issued.push(range);
    }
    issued
}

#[test]
fn a_range_is_done_with_its_last_piece_whatever_the_order() {
    let pace = IssuePace { depth: Some(2), pause: Nanos::ZERO };
    let ranges = vec![range(0, 5), range(5, 3), range(8, 1)];
    let mut issuing = Issuing::new(Instant::START, ranges, Blocks(3), pace);
    let first = issued(&mut issuing, Instant::START);
    assert_eq!(first, [range(0, 3), range(3, 2), range(5, 3)]);
    issuing.completed(&BlockCommand::Discard(range(3, 2)), Instant::START);
    assert_eq!(issuing.next(Instant::START), Next::Await, "the other piece is under way");
    issuing.completed(&BlockCommand::Discard(range(5, 3)), Instant::START);
    assert_eq!(issued(&mut issuing, Instant::START), [range(8, 1)]);
    assert_eq!(issuing.next(Instant::START), Next::Done);
}

#[test]
fn workloads_in_turn_wait_for_each_other() {
    let pace = IssuePace { depth: None, pause: Nanos::ZERO };
    let part = |start| Issuing::new(Instant::START, vec![range(start, 1)], Blocks(1), pace);
    let mut both = InTurn::new(vec![Box::new(part(0)), Box::new(part(1))]);
    let discard = |start| BlockCommand::Discard(range(start, 1));
    let issue = |start| Next::Issue { intended: Instant::START, command: discard(start) };
    assert_eq!(both.next(Instant::START), issue(0));
    assert_eq!(both.next(Instant::START), Next::Await);
    both.completed(&discard(0), Instant::START);
    assert_eq!(both.next(Instant::START), issue(1));
    both.completed(&discard(1), Instant::START);
    assert_eq!(both.next(Instant::START), Next::Done);
}
