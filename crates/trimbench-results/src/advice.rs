//! The verdict: what the owner of a drive or filesystem should do about TRIM, and why.
//!
//! Input: the sessions of one target, whatever methods were run. Each rule asks one question and
//! compares a figure with a limit, a constant with its reason: does TRIM destroy data, does it
//! reach the drive, what does it gain, what does it cost a concurrent load, and at which pace does
//! it cost nothing? `docs/reference/verdicts.md` lists all rules.
//!
//! Noise decides nothing: a figure with an interval is on one side of a limit only if the whole
//! interval is. An invalid figure ([`Session::believes`]) decides nothing either; if it would
//! change the answer were it valid, there is no answer. So an invalid figure never leads to a
//! recommendation.

use std::fmt;

use serde::Serialize;

use crate::record::Session;
use crate::role::Role;

mod benefit;
mod cost;
mod facts;
mod pace;
mod words;

#[cfg(test)]
mod tests;

use benefit::Benefit;
use cost::Cost;
use facts::{Facts, Found, Trust};
use words::shown;

/// The smallest noticeable stutter, s/GB: a deletion of 5 GB then delays other requests by 0.1 s,
/// the longest response time that feels instantaneous \[NIEL93\].
pub const STUTTER_S_PER_GB: f64 = 0.02;
/// The longest latency of a read or write that nobody notices, s: \[NIEL93\] again, and the limit
/// of \[HLK\] for 98.5 % of the accesses during TRIMs.
pub const WAIT_S: f64 = 0.1;
/// A TRIM that takes longer than this, s, can alone explain why other requests wait: the default
/// limit of `trim-sweep`. Also the highest p99.9 under `ext4` that nobody notices in `policy`:
/// the default target of `paced`.
pub const LONG_TRIM_S: f64 = 0.01;
/// How much online TRIM may add to the duration of `postmark`, %: repeated runs of file benchmarks
/// on one machine differ by 4 to 5 %, so half of this would not be noticeable.
pub const SLOWDOWN_PERCENT: f64 = 10.0;
/// The longest acceptable stall of writers after a mass deletion, s: the longest pause that does
/// not interrupt a user's thought \[NIEL93\].
pub const STORM_STALL_S: f64 = 1.0;
/// A share of the speed that counts as a gain or loss: `recovery` and `replay` use the same.
pub const SHARE: f64 = 0.02;
/// The same for the IOPS of a steady state, which may rise by twice that while it is called one.
pub const STEADY_SHARE: f64 = 0.05;
/// The ratio of two write amplifications that counts: from this amplification on `recovery`, too,
/// says that the drive worked.
pub const WEAR_RATIO: f64 = 1.1;
/// Below this write amplification TRIM cannot reduce wear.
pub const NO_WEAR: f64 = 1.05;

/// What to do, why, and how sure that is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What to do.
    pub action: Action,
    /// The reasons, the most important first.
    pub because: Vec<Reason>,
    /// What would change the answer, each with its number, in words.
    pub would_change: Vec<String>,
    /// Questions that no session answers, and the method that answers each.
    pub not_measured: Vec<String>,
}

/// What the owner should do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// Online TRIM: its cost is not noticeable.
    MountWithDiscard,
    /// Batched TRIM at a quiet time: TRIM has a gain, and its cost is noticeable or unknown.
    WeeklyFstrim,
    /// Online TRIM at a limited rate.
    PacedTrim {
        /// The policy that the method `policy` found best, with `ext4` and others beaten.
        policy: Option<String>,
        /// The highest rate of deletion that keeps the stated p99.9, MB/s.
        rate_mb_per_s: Option<f64>,
        /// The pieces in which it keeps it, MiB.
        chunk_mib: Option<f64>,
    },
    /// Online TRIM in pieces of at most this.
    SmallerDiscardMax {
        /// What to write into `queue/discard_max_bytes`.
        bytes: u64,
    },
    /// TRIM does not reach the drive, or the drive ignores it.
    TrimDoesNotReach,
    /// TRIM destroys data outside of the trimmed range.
    DoNotTrim,
    /// TRIM makes the drive neither faster nor less worn.
    NothingToGain,
    /// Too little was measured, or too few figures are valid.
    Unknown,
}

