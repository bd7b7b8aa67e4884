//! The choice among the settings that a Linux user has, by a loss that is computed from what each
//! of them came to on the same load.

use trimbench_core::Bytes;

use super::cost::Cost;
use super::facts::{Facts, Found};
use super::table::{Fact, Known};
use super::{ALIKE_SHARE, CLOSE, LONG_TRIM_S, Reason, WEAR_RATIO};
use crate::record::Session;
use crate::role::Role;
use crate::verdict::Verdict;

/// What a Linux user can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserSetting {
    /// Mounted with `discard`.
    Discard,
    /// The same, with so much in `queue/discard_max_bytes`.
    SmallDiscards(u64),
    /// `fstrim` once a week, at a quiet time.
    Weekly,
    /// No TRIM at all.
    Nothing,
}

/// What a setting came to under one load.
#[derive(Clone, Debug)]
pub(super) struct SettingOutcome<'a> {
    pub(super) setting: UserSetting,
    /// The loss over that of the best setting of the same load, at least 1.
    pub(super) loss: f64,
    pub(super) text: String,
    pub(super) short: String,
    pub(super) figures: Vec<Found<'a>>,
    /// How long others wait over what they wait without any TRIM, or over what is noticed,
    /// whichever is longer; 0 for those that trim beside nobody.
    wait: f64,
    /// Whether they wait no longer than without any TRIM.
    waits_alike: bool,
    wear: f64,
}

/// The settings that were simulated on one load.
#[derive(Clone, Debug)]
pub(super) struct Simulated<'a> {
    pub(super) outcomes: Vec<SettingOutcome<'a>>,
    /// The largest deletion of the simulations; `None` where a record does not say so.
    pub(super) deletion: Option<Bytes>,
}

/// What was measured of one setting, before it is compared.
struct Under<'a> {
    setting: UserSetting,
    /// How long others wait, ms; `None` for those that trim beside nobody.
    wait: Option<Found<'a>>,
    wear: Found<'a>,
}

/// The loss: write amplification times the wait, where a wait below `floor` is as good as none.
/// Both are ratios, and a tenth more of one weighs as much as a tenth more of the other.
pub fn loss(wear: f64, wait_ms: f64, floor_ms: f64) -> f64 {
    wear * (wait_ms.max(floor_ms) / floor_ms)
}

/// The wait below which nobody notices TRIM, ms: what others wait without any TRIM, or the limit
/// of a wait that is noticed, whichever is longer.
pub fn floor_ms(without_trim_ms: f64) -> f64 {
    without_trim_ms.max(LONG_TRIM_S * 1e3)
}

impl<'a> Simulated<'a> {
    /// The outcomes of every session that compared the settings. Of a setting that several compared
    /// the one with the greatest loss: no load is overridden by another.
    pub(super) fn of(facts: &Facts<'a>) -> Option<Self> {
        let mut worst: Vec<SettingOutcome<'a>> = Vec::new();
        let mut deletion = None;
        for it in facts.sessions() {
            let compared = by_policy(facts, it).or_else(|| by_kernels(facts, it));
            if compared.is_some() {
                deletion = deletion.max(Facts::deletions(it.1).map(|it| it.largest));
            }
            for outcome in compared.unwrap_or_default() {
                match worst.iter_mut().find(|other| other.setting == outcome.setting) {
                    Some(other) if other.loss < outcome.loss => *other = outcome,
                    Some(_) => {}
                    None => worst.push(outcome),
                }
            }
        }
        (!worst.is_empty()).then_some(Self { outcomes: worst, deletion })
    }

