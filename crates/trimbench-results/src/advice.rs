//! The verdict: what the owner of a drive or filesystem should do about TRIM, and why.
//!
//! Input: the sessions of one target, whatever methods were run. Each rule asks one question and
//! compares a figure with a limit, a constant with its reason: does TRIM destroy data, does it
//! reach the drive, what does it gain, which setting has the least loss where all were simulated,
//! and else what does it cost a concurrent load? `docs/reference/verdicts.md` lists all rules.
//!
//! Noise decides nothing: a figure with an interval is on one side of a limit only if the whole
//! interval is. An invalid figure ([`Session::believes`]) decides nothing either; if it would
//! change the answer were it valid, there is no answer. So an invalid figure never leads to a
//! recommendation. Nor does a session that did not finish; but data that it lost count as those of
//! any other.

use std::fmt;

use serde::Serialize;

use crate::number::significant;
use crate::record::Session;
use crate::role::Role;

mod agreement;
mod benefit;
mod choice;
mod cost;
mod facts;
mod harm;
mod lines;
mod options;
mod paced;
mod place;

#[cfg(test)]
mod tests;

pub use agreement::Agreement;
pub use choice::{floor_ms, loss};
pub use facts::{drive_name, drive_of};
pub use lines::{
    KERNEL_LINE, LineToType, RULES_FILE, already, lines_to_type, placeholders, template,
};
pub use paced::{PacedSetting, of_rate};
pub use place::{
    DISK, MOUNTPOINT, OPTIONS, PLACEHOLDERS, POOL, Place, SERIAL, TrimFilesystem, UUID,
};

use benefit::Benefit;
use choice::{SettingOutcome, UserSetting};
use cost::Cost;
use facts::{Facts, Found, Trust};

/// The longest single response that nobody notices, s: what feels instantaneous \[NIEL93\], and
/// the limit of \[HLK\] for 98.5 % of the accesses during TRIMs. It is a limit of one response:
/// many short ones that come to as much are not felt so.
pub const WAIT_S: f64 = 0.1;
/// The highest p99.9 of accesses beside TRIMs that nobody notices, s: the default target of
/// `paced`, and the limit of `trim-sweep`, above which a TRIM can alone explain that others wait.
pub const LONG_TRIM_S: f64 = 0.01;
/// A p99.9 after deletions is that after placebos if it is no more than this many times as high:
/// two runs of one load differ as much. Assumed.
pub const TAIL_ALIKE: f64 = 1.1;
/// And longer for certain if it is higher than this many times. Assumed.
pub const TAIL_LONGER: f64 = 1.5;
/// The share of the time for which accesses may be overdue: a thousandth does not reach the p99.9
/// of a day.
pub const OVERDUE_SHARE: f64 = 0.001;
/// What is deleted in a day at most, GB: a third of what a client drive of 1 TB is rated for
/// (600 TB in five years). Assumed; the card says from which amount on its answer changes.
pub const DELETED_GB_A_DAY: f64 = 100.0;
/// What differs by no more than this share is alike: the costs of a GB that two methods measured,
/// beyond their intervals, and the losses of two settings. Repeated runs of file benchmarks on one
/// machine differ by 4 to 5 %.
pub const ALIKE_SHARE: f64 = 0.05;
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

/// The card of one drive: what to do, why, and how sure that is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What to do.
    pub action: Action,
    /// The figure that decided, in a few words; what is missing where there is no answer.
    pub deciding: String,
    /// The lines to type for it: only what has to change.
    pub lines: Vec<LineToType>,
    /// What stands above lines that the reader has to complete; `None` if they are complete.
    pub template: Option<&'static str>,
    /// What is as it should be already, in words.
    pub already: Option<String>,
    /// Where the lines are to be typed.
    #[serde(skip)]
    pub place: Place,
    /// The reasons, the most important first.
    pub because: Vec<Reason>,
    /// What would change the answer, each with its number, in words.
    pub would_change: Vec<String>,
    /// Questions that no session answers, and the method that answers each; figures that a record
    /// lacks.
    pub not_measured: Vec<String>,
    /// Methods that say nothing here: the drive's profile was fitted through another one only, so
    /// their figures are outside its calibration.
    pub outside: Vec<String>,
    /// What else was found, and cannot be followed.
    pub remarks: Vec<String>,
    /// Whether methods that measured one cost agree.
    pub agreement: Vec<Agreement>,
    /// The highest rate of deletion that keeps a stated latency, as settings of programs that pace
    /// their deletions.
    pub paced: Vec<PacedSetting>,
}

