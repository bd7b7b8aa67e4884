//! Input of a method's charts: its sessions, each with a label.

use std::ops::Deref;

use super::{Axis, Chart, ChartKind, ChartSeries};
use crate::record::{Figure, Interval, Series, Session, Step};
use crate::verdict::Verdict;

/// A session of a report and what the report calls it.
#[derive(Clone, Debug)]
pub struct LabelledSession<'a> {
    /// Index of its record in the report.
    pub source: usize,
    /// Index of the session in its record.
    pub index: usize,
    /// The session.
    pub session: &'a Session,
    /// The target's name, and whatever else distinguishes it from other sessions of its method.
    pub label: String,
}

impl<'a> LabelledSession<'a> {
    /// A chart of this session only, without curves; `what` distinguishes it from the session's
    /// other charts.
    pub fn chart(&self, what: &str, title: &str, x: Axis, y: Axis) -> Chart {
        let id = format!("{}-{}-{}-{what}", self.plan.method, self.source, self.index);
        Chart::new(id, format!("{title}: {}", self.label), x, y)
    }

    /// The steps of a kind, in order.
    pub fn steps_of(&self, kind: &str) -> impl DoubleEndedIterator<Item = &'a Step> {
        self.session.steps.iter().filter(move |step| step.kind == kind)
    }

    /// The value of a figure, if the session has it.
    pub fn value(&self, figure: &str) -> Option<f64> {
        self.figure(figure).map(|figure| figure.value)
    }
}

impl Deref for LabelledSession<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session
    }
}

impl Axis {
    /// The targets of these sessions, side by side.
    pub fn targets(sessions: &[LabelledSession<'_>]) -> Self {
        Self::of("target", sessions.iter().map(|session| session.label.clone()).collect())
    }
}

impl ChartSeries {
    /// The curve of a series, joined.
    pub fn line(name: impl Into<String>, series: &Series) -> Self {
        Self::new(name, ChartKind::Line, series.x.clone(), series.y.clone())
    }

    /// Bars of these figures with their intervals, hollow where the record calls them noise.
    pub fn figure_bars(name: &str, figures: &[Option<&Figure>]) -> Self {
        let values = figures.iter().map(|figure| figure.map(|figure| figure.value)).collect();
        let mut bars = Self::bars(name, values);
        let interval = |figure: &Figure| figure.interval;
        let ends = |end: fn(Interval) -> f64| {
            figures.iter().map(|figure| figure.and_then(interval).map(end)).collect()
        };
        if figures.iter().flatten().any(|figure| figure.interval.is_some()) {
            bars.low = Some(ends(|interval| interval.low));
            bars.high = Some(ends(|interval| interval.high));
        }
        let noise: Vec<bool> = figures.iter().map(|figure| figure.is_some_and(is_noise)).collect();
        if noise.contains(&true) {
            let label = |noise: &bool| if *noise { NOISE.to_owned() } else { String::new() };
            bars.labels = Some(noise.iter().map(label).collect());
            bars.faint = Some(noise);
        }
        bars
    }
}

impl Chart {
    /// Adds a bar for each target and figure; `figures` are ids and names. With a name for a
    /// `stack` the bars of a target are stacked.
    pub fn target_bars(
        &mut self,
        figures: &[(&str, &str)],
        stack: Option<&str>,
        sessions: &[LabelledSession<'_>],
    ) {
        self.horizontal = true;
        for (id, name) in figures {
            let found: Vec<_> = sessions.iter().map(|session| session.figure(id)).collect();
            let stack = stack.map(str::to_owned);
            self.curve(ChartSeries { stack, ..ChartSeries::figure_bars(name, &found) });
        }
    }
}

/// The first word of the verdict on an effect that is not distinguishable from none.
const NOISE: &str = "noise";

/// Whether the record says that the figure is not distinguishable from no effect.
pub fn is_noise(figure: &Figure) -> bool {
    figure.verdict.as_ref().is_some_and(Verdict::is_noise)
        || figure.caveats.iter().any(|id| id == trimbench_core::Caveat::Noise.id())
}
