//! `trimbench compare`: compares two records, and applies limits to what became worse.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use trimbench_app::Failure;
use trimbench_core::exit;
use trimbench_report::{Grid, GridColumn, Style, effect_words};
use trimbench_results::compare::{ChangeOutcome, Value as MetricValue, judge, targets};
use trimbench_results::number::{change as change_text, quantity};
use trimbench_results::{ChangeLimit, Comparison, Effect, MetricChange, Pair, RunRecord, compare};

use crate::args::OutputFormat;
use crate::output::{Printed, cleaned, document, error_line, joined, style};
use crate::records::{is_reliable, load};

/// The table has at most so many rows of figures that became worse.
const ROWS_MAX: usize = 40;

/// Compares the record in `before` with that in `after`.
pub(crate) fn run(
    before: &Path,
    after: &Path,
    limits: &[String],
    format: OutputFormat,
) -> Result<u8, Failure> {
    let limits = limits.iter().map(|text| text.parse().map_err(Failure::usage));
    let limits: Vec<ChangeLimit> = limits.collect::<Result<_, _>>()?;
    let (before, after) = (load(before)?, load(after)?);
    let comparison = compare(&before, &after);
    let outcomes = judge(&comparison, &before, &limits).map_err(|error| {
        Failure::usage(error)
            .with_hint("`trimbench report DIR --csv OUT` has the ids of all figures")
    })?;
    let compared = Compared { before, after, comparison, outcomes };
    compared.print(format);
    compared.outcomes.iter().for_each(say);
    let holds = compared.outcomes.iter().all(|outcome| outcome.failure.is_none());
    let reliable = is_reliable(&compared.before) && is_reliable(&compared.after);
    Ok(match (holds, reliable) {
        (false, _) => exit::LIMIT_FAILED,
        (true, false) => exit::INVALID,
        (true, true) => exit::DONE,
    })
}

/// Two records, and what came of comparing them.
struct Compared {
    before: RunRecord,
    after: RunRecord,
    comparison: Comparison,
    outcomes: Vec<ChangeOutcome>,
}

impl Printed for Compared {
    fn human(&self) -> String {
        cleaned(&table(&self.before, &self.after, &self.comparison, style()))
    }

    fn json(&self) -> String {
        document(&json!({ "comparison": self.comparison, "limits": self.outcomes }))
    }

    /// A value for each change, each pair that cannot be compared, each session without a partner,
    /// and each limit.
    fn items(&self) -> Vec<Value> {
        let Self { comparison, outcomes, .. } = self;
        let mut items = Vec::new();
        for (pair, change) in comparison.worst_first() {
            let Pair { method, target, .. } = pair;
            items.push(json!({
                "event": "change", "method": method, "target": target, "change": change,
            }));
        }
        for pair in comparison.pairs.iter().filter(|pair| !pair.obstacles.is_empty()) {
            items.push(json!({ "event": "not-comparable", "pair": pair }));
        }
        for (event, sessions) in
            [("only-before", &comparison.only_before), ("only-after", &comparison.only_after)]
        {
            items.extend(sessions.iter().map(|index| json!({ "event": event, "session": index })));
        }
        items.extend(outcomes.iter().map(|outcome| json!({ "event": "limit", "limit": outcome })));
        items
    }
}

/// How one figure fared under one limit.
fn say(outcome: &ChangeOutcome) {
    let ChangeOutcome { limit, method, target, figure, worse_percent, failure } = outcome;
    let verdict = if failure.is_some() { "FAILS" } else { "holds" };
    let worse = match worse_percent {
        Some(percent) if *percent > 0.0 => format!("{} worse", quantity(*percent, "%")),
        Some(percent) if *percent < 0.0 => format!("{} better", quantity(-percent, "%")),
        Some(_) => "the same".to_owned(),
        None => String::new(),
    };
    let why = failure.as_deref().filter(|why| *why != "worse" || worse.is_empty());
    let words: Vec<&str> = [worse.as_str(), why.unwrap_or_default()]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    error_line(&format!(
        "limit {limit} {verdict}: {figure} in {method} on {target}: {}",
        words.join(", ")
    ));
}

