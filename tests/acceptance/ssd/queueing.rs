//! Queueing: the emulated drive compared with closed forms, arithmetic and an exact event
//! simulation.
//!
//! - One die, Poisson reads, fixed service time s, load rho: the mean wait of M/D/1 is
//!   rho s / (2 (1 - rho)).
//! - A ceiling is a rate, or a count over a time.
//! - A closed loop of N reads on one bottleneck of service time s and, alone, a latency of R:
//!   min(N / R, 1 / s) reads a second, the corner at N = R / s; and N = throughput x mean latency
//!   at every N (Little's law).
//! - Arrays of dies, with and without erases in between: [`oracle`].

mod drive;
mod load;
mod numbers;
mod oracle;
mod parts;

use anyhow::{Context as _, Result, ensure};

use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};
use parts::{Array, CASES, Ceiling, ClosedLoop, Poisson};

const WAIT_MARGIN: f64 = 0.02;
const CEILING_MARGIN: f64 = 0.01;
const ARRAY_MARGIN: f64 = 0.02;
const DEPTH_MARGIN: f64 = 0.01;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let (times, reads) = match context.form() {
        Form::Full => (4, 16_000_000),
        Form::Short => (1, 4_000_000),
        Form::Acceptance => (1, 1_000_000),
    };
    let loads = [30, 60, 90].into_iter();
    context.keep("poisson", || loads.map(|load| parts::poisson(load, reads)).collect())?;
    context.keep("ceilings", || parts::ceilings(times))?;
    let arrays = CASES.iter().flat_map(|case| [1, 32, 128].map(|depth| (case, depth)));
    let array = |(case, depth)| parts::array(case, depth, times);
    context.keep("arrays", || arrays.map(array).collect())?;
    let depths = [1, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 24, 32, 64].into_iter();
    context.keep("depths", || depths.map(|depth| parts::closed_loop(depth, times)).collect())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = poisson(raw)?;
    findings.extend(ceilings(raw)?);
    findings.extend(arrays(raw)?);
    findings.extend(depths(raw)?);
    Ok(findings)
}

fn poisson(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, loads): (_, Vec<Poisson>) = raw.lines("poisson")?;
    ensure!(loads.len() == 3, "{} loads, not 3", loads.len());
    let finding = |it: &Poisson| {
        let service = it.service_ns as f64;
        let load = service / it.gap_ns as f64;
        let expected = load * service / (2.0 * (1.0 - load));
        let wait = it.mean_latency_ns - it.alone_ns as f64;
        let what = format!("mean wait of a die at a load of {load:.1}");
        let note = format!(
            "M/D/1: {:.3} us; off by {:+.2} %, over {} reads",
            expected / 1e3,
            (wait / expected - 1.0) * 100.0,
            it.reads
        );
        let bar = Bar::Near { value: expected / 1e3, share: WAIT_MARGIN };
        Finding::new(&what, (wait / 1e3, "us"), bar, &capture).with_note(&note)
    };
    Ok(loads.iter().map(finding).collect())
}

fn ceilings(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, ceilings): (_, Vec<Ceiling>) = raw.lines("ceilings")?;
    ensure!(ceilings.len() == 5, "{} ceilings, not 5", ceilings.len());
    let finding = |it: &Ceiling| {
        // Of `count` servers, each moves so many bytes in so long.
        let seconds = it.span_ns as f64 / 1e9;
        let expected = it.servers as f64 * it.bytes as f64 / seconds / 1e6;
        let what = format!("ceiling of the {}", it.of);
        let rate = it.bytes_per_second / 1e6;
        let bar = Bar::Near { value: expected, share: CEILING_MARGIN };
        let note = format!("{} x {} bytes / {} ns", it.servers, it.bytes, it.span_ns);
        Finding::new(&what, (rate, "MB/s"), bar, &capture).with_note(&note)
    };
    Ok(ceilings.iter().map(finding).collect())
}

