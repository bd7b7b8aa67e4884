use super::*;

fn store(keeps_old: bool) -> Store {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    Store::new(file, 4_096, keeps_old)
}

fn stamp(block: u64, generation: u32) -> Content {
    Content::Stamp { lba: Lba(block), generation }
}

fn block(byte: u8) -> Vec<u8> {
    vec![byte; BLOCK_BYTES]
}

fn reads(store: &Store, contents: &[Content]) -> Vec<u8> {
    store.read(contents).unwrap()
}

#[test]
fn each_block_reads_as_what_the_model_says_that_it_holds() {
    let mut store = store(false);
    store.write(10, &[block(1), block(2)].concat(), 7).unwrap();
    let other = Content::Other { hash: 5 };
    let contents =
        [stamp(10, 7), stamp(11, 7), Content::Zeroes, Content::Ones, other, stamp(10, 7)];
    let read = reads(&store, &contents);
    let blocks: Vec<&[u8]> = read.chunks(BLOCK_BYTES).collect();
    let expected = [block(1), block(2), block(0), block(0xff)];
    assert_eq!(blocks[..4], expected.each_ref().map(Vec::as_slice));
    assert_eq!(blocks[5], block(1));
    let drawn = reads(&store, &[other]);
    assert_eq!(blocks[4], drawn);
    assert_ne!(drawn, reads(&store, &[Content::Other { hash: 6 }]));
    assert!((0..=255).filter(|byte| drawn.contains(byte)).count() > 150, "they are random");
}

#[test]
fn what_the_model_goes_back_to_is_brought_back() {
    let mut store = store(true);
    store.write(10, &block(1).repeat(4), 1).unwrap();
    store.write(11, &block(2), 2).unwrap();
    store.write(10, &block(3).repeat(2), 3).unwrap();
    store.write(12, &block(4), 4).unwrap();
    // 10 goes back one version, 11 two, 12 stays, 13 was never written over.
    let after = [stamp(10, 1), stamp(11, 1), stamp(12, 4), stamp(13, 1)];
    let contents =
        |blocks: Range<u64>| blocks.map(|block| after[index(block - 10)]).collect::<Vec<_>>();
    store.restore(contents).unwrap();
    assert_eq!(reads(&store, &after), [block(1), block(1), block(4), block(1)].concat());
    assert!(store.overwritten.is_empty());
    // One version between the first and the last.
    store.write(11, &block(5), 5).unwrap();
    store.write(11, &block(6), 6).unwrap();
    store.restore(|blocks| blocks.map(|block| stamp(block, 5)).collect()).unwrap();
    assert_eq!(reads(&store, &[stamp(11, 5)]), block(5));
}

#[test]
fn what_is_not_needed_is_forgotten_and_a_drive_that_loses_nothing_keeps_nothing() {
    let mut lossy = store(true);
    for generation in 1..=4 {
        lossy.write(u64::from(generation % 2) * 8, &block(1).repeat(8), generation).unwrap();
    }
    assert_eq!(lossy.overwritten.len(), 2, "the first writes replaced nothing");
    // Two blocks of each, of which one lies at the end.
    lossy.prune(|blocks, _| blocks.map(|block| [1, 7, 9, 10].contains(&block)).collect());
    let left: Vec<_> = lossy.overwritten.iter().map(Overwritten::blocks).collect();
    assert_eq!((left, lossy.overwritten_bytes), (vec![9..11, 1..2, 7..8], 2_048));
    assert_eq!(lossy.overwritten[2].version(7, 2), Some(&*block(1)));
    lossy.overwritten_max = 2_000;
    assert!(lossy.wants_pruning());
    let mut safe = store(false);
    safe.write(0, &block(1), 1).unwrap();
    safe.write(0, &block(2), 2).unwrap();
    assert!(safe.overwritten.is_empty());
}

#[test]
fn what_was_cut_off_the_file_is_an_error_and_no_zeroes() {
    let mut store = store(false);
    store.write(100, &block(1), 1).unwrap();
    store.file.set_len(4_096 + 100 * 512).unwrap();
    assert!(store.read(&[stamp(100, 1)]).is_err());
}
