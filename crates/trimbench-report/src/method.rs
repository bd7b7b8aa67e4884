//! A method in a report: its sessions and its charts. First comes the headline of every target,
//! then what the method draws itself; if this version does not know the method, every curve.

use trimbench_results::DriveOrder;
use trimbench_results::chart::{Axis, Chart, ChartSeries, LabelledSession};

#[cfg(test)]
mod tests;

/// What a method says of how it is shown.
#[derive(Clone, Copy, Debug)]
pub struct MethodView {
    /// Its page, in Markdown.
    pub page: &'static str,
    /// The charts of all its sessions in the report.
    pub charts: fn(&[LabelledSession<'_>]) -> Vec<Chart>,
}

/// The method of an id; `None` if this version does not know it.
pub type MethodViews = fn(&str) -> Option<MethodView>;

/// A method and its sessions in a report.
#[derive(Debug)]
pub(crate) struct ReportedMethod<'a> {
    pub(crate) id: &'a str,
    pub(crate) sessions: Vec<LabelledSession<'a>>,
    pub(crate) view: Option<MethodView>,
    /// What the sessions are in the order of, if not of their values.
    order: Option<String>,
}

impl<'a> ReportedMethod<'a> {
    /// The methods of these sessions, in the order in which they come first. The sessions of each
    /// are in this order, if there is one.
    pub(crate) fn of(
        sessions: &[LabelledSession<'a>],
        views: MethodViews,
        order: Option<&DriveOrder>,
    ) -> Vec<Self> {
        let mut methods: Vec<Self> = Vec::new();
        for one in sessions {
            let id = one.session.plan.method.as_str();
            match methods.iter_mut().find(|method| method.id == id) {
                Some(method) => method.sessions.push(one.clone()),
                None => methods.push(Self {
                    id,
                    sessions: vec![one.clone()],
                    view: views(id),
                    order: order.map(DriveOrder::words),
                }),
            }
        }
        methods
    }

    /// Its charts, without those in which nothing is drawn.
    pub(crate) fn charts(&self) -> Vec<Chart> {
        let own = match &self.view {
            Some(view) => (view.charts)(&self.sessions),
            None => self.every_curve(),
        };
        let charts = self.headline().into_iter().chain(own);
        charts.filter(|chart| !chart.is_empty()).collect()
    }

    /// Every curve of every step, a chart for each name.
    fn every_curve(&self) -> Vec<Chart> {
        let mut charts: Vec<Chart> = Vec::new();
        for LabelledSession { session, label, .. } in &self.sessions {
            for step in &session.steps {
                for (name, series) in &step.series {
                    let id = format!("{}-{name}", self.id);
                    let place =
                        charts.iter().position(|chart| chart.id == id).unwrap_or_else(|| {
                            let x = Axis::linear("", &series.x_unit);
                            let y = Axis::linear(name, &series.y_unit);
                            charts.push(Chart::new(id, name, x, y));
                            charts.len() - 1
                        });
                    let name = format!("{label}: {}", step.id);
                    charts[place].curve(ChartSeries::line(name, series));
                }
            }
        }
        charts
    }

    /// A bar for the headline of each target, by value; `None` without any headline. Targets whose
    /// headlines are of another unit than the first's are left out and named.
    fn headline(&self) -> Option<Chart> {
        let mut found =
            self.sessions.iter().filter_map(|it| Some((&it.label, it.headline()?))).peekable();
        let (_, first) = *found.peek()?;
        let (mut alike, others): (Vec<_>, Vec<_>) =
            found.partition(|(_, it)| it.unit == first.unit && it.id == first.id);
        let order = self.order.as_deref().unwrap_or("the values");
        if self.order.is_none() {
            alike.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
        }
        let names = alike.iter().map(|(label, _)| (*label).clone()).collect();
        let mut chart = Chart::new(
            format!("{}-headline", self.id),
            &first.title,
            Axis::of("target", names),
            Axis::linear(&first.title, &first.unit),
        );
        chart.horizontal = true;
        chart.describe(&format!(
            "One bar for each target, in the order of {order}; a thin line over a bar is its \
             interval. Hollow bars are not told apart from nothing.",
        ));
        let figures: Vec<_> = alike.iter().map(|(_, figure)| Some(*figure)).collect();
        chart.curve(ChartSeries::figure_bars(&first.title, &figures));
        let instead = others.iter().map(|(label, it)| format!("{label} has {} instead.", it.title));
        chart.notes = instead.collect();
        Some(chart)
    }
}
