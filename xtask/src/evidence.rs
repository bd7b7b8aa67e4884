//! Step `evidence`: every claim of the project, measured again.
//!
//! The claims are those of `tests::acceptance`. The verdict on each is computed here, from the
//! figures that its `read` extracts from the raw output *now*: no verdict is stored, so none can
//! outlive the output or the bar that it came from.
//!
//! Raw output is kept by commit, with a hash of the sources. A measurement of the same sources is
//! repeated only on request.
//!
//! One JSON line for each figure goes to standard output, everything else to standard error.

pub(crate) mod page;
mod store;

use std::fs;
use std::time::Duration;

use ::tests::acceptance::{ClaimRow, Context, Finding, KEYS, Key};
use anyhow::{Context as _, Result, anyhow, bail};
use serde::Serialize;

use crate::Repository;
use crate::process;
use crate::repository::State;
use crate::steps::{Deadline, seconds};

use store::{Kept, Store};

/// What all items of a key may take together: the short form, and the full one.
const SHORT: Duration = Duration::from_secs(5 * 60);
const FULL: Duration = Duration::from_secs(45 * 60);

/// What the user asks for.
#[derive(Clone, Debug, clap::Args)]
pub struct EvidenceOptions {
    /// A key (`foundation`) or an item (`foundation.1`); all keys without
    pub id: Option<String>,
    /// The short form: at most 5 minutes a key instead of 45
    #[arg(long)]
    pub short: bool,
    /// Measure again what was measured on these very sources before
    #[arg(long)]
    pub fresh: bool,
}

/// What came of one claim.
#[derive(Debug)]
struct Outcome {
    claim: &'static ClaimRow,
    result: Result<(Kept, Vec<Finding>)>,
}

impl Outcome {
    fn holds(&self) -> bool {
        let all_hold = |findings: &[Finding]| findings.iter().all(Finding::holds);
        self.result.as_ref().is_ok_and(|(_, found)| !found.is_empty() && all_hold(found))
    }
}

/// A line of standard output.
#[derive(Debug, Serialize)]
struct Line<'a> {
    id: &'a str,
    what: &'a str,
    figure: Option<f64>,
    unit: &'a str,
    bar: String,
    holds: bool,
    command: &'a str,
    raw: String,
    commit: &'a str,
    short: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Measures what is asked for; whether every figure holds.
pub fn run(repository: &Repository, options: &EvidenceOptions) -> Result<bool> {
    let mut good = true;
    for (key, claims) in select(&KEYS, options.id.as_deref())? {
        let state = repository.state()?;
        let store = Store::new(&repository.target().join("evidence"));
        let register = Register { repository, state, store, short: options.short };
        let deadline = Deadline::after(if options.short { SHORT } else { FULL });
        // What a claim leaves of its time is for those after it.
        let mut spare = Duration::ZERO;
        let mut outcomes = Vec::new();
        for claim in &claims {
            let budget = if options.short { claim.short } else { claim.full };
            let until = deadline.min(Deadline::after(budget + spare));
            let outcome = register.outcome(claim, options.fresh, until);
            spare = until.remaining();
            print!("{}", register.lines(&outcome)?);
            good &= outcome.holds();
            outcomes.push(outcome);
            if process::interrupted() {
                bail!("interrupted; what was measured before is kept");
            }
        }
        register.write_page(key, outcomes)?;
    }
    Ok(good)
}

/// The claims that `id` names, by key.
fn select<'a>(keys: &'a [Key], id: Option<&str>) -> Result<Vec<(&'a Key, Vec<&'static ClaimRow>)>> {
    let mut selected = Vec::new();
    for key in keys {
        let is_named = |claim: &&ClaimRow| id.is_none_or(|id| id == key.name || id == claim.id);
        let claims: Vec<&'static ClaimRow> = key.claims.iter().filter(is_named).collect();
        if !claims.is_empty() {
            selected.push((key, claims));
        }
    }
    if selected.is_empty() {
        let ids = keys.iter().flat_map(|key| key.claims).map(|claim| claim.id);
        let known: Vec<_> = keys.iter().map(|key| key.name).chain(ids).collect();
        bail!("no claim is called `{}`; there are: {}", id.unwrap_or_default(), known.join(", "));
    }
    Ok(selected)
}

/// What all claims of one call are measured with.
#[derive(Debug)]
struct Register<'a> {
    repository: &'a Repository,
    state: State,
    store: Store,
    short: bool,
}

