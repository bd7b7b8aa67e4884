//! A record as JSON values for programs, which become a line each.

use serde_json::{Value, json};
use trimbench_results::RunRecord;
use trimbench_results::cards::cards;

#[cfg(test)]
mod tests;

/// A value for each figure of the record of this name, then one for each drive: what to do with it
/// by this version's rules, whatever the record says of that.
pub fn items(name: &str, record: &RunRecord) -> Vec<Value> {
    let sessions = record.sessions.iter().enumerate();
    let figures = sessions.flat_map(|(index, session)| {
        session.figures.iter().map(move |figure| {
            json!({
                "record": name, "session": index, "figure": figure,
                "shown": figure.shown().text(), "verdict": figure.words(),
            })
        })
    });
    let advice = cards(record);
    let advice = advice.iter().map(|card| json!({ "record": name, "advice": card }));
    figures.chain(advice).collect()
}