    fn outcome(&self, setting: UserSetting) -> Option<&SettingOutcome<'a>> {
        self.outcomes.iter().find(|it| it.setting == setting)
    }

    fn reason(&self, setting: UserSetting) -> Option<Reason> {
        self.outcome(setting).map(SettingOutcome::reason)
    }

    /// Whether the cost of online TRIM is noticeable: by the wait, and by whether it is more than
    /// what online TRIM saves of wear.
    pub(super) fn noticeable(&self) -> Fact {
        let both = self.outcome(UserSetting::Discard).zip(self.outcome(UserSetting::Weekly));
        let Some((discard, weekly)) = both else { return Fact::unknown() };
        let over = discard.loss / weekly.loss;
        let known = if discard.waits_alike || discard.wait <= 1.0 / CLOSE {
            Known::No
        } else if discard.wait > CLOSE && over > 1.0 + ALIKE_SHARE {
            Known::Yes
        } else {
            Known::Close
        };
        let because = [UserSetting::Discard, UserSetting::Weekly].map(|it| self.reason(it));
        Fact::new(known, because.into_iter().flatten().collect())
    }

    /// What TRIM saves of wear: the reasons, and whether that is a gain; `None` where it is between
    /// a gain and none.
    pub(super) fn saves(&self) -> Option<(bool, Vec<Reason>)> {
        let none = self.outcome(UserSetting::Nothing)?;
        let weekly = self.outcome(UserSetting::Weekly)?;
        let discard = self.outcome(UserSetting::Discard)?;
        let ratio = none.wear / weekly.wear.min(discard.wear);
        let because = [none, weekly].map(SettingOutcome::reason).to_vec();
        if ratio >= WEAR_RATIO {
            Some((true, because))
        } else {
            (ratio <= 1.0 + ALIKE_SHARE).then_some((false, because))
        }
    }

    /// `discard` in small pieces, if that is best: where large deletions are noticed by what was
    /// measured, and small pieces cure that; or where nothing is noticed by what was measured, and
    /// the simulation prefers them to every other setting that is open.
    pub(super) fn best_in_pieces(
        &self,
        facts: &Facts<'_>,
        cost: &Cost,
        has_gain: bool,
    ) -> Option<(u64, Vec<Reason>)> {
        let small = self.outcomes.iter().find_map(|it| match it.setting {
            UserSetting::SmallDiscards(bytes) => Some((it, bytes)),
            _ => None,
        });
        let ((small, bytes), discard) = small.zip(self.outcome(UserSetting::Discard))?;
        let is_open = |it: &&SettingOutcome<'_>| match it.setting {
            UserSetting::Discard => cost.is_simulated || cost.fact.known != Known::Yes,
            UserSetting::Nothing => !has_gain,
            UserSetting::Weekly | UserSetting::SmallDiscards(_) => true,
        };
        let others = self.outcomes.iter().filter(is_open).filter(|it| it.setting != small.setting);
        let least = others.map(|it| it.loss).reduce(f64::min)?;
        let keep = !cost.large.is_empty()
            && pieces_keep(facts, discard, small, bytes)
            && small.loss <= least.min(small.loss) * (1.0 + ALIKE_SHARE);
        let is_noticed = !cost.is_simulated && cost.fact.known == Known::Yes;
        let gain = !is_noticed && small.loss * CLOSE < least;
        let because = [small.reason(), discard.reason()].into_iter().chain(cost.large.clone());
        (keep || gain).then(|| (bytes, because.collect()))
    }
}

impl SettingOutcome<'_> {
    fn reason(&self) -> Reason {
        Reason::new(self.text.clone(), &self.figures).in_short(&self.short)
    }
}

/// How ext4 of today is called as a policy; in records of version 1 of the method there is
/// another ext4 in its place.
const ONLINE: [&str; 2] = ["ext4", "online"];
/// The weekly run of fstrim.
const WEEKLY: [&str; 2] = ["fstrim-weekly", "batched"];
const NONE: &str = "none";
/// `ext4` behind a smaller limit for discards, and the option of the method that has the limit.
const SMALL: [&str; 2] = ["ext4-small-discards", "small-discards"];

