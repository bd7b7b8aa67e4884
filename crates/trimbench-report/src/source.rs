//! What a report is made of: records, each with what is known of it beside.

use std::collections::BTreeMap;

use trimbench_results::RunRecord;

/// One record, or what could be understood of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PageSource {
    /// How the report calls it: the directory of the run.
    pub name: String,
    /// The record; `None` if nothing of it can be read.
    pub record: Option<RunRecord>,
    /// What is true of its machine and time: `host.json`, keys and texts.
    pub host: BTreeMap<String, String>,
    /// What is wrong with it, a sentence each.
    pub messages: Vec<String>,
}

impl PageSource {
    /// A record that is sound.
    pub fn of(name: impl Into<String>, record: RunRecord) -> Self {
        let (host, messages) = (BTreeMap::new(), Vec::new());
        Self { name: name.into(), record: Some(record), host, messages }
    }
}
