//! What is done to a file: one to four small damages, of kinds that readers stumble over.

use trimbench_core::rng::Rng;

use super::corpus::Corpus;

/// The longest file that is made.
const LONGEST: usize = 1 << 14;
/// Numbers at the edges of what fits where.
const NUMBERS: [&[u8]; 12] = [
    b"-1",
    b"0",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775808",
    b"36028797018963968",
    b"4294967296",
    b"99999999999999999999999",
    b"1.5",
    b".",
    b"0x10",
    b"",
];
/// Words at the edges, as binary fields.
const WORDS: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 63, u64::MAX];

/// A damaged file of the corpus, or garbage.
pub(super) fn file(corpus: &Corpus, rng: &mut Rng) -> Vec<u8> {
    if rng.below(16) == 0 {
        return garbage(rng);
    }
    let mut file = pick(&corpus.files, rng).clone();
    for _ in 0..=rng.below(4) {
        damage(&mut file, corpus, rng);
        file.truncate(LONGEST);
    }
    file
}

fn pick<'a, T>(list: &'a [T], rng: &mut Rng) -> &'a T {
    &list[below(rng, list.len())]
}

/// Uniform below `bound`, which is at least 1.
fn below(rng: &mut Rng, bound: usize) -> usize {
    usize::try_from(rng.below(bound as u64)).expect("it is below a length")
}

fn byte(rng: &mut Rng) -> u8 {
    rng.bits().to_le_bytes()[0]
}

fn garbage(rng: &mut Rng) -> Vec<u8> {
    let length = below(rng, 600);
    let text = rng.below(2) == 0;
    let letter = |rng: &mut Rng| *pick(b"0123456789,. \t\r\n-+WRTDFQwrtdf[]", rng);
    (0..length).map(|_| if text { letter(rng) } else { byte(rng) }).collect()
}

fn damage(file: &mut Vec<u8>, corpus: &Corpus, rng: &mut Rng) {
    if file.is_empty() {
        file.push(byte(rng));
        return;
    }
    let at = below(rng, file.len());
    let until = at + below(rng, (file.len() - at).min(64));
    match rng.below(10) {
        0 => file[at] ^= 1 << rng.below(8),
        1 => file[at] = byte(rng),
        2 => drop(file.drain(at..until)),
        3 => file.truncate(at),
        4 => {
            let again = file[at..until].to_vec();
            file.splice(at..at, again);
        }
        5 => {
            let inserted: Vec<u8> = (0..=rng.below(8)).map(|_| byte(rng)).collect();
            file.splice(at..at, inserted);
        }
        6 => {
            let other = pick(&corpus.files, rng);
            let from = below(rng, other.len());
            file.truncate(at);
            file.extend_from_slice(&other[from..]);
        }
        7 => number(file, at, rng),
        8 => word(file, at, rng),
        _ => {
            // A line that never ends, or a run of one byte.
            let value = file[at];
            let count = below(rng, 2000);
            file.splice(at..at, std::iter::repeat_n(value, count));
        }
    }
}

/// Puts an edge where a decimal number is.
fn number(file: &mut Vec<u8>, from: usize, rng: &mut Rng) {
    let digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = file[from..].iter().position(digit).map(|found| from + found) else { return };
    let digits = file[start..].iter().take_while(|byte| digit(byte)).count();
    file.splice(start..start + digits, pick(&NUMBERS, rng).iter().copied());
}

/// Puts an edge where a binary field may be.
fn word(file: &mut [u8], at: usize, rng: &mut Rng) {
    let value = *pick(&WORDS, rng);
    let bytes = if rng.below(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
    let width = *pick(&[1, 2, 4, 8], rng);
    for (place, byte) in file[at..].iter_mut().zip(bytes).take(width) {
        *place = byte;
    }
}
