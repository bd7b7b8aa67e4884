//! The verdict: what the owner of a drive or filesystem should do about TRIM, and why.
//!
//! Input: the sessions of one target, whatever methods were run. Three facts are looked for:
//! whether TRIM reaches the drive, whether its cost to others is noticeable, and whether it brings
//! anything. Each is yes, no, close to its limit, or unknown; [`decide`] is the table of answers.
//! Lost data and a broken promise override it. `docs/reference/verdicts.md` has all of it.
//!
//! Noise decides nothing: a figure with an interval is on one side of a limit only if the whole
//! interval is. An invalid figure ([`Session::believes`]) decides nothing either; if it would
//! change the answer were it valid, there is no answer. So an invalid figure never leads to a
//! recommendation. Nor does a session that did not finish; but data that it lost count as those of
//! any other.

use std::fmt;

use serde::Serialize;

use crate::number::{quantity, significant};
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
mod reach;
mod remedies;
mod table;

#[cfg(test)]
mod tests;

pub use agreement::Agreement;
pub use choice::{floor_ms, loss};
pub use facts::{ask_about, drive_name, drive_of};
pub use lines::{
    KERNEL_LINE, LineToType, RULES_FILE, already, lines_to_type, placeholders, template,
};
pub use paced::{PacedSetting, of_rate};
pub use place::{
    DISK, MOUNTPOINT, OPTIONS, PLACEHOLDERS, POOL, Place, SERIAL, TrimFilesystem, UUID,
};
pub use table::{Decision, Known, decide};

use benefit::Benefit;
use choice::Simulated;
use cost::Cost;
use facts::{Facts, Found, Trust};
use table::Fact;

/// The longest single response that nobody notices, s: what feels instantaneous \[NIEL93\], and
/// the limit of \[HLK\] for 98.5 % of the accesses during TRIMs. It is a limit of one response:
/// many short ones that come to as much are not felt so.
pub const WAIT_S: f64 = 0.1;
/// The highest p99.9 of accesses beside TRIMs that nobody notices, s: the default target of
/// `paced`, and the limit of `trim-sweep`, above which a TRIM can alone explain that others wait.
pub const LONG_TRIM_S: f64 = 0.01;
/// A p99.9 or a longest response after deletions is longer than without for certain if it is more
/// than this many times the p99.9 after placebos: two runs of one load differ by some percent.
/// Assumed.
pub const TAIL_LONGER: f64 = 1.5;
/// Within this factor of a limit a figure is close to it: another seed or another run may be on the
/// other side. The p99.9 of `delete-stall` differed by at most 3 % between three seeds of each of
/// five emulated drives; of real drives it is assumed.
pub const CLOSE: f64 = 1.25;
/// The same of a single longest response, which varies more. Assumed.
pub const CLOSE_SINGLE: f64 = 1.5;
/// For how long one deletion may slow others in all, s: the longest pause that does not interrupt a
/// user's thought \[NIEL93\].
pub const IN_ALL_S: f64 = 1.0;
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
    /// The three facts that the answer follows from.
    pub facts: Vec<StatedFact>,
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
    /// What else helps here, and what was found that cannot be followed.
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
    /// Online TRIM or batched: neither is noticeably better.
    EitherWillDo,
    /// TRIM makes the drive neither faster nor less worn.
    NothingToGain,
    /// Too little was measured, or too few figures are valid.
    Unknown,
}

/// A fact as a card states it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatedFact {
    /// The question: `TRIM reaches the drive`; of a cost with the deletions that it is one of.
    pub question: String,
    /// What is known.
    pub known: Known,
    /// The figure that says so, in a few words; empty where there is none.
    pub by: String,
}

impl StatedFact {
    /// In a line: `TRIM reaches the drive: yes`.
    pub fn text(&self) -> String {
        let known = self.known.word();
        if self.by.is_empty() {
            format!("{}: {known}", self.question)
        } else {
            format!("{}: {known} ({})", self.question, self.by)
        }
    }
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
    pub const IDS: [&'static str; 8] = [
        "mount-with-discard",
        "weekly-fstrim",
        "smaller-discard-max",
        "either-will-do",
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
            Self::EitherWillDo => "either-will-do",
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
            Self::EitherWillDo => {
                "either will do: mount with `discard`, or trim once a week with `fstrim`".to_owned()
            }
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
            Self::EitherWillDo => "either will do",
            Self::NothingToGain => "leave TRIM off",
            Self::Unknown => "no answer",
        }
    }

    /// Whether it says to trim, in one way or another.
    pub fn is_recommendation(&self) -> bool {
        matches!(
            self,
            Self::MountWithDiscard
                | Self::WeeklyFstrim
                | Self::SmallerDiscardMax { .. }
                | Self::EitherWillDo
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
        facts: found.facts,
        template: template(&lines, &place),
        already: already(&found.action, &place),
        lines,
        place,
        action: found.action,
        because: found.because,
        would_change: found.would_change,
        not_measured: found.not_measured,
        outside: facts::outside(sessions),
        remarks: found.remarks.into_iter().chain(choice::proposal(&facts)).collect(),
        agreement: agreement::all(&facts),
        paced: paced::settings(&facts),
    }
}

