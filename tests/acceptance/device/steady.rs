//! The steady-state verdict compared with an independent calculation, and write amplification
//! compared with formulas.
//!
//! The calculation here shares nothing with the method's: it is exact, in integers. For a window
//! of five rounds y0 to y4 with sum S, N = -2 y0 - y1 + y3 + 2 y4 and the abscissae 0 to 4, the
//! mean is S / 5 and the slope N / 10, so that the two limits of \[PTS\] become
//!
//! - max - min <= 20 % of the mean: 25 (max - min) <= S,
//! - |slope| x 4 <= 10 % of the mean: 20 |N| <= S.
//!
//! Write amplification A of greedy collection under uniform random writes \[DESN12\], with alpha
//! the physical over the exported units, n the units of a superblock, v the valid ones of a victim
//! and H the harmonic numbers, linear between integers: alpha (1 - v / n) = H(n) - H(v) and
//! A = n / (n - v). A share t that is trimmed and left alone makes alpha / (1 - t) of alpha
//! \[FRAN12\].

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Ppm};
use trimbench_engine::steady::Criterion;
use trimbench_results::Session;

use crate::acceptance::runs::{Run, metric, parameter};
use crate::acceptance::ssd::formulas::greedy;
use crate::acceptance::{Bar, Context, Finding, Raw};

const SERIES: u32 = 1000;
/// Rounds of a window, of \[PTS\].
const WINDOW: usize = 5;
/// The drive and the trimmed shares of which the write amplification is compared.
const PROFILE: &str = "plain-nvme-tlc";
const TARGET: &str = "sim:plain-nvme-tlc,capacity=16GiB";
const SHARES: [u32; 4] = [0, 10, 25, 50];
/// Rounds long enough to leave the way between two states behind.
const OPTIONS: &[&str] = &["round-share=200%", "trimmed-shares=0,10%,25%,50%", "settle-rounds=0"];
const MARGIN: f64 = 0.02;
/// A drive with a cache, whose rounds are long unsteady.
const UNSTEADY: (&str, &[&str]) = (
    "sim:generic-nvme-qlc,capacity=16GiB",
    &["precondition=0", "round-share=2%", "settle-rounds=0"],
);

/// A series and what the method's criterion says of it.
#[derive(Debug, Serialize, Deserialize)]
struct Series {
    /// `random`, `at-limit` or `beyond-limit`.
    kind: String,
    rounds: Vec<i64>,
    /// The first round that ends a steady window.
    steady_at: Option<usize>,
}

/// So many random series, each with the verdict of the method's own criterion.
fn series(count: u32, seed: u64) -> impl Iterator<Item = Series> {
    let mut rng = Rng::new(seed).split("evidence-series");
    (0..count).map(move |number| {
        let (kind, rounds) = match number % 4 {
            0 => ("at-limit", at_limit(&mut rng, 0)),
            1 => ("beyond-limit", at_limit(&mut rng, 1)),
            _ => ("random", random(&mut rng)),
        };
        #[expect(clippy::cast_precision_loss, reason = "below 2^53, so that none is lost")]
        let values: Vec<f64> = rounds.iter().map(|round| *round as f64).collect();
        let steady_at = Criterion::PTS.steady_at(&values);
        Series { kind: kind.to_owned(), rounds, steady_at }
    })
}

/// 5 to 25 rounds about a level, some falling to it.
fn random(rng: &mut Rng) -> Vec<i64> {
    let length = 5 + rng.below(21);
    let level = 1000 + signed(rng.below(1_000_000));
    // About half of the windows are within a spread of this size.
    let spread = 1 + rng.below(1 + level.unsigned_abs() * 6 / 10);
    let fall = signed(rng.below(1 + level.unsigned_abs() / 4)) * signed(rng.below(2));
    let round = |number| level + fall / (1 + signed(number)) + signed(rng.below(spread));
    (0..length).map(round).collect()
}

/// A window exactly at a limit, or `beyond` it by the least, after some rounds that are far from
/// steady.
fn at_limit(rng: &mut Rng, beyond: i64) -> Vec<i64> {
    let scale = 1 + signed(rng.below(20_000));
    let window = if rng.below(2) == 0 {
        // Symmetric, so that nothing rises: with e = 5 s, l = 22 s and c = 27 s,
        // S = 4 l + 2 e + c = 125 s = 25 e.
        let (low, high) = (22 * scale, 27 * scale);
        [high + beyond, low, 27 * scale, low, high]
    } else {
        // Rises by d a round about 40 d: N = 10 d, S = 200 d.
        [38 * scale, 39 * scale, 40 * scale, 41 * scale, 42 * scale + beyond]
    };
    let before = (0..rng.below(6)).map(|number| scale * 1000 * (1 + signed(number % 2)));
    before.chain(window).collect()
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    context.keep("series", || Ok(series(SERIES, 1).collect()))?;
    profile_of(context, PROFILE)?;
    let method = "steady-state";
    context.run_well("trimmed", method, (TARGET, OPTIONS))?;
    context.run_well("unsteady", method, UNSTEADY).map(drop)
}

