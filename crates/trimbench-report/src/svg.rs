//! Charts as SVG files, by the page's own code in an embedded JavaScript engine.
//!
//! The engine (`QuickJS`) receives `ECharts` and `assets/page/chart.js`, but no document, no
//! running clock, and nothing of this machine: the same chart gives the same bytes.

use rquickjs::{CatchResultExt, Context, Runtime};

use trimbench_results::chart::Chart;

#[cfg(test)]
mod tests;

/// The chart library, as `cargo xtask vendor` built it.
pub(crate) const LIBRARY: &str = include_str!("../../../assets/vendor/echarts.js");
/// How numbers are shown.
pub(crate) const NUMBER: &str = include_str!("../../../assets/page/number.js");
/// From our definition to the library's.
pub(crate) const CHART: &str = include_str!("../../../assets/page/chart.js");
/// From there to the text of a file.
pub(crate) const SVG: &str = include_str!("../../../assets/page/svg.js");
/// What the library expects of a browser even where it draws on nothing. Timers never fire: what
/// is drawn is complete when the call returns.
const BROWSER: &str = "globalThis.setTimeout = globalThis.setInterval = () => 0;\
    globalThis.clearTimeout = globalThis.clearInterval = () => {};";
/// Where nothing can measure a text, none is wider than this.
const TEXTS: &str = "echarts.setPlatformAPI({measureText: (text, font) => (\
    {width: text.length * trimbenchChart.LETTER * (parseFloat(font) || 12) / 12})});";
/// `ECharts` nests calls deeper than the engine's default stack of 256 KiB allows.
const STACK: usize = 4 << 20;

/// Why a chart could not be drawn: a fault of this program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The embedded engine could not be started: no memory.
    #[error("cannot start the engine that draws charts")]
    Engine(#[from] rquickjs::Error),
    /// The chart library failed on this chart.
    #[error("cannot draw the chart `{chart}`: {message}")]
    Failed {
        /// The chart's id; empty while the library itself is loaded.
        chart: String,
        /// What the engine says.
        message: String,
    },
}

/// An engine that draws charts. Starting one takes longer than drawing a chart.
pub(crate) struct Drawing {
    context: Context,
}

impl Drawing {
    /// Starts the engine and loads the library.
    pub(crate) fn start() -> Result<Self, DrawError> {
        let runtime = Runtime::new()?;
        runtime.set_max_stack_size(STACK);
        let context = Context::full(&runtime)?;
        let drawing = Self { context };
        for script in [BROWSER, LIBRARY, NUMBER, CHART, TEXTS, SVG] {
            // A script at the top level; `const` of one is seen by the next.
            drawing.evaluate::<()>("", script)?;
        }
        Ok(drawing)
    }

    /// The chart as the text of an SVG file, dark on light, in pixels as wide and about as high as
    /// this: rows of names have the height that they need, a long legend gets its own.
    pub(crate) fn svg(&self, chart: &Chart, width: u32, height: u32) -> Result<String, DrawError> {
        let json = serde_json::to_string(chart).expect("finite numbers and texts have a JSON form");
        // JSON is an expression of JavaScript.
        let size = format!("{{width: {width}, height: {height}}}");
        self.evaluate(&chart.id, &format!("trimbenchSvg.of({json}, {size})"))
    }

    fn evaluate<T>(&self, chart: &str, script: &str) -> Result<T, DrawError>
    where
        T: for<'js> rquickjs::FromJs<'js>,
    {
        self.context.with(|context| {
            let mut options = rquickjs::context::EvalOptions::default();
            options.strict = false;
            context.eval_with_options::<T, _>(script, options).catch(&context).map_err(|error| {
                DrawError::Failed { chart: chart.to_owned(), message: error.to_string() }
            })
        })
    }
}
