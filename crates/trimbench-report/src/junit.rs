//! Records as `JUnit` XML, for the systems that show the results of tests: a suite for the
//! verdicts, one for the limits, and one for each session with a case for each figure.
//!
//! The verdicts are those of this version's rules, whatever a record says of them.
//!
//! A limit that fails is a failure; an invalid figure, or a session that did not finish, is an
//! error; what was left out is skipped.

use std::fmt::Write as _;

use trimbench_core::text::visible;
use trimbench_results::cards::cards;
use trimbench_results::limits::JudgedLimit;
use trimbench_results::{AdviceCard, Figure, NOT_FINISHED, RunRecord, Session};

use crate::csv::caveat_ids;

#[cfg(test)]
mod tests;

/// What every such file begins with.
pub const JUNIT_MARK: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- trimbench -->\n";

/// A case that ended as it should, or how else.
enum CaseEnd {
    Passed,
    Failed(String),
    Wrong(String),
    Skipped(String),
}

struct Case {
    place: String,
    name: String,
    end: CaseEnd,
    /// A line each.
    output: Vec<String>,
}

/// The suites of these records, each with its name, and of the limits that were judged.
pub fn junit(records: &[(&str, &RunRecord)], limits: &[JudgedLimit]) -> String {
    let mut text = format!("{JUNIT_MARK}<testsuites name=\"trimbench\">\n");
    let prefix = |name: &str| if records.len() > 1 { format!("{name}: ") } else { String::new() };
    for (name, record) in records {
        let prefix = prefix(name);
        let verdicts: Vec<Case> = cards(record).iter().map(verdict).collect();
        suite(&mut text, &format!("{prefix}verdicts"), &verdicts);
        for session in &record.sessions {
            let title = format!("{prefix}{} on {}", session.plan.method, session.target.name);
            suite(&mut text, &title, &of_session(session));
        }
    }
    if !limits.is_empty() {
        suite(&mut text, "limits", &limits.iter().map(limit).collect::<Vec<_>>());
    }
    text.push_str("</testsuites>\n");
    text
}

fn verdict(card: &AdviceCard) -> Case {
    let reasons = card.because.iter().map(|reason| &reason.text);
    let lines: Vec<String> = std::iter::once(&card.title).chain(reasons).cloned().collect();
    let lacking = card.would_change.iter().chain(&card.not_measured).cloned();
    let lacking = if card.because.is_empty() { lacking.collect() } else { Vec::new() };
    Case {
        place: card.target.clone(),
        name: format!("verdict={}", card.action),
        end: CaseEnd::Passed,
        output: [lines, lacking].concat(),
    }
}

fn limit(judged: &JudgedLimit) -> Case {
    Case {
        place: judged.place.clone(),
        name: judged.limit.clone(),
        end: match judged.holds {
            Some(true) => CaseEnd::Passed,
            Some(false) => CaseEnd::Failed(judged.found.clone()),
            None => CaseEnd::Skipped(judged.found.clone()),
        },
        output: vec![judged.found.clone()],
    }
}

fn of_session(session: &Session) -> Vec<Case> {
    let place = format!("{}.{}", session.plan.method, session.target.name);
    let whole = |end, name: &str| {
        vec![Case { place: place.clone(), name: name.to_owned(), end, output: Vec::new() }]
    };
    if let Some(reason) = &session.left_out {
        return whole(CaseEnd::Skipped(reason.clone()), "left out");
    }
    let mut cases: Vec<Case> =
        session.figures.iter().map(|figure| of_figure(session, figure, &place)).collect();
    if !session.finished {
        cases.extend(whole(CaseEnd::Wrong(NOT_FINISHED.to_owned()), "finished"));
    }
    cases
}

fn of_figure(session: &Session, figure: &Figure, place: &str) -> Case {
    let caveats = caveat_ids(session, &figure.caveats).join(", ");
    let parts = [
        format!("{}: {}", figure.title, figure.shown().text()),
        figure.words().unwrap_or_default(),
        if caveats.is_empty() { String::new() } else { format!("caveats: {caveats}") },
    ];
    let output = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let is_valid = session.believes(figure);
    Case {
        place: place.to_owned(),
        name: figure.id.clone(),
        end: if is_valid { CaseEnd::Passed } else { CaseEnd::Wrong(format!("invalid: {caveats}")) },
        output,
    }
}

fn suite(text: &mut String, name: &str, cases: &[Case]) {
    let count = |is: fn(&CaseEnd) -> bool| cases.iter().filter(|case| is(&case.end)).count();
    let _ = writeln!(
        text,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
        escaped(name),
        cases.len(),
        count(|end| matches!(end, CaseEnd::Failed(_))),
        count(|end| matches!(end, CaseEnd::Wrong(_))),
        count(|end| matches!(end, CaseEnd::Skipped(_)))
    );
    for case in cases {
        let (place, name) = (escaped(&case.place), escaped(&case.name));
        let _ = writeln!(text, "    <testcase classname=\"{place}\" name=\"{name}\">");
        let end = match &case.end {
            CaseEnd::Passed => None,
            CaseEnd::Failed(why) => Some(("failure", why)),
            CaseEnd::Wrong(why) => Some(("error", why)),
            CaseEnd::Skipped(why) => Some(("skipped", why)),
        };
        if let Some((element, why)) = end {
            let _ = writeln!(text, "      <{element} message=\"{}\"/>", escaped(why));
        }
        if !case.output.is_empty() {
            let lines: Vec<String> = case.output.iter().map(|line| escaped(line)).collect();
            let _ = writeln!(text, "      <system-out>{}</system-out>", lines.join("\n"));
        }
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n");
}

/// Text that XML may have.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in visible(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