/// Keeps what a profile says of itself, for [`Drive::read`].
pub(in crate::acceptance) fn profile_of(context: &Context<'_>, name: &str) -> Result<()> {
    let explain = ["list", "profiles", "--explain", name, "--output-format", "json"];
    let mut list = context.trimbench(&explain)?;
    context.capture_well("profile", &mut list).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::from(random_series(raw)?);
    findings.extend(measured_windows(raw)?);
    findings.extend(amplification(raw)?);
    Ok(findings)
}

/// Whether five rounds are steady, exactly; `false` without a positive mean.
fn is_steady(window: &[i128]) -> bool {
    let &[y0, y1, y2, y3, y4] = window else { return false };
    let sum = y0 + y1 + y2 + y3 + y4;
    let (low, high) = window.iter().fold((y0, y0), |ends, y| (ends.0.min(*y), ends.1.max(*y)));
    let rise = -2 * y0 - y1 + y3 + 2 * y4;
    sum > 0 && 25 * (high - low) <= sum && 20 * rise.abs() <= sum
}

/// The number, from 1 on, of the first round that ends a steady window.
fn steady_at(rounds: &[i128]) -> Option<usize> {
    rounds.windows(WINDOW).position(is_steady).map(|first| first + WINDOW)
}

fn random_series(raw: &Raw) -> Result<[Finding; 3]> {
    let (run, all): (_, Vec<Series>) = raw.lines("series")?;
    let (mut differing, mut steady, mut edge) = (0_u32, 0_u32, 0_u32);
    let mut note = String::new();
    for series in &all {
        let rounds: Vec<i128> = series.rounds.iter().copied().map(i128::from).collect();
        let expected = steady_at(&rounds);
        steady += u32::from(expected.is_some());
        edge += u32::from(rounds.windows(WINDOW).any(is_at_limit));
        if expected != series.steady_at {
            differing += 1;
            if note.is_empty() {
                write!(note, "the first: {:?}", series.rounds).context("write a note")?;
            }
        }
    }
    let share = f64::from(steady) / all.len() as f64;
    let finding = |what: &str, figure, bar| Finding::new(what, (figure, ""), bar, &run);
    let what = "series whose first steady round differs from an exact calculation";
    let compared = finding(what, differing.into(), Bar::Equals(0.0));
    let counted =
        format!("of {} series{}{note}", all.len(), if note.is_empty() { "" } else { "; " });
    Ok([
        compared.with_note(&counted),
        // Otherwise a criterion that always says the same could be right.
        finding("share of the series that become steady", share, Bar::Within(0.25, 0.75)),
        finding("series with a window exactly at a limit", edge.into(), Bar::AtLeast(200.0)),
    ])
}

/// Whether a window lies exactly at one of the two limits and within the other.
fn is_at_limit(window: &[i128]) -> bool {
    let &[y0, y1, _, y3, y4] = window else { return false };
    let sum: i128 = window.iter().sum();
    let (low, high) = window.iter().fold((y0, y0), |ends, y| (ends.0.min(*y), ends.1.max(*y)));
    let rise: i128 = -2 * y0 - y1 + y3 + 2 * y4;
    is_steady(window) && (25 * (high - low) == sum || 20 * rise.abs() == sum)
}

/// Every window of two runs, by the rounds' IOPS in thousandths.
fn measured_windows(raw: &Raw) -> Result<[Finding; 2]> {
    let (mut windows, mut steady, mut differing) = (0_u32, 0_u32, 0_u32);
    for name in ["trimmed", "unsteady"] {
        for rounds in series_of(&raw.run(name)?)? {
            for window in rounds.windows(WINDOW) {
                let iops: Vec<i128> = window.iter().map(|round| round.milli_iops).collect();
                let said = window[WINDOW - 1].steady.context("a window has no verdict")?;
                windows += 1;
                steady += u32::from(said);
                differing += u32::from(said != is_steady(&iops));
            }
        }
    }
    let run = raw.run("unsteady")?;
    let note = format!("of {windows} windows, {steady} of them steady");
    let finding = |what: &str, figure: u32, bar| run.finding(what, (figure.into(), ""), bar);
    let what = "windows of measured rounds whose verdict differs from an exact calculation";
    let what_unsteady = "windows of measured rounds that are not steady";
    Ok([
        finding(what, differing, Bar::Equals(0.0)).with_note(&note),
        finding(what_unsteady, windows - steady, Bar::AtLeast(1.0)),
    ])
}