/// An answer of the rules.
struct Answer {
    action: Action,
    /// The figure that decided, where it is not that of the first reason.
    deciding: Option<String>,
    facts: Vec<StatedFact>,
    because: Vec<Reason>,
    would_change: Vec<String>,
    not_measured: Vec<String>,
    remarks: Vec<String>,
}

impl Answer {
    fn new(action: Action, because: Vec<Reason>, would_change: Vec<String>) -> Self {
        let (facts, not_measured, remarks) = (Vec::new(), Vec::new(), Vec::new());
        Self { action, deciding: None, facts, because, would_change, not_measured, remarks }
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

/// What is known of a target.
struct Target<'a> {
    simulated: Option<Simulated<'a>>,
    benefit: Benefit,
    reaches: Fact,
    cost: Cost,
    brings: Fact,
}

impl<'a> Target<'a> {
    fn of(facts: &Facts<'a>) -> Self {
        let simulated = Simulated::of(facts);
        let benefit = Benefit::of(facts, simulated.as_ref());
        let reaches = reach::reaches(facts, &benefit);
        let cost = Cost::of(facts, simulated.as_ref());
        let brings = benefit.fact();
        Self { simulated, benefit, reaches, cost, brings }
    }

    fn stated(&self) -> Vec<StatedFact> {
        let state = |question: &str, fact: &Fact| StatedFact {
            question: question.to_owned(),
            known: fact.known,
            by: fact.because.first().map_or_else(String::new, |it| it.short.clone()),
        };
        vec![
            state("TRIM reaches the drive", &self.reaches),
            state(&self.cost.question(), &self.cost.fact),
            state("it brings something", &self.brings),
        ]
    }
}

/// The answer of the rules, and the questions that are left.
fn answer(facts: &Facts<'_>) -> Answer {
    let target = Target::of(facts);
    let not_measured = not_measured(facts, &target);
    let found = relied_on(facts, overridden(facts).unwrap_or_else(|| by_table(facts, &target)));
    let remarks = remedies::remedies(facts, target.cost.fact.known);
    Answer { not_measured, remarks, facts: target.stated(), ..found }
}

/// What overrides the table.
fn overridden(facts: &Facts<'_>) -> Option<Answer> {
    let harm = harm::by_trim(facts);
    if !harm.is_empty() {
        let change = "a run of `trim-integrity` that loses nothing, after an update of the \
                      drive's firmware";
        return Some(Answer::new(Action::DoNotTrim, harm, vec![change.to_owned()]));
    }
    let because = facts.without_discard()?;
    let change = "a run while the filesystem is mounted with `discard`";
    let deciding = Some(because.short.clone());
    let answer = Answer::new(Action::Unknown, vec![because], vec![change.to_owned()]);
    Some(Answer { deciding, ..answer })
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

/// The answer of the table, with its reasons and what would change it.
fn by_table(facts: &Facts<'_>, target: &Target<'_>) -> Answer {
    let Target { cost, reaches, brings, .. } = target;
    if let Some(contradiction) = &cost.contradiction {
        let because = [vec![contradiction.clone()], cost.fact.because.clone()].concat();
        let change = "a longer measurement of deletions of this size (`delete-stall --preset \
                      standard`)";
        return Answer::new(Action::Unknown, because, vec![change.to_owned()]);
    }
    let decision = decide(reaches.known, cost.fact.known, brings.known);
    if let Some(answer) = in_pieces(facts, target, decision) {
        return answer;
    }
    let of_cost = || cost.fact.because.clone();
    let of_gain = || brings.because.clone();
    match decision {
        Decision::FindTheLayer => {
            let change = "discards that arrive: look for the layer that takes none (dm-crypt \
                          without `allow-discards`, a RAID controller, a USB bridge)";
            let because = reaches.because.clone();
            Answer::new(Action::TrimDoesNotReach, because, vec![change.to_owned()])
        }
        Decision::Nothing => {
            let change = format!(
                "a load that fragments the drive, so that it writes more than {NO_WEAR} bytes for \
                 each of the host's or loses {} % of its speed",
                significant(SHARE * 100.0)
            );
            Answer::new(Action::NothingToGain, of_gain(), vec![change])
        }
        Decision::Discard => {
            let change = cost::limits_that_hold(facts, Known::Close);
            Answer::new(Action::MountWithDiscard, [of_cost(), of_gain()].concat(), change)
        }
        Decision::Either => {
            let change = cost::limits_that_hold(facts, Known::Yes);
            Answer::new(Action::EitherWillDo, [of_cost(), of_gain()].concat(), change)
        }
        Decision::Weekly => weekly(facts, target),
        Decision::NoAnswer => {
            let because = [reaches.because.clone(), of_cost(), of_gain()].concat();
            Answer::new(Action::Unknown, because, Vec::new())
        }
    }
}

/// `fstrim` once a week: because online TRIM is noticed, or by default.
fn weekly(facts: &Facts<'_>, target: &Target<'_>) -> Answer {
    let Target { cost, brings, .. } = target;
    let mut change = vec![format!(
        "a p99.9 after deletions of at most {}, and no single wait of more than {} \
         (`delete-stall`): then mount with `discard`, if TRIM brings something",
        quantity(LONG_TRIM_S / CLOSE, "s"),
        quantity(WAIT_S / CLOSE_SINGLE, "s")
    )];
    let because = if cost.fact.known == Known::Yes {
        let rest = agreement::at_rest(facts);
        let rest = rest.map(|(text, found)| Reason::new(text, &[found]));
        let gain = brings.because.iter().cloned();
        cost.fact.because.iter().cloned().chain(rest).chain(gain).collect()
    } else {
        let default = "whether `discard` is noticed is not known; a weekly `fstrim` is the default \
                       of Linux distributions, and nobody waits for it at a quiet time";
        let default = Reason::new(default, &[]);
        let known = brings.because.iter().cloned();
        known.chain([default]).chain(cost.fact.because.iter().cloned()).collect()
    };
    change.push(
        "somebody who waits while `fstrim` runs: set another `OnCalendar` (`systemctl edit \
         fstrim.timer`)"
            .to_owned(),
    );
    Answer::new(Action::WeeklyFstrim, because, change)
}

/// Online TRIM in small pieces, where a simulation shows that it is best.
fn in_pieces(facts: &Facts<'_>, target: &Target<'_>, decision: Decision) -> Option<Answer> {
    let is_open = matches!(decision, Decision::Discard | Decision::Weekly | Decision::Either);
    let simulated = target.simulated.as_ref().filter(|_| is_open)?;
    let has_gain = target.brings.known == Known::Yes;
    let (bytes, because) = simulated.best_in_pieces(facts, &target.cost, has_gain)?;
    let because = because.into_iter().chain(target.brings.because.iter().cloned()).collect();
    let change = "another load: the settings were compared with the files, deletions and accesses \
                  of the simulation";
    Some(Answer::new(Action::SmallerDiscardMax { bytes }, because, vec![change.to_owned()]))
}

/// The questions that no valid figure answers.
fn not_measured(facts: &Facts<'_>, target: &Target<'_>) -> Vec<String> {
    let mut missing = Vec::new();
    let mut ask = |question: &str, methods: &[&str]| {
        let (ran, other): (Vec<&str>, Vec<&str>) =
            methods.iter().partition(|method| facts.ran(method));
        let list = |methods: &[&str]| {
            let quoted: Vec<String> = methods.iter().map(|it| format!("`{it}`")).collect();
            quoted.join(", ")
        };
        missing.push(match (ran.as_slice(), other.as_slice()) {
            ([], other) => format!("{question} ({})", list(other)),
            (ran, []) => format!("{question}: the valid figures of {} do not say", list(ran)),
            (ran, other) => format!(
                "{question}: the valid figures of {} do not say; run {}",
                list(ran),
                list(other)
            ),
        });
    };
    if target.cost.fact.known == Known::Unknown {
        ask("what TRIM costs while others work", &["delete-stall", "trim-sweep"]);
    }
    if matches!(target.benefit, Benefit::Unmeasured) {
        ask("what TRIM brings", &["recovery", "steady-state", "replay"]);
    }
    if !facts.has(&Role::NeighboursLost) && harm::by_trim(facts).is_empty() {
        ask("whether TRIM harms what lies beside it", &["trim-integrity"]);
    }
    if !facts.has(&Role::DeletionRate) && target.cost.fact.known == Known::Yes {
        missing.push(
            "at which rate programs that pace their deletions would not be noticed \
             (`delete-stall --set p999-limit=10ms`)"
                .to_owned(),
        );
    }
    missing
}
