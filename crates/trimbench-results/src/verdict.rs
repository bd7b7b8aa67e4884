//! Verdicts: what to make of a figure.
//!
//! A verdict is an id with its numbers; [`Display`] makes the words of it where it is shown. Sizes
//! and rounded latencies are texts with units, as options are in the record.
//!
//! Records up to format 2 hold the words only. They are read by the same table, so a verdict whose
//! words change keeps the former words as a row of its own.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::number;

#[cfg(test)]
mod tests;

/// Makes the enum, its words, and the reader of words, from one table: the variant with its
/// numbers, and the words with each number once, in the order of the fields.
macro_rules! verdicts {
    ($($variant:ident $({ $($field:ident: $type:ty),+ })? => $words:literal;)*) => {
        /// What to make of a figure.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "id", rename_all = "kebab-case")]
        #[serde(expecting = "the words of a verdict, or an object with the `id` of a known one")]
        #[expect(clippy::doc_markdown, reason = "the words hold the names of numbers")]
        #[non_exhaustive]
        pub enum Verdict {
            $(#[doc = $words] $variant $({ $(#[doc = stringify!($field)] $field: $type),+ })?,)*
            /// One of another version, in words.
            #[serde(untagged)]
            Other(String),
        }

        impl Display for Verdict {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant $({ $($field),+ })? => {
                        $($(let $field = $field.in_words(stringify!($field));)+)?
                        write!(formatter, $words)
                    })*
                    Self::Other(words) => formatter.write_str(words),
                }
            }
        }

        impl Verdict {
            /// Its stable id, as in the record; `None` for words of another version.
            pub fn id(&self) -> Option<String> {
                match self {
                    $(Self::$variant { .. } => Some(kebab(stringify!($variant))),)*
                    Self::Other(_) => None,
                }
            }

            /// All ids.
            pub fn ids() -> impl Iterator<Item = String> {
                [$(stringify!($variant)),*].into_iter().map(kebab)
            }

            /// The verdict that has these words; [`Self::Other`] if there is none.
            pub(crate) fn from_words(words: &str) -> Self {
                $(if let Some(verdict) = holes($words, words).and_then(|holes| {
                    let mut _holes = holes.into_iter();
                    Some(Self::$variant $({ $($field: _holes.next()?.parse().ok()?),+ })?)
                }) {
                    return verdict;
                })*
                Self::Other(words.to_owned())
            }
        }
    };
}

