//! Steps: what runs, how it ended and how long it took, printed as it happens.

use std::time::{Duration, Instant};

use anyhow::Result;

/// A point on the wall clock after which nothing may run.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// This long from now.
    pub fn after(span: Duration) -> Self {
        Self(Instant::now() + span)
    }

    /// So many minutes from now.
    pub fn after_minutes(minutes: u64) -> Self {
        Self::after(Duration::from_secs(60 * minutes))
    }

    /// What is left; zero when it has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The earlier of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

/// Runs one step between two lines that name it; its value and its time.
pub fn timed<T>(name: &str, step: impl FnOnce() -> Result<T>) -> (Result<T>, Duration) {
    println!("== {name}");
    let start = Instant::now();
    let outcome = step();
    let span = start.elapsed();
    println!("== {name}: {} in {}", if outcome.is_ok() { "done" } else { "FAILED" }, seconds(span));
    (outcome, span)
}

/// A span for people, in seconds to a tenth.
pub fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}
