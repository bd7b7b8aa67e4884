//! Computes figures from recorded passes. A pure function of the record.
//!
//! The gain of a pass is its write IOPS over those of the pass without TRIMs at the same pace: on
//! average, and window by window of the trace. A window is a mean over its own time; the average is
//! over all time, so slow windows weigh more in it.

use trimbench_core::Caveat;
use trimbench_core::settings::Named as _;
use trimbench_results::{Figure, Step};

use super::options::{Replay, ReplayedTrims};
use trimbench_engine::method::Findings;

/// A gain or loss of this much counts as one.
const EFFECT: f64 = 0.02;

/// Computes all figures.
pub fn analyse(steps: &[Step]) -> Findings {
    let passes: Vec<&Step> = steps.iter().filter(|step| step.kind == "pass").collect();
    let mut figures: Vec<Figure> = passes.iter().flat_map(|pass| gains(pass, &passes)).collect();
    // The headline is that of the last pass: of the deepest queue.
    let is_gain = |figure: &&mut Figure| {
        let pass = figure.id.strip_prefix("gain-");
        pass.is_some_and(|id| passes.iter().any(|pass| pass.id == id))
    };
    if let Some(last) = figures.iter_mut().rfind(is_gain) {
        last.headline = true;
    }
    figures.sort_by_key(|figure| !figure.headline);
    figures.extend(passes.iter().flat_map(|pass| rates(pass)));
    for figure in &mut figures {
        let of = passes.iter().filter(|pass| figure.id.ends_with(&pass.id));
        let ids: Vec<&String> = of.flat_map(|pass| &pass.caveats).collect();
        for caveat in ids.into_iter().filter_map(|id| Caveat::from_id(id)) {
            figure.caveat(caveat);
        }
    }
    let altered = |step: &&Step| step.metrics.get("altered_count").is_some_and(|n| *n > 0.0);
    let caveat = passes.iter().any(altered).then_some(Caveat::TraceAltered);
    Findings { figures, caveats: caveat.into_iter().collect() }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures(method: &Replay) -> Vec<(String, &'static str)> {
    let mut figures = Vec::new();
    for pass in method.passes() {
        let id = pass.id();
        for (key, unit) in [
            ("write-iops", "IOPS"),
            ("throughput", "MB/s"),
            ("write-amplification", ""),
            ("service-max", "ms"),
        ] {
            figures.push((format!("{key}-{id}"), unit));
        }
        if pass.trims != ReplayedTrims::Stripped {
            for key in ["gain", "gain-min", "gain-max"] {
                figures.push((format!("{key}-{id}"), ""));
            }
        }
    }
    figures
}

/// A pass over the one without TRIMs at the same pace.
fn gains(pass: &Step, passes: &[&Step]) -> Vec<Figure> {
    let Some((pace, trims)) = pass.id.rsplit_once('-') else { return Vec::new() };
    let stripped = format!("{pace}-{}", ReplayedTrims::Stripped.id());
    let without = passes.iter().find(|other| other.id == stripped && other.id != pass.id);
    let Some(without) = without else { return Vec::new() };
    let rate = |step: &Step| step.metrics.get("write_iops").copied().filter(|rate| *rate > 0.0);
    let average = rate(pass).zip(rate(without)).map(|(with, without)| with / without);
    let ratios = ratios(pass, without);
    let id = &pass.id;
    let what = format!("write IOPS {trims} over stripped, {pace}");
    let figure = |key: &str, title: String, value: Option<f64>, n: usize| {
        let figure = Figure::new(&format!("{key}-{id}"), &title, value?, "")?;
        Some(Figure { n: n as u64, ..figure })
    };
    let average = figure("gain", what.clone(), average, 1).map(|figure| {
        let verdict = match figure.value {
            value if value >= 1.0 + EFFECT => "TRIM pays",
            value if value <= 1.0 - EFFECT => "TRIM costs more than it brings",
            _ => "TRIM makes no difference on average",
        };
        Figure { verdict: Some(verdict.to_owned()), ..figure }
    });
    let (least, most) =
        (ratios.iter().copied().reduce(f64::min), ratios.iter().copied().reduce(f64::max));
    let least = figure("gain-min", format!("least in a window: {what}"), least, ratios.len());
    let most = figure("gain-max", format!("most in a window: {what}"), most, ratios.len());
    [average, least, most].into_iter().flatten().collect()
}

/// Window by window, the write IOPS of one pass over another's.
fn ratios(with: &Step, without: &Step) -> Vec<f64> {
    let curve = |step: &Step| {
        let series = step.series.get("iops-window");
        series.map(|series| series.y.clone()).unwrap_or_default()
    };
    let pairs = curve(with).into_iter().zip(curve(without));
    let ratios = pairs.filter_map(|(with, without)| {
        without.filter(|rate| *rate > 0.0).and_then(|without| Some(with? / without))
    });
    ratios.collect()
}

/// What a pass came to.
fn rates(pass: &Step) -> Vec<Figure> {
    let id = &pass.id;
    let table = [
        ("write-iops", "write IOPS", "write_iops", "IOPS"),
        ("throughput", "throughput of writes", "throughput_mb_per_s", "MB/s"),
        ("write-amplification", "write amplification", "write_amplification_ratio", ""),
        ("service-max", "longest write", "service_ms_max", "ms"),
    ];
    let figures = table.iter().filter_map(|(key, title, metric, unit)| {
        let value = *pass.metrics.get(*metric)?;
        Figure::new(&format!("{key}-{id}"), &format!("{title}, {id}"), value, unit)
    });
    figures.collect()
}
