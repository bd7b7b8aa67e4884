use super::*;

#[test]
fn there_is_room_until_jobs_or_memory_are_taken() {
    let slots = Slots::new(2, Bytes(10));
    let first = slots.take(Bytes(6));
    assert!(slots.try_take(Bytes(5)).is_none(), "no memory");
    let second = slots.try_take(Bytes(4)).unwrap();
    assert!(slots.try_take(Bytes(0)).is_none(), "no job");
    drop(first);
    assert!(slots.try_take(Bytes(7)).is_none());
    let third = slots.try_take(Bytes(6)).unwrap();
    drop((second, third));
    assert_eq!(*slots.lock(), slots.total);
}

#[test]
fn what_needs_more_than_there_is_runs_alone() {
    let slots = Slots::new(0, Bytes(10));
    let all = slots.take(Bytes(100));
    assert!(slots.try_take(Bytes(0)).is_none());
    drop(all);
    assert_eq!(*slots.lock(), Free { jobs: 1, memory: Bytes(10) });
}

#[test]
fn who_waits_gets_what_is_returned() {
    let slots = Slots::new(1, Bytes(10));
    let first = slots.take(Bytes(1));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| slots.take(Bytes(10)).memory);
        drop(first);
        assert_eq!(waiting.join().unwrap(), Bytes(10));
    });
}
