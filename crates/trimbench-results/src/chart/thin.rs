//! Thins a curve to fewer points that look the same, without losing an extreme.
//!
//! M4 \[JUGEL14\]: of all points that fall into one column of pixels the first, the lowest, the
//! highest and the last draw the same line as all of them. So a stall of one sample among ten
//! million is there at every zoom, at its own time and with its own value.

use super::ChartSeries;
use crate::record::Series;

#[cfg(test)]
mod tests;

/// Points that are kept of each column.
const PER_COLUMN: usize = 4;

/// The curve with at most `most` points (at least 8), of which each column keeps the first, the
/// lowest, the highest and the last; a column without any value keeps one place, so that a gap
/// stays a gap. What has no more points than that is left alone.
pub fn thin(curve: ChartSeries, most: usize) -> ChartSeries {
    let count = curve.x.len();
    if count <= most {
        return curve;
    }
    let low = curve.low.as_ref().unwrap_or(&curve.y);
    let high = curve.high.as_ref().unwrap_or(&curve.y);
    let kept = kept(low, high, (most / PER_COLUMN).max(2));
    let pick = |values: Vec<Option<f64>>| kept.iter().map(|&place| values[place]).collect();
    ChartSeries {
        x: kept.iter().map(|&place| curve.x[place]).collect(),
        y: pick(curve.y),
        low: curve.low.map(pick),
        high: curve.high.map(pick),
        z: curve.z.map(pick),
        labels: curve.labels.map(|labels| kept.iter().map(|&i| labels[i].clone()).collect()),
        faint: curve.faint.map(|faint| kept.iter().map(|&place| faint[place]).collect()),
        thinned_from: Some(curve.thinned_from.unwrap_or(count as u64)),
        ..curve
    }
}

/// The same for a series of a record.
pub fn thin_series(series: &mut Series, most: usize) {
    if series.x.len() <= most {
        return;
    }
    let kept = kept(&series.y, &series.y, (most / PER_COLUMN).max(2));
    series.x = kept.iter().map(|&place| series.x[place]).collect();
    series.y = kept.iter().map(|&place| series.y[place]).collect();
}

/// The places that are kept, ascending; `low` and `high` are what extremes are of.
fn kept(low: &[Option<f64>], high: &[Option<f64>], columns: usize) -> Vec<usize> {
    let count = low.len();
    let mut kept = Vec::with_capacity(columns * PER_COLUMN);
    for column in 0..columns {
        let places = column * count / columns..(column + 1) * count / columns;
        let highest = |values: &[Option<f64>], sign: f64| {
            let mut best: Option<(usize, f64)> = None;
            for place in places.clone() {
                let Some(value) = values[place].map(|value| sign * value) else { continue };
                if best.is_none_or(|(_, found)| value > found) {
                    best = Some((place, value));
                }
            }
            best.map(|(place, _)| place)
        };
        let ends = [places.start, places.end - 1];
        let extremes = [highest(high, 1.0), highest(low, -1.0)];
        let mut of_column: Vec<usize> = extremes.into_iter().flatten().chain(ends).collect();
        of_column.sort_unstable();
        of_column.dedup();
        kept.extend(of_column);
    }
    kept
}
