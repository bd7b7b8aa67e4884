//! What a run shows while it goes on. On stderr its progress: one bar for the whole run on a
//! terminal, with the results of the last steps; elsewhere a line for each session; and for
//! programs a line of JSON twice a second. On stdout, as NDJSON, each step and figure.
//!
//! What is left is estimated anew whenever it is shown ([`TimeLeft`]), by a thread of its own: the
//! sessions only say where they are.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use trimbench_app::{Plan, ResolvedSession, RunMonitor, RunWarning, TimeLeft};
use trimbench_engine::{LiveFigures, MethodInfo, Stage};
use trimbench_linux::monotonic_time;
use trimbench_report::{Style, sparkline};
use trimbench_results::number::quantity;
use trimbench_results::{Figure, Step};

use crate::args::{OutputFormat, ProgressKind};
use crate::output::{
    data, error_line, note, print_failure, progress_style, progress_terminal, set_bar,
};

#[cfg(test)]
mod tests;

/// Columns of a curve over the last steps.
const CURVE: usize = 12;
/// How often the estimate is shown.
const PERIOD: Duration = Duration::from_millis(500);
/// Columns of the bar on a wide terminal, and on one of fewer than [`WIDE`].
const BARS: (usize, usize) = (24, 10);
const WIDE: usize = 72;

/// The display of a run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    format: OutputFormat,
    /// How each session is called.
    titles: Vec<String>,
    /// The method of each.
    methods: Vec<&'static MethodInfo>,
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    shown: Mutex<Shown>,
    over: Condvar,
}

/// What is shown.
#[derive(Debug)]
struct Shown {
    time_left: TimeLeft,
    begun: f64,
    /// The session that was last heard of, and what it does.
    text: String,
    live: Live,
    bar: Option<ProgressBar>,
    kind: ProgressKind,
    is_over: bool,
}

impl Progress {
    /// Begins the display of a run; `page` says whether it ends with a page.
    pub(crate) fn begin(plan: &Plan, kind: ProgressKind, format: OutputFormat, page: bool) -> Self {
        let bar = (kind == ProgressKind::Auto && progress_terminal()).then(bar);
        set_bar(bar.clone());
        let shown = Mutex::new(Shown {
            time_left: TimeLeft::of(plan, page),
            begun: now(),
            text: String::new(),
            live: Live::default(),
            bar,
            kind,
            is_over: false,
        });
        let shared = Arc::new(Shared { shown, over: Condvar::new() });
        let is_shown = kind == ProgressKind::Json || progress_terminal();
        let ticker = is_shown.then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.tick())
        });
        let titles = plan.sessions.iter().map(ResolvedSession::title).collect();
        let methods = plan.sessions.iter().map(|session| session.info).collect();
        Self { format, titles, methods, shared, ticker }
    }

    /// What is done after the sessions.
    pub(crate) fn closes(&self, text: &str) {
        let mut shown = self.shared.lock();
        let now = shown.elapsed();
        shown.time_left.close(now);
        text.clone_into(&mut shown.text);
        shown.live = Live::default();
    }

    /// Ends the display.
    pub(crate) fn end(&mut self) {
        let mut shown = self.shared.lock();
        shown.is_over = true;
        set_bar(None);
        if let Some(bar) = shown.bar.take() {
            bar.finish_and_clear();
        }
        drop(shown);
        self.shared.over.notify_all();
        if let Some(ticker) = self.ticker.take() {
            // It shows, and does nothing else: its panic was printed.
            let _ = ticker.join();
        }
    }
}

impl RunMonitor for Progress {
    fn session_skipped(&mut self, index: usize) {
        self.shared.lock().time_left.skip(index);
    }

    /// On a terminal the bar says it.
    fn target_begins(&mut self, target: &str) {
        if self.shared.lock().bar.is_none() {
            note(&format!("measuring {target}"));
        }
    }

    /// Where there is no bar, news are a line.
    fn session_waits(&mut self, index: usize, text: &str, is_news: bool) {
        let mut shown = self.shared.lock();
        shown.text = format!("{}: {text}", self.titles[index]);
        if is_news && shown.bar.is_none() && shown.kind == ProgressKind::Auto {
            note(&shown.text);
        }
    }

    fn session_begins(&mut self, index: usize) {
        let mut shown = self.shared.lock();
        let now = shown.elapsed();
        shown.time_left.begin(index, now);
        shown.text.clone_from(&self.titles[index]);
    }

    fn stage(&mut self, index: usize, stage: &Stage<'_>) {
        let mut shown = self.shared.lock();
        let now = shown.elapsed();
        shown.time_left.stage(index, stage, now);
        shown.text = format!("{}: {}", self.titles[index], stage.text);
    }

    fn step(&mut self, index: usize, step: &Step) {
        let mut shown = self.shared.lock();
        // Only the bar shows them, and to read them takes decoding.
        if shown.bar.is_some() {
            shown.live.add((self.methods[index].live)(step));
        }
        drop(shown);
        if self.format == OutputFormat::Ndjson {
            event(&json!({ "event": "step", "session": index, "step": step }));
        }
    }