/// A round as it was measured.
struct Round {
    milli_iops: i128,
    steady: Option<bool>,
}

/// The rounds of a run, by trimmed share.
fn series_of(run: &Run) -> Result<Vec<Vec<Round>>> {
    let mut series: Vec<(f64, Vec<Round>)> = Vec::new();
    for step in run.steps("round") {
        let share = parameter(step, "trimmed_percent")?;
        let milli_iops = i128::from(rounded(metric(step, "iops")? * 1e3));
        let steady = step.metrics.get("window_steady").map(|steady| *steady > 0.5);
        match series.last_mut() {
            Some((last, rounds)) if (*last - share).abs() < 0.5 => {
                rounds.push(Round { milli_iops, steady });
            }
            _ => series.push((share, vec![Round { milli_iops, steady }])),
        }
    }
    Ok(series.into_iter().map(|(_, rounds)| rounds).collect())
}

/// Write amplification of the last window of each share, compared with the formulas.
fn amplification(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.run("trimmed")?;
    let drive = Drive::read(raw, &run.session)?;
    SHARES.into_iter().map(|percent| amplification_of(&run, percent, &drive)).collect()
}

fn amplification_of(run: &Run, percent: u32, drive: &Drive) -> Result<Finding> {
    let is_of_share = |percents: f64| (percents - f64::from(percent)).abs() < 0.5;
    let mut rounds = Vec::new();
    for step in run.steps("round") {
        if is_of_share(parameter(step, "trimmed_percent")?) {
            rounds
                .push((metric(step, "media_written_bytes")?, metric(step, "host_written_bytes")?));
        }
    }
    ensure!(rounds.len() >= WINDOW, "{} rounds with {percent} % trimmed", rounds.len());
    let last = &rounds[rounds.len() - WINDOW..];
    let (media, host) = last.iter().fold((0.0, 0.0), |sums, it| (sums.0 + it.0, sums.1 + it.1));
    let alpha = drive.alpha / (1.0 - f64::from(percent) / 100.0);
    let expected = greedy(alpha, drive.superblock_units);
    let note = format!(
        "formula {expected:.4}, with alpha {alpha:.5} and {} units of 4 KiB a superblock; off by \
         {:+.2} %",
        drive.superblock_units,
        (media / host / expected - 1.0) * 100.0
    );
    let what = format!("write amplification of {PROFILE} with {percent} % trimmed");
    let bar = Bar::Near { value: expected, share: MARGIN };
    Ok(run.finding(&what, (media / host, ""), bar).with_note(&note))
}

/// What of a drive decides its write amplification.
pub(in crate::acceptance) struct Drive {
    /// Physical over exported space, without the superblocks reserved for garbage collection.
    pub(in crate::acceptance) alpha: f64,
    /// Mapping units of a superblock.
    pub(in crate::acceptance) superblock_units: u32,
}

impl Drive {
    /// From what the profile says of itself and the capacity that was measured.
    pub(in crate::acceptance) fn read(raw: &Raw, session: &Session) -> Result<Self> {
        const UNIT: u64 = 4096;
        let profile = raw.json(&raw.capture("profile")?.output)?;
        let values = profile["values"].as_array().context("the profile has no values")?;
        let value = |key: &str| {
            let found = values.iter().find(|value| value["key"] == key);
            let text = found.and_then(|value| value["value"].as_str());
            text.with_context(|| format!("the profile says nothing of {key}"))
        };
        let bytes = |text: &str| text.parse::<Bytes>().ok().with_context(|| format!("`{text}`"));
        let superblock = bytes(value("geometry.superblock")?)?.0;
        let spare: Ppm = value("drive.over_provisioning")?.parse().ok().context("a share")?;
        let capacity = session.target.identity.get("capacity").context("no capacity")?;
        let exported = bytes(capacity)?.0;
        // Whole superblocks.
        let physical = (exported + spare.of(exported)).div_ceil(superblock);
        Ok(Self {
            alpha: (physical * superblock) as f64 / exported as f64,
            superblock_units: u32::try_from(superblock / UNIT).context("a large superblock")?,
        })
    }
}

#[cfg(test)]
mod tests;
