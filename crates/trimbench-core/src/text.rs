//! Text for people, shells and records that contains names chosen by anyone.
//!
//! A Linux file name is bytes: any except NUL and `/`. So it may hold escape sequences, characters
//! that change the direction of writing, shell words, and invalid UTF-8. Each of the three readers
//! needs its own form:
//!
//! - a person: [`visible`], which shows every character and sends nothing else to the terminal;
//! - a shell: [`shell_word`], one word of bash, whatever it contains;
//! - a record: [`to_text`], which is lossless, and reversed by [`from_text`]. A UTF-8 name is kept
//!   as it is; any other is `$'...'` as bash reads it, with `\xff` for a byte. (So is a name that
//!   begins with `$'`, which would otherwise be ambiguous.)

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

#[cfg(test)]
mod tests;

/// What begins and ends a word with escapes.
const OPEN: &str = "$'";
const CLOSE: char = '\'';

/// Whether a character does something to the text around it rather than be shown: control
/// characters (C0, DEL, C1), line and paragraph separators, direction of writing, no width.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The text with every hidden character as an escape: `\n`, `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if is_hidden(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// The same of each line of a text, whose line ends stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|letter| letter != '\n' && is_hidden(letter)) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// A JSON document with every hidden character but its line ends as an escape of JSON. It means the
/// same: outside of its texts there is no such character.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let is_raw = |letter: char| letter != '\n' && is_hidden(letter);
    if !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 12);
    for letter in json.chars() {
        if is_raw(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("a string takes everything");
            }
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// The name as a text from which [`from_text`] makes the same name.
pub fn to_text(name: impl AsRef<OsStr>) -> String {
    let name = name.as_ref();
    match name.to_str() {
        Some(text) if !text.starts_with(OPEN) => text.to_owned(),
        _ => escaped(name),
    }
}

/// The name that [`to_text`] made a text of.
pub fn from_text(text: &str) -> OsString {
    let within = text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE));
    within.and_then(unescaped).map_or_else(|| OsString::from(text), OsString::from_vec)
}

/// The word as bash, zsh and ksh read it: bare where nothing in it has a meaning, else quoted.
pub fn shell_word(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,@%+=".contains(letter);
    match word.to_str() {
        None => escaped(word),
        Some(text) if text.contains(is_hidden) => escaped(word),
        // zsh takes `=word` for a command's path.
        Some(text) if !text.is_empty() && !text.starts_with('=') && text.chars().all(is_plain) => {
            text.to_owned()
        }
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The same for a path, which no program takes for an option either.
pub fn shell_path(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    if path.as_os_str().as_bytes().starts_with(b"-") {
        return shell_word(Path::new(".").join(path));
    }
    shell_word(path)
}

/// `$'...'` of the name.
fn escaped(name: &OsStr) -> String {
    let mut text = OPEN.to_owned();
    let byte = |text: &mut String, byte: &u8| {
        write!(text, "\\x{byte:02x}").expect("a string takes everything");
    };
    for chunk in name.as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' | CLOSE => text.extend(['\\', letter]),
                _ if is_hidden(letter) => {
                    let mut buffer = [0; 4];
                    letter.encode_utf8(&mut buffer).as_bytes().iter().for_each(|it| {
                        byte(&mut text, it);
                    });
                }
                _ => text.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|it| byte(&mut text, it));
    }
    text.push(CLOSE);
    text
}

/// The bytes between `$'` and `'`; `None` if [`escaped`] would not have written that.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        match (first, others) {
            (b'\\', [letter @ (b'\\' | b'\''), others @ ..]) => {
                bytes.push(*letter);
                rest = others;
            }
            (b'\\', [b'x', high, low, others @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest = others;
            }
            (b'\\' | b'\'', _) => return None,
            (byte, _) => bytes.push(*byte),
        }
    }
    Some(bytes)
}
