//! The gain of TRIM: restored speed, and less wear.

use trimbench_core::Caveat;

use super::choice::Simulated;
use super::facts::{Facts, Found};
use super::table::{Fact, Known};
use super::{NO_WEAR, Reason, SHARE, STEADY_SHARE, WEAR_RATIO};
use crate::record::Session;
use crate::role::Role;

/// The gain of TRIM.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Benefit {
    /// Speed or wear, for these reasons.
    Some(Vec<Reason>),
    /// Neither, although measured: the drive has no work that TRIM could save.
    None(Vec<Reason>),
    /// Neither, although there was work to save: TRIM freed nothing.
    NoEffect(Vec<Reason>),
    /// Unknown: no method measured it, or not precisely enough.
    Unmeasured,
}

/// The result of one session.
enum Sign {
    Gain(Reason),
    /// No gain. Whether the drive wrote no more than the host did, so that none was possible.
    Nothing(Reason, bool),
    NoEffect(Reason),
}

impl Benefit {
    pub(super) fn of(facts: &Facts<'_>, simulated: Option<&Simulated<'_>>) -> Self {
        let recovery = facts.sessions().filter_map(|it| recovery(facts, it));
        let steady = facts.sessions().filter_map(|it| steady(facts, it));
        let replay = facts.sessions().filter_map(|it| replay(facts, it));
        let simulated =
            simulated.and_then(Simulated::saves).into_iter().flat_map(|(gain, found)| {
                let sign = |it| if gain { Sign::Gain(it) } else { Sign::Nothing(it, true) };
                found.into_iter().map(sign).collect::<Vec<_>>()
            });
        let (mut gains, mut none, mut no_effect) = (Vec::new(), Vec::new(), Vec::new());
        let mut impossible = false;
        for sign in recovery.chain(steady).chain(replay).chain(simulated) {
            match sign {
                Sign::Gain(reason) => gains.push(reason),
                Sign::NoEffect(reason) => no_effect.push(reason),
                Sign::Nothing(reason, no_wear) => {
                    none.push(reason);
                    impossible |= no_wear;
                }
            }
        }
        if !gains.is_empty() {
            Self::Some(gains)
        } else if !no_effect.is_empty() {
            Self::NoEffect(no_effect)
        } else if impossible || none.len() > 1 {
            Self::None(none)
        } else {
            Self::Unmeasured
        }
    }

    /// The fact for the table. That TRIM had no effect says that it does not reach the drive.
    pub(super) fn fact(&self) -> Fact {
        match self {
            Self::Some(reasons) => Fact::new(Known::Yes, reasons.clone()),
            Self::None(reasons) => Fact::new(Known::No, reasons.clone()),
            Self::NoEffect(_) | Self::Unmeasured => Fact::unknown(),
        }
    }
}

/// Two write amplifications, without TRIM and with it.
struct Wear<'a> {
    without: Found<'a>,
    with: Found<'a>,
}

impl<'a> Wear<'a> {
    fn of(without: Option<Found<'a>>, with: Option<Found<'a>>) -> Option<Self> {
        Some(Self { without: without?, with: with? })
    }

    fn falls(&self) -> bool {
        self.without.value() >= self.with.value() * WEAR_RATIO
    }

    /// The drive worked, and as much with TRIM.
    fn stays(&self) -> bool {
        self.without.value() >= WEAR_RATIO
            && self.without.value() < self.with.value() * (1.0 + SHARE)
    }

    fn text(&self) -> String {
        let (without, with) = (self.without.quantity(), self.with.quantity());
        format!("write amplification {without} without TRIM, {with} with it")
    }

    fn short(&self) -> String {
        let (without, with) = (self.without.quantity(), self.with.quantity());
        format!("write amplification {without}, {with} with TRIM")
    }
}

/// How TRIM changes the speed that a session measured.
struct Speed<'a> {
    text: String,
    figures: Vec<Found<'a>>,
    /// TRIM makes it faster.
    gain: bool,
    /// There is no lost speed that TRIM could restore.
    none: bool,
}