/// Of the method `policy`. Its TRIMs are spread over the whole run, so that a percentile of all
/// accesses says how rare they are, and not how long one waits beside them: the longest response
/// does.
fn by_policy<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Vec<SettingOutcome<'a>>> {
    let under = |policy: &str| {
        let policy = policy.to_owned();
        let wait = facts.within(it, &Role::PolicyWorst { policy: policy.clone() })?;
        Some((wait, facts.within(it, &Role::PolicyWear { policy })?))
    };
    let any = |names: [&str; 2]| names.into_iter().find_map(&under);
    let bytes = it.1.plan.options.get(SMALL[1]).and_then(|text| text.parse().ok());
    let small = bytes.map(|bytes: trimbench_core::Bytes| bytes.0).zip(under(SMALL[0]));
    let found = Compared { discard: any(ONLINE), small, weekly: any(WEEKLY), none: under(NONE)? };
    found.outcomes("longest response")
}

/// Of the method `kernels`: reads after a mass deletion, and the wear of the last of five drive
/// writes.
fn by_kernels<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Vec<SettingOutcome<'a>>> {
    let under = |system: &str| {
        let system = system.to_owned();
        let wait = facts.within(it, &Role::SystemTail { system: system.clone() })?;
        Some((wait, facts.within(it, &Role::SystemWear { system })?))
    };
    let found = Compared {
        discard: under("ext4"),
        small: None,
        weekly: under("fstrim-ext4"),
        none: under(NONE)?,
    };
    found.outcomes("p99.9 of the reads after a deletion")
}

/// Wait and write amplification.
type WaitAndWear<'a> = (Found<'a>, Found<'a>);

/// What one session found of each setting.
struct Compared<'a> {
    discard: Option<WaitAndWear<'a>>,
    small: Option<(u64, WaitAndWear<'a>)>,
    weekly: Option<WaitAndWear<'a>>,
    none: WaitAndWear<'a>,
}

impl<'a> Compared<'a> {
    /// All outcomes; `None` without those two that are compared in the first place.
    fn outcomes(self, wait: &str) -> Option<Vec<SettingOutcome<'a>>> {
        let floor = floor_ms(self.none.0.value());
        let beside = |setting, (wait, wear)| Under { setting, wait: Some(wait), wear };
        let small = self.small.map(|(bytes, it)| beside(UserSetting::SmallDiscards(bytes), it));
        // fstrim.timer runs on a Monday at midnight, when nobody waits.
        let weekly = Under { setting: UserSetting::Weekly, wait: None, wear: self.weekly?.1 };
        let none = Under { setting: UserSetting::Nothing, wait: None, wear: self.none.1 };
        let all = [Some(beside(UserSetting::Discard, self.discard?)), small, Some(weekly)];
        let all: Vec<Under<'_>> = all.into_iter().flatten().chain([none]).collect();
        let losses: Vec<f64> = all.iter().map(|under| under.loss(floor)).collect();
        let best = losses.iter().copied().reduce(f64::min)?;
        if best <= 0.0 {
            return None;
        }
        let without = self.none.0;
        let outcome = |(under, loss): (Under<'a>, f64)| SettingOutcome {
            setting: under.setting,
            loss: loss / best,
            text: under.text(wait, without),
            short: under.short(without),
            wait: under.wait.map_or(0.0, |wait| wait.value() / floor),
            waits_alike: under
                .wait
                .is_none_or(|wait| wait.value() <= without.value() * (1.0 + ALIKE_SHARE)),
            wear: under.wear.value(),
            figures: match under.wait {
                Some(wait) => vec![wait, without, under.wear],
                None => vec![under.wear],
            },
        };
        Some(all.into_iter().zip(losses).map(outcome).collect())
    }
}