/// What became worse, then the headlines, then what cannot be compared.
fn table(before: &RunRecord, after: &RunRecord, comparison: &Comparison, style: Style) -> String {
    let mut grid = Grid::new(vec![
        GridColumn::text("figure"),
        GridColumn::number("before"),
        GridColumn::number("after"),
        GridColumn::number("change"),
        GridColumn::text(""),
    ]);
    let changes = comparison.worst_first();
    let (worse, others): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|(_, change)| change.effect == Effect::Worse);
    let (headlines, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|(_, change)| change.headline);
    for (pair, change) in worse.iter().take(ROWS_MAX).chain(&headlines) {
        grid.row(row(pair, change));
    }
    let mut notes = Vec::new();
    if worse.len() > ROWS_MAX {
        notes.push(format!("{} more figures are worse", worse.len() - ROWS_MAX));
    }
    let mut counts: BTreeMap<Effect, usize> = BTreeMap::new();
    for (_, change) in others {
        *counts.entry(change.effect).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(effect, count)| format!("{count} {}", effect_words(effect)))
        .collect();
    if !counts.is_empty() {
        notes.push(format!("other figures: {} (`--output-format json`)", counts.join(", ")));
    }
    notes.extend(remarks(before, after, comparison));
    let rows = worse.len() + headlines.len();
    let mut lines = style.labelled("", 0, &summary(before, after, comparison));
    if rows > 0 {
        lines.push(String::new());
        lines.extend(grid.render(style));
    }
    lines.extend(notes.iter().flat_map(|note| style.labelled("-", 2, note)));
    joined(lines)
}

/// The comparison in a sentence.
fn summary(before: &RunRecord, after: &RunRecord, comparison: &Comparison) -> String {
    let mut counts: BTreeMap<Effect, usize> = BTreeMap::new();
    for (_, change) in comparison.worst_first() {
        *counts.entry(change.effect).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(effect, count)| format!("{count} {}", effect_words(effect)))
        .collect();
    let compared = comparison.pairs.iter().filter(|pair| pair.obstacles.is_empty()).count();
    let others = comparison.pairs.iter().any(|pair| pair.target_before.is_some());
    let of = match (&targets(before)[..], &targets(after)[..]) {
        ([one], [other]) if others => format!("{one} before, {other} after: "),
        _ => String::new(),
    };
    let sessions = if compared == 1 { "session" } else { "sessions" };
    if all == 0 {
        return format!("{of}no figure can be compared");
    }
    format!("{of}{compared} {sessions} compared, {all} figures: {}", counts.join(", "))
}

fn row(pair: &Pair, change: &MetricChange) -> Vec<String> {
    let value = |side: Option<MetricValue>| {
        side.map_or_else(|| "none".to_owned(), |side| side.shown(&change.unit).quantity())
    };
    let by = match (change.ratio, change.difference) {
        (Some(ratio), _) => change_text(ratio),
        (None, Some(difference)) => signed(difference, &change.unit),
        (None, None) => String::new(),
    };
    let verdict = match &change.remark {
        Some(remark) => format!("{}: {remark}", effect_words(change.effect)),
        None => effect_words(change.effect).to_owned(),
    };
    let what = format!("{} on {}: {}", pair.method, pair.target, change.title);
    vec![what, value(change.before), value(change.after), by, verdict]
}

fn signed(value: f64, unit: &str) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", quantity(value, unit))
}

/// What cannot be compared, and what may be the cause of a change; each once.
fn remarks(before: &RunRecord, after: &RunRecord, comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for pair in comparison.pairs.iter().filter(|pair| !pair.obstacles.is_empty()) {
        let why = pair.obstacles.join("; ");
        notes.push(format!("not comparable: {} on {}: {why}", pair.method, pair.target));
    }
    for (record, sessions, when) in
        [(before, &comparison.only_before, "before"), (after, &comparison.only_after, "after")]
    {
        let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for session in sessions.iter().map(|&index| &record.sessions[index]) {
            targets.entry(&session.target.name).or_default().push(&session.plan.method);
        }
        let only = |(target, methods): (&str, Vec<&str>)| {
            format!("only {when}: on {target} {}", methods.join(", "))
        };
        notes.extend(targets.into_iter().map(only));
    }
    let mut differences: BTreeMap<&str, usize> = BTreeMap::new();
    for difference in comparison.pairs.iter().flat_map(|pair| &pair.differences) {
        *differences.entry(difference).or_default() += 1;
    }
    let differences = differences.into_iter();
    notes.extend(differences.map(|(it, count)| match count {
        1 => format!("not the same: {it}"),
        _ => format!("not the same: {it} ({count} sessions)"),
    }));
    notes
}
