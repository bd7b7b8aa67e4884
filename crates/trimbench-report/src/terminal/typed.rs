//! The lines to type as terminals show them: each with the command that shows its effect.

use trimbench_results::Advice;
use trimbench_results::advice::{LineToType, TrimFilesystem, placeholders};

use crate::style::Style;

/// What stands for a prompt of root before a line to type.
pub(super) const PROMPT: &str = "# ";
/// Blanks before a line to type.
const INDENT: usize = 2;

/// The label of a template, what is to be kept, and each line with its check.
pub(super) fn typed(advice: &Advice, lines: &[LineToType], style: Style) -> Vec<String> {
    let label = advice.template.filter(|_| !lines.is_empty()).map(|it| format!("{it}:"));
    let said = advice.already.clone().into_iter().chain(label);
    let mut shown: Vec<String> = said.flat_map(|text| style.labelled("", INDENT, &text)).collect();
    for line in lines {
        let in_file = line.file.map(|file| format!("in {file}: {}", line.text));
        shown.extend(if let Some(text) = in_file {
            style.labelled("", INDENT, &text)
        } else {
            let prompt = format!("{:INDENT$}{}", "", PROMPT.trim_end());
            style.labelled(&prompt, INDENT + PROMPT.len(), &line.text)
        });
        let about = line.note.map(str::to_owned);
        let check = line.check.as_ref().map(|check| format!("shows its effect: `{check}`"));
        let untested = (!line.tested).then(|| "not tested by trimbench".to_owned());
        let below = [about, check, untested].into_iter().flatten();
        shown.extend(below.flat_map(|text| style.labelled("", 2 * INDENT, &text)));
    }
    let names = placeholders(lines);
    if !names.is_empty() {
        let text = format!("yours to replace: {}", names.join(", "));
        shown.extend(style.labelled("", INDENT, &text));
    }
    shown
}

/// The lines for the filesystem of the card; where it may be any, those for ext4.
pub(super) fn lines_of(advice: &Advice) -> Vec<LineToType> {
    let others = TrimFilesystem::ALL.into_iter().filter(|it| *it != TrimFilesystem::Ext4);
    let others: Vec<&str> = others.map(TrimFilesystem::label).collect();
    let is_any = advice.place.filesystem().is_none();
    let suits = |line: &&LineToType| !(is_any && others.contains(&line.system));
    advice.lines.iter().filter(suits).cloned().collect()
}
