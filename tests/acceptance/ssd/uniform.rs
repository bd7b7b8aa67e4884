//! Write amplification in steady state compared with closed forms.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};

use super::amplification::{self, Cell, Measured, Policy, Traffic};
use super::formulas;
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};

/// The measured cells, in the raw output.
const NAME: &str = "uniform";
/// Largest error against a formula: the bar, and the bar with the half superblock that garbage
/// collection has open.
const MARGIN_PERCENT: f64 = 0.5;
const MARGIN_WITH_OPEN_PERCENT: f64 = 0.25;
/// On average the open superblock of garbage collection is half full of valid data: it holds data
/// besides the closed ones when a victim is chosen.
const OPEN: f64 = 0.5;
/// In tenths of a percent.
const OVER_PROVISIONING: [u32; 4] = [70, 125, 200, 280];
const POLICIES: [Policy; 4] =
    [Policy::Fifo, Policy::Greedy, Policy::DChoices(2), Policy::DChoices(10)];
const SKEWED: [Traffic; 2] = [Traffic::HotCold(80), Traffic::HotCold(90)];
/// Capacities in GiB, and units a superblock; the largest ones make 2048 superblocks of each.
const SIZES: [(u64, [u32; 3]); 2] = [(8, [64, 256, 1024]), (32, [256, 1024, 4096])];

/// What is measured.
fn cells(form: Form) -> Vec<Cell> {
    if form == Form::Acceptance {
        let cell = |policy, traffic| Cell {
            policy,
            traffic,
            capacity_gib: 2,
            units: 256,
            over_provisioning: 280,
        };
        return vec![
            cell(Policy::Fifo, Traffic::Uniform),
            cell(Policy::Greedy, Traffic::Uniform),
            cell(Policy::Greedy, Traffic::Sequential),
        ];
    }
    let short = form == Form::Short;
    let sizes = if short { &SIZES[..1] } else { &SIZES[..] };
    let ratios =
        if short { &[OVER_PROVISIONING[0], OVER_PROVISIONING[3]] } else { &OVER_PROVISIONING[..] };
    let mut cells = Vec::new();
    for &(capacity_gib, units) in sizes {
        let [smallest, _, largest] = units;
        let mut add = |policy, traffic, units| {
            let cell = |&over_provisioning| Cell {
                policy,
                traffic,
                capacity_gib,
                units,
                over_provisioning,
            };
            cells.extend(ratios.iter().map(cell));
        };
        for policy in POLICIES {
            for units in units {
                // Few superblocks are the hardest: the short form has one of many beside them, and
                // two choices are twice as much work as any other.
                let left_out = short && units != largest && policy != Policy::Greedy
                    || units == smallest && policy == Policy::DChoices(2);
                if !left_out {
                    add(policy, Traffic::Uniform, units);
                }
            }
        }
        for traffic in SKEWED {
            add(Policy::Fifo, traffic, largest);
        }
    }
    for policy in [Policy::Greedy, Policy::Fifo, Policy::CostBenefit] {
        let traffic = Traffic::Sequential;
        cells.push(Cell { policy, traffic, capacity_gib: 8, units: 1024, over_provisioning: 70 });
    }
    cells
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    amplification::keep(context, NAME, cells(context.form()))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (run, all): (_, Vec<Measured>) = raw.lines(NAME)?;
    let (ordered, random): (Vec<_>, Vec<_>) =
        all.iter().partition(|it| it.cell.traffic == Traffic::Sequential);
    let mut findings = Vec::new();
    let same = |a: &&Measured, b: &&Measured| {
        Cell { over_provisioning: 0, ..a.cell } == Cell { over_provisioning: 0, ..b.cell }
    };
    for row in random.chunk_by(same) {
        findings.push(judge(row, &run)?);
    }
    let with_open = largest(random.iter().map(|it| error_percent(it, OPEN)))?;
    let what = "the same, largest of all, with the half superblock that the collector has open";
    let bar = Bar::AtMost(MARGIN_WITH_OPEN_PERCENT);
    findings.push(Finding::new(what, (with_open, "%"), bar, &run));
    ensure!(!ordered.is_empty(), "no sequential writes were measured");
    for it in ordered {
        let what = format!("write amplification of sequential writes, {:?}", it.cell.policy);
        findings.push(Finding::new(
            &what,
            (it.amplification(), ""),
            Bar::Near { value: 1.0, share: 1e-9 },
            &run,
        ));
    }
    Ok(findings)
}

/// One drive at every over-provisioning.
fn judge(row: &[&Measured], run: &Capture) -> Result<Finding> {
    let first = row.first().context("an empty row")?;
    let Cell { policy, traffic, capacity_gib, units, .. } = first.cell;
    let mut note = String::from("over-provisioning: formula, measured, off by:");
    for it in row {
        let error = error_percent(it, 0.0);
        let (expected, measured) = (expected(it, 0.0), it.amplification());
        let ratio = f64::from(it.cell.over_provisioning) / 10.0;
        let text = format!(" {ratio} %: {expected:.4}, {measured:.4}, {error:+.2} %;");
        note.push_str(&text);
    }
    let superblocks = first.exported / u64::from(units);
    write!(note, " {superblocks} superblocks exported").context("write a note")?;
    let what = format!(
        "largest error of write amplification: {policy:?}, {traffic:?}, {capacity_gib} GiB, \
         {units} units a superblock"
    );
    let figure = largest(row.iter().map(|it| error_percent(it, 0.0)))?;
    let finding = Finding::new(&what, (figure, "%"), Bar::AtMost(MARGIN_PERCENT), run);
    Ok(finding.with_note(&note))
}

/// The largest of the errors, either way.
pub(super) fn largest(errors: impl Iterator<Item = f64>) -> Result<f64> {
    errors.map(f64::abs).max_by(f64::total_cmp).context("nothing was measured")
}

/// How far from the formula, with so many superblocks more than there are without reserve.
fn error_percent(it: &Measured, more: f64) -> f64 {
    (it.amplification() / expected(it, more) - 1.0) * 100.0
}

fn expected(it: &Measured, more: f64) -> f64 {
    let (alpha, units) = (it.alpha(more), it.cell.units);
    match (it.cell.traffic, it.cell.policy) {
        (Traffic::HotCold(percent), _) => {
            let share = f64::from(percent) / 100.0;
            formulas::fifo_of_classes(alpha, &[(share, 1.0 - share), (1.0 - share, share)])
        }
        (_, Policy::Greedy) => formulas::greedy(alpha, units),
        (_, Policy::DChoices(choices)) => formulas::d_choices(alpha, units, choices),
        // No closed form is known of cost-benefit; nothing asks for one.
        (_, Policy::Fifo | Policy::CostBenefit) => formulas::fifo(alpha),
    }
}

#[cfg(test)]
mod tests;
