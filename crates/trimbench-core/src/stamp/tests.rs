use std::collections::BTreeSet;

use super::*;

fn stamped(length: usize, lba: u64, generation: u32) -> Vec<u8> {
    let mut block = vec![0xa5; length];
    write(&mut block, Lba(lba), generation);
    block
}

const fn stamp(lba: u64, generation: u32) -> Content {
    Content::Stamp { lba: Lba(lba), generation }
}

#[test]
fn a_stamp_reads_as_what_it_was_written_with() {
    for length in [512, 4_096, 65_536] {
        for (lba, generation) in [(0, 0), (0, 1), (1, 0), (u64::MAX, u32::MAX), (1 << 40, 7)] {
            assert_eq!(read(&stamped(length, lba, generation)), stamp(lba, generation));
        }
    }
}

#[test]
fn a_stamp_has_these_bytes_for_ever() {
    // Images outlive versions of the program: a change of layout needs another magic.
    let block = stamped(512, 5, 9);
    assert_eq!(&block[..8], b"trimblk1");
    assert_eq!(block[8..24], [5, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 2, 0, 0]);
    let mut hash = TraceHash::default();
    block.chunks_exact(8).for_each(|word| hash.word(word_of(word)));
    // From another implementation of the layout; the first output of SplitMix64 from seed 0.
    assert_eq!(hash.value(), 0x6ceb_f680_b751_0af7);
    assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
}

#[test]
fn every_corruption_of_a_single_byte_is_noticed() {
    let whole = stamped(512, 77, 3);
    let mut seen = BTreeSet::new();
    for place in 0..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut block = whole.clone();
            block[place] ^= flip;
            let Content::Other { hash } = read(&block) else { panic!("byte {place} ^ {flip:#x}") };
            assert!(seen.insert(hash), "another hash for each content: byte {place}");
        }
    }
}

#[test]
fn torn_shifted_and_truncated_stamps_are_not_stamps() {
    let other = |block: &[u8]| matches!(read(block), Content::Other { .. });
    let (old, new) = (stamped(4_096, 8, 1), stamped(4_096, 8, 2));
    let neighbour = stamped(4_096, 9, 1);
    // What comes before is the same in both.
    for tear in (24..4_096).step_by(8) {
        assert!(other(&[&new[..tear], &old[tear..]].concat()), "torn in time at {tear}");
        assert!(other(&[&old[..tear], &neighbour[tear..]].concat()), "torn in place at {tear}");
    }
    assert!(other(&[&old[512..], &neighbour[..512]].concat()), "shifted");
    assert!(other(&old[..512]), "the first sector of a larger block");
    assert!(other(&[stamped(512, 8, 1), vec![0; 512]].concat()), "zeroes behind a stamp");
}

#[test]
fn zeroes_ones_and_others_are_told_apart() {
    for length in [512, 4_096, 65_536] {
        assert_eq!(read(&vec![0; length]), Content::Zeroes);
        assert_eq!(read(&vec![0xff; length]), Content::Ones);
        for place in [0, 1, length / 2, length - 1] {
            for (ground, spot) in [(0, 1), (0xff, 0xfe)] {
                let mut block = vec![ground; length];
                block[place] = spot;
                let content = read(&block);
                assert!(matches!(content, Content::Other { .. }), "{ground} but for {place}");
                assert_eq!(content, read(&block.clone()), "equal bytes, equal hashes");
            }
        }
    }
    assert_ne!(read(&[7; 512]), read(&[8; 512]));
}

#[test]
fn no_word_of_the_filling_comes_twice() {
    let mut words = BTreeSet::new();
    let mut count = 0;
    for lba in 0..16 {
        for generation in 0..16 {
            for length in [512, 4_096] {
                let block = stamped(length, lba, generation);
                let filling = block.chunks_exact(8).skip(3).map(word_of);
                count += filling.clone().count();
                words.extend(filling);
            }
        }
    }
    assert_eq!(words.len(), count);
}

#[test]
#[should_panic(expected = "512 B to 64 KiB")]
fn what_is_no_logical_block_cannot_be_stamped() {
    stamped(520, 0, 0);
}
