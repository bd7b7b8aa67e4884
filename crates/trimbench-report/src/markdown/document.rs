//! A Markdown document into which a text of a record gets as text only.
//!
//! What a record holds was chosen by anybody, and a report is pasted into issues and run as
//! commands. So the type has two ways in: words and markup of this program, which are constants,
//! and texts, which are escaped: hidden characters are shown, no tag, link, emphasis, cell,
//! heading, list or fence begins, and GitHub finds no address, `@name` or `#number` in them. Lines
//! to type are made here from an [`Action`] and a [`Place`], which takes plain names only.

use trimbench_core::text::visible;
use trimbench_results::Action;
use trimbench_results::advice::{Place, lines_to_type};

#[cfg(test)]
mod tests;

/// What makes a renderer link a word, notify somebody or mention another issue.
const LINKING: [&str; 6] = ["://", "www.", "mailto:", "xmpp:", "@", "#"];

/// A backtick that encloses nothing. One behind a backslash still counts where the end of code is
/// looked for.
const BACKTICK: &str = "&#96;";

/// The document as far as it is written.
#[derive(Debug)]
pub(super) struct Document(String);

impl Document {
    /// A document that begins with this mark.
    pub(super) fn new(mark: &'static str) -> Self {
        Self(mark.to_owned())
    }

    /// Words and markup of ours.
    pub(super) fn ours(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.0.push_str(&number.to_string());
        self
    }

    /// A text of anybody. What stands between two backticks is code, as on the page. Two backticks
    /// around nothing go first: the letters beside them become neighbours.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let text = visible(text).replace("``", "");
        let parts: Vec<&str> = text.split('`').collect();
        for (index, part) in parts.iter().enumerate() {
            match (index % 2 == 1, index + 1 < parts.len()) {
                (true, true) => self.coded(part),
                (true, false) => {
                    self.0.push_str(BACKTICK);
                    self.plain(part, false);
                }
                (false, _) => self.plain(part, index == 0),
            }
        }
        self
    }

    /// A text as code.
    pub(super) fn code(&mut self, text: &str) -> &mut Self {
        self.coded(&visible(text));
        self
    }

    /// A text as code within a line of HTML, where Markdown means nothing.
    pub(super) fn html_code(&mut self, text: &str) -> &mut Self {
        self.0.push_str("<code>");
        for letter in visible(text).chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                other => self.0.push(other),
            }
        }
        self.0.push_str("</code>");
        self
    }

    /// The lines to type for an answer at a place, as a block; nothing where there are none.
    pub(super) fn commands(&mut self, action: &Action, place: &Place) -> &mut Self {
        let lines = lines_to_type(action, place);
        if lines.is_empty() {
            return self;
        }
        self.0.push_str("```sh\n");
        for line in lines {
            let where_to = line.file.unwrap_or("as root");
            let untested = if line.tested { "" } else { ", not tested by trimbench" };
            let about = ["# ", line.system, ", ", where_to, untested, "\n"].concat();
            let note = line.note.map(|note| ["# ", note, "\n"].concat()).unwrap_or_default();
            self.0.extend([about, note, line.text, "\n".to_owned()]);
            if let Some(check) = line.check {
                self.0.extend(["# shows its effect: ", check.as_str(), "\n"]);
            }
        }
        self.0.push_str("```\n\n");
        self
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// Words without a backtick; `is_first` if no text is before them.
    fn plain(&mut self, text: &str, is_first: bool) {
        let mut begins = is_first;
        for (index, word) in text.split(' ').enumerate() {
            // Four blanks would begin a block of code, and two before a line's end break it.
            if index > 0 && !self.0.ends_with([' ', '\n']) {
                self.0.push(' ');
            }
            if word.is_empty() {
                continue;
            }
            let lower = word.to_ascii_lowercase();
            if LINKING.iter().any(|part| lower.contains(part)) {
                self.coded(word);
            } else {
                self.word(word, begins);
            }
            begins = false;
        }
    }

    /// A word of letters that mean themselves; `begins` if it may stand at the beginning of a line.
    fn word(&mut self, word: &str, begins: bool) {
        let marker = if begins { line_marker(word) } else { None };
        let letters: Vec<char> = word.chars().collect();
        let is_letter = |letter: Option<&char>| letter.is_some_and(|it| it.is_alphanumeric());
        for (index, &letter) in letters.iter().enumerate() {
            let next = letters.get(index + 1);
            let before = index.checked_sub(1).and_then(|before| letters.get(before));
            let has_meaning = match letter {
                '\\' | '*' | '[' | ']' | '~' | '|' | '$' => true,
                '_' => !(is_letter(before) && is_letter(next)),
                '<' => next.is_some_and(|it| it.is_ascii_alphabetic() || "/!?".contains(*it)),
                '&' => next.is_some_and(char::is_ascii_alphanumeric),
                _ => false,
            };
            if has_meaning || marker == Some(index) {
                self.0.push('\\');
            }
            self.0.push(letter);
        }
    }

    /// Code without hidden characters. A bar or a backtick stands between two pieces of it: in a
    /// table neither can be escaped within one.
    fn coded(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(['|', '`']).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            if !piece.is_empty() {
                // Two pieces without anything between them would be one with backticks in it.
                let gap = if self.0.ends_with('`') { " " } else { "" };
                self.0.extend([gap, "`", piece, "`"]);
            }
            let mut behind = behind.chars();
            match behind.next() {
                Some('`') => self.0.push_str(BACKTICK),
                Some(_) => self.0.push_str("\\|"),
                None => {}
            }
            rest = behind.as_str();
        }
    }
}

/// The place of the letter that makes a word at the beginning of a line a list, a quotation or the
/// underline of a heading.
fn line_marker(word: &str) -> Option<usize> {
    let digits = word.chars().take_while(char::is_ascii_digit).count();
    match &word[digits..] {
        "." | ")" if digits > 0 => Some(digits),
        _ if word.starts_with('>') => Some(0),
        _ if ["-", "+", "="].iter().any(|sign| word.replace(sign, "").is_empty()) => Some(0),
        _ => None,
    }
}