impl Under<'_> {
    fn loss(&self, floor: f64) -> f64 {
        loss(self.wear.value(), self.wait.map_or(0.0, |wait| wait.value()), floor)
    }

    /// In words, with what others wait without any TRIM: a comparison has two sides.
    fn text(&self, wait: &str, without: Found<'_>) -> String {
        let setting = self.setting.words();
        let wear = self.wear.quantity();
        match self.wait {
            Some(found) => format!(
                "simulated, {setting}: {wait} {} (without TRIM {}), write amplification {wear}",
                found.shown(),
                without.shown()
            ),
            None => format!("simulated, {setting}: write amplification {wear}"),
        }
    }

    fn short(&self, without: Found<'_>) -> String {
        let wear = self.wear.quantity();
        self.wait.map_or_else(
            || format!("write amplification {wear}"),
            |found| {
                let (wait, without) = (found.quantity(), without.quantity());
                format!("wait {wait}, without TRIM {without}, write amplification {wear}")
            },
        )
    }
}

impl UserSetting {
    /// In words.
    pub(super) fn words(self) -> String {
        match self {
            Self::Discard => "mounted with `discard`".to_owned(),
            Self::SmallDiscards(bytes) => {
                format!("the same with {bytes} in `queue/discard_max_bytes`")
            }
            Self::Weekly => "`fstrim` once a week".to_owned(),
            Self::Nothing => "no TRIM".to_owned(),
        }
    }
}

/// Whether small pieces cure what large deletions cost: in the simulation they are not noticed for
/// certain, and lose no more; one of them keeps the limit of a long TRIM, and larger ones do not;
/// and that each piece has a cost of its own does not make all of them together dearer.
fn pieces_keep(
    facts: &Facts<'_>,
    discard: &SettingOutcome<'_>,
    small: &SettingOutcome<'_>,
    bytes: u64,
) -> bool {
    let kept = facts.worst(&Role::TrimSizeKept);
    let trim = facts.worst(&Role::TrimLatency);
    let keeps = kept.is_some_and(|kept| kept.value() >= bytes as f64);
    let larger_do_not = kept.is_some_and(|kept| kept.value() < LARGE_DISCARD)
        || trim.is_some_and(|trim| trim.value() > LONG_TRIM_S * 1e3);
    let is_dearer = facts.sessions().any(|it| {
        let of = |role| facts.within(it, &role).map(|found| found.value().max(0.0));
        let costs = of(Role::TrimPerGb).zip(of(Role::TrimEach));
        costs.is_some_and(|(each_gb, each_trim)| {
            let in_pieces = |bytes: f64| each_gb + each_trim / 1e3 * (1e9 / bytes);
            in_pieces(bytes as f64) > in_pieces(LARGE_DISCARD) * DEARER
        })
    });
    let is_unnoticed = small.wait <= CLOSE;
    let loses_no_more = small.loss <= discard.loss * (1.0 + ALIKE_SHARE);
    is_unnoticed && loses_no_more && keeps && larger_do_not && !is_dearer
}

/// From so many times on what a GB costs in small pieces is what others wait for: on 86 emulated
/// drives pieces of 1 MiB were among the best settings up to 1.44 times; of seven between 2.66 and
/// 20 times they were the worst setting on five.
const DEARER: f64 = 2.0;

/// The longest discard that ext4 sends, bytes (a block group of 128 MiB).
const LARGE_DISCARD: f64 = 134_217_728.0;

/// What one finds among policies and cannot have: those that no system follows.
pub(super) fn proposal(facts: &Facts<'_>) -> Option<String> {
    let choice = facts.worst(&Role::PolicyChoice)?;
    let Some(Verdict::PolicyToChoose { policy, .. }) = &choice.figure.verdict else { return None };
    let of_system = ["ext4", "btrfs", "fstrim", "talos", "batched", "online", "deferred"];
    if policy == NONE || of_system.iter().any(|system| policy.starts_with(system)) {
        return None;
    }
    Some(format!(
        "the policy `{policy}` would do better by the rule of `policy` (p99.9 {}), but it is a \
         proposal: no system has it",
        choice.shown()
    ))
}