verdicts! {
    // A deletion against deletions of nothing after the same writes.
    DiffersFromPlacebo => "differs from placebo";
    NotToldFromPlacebo => "noise: not told apart from placebo";
    NothingToNotice => "nothing to notice";
    NoSlowdownFound { at_most: String } => "no slowdown found (at most {at_most})";
    FasterThanPlacebo => "invalid: faster than placebo, which no deletion can be";
    StallsAtAnySize => "stalls, whatever the size";
    StallsBySizeOrNot => "stalls: whether larger files longer is not told";
    // The highest rate of deletion.
    LoadAloneExceeds => "the load alone exceeds the limit";
    RateInChunks { chunk: String, limit_ms: f64 } => "in chunks of {chunk}: limit {limit_ms} ms";
    NoRate { limit_ms: f64 } => "none found: limit {limit_ms} ms";
    RateAsHighAsTried => "as high as was tried";
    RateConfirmed => "confirmed";
    RateNotConfirmed => "not confirmed";
    RateTooHigh { mb_per_s: u64 } => "{mb_per_s} MB/s is too much";
    // Where a stall lies.
    StallNotLocated => "not located: the requests of its devices could not be seen";
    NothingStalled => "no write took longer than the threshold";
    StallIn { layer: String, percent: f64 } => "{layer}: {percent} % of it";
    // Repetitions.
    AllTheSame { repetitions: u64 } => "{repetitions} repetitions came to the same";
    NothingToCompare => "measured as it is mounted: this says nothing about TRIM";
    Noise => "noise";
    Differs => "differs";
    // A mount option against another one.
    MoreThanIsNoticed { limit: String } => "noticeable: more than {limit}";
    NoticedOrNot { limit: String } => "differs; whether by more than {limit} is not told";
    LessThanIsNoticed { limit: String } => "differs, by less than {limit}: not noticeable";
    BetterThanWithout => "better than with `nodiscard`";
    NoDifferenceFound { at_most: String } => "no difference found (at most {at_most})";
    // TRIM of the whole drive.
    WholeTrims { full: String, empty: String, span: String } =>
        "{full} full, {empty} empty: a TRIM of all {span}";
    WholeTrimsAlike { full: String, empty: String, span: String, repetitions: u64 } =>
        "{full} full, {empty} empty: a TRIM of all {span}; {repetitions} repetitions came to the \
         same";
    SpanTrims { full: String, empty: String, span: String } =>
        "{full} full, {empty} empty: a TRIM of {span}";
    SpanTrimsAlike { full: String, empty: String, span: String, repetitions: u64 } =>
        "{full} full, {empty} empty: a TRIM of {span}; {repetitions} repetitions came to the same";
    // Trim policies.
    PolicyToChoose { policy: String, slack: String, lost: String, front: String } =>
        "`{policy}`: the lowest p99.9 of those within {slack} of the least write amplification, \
         of those within {lost} of the highest throughput; not beaten in both p99.9 and \
         amplification: {front}";
    ToChoose => "to choose";
    Front => "front";
    TargetKept => "kept";
    TargetKeptRarely { trim: String } => "kept by trimming rarely: one TRIM takes {trim}";
    TargetNeverPossible { trim: String } =>
        "not possible: one TRIM takes {trim}; missed without any TRIM too";
    TargetNotPossible { trim: String } => "not possible: one TRIM takes {trim}";
    TargetMissedAnyway => "missed, and without any TRIM too";
    TargetMissed => "missed";
    // The systems that discard.
    HurtsLeast { system: String, slack: String } =>
        "`{system}`: its longest wait is the shortest, of systems within {slack} of the least \
         write amplification";
    ShortestWait { system: String } => "`{system}`: its longest wait is the shortest";
    LeastWait { system: String, without: String, slack: String } =>
        "under `{system}`; without any TRIM {without}; the shortest of systems that one may be \
         told to use and that write within {slack} of the least to the flash";
    LeastWaitOnly { system: String, without: String } =>
        "under `{system}`; without any TRIM {without}; the shortest of systems that one may be \
         told to use, whatever they write to the flash";
    // A drive against itself when fresh.
    FasterThanFresh => "faster than fresh, which is no reference here";
    SlowerThanFresh => "slower than fresh";
    NoTrace => "random writes leave no trace";
    NoTraceInSpeed => "no trace in the speed: something else than the flash limits it";
    NothingToHeal => "nothing to heal";
    Healed => "healed";
    PartlyHealed => "partly healed";
    NotHealed => "not healed";
    NothingToRecover => "nothing to recover from";
    BackToNew => "back to new";
    PartlyRecovered => "partly recovered";
    NotRecovered => "not recovered";
    PurgedByTrim => "not measurable against fresh: purged by TRIM";
    DataFlatter => "compressible data make the drive look better than it is";
    DataMakeNoDifference => "the data make no difference";
    // A trace with and without its TRIMs.
    TrimPays => "TRIM pays";
    TrimCosts => "TRIM costs more than it brings";
    TrimMakesNoDifference => "TRIM makes no difference on average";
    // Settling after a TRIM.
    SettledAtOnce => "at its pace at once";
    SlowerAfter { slowed: u64, trims: u64 } => "slower after {slowed} of {trims} TRIMs";
    NotSettledAt { open: u64, points: u64 } => "not reached at {open} of {points} points";
    NotSettled => "not reached";
    SettledWithin { at_most: String } =>
        "at its pace at once, or within {at_most}: less is not told from the pace's own noise";
    SlowerForAtLeast { open: u64, trims: u64 } =>
        "at least: not at its pace within the window after {open} of {trims} TRIMs";
    AtLeast => "at least: not at its pace within the window";
    // The steady state.
    SteadyAt { round: u64 } => "steady at round {round}";
    SteadyAndSettled { round: u64, percent: f64, writes: u64 } =>
        "steady at round {round}, settled: write amplification changed by {percent} % in the last \
         of {writes} drive writes after it";
    SteadyButDrifts { round: u64, percent: f64, writes: u64 } =>
        "steady at round {round}, still drifting: write amplification changed by {percent} % in \
         the last of {writes} drive writes after it";
    NotSteady { rounds: u64 } => "not steady after {rounds} rounds";
    TrimmedSpaceHelps => "trimmed space helps";
    SlowerThanWithout => "slower than without";
    NoDifference => "no difference";
    FallsInTheLongRun => "falls in the long run";
    RisesInTheLongRun => "rises in the long run";
    HoldsInTheLongRun => "holds in the long run";
    // Rates that keep a response time.
    RateKept { percent: f64, sustained: u64 } =>
        "{percent} % of the {sustained} a second that the drive sustains";
    RateKeptBeside { percent: f64, sustained: u64, without: u64 } =>
        "{percent} % of the {sustained} a second that the drive sustains; without TRIMs {without}";
    NoRateKept { sustained: u64 } =>
        "no rate that was tried keeps it; the drive sustains {sustained} a second";
    NoRateKeptBeside { sustained: u64, without: u64 } =>
        "no rate that was tried keeps it; the drive sustains {sustained} a second; without TRIMs \
         {without}";
    // What lies beside TRIMs.
    NothingChecked => "nothing was checked";
    IntactButWritesLost => "intact, but writes were lost";
    IntactButPromiseBroken => "intact, but a promise is broken";
    NoLossShows => "no loss shows: trimmed blocks keep reading their old data";
    Intact => "intact";
    DataLost { case: String, lba: u64 } =>
        "data lost that was not trimmed: first in `{case}` at LBA {lba}";
    DataLostTwice { case: String, lba: u64 } =>
        "data lost that was not trimmed: first in `{case}` at LBA {lba} and in 1 other case";
    DataLostOften { case: String, lba: u64, others: u64 } =>
        "data lost that was not trimmed: first in `{case}` at LBA {lba} and in {others} other \
         cases";
    // What trimmed blocks read as.
    NothingTrimmed => "nothing was trimmed";
    ForeignData => "broken: trimmed blocks read as other blocks' data";
    NoPromise { reads: String } => "no promise; reads {reads}";
    PromiseUnknown { reads: String } => "promise unknown; reads {reads}";
    PromiseBroken { promised: String, reads: String } =>
        "broken: promises {promised}, reads {reads}";
    PromiseKeptButEdges { promised: String } =>
        "kept: {promised} as promised; partly trimmed granules keep old data";
    PromiseKept { promised: String } => "kept: {promised} as promised";
    StableButEdges { reads: String } =>
        "kept: the same at each read, {reads}; partly trimmed granules keep old data";
    Stable { reads: String } => "kept: the same at each read, {reads}";
    // Sizes and rows of a sweep.
    InDiscardsOf { size: String, queue_depth: f64 } =>
        "in discards of {size}, queue depth {queue_depth}";
    LoadLowered { asked: u64, served: u64 } =>
        "of {asked} a second the drive serves {served} without any TRIM: half of that is the load";
    LoadNotServed { served: u64 } => "the drive serves {served} a second without any TRIM";
    InRow { row: String } => "in the row {row}";
    NoSizeKeeps { keep: String, smallest: String, latency: String, statistic: String } =>
        "no size keeps {keep}: already one of {smallest} takes {latency} ({statistic}); \
         `discard_max_bytes` cannot help";
    WriteDiscardMax {
        bytes: u64,
        statistic: String,
        latency: String,
        discards: u64,
        next: String,
        next_latency: String
    } =>
        "write {bytes} into `queue/discard_max_bytes` ({statistic} {latency} of {discards} \
         discards; {next} takes {next_latency})";
    EverySizeKeeps { statistic: String, latency: String, discards: u64 } =>
        "the largest size that was measured keeps it ({statistic} {latency} of {discards} \
         discards): nothing to write";
}

