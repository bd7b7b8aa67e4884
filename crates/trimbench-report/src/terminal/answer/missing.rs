//! What a run has no answer to: methods that were left out, sessions that did not end, questions
//! that no figure answers, methods that contradict each other. Each is said once.

use trimbench_results::{NOT_BEGUN, NOT_FINISHED, RunRecord, Session};

use super::Judged;
use crate::style::Style;

/// What targets are called in reasons, the one first that includes a method at the least effort.
const EXAMPLES: [&str; 2] = ["ext4:sim:NAME", "sim:NAME"];

/// Texts, each with the names that it is said of, in order of appearance.
struct Grouped(Vec<(String, Vec<String>)>);

impl Grouped {
    fn new<'a>(said: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
        for (text, name) in said {
            let index = grouped.iter().position(|(other, _)| other == text);
            let index = index.unwrap_or_else(|| {
                grouped.push((text.to_owned(), Vec::new()));
                grouped.len() - 1
            });
            let names = &mut grouped[index].1;
            if !names.iter().any(|other| other == name) {
                names.push(name.to_owned());
            }
        }
        Self(grouped)
    }

    /// A line for all that is said of the same names; not of whom, where they are all `count`.
    fn lines(&self, label: &str, count: usize, style: Style) -> Vec<String> {
        let mut lines: Vec<(&[String], Vec<&str>)> = Vec::new();
        for (text, names) in &self.0 {
            match lines.iter_mut().find(|(of, _)| of == names) {
                Some((_, texts)) => texts.push(text),
                None => lines.push((names, vec![text])),
            }
        }
        let line = |(names, texts): &(&[String], Vec<&str>)| {
            let some = names.len() < count;
            let on = if some { format!(" on {}", names.join(", ")) } else { String::new() };
            style.labelled("", 0, &format!("{label}{on}: {}", texts.join("; ")))
        };
        lines.iter().flat_map(line).collect()
    }
}

/// The lines; none if nothing is missing.
pub(super) fn missing(record: &RunRecord, drives: &[Judged<'_>], style: Style) -> Vec<String> {
    // A verdict that says nothing else says the first of the questions.
    let questions = drives.iter().flat_map(|Judged { drive, advice }| {
        let open = advice.not_measured.iter().filter(|text| **text != advice.deciding);
        open.map(|text| (text.as_str(), drive.name.as_str()))
    });
    let contradictions = drives.iter().flat_map(|Judged { drive, advice }| {
        let differing = advice.agreement.iter().filter(|it| !it.agrees);
        differing.map(|it| (it.text.as_str(), drive.name.as_str()))
    });
    let mut lines = Grouped::new(questions).lines("not measured", drives.len(), style);
    lines.extend(Grouped::new(contradictions).lines("methods differ", drives.len(), style));
    lines.extend(left_out(record, style));
    lines.extend(unfinished(record, style));
    lines
}

/// Methods that were left out, by reason, with a command that includes them.
fn left_out(record: &RunRecord, style: Style) -> Vec<String> {
    let out = record
        .sessions
        .iter()
        .filter_map(|session| Some((session.left_out.as_deref()?, session.plan.method.as_str())));
    let line = |(reason, methods): &(String, Vec<String>)| {
        let example = EXAMPLES.iter().find(|example| reason.contains(&format!("`{example}`")));
        let command = example.map_or_else(String::new, |example| {
            format!("; `trimbench run --target {example}` includes it")
        });
        style.labelled("", 0, &format!("left out: {}: {reason}{command}", methods.join(", ")))
    };
    Grouped::new(out).0.iter().flat_map(line).collect()
}

/// Sessions that did not end, and those that did not begin.
fn unfinished(record: &RunRecord, style: Style) -> Vec<String> {
    let name = |method: &str, target: &str| format!("{method} on {target}");
    let open = |session: &&Session| !session.finished;
    let open = record.sessions.iter().filter(open).map(|it| name(&it.plan.method, &it.plan.target));
    let rest = record.plan.iter().skip(record.sessions.len());
    let rest = rest.map(|plan| name(&plan.method, &plan.target));
    let mut lines = Vec::new();
    for (what, names) in [(NOT_FINISHED, open.collect::<Vec<_>>()), (NOT_BEGUN, rest.collect())] {
        let more = match names.len() {
            0 => continue,
            1 => String::new(),
            more => format!(", and {} more", more - 1),
        };
        lines.extend(style.labelled("", 0, &format!("{what}: {}{more}", names[0])));
    }
    lines
}
