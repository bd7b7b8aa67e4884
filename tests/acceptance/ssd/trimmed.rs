//! Write amplification under TRIM compared with closed forms, and how a sequential pass restores a
//! drive.

use anyhow::{Context as _, Result};

use super::amplification::{self, Cell, Measured, Policy, Traffic};
use super::formulas;
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};

/// The measured cells, in the raw output.
const NAME: &str = "trimmed";
const MARGIN: f64 = 0.005;
const CAPACITY_GIB: u64 = 8;
/// A drive that heals, in CI.
const HEALING: Cell = Cell {
    policy: Policy::Greedy,
    traffic: Traffic::Healing,
    capacity_gib: 2,
    units: 1024,
    over_provisioning: 70,
};
const DEALLOCATED: [u32; 3] = [10, 20, 30];
const TRIMMED: [u32; 3] = [10, 13, 25];

/// What is measured.
fn cells(form: Form) -> Vec<Cell> {
    if form == Form::Acceptance {
        let cell = |traffic| Cell {
            policy: Policy::Greedy,
            traffic,
            capacity_gib: 2,
            units: 256,
            over_provisioning: 280,
        };
        return vec![cell(Traffic::Deallocating(20)), cell(Traffic::Trimmed(13)), HEALING];
    }
    let short = form == Form::Short;
    let (policies, ratios): (&[_], &[_]) = if short {
        (&[Policy::Greedy], &[70])
    } else {
        (&[Policy::Greedy, Policy::Fifo], &[70, 280])
    };
    let traffics = DEALLOCATED.map(Traffic::Deallocating).into_iter();
    let shares = if short { &TRIMMED[1..2] } else { &TRIMMED[..] };
    let traffics: Vec<_> = traffics.chain(shares.iter().copied().map(Traffic::Trimmed)).collect();
    let mut cells = Vec::new();
    for &over_provisioning in ratios {
        for &policy in policies {
            let cell = |traffic| Cell {
                policy,
                traffic,
                capacity_gib: CAPACITY_GIB,
                units: if short { 1024 } else { 256 },
                over_provisioning,
            };
            cells.extend(traffics.iter().copied().map(cell));
        }
        let (policy, traffic) = (Policy::Greedy, Traffic::Healing);
        let (capacity_gib, units) = (CAPACITY_GIB, 1024);
        cells.push(Cell { policy, traffic, capacity_gib, units, over_provisioning });
    }
    cells
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    amplification::keep(context, NAME, cells(context.form()))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (run, all): (_, Vec<Measured>) = raw.lines(NAME)?;
    let mut findings = Vec::new();
    for it in &all {
        match it.cell.traffic {
            Traffic::Healing => findings.extend(healing(it, &run)?),
            _ => findings.push(trimmed(it, &run)?),
        }
    }
    Ok(findings)
}

fn trimmed(it: &Measured, run: &Capture) -> Result<Finding> {
    let (in_use, what) = match it.cell.traffic {
        Traffic::Deallocating(percent) => {
            let q = f64::from(percent) / 100.0;
            (formulas::share_in_use(q), format!("a rate of deallocation of {q}"))
        }
        Traffic::Trimmed(percent) => {
            (1.0 - f64::from(percent) / 100.0, format!("{percent} % trimmed for good"))
        }
        other => anyhow::bail!("{other:?} trims nothing"),
    };
    let alpha = it.alpha(0.0) / in_use;
    let expected = match it.cell.policy {
        Policy::Greedy => formulas::greedy(alpha, it.cell.units),
        Policy::Fifo => formulas::fifo(alpha),
        other => anyhow::bail!("no formula for {other:?}"),
    };
    let measured = it.amplification();
    let what = format!("write amplification with {what}, {}", drive(it));
    let note = format!(
        "formula {expected:.4}, measured {measured:.4}, off by {:+.2} %",
        (measured / expected - 1.0) * 100.0
    );
    let bar = Bar::Near { value: expected, share: MARGIN };
    Ok(Finding::new(&what, (measured, ""), bar, run).with_note(&note))
}

fn drive(it: &Measured) -> String {
    let ratio = f64::from(it.cell.over_provisioning) / 10.0;
    format!("{:?} at {ratio} %", it.cell.policy)
}

/// Two sequential passes after torture.
fn healing(it: &Measured, run: &Capture) -> Result<[Finding; 3]> {
    let (first, second) = it.parts.split_at(it.parts.len() / 2);
    let worst = *first.first().context("no first pass")?;
    let list = |parts: &[f64]| -> String {
        let texts: Vec<_> = parts.iter().map(|part| format!("{part:.2}")).collect();
        texts.join(", ")
    };
    let rises = first.windows(2).filter(|pair| pair[1] >= pair[0]).count();
    let drive = drive(it);
    let finding = |what: String, figure: f64, bar| Finding::new(&what, (figure, ""), bar, run);
    let tortured = formulas::greedy(it.alpha(0.0), it.cell.units);
    let highest = second.iter().copied().max_by(f64::total_cmp).context("no second pass")?;
    Ok([
        finding(
            format!("tenths of the first pass that do not fall, {drive}"),
            rises as f64,
            Bar::Equals(0.0),
        )
        .with_note(&list(first)),
        // It begins as torture left the drive: otherwise there would be nothing to heal.
        finding(
            format!("first tenth of it over that of torture, {drive}"),
            worst / tortured,
            Bar::Within(0.85, 1.01),
        ),
        finding(
            format!("highest tenth of the second pass, {drive}"),
            highest,
            Bar::Near { value: 1.0, share: 1e-9 },
        ),
    ])
}

#[cfg(test)]
mod tests;
