//! The integrity test on emulated drives whose TRIM behaviour is known.

use anyhow::{Context as _, Result, ensure};
use trimbench_core::exit;

use crate::acceptance::runs::{Run, metric, parameter};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// A drive, and what must be said of it.
struct Drive {
    name: &'static str,
    target: &'static str,
    code: u8,
    /// A figure and words of its verdict.
    figure: &'static str,
    verdict: &'static str,
    judged: Judged,
}

/// What the counts of the steps must show.
enum Judged {
    /// All wholly trimmed blocks read as this, and all or none of them break the promise.
    Reads { metric: &'static str, broken: bool },
    /// The 4 KiB before the region, or behind it, are lost in the case `whole`.
    Eats { behind: bool },
}

const DRIVES: [Drive; 7] = [
    Drive {
        name: "zeroes",
        target: "sim:generic-nvme-tlc,trim-reads=zeroes",
        code: exit::DONE,
        figure: "promise-violations",
        verdict: "kept: zeroes as promised",
        judged: Judged::Reads { metric: "whole_blocks_zeroes", broken: false },
    },
    Drive {
        name: "old-data",
        target: "sim:generic-nvme-tlc,trim-promise=nothing,trim-reads=old-data",
        code: exit::DONE,
        figure: "promise-violations",
        verdict: "no promise; reads old data",
        judged: Judged::Reads { metric: "whole_blocks_old_data", broken: false },
    },
    Drive {
        name: "unstable",
        target: "sim:generic-nvme-tlc,trim-promise=nothing,trim-reads=unstable",
        code: exit::DONE,
        figure: "promise-violations",
        verdict: "no promise; reads something else at each read",
        judged: Judged::Reads { metric: "trimmed_blocks_unstable", broken: false },
    },
    Drive {
        name: "lying",
        target: "sim:generic-nvme-tlc,trim-promise=zeroes,trim-reads=old-data",
        code: exit::LIMIT_FAILED,
        figure: "promise-violations",
        verdict: "broken: promises zeroes, reads old data",
        judged: Judged::Reads { metric: "whole_blocks_old_data", broken: true },
    },
    Drive {
        name: "lying-unstable",
        target: "sim:generic-nvme-tlc,trim-promise=zeroes,trim-reads=unstable",
        code: exit::LIMIT_FAILED,
        figure: "promise-violations",
        verdict: "broken: promises zeroes, reads something else at each read",
        judged: Judged::Reads { metric: "trimmed_blocks_unstable", broken: true },
    },
    Drive {
        name: "eats-neighbour",
        target: "sim:generic-nvme-tlc,trim-eats-neighbour=4KiB",
        code: exit::LIMIT_FAILED,
        figure: "neighbour-blocks-lost",
        verdict: "data lost that was not trimmed",
        judged: Judged::Eats { behind: true },
    },
    Drive {
        name: "eats-before",
        target: "sim:generic-nvme-tlc,trim-eats-before=4KiB",
        code: exit::LIMIT_FAILED,
        figure: "neighbour-blocks-lost",
        verdict: "data lost that was not trimmed",
        judged: Judged::Eats { behind: false },
    },
];

/// Guard and region, of which the places of lost blocks follow.
const OPTIONS: &[&str] = &["guard=1MiB", "region=16MiB"];
const GUARD_BYTES: f64 = 1_048_576.0;
const REGION_BYTES: f64 = 16.0 * 1_048_576.0;
/// What the planted fault eats, and the drives' logical block.
const EATEN_BYTES: f64 = 4096.0;
const BLOCK_BYTES: f64 = 512.0;

pub(super) fn measure(context: &Context<'_>) -> Result<()> {
    for drive in &DRIVES {
        let target = (drive.target, OPTIONS);
        let mut command = context.run_into(drive.name, "trim-integrity", target)?;
        context.capture(drive.name, &mut command)?;
    }
    Ok(())
}

pub(super) fn findings(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for drive in &DRIVES {
        findings.extend(drive.findings(raw)?);
    }
    Ok(findings)
}

impl Drive {
    fn findings(&self, raw: &Raw) -> Result<[Finding; 4]> {
        let itself = raw.capture_itself(self.name)?;
        let code = itself.status.context("a signal ended the run")?;
        let run = raw.run(self.name)?;
        let verdict = run.figure(self.figure)?.words().unwrap_or_default();
        let is_said = u8::from(verdict.contains(self.verdict));
        let report = raw.text(&run.capture.output)?;
        let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_printed = u8::from(words.contains(self.verdict));
        let name = self.name;
        let what = format!("{name}: places where `{}` is said: record, report", self.verdict);
        let places = ((is_said + is_printed).into(), "");
        let said = Finding::new(&what, places, Bar::Equals(2.0), &run.capture);
        let what = format!("{name}: exit code");
        let code = Finding::new(&what, (code.into(), ""), Bar::Equals(self.code.into()), &itself);
        let counted = match &self.judged {
            Judged::Reads { metric: key, broken } => reads(&run, key, *broken)?,
            Judged::Eats { behind } => eats(&run, *behind)?,
        };
        let [first, second] = counted
            .map(|(what, figure, bar)| run.finding(&format!("{name}: {what}"), (figure, ""), bar));
        Ok([code, said, first, second])
    }
}

/// A count, its subject, and its required value.
type Counted = (String, f64, Bar);

fn reads(run: &Run, key: &str, broken: bool) -> Result<[Counted; 2]> {
    let (mut seen, mut whole, mut against) = (0.0, 0.0, 0.0);
    for step in &run.session.steps {
        seen += metric(step, key)?;
        whole += metric(step, "whole_blocks")?;
        against += metric(step, "trimmed_blocks_against_promise")?;
    }
    ensure!(whole > 0.0, "nothing was trimmed");
    let expected = if broken { whole } else { 0.0 };
    Ok([
        (format!("wholly trimmed blocks, by `{key}`"), seen, Bar::Equals(whole)),
        ("blocks that break the promise".to_owned(), against, Bar::Equals(expected)),
    ])
}

/// The case `whole` is one discard of the region between the guards.
fn eats(run: &Run, behind: bool) -> Result<[Counted; 2]> {
    let whole = run.step("whole")?;
    ensure!(parameter(whole, "discards")? < 1.5, "the region is not one discard");
    let (end, start) = (GUARD_BYTES + REGION_BYTES, GUARD_BYTES - EATEN_BYTES);
    let place = if behind { end } else { start };
    let lost = metric(whole, "neighbour_blocks_lost")?;
    let blocks = "blocks lost beside the one TRIM of the case `whole`".to_owned();
    let first = "LBA of the first of them".to_owned();
    Ok([
        (blocks, lost, Bar::Equals(EATEN_BYTES / BLOCK_BYTES)),
        (first, metric(whole, "lost_lba_first")?, Bar::Equals(place / BLOCK_BYTES)),
    ])
}
