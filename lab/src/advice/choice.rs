//! The card of a drive against a simulation of everything that a Linux user can set on it:
//! `discard`, the same in pieces of 1 MiB, `fstrim` once a week, and no TRIM.
//!
//! `kernels`, a method that the card does not have, judges: on an ext4 over five drive writes, with
//! deletions of the size that the card speaks of. A choice costs its loss of
//! `docs/reference/verdicts.md` over that of the best setting. The judge is a model as well: this
//! answers whether the rules choose well, not whether a product behaves as its profile.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ::tests::program::BuiltProgram;
use anyhow::{Context as _, Result, ensure};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_results::advice::{drive_of, floor_ms, loss};
use trimbench_results::{Action, RunRecord, Session, advise};

use super::{alike, contradict};
use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure, short};
use crate::lab::Lab;

#[cfg(test)]
mod tests;

pub(crate) const ENTRY: Entry = Entry {
    name: "choice",
    title: "What a card advises costs at most a tenth more than the best that a user can set, with \
            every seed",
    needs: &[],
    sources: EMULATED,
    run,
};

/// What one would have run on a drive: on the drive itself, and on an ext4 on it.
const ON_DRIVE: [&str; 7] = [
    "delete-stall",
    "trim-sweep",
    "idle-trim",
    "recovery",
    "steady-state",
    "trim-integrity",
    "settle",
];
const ON_FILES: [&str; 3] = ["policy", "postmark", "delete-storm"];
/// Each drive in small: the tables of the full profiles would take five times as long.
const CAPACITY: &str = "capacity=2GiB";
/// Of the judge's drive, and what it deletes there at once: 1 GiB, of which the card speaks.
const JUDGED: &str = "capacity=4GiB";
const DELETED: [&str; 4] = ["--set", "drive-writes=5", "--set", "deleted=25%"];
/// The smaller `discard_max_bytes` that the judge tries.
const SMALL: &str = "discard-max=1MiB";
/// What a card's choice may cost over the best setting, and on how many cards it must, %.
const COST_MOST: f64 = 1.1;
const SHARE_LEAST: f64 = 95.0;
/// From which ratio of their losses on `discard` and the weekly `fstrim` differ, and on how many of
/// the drives where they do every answer must be firm, %.
const DIFFERS: f64 = 1.25;
const FIRM_LEAST: f64 = 90.0;
/// A TRIM of so long, far from the limit of 10 ms and close to it.
const BLOCKING: &str = "generic-sata-tlc,trim.mode=blocking,trim.command=";
const FAR: [&str; 2] = ["5ms", "20ms"];
const NEAR: [&str; 2] = ["9900us", "10300us"];

