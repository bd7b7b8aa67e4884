//! Advice where the cost of online TRIM is noticeable: pace it, limit its size, or trim at a quiet
//! time.

use super::facts::{Facts, Found};
use super::words::shown;
use super::{Action, LONG_TRIM_S, Reason, STUTTER_S_PER_GB, WAIT_S, WEAR_RATIO};
use crate::record::Step;
use crate::role::Role;
use crate::verdict::Verdict;

/// An answer, its reasons, and what would change it.
type Answer = (Action, Vec<Reason>, Vec<String>);

/// Whether a pace was searched for.
pub(super) fn was_sought(facts: &Facts<'_>) -> bool {
    facts.has(&Role::PolicyChoice) || facts.worst(&Role::DeletionRate).is_some()
}

/// How ext4 of today is called as a policy; in records of version 1 of the method there is
/// another ext4 in its place.
const ONLINE: [&str; 2] = ["ext4", "online"];
/// And the weekly run of fstrim.
const WEEKLY: [&str; 2] = ["fstrim-weekly", "batched"];

/// What the comparison of policies found best: it weighs what the foreground feels against what is
/// written for it. `ext4` is as good where what it costs more is not noticed, for nothing else is
/// as easily had.
pub(super) fn by_policy(facts: &Facts<'_>) -> Option<(Action, Vec<Reason>)> {
    let choice = facts.worst(&Role::PolicyChoice)?.figure;
    let Some(Verdict::PolicyToChoose { policy: best, .. }) = &choice.verdict else { return None };
    let best = best.as_str();
    let tail = |policy: &str| facts.worst(&Role::PolicyTail { policy: policy.to_owned() });
    let wear = |policy: &str| facts.worst(&Role::PolicyWear { policy: policy.to_owned() });
    let online = ONLINE.into_iter().find(|name| tail(name).is_some()).unwrap_or(ONLINE[0]);
    let short = tail(online).is_some_and(|it| it.value() <= LONG_TRIM_S * 1e3);
    let little = wear(online)
        .zip(wear(best))
        .is_some_and(|(online, best)| online.value() <= best.value() * WEAR_RATIO);
    let name = if best != "none" && short && little { online } else { best };
    let action = match name {
        // Whichever its era.
        name if name == online || name.starts_with("ext4") => Action::MountWithDiscard,
        name if WEEKLY.contains(&name) => Action::WeeklyFstrim,
        "none" => Action::NothingToGain,
        other => Action::PacedTrim {
            policy: Some(other.to_owned()),
            rate_mb_per_s: None,
            chunk_mib: None,
        },
    };
    let mut others = vec![best, online, "none"];
    others.retain(|other| *other != name);
    others.dedup();
    let side = |policy: &str| {
        let (tail, wear) = (tail(policy)?, wear(policy)?);
        let text = format!(
            "`{policy}`: p99.9 of the foreground {}, write amplification {}",
            tail.shown(),
            wear.shown()
        );
        Some(Reason::new(text, &[tail, wear]))
    };
    Some((action, [name].iter().chain(&others).filter_map(|policy| side(policy)).collect()))
}

/// The advice where the cost of online TRIM is noticeable.
pub(super) fn noticed(facts: &Facts<'_>) -> Answer {
    at_a_rate(facts).or_else(|| in_pieces(facts)).unwrap_or_else(|| at_night(facts))
}

/// The highest rate of deletion that keeps a stated latency.
fn at_a_rate(facts: &Facts<'_>) -> Option<Answer> {
    let rate = facts.worst(&Role::DeletionRate)?;
    if rate.value() <= 0.0 {
        return None;
    }
    let chunk = facts.worst(&Role::DeletionRateChunk);
    let response = facts.worst(&Role::DeletionRateResponse);
    let kept = response.map_or_else(String::new, |it| format!(", with a p99.9 of {}", it.shown()));
    let text = format!("deleting at {} is borne{kept}", rate.shown());
    let figures: Vec<Found<'_>> = [Some(rate), chunk, response].into_iter().flatten().collect();
    let reason = Reason::new(text, &figures);
    let a_day = rate.value() * 86_400.0 / 1e3;
    let change = format!(
        "deletions of more than {} a day, which this rate cannot work off: then trim the rest once \
         a week",
        shown(a_day, "GB")
    );
    let action = Action::PacedTrim {
        policy: None,
        rate_mb_per_s: Some(rate.value()),
        chunk_mib: chunk.map(|chunk| chunk.value()),
    };
    Some((action, vec![reason], vec![change, below()]))
}

