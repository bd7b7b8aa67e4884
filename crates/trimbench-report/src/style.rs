//! Text styles, and the helpers that depend on them.

use trimbench_core::text::visible;

/// Narrower than this nothing can be laid out; narrower wishes are taken as this.
const WIDTH_MIN: usize = 40;

/// What the reader's terminal can show. The caller decides (`NO_COLOR`, pipes, locale).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; no line is wider. At least 40.
    pub width: usize,
    /// Whether to emphasise with ANSI colours. Words always say the same.
    pub colour: bool,
    /// Whether characters beyond ASCII may be used.
    pub unicode: bool,
}

/// Why a line is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Heading,
    Warning,
    Invalid,
}

impl Style {
    /// The usable width.
    pub(crate) fn columns(self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    /// The line in the colour of `emphasis`, if colours are wanted.
    pub(crate) fn paint(self, emphasis: Emphasis, line: &str) -> String {
        if !self.colour {
            return line.to_owned();
        }
        let code = match emphasis {
            Emphasis::Heading => "1",
            Emphasis::Warning => "33",
            Emphasis::Invalid => "1;31",
        };
        format!("\u{1b}[{code}m{line}\u{1b}[0m")
    }

    /// Text from a record made harmless: hidden characters become escapes, and without `unicode`
    /// everything beyond ASCII becomes `?`.
    pub(crate) fn clean(self, text: &str) -> String {
        let shown = |c: char| self.unicode || c.is_ascii();
        visible(text).chars().map(|c| if shown(c) { c } else { '?' }).collect()
    }

    /// `label` in a column of `indent` characters, then the text, wrapped under itself.
    pub fn labelled(self, label: &str, indent: usize, text: &str) -> Vec<String> {
        let room = self.columns().saturating_sub(indent).max(1);
        let mut lines = Vec::new();
        for (index, part) in wrap(&self.clean(text), room).into_iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            lines.push(format!("{label:indent$}{part}").trim_end().to_owned());
        }
        lines
    }

    /// The text in at most `room` characters, with an ellipsis for what is cut off its end.
    pub(crate) fn cut(self, text: &str, room: usize) -> String {
        self.shorten(text, room, 0)
    }

    /// The same with the cut in the middle: both ends of a path tell it from others.
    pub(crate) fn cut_middle(self, text: &str, room: usize) -> String {
        self.shorten(text, room, room / 2)
    }

    /// At most `room` characters, the last `tail` of a longer text among them.
    fn shorten(self, text: &str, room: usize, tail: usize) -> String {
        let letters: Vec<char> = self.clean(text).chars().collect();
        if letters.len() <= room {
            return letters.into_iter().collect();
        }
        let tail = tail.min(room.saturating_sub(self.ellipsis().chars().count()));
        let head = room.saturating_sub(tail + self.ellipsis().chars().count());
        let head: String = letters[..head].iter().collect();
        let tail: String = letters[letters.len() - tail..].iter().collect();
        let ellipsis: String = self.ellipsis().chars().take(room).collect();
        format!("{}{ellipsis}{tail}", head.trim_end())
    }

    /// What stands for what was left out.
    pub(crate) fn ellipsis(self) -> &'static str {
        if self.unicode { "\u{2026}" } else { "..." }
    }

    /// A horizontal rule.
    pub(crate) fn rule(self, length: usize) -> String {
        (if self.unicode { "\u{2500}" } else { "-" }).repeat(length)
    }

    /// A heading with a rule to the right edge.
    pub(crate) fn heading(self, title: &str) -> String {
        let title = self.cut(title, self.columns());
        let room = self.columns().saturating_sub(title.chars().count() + 1);
        let line = format!("{title} {}", self.rule(room));
        self.paint(Emphasis::Heading, line.trim_end())
    }
}

/// The text in lines of at most `room` characters, broken at blanks where there are any. One line
/// at least.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        // A word longer than a line is broken anywhere.
        for (index, part) in letters.chunks(room).enumerate() {
            if index > 0 || (used > 0 && used + 1 + letters.len() > room) {
                lines.push(String::new());
                used = 0;
            }
            let line = lines.last_mut().expect("there is one line from the start");
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.extend(part);
            used += part.len();
        }
    }
    lines
}
