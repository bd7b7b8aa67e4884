use std::collections::BTreeSet;
use std::sync::Arc;

use trimbench_core::Content;

use super::*;

const HERE: Place = Place { lba: Lba(40), logical_block: 512 };

fn ring() -> FixedRing {
    let file = tempfile::tempfile().unwrap();
    FixedRing::new(Arc::new(file.into()), 8).unwrap()
}

fn pool(limit: u64) -> Pool {
    Pool::new(Bytes(limit), 3, 1_000)
}

fn filled(pool: &mut Pool, ring: &mut FixedRing, length: u64, data: Data) -> Vec<u8> {
    let mut buffer = pool.lend(ring, Direction::Write, length).unwrap();
    pool.fill(&mut buffer, length, data, HERE);
    let content = buffer.chunk.bytes()[..index(length)].to_vec();
    pool.give_back(Direction::Write, buffer);
    content
}

#[test]
fn random_data_never_repeats_and_cannot_be_compressed() {
    let (mut ring, mut pool) = (ring(), pool(1 << 24));
    let mut pages = BTreeSet::new();
    let mut count = 0;
    for length in [4096, 65_536, 4096, LARGEST, 12_288, 65_536] {
        let content = filled(&mut pool, &mut ring, length, Data::Random);
        for page in content.chunks(4096) {
            assert!(pages.insert(page.to_vec()), "a page is written twice");
            let distinct: BTreeSet<&[u8]> = page.chunks(8).collect();
            assert_eq!(distinct.len(), 512, "words repeat within a page");
        }
        count += content.len() / 4096;
    }
    assert_eq!(pages.len(), count);
}

#[test]
fn a_write_of_part_of_a_page_differs_from_the_next_too() {
    let (mut ring, mut pool) = (ring(), pool(1 << 24));
    let first = filled(&mut pool, &mut ring, 512, Data::Random);
    assert_ne!(first, filled(&mut pool, &mut ring, 512, Data::Random));
}

#[test]
fn compressible_data_has_its_share_of_noise_in_every_page() {
    let (mut ring, mut pool) = (ring(), pool(1 << 24));
    for percent in [100, 0, 25, 50, 1, 99, 200] {
        // Random data before must leave nothing behind.
        filled(&mut pool, &mut ring, 65_536, Data::Random);
        let content = filled(&mut pool, &mut ring, 65_536, Data::Compressible(percent));
        let noise = usize::from(percent.min(100)) * 4096 / 100;
        for page in content.chunks(4096) {
            assert!(page[noise..].iter().all(|&byte| byte == 0), "{percent} %");
            // No word of it is zero.
            let words = page[..noise - noise % 8].chunks(8);
            assert!(words.into_iter().all(|word| word != [0; 8]), "{percent} %");
        }
        let pages: BTreeSet<&[u8]> = content.chunks(4096).collect();
        assert_eq!(pages.len(), if noise == 0 { 1 } else { 16 }, "{percent} %");
    }
}

#[test]
fn stamped_data_says_where_each_block_belongs() {
    let (mut ring, mut pool) = (ring(), pool(1 << 24));
    filled(&mut pool, &mut ring, 8192, Data::Random);
    let content = filled(&mut pool, &mut ring, 8192, Data::Stamped(7));
    for (block, lba) in content.chunks(512).zip(40..) {
        let expected = Content::Stamp { lba: Lba(lba), generation: 7 };
        assert_eq!(stamp::read(block), expected);
    }
    // What was stamped is prepared anew for random data.
    let random = filled(&mut pool, &mut ring, 8192, Data::Random);
    assert!(random.chunks(512).all(|block| matches!(stamp::read(block), Content::Other { .. })));
}

#[test]
fn memory_is_bounded_for_each_kind_and_none_is_without() {
    let (mut ring, mut pool) = (ring(), pool(2 << 20));
    let mut lent = Vec::new();
    while let Some(buffer) = pool.lend(&mut ring, Direction::Read, 4096) {
        lent.push(buffer);
    }
    assert_eq!(lent.len(), 512);
    // Other sizes and the other direction are not kept waiting by it.
    for length in [4097, LARGEST] {
        let buffer = pool.lend(&mut ring, Direction::Read, length).unwrap();
        assert!(buffer.chunk.length() >= length);
    }
    assert!(pool.lend(&mut ring, Direction::Read, LARGEST).is_none());
    assert!(pool.lend(&mut ring, Direction::Write, 4096).is_some());
    pool.give_back(Direction::Read, lent.pop().unwrap());
    assert!(pool.lend(&mut ring, Direction::Read, 1).is_some());
}

#[test]
fn chunks_of_a_slab_do_not_overlap() {
    let (mut ring, mut pool) = (ring(), pool(1 << 20));
    let lend = |_| pool.lend(&mut ring, Direction::Read, 4096).unwrap();
    let mut all: Vec<Buffer> = (0..=255_u8).map(lend).collect();
    for (buffer, number) in all.iter_mut().zip(0..=255) {
        buffer.chunk.bytes().fill(number);
    }
    for (buffer, number) in all.iter_mut().zip(0..=255) {
        assert!(buffer.chunk.bytes().iter().all(|&byte| byte == number));
    }
}
