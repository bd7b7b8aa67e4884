//! `trimbench run` with nothing else, as a newcomer types it: on two processors, with its page.

use std::collections::BTreeSet;

use anyhow::Result;
use tests::program::record;
use trimbench_methods::{BY_NAME_ONLY, METHODS};

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "defaults",
    title: "`trimbench run` without arguments runs all methods but `kernels` on four drives",
    needs: &[],
    sources: EMULATED,
    run,
};

/// What the run may take with its page, s.
const SECONDS_MAX: f64 = 30.0;
/// The drives that it takes.
const DRIVES: usize = 4;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let place = lab.folder().join("run");
    let output = lab.call(lab.trimbench(&["run", "--jobs", "2", "--output"])?.arg(&place))?;
    let record = record(&place)?;
    let methods = METHODS.iter().filter(|method| !BY_NAME_ONLY.contains(&method.id));
    let of_method = |method: &str| {
        let whole = record.sessions.iter().filter(|session| {
            session.plan.method == method && session.finished && session.headline().is_some()
        });
        let drives = whole.filter_map(|session| session.target.identity.get("profile"));
        drives.collect::<BTreeSet<_>>().len()
    };
    let found: Vec<(&str, usize)> =
        methods.map(|method| (method.id, of_method(method.id))).collect();
    let each: Vec<String> = found.iter().map(|(id, drives)| format!("{id} {drives}")).collect();
    let out = record.sessions.iter().filter(|it| it.left_out.is_some() || !it.finished).count();
    Ok(vec![
        Figure::new(
            "methods on drives that have a headline",
            (found.iter().map(|(_, drives)| *drives).sum::<usize>() as f64, ""),
            Bar::Equals((found.len() * DRIVES) as f64),
        )
        .with_note(each.join(", ")),
        Figure::new(
            "sessions that were left out or not finished",
            (out as f64, ""),
            Bar::Equals(0.0),
        ),
        Figure::new(
            "exit code: 4 if a figure is invalid",
            (output.status.map_or(f64::NAN, f64::from), ""),
            Bar::Equals(0.0),
        ),
        Figure::new(
            "`trimbench run` with nothing else",
            (output.seconds, "s"),
            Bar::AtMost(SECONDS_MAX),
        ),
    ])
}