    fn session_ends(&mut self, index: usize, left_out: bool) {
        let mut shown = self.shared.lock();
        let now = shown.elapsed();
        shown.time_left.end(index, left_out, now);
        shown.live = Live::default();
    }

    fn figure(&mut self, index: usize, figure: &Figure) {
        if self.format == OutputFormat::Ndjson {
            event(&json!({ "event": "figure", "session": index, "figure": figure }));
        }
    }

    fn note(&mut self, text: &str) {
        note(text);
    }

    fn warning(&mut self, warning: &RunWarning) {
        match warning {
            RunWarning::SetAside(set_aside) => error_line(&set_aside.to_string()),
            RunWarning::AlsoFailed(failure) => print_failure(failure),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the estimate until the run is over.
    fn tick(&self) {
        let mut shown = self.lock();
        while !shown.is_over {
            let (text, bar) = shown.drawn();
            drop(shown);
            match bar {
                // It is drawn without the lock, which the sessions take.
                Some(bar) => bar.set_message(text),
                None => error_line(&text),
            }
            let waited = self.over.wait_timeout(self.lock(), PERIOD);
            shown = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shown {
    fn elapsed(&self) -> f64 {
        now() - self.begun
    }

    /// What is to be shown now, and on which bar.
    fn drawn(&self) -> (String, Option<ProgressBar>) {
        let elapsed = self.elapsed();
        let left = self.time_left.left(elapsed);
        let (ended, sessions) = self.time_left.counts();
        if self.kind == ProgressKind::Json {
            let event = json!({
                "event": "progress",
                "elapsed_s": thousandths(elapsed),
                "left_s": thousandths(left),
                "sessions_ended": ended,
                "sessions": sessions,
                "text": self.text,
            });
            return (event.to_string(), None);
        }
        let style = progress_style();
        let mut text =
            line(style.width, (elapsed, left), &format!("{ended}/{sessions} {}", self.text));
        let live = self.live.line(style);
        if !live.is_empty() {
            text = format!("{text}\n{live}");
        }
        (text, self.bar.clone())
    }
}

/// A line of NDJSON.
fn event(event: &Value) {
    data(&format!("{event}\n"));
}

/// The bar with what it means, in so many columns.
fn line(width: usize, (elapsed, left): (f64, f64), text: &str) -> String {
    let share = elapsed / (elapsed + left).max(f64::MIN_POSITIVE);
    let columns = if width < WIDE { BARS.1 } else { BARS.0 };
    let full = (1..=columns).filter(|column| *column as f64 <= share * columns as f64).count();
    let bar = format!("{}{}", "=".repeat(full), " ".repeat(columns - full));
    let spent = span(Duration::from_secs_f64(elapsed.max(0.0)));
    let left = span(Duration::from_secs_f64(left.max(0.0)));
    let times = format!("{spent} so far, {left} left");
    let mut line = format!("[{bar}] {times}");
    if line.chars().count() >= width {
        line = times;
    } else if width >= WIDE {
        line = format!("{line}  {text}");
    }
    line.chars().take(width.saturating_sub(1)).collect()
}

/// Seconds of the clock that never steps.
fn now() -> f64 {
    monotonic_time().seconds()
}

fn thousandths(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// What the last steps of a session measured.
#[derive(Debug, Default)]
struct Live {
    throughput: Vec<(f64, &'static str)>,
    latency: Vec<(f64, &'static str)>,
    figure: Option<String>,
}

impl Live {
    fn add(&mut self, figures: LiveFigures) {
        keep(&mut self.throughput, figures.throughput);
        keep(&mut self.latency, figures.latency);
        if let Some((name, value, unit)) = figures.headline {
            self.figure = Some(format!("{name} {}", quantity(value, unit)));
        }
    }

    /// Curves over the last steps with the last value behind each, and the running figure.
    fn line(&self, style: Style) -> String {
        let mut parts = Vec::new();
        for values in [&self.throughput, &self.latency] {
            if let Some((last, unit)) = values.last() {
                let curve: Vec<Option<f64>> =
                    values.iter().map(|(value, _)| Some(*value)).collect();
                let curve = sparkline(&curve, CURVE, style.unicode);
                parts.push(format!("{curve} {}", quantity(*last, unit)));
            }
        }
        parts.extend(self.figure.clone());
        parts.join("  ").chars().take(style.width.saturating_sub(1)).collect()
    }
}

/// Keeps a value beside the last ones of the same unit.
fn keep(values: &mut Vec<(f64, &'static str)>, new: Option<(f64, &'static str)>) {
    let Some((value, unit)) = new else { return };
    values.retain(|(_, other)| *other == unit);
    if values.len() == CURVE {
        values.remove(0);
    }
    values.push((value, unit));
}

/// A span in the unit that suits it, rounded up.
fn span(span: Duration) -> String {
    let seconds = span.as_nanos().div_ceil(1_000_000_000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A place for lines that are drawn over and over.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}").expect("a constant template: it is valid");
    ProgressBar::new_spinner().with_style(style)
}
