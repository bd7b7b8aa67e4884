//! Replay is fair: removing the TRIMs leaves all other commands at their times, a TRIM of more than
//! 4 GiB is issued whole, and a device that stalls does not delay the schedule.

mod schedule;

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::pause;
use crate::acceptance::{Bar, Context, Finding, Form, Raw};
use crate::slow_disk::SlowDevice;

use schedule::{HUGE, Issue};

/// The stall: repetitions, after what time, how long.
const REPETITIONS: usize = 3;
const BEFORE: Duration = Duration::from_secs(4);
const FROZEN: Duration = Duration::from_secs(2);
/// What the longest write must have taken at least, so that it was held by the stall.
const HELD_MIN: f64 = 1_800.0;
const LATE_MAX: f64 = 10.0;

/// The name of a repetition.
fn stall(number: usize) -> String {
    format!("stall-{number}")
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for pass in ["kept", "stripped"] {
        context.keep(pass, || schedule::issues(pass))?;
    }
    // On a machine that does something else, too, the wall's time is no matter of right or wrong.
    let repetitions = match context.form() {
        Form::Full => REPETITIONS,
        Form::Short => 1,
        Form::Acceptance => 0,
    };
    (0..repetitions).try_for_each(|number| replay_with_stall(context, &stall(number)))
}

/// A replay at its own times, of some seconds, on a loop device that stops on its way.
fn replay_with_stall(context: &Context<'_>, name: &str) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "loop devices need root");
    let device = SlowDevice::new(256);
    context.alias(device.image(), "$IMAGE");
    let options = ["pace=100%", "passes=kept", "span=64MiB", "length=60%", "rest=1s"];
    let mut run = context.run_into(name, "replay", (device.node(), &options))?;
    run.arg("--sole-user").arg("--destroy").arg(device.image());
    thread::scope(|scope| {
        scope.spawn(|| {
            pause(BEFORE);
            device.freeze(true);
            pause(FROZEN);
            device.freeze(false);
        });
        context.capture(name, &mut run)
    })?;
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = read_schedule(raw)?;
    let count = raw.captures()?.iter().filter(|it| it.name.starts_with("stall")).count();
    ensure!(count > 0 || raw.form() == Form::Acceptance, "nothing was stalled");
    for number in 0..count {
        let name = stall(number);
        let run = raw.run(&name)?;
        let pass = |key: &str| run.metric("paced-kept", key);
        let (held, late) = (pass("service_ms_max")?, pass("lateness_ms_max")?);
        let finding = |what: &str, figure, bar| {
            run.finding(&format!("loop device, {name}: {what}"), (figure, "ms"), bar)
        };
        let writes = format!("of {:.0} writes, one each 1 ms on average", pass("write_count")?);
        findings.push(finding("longest write", held, Bar::AtLeast(HELD_MIN)));
        findings.push(finding("latest issue", late, Bar::AtMost(LATE_MAX)).with_note(&writes));
    }
    Ok(findings)
}

fn read_schedule(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, mut kept): (_, Vec<Issue>) = raw.lines("kept")?;
    let (_, stripped): (_, Vec<Issue>) = raw.lines("stripped")?;
    let trims: Vec<Issue> = kept.extract_if(.., |issue| issue.kind == "discard").collect();
    let moved = kept.iter().zip(&stripped).filter(|(one, other)| one != other).count();
    let missing = kept.len().abs_diff(stripped.len());
    let trimmed = stripped.iter().filter(|issue| issue.kind == "discard").count();
    ensure!(trimmed == 0, "{trimmed} TRIMs were issued in the pass without any");
    let note = format!("{} commands beside {} TRIMs", kept.len(), trims.len());
    let (start, end) = HUGE;
    let pieces: Vec<&Issue> = trims
        .iter()
        .filter(|issue| start <= issue.offset && issue.offset + issue.length <= end)
        .filter(|issue| issue.length > 1 << 20 || issue.offset + issue.length == end)
        .collect();
    let bytes: u64 = pieces.iter().map(|piece| piece.length).sum();
    Ok(vec![
        Finding::new(
            "emulated: commands that are issued at another time without the TRIMs",
            ((moved + missing) as f64, ""),
            Bar::Equals(0.0),
            &capture,
        )
        .with_note(&note),
        Finding::new(
            "emulated: commands that were compared",
            (kept.len() as f64, ""),
            Bar::AtLeast(1_000.0),
            &capture,
        ),
        Finding::new(
            "emulated: bytes of a TRIM of 4 GiB and 4 KiB that arrived",
            (bytes as f64, "B"),
            Bar::Equals((end - start) as f64),
            &capture,
        )
        .with_note(&format!(
            "in {} commands of at most 2 GiB: the drive takes no more",
            pieces.len()
        )),
    ])
}

#[cfg(test)]
mod tests;
