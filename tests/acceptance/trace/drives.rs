//! What \[S4\] saw of two drives: equal averages, other windows, and what TRIM brings at times.

use std::time::Duration;

use anyhow::Result;
use trimbench_results::Session;

use super::{metric, pairs, windows};
use crate::acceptance::{Bar, Claim, Context, Finding, Raw};

pub(super) const CLAIM: Claim = Claim {
    id: "trace.2",
    title: "The drives of [S4]: alike on average, and not at any time",
    bar: "like-ssd340 and like-m500, a generated trace at queue depth 32: averages with TRIM \
          within 5 % of each other (fitted), at least a fifth of the windows more than 25 % apart, \
          and in some window of each at least 3 times the writes with TRIM as without; at 256 GB \
          in windows of 100,000 commands (short form: 32 GiB, windows of 13,400)",
    short: Duration::from_secs(25),
    full: Duration::from_secs(150),
    measure,
    read,
};

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

fn measure(context: &Context<'_>) -> Result<()> {
    // So many windows in both.
    let (capacity, window) =
        if context.is_short() { ("32GiB", "13400") } else { ("256GB", "100000") };
    for drive in DRIVES {
        let target = format!("sim:{drive},capacity={capacity}");
        let window = format!("window={window}");
        let mut run = context.trimbench(&["run", "replay", "--preset", "published"])?;
        run.args(["--target", &target, "--set", "queue-depths=32", "--set", &window]);
        context.capture_well(drive, run.arg("--output").arg(context.folder().join(drive)))?;
    }
    Ok(())
}

fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let captures = [raw.capture(DRIVES[0])?, raw.capture(DRIVES[1])?];
    let sessions = [
        raw.session(&format!("{}/run.json", DRIVES[0]))?,
        raw.session(&format!("{}/run.json", DRIVES[1]))?,
    ];
    let [first, second] = &sessions;
    let averages = [metric(first, KEPT, "write_iops")?, metric(second, KEPT, "write_iops")?];
    let both = pairs(&windows(first, KEPT)?, &windows(second, KEPT)?)?;
    let apart = both.iter().filter(|(one, other)| ratio(*one, *other) > APART).count();
    let ahead = both.iter().filter(|(one, other)| *one > APART * other).count();
    let mut findings = vec![
        Finding::new(
            "average write IOPS with TRIM, the larger over the smaller",
            (ratio(averages[0], averages[1]), ""),
            Bar::AtMost(AVERAGE_MAX),
            &captures[0],
        )
        .with_note(&format!("SSD340 {:.0}, M500 {:.0} IOPS", averages[0], averages[1])),
        Finding::new(
            "share of windows more than 25 % apart",
            (apart as f64 / both.len() as f64, ""),
            Bar::AtLeast(APART_MIN),
            &captures[1],
        )
        .with_note(&format!(
            "of {} windows the SSD340 is ahead in {ahead}, the M500 in {}",
            both.len(),
            apart - ahead
        )),
    ];
    for ((drive, session), capture) in DRIVES.iter().zip(&sessions).zip(&captures) {
        let (most, note) = gain(session)?;
        let what = format!("{drive}: most writes of a window with TRIM over those without");
        let finding = Finding::new(&what, (most, ""), Bar::AtLeast(GAIN_MIN), capture);
        findings.push(finding.from_file(&format!("{drive}/run.json")).with_note(&note));
    }
    Ok(findings)
}

/// The larger over the smaller.
fn ratio(one: f64, other: f64) -> f64 {
    one.max(other) / one.min(other)
}

/// The largest gain of a window, and the others in words.
fn gain(session: &Session) -> Result<(f64, String)> {
    let both = pairs(&windows(session, KEPT)?, &windows(session, STRIPPED)?)?;
    let gains = both.iter().map(|(with, without)| with / without);
    let (least, most) =
        gains.fold((f64::MAX, 0.0_f64), |(least, most), gain| (least.min(gain), most.max(gain)));
    let average = metric(session, KEPT, "write_iops")? / metric(session, STRIPPED, "write_iops")?;
    let worked = [KEPT, STRIPPED].map(|pass| metric(session, pass, "write_amplification_ratio"));
    let [with, without] = worked;
    let note = format!(
        "{average:.2} on average, at least {least:.2}; write amplification {:.2} and {:.2}",
        with?, without?
    );
    Ok((most, note))
}

#[cfg(test)]
mod tests;
