//! What \[S4\] saw of two drives: equal averages, different windows, and when TRIM helps.

use anyhow::{Context as _, Result, ensure};
use tests::program::Run;
use trimbench_methods::replay::{ReplayMeterStep, ReplayPassStep};

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(super) const ENTRY: Entry = Entry {
    name: "replay_windows",
    title: "The drives of [S4] under one trace: equal on average, different at most times",
    needs: &[],
    sources: EMULATED,
    run,
};

const DRIVES: [&str; 2] = ["like-ssd340", "like-m500"];
const KEPT: &str = "qd32-kept";
const STRIPPED: &str = "qd32-stripped";
/// Windows count as apart from here on, the larger over the smaller.
const APART: f64 = 1.25;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let runs = [replay(lab, DRIVES[0])?, replay(lab, DRIVES[1])?];
    let [first, second] = [pass(&runs[0], KEPT)?, pass(&runs[1], KEPT)?];
    let averages = [iops(&first)?, iops(&second)?];
    let both = pairs(&windows(&first)?, &windows(&second)?)?;
    let apart = both.iter().filter(|(one, other)| ratio(*one, *other) > APART).count();
    let ahead = both.iter().filter(|(one, other)| *one > APART * other).count();
    let average = "average write IOPS with TRIM, the larger over the smaller";
    let share = "share of windows more than 25 % apart";
    let mut figures = vec![
        Figure::new(average, (ratio(averages[0], averages[1]), ""), Bar::AtMost(1.05))
            .with_note(format!("SSD340 {:.0}, M500 {:.0} IOPS; fitted", averages[0], averages[1])),
        Figure::new(share, (apart as f64 / both.len() as f64, ""), Bar::AtLeast(0.2)).with_note(
            format!(
                "of {} windows the SSD340 is ahead in {ahead}, the M500 in {}",
                both.len(),
                apart - ahead
            ),
        ),
    ];
    for (drive, run) in DRIVES.iter().zip(&runs) {
        figures.push(gain(drive, run)?);
    }
    Ok(figures)
}

/// The generated trace on a drive, in as many windows in both forms.
fn replay(lab: &Lab<'_>, drive: &str) -> Result<Run> {
    let (capacity, window) = lab.form(("32GiB", "window=13400"), ("256GB", "window=100000"));
    let (place, target) = (lab.folder().join(drive), format!("sim:{drive},capacity={capacity}"));
    let options = ["queue-depths=32", window];
    let mut command = lab.program()?.run_command("replay", (&target, &options), &place);
    let run = Run::read(lab.call(command.args(["--preset", "published"]))?, &place)?;
    run.ended_well()?;
    Ok(run)
}

fn pass(run: &Run, id: &str) -> Result<ReplayMeterStep> {
    Ok(run.step(id)?.read::<ReplayPassStep>()?.meter)
}

/// Write IOPS of a pass.
fn iops(pass: &ReplayMeterStep) -> Result<f64> {
    pass.write_iops.context("a pass has no rate")
}

/// The same of each of its windows.
fn windows(pass: &ReplayMeterStep) -> Result<Vec<f64>> {
    let curve = pass.windows.iops.as_ref().context("a pass has no windows")?;
    let rates: Option<Vec<f64>> = curve.y.iter().copied().collect();
    rates.context("a window has no rate")
}

/// Pairs of windows of two passes of one trace.
fn pairs(first: &[f64], second: &[f64]) -> Result<Vec<(f64, f64)>> {
    ensure!(first.len() == second.len(), "{} and {} windows", first.len(), second.len());
    ensure!(first.len() >= 100, "{} windows are too few", first.len());
    Ok(first.iter().copied().zip(second.iter().copied()).collect())
}

/// The larger over the smaller.
fn ratio(one: f64, other: f64) -> f64 {
    one.max(other) / one.min(other)
}

/// What TRIM gains in the window in which it gains most: "several hundred percent".
fn gain(drive: &str, run: &Run) -> Result<Figure> {
    let (kept, stripped) = (pass(run, KEPT)?, pass(run, STRIPPED)?);
    let both = pairs(&windows(&kept)?, &windows(&stripped)?)?;
    let gains = both.iter().map(|(with, without)| with / without);
    let (least, most) =
        gains.fold((f64::MAX, 0.0_f64), |(least, most), gain| (least.min(gain), most.max(gain)));
    let average = iops(&kept)? / iops(&stripped)?;
    let worked = |pass: ReplayMeterStep| {
        pass.write_amplification_ratio.context("the drive does not count what it programs")
    };
    let note = format!(
        "{average:.2} on average, at least {least:.2}; write amplification {:.2} and {:.2}",
        worked(kept)?,
        worked(stripped)?
    );
    let what = format!("{drive}: most writes of a window with TRIM over those without");
    Ok(Figure::new(what, (most, ""), Bar::AtLeast(3.0)).with_note(note))
}
