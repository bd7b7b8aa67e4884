//! The readers that are fuzzed, and the result of one execution.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use anyhow::Result;
use clap::ValueEnum;
use trimbench_core::rng::Rng;

use super::{options, profiles, records, reports, traces};

/// What is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FuzzSubject {
    /// Traces, of every format and packing.
    #[default]
    Traces,
    /// Run records, and all that is done with what was understood of them.
    Records,
    /// Reports of hostile run records, each read by what reads it elsewhere.
    Reports,
    /// Profiles of emulated drives; those that can be built are, and work.
    Profiles,
    /// What the command line says: targets, settings of methods, limits, policies, quantities.
    Options,
}

impl FuzzSubject {
    /// Its name on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Records => "records",
            Self::Reports => "reports",
            Self::Profiles => "profiles",
            Self::Options => "options",
        }
    }

    /// Gets ready what inputs are made of.
    pub(super) fn feed(self) -> Result<Box<dyn Feed>> {
        Ok(match self {
            Self::Traces => Box::new(traces::Corpus::new()?),
            Self::Records => Box::new(records::Records::new()?),
            Self::Reports => Box::new(reports::Reports::new()?),
            Self::Profiles => Box::new(profiles::Profiles::new()?),
            Self::Options => Box::new(options::Options::new()?),
        })
    }
}

/// Makes inputs and has them read.
pub(super) trait Feed: Sync {
    /// Draws an input and has it read; an error is what did not hold.
    fn run(&self, rng: &mut Rng) -> Result<Done, String>;
}

/// How an execution ended.
pub(super) type End = Cow<'static, str>;

/// What an execution came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// Records of a trace; elsewhere 1 if the input was understood.
    pub(super) records: u64,
    /// Whether the input was understood to its end.
    pub(super) whole: bool,
    /// How it ended: a word for what was understood, else the error's.
    pub(super) end: End,
}

impl Done {
    /// The input was understood.
    pub(super) fn whole(end: &'static str) -> Self {
        Self { records: 1, whole: true, end: Cow::Borrowed(end) }
    }

    /// It was refused.
    pub(super) fn refused(error: &impl fmt::Debug) -> Self {
        Self { records: 0, whole: false, end: Cow::Owned(variant(error)) }
    }
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Notes where a panic happened: for the hook, which prints nothing.
pub(super) fn note_place(place: Option<&Location<'_>>) {
    PLACE.set(place.map(ToString::to_string));
}

/// Runs `read`, and turns a panic into an error; that is followed by the input as one may paste it.
pub(super) fn guarded(
    read: impl FnOnce() -> Result<Done, String>,
    input: impl FnOnce() -> String,
) -> Result<Done, String> {
    let outcome = catch_unwind(AssertUnwindSafe(read));
    let result = outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        let place = PLACE.take().map(|place| format!("{place}: ")).unwrap_or_default();
        Err(format!("panic: {place}{}", text.unwrap_or("without a text")))
    });
    result.map_err(|what| format!("{what}\n{}", input()))
}

/// The name of an error's variant, with that of the error within: what kinds of refusals an input
/// can come to is counted.
fn variant(error: &impl fmt::Debug) -> String {
    let text = format!("{error:?}");
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let name = |text: &str| text.chars().take_while(|c| is_name(*c)).collect::<String>();
    let outer = name(&text);
    let inner = text[outer.len()..].strip_prefix('(').map(name).unwrap_or_default();
    // A tuple of a string, or of an error that is a struct of another crate, has no variant.
    if inner.is_empty() { outer } else { format!("{outer}.{inner}") }
}
