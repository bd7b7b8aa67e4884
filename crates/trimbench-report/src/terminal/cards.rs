//! The whole card of a drive: the answer, why, what to type, what would change it, what is open.

use trimbench_results::Advice;
use trimbench_results::advice::StatedFact;

use super::answer::Judged;
use super::typed::typed;
use crate::style::Style;

/// Blanks before what belongs to a heading.
const INDENT: usize = 2;
/// Reasons that stand beside an answer; the rest is in the full report.
const REASONS_SHOWN: usize = 3;

/// A card for each drive.
pub(super) fn cards(drives: &[Judged<'_>], style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for Judged { drive, advice } in drives {
        lines.push(String::new());
        lines.push(style.heading(&format!("Verdict on {}", drive.name)));
        lines.extend(style.labelled("", 0, &advice.action.title()));
        lines.extend(facts(advice, style));
        let because: Vec<String> = advice.because.iter().map(|it| it.text.clone()).collect();
        let agree = advice.agreement.iter().map(|it| it.text.clone()).collect();
        for (title, items) in [
            ("because", because),
            ("what would change this", advice.would_change.clone()),
            ("also found", advice.remarks.clone()),
            ("methods that measured one cost", agree),
            ("not measured", advice.open_questions()),
        ] {
            lines.extend(list(title, &items, style));
        }
        let to_type = typed(advice, &advice.lines, style);
        if !to_type.is_empty() {
            lines.extend(style.labelled("", 0, "what to type:"));
            lines.extend(to_type);
        }
        let paced = advice.paced.iter();
        let paced = paced.map(|it| format!("{}: `{}` ({})", it.program, it.text, it.note));
        lines.extend(list(
            "for programs that pace their deletions",
            &paced.collect::<Vec<_>>(),
            style,
        ));
    }
    lines
}

/// The first reasons of the only card, and what would change it.
pub(super) fn reasons(advice: &Advice, style: Style) -> Vec<String> {
    let because = advice.because.iter().take(REASONS_SHOWN).map(|it| it.text.clone());
    let mut lines = facts(advice, style);
    lines.extend(list("because", &because.collect::<Vec<_>>(), style));
    lines.extend(list("what would change this", &advice.would_change, style));
    lines.extend(list("also found", &advice.remarks, style));
    lines
}

/// The facts that the answer follows from.
fn facts(advice: &Advice, style: Style) -> Vec<String> {
    let texts: Vec<String> = advice.facts.iter().map(StatedFact::text).collect();
    list("facts", &texts, style)
}

/// A heading with its items; nothing without items.
fn list(title: &str, items: &[String], style: Style) -> Vec<String> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut lines = style.labelled("", 0, &format!("{title}:"));
    lines.extend(items.iter().flat_map(|item| style.labelled("-", INDENT, item)));
    lines
}
