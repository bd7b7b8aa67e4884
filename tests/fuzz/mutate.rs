//! Mutations of files and texts: small damages of the kinds that break parsers.

use trimbench_core::rng::Rng;

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

/// Characters that end something, change the direction of what is shown, or take another number of
/// bytes or columns than one thinks.
const CHARACTERS: [char; 32] = [
    '\0', '\u{1b}', '\u{7f}', '\u{9b}', '\n', '\r', '\t', ' ', '"', '\'', '\\', '`', '$', ',', '=',
    ':', ';', '*', '+', '-', '.', '/', '%', '<', '&', 'é', 'ß', '\u{301}', '\u{202e}', '\u{2028}',
    '\u{ffff}', '😀',
];
/// Units, right and wrong.
const UNITS: [&str; 16] = [
    "B", "KiB", "MiB", "GiB", "TiB", "PiB", "K", "GB", "ns", "us", "ms", "s", "h", "%", "ppm",
    "s/GB",
];

/// A damaged file of the corpus, or garbage.
pub(super) fn file(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    if rng.below(16) == 0 {
        return garbage(rng);
    }
    let mut file = pick(corpus, rng).clone();
    for _ in 0..=rng.below(4) {
        damage(&mut file, corpus, rng);
        file.truncate(LONGEST);
    }
    file
}

/// Damages a text, which may have become another one.
pub(super) fn text(text: &mut String, others: &[&str], rng: &mut Rng) {
    let mut letters: Vec<char> = text.chars().collect();
    let at = below(rng, letters.len() + 1);
    let until = at + below(rng, (letters.len() - at + 1).min(9));
    match rng.below(14) {
        choice @ 0..=4 => {
            let mut bytes = std::mem::take(text).into_bytes();
            let change = if choice == 0 { number } else { another_number };
            change(&mut bytes, at / 2, rng);
            *text = String::from_utf8_lossy(&bytes).into_owned();
            return;
        }
        5 => drop(letters.drain(at..until)),
        6 => letters.insert(at, *pick(&CHARACTERS, rng)),
        7 => {
            let again = letters[at..until].to_vec();
            letters.splice(at..at, again);
        }
        8 => letters.truncate(at),
        9 => {
            // The unit at the end.
            while letters.last().is_some_and(|c| c.is_ascii_alphabetic() || *c == '%') {
                letters.pop();
            }
            letters.extend(pick(&UNITS, rng).chars());
        }
        10 => letters.splice(at..at, std::iter::repeat_n('9', below(rng, 300))).for_each(drop),
        11 => {
            // Another letter or digit, so that a name stays a name and base64 stays base64.
            let letter = char::from(*pick(b"0123456789ABCDEFxyzabcdef/+", rng));
            if let Some(place) = letters.get_mut(at) {
                *place = letter;
            }
        }
        12 => {
            letters.truncate(at);
            letters.extend(pick(others, rng).chars());
        }
        _ => letters = pick(others, rng).chars().collect(),
    }
    *text = letters.into_iter().collect();
}

pub(super) fn pick<'a, T>(list: &'a [T], rng: &mut Rng) -> &'a T {
    &list[below(rng, list.len())]
}

/// Uniform below `bound`, which is at least 1.
pub(super) fn below(rng: &mut Rng, bound: usize) -> usize {
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

/// Damages a file; `corpus` is what parts of others come from.
pub(super) fn damage(file: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
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
            let other = pick(corpus, rng);
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
pub(super) fn number(file: &mut Vec<u8>, from: usize, rng: &mut Rng) {
    let edge = *pick(&NUMBERS, rng);
    renumber(file, from, edge);
}

/// Puts another number where one is, which its reader may well take.
fn another_number(file: &mut Vec<u8>, from: usize, rng: &mut Rng) {
    let number = if rng.below(2) == 0 { 1 << rng.below(40) } else { rng.below(200) };
    renumber(file, from, number.to_string().as_bytes());
}

fn renumber(file: &mut Vec<u8>, from: usize, number: &[u8]) {
    let digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = file[from..].iter().position(digit).map(|found| from + found) else { return };
    let digits = file[start..].iter().take_while(|byte| digit(byte)).count();
    file.splice(start..start + digits, number.iter().copied());
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
