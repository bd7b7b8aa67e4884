//! Small damages of files and texts, of the kinds that break parsers.

use crate::harness::Draw;

/// The longest file that is made.
const LONGEST: usize = 1 << 14;
/// Numbers at the edges of what fits where, separated by blanks; and none.
const NUMBERS: &str = "-1 0 18446744073709551615 18446744073709551616 9223372036854775808 \
     36028797018963968 4294967296 99999999999999999999999 1.5 . 0x10 ";
/// Numbers at the edges, as binary fields.
const FIELDS: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 63, u64::MAX];
/// Characters that end something, change the direction of what is shown, or take another number of
/// bytes or columns than one thinks.
const CHARACTERS: &str = "\0\u{1b}\u{7f}\u{9b}\n\r\t \"'\\`$,=:;*+-./%<&éß\u{301}\u{202e}\u{2028}\
     \u{ffff}😀";
/// Units, right and wrong.
const UNITS: [&str; 16] = [
    "B", "KiB", "MiB", "GiB", "TiB", "PiB", "K", "GB", "ns", "us", "ms", "s", "h", "%", "ppm",
    "s/GB",
];

/// A damaged file of the corpus, or garbage.
pub(crate) fn file(corpus: &[Vec<u8>], draw: &mut dyn Draw) -> Vec<u8> {
    if draw.one_in(16) {
        let is_text = draw.one_in(2);
        let letters = b"0123456789,. \t\r\n-+WRTDFQwrtdf[]";
        let length = draw.below(600);
        return (0..length)
            .map(|_| if is_text { *draw.pick(letters) } else { draw.byte() })
            .collect();
    }
    let mut file = draw.pick(corpus).clone();
    for _ in 0..=draw.below(4) {
        bytes(&mut file, corpus, draw);
        file.truncate(LONGEST);
    }
    file
}

/// Damages a file; `corpus` is what parts of others come from.
pub(crate) fn bytes(file: &mut Vec<u8>, corpus: &[Vec<u8>], draw: &mut dyn Draw) {
    if file.is_empty() {
        file.push(draw.byte());
        return;
    }
    let at = draw.below(file.len());
    let until = at + draw.below((file.len() - at).min(64));
    match draw.below(10) {
        0 => file[at] ^= 1 << draw.below(8),
        1 => file[at] = draw.byte(),
        2 => drop(file.drain(at..until)),
        3 => file.truncate(at),
        4 => file.splice(at..at, file[at..until].to_vec()).for_each(drop),
        5 => file.insert(at, draw.byte()),
        6 => {
            let other = draw.pick(corpus);
            let from = draw.below(other.len());
            file.truncate(at);
            file.extend_from_slice(&other[from..]);
        }
        7 => number(file, at, draw),
        8 => {
            let field = *draw.pick(&FIELDS);
            let bytes = if draw.one_in(2) { field.to_le_bytes() } else { field.to_be_bytes() };
            let width = *draw.pick(&[1, 2, 4, 8]);
            file[at..].iter_mut().zip(bytes).take(width).for_each(|(place, byte)| *place = byte);
        }
        // A line that never ends, or a run of one byte.
        _ => file.splice(at..at, vec![file[at]; draw.below(2000)]).for_each(drop),
    }
}

/// Damages a text, which may have become another one.
pub(crate) fn text(text: &mut String, others: &[&str], draw: &mut dyn Draw) {
    let mut letters: Vec<char> = text.chars().collect();
    let at = draw.below(letters.len() + 1);
    let until = at + draw.below((letters.len() - at + 1).min(9));
    match draw.below(14) {
        0..=4 => {
            let mut bytes = std::mem::take(text).into_bytes();
            number(&mut bytes, at / 2, draw);
            *text = String::from_utf8_lossy(&bytes).into_owned();
            return;
        }
        5 => drop(letters.drain(at..until)),
        6 => letters.insert(at, *draw.pick(&CHARACTERS.chars().collect::<Vec<_>>())),
        7 => letters.splice(at..at, letters[at..until].to_vec()).for_each(drop),
        8 => letters.truncate(at),
        9 => {
            // The unit at the end.
            while letters.last().is_some_and(|it| it.is_ascii_alphabetic() || *it == '%') {
                letters.pop();
            }
            letters.extend(draw.pick(&UNITS).chars());
        }
        10 => letters.splice(at..at, vec!['9'; draw.below(300)]).for_each(drop),
        11 => {
            // Another letter or digit, so that a name stays a name and base64 stays base64.
            let letter = char::from(*draw.pick(b"0123456789ABCDEFxyzabcdef/+"));
            letters.iter_mut().skip(at).take(1).for_each(|place| *place = letter);
        }
        12 => {
            letters.truncate(at);
            letters.extend(draw.pick(others).chars());
        }
        _ => letters = draw.pick(others).chars().collect(),
    }
    *text = letters.into_iter().collect();
}

/// Puts another number where the next decimal one is: an edge, or one that its reader may take.
pub(crate) fn number(file: &mut Vec<u8>, from: usize, draw: &mut dyn Draw) {
    let digits = |file: &[u8]| file.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let Some(found) = file.iter().skip(from).position(u8::is_ascii_digit) else { return };
    let start = from + found;
    let end = start + digits(&file[start..]);
    let number = match draw.below(4) {
        0 => (*draw.pick(&NUMBERS.split(' ').collect::<Vec<_>>())).to_owned(),
        1 => (1_u64 << draw.below(40)).to_string(),
        _ => draw.below(200).to_string(),
    };
    file.splice(start..end, number.into_bytes());
}
