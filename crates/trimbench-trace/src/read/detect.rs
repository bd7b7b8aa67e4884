//! How the format of a trace is known by its content.

use crate::format::{Detection, Format, excerpt};
use crate::formats::FORMATS;
use crate::source::UnknownFormat;

/// Lines of a text that are looked at to find its format.
const LINES: usize = 64;

/// The format of a file that begins so. `prefix` is the whole file, or longer than a few lines.
pub(super) fn detect(prefix: &[u8]) -> Result<&'static Format, UnknownFormat> {
    if prefix.is_empty() {
        return Err(UnknownFormat::Empty);
    }
    if let Some(format) = by_beginning(prefix) {
        return Ok(format);
    }
    if prefix.get(257..262) == Some(b"ustar") {
        return Err(UnknownFormat::Archive);
    }
    if prefix.contains(&0) {
        return Err(UnknownFormat::Binary);
    }
    let lines = complete_lines(prefix);
    let fits = |format: &&'static Format| match format.detection {
        Detection::Lines(fits) => fits(&lines),
        Detection::Beginning(..) => false,
    };
    let fitting: Vec<&'static Format> = FORMATS.iter().copied().filter(fits).collect();
    match fitting.as_slice() {
        [] => {
            let line = lines.first().map_or_else(String::new, |line| excerpt(line));
            Err(UnknownFormat::Text { line })
        }
        [one] => Ok(*one),
        several => {
            let formats = several.iter().map(|format| format.id).collect();
            Err(UnknownFormat::Ambiguous { formats })
        }
    }
}

/// The format that is known by this beginning of a file.
pub(super) fn by_beginning(prefix: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.begins(prefix))
}

/// The first lines that have something in them; the last only if it is not the only one and whole.
fn complete_lines(prefix: &[u8]) -> Vec<&[u8]> {
    let end = memchr::memrchr(b'\n', prefix).map_or(prefix.len(), |end| end + 1);
    let lines = prefix[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).take(LINES).collect()
}
