use super::*;

/// An event whose kind is the number of its words.
fn event(delta: u32, words: &[u32]) -> Vec<u32> {
    let kind = u32::try_from(words.len()).expect("few words");
    [&[(delta << KIND_BITS) | kind], words].concat()
}

/// A page that starts at time 1000 and has these words; `flags` are the state's.
fn page(flags: u64, words: &[u32], behind: &[u8]) -> Vec<u8> {
    let length = u64::try_from(words.len() * 4).expect("a short page");
    let mut page = 1000_u64.to_ne_bytes().to_vec();
    page.extend((length | flags).to_ne_bytes());
    page.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    page.extend(behind);
    page.resize(4096, 0);
    page
}

/// Asserts the times and first words of the events, and how many were lost.
#[track_caller]
fn check(page: &[u8], expected: &[(u64, u32)], lost: u64) {
    let mut found = Vec::new();
    let told = read_page(page, |at, data| found.push((at.0, u32_at(data, 0).expect("a word"))));
    assert_eq!((found.as_slice(), told), (expected, lost));
}

#[test]
fn times_are_sums_and_data_have_the_length_that_is_told() {
    let words = [event(5, &[11, 0, 0]), event(0, &[12]), event(7, &[13, 0])].concat();
    check(&page(0, &words, &[]), &[(1005, 11), (1005, 12), (1012, 13)], 0);
    // What lies behind the events is none.
    check(&page(0, &[], &[1, 0, 0, 0, 9, 9, 9, 9]), &[], 0);
}

#[test]
fn long_data_padding_and_long_times_are_understood() {
    let long = [1 << KIND_BITS, 4 + 4 * 40].into_iter().chain(21..61).collect::<Vec<u32>>();
    let extend = [(3 << KIND_BITS) | TIME_EXTEND, 2];
    let discarded = [(4 << KIND_BITS) | PADDING, 8, 77];
    let words = [&long[..], &extend, &event(1, &[31]), &discarded, &event(1, &[32])].concat();
    let extended = 1001 + 3 + (2 << 27);
    check(&page(0, &words, &[]), &[(1001, 21), (extended + 1, 31), (extended + 6, 32)], 0);
    let stamp = [(9 << KIND_BITS) | TIME_STAMP, 4];
    let words = [&stamp[..], &event(1, &[41]), &[PADDING], &event(1, &[42])].concat();
    check(&page(0, &words, &[]), &[((4 << 27) + 10, 41)], 0);
}

#[test]
fn losses_are_told_and_nonsense_ends_the_page() {
    let words = event(1, &[11]);
    check(&page(MISSED, &words, &[]), &[(1001, 11)], 1);
    check(&page(MISSED | MISSED_STORED, &words, &500_u64.to_ne_bytes()), &[(1001, 11)], 500);
    // An event that is longer than the page, and pages that are none.
    let too_long = [event(1, &[0; 20])[0], 0];
    check(&page(0, &too_long, &[]), &[], 0);
    check(&page(0, &[1 << KIND_BITS, u32::MAX], &[]), &[], 0);
    check(&[0; 15], &[], 0);
    check(&[0xFF; 16], &[], 1);
}
