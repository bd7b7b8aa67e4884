//! What a value must be: for what a test asserts and the lab measures in a larger form.

/// A value and the range that it must be in.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// What it is.
    pub what: String,
    /// The value.
    pub value: f64,
    /// Its unit; empty for a count or a ratio.
    pub unit: &'static str,
    /// From where to where, both included.
    pub range: [f64; 2],
    /// A remark on it; may be empty.
    pub note: String,
}

impl Expectation {
    /// That `value` is in `range`.
    pub fn new(
        what: impl Into<String>,
        (value, unit): (f64, &'static str),
        range: [f64; 2],
    ) -> Self {
        Self { what: what.into(), value, unit, range, note: String::new() }
    }

    /// The same with a note.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Whether it is so. A value that is no number meets nothing.
    pub fn is_met(&self) -> bool {
        (self.range[0]..=self.range[1]).contains(&self.value)
    }
}

/// From a share below `value` to a share above it.
pub fn near(value: f64, share: f64) -> [f64; 2] {
    [value - value * share, value + value * share]
}

/// Asserts that all are met, and that there are any.
#[track_caller]
pub fn assert_met(all: &[Expectation]) {
    assert!(!all.is_empty(), "nothing is expected");
    let missed: Vec<&Expectation> = all.iter().filter(|it| !it.is_met()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