/// The sign of a speed and a wear that were measured together.
fn sign(session: &Session, speed: Speed<'_>, wear: Option<&Wear<'_>>) -> Option<Sign> {
    let Speed { mut text, mut figures, gain, none } = speed;
    if let Some(wear) = wear {
        text = format!("{text}; {}", wear.text());
        figures.extend([wear.without, wear.with]);
    }
    let said = Reason::new(text, &figures);
    let said = match wear {
        Some(wear) => said.in_short(wear.short()),
        None => said,
    };
    if gain || wear.is_some_and(Wear::falls) {
        return Some(Sign::Gain(said));
    }
    // A part of a drive has more spare area than the whole, which hides what TRIM would bring.
    let parts = [Caveat::PartOfDrive, Caveat::PartOfFullDrive].map(Caveat::id);
    if session.caveats.iter().any(|id| parts.contains(&id.as_str())) {
        return None;
    }
    if wear.is_some_and(Wear::stays) {
        return Some(Sign::NoEffect(said));
    }
    let no_wear = wear.is_some_and(|wear| wear.without.value() <= NO_WEAR);
    none.then_some(Sign::Nothing(said, no_wear))
}

/// A fragmented drive, and the share of its sequential speed that TRIM restores.
fn recovery<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let figure = |role| facts.within(it, &role);
    let (before, after) = (figure(Role::FragmentedSpeed)?, figure(Role::RecoveredSpeed)?);
    let wear = Wear::of(figure(Role::FragmentedWear), figure(Role::RecoveredWear));
    let text = format!(
        "fragmented, it writes at {} of its fresh speed; after TRIM at {}",
        before.quantity(),
        after.quantity()
    );
    let figures = vec![before, after];
    let gain = after.value() >= before.value() + SHARE;
    let slow = before.value() < 1.0 - SHARE;
    if slow && !gain && !wear.as_ref().is_some_and(Wear::falls) {
        return Some(Sign::NoEffect(Reason::new(text, &figures)));
    }
    sign(it.1, Speed { text, figures, gain, none: !slow }, wear.as_ref())
}

/// Random writes in the long run, with a share trimmed and without: the share that brings most.
fn steady<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let unsteady = |found: &Found<'_>| {
        found.figure.caveats.iter().chain(&it.1.caveats).any(|id| id == Caveat::NoSteadyState.id())
    };
    let percent = |found: &Found<'_>| match found.figure.role {
        Some(Role::SteadyGain { trimmed_percent }) => Some(trimmed_percent),
        _ => None,
    };
    let gains = facts.figures(it).filter_map(|found| Some((percent(&found)?, found)));
    let (trimmed_percent, gain) = gains.max_by(|a, b| a.1.value().total_cmp(&b.1.value()))?;
    let figure = |role| facts.within(it, &role);
    let rate = |trimmed_percent| figure(Role::SteadyRate { trimmed_percent });
    let rates = [Some(gain), rate(0), rate(trimmed_percent)];
    if rates.iter().flatten().any(unsteady) {
        return None;
    }
    let wear = |trimmed_percent| figure(Role::SteadyWear { trimmed_percent });
    let wear = Wear::of(wear(0), wear(trimmed_percent));
    let more = gain.value() >= 1.0 + STEADY_SHARE;
    let times = if more {
        format!("run at {} times the IOPS", gain.quantity())
    } else {
        "are no faster".to_owned()
    };
    let text = format!("with {trimmed_percent} % trimmed, random writes {times} in the long run");
    let speed = Speed { text, figures: vec![gain], gain: more, none: true };
    sign(it.1, speed, wear.as_ref())
}

/// A trace with and without its TRIMs: the net gain, including the cost of TRIM.
fn replay<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let (pace, gain) = best_gain(facts, it)?;
    let wear = |trims| facts.within(it, &Role::TraceWear { pace: pace.to_owned(), trims });
    let wear = Wear::of(wear(false), wear(true));
    let (more, less) = (gain.value() >= 1.0 + SHARE, gain.value() <= 1.0 - SHARE);
    let text = match (more, less) {
        (true, _) => format!("a trace does {} times the writes with TRIM", gain.quantity()),
        (_, true) => "a trace is slower with its TRIMs".to_owned(),
        _ => "a trace is no faster with its TRIMs".to_owned(),
    };
    let speed = Speed { text, figures: vec![gain], gain: more, none: !less };
    sign(it.1, speed, wear.as_ref())
}

/// The highest average gain of a trace with its own TRIMs, and how it was paced.
pub(super) fn best_gain<'a>(
    facts: &Facts<'a>,
    it: (usize, &'a Session),
) -> Option<(&'a str, Found<'a>)> {
    let pace = |found: &Found<'a>| match &found.figure.role {
        Some(Role::TraceGain { pace }) => Some(pace.as_str()),
        _ => None,
    };
    let few = Caveat::TooFewPoints.id();
    let enough = |found: &Found<'_>| !found.figure.caveats.iter().any(|id| id == few);
    let gains = facts.figures(it).filter(enough).filter_map(|found| Some((pace(&found)?, found)));
    gains.max_by(|a, b| a.1.value().total_cmp(&b.1.value()))
}