/// Built in, but vendor1 to vendor6: they are fitted to another load than the judge's.
const BUILT_IN: [&str; 14] = [
    "generic-sata-tlc",
    "like-rc100",
    "like-optane-900p",
    "generic-nvme-tlc",
    "generic-nvme-qlc",
    "generic-nvme-dramless",
    "generic-sata-compressing",
    "like-850-pro",
    "like-m4-256",
    "like-p3500",
    "like-vertex4",
    "like-ssd340",
    "like-m500",
    "like-callaghan-raid0",
];
/// Made up to be difficult.
const MADE_UP: [&str; 32] = [
    // TRIM that is worked off slowly in the background.
    "plain-nvme-tlc,trim.per_gib_mapped=2s",
    "plain-nvme-tlc,trim.per_gib_mapped=2s,trim.background_slice=10ms",
    "plain-nvme-tlc,trim.per_gib_mapped=10s,trim.background_share=90%",
    "plain-nvme-tlc,trim.per_gib_mapped=500ms,trim.background_slice=100us",
    "plain-nvme-tlc,trim.per_gib_mapped=5s,trim.background_slice=20ms",
    "like-850-pro,trim.per_gib_mapped=5s,trim.background_share=80%",
    // An SLC cache that folds.
    "generic-nvme-qlc,slc_cache.when_full=fold",
    "generic-nvme-qlc,slc_cache.when_full=fold,trim.mode=blocking,trim.command=30ms",
    "generic-nvme-qlc,trim.per_gib_mapped=2s",
    "generic-nvme-qlc,trim.mode=queued,trim.per_gib_mapped=200ms",
    // TRIM that is ignored.
    "plain-nvme-tlc,trim.mode=ignored",
    "generic-sata-tlc,trim.mode=ignored,trim.command=50ms",
    "like-rc100,trim.mode=ignored,trim.command=5ms",
    // Blocking, of any time, and in tiny commands.
    "generic-sata-tlc,trim.mode=blocking,trim.command=1ms",
    "generic-sata-tlc,trim.mode=blocking,trim.command=5ms",
    "generic-sata-tlc,trim.mode=blocking,trim.command=10ms",
    "generic-sata-tlc,trim.mode=blocking,trim.command=20ms",
    "generic-sata-tlc,trim.mode=blocking,trim.command=200ms",
    "generic-sata-tlc,trim.range_max=1MiB,trim.command_max=1MiB,trim.command=300us",
    "generic-sata-tlc,trim.per_gib_mapped=1s",
    "generic-sata-tlc,trim.per_gib_mapped=4s",
    // In the queue.
    "plain-nvme-tlc,trim.mode=queued,trim.per_gib_mapped=1s",
    "plain-nvme-tlc,trim.mode=queued,trim.per_gib_mapped=4s",
    "plain-nvme-tlc,trim.mode=queued,trim.command=20ms",
    "like-rc100,trim.per_gib_mapped=60ms",
    "like-rc100,trim.per_gib_mapped=800ms",
    // Compressing, in place, with much spare area and with little.
    "generic-sata-compressing,trim.mode=queued,trim.per_gib_mapped=1s",
    "generic-sata-compressing,trim.command=30ms",
    "like-optane-900p,trim.command=5ms",
    "generic-sata-tlc,drive.over_provisioning=28%",
    "generic-nvme-tlc,drive.over_provisioning=3%",
    "generic-sata-tlc,drive.over_provisioning=50%,trim.command=15ms",
];
/// The short form: one for each answer.
const SHORT: [&str; 4] = [
    "generic-nvme-tlc",
    "like-optane-900p",
    "generic-sata-tlc,trim.per_gib_mapped=1s",
    "generic-sata-tlc,trim.mode=blocking,trim.command=200ms",
];

/// Drives drawn at random, of whose settings the rules of the card know nothing.
const DRAWN: usize = 40;
const DRAWN_SEED: u64 = 20;
const IN_PLACE: &str = "like-optane-900p";

/// Drives that are measured and judged at the same time.
const AT_ONCE: usize = 2;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let program = lab.program()?;
    let named: Vec<&str> =
        lab.form(SHORT.to_vec(), BUILT_IN.iter().chain(&MADE_UP).copied().collect());
    let named: Vec<String> = named.into_iter().map(str::to_owned).collect();
    let drawn = lab.form(Vec::new(), drawn(&mut Rng::new(DRAWN_SEED)));
    let all: Vec<String> = named.iter().chain(&drawn).cloned().collect();
    let judged = side_by_side(&with_seeds(&all, lab.form(1, 8)), |(drive, seed)| {
        Judged::of(program, drive, *seed).with_context(|| format!("{drive}, seed {seed}"))
    })?;
    let (of_named, of_drawn): (Vec<&Judged>, Vec<&Judged>) =
        judged.iter().partition(|it| named.contains(&it.drive));
    let mut figures = vec![best("chosen", &of_named)];
    if !of_drawn.is_empty() {
        figures.push(best("drawn", &of_drawn));
    }
    figures.extend(agreement(&judged));
    figures.extend(thresholds(program, lab.form(2, 20))?);
    Ok(figures)
}