/// A reason for an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// In words, with its numbers.
    pub text: String,
    /// The figures that it is drawn from: index of the session, id of the figure.
    pub figures: Vec<(usize, String)>,
}

impl Action {
    /// Stable id.
    pub fn id(&self) -> &'static str {
        match self {
            Self::MountWithDiscard => "mount-with-discard",
            Self::WeeklyFstrim => "weekly-fstrim",
            Self::PacedTrim { .. } => "paced-trim",
            Self::SmallerDiscardMax { .. } => "smaller-discard-max",
            Self::TrimDoesNotReach => "trim-does-not-reach",
            Self::DoNotTrim => "do-not-trim",
            Self::NothingToGain => "nothing-to-gain",
            Self::Unknown => "unknown",
        }
    }

    /// The answer in a line, for people.
    pub fn title(&self) -> String {
        match self {
            Self::MountWithDiscard => "mount with `discard`".to_owned(),
            Self::WeeklyFstrim => {
                "trim once a week with `fstrim`, at a quiet time, and mount without `discard`"
                    .to_owned()
            }
            Self::PacedTrim { policy: Some(policy), .. } => {
                format!("trim at a pace: the policy `{policy}`")
            }
            Self::PacedTrim { rate_mb_per_s, chunk_mib, .. } => {
                let rate = rate_mb_per_s.map(|rate| format!(" at most {}", shown(rate, "MB/s")));
                let chunk = chunk_mib.map(|chunk| format!(" in pieces of {}", shown(chunk, "MiB")));
                format!("trim at a pace:{}{}", rate.unwrap_or_default(), chunk.unwrap_or_default())
            }
            Self::SmallerDiscardMax { bytes } => {
                format!("write {bytes} into `queue/discard_max_bytes`, and mount with `discard`")
            }
            Self::TrimDoesNotReach => {
                "TRIM does not reach the drive: find the layer that swallows it".to_owned()
            }
            Self::DoNotTrim => "do not trim this drive: data beside it are lost".to_owned(),
            Self::NothingToGain => "leave TRIM off: there is nothing to gain".to_owned(),
            Self::Unknown => "not enough is known for an answer".to_owned(),
        }
    }

    /// Whether it says to trim, in one way or another.
    pub fn is_recommendation(&self) -> bool {
        matches!(
            self,
            Self::MountWithDiscard
                | Self::WeeklyFstrim
                | Self::PacedTrim { .. }
                | Self::SmallerDiscardMax { .. }
        )
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.title())
    }
}