impl Advice {
    /// What no figure answers, and figures that answer nothing.
    pub fn open_questions(&self) -> Vec<String> {
        let outside: Vec<String> = self.outside.iter().map(|it| format!("`{it}`")).collect();
        let outside = (!outside.is_empty()).then(|| {
            format!(
                "what a real drive would do in {}: the profile was fitted through another method \
                 only, so their figures are outside its calibration and support nothing",
                outside.join(", ")
            )
        });
        self.not_measured.iter().cloned().chain(outside).collect()
    }
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
    /// Online TRIM in pieces of at most this, where a simulation showed a gain.
    SmallerDiscardMax {
        /// What to write into `queue/discard_max_bytes`.
        bytes: u64,
    },
    /// TRIM does not reach the drive, or the drive ignores it.
    TrimDoesNotReach,
    /// TRIM destroys data that were not trimmed, or mixes up blocks.
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
    /// The number that counts, in a few words.
    pub short: String,
    /// The figures that it is drawn from: index of the session, id of the figure.
    pub figures: Vec<(usize, String)>,
    /// The steps in which it was seen: index of the session, id of the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(usize, String)>,
}

impl Action {
    /// All ids, in the order of the documentation.
    pub const IDS: [&'static str; 7] = [
        "mount-with-discard",
        "weekly-fstrim",
        "smaller-discard-max",
        "trim-does-not-reach",
        "do-not-trim",
        "nothing-to-gain",
        "unknown",
    ];

    /// Stable id.
    pub fn id(&self) -> &'static str {
        match self {
            Self::MountWithDiscard => "mount-with-discard",
            Self::WeeklyFstrim => "weekly-fstrim",
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
            Self::SmallerDiscardMax { bytes } => {
                format!("write {bytes} into `queue/discard_max_bytes`, and mount with `discard`")
            }
            Self::TrimDoesNotReach => {
                "TRIM does not reach the drive: find the layer that swallows it".to_owned()
            }
            Self::DoNotTrim => "do not trim this drive: TRIM destroys data on it".to_owned(),
            Self::NothingToGain => "leave TRIM off: there is nothing to gain".to_owned(),
            Self::Unknown => "not enough is known for an answer".to_owned(),
        }
    }

    /// The answer in two or three words.
    pub fn short(&self) -> &'static str {
        match self {
            Self::MountWithDiscard => "mount with `discard`",
            Self::WeeklyFstrim => "weekly `fstrim`",
            Self::SmallerDiscardMax { .. } => "smaller discards",
            Self::TrimDoesNotReach => "TRIM gets lost",
            Self::DoNotTrim => "do not trim",
            Self::NothingToGain => "leave TRIM off",
            Self::Unknown => "no answer",
        }
    }

    /// Whether it says to trim, in one way or another.
    pub fn is_recommendation(&self) -> bool {
        matches!(self, Self::MountWithDiscard | Self::WeeklyFstrim | Self::SmallerDiscardMax { .. })
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
        let text = text.into();
        Self { short: text.clone(), text, figures: figures.collect(), steps: Vec::new() }
    }

    /// The same with these few words where there is little room.
    fn in_short(self, short: impl Into<String>) -> Self {
        Self { short: short.into(), ..self }
    }
}

/// The card of one drive, from all sessions on it and on filesystems on it. Sessions that were
/// left out or are not finished are ignored, except for the data that they lost.
pub fn advise(sessions: &[&Session]) -> Advice {
    let facts = Facts::new(sessions, Trust::Valid);
    let believed = answer(&facts);
    let doubtful = facts::doubtful(sessions);
    let again =
        doubtful.iter().map(|what| format!("{what}, so it did not count: measure it again"));
    let again: Vec<String> = again.collect();
    let certain = again.is_empty() || !believed.action.is_recommendation();
    let all = answer(&Facts::new(sessions, Trust::All));
    let mut found = if certain || all.action == believed.action {
        Answer { would_change: [believed.would_change, again].concat(), ..believed }
    } else {
        let text = format!(
            "what is valid says \"{}\"; with the invalid figures it would be \"{}\"",
            believed.action, all.action
        );
        let because = [vec![Reason::new(text, &[])], believed.because].concat();
        Answer { action: Action::Unknown, because, would_change: again, ..believed }
    };
    let deciding = found.deciding(&doubtful);
    found.not_measured.extend(facts.lacking());
    let place = Place::of(sessions);
    let lines = lines_to_type(&found.action, &place);
    Advice {
        deciding,
        template: template(&lines, &place),
        already: already(&found.action, &place),
        lines,
        place,
        action: found.action,
        because: found.because,
        would_change: found.would_change,
        not_measured: found.not_measured,
        outside: facts::outside(sessions),
        remarks: choice::proposal(&facts).into_iter().collect(),
        agreement: agreement::all(&facts),
        paced: paced::settings(&facts),
    }
}

