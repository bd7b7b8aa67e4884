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
        error_line(&format!("[{index}/{count}] {title}"));
        let bar = progress_terminal().then(|| bar(clock));
        Self { bar, clock }
    }

    /// Shows where the method is.
    pub(crate) fn stage(&self, stage: &Stage<'_>) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(stage.total as u64);
        bar.set_position(stage.done as u64);
        bar.set_message(match self.clock {
            Clock::Wall => {
                format!("{} s left, {}", stage.left.0.div_ceil(1_000_000_000), stage.text)
            }
            Clock::Virtual => stage.text.to_owned(),
        });
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A bar. A virtual clock's rest says nothing about how long the user waits, so there the bar
/// estimates it from the steps done so far.
fn bar(clock: Clock) -> ProgressBar {
    let template = match clock {
        Clock::Wall => "{bar:30} {pos}/{len}, {wide_msg}",
        Clock::Virtual => "{bar:30} {pos}/{len}, {eta} left, {wide_msg}",
    };
    let style = ProgressStyle::with_template(template).expect("a constant template: it is valid");
    ProgressBar::new(1).with_style(style.progress_chars("=> "))
}