/// Smaller pieces, where those for a GB take little time together: all pieces of a large discard
/// are sent at once, so that pieces alone shorten no stop.
fn in_pieces(facts: &Facts<'_>) -> Option<Answer> {
    let (chunk, cost) = pieces(facts)?;
    if cost > STUTTER_S_PER_GB {
        return None;
    }
    let text = format!(
        "TRIMs of {} take {} together, and larger ones longer",
        mebibytes(chunk),
        shown(cost, "s/GB")
    );
    let change = format!(
        "a stutter of still more than {STUTTER_S_PER_GB} s/GB in `delete-stall --set chunk={}B`: \
         then trim once a week",
        chunk.value()
    );
    let action = Action::SmallerDiscardMax { bytes: trimbench_core::units::rounded(chunk.value()) };
    Some((action, vec![Reason::new(text, &[chunk])], vec![change]))
}

/// The smallest chunk that a sweep found, where larger ones take too long: with the time that a GB
/// of them takes, s/GB.
fn pieces<'a>(facts: &Facts<'a>) -> Option<(Found<'a>, f64)> {
    let chunks = facts.sessions();
    let chunks = chunks.filter_map(|it| Some((it.1, facts.within(it, &Role::TrimSizeKept)?)));
    let smallest = chunks.min_by(|a, b| a.1.value().total_cmp(&b.1.value()));
    let (session, chunk) = smallest.filter(|(_, chunk)| chunk.value() > 0.0)?;
    let alone = |step: &&Step| {
        step.kind == "mapped" && step.parameters.get("queue_depth").is_some_and(|it| *it <= 1.0)
    };
    let size = |step: &Step| step.parameters.get("size_bytes").copied().unwrap_or(0.0);
    let mut rows = session.steps.iter().filter(alone);
    if !rows.clone().any(|step| size(step) > chunk.value()) {
        return None;
    }
    let row = rows.find(|step| size(step).to_bits() == chunk.value().to_bits())?;
    let latency = row.metrics.get("latency_s_mean")?;
    Some((chunk, latency / (chunk.value() / 1e9)))
}

/// Once a week, when nobody waits.
fn at_night(facts: &Facts<'_>) -> Answer {
    let mut because = Vec::new();
    if let Some(chunk) = facts.worst(&Role::TrimSizeKept).filter(|it| it.value() == 0.0) {
        let text = "a smaller `discard_max_bytes` cannot help: the smallest TRIM takes too long";
        because.push(Reason::new(text, &[chunk]));
    }
    if let Some((chunk, cost)) = pieces(facts) {
        let text = format!(
            "TRIMs of {} are short, but those for a GB take {} together: a smaller \
             `discard_max_bytes` shortens no stop",
            mebibytes(chunk),
            shown(cost, "s")
        );
        because.push(Reason::new(text, &[chunk]));
    }
    if let Some(full) = facts.worst(&Role::TrimAtRest) {
        let text = format!("at rest, a TRIM of all that was measured takes {}", full.shown());
        because.push(Reason::new(text, &[full]));
    }
    let mut change = vec![below()];
    let stutter = facts.worst(&Role::StutterPerGb).filter(|it| it.value() > 0.0);
    if let Some(stutter) = stutter {
        change.push(format!(
            "a workload that never deletes more than {} at once, which stays below {WAIT_S} s: \
             then mount with `discard`",
            shown(WAIT_S / stutter.value() * 1e3, "MB")
        ));
    }
    (Action::WeeklyFstrim, because, change)
}

fn mebibytes(chunk: Found<'_>) -> String {
    shown(chunk.value() / f64::from(1 << 20), "MiB")
}

/// Below which online TRIM would do.
fn below() -> String {
    format!(
        "a stutter below {STUTTER_S_PER_GB} s/GB, and no wait beside TRIMs of more than {WAIT_S} \
         s: \
         then mount with `discard`"
    )
}
