//! The headline of a method, a bar for each target, the best first where best has a meaning.

use super::{Sessions, bars};
use crate::chart::{Axis, Chart, ChartKind};

/// The bars; `None` without any headline. Targets whose figures are of other units than the first's
/// are left out and named.
pub(super) fn bars_chart(method: &str, sessions: Sessions<'_, '_>) -> Option<Chart> {
    let mut found: Vec<_> = sessions
        .iter()
        .filter_map(|entry| entry.session.headline().map(|figure| (entry, figure)))
        .collect();
    let (_, first) = *found.first()?;
    let others: Vec<String> = found
        .iter()
        .filter(|(_, figure)| figure.unit != first.unit || figure.id != first.id)
        .map(|(entry, figure)| format!("{} has {} instead.", entry.label, figure.title))
        .collect();
    found.retain(|(_, figure)| figure.unit == first.unit && figure.id == first.id);
    found.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    let names = found.iter().map(|(entry, _)| entry.label.clone()).collect();
    let mut chart = Chart::new(
        format!("{method}-headline"),
        first.title.clone(),
        Axis::of("target", names),
        Axis::linear(&first.title, &first.unit),
    );
    chart.horizontal = true;
    chart.describe(
        "One bar for each target, in the order of the values; a thin line over a \
        bar is its interval. Hollow bars are not told apart from nothing.",
    );
    let figures: Vec<_> = found.iter().map(|(_, figure)| Some(*figure)).collect();
    chart.curve(bars(&first.title, &figures));
    chart.notes = others;
    debug_assert!(chart.series.iter().all(|curve| curve.kind == ChartKind::Bars));
    Some(chart)
}
