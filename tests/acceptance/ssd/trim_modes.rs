//! TRIM modes: the cost of each, which commands pay it, and for how long.

mod cases;

use anyhow::{Result, ensure};
use trimbench_ssd::TrimMode;

use crate::acceptance::{Bar, Context, Finding, Raw};
use cases::{Alone, Amplification, Background, Blocking, Costs};

/// How many times as much the full form measures.
const FULL: u64 = 4;
const SHARE_MARGIN: f64 = 0.02;
const AMPLIFICATION_MARGIN: f64 = 0.02;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let times = if context.is_short() { 1 } else { FULL };
    context.keep("blocking", || [1, 16, 256].into_iter().map(cases::blocking).collect())?;
    let sizes = [1, 2, 4].into_iter();
    context.keep("background", || sizes.map(|size| cases::background(size * times)).collect())?;
    context.keep("none", || [1, 256, 65_536].into_iter().map(cases::none).collect())?;
    let modes = [None, Some(TrimMode::Ignored), Some(TrimMode::Queued)].into_iter();
    context.keep("ignored", || modes.map(|mode| cases::ignored(mode, times)).collect())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = blocking(raw)?;
    findings.extend(background(raw)?);
    findings.push(alone(raw)?);
    findings.extend(ignored(raw)?);
    Ok(findings)
}

impl Costs {
    /// The arithmetic of a TRIM, ns.
    fn of(&self, ranges: u64, mapped_units: u64) -> u64 {
        const UNITS_PER_GIB: u128 = 1 << 18;
        let units = u128::from(mapped_units) * u128::from(self.per_gib_mapped) / UNITS_PER_GIB;
        self.command + ranges * self.range + u64::try_from(units).unwrap_or(u64::MAX)
    }
}

fn blocking(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, cases): (_, Vec<Blocking>) = raw.lines("blocking")?;
    let counts: Vec<u64> = cases.iter().map(|it| it.ranges).collect();
    ensure!(counts == [1, 16, 256], "{counts:?} ranges, not 1, 16 and 256");
    let finding = |it: &Blocking| {
        let expected = it.costs.of(it.ranges, it.mapped_units);
        let off = |delay: &u64| delay.abs_diff(expected);
        let worst = it.delays_ns.iter().map(off).max().unwrap_or(u64::MAX);
        let what = format!(
            "what a blocking TRIM of {} ranges adds to a queued read, off its cost at most",
            it.ranges
        );
        let note = format!(
            "cost {expected} ns, {} reads queued behind it, {} units mapped",
            it.delays_ns.len(),
            it.mapped_units
        );
        Finding::new(&what, (worst as f64, "ns"), Bar::Equals(0.0), &capture).with_note(&note)
    };
    Ok(cases.iter().map(finding).collect())
}

fn background(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, cases): (_, Vec<Background>) = raw.lines("background")?;
    ensure!(cases.len() == 3, "{} sizes, not 3", cases.len());
    let worst = |off: fn(&Background) -> f64| cases.iter().map(off).fold(0.0, f64::max) * 100.0;
    let work =
        |it: &Background| (it.costs.of(it.ranges, it.mapped_units) - it.costs.command) as f64;
    let settling = cases.iter().map(|it| it.settled_ns as f64 / (work(it) / it.share) - 1.0);
    let settling = settling.map(f64::abs).fold(0.0, f64::max) * 100.0;
    let slowed = worst(|it| (it.during_iops / it.before_iops / (1.0 - it.share) - 1.0).abs());
    let after = worst(|it| (it.after_iops / it.before_iops - 1.0).abs());
    let (first, last) = (&cases[0], &cases[cases.len() - 1]);
    let growth = last.settled_ns as f64 / first.settled_ns as f64;
    let sizes = last.mapped_units as f64 / first.mapped_units as f64;
    let list = |figure: fn(&Background) -> f64, unit: &str| {
        let text =
            |it: &Background| format!("{} MiB: {:.4}{unit}", it.mapped_units / 256, figure(it));
        cases.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    let most = Bar::AtMost(SHARE_MARGIN * 100.0);
    let finding = |what, figure, bar| Finding::new(what, figure, bar, &capture);
    Ok(vec![
        finding(
            "settling time of a background TRIM, off work / share at most",
            (settling, "%"),
            most,
        )
        .with_note(&list(|it| it.settled_ns as f64 / 1e9, " s")),
        finding("foreground beside it, off 1 - share at most", (slowed, "%"), most)
            .with_note(&list(|it| it.during_iops / it.before_iops, "")),
        finding("foreground after it, off that before at most", (after, "%"), Bar::AtMost(0.5)),
        finding(
            "growth of the settling time with the range",
            (growth, ""),
            Bar::Near { value: sizes, share: SHARE_MARGIN },
        ),
    ])
}

fn alone(raw: &Raw) -> Result<Finding> {
    let (capture, cases): (_, Vec<Alone>) = raw.lines("none")?;
    ensure!(cases.len() == 3, "{} sizes, not 3", cases.len());
    let expected = |it: &Alone| it.costs.command + it.controller_ns + it.latency_ns;
    let off = cases.iter().map(|it| it.took_ns.abs_diff(expected(it))).max().unwrap_or(u64::MAX);
    let note = format!("of 4 KiB to {} MiB: {} ns each", cases[2].units / 256, cases[0].took_ns);
    let what = "a TRIM in mode `none`, off its command's cost at most";
    Ok(Finding::new(what, (off as f64, "ns"), Bar::Equals(0.0), &capture).with_note(&note))
}

fn ignored(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, cases): (_, Vec<Amplification>) = raw.lines("ignored")?;
    let [never, ignored, acted_on] = &cases[..] else {
        anyhow::bail!("{} drives, not 3", cases.len());
    };
    let finding = |what: &str, figure: f64, bar| Finding::new(what, (figure, ""), bar, &capture);
    let note = format!(
        "write amplification: never trimmed {:.4}, `{}` {:.4}, `{}` {:.4}",
        never.waf, ignored.mode, ignored.waf, acted_on.mode, acted_on.waf
    );
    Ok(vec![
        finding(
            "units that a TRIM of a quarter frees in mode `ignored`",
            ignored.freed_units as f64,
            Bar::Equals(0.0),
        ),
        finding(
            "write amplification with TRIM ignored over that without TRIM",
            ignored.waf / never.waf,
            Bar::Near { value: 1.0, share: AMPLIFICATION_MARGIN },
        )
        .with_note(&note),
        finding(
            "write amplification with TRIM acted on over that without TRIM",
            acted_on.waf / never.waf,
            Bar::AtMost(0.5),
        ),
    ])
}

#[cfg(test)]
mod tests;