impl Verdict {
    /// Whether it says that the effect is not told apart from none.
    pub fn is_noise(&self) -> bool {
        matches!(
            self,
            Self::Noise
                | Self::NotToldFromPlacebo
                | Self::NoSlowdownFound { .. }
                | Self::NoDifferenceFound { .. }
        )
    }
}

/// The name of a variant as `serde` writes it: `steady-at` of `SteadyAt`.
fn kebab(name: &str) -> String {
    let mut id = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !id.is_empty() {
            id.push('-');
        }
        id.push(letter.to_ascii_lowercase());
    }
    id
}

/// A number or text of a verdict.
trait VerdictField {
    /// How the field of this name stands in the words.
    fn in_words(&self, name: &str) -> String;
}

impl VerdictField for String {
    fn in_words(&self, _: &str) -> String {
        self.clone()
    }
}

impl VerdictField for f64 {
    fn in_words(&self, _: &str) -> String {
        number::thousandths(*self)
    }
}

impl VerdictField for u64 {
    /// What one types, or looks for on a drive, has no commas.
    fn in_words(&self, name: &str) -> String {
        if matches!(name, "bytes" | "lba") { self.to_string() } else { number::count(*self) }
    }
}

/// What stands in `words` in place of each `{name}` of `template`; `None` if the rest differs.
fn holes<'a>(template: &str, words: &'a str) -> Option<Vec<&'a str>> {
    let mut pieces = template.split(['{', '}']).step_by(2);
    let mut rest = words.strip_prefix(pieces.next()?)?;
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty().then(Vec::new) };
    rest = rest.strip_suffix(last)?;
    let mut found = Vec::new();
    for piece in pieces {
        let (hole, behind) = rest.split_once(piece)?;
        found.push(hole);
        rest = behind;
    }
    found.push(rest);
    Some(found)
}
