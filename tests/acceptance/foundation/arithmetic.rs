//! The arithmetic of stalls, on targets whose stalls are known.

use anyhow::{Context as _, Result, ensure};
use trimbench_results::Step;

use crate::acceptance::runs::{Run, metric, parameter};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// The stop, s, and the rate of the load, 1/s.
const STOP: f64 = 2.0;
const RATE: f64 = 1000.0;
/// What like-rc100 is calibrated to, s/GB: 4 GB deleted are 1 s of added latency (S1).
const CALIBRATED: f64 = 0.25;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let runs: [(&str, &str, &[&str]); 2] = [
        (
            "stop",
            "sim:like-optane-900p,freeze-on-discard=2s",
            &["sizes=64MiB,128MiB", "window=4s", "arrivals=constant"],
        ),
        // A full stop: all at once, and nothing that holds discards back.
        (
            "calibrated",
            "sim:like-rc100,wbt=0",
            &["sizes=1GB,2GB,4GB,8GB", "window=5s", "as=blkdiscard"],
        ),
    ];
    for (name, target, options) in runs {
        context.run_well(name, "delete-stall", (target, options))?;
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = stop(raw)?;
    findings.extend(calibrated(raw)?);
    Ok(findings)
}

/// A full stop of T at rate r: S = T, A = r T^2 / 2, `T_eq` = T.
fn stop(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.run("stop")?;
    let expected = [
        ("stutter S of a stop of 2 s", "largest-stutter", STOP, "s"),
        ("delay A at 1000/s", "largest-delay", RATE * STOP * STOP / 2.0, "request-s"),
        ("equivalent stop", "largest-equivalent-stop", STOP, "s"),
        ("overdue time", "largest-overdue", STOP, "s"),
        ("longest gap between reads", "largest-read-gap", STOP, "s"),
    ];
    let finding = |(what, id, value, unit)| {
        Ok(run.finding(what, (run.value(id)?, unit), Bar::Near { value, share: 0.01 }))
    };
    expected.into_iter().map(finding).collect()
}

/// A drive whose stutter is known.
fn calibrated(raw: &Raw) -> Result<[Finding; 3]> {
    let run = raw.run("calibrated")?;
    let near = Bar::Near { value: CALIBRATED, share: 0.03 };
    let slope = run.value("stutter")?;
    let exponent = run.value("delay-exponent")?;
    let by_size = by_size(&run)?;
    ensure!(by_size.len() == 4, "{} sizes were measured, not 4", by_size.len());
    let distance = |stutter: &f64| (stutter - CALIBRATED).abs();
    let farthest = by_size.iter().map(|(_, stutter)| *stutter);
    let farthest =
        farthest.max_by(|a, b| distance(a).total_cmp(&distance(b))).context("no size")?;
    let list = by_size.iter().map(|(size, stutter)| format!("{size:.0} GB: {stutter:.4} s/GB"));
    let list: Vec<String> = list.collect();
    Ok([
        run.finding("stutter of a drive of 0.25 s/GB", (slope, "s/GB"), near),
        run.finding("stutter over size, of the size farthest from 0.25", (farthest, "s/GB"), near)
            .with_note(&list.join(", ")),
        run.finding("exponent of the delay on the size", (exponent, ""), Bar::Within(1.9, 2.1)),
    ])
}

/// Sizes in GB, ascending, and the median of stutter over size, s/GB, of each size's deletions.
fn by_size(run: &Run) -> Result<Vec<(f64, f64)>> {
    let value = |step: &Step| -> Result<(f64, f64)> {
        let size = parameter(step, "size_bytes")? / 1e9;
        Ok((size, metric(step, "stutter_s")? / size))
    };
    let deletions = run.steps("delete");
    let mut values: Vec<(f64, f64)> = deletions.map(value).collect::<Result<_>>()?;
    values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let groups = values.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    Ok(groups
        .map(|group| {
            (group[0].0, f64::midpoint(group[(group.len() - 1) / 2].1, group[group.len() / 2].1))
        })
        .collect())
}

#[cfg(test)]
mod tests;
