//! Charts as data: what is drawn, not how.
//!
//! A method makes charts of its sessions ([`LabelledSession`]). The report draws them on its page,
//! as SVG files and for a browser without JavaScript, with one script (`assets/page/chart.js`),
//! which computes no value.
//!
//! Invariants: a curve has as many `y` (and `low`, `high`, `z`, `labels`, `faint`) as `x`; ids are
//! unique in a report; the names of a chart's curves are unique in it.

use serde::Serialize;

mod session;
mod thin;

pub use session::{LabelledSession, is_noise};
pub use thin::{thin, thin_series};

/// A picture with axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    /// Unique in the report, and a valid id in HTML: `recovery-2-curves`.
    pub id: String,
    /// What it shows, in a short phrase.
    pub title: String,
    /// A description in words: for readers who cannot see the chart, and shown below it.
    pub description: String,
    /// The horizontal axis; with [`Self::horizontal`] the vertical one.
    pub x: Axis,
    /// What the values are.
    pub y: Axis,
    /// What the colours of [`ChartKind::Cells`] stand for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<Axis>,
    /// Horizontal bars, for long names.
    pub horizontal: bool,
    /// The curves; later ones are drawn over earlier ones.
    pub series: Vec<ChartSeries>,
    /// Named lines and intervals on an axis.
    pub marks: Vec<Mark>,
    /// Where the numbers are from and what limits them, a sentence each.
    pub notes: Vec<String>,
}

/// A scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// What is measured along it.
    pub title: String,
    /// In what unit; empty for a plain number.
    pub unit: String,
    /// How values map to positions.
    pub scale: AxisScale,
    /// The names of an [`AxisScale::Category`], in order: the places are 0, 1, ...
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Where it begins; `None`: at what suits the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Where it ends; `None`: at what suits the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// How values map to positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisScale {
    /// Equal steps for equal differences.
    #[default]
    Linear,
    /// Equal steps for equal factors; values above 0 only.
    Log,
    /// Names side by side.
    Category,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChartKind {
    /// Points joined in order; with `low` and `high` a band around them.
    #[default]
    Line,
    /// Each value lasts until the next.
    Steps,
    /// Points alone; with `low` and `high` an interval each.
    Points,
    /// A bar for each place; with `low` and `high` an interval each.
    Bars,
    /// A coloured cell for each place of `x` and `y`; the colour is `z`.
    Cells,
}

/// Values that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartSeries {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub kind: ChartKind,
    /// Places, ascending where they are joined.
    pub x: Vec<f64>,
    /// Values; `None` where nothing was measured.
    pub y: Vec<Option<f64>>,
    /// Lower ends of intervals or of a band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<Vec<Option<f64>>>,
    /// Upper ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<Vec<Option<f64>>>,
    /// The values of [`ChartKind::Cells`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<Vec<Option<f64>>>,
    /// A text at each bar, or in each cell in the place of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Bars that are not distinguishable from zero: drawn hollow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faint: Option<Vec<bool>>,
    /// Curves of one stack stand on each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The name of the curve that it belongs to, whose colour it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// How it is dashed: 0 not at all, 1 dashes, 2 dots.
    pub dash: u8,
    /// Not shown until the reader asks for it in the legend.
    pub hidden: bool,
    /// How many points there were before thinning; `None` if these are all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinned_from: Option<u64>,
}

/// A named position or interval on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// On which axis the places are: `x` or `y`.
    pub axis: &'static str,
    /// The place, or where the stretch begins.
    pub at: f64,
    /// Where the stretch ends; `None` for a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// What it is.
    pub label: String,
}

impl Chart {
    /// A chart without curves.
    pub fn new(id: impl Into<String>, title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { id: id.into(), title: title.into(), x, y, ..Self::default() }
    }

    /// Says what to see in it.
    pub fn describe(&mut self, text: &str) {
        text.clone_into(&mut self.description);
    }

    /// Adds a curve, thinned to what a screen can show.
    pub fn curve(&mut self, curve: ChartSeries) {
        self.series.push(thin(curve, POINTS_MAX));
    }

    /// Names a place on an axis (`x` or `y`).
    pub fn mark(&mut self, axis: &'static str, at: f64, label: impl Into<String>) {
        self.marks.push(Mark { axis, at, to: None, label: label.into() });
    }

    /// Whether anything is drawn.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|curve| curve.y.iter().all(Option::is_none))
    }
}

/// Points of a curve that are drawn at most: two or three for each pixel of a wide screen, so that
/// zooming in shows more.
pub const POINTS_MAX: usize = 4000;

impl Axis {
    /// Equal steps for equal differences.
    pub fn linear(title: &str, unit: &str) -> Self {
        Self { title: title.to_owned(), unit: unit.to_owned(), ..Self::default() }
    }

    /// The same from 0.
    pub fn from_zero(title: &str, unit: &str) -> Self {
        Self { min: Some(0.0), ..Self::linear(title, unit) }
    }

    /// Equal steps for equal factors.
    pub fn log(title: &str, unit: &str) -> Self {
        Self { scale: AxisScale::Log, ..Self::linear(title, unit) }
    }

    /// Names side by side.
    pub fn of(title: &str, categories: Vec<String>) -> Self {
        Self { scale: AxisScale::Category, categories, ..Self::linear(title, "") }
    }
}

impl ChartSeries {
    /// A curve of these points.
    ///
    /// # Panics
    /// If there are not as many `y` as `x`.
    pub fn new(name: impl Into<String>, kind: ChartKind, x: Vec<f64>, y: Vec<Option<f64>>) -> Self {
        assert_eq!(x.len(), y.len(), "a curve has as many y as x");
        Self { name: name.into(), kind, x, y, ..Self::default() }
    }

    /// A bar for each value, at the places 0, 1, ...
    pub fn bars(name: impl Into<String>, y: Vec<Option<f64>>) -> Self {
        let x = (0..y.len()).map(|place| place as f64).collect();
        Self::new(name, ChartKind::Bars, x, y)
    }
}
