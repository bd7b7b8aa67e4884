//! The limits of a plan: read, and checked against what its sessions find.

use std::collections::BTreeSet;

use trimbench_core::nearest::by_likeness;
use trimbench_engine::MethodInfo;
use trimbench_methods::METHODS;
use trimbench_results::limits::LimitError;
use trimbench_results::{Action, Limit, Metric, VerdictLimit, VerdictLimitError};

use super::ResolvedSession;
use crate::failure::Failure;

/// So many names are proposed for one that is not known.
const NEAREST: usize = 8;

/// The limits on verdicts among those that were given, and the others.
pub(super) fn verdict_limits(
    texts: &[String],
) -> Result<(Vec<VerdictLimit>, Vec<String>), Failure> {
    let (verdicts, others): (Vec<String>, Vec<String>) =
        texts.iter().cloned().partition(|text| VerdictLimit::is_meant(text));
    let read = |text: &String| {
        text.parse().map_err(|error: VerdictLimitError| {
            let hint = match &error {
                VerdictLimitError::Unknown { id, .. } => {
                    let known: Vec<String> = VerdictLimit::known().collect();
                    let mut nearest = by_likeness(id, known.iter().map(String::as_str));
                    nearest.truncate(NEAREST);
                    let answers = Action::IDS.join(", ");
                    format!(
                        "the answers are {answers}; of all verdicts the nearest: {}, ...",
                        nearest.join(", ")
                    )
                }
                _ => "write for example `--limit verdict!=do-not-trim`".to_owned(),
            };
            Failure::usage(error).with_hint(hint)
        })
    };
    Ok((verdicts.iter().map(read).collect::<Result<_, _>>()?, others))
}

/// `--limit`, each naming a figure that one of the sessions finds; and what the methods themselves
/// demand.
pub(super) fn limits(
    texts: &[String],
    sessions: &[ResolvedSession],
) -> Result<(Vec<Limit>, Vec<Limit>), Failure> {
    let metrics: Vec<Metric> =
        sessions.iter().flat_map(|session| session.method.metrics()).collect();
    let read = |text: &str| -> Result<Limit, Failure> {
        let limit: Limit = text.parse().map_err(wrong_limit)?;
        limit.check_metrics(&metrics).map_err(wrong_limit)?;
        Ok(limit)
    };
    let mut limits = Vec::new();
    for text in texts {
        let Some((method, members)) = named_limits(text) else {
            limits.push(read(text)?);
            continue;
        };
        if !sessions.iter().any(|session| session.planned.method == method) {
            let error = anyhow::anyhow!(
                "`--limit {text}` limits figures of `{method}`, which is not in this run"
            );
            return Err(Failure::usage(error).with_hint(format!("run `{method}` as well")));
        }
        for member in members {
            limits.push(read(member)?);
        }
    }
    let mut demands: Vec<Limit> = Vec::new();
    for text in sessions.iter().flat_map(|session| session.method.built_in_limits()) {
        let demand = read(&text)?;
        if !demands.contains(&demand) {
            demands.push(demand);
        }
    }
    Ok((limits, demands))
}

/// The method that has several limits under this name, and they.
fn named_limits(name: &str) -> Option<(&'static str, &'static [&'static str])> {
    let of = |method: &'static MethodInfo| {
        let found = method.named_limits.iter().find(|(known, _)| *known == name)?;
        Some((method.id, found.1))
    };
    METHODS.iter().find_map(of)
}

/// A limit that cannot be understood, with one that could.
fn wrong_limit(error: LimitError) -> Failure {
    let example = |limit: String| format!("write for example `--limit {limit}`");
    let hint = match &error {
        LimitError::NoUnit { figure, value, has, .. } => example(format!("{figure}={value}{has}")),
        LimitError::OtherQuantity { figure, has, .. } => example(format!("{figure}=1{has}")),
        LimitError::UnknownFigure { figure, known, .. } => {
            let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
            let mut nearest = by_likeness(figure, known);
            nearest.truncate(NEAREST);
            format!("figures of this run, the nearest first: {}, ...", nearest.join(", "))
        }
        _ => example("p99.9=5ms".to_owned()),
    };
    Failure::usage(error).with_hint(hint)
}