/// One of the figures of a case.
type Figure = fn(&parts::Figures) -> f64;

/// For each case the three figures, of the three queue depths the one that is farthest off.
fn arrays(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, all): (_, Vec<Array>) = raw.lines("arrays")?;
    let mut findings = Vec::new();
    for cases in all.chunk_by(|a, b| a.case == b.case) {
        ensure!(cases.len() == 3, "{} queue depths of {}, not 3", cases.len(), cases[0].case);
        let figures: [(&str, Figure); 3] =
            [("IOPS", |it| it.iops), ("mean", |it| it.mean_ns), ("p99", |it| it.p99_ns as f64)];
        for (name, figure) in figures {
            findings.push(farthest(cases, name, figure, &capture)?);
        }
    }
    ensure!(findings.len() == 3 * CASES.len(), "not all cases were measured");
    Ok(findings)
}

fn farthest(cases: &[Array], name: &str, figure: Figure, capture: &Capture) -> Result<Finding> {
    let ratio = |it: &Array| figure(&it.drive) / figure(&it.exact);
    let off = |it: &&Array| (ratio(it) - 1.0).abs();
    let worst = cases.iter().max_by(|a, b| off(a).total_cmp(&off(b))).context("no case")?;
    let what = format!("{}: {name} over that of an exact simulation", worst.case);
    let note = cases
        .iter()
        .map(|it| {
            format!(
                "queue depth {}: {:.1} and {:.1}",
                it.read_depth,
                figure(&it.drive),
                figure(&it.exact)
            )
        })
        .collect::<Vec<_>>()
        .join("; ");
    let bar = Bar::Near { value: 1.0, share: ARRAY_MARGIN };
    Ok(Finding::new(&what, (ratio(worst), ""), bar, capture).with_note(&note))
}

fn depths(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, depths): (_, Vec<ClosedLoop>) = raw.lines("depths")?;
    let alone = depths.iter().find(|it| it.queue_depth == 1).context("no queue depth of 1")?;
    let service = alone.service_ns as f64;
    // Little's law at a queue depth of 1 is what the latency alone means.
    let corner = alone.mean_latency_ns / service;
    let law =
        |it: &ClosedLoop| (it.queue_depth as f64 / alone.mean_latency_ns).min(1.0 / service) * 1e9;
    let worst = |off: &dyn Fn(&ClosedLoop) -> f64| depths.iter().map(off).fold(0.0, f64::max);
    let bound = worst(&|it| (it.iops / law(it) - 1.0).abs());
    let little =
        worst(&|it| (it.iops * it.mean_latency_ns / 1e9 / it.queue_depth as f64 - 1.0).abs());
    // The first whose throughput is the ceiling's.
    let full = |it: &&ClosedLoop| it.iops >= (1.0 - DEPTH_MARGIN) * 1e9 / service;
    let saturated = depths.iter().find(full).context("nothing is saturated")?;
    let range = (corner * (1.0 - DEPTH_MARGIN)).floor();
    let list: Vec<String> =
        depths.iter().map(|it| format!("{}: {:.0}", it.queue_depth, it.iops)).collect();
    let percent = |share: f64| (share * 100.0, "%");
    let most = Bar::AtMost(DEPTH_MARGIN * 100.0);
    let finding = |what: &str, figure, bar| Finding::new(what, figure, bar, &capture);
    Ok(vec![
        finding("throughput over queue depth, off min(N / R, 1 / s) at most", percent(bound), most)
            .with_note(&format!("reads a second by queue depth: {}", list.join(", "))),
        finding("queue depth, off throughput x latency at most", percent(little), most),
        finding(
            "queue depth from which on throughput is within 1 % of its ceiling",
            (saturated.queue_depth as f64, ""),
            Bar::Within(range, corner.ceil()),
        )
        .with_note(&format!("R / s = {corner:.2}")),
    ])
}

#[cfg(test)]
mod tests;