/// An answer of the rules.
struct Answer {
    action: Action,
    /// The figure that decided, where it is not that of the first reason.
    deciding: Option<String>,
    because: Vec<Reason>,
    would_change: Vec<String>,
    not_measured: Vec<String>,
}

impl Answer {
    fn new(action: Action, because: Vec<Reason>, would_change: Vec<String>) -> Self {
        Self { action, deciding: None, because, would_change, not_measured: Vec::new() }
    }

    /// What decided, in a few words; where there is no answer what is invalid or missing.
    fn deciding(&self, doubtful: &[String]) -> String {
        let first = self.because.first().map(|reason| reason.short.clone());
        let said = match self.action {
            Action::Unknown => {
                let again = doubtful.first().cloned();
                let unclear = first.map(|short| format!("not clear: {short}"));
                again.or(unclear).or_else(|| self.not_measured.first().cloned())
            }
            _ => first,
        };
        self.deciding.clone().or(said).unwrap_or_default()
    }
}

/// The rules, and the questions that are left.
fn answer(facts: &Facts<'_>) -> Answer {
    let benefit = Benefit::of(facts);
    let cost = Cost::of(facts);
    let outcomes = choice::outcomes(facts);
    let not_measured = not_measured(facts, &benefit, &cost, !outcomes.is_empty());
    let found = relied_on(facts, by_rules(facts, benefit, cost, &outcomes));
    Answer { not_measured, ..found }
}

/// The rules, in the order in which they decide.
fn by_rules(
    facts: &Facts<'_>,
    benefit: Benefit,
    cost: Cost,
    outcomes: &[SettingOutcome<'_>],
) -> Answer {
    let harm = harm::by_trim(facts);
    if !harm.is_empty() {
        let change = "a run of `trim-integrity` that loses nothing, after an update of the \
                      drive's firmware";
        return Answer::new(Action::DoNotTrim, harm, vec![change.to_owned()]);
    }
    if let Some(because) = facts.without_discard() {
        let change = "a run while the filesystem is mounted with `discard`: `mount -o \
                      remount,discard` does that, and `nodiscard` undoes it";
        let deciding = Some(because.short.clone());
        let answer = Answer::new(Action::Unknown, vec![because], vec![change.to_owned()]);
        return Answer { deciding, ..answer };
    }
    let reach = facts.unreached(&benefit);
    if !reach.is_empty() {
        let change = "discards that arrive: look for the layer that takes none (dm-crypt without \
                      `allow-discards`, a RAID controller, a USB bridge)";
        return Answer::new(Action::TrimDoesNotReach, reach, vec![change.to_owned()]);
    }
    if let Benefit::None(because) = benefit {
        let change = format!(
            "a load that fragments the drive, so that it writes more than {NO_WEAR} bytes for \
             each of the host's or loses {} % of its speed",
            significant(SHARE * 100.0)
        );
        return Answer::new(Action::NothingToGain, because, vec![change]);
    }
    let gains = benefit.into_reasons();
    by_loss(facts, &cost, &gains, outcomes).unwrap_or_else(|| by_cost(facts, cost, gains))
}

/// No recommendation where the drive breaks its promise, or loses data without any TRIM.
fn relied_on(facts: &Facts<'_>, found: Answer) -> Answer {
    let against = harm::by_drive(facts);
    if against.is_empty() || !found.action.is_recommendation() {
        return found;
    }
    let change = "a run of `trim-integrity` in which every block reads as it was written, or as \
                  the drive promises, after an update of the drive's firmware";
    let because = [against, found.because].concat();
    Answer::new(Action::Unknown, because, vec![change.to_owned()])
}

/// Where the settings were simulated on one load: the one with the least loss.
fn by_loss(
    facts: &Facts<'_>,
    cost: &Cost,
    gains: &[Reason],
    outcomes: &[SettingOutcome<'_>],
) -> Option<Answer> {
    let veto = Cost::veto(facts);
    let large = Cost::of_large_deletions(facts);
    let pieces_help = !large.is_empty() && choice::pieces_keep(facts, outcomes);
    let is_open = |outcome: &&SettingOutcome<'_>| match outcome.setting {
        UserSetting::Discard => veto.is_empty(),
        UserSetting::SmallDiscards(_) => pieces_help || choice::pieces_gain(outcomes),
        UserSetting::Weekly => true,
        UserSetting::Nothing => gains.is_empty(),
    };
    let least = outcomes.iter().filter(is_open).map(|it| it.loss).reduce(f64::min)?;
    // Of those that are alike the one that is the least work, and where deletions are noticed the
    // one beside which nobody waits.
    let order = |outcome: &&SettingOutcome<'_>| match outcome.setting {
        UserSetting::Nothing => 0,
        UserSetting::SmallDiscards(_) if pieces_help => 1,
        UserSetting::Weekly if !large.is_empty() => 2,
        UserSetting::Discard => 3,
        UserSetting::Weekly => 4,
        UserSetting::SmallDiscards(_) => 5,
    };
    let alike = outcomes.iter().filter(is_open).filter(|it| it.loss <= least * (1.0 + ALIKE_SHARE));
    let chosen = alike.min_by_key(order)?;
    let action = match chosen.setting {
        UserSetting::Discard => Action::MountWithDiscard,
        UserSetting::SmallDiscards(bytes) => Action::SmallerDiscardMax { bytes },
        UserSetting::Weekly => Action::WeeklyFstrim,
        UserSetting::Nothing => Action::NothingToGain,
    };
    let others = outcomes.iter().filter(|it| it.setting != chosen.setting);
    let simulated = std::iter::once(chosen).chain(others);
    let simulated =
        simulated.map(|it| Reason::new(it.text.clone(), &it.figures).in_short(&it.short));
    let against = match action {
        Action::SmallerDiscardMax { .. } => large.clone(),
        Action::WeeklyFstrim => [veto, large.clone()].concat(),
        _ => Vec::new(),
    };
    let deciding = against.first().map(|reason| reason.short.clone());
    let because = simulated.chain(against).chain(gains.iter().cloned()).collect();
    let change = changes(facts, &action, cost, &large);
    Some(Answer { deciding, ..Answer::new(action, because, change) })
}

