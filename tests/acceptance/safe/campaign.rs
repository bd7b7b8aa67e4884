//! The evidence of a campaign: its committed results, a check that its sources are unchanged, and a
//! new random sample.

use std::fs;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::acceptance::{Bar, Context, Finding, Raw};
use crate::campaign::{About, Campaign, Ledger, Sources, result};

/// The share of the attempts that is made again.
const SAMPLE_DIVISOR: u64 = 50;
/// ... and at the least so many attempts.
const SAMPLE_LEAST: u64 = 2;
/// What the campaign is run on, and what its sample printed: names in the raw output.
const CAMPAIGN: &str = "campaign.json";
const SAMPLE: &str = "sample";

/// What the campaign was run on, and what is there now.
#[derive(Debug, Serialize, Deserialize)]
struct Both {
    about: About,
    /// The sources that it is about, as they are now.
    now: Sources,
    /// How many attempts the sample has.
    sample: u64,
}

/// Keeps the committed result of a campaign, the state of its sources, and a fresh sample: 2 % of
/// the attempts or, in the short form, `short` of them. Without any, nothing is built for them.
pub(in crate::acceptance) fn measure(
    context: &Context<'_>,
    campaign: &Campaign,
    short: u64,
) -> Result<()> {
    let repository = context.repository();
    let (about, lines) = result::load(repository, campaign.id)?;
    let now = Sources::read(repository, campaign.sources)?;
    let now = now.but_for_comments(repository, &about.sources)?;
    let full = about.attempts.div_ceil(SAMPLE_DIVISOR).max(SAMPLE_LEAST);
    let sample = if context.is_short() { short.min(full) } else { full };
    let write = |file: &str, text: &str| {
        fs::write(context.folder().join(file), text).with_context(|| format!("write {file}"))
    };
    write(&lines_of(campaign), &lines)?;
    let seed = fresh_seed(&repository.state()?.commit, about.seed)?;
    let both = Both { about, now, sample };
    write(CAMPAIGN, &serde_json::to_string_pretty(&both).context("write a campaign's state")?)?;
    if sample == 0 {
        return Ok(());
    }
    let deadline = context.deadline();
    context.keep(SAMPLE, || campaign.sample(repository, (seed, sample), deadline))
}

/// The figures of the campaign and those of its sample.
pub(in crate::acceptance) fn read(raw: &Raw, campaign: &Campaign) -> Result<Vec<Finding>> {
    let both: Both = serde_json::from_value(raw.json(CAMPAIGN)?).context("read the campaign")?;
    let lines = result::parse(&raw.text(&lines_of(campaign))?)?;
    let whole = Ledger::whole(&both.about, lines);
    let changed = both.now.changed_since(&both.about.sources);
    let about = format!("seed {}, commit {}", both.about.seed, both.about.commit);
    let changes = if changed.is_empty() { about.clone() } else { changed.join(", ") };
    let none = |ledger: &Ledger, what: &str, count: u64| {
        ledger.finding(what, (count as f64, ""), Bar::Equals(0.0))
    };
    let what = "sources that have changed since the campaign";
    let mut findings = vec![
        none(&whole, "attempts that are missing", whole.missing()).with_note(&about),
        none(&whole, what, changed.len() as u64).from_file(CAMPAIGN).with_note(&changes),
    ];
    findings.extend((campaign.judge)(&whole)?);
    if both.sample == 0 {
        return Ok(findings);
    }
    let capture = raw.capture(SAMPLE)?;
    let lines = result::parse(&raw.text(&capture.output)?)?;
    let sample = Ledger::sample(&capture, both.sample, lines);
    findings.push(none(&sample, "attempts that are missing", sample.missing()));
    findings.extend((campaign.judge)(&sample)?);
    Ok(findings)
}

fn lines_of(campaign: &Campaign) -> String {
    format!("{}.ndjson", campaign.id)
}

/// A seed that the campaign did not have, of the commit: the same commit repeats the same sample.
fn fresh_seed(commit: &str, used: u64) -> Result<u64> {
    let digits = commit.get(..8).context("a commit has at least 8 digits")?;
    let seed = u64::from_str_radix(digits, 16).with_context(|| format!("read commit {commit}"))?;
    Ok(if seed == used { seed + 1 } else { seed })
}

#[cfg(test)]
mod tests;