/// Each of these drives with each of so many seeds.
fn with_seeds(drives: &[String], seeds: u64) -> Vec<(String, u64)> {
    let with = |drive: &String| {
        let drive = drive.clone();
        (1..=seeds).map(move |seed| (drive.clone(), seed))
    };
    drives.iter().flat_map(with).collect()
}

/// Built-in drives whose TRIM and spare area are drawn: a mode of TRIM, 10 us to 100 ms for a
/// command, 1 ms to 4 s for a GiB, and 7 to 28 % of over-provisioning, as a dynamic SLC cache needs
/// more than 4.
fn drawn(rng: &mut Rng) -> Vec<String> {
    let of = |rng: &mut Rng, many: &[&'static str]| many[index(rng.below(many.len() as u64))];
    // Each power of two from the least is as likely as any other.
    let between = |rng: &mut Rng, least: u64, doublings: u64| {
        let low = least << rng.below(doublings);
        low + rng.below(low)
    };
    let draw = |_| {
        let base = of(rng, &BUILT_IN);
        let mode = of(rng, &["background", "queued", "blocking"]);
        // A medium that is overwritten in place has nothing to do.
        let mode = if base == IN_PLACE { "none" } else { mode };
        let command = between(rng, 10, 13);
        let gib = between(rng, 1, 12);
        let spare = of(rng, &["7", "9", "12", "20", "28"]);
        let mut drive = format!(
            "{base},trim.mode={mode},trim.command={command}us,trim.per_gib_mapped={gib}ms,\
             drive.over_provisioning={spare}%"
        );
        if mode == "background" {
            let (share, slice) = (of(rng, &["10", "30", "50", "80"]), between(rng, 100, 7));
            let _ =
                write!(drive, ",trim.background_share={share}%,trim.background_slice={slice}us");
        }
        drive
    };
    (0..DRAWN).map(draw).collect()
}

/// A card, and the losses that the judge found with the same seed.
#[derive(Clone, Debug)]
struct Judged {
    drive: String,
    seed: u64,
    action: Action,
    /// What each setting loses over the best: discard, the same in small pieces, weekly, nothing.
    losses: [f64; 4],
}

impl Judged {
    fn of(program: &BuiltProgram, drive: &str, seed: u64) -> Result<Self> {
        let action = card(program, drive, seed)?;
        let small = format!("ext4,{SMALL}:sim:{drive},{JUDGED}");
        let large = format!("ext4:sim:{drive},{JUDGED}");
        let judge = |target: &str, systems: &str| {
            let options = [&["--set", systems][..], &DELETED].concat();
            measured(program, (&["kernels"], target, &options), seed)
        };
        let of_all = judge(&large, "systems=ext4,fstrim-ext4,none")?;
        let losses = losses(&of_all, &judge(&small, "systems=ext4")?)?;
        Ok(Self { drive: drive.to_owned(), seed, action, losses })
    }

    /// What the card's choice loses over the best setting; `None` if it names no setting.
    fn cost(&self) -> Option<f64> {
        let [discard, small, weekly, nothing] = self.losses;
        match self.action {
            Action::MountWithDiscard => Some(discard),
            Action::SmallerDiscardMax { .. } => Some(small),
            Action::WeeklyFstrim => Some(weekly),
            Action::NothingToGain | Action::DoNotTrim | Action::TrimDoesNotReach => Some(nothing),
            // The reader may take the dearer one.
            Action::EitherWillDo => Some(discard.max(weekly)),
            _ => None,
        }
    }

    fn is_best(&self) -> bool {
        self.cost().is_some_and(|cost| cost <= COST_MOST)
    }

    fn differs(&self) -> bool {
        let [discard, _, weekly, _] = self.losses;
        discard.max(weekly) >= DIFFERS * discard.min(weekly)
    }

    fn row(&self) -> String {
        let Self { drive, seed, action, losses } = self;
        let [discard, small, weekly, nothing] = losses.map(short);
        format!(
            "{drive}, seed {seed}: {} (discard {discard}, in small pieces {small}, weekly \
             {weekly}, nothing {nothing})",
            action.id()
        )
    }
}

/// The card of a drive, from the methods that one would have run.
fn card(program: &BuiltProgram, drive: &str, seed: u64) -> Result<Action> {
    let below = format!("sim:{drive},{CAPACITY}");
    let on_drive = measured(program, (&ON_DRIVE, &below, &[]), seed)?;
    let on_files = measured(program, (&ON_FILES, &format!("ext4:{below}"), &[]), seed)?;
    let sessions: Vec<&Session> = on_drive.sessions.iter().chain(&on_files.sessions).collect();
    let mut names: Vec<String> = sessions.iter().map(|session| drive_of(session)).collect();
    names.dedup();
    ensure!(names.len() == 1, "there is a card for each of {names:?}");
    Ok(advise(&sessions).action)
}

/// The record of a run. An invalid figure in it is for the card to leave out, and a promise that
/// the drive breaks for the card to speak of.
fn measured(
    program: &BuiltProgram,
    (methods, target, options): (&[&str], &str, &[&str]),
    seed: u64,
) -> Result<RunRecord> {
    let mut command = program.command(&["run", "--jobs", "1", "--seed"]);
    command.arg(seed.to_string()).args(methods).args(["--target", target]).args(options);
    let (output, record) = program.recorded(&mut command)?;
    output.expect_results()?;
    Ok(record)
}

/// The loss of each setting over the least.
fn losses(judge: &RunRecord, small: &RunRecord) -> Result<[f64; 4]> {
    let of = |record: &RunRecord, what: &str, system: &str| -> Result<f64> {
        let id = format!("{what}-under-{system}");
        let figure = record.sessions.first().and_then(|session| session.figure(&id));
        Ok(figure.with_context(|| format!("the judge found no {id}"))?.value)
    };
    let wait = |record, system| of(record, "p99.9-read", system);
    let wear = |record, system| of(record, "amplification", system);
    let without = wait(judge, "none")?;
    let floor = floor_ms(without);
    let losses = [
        loss(wear(judge, "ext4")?, wait(judge, "ext4")?, floor),
        loss(wear(small, "ext4")?, wait(small, "ext4")?, floor),
        // Nobody waits when fstrim.timer runs.
        loss(wear(judge, "fstrim-ext4")?, without, floor),
        loss(wear(judge, "none")?, without, floor),
    ];
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(losses.map(|loss| loss / best))
}

/// On how many of the cards the choice is the best, or nearly.
fn best(which: &str, judged: &[&Judged]) -> Figure {
    let share = percent(judged.iter().filter(|it| it.is_best()).count(), judged.len());
    let what = format!("cards of {which} drives whose choice costs at most a tenth over the best");
    let misses: Vec<String> = judged.iter().filter(|it| !it.is_best()).map(|it| it.row()).collect();
    let figure = Figure::new(what, (share, "%"), Bar::AtLeast(SHARE_LEAST));
    figure.with_note(counted(judged.len(), &misses.join("; ")))
}

/// Whether the seeds of a drive lead to one answer, and to a firm one where it matters.
fn agreement(judged: &[Judged]) -> Vec<Figure> {
    let mut drives: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
    for it in judged {
        drives.entry(&it.drive).or_default().push(it);
    }
    let actions = |seeds: &Vec<&Judged>| seeds.iter().map(|it| it.action.id()).collect::<Vec<_>>();
    let of: Vec<(&str, Vec<&str>)> =
        drives.iter().map(|(drive, seeds)| (*drive, actions(seeds))).collect();
    let contradicted = of.iter().filter(|(_, all)| contradict(all));
    let contradicted: Vec<&str> = contradicted.map(|(drive, _)| *drive).collect();
    let same = of.iter().map(|(_, all)| alike(all)).sum();
    // Where the settings differ, whether each answer is firm.
    let firm: Vec<(&str, bool)> = drives
        .iter()
        .filter_map(|(drive, seeds)| {
            let mut differing = seeds.iter().filter(|it| it.differs()).peekable();
            differing.peek()?;
            Some((*drive, differing.all(|it| is_firm(&it.action))))
        })
        .collect();
    let open: Vec<&str> = firm.iter().filter(|(_, firm)| !firm).map(|(drive, _)| *drive).collect();
    vec![
        Figure::new(
            "drives on which one seed says discard and another says weekly or off",
            (contradicted.len() as f64, ""),
            Bar::Equals(0.0),
        )
        .with_note(contradicted.join("; ")),
        Figure::new(
            "seeds that give the answer that is the most frequent on their drive",
            (percent(same, judged.len()), "%"),
            Bar::AtLeast(SHARE_LEAST),
        ),
        Figure::new(
            "drives whose answer is firm with each seed, of those on which discard and weekly \
             differ by a quarter",
            (percent(firm.len() - open.len(), firm.len()), "%"),
            Bar::AtLeast(FIRM_LEAST),
        )
        .with_note(counted(firm.len(), &open.join("; "))),
    ]
}

fn is_firm(action: &Action) -> bool {
    !matches!(action, Action::EitherWillDo | Action::Unknown)
}

/// Drives whose TRIMs take about as long as is just noticed.
fn thresholds(program: &BuiltProgram, seeds: u64) -> Result<Vec<Figure>> {
    let drives: Vec<String> = FAR.iter().chain(&NEAR).map(|it| format!("{BLOCKING}{it}")).collect();
    let cards = side_by_side(&with_seeds(&drives, seeds), |(drive, seed)| {
        Ok((drive.clone(), card(program, drive, *seed)?))
    })?;
    let of = |trim: &str| -> Vec<&Action> {
        let drive = format!("{BLOCKING}{trim}");
        cards.iter().filter(|(other, _)| *other == drive).map(|(_, action)| action).collect()
    };
    let ids = |trim: &str| of(trim).into_iter().map(Action::id).collect::<Vec<_>>();
    let far = FAR.map(|trim| {
        let firm = of(trim).into_iter().filter(|action| is_firm(action)).count();
        let what = format!("TRIMs of {trim}: seeds with a firm answer");
        let figure = Figure::new(what, (firm as f64, ""), Bar::Equals(seeds as f64));
        figure.with_note(ids(trim).join(", "))
    });
    let near = NEAR.map(|trim| {
        let all = ids(trim);
        let contradicted = f64::from(u8::from(contradict(&all)));
        let what = format!("TRIMs of {trim}: whether two seeds contradict each other (1: yes)");
        Figure::new(what, (contradicted, ""), Bar::Equals(0.0)).with_note(all.join(", "))
    });
    Ok(far.into_iter().chain(near).collect())
}

/// How many there are, and which of them are not as they should be.
fn counted(count: usize, others: &str) -> String {
    if others.is_empty() { format!("of {count}") } else { format!("of {count}; not: {others}") }
}

fn percent(count: usize, of: usize) -> f64 {
    100.0 * count as f64 / of as f64
}

/// What becomes of each of these, in their order; some are worked on at the same time.
fn side_by_side<T: Sync, R: Send>(
    all: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let worker = || -> Result<()> {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(one) = all.get(at)
        {
            // The others end with what they have begun.
            let result = work(one).inspect_err(|_| next.store(all.len(), Ordering::Relaxed))?;
            done.lock().expect("nobody panics with it").insert(at, result);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|it| it.join().expect("a worker does not panic"))
    })?;
    Ok(done.into_inner().expect("nobody panics with it").into_values().collect())
}