impl Reason {
    fn new(text: impl Into<String>, figures: &[Found<'_>]) -> Self {
        let figures = figures.iter().map(|found| (found.session, found.figure.id.clone()));
        Self { text: text.into(), figures: figures.collect() }
    }
}

/// Advice from the sessions of one target: one drive, or one filesystem on it. Sessions that were
/// left out or are not finished are ignored.
pub fn advise(sessions: &[&Session]) -> Advice {
    let believed = answer(&Facts::new(sessions, Trust::Valid));
    let doubtful = facts::doubtful(sessions).into_iter();
    let again: Vec<String> = doubtful
        .map(|what| format!("{what} is invalid and did not count: measure it again"))
        .collect();
    let certain = again.is_empty() || !believed.action.is_recommendation();
    let all = answer(&Facts::new(sessions, Trust::All));
    if certain || all.action == believed.action {
        let would_change = [believed.would_change, again].concat();
        return Advice { would_change, ..believed };
    }
    let text = format!(
        "what is valid says \"{}\"; with the invalid figures it would be \"{}\"",
        believed.action, all.action
    );
    let because = [vec![Reason::new(text, &[])], believed.because].concat();
    Advice { action: Action::Unknown, because, would_change: again, ..believed }
}

/// The rules, in the order in which they decide.
fn answer(facts: &Facts<'_>) -> Advice {
    let harm = facts.harm();
    let benefit = Benefit::of(facts);
    let cost = Cost::of(facts);
    let reach = facts.unreached(&benefit);
    let not_measured = not_measured(facts, &benefit, &cost);
    let decided = |action: Action, because: Vec<Reason>, would_change: Vec<String>| Advice {
        action,
        because,
        would_change,
        not_measured: not_measured.clone(),
    };
    if !harm.is_empty() {
        let change = "a run of `trim-integrity` that loses nothing, after an update of the \
                      drive's firmware";
        return decided(Action::DoNotTrim, harm, vec![change.to_owned()]);
    }
    if !reach.is_empty() {
        let change = "discards that arrive: look for the layer that takes none (`lsblk --discard`; \
                      dm-crypt without `allow-discards`, a RAID controller, a USB bridge)";
        return decided(Action::TrimDoesNotReach, reach, vec![change.to_owned()]);
    }
    if let Benefit::None(because) = benefit {
        let change = format!(
            "a load that fragments the drive, so that it writes more than {NO_WEAR} bytes for \
             each of the host's or loses {:.0} % of its speed",
            SHARE * 100.0
        );
        return decided(Action::NothingToGain, because, vec![change]);
    }
    let gains = benefit.into_reasons();
    let noticed = matches!(cost, Cost::Noticed(_));
    // One load, however well compared, does not undo what another method saw.
    let policy = pace::by_policy(facts).filter(|(action, _)| match action {
        Action::MountWithDiscard => !noticed,
        Action::NothingToGain => gains.is_empty(),
        _ => true,
    });
    if let Some((action, because)) = policy {
        let change = "another load: the choice of `policy` holds for the rate, the share of reads \
                      and the deletions that it was run with";
        return decided(action, [because, gains].concat(), vec![change.to_owned()]);
    }
    let wanted = !gains.is_empty();
    match cost {
        Cost::Fine(because) => {
            let change = cost::limits_that_hold(facts);
            decided(Action::MountWithDiscard, [because, gains].concat(), change)
        }
        Cost::Noticed(because) => {
            let (action, found, change) = pace::noticed(facts);
            decided(action, [because, found, gains].concat(), change)
        }
        Cost::Unclear(because) if wanted => {
            let change = vec![format!(
                "a stutter that is surely below {STUTTER_S_PER_GB} s/GB (more `repetitions` of \
                 `delete-stall`): then mount with `discard`"
            )];
            decided(Action::WeeklyFstrim, [gains, because].concat(), change)
        }
        Cost::Unmeasured if wanted => {
            let change = vec![format!(
                "a stutter below {STUTTER_S_PER_GB} s/GB in `delete-stall`: then mount with \
                 `discard`"
            )];
            decided(Action::WeeklyFstrim, gains, change)
        }
        Cost::Unclear(because) => decided(Action::Unknown, because, Vec::new()),
        Cost::Unmeasured => decided(Action::Unknown, Vec::new(), Vec::new()),
    }
}

/// The questions that no valid figure answers.
fn not_measured(facts: &Facts<'_>, benefit: &Benefit, cost: &Cost) -> Vec<String> {
    let mut missing = Vec::new();
    if matches!(cost, Cost::Unmeasured) {
        missing.push("what TRIM costs while others work (`delete-stall`, `trim-sweep`)");
    }
    if matches!(benefit, Benefit::Unmeasured) && !facts.has(&Role::PolicyChoice) {
        missing.push("what TRIM brings (`recovery`, `steady-state`, `replay`)");
    }
    if !facts.has(&Role::NeighboursLost) {
        missing.push("whether TRIM harms what lies beside it (`trim-integrity`)");
    }
    if matches!(cost, Cost::Noticed(_)) && !pace::was_sought(facts) {
        missing.push(
            "at which pace it would not be noticed (`delete-stall --set p999-limit=10ms`, \
             `policy`)",
        );
    }
    missing.into_iter().map(str::to_owned).collect()
}
