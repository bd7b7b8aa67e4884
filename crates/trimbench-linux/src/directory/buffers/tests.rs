use std::collections::BTreeSet;

use super::*;

#[test]
fn a_buffer_is_aligned_and_holds_what_was_asked_for() {
    let mut pool = Pool::new(Bytes::mib(64), 1, 0);
    for (length, size) in
        [(1, 4096), (4096, 4096), (4097, 16_384), (1 << 20, 1 << 20), (3 << 20, 4 << 20)]
    {
        let mut buffer = pool.lend(Direction::Write, Bytes(length)).unwrap();
        assert_eq!(buffer.size(), Bytes(size), "{length}");
        assert_eq!(buffer.pointer().addr() % 4096, 0);
    }
}

#[test]
fn no_two_written_pages_are_equal_even_when_a_buffer_is_reused() {
    let mut pool = Pool::new(Bytes::mib(8), 1, u64::MAX - 5);
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for _ in 0..4 {
        let buffer = pool.lend(Direction::Write, Bytes::mib(1)).unwrap();
        for page in &buffer.pages {
            seen.insert(page.0);
            count += 1;
        }
        pool.give_back(buffer);
    }
    assert_eq!((seen.len(), count), (1024, 1024));
}

#[test]
fn written_bytes_are_incompressible() {
    let mut pool = Pool::new(Bytes::mib(8), 1, 0);
    let buffer = pool.lend(Direction::Write, Bytes::mib(4)).unwrap();
    let mut histogram = [0_u32; 256];
    for byte in buffer.pages.iter().flat_map(|page| page.0) {
        histogram[usize::from(byte)] += 1;
    }
    // Each of 256 values comes 16,384 times in 4 MiB, give or take five standard deviations (640)
    // and the counters' zero bytes (at most 8 of each 4096).
    assert!(histogram.iter().all(|&count| (15_744..=25_300).contains(&count)), "{histogram:?}");
    assert!(histogram[1..].iter().all(|&count| count < 17_100), "{histogram:?}");
}

#[test]
fn memory_is_bounded_and_moves_between_sizes() {
    let mut pool = Pool::new(Bytes::mib(4), 1, 0);
    let large = pool.lend(Direction::Write, Bytes::mib(4)).unwrap();
    assert!(pool.lend(Direction::Read, Bytes(4096)).is_none(), "all of it is lent");
    pool.give_back(large);
    let small: Vec<Buffer> =
        std::iter::from_fn(|| pool.lend(Direction::Read, Bytes(4096))).collect();
    assert_eq!(small.len(), 1024);
    assert_eq!(pool.allocated, Bytes::mib(4));
}

#[test]
fn what_was_read_is_never_written() {
    let mut pool = Pool::new(Bytes::mib(4), 1, 0);
    let read = pool.lend(Direction::Read, Bytes(4096)).unwrap();
    assert!(read.pages[0].0.iter().all(|&byte| byte == 0));
    pool.give_back(read);
    let written = pool.lend(Direction::Write, Bytes(4096)).unwrap();
    assert!(written.pages[0].0.iter().any(|&byte| byte != 0));
    assert_eq!(written.direction(), Direction::Write);
}