impl Register<'_> {
    /// What a claim's raw output says; measured first unless it is there.
    fn outcome(&self, claim: &'static ClaimRow, fresh: bool, deadline: Deadline) -> Outcome {
        let present = if fresh { None } else { self.store.find(claim.id, &self.state, self.short) };
        let kept = match present {
            Some(kept) => {
                eprintln!("{}: measured before on these sources", claim.id);
                Ok(kept)
            }
            None => self.measure(claim, deadline),
        };
        let result = kept.and_then(|kept| {
            let findings = (claim.read)(&kept.raw());
            findings.map(|findings| (kept, findings)).context("read the raw output")
        });
        let result = result.map_err(|error| {
            // The page is part of the repository and names no folder of this machine.
            let root = format!("{}/", self.repository.root().display());
            anyhow!("{}", format!("{error:#}").replace(&root, ""))
        });
        if let Err(error) = &result {
            eprintln!("{}: error: {error}", claim.id);
        }
        Outcome { claim, result }
    }

    fn measure(&self, claim: &'static ClaimRow, deadline: Deadline) -> Result<Kept> {
        eprintln!("{}: {} (at most {})", claim.id, claim.title, seconds(deadline.remaining()));
        let begun = self.store.begin(claim.id, &self.state, self.short)?;
        let place = (begun.folder.as_path(), store::form(self.short));
        let context = Context::new(self.repository, claim.id, place, deadline);
        claim.measured(&context)?;
        Store::finish(begun, &self.state, self.short)
    }

    fn lines(&self, outcome: &Outcome) -> Result<String> {
        let claim = outcome.claim;
        let mut text = String::new();
        let mut add = |line: &Line<'_>| -> Result<()> {
            text += &serde_json::to_string(line).context("write a finding")?;
            text.push('\n');
            Ok(())
        };
        match &outcome.result {
            Ok((kept, findings)) => {
                for finding in findings {
                    add(&self.line(claim, kept, finding))?;
                }
            }
            Err(error) => {
                let line = Line {
                    id: claim.id,
                    what: claim.title,
                    figure: None,
                    unit: "",
                    bar: claim.bar.to_owned(),
                    holds: false,
                    command: "",
                    raw: self.relative_folder(claim.id),
                    commit: &self.state.commit,
                    short: self.short,
                    note: "",
                    error: Some(format!("{error:#}")),
                };
                add(&line)?;
            }
        }
        Ok(text)
    }

    fn line<'a>(&self, claim: &'a ClaimRow, kept: &'a Kept, finding: &'a Finding) -> Line<'a> {
        Line {
            id: claim.id,
            what: &finding.what,
            figure: Some(finding.figure),
            unit: finding.unit,
            bar: format!("{} {}", finding.bar, finding.unit).trim().to_owned(),
            holds: finding.holds(),
            command: &finding.command,
            raw: self.repository.relative(&kept.folder.join(&finding.raw)),
            commit: &kept.about.commit,
            short: kept.about.short,
            note: &finding.note,
            error: None,
        }
    }

    fn relative_folder(&self, id: &str) -> String {
        self.repository.relative(&self.store.folder(id, &self.state, self.short))
    }

    /// Writes a key's page, from all its claims: those just read, and of the others what is kept.
    /// When one of the others is not, the page stays as it is: it would lose what it says of it.
    fn write_page(&self, key: &Key, mut outcomes: Vec<Outcome>) -> Result<()> {
        let path = self.repository.root().join(page::path(key));
        for claim in key.claims {
            if outcomes.iter().any(|outcome| outcome.claim.id == claim.id) {
                continue;
            }
            let Some(kept) = self.store.find(claim.id, &self.state, true) else {
                let page = self.repository.relative(&path);
                eprintln!("{page} is left as it is: {} is not measured on these sources", claim.id);
                return Ok(());
            };
            let findings = (claim.read)(&kept.raw());
            outcomes.push(Outcome { claim, result: findings.map(|findings| (kept, findings)) });
        }
        outcomes.sort_by_key(|outcome| {
            key.claims.iter().position(|claim| claim.id == outcome.claim.id)
        });
        let folder = path.parent().expect("a page is in a folder");
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        fs::write(&path, page::render(key, &outcomes))
            .with_context(|| format!("write {}", path.display()))
    }
}

#[cfg(test)]
mod tests;
