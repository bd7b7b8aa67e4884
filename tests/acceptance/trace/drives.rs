//! What \[S4\] saw of two drives: equal averages, different windows, and when TRIM helps.

use anyhow::Result;

use super::{pairs, windows};
use crate::acceptance::runs::Run;
use crate::acceptance::{Bar, Context, Finding, Raw};

const DRIVES: [&str; 2] = ["like-ssd340", "like-m500"];
const KEPT: &str = "qd32-kept";
const STRIPPED: &str = "qd32-stripped";
/// The larger of two averages over the smaller.
const AVERAGE_MAX: f64 = 1.05;
/// Windows count as apart from here on, the larger over the smaller, and how many must be.
const APART: f64 = 1.25;
const APART_MIN: f64 = 0.2;
/// "Several hundred percent".
const GAIN_MIN: f64 = 3.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    // So many windows in both.
    let (capacity, window) =
        if context.is_short() { ("32GiB", "13400") } else { ("256GB", "100000") };
    for drive in DRIVES {
        let target = format!("sim:{drive},capacity={capacity}");
        let options = ["queue-depths=32", &format!("window={window}")];
        let mut run = context.run_into(drive, "replay", (&target, &options))?;
        context.capture_well(drive, run.args(["--preset", "published"]))?;
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let runs = [raw.run(DRIVES[0])?, raw.run(DRIVES[1])?];
    let [first, second] = &runs;
    let averages = [first.metric(KEPT, "write_iops")?, second.metric(KEPT, "write_iops")?];
    let both = pairs(&windows(first, KEPT)?, &windows(second, KEPT)?)?;
    let apart = both.iter().filter(|(one, other)| ratio(*one, *other) > APART).count();
    let ahead = both.iter().filter(|(one, other)| *one > APART * other).count();
    let of_first = "average write IOPS with TRIM, the larger over the smaller";
    let average = (ratio(averages[0], averages[1]), "");
    let average = first.finding(of_first, average, Bar::AtMost(AVERAGE_MAX));
    let share = (apart as f64 / both.len() as f64, "");
    let share =
        second.finding("share of windows more than 25 % apart", share, Bar::AtLeast(APART_MIN));
    let mut findings = vec![
        average.with_note(&format!("SSD340 {:.0}, M500 {:.0} IOPS", averages[0], averages[1])),
        share.with_note(&format!(
            "of {} windows the SSD340 is ahead in {ahead}, the M500 in {}",
            both.len(),
            apart - ahead
        )),
    ];
    for (drive, run) in DRIVES.iter().zip(&runs) {
        let (most, note) = gain(run)?;
        let what = format!("{drive}: most writes of a window with TRIM over those without");
        let finding = run.finding(&what, (most, ""), Bar::AtLeast(GAIN_MIN));
        findings.push(finding.with_note(&note));
    }
    Ok(findings)
}

/// The larger over the smaller.
fn ratio(one: f64, other: f64) -> f64 {
    one.max(other) / one.min(other)
}

/// The largest gain of a window, and the others in words.
fn gain(run: &Run) -> Result<(f64, String)> {
    let both = pairs(&windows(run, KEPT)?, &windows(run, STRIPPED)?)?;
    let gains = both.iter().map(|(with, without)| with / without);
    let (least, most) =
        gains.fold((f64::MAX, 0.0_f64), |(least, most), gain| (least.min(gain), most.max(gain)));
    let average = run.metric(KEPT, "write_iops")? / run.metric(STRIPPED, "write_iops")?;
    let worked = [KEPT, STRIPPED].map(|pass| run.metric(pass, "write_amplification_ratio"));
    let [with, without] = worked;
    let note = format!(
        "{average:.2} on average, at least {least:.2}; write amplification {:.2} and {:.2}",
        with?, without?
    );
    Ok((most, note))
}

#[cfg(test)]
mod tests;
