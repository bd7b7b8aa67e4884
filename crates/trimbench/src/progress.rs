//! Live progress on stderr: a bar on a terminal, a line a session elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use trimbench_core::Clock;
use trimbench_methods::Stage;

use crate::output::{error_line, progress_terminal};

/// The display of one session.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    clock: Clock,
}

impl Progress {
    /// Begins the display of the session `title`, number `index` (from 1) of `count`.
    pub(crate) fn begin(title: &str, (index, count): (usize, usize), clock: Clock) -> Self {
        if !progress_terminal() {
            error_line(&format!("[{index}/{count}] {title}"));
            return Self { bar: None, clock };
        }
        let style = ProgressStyle::with_template("{prefix} [{bar:20}] {pos}/{len} {wide_msg}")
            .expect("the template is constant and tested")
            .progress_chars("=> ");
        let bar = ProgressBar::new(1).with_style(style);
        bar.set_prefix(format!("[{index}/{count}] {title}"));
        Self { bar: Some(bar), clock }
    }

    /// Shows where the method is.
    pub(crate) fn stage(&self, stage: &Stage<'_>) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(stage.total as u64);
        bar.set_position(stage.done as u64);
        let left = stage.left.0.div_ceil(1_000_000_000);
        // A virtual clock's rest says nothing about how long the user waits.
        let eta = match self.clock {
            Clock::Wall => format!(", {left} s left"),
            Clock::Virtual => String::new(),
        };
        bar.set_message(format!("{}{eta}", stage.text));
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