/// What would change an answer that a simulation gave.
fn changes(facts: &Facts<'_>, action: &Action, cost: &Cost, large: &[Reason]) -> Vec<String> {
    let load = "another load: the settings were compared with the files, deletions and accesses \
                of the simulation";
    let mut change = vec![load.to_owned()];
    match action {
        Action::MountWithDiscard if !large.is_empty() => {
            let of_large = |it: &Reason| {
                format!(
                    "files as large as those of `delete-stall`: {}; then trim once a week",
                    it.text
                )
            };
            change.extend(large.iter().map(of_large));
        }
        Action::MountWithDiscard if !matches!(cost, Cost::Noticed(_)) => {
            change.extend(cost::limits_that_hold(facts));
        }
        Action::WeeklyFstrim => change.push(
            "somebody who waits while `fstrim` runs: set another `OnCalendar` (`systemctl edit \
             fstrim.timer`)"
                .to_owned(),
        ),
        _ => {}
    }
    change
}

/// Where no simulation compared the settings: by what online TRIM costs others.
fn by_cost(facts: &Facts<'_>, cost: Cost, gains: Vec<Reason>) -> Answer {
    let wanted = !gains.is_empty();
    let below = || {
        vec![format!(
            "a p99.9 after deletions of at most {} ms, and no single wait of more than {WAIT_S} s \
             (`delete-stall`): then mount with `discard`",
            LONG_TRIM_S * 1e3
        )]
    };
    match cost {
        Cost::Fine(because) => {
            let change = cost::limits_that_hold(facts);
            Answer::new(Action::MountWithDiscard, [because, gains].concat(), change)
        }
        Cost::Noticed(because) => {
            let rest = agreement::at_rest(facts);
            let rest = rest.map(|(text, found)| Reason::new(text, &[found]));
            let because = because.into_iter().chain(rest).chain(gains).collect();
            Answer::new(Action::WeeklyFstrim, because, below())
        }
        Cost::Unclear(because) if wanted => {
            let because = [gains, because].concat();
            Answer::new(Action::WeeklyFstrim, because, below())
        }
        Cost::Unmeasured if wanted => Answer::new(Action::WeeklyFstrim, gains, below()),
        Cost::Unclear(because) => Answer::new(Action::Unknown, because, Vec::new()),
        Cost::Unmeasured => Answer::new(Action::Unknown, Vec::new(), Vec::new()),
    }
}

/// The questions that no valid figure answers.
fn not_measured(facts: &Facts<'_>, benefit: &Benefit, cost: &Cost, compared: bool) -> Vec<String> {
    let mut missing = Vec::new();
    if matches!(cost, Cost::Unmeasured) && !compared {
        missing.push("what TRIM costs while others work (`delete-stall`, `trim-sweep`)");
    }
    if matches!(benefit, Benefit::Unmeasured) && !compared {
        missing.push("what TRIM brings (`recovery`, `steady-state`, `replay`)");
    }
    if !facts.has(&Role::NeighboursLost) && harm::by_trim(facts).is_empty() {
        missing.push("whether TRIM harms what lies beside it (`trim-integrity`)");
    }
    if !facts.has(&Role::DeletionRate) && matches!(cost, Cost::Noticed(_)) {
        missing.push(
            "at which rate programs that pace their deletions would not be noticed \
             (`delete-stall --set p999-limit=10ms`)",
        );
    }
    missing.into_iter().map(str::to_owned).collect()
}
