//! The card of a drive against a simulation of everything that a Linux user can set on it.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_results::advice::{drive_of, floor_ms, loss};
use trimbench_results::{Action, RunRecord, Session, advise};

use crate::acceptance::runs::figure;
use crate::acceptance::{Bar, Context, Finding, Form, Raw, short};

#[cfg(test)]
mod tests;

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
/// The smaller `discard_max_bytes` that the judge tries.
const SMALL: &str = "discard-max=1MiB";
/// What a card's choice may cost over the best setting.
const COST_MOST: f64 = 1.1;

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
/// How many of those, in %, the bar must hold on.
const DRAWN_LEAST: f64 = 95.0;

fn drives(form: Form) -> Vec<String> {
    match form {
        Form::Full => {
            let named = BUILT_IN.into_iter().chain(MADE_UP).map(str::to_owned);
            named.chain(drawn(&mut Rng::new(DRAWN_SEED))).collect()
        }
        Form::Short | Form::Acceptance => SHORT.map(str::to_owned).to_vec(),
    }
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

/// The files of raw output of one drive.
const PARTS: [&str; 4] = ["drive", "files", "judge", "judge-small"];

fn part(index: usize, part: &str) -> String {
    format!("{index:02}-{part}")
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let [of_drive, of_files, of_judge, of_small] = PARTS;
    for (index, drive) in drives(context.form()).into_iter().enumerate() {
        let below = format!("sim:{drive},{CAPACITY}");
        let files = format!("ext4:{below}");
        let small = format!("ext4,{SMALL}:{below}");
        let judged = ["--set", "systems=ext4,fstrim-ext4,none", "--set", "drive-writes=5"];
        let online = ["--set", "systems=ext4", "--set", "drive-writes=5"];
        let runs: [(&str, &[&str], &str, &[&str]); 4] = [
            (of_drive, &ON_DRIVE, &below, &[]),
            (of_files, &ON_FILES, &files, &[]),
            (of_judge, &["kernels"], &files, &judged),
            (of_small, &["kernels"], &small, &online),
        ];
        for (name, methods, target, options) in runs {
            let name = part(index, name);
            let arguments = [&["run"], methods, &["--target", target, "--no-report"], options];
            let mut command = context.trimbench(&arguments.concat())?;
            command.arg("--output").arg(context.folder().join(&name));
            // An invalid figure is for the card to leave out.
            context.capture(&name, &mut command)?;
        }
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let drives = drives(raw.form());
    let count = drives.len();
    let cards = drives.into_iter().enumerate().map(|(index, drive)| Judged::of(raw, index, drive));
    let mut judged: Vec<Judged> = cards.collect::<Result<_>>()?;
    let mut findings = Vec::new();
    if raw.form() == Form::Full {
        findings.push(of_drawn(raw, &judged.split_off(count - DRAWN))?);
    }
    findings.extend(of_named(raw, &judged)?);
    Ok(findings)
}

/// How often the bar holds on drives that nobody chose.
fn of_drawn(raw: &Raw, judged: &[Judged]) -> Result<Finding> {
    let holds = |it: &&Judged| it.cards == 1 && it.cost.is_some_and(|cost| cost <= COST_MOST);
    let share = 100.0 * judged.iter().filter(holds).count() as f64 / judged.len() as f64;
    let rows: Vec<String> = judged.iter().map(Judged::row).collect();
    let capture = raw.capture(&part(BUILT_IN.len() + MADE_UP.len(), PARTS[2]))?;
    let what = format!("drives of {DRAWN} drawn at random on which the choice costs no more");
    let finding = Finding::new(&what, (share, "%"), Bar::AtLeast(DRAWN_LEAST), &capture);
    Ok(finding.with_note(&rows.join("; ")))
}

/// The cards of the drives that were chosen.
fn of_named(raw: &Raw, judged: &[Judged]) -> Result<Vec<Finding>> {
    let capture = raw.capture(&part(0, PARTS[2]))?;
    let count = judged.len() as f64;
    let least = if raw.form() == Form::Full { 40.0 } else { count };
    let with_choice = judged.iter().filter(|it| it.cost.is_some()).count() as f64;
    let rows: Vec<String> = judged.iter().map(Judged::row).collect();
    let misses = judged.iter().filter(|it| it.cost.is_some_and(|cost| cost > COST_MOST));
    let worst = judged.iter().filter_map(|it| it.cost).fold(0.0, f64::max);
    let cards = judged.iter().filter(|it| it.cards != 1).count() as f64;
    Ok(vec![
        Finding::new(
            "drives whose card names a setting",
            (with_choice, ""),
            Bar::AtLeast(least),
            &capture,
        )
        .with_note(&rows.join("; ")),
        Finding::new(
            "drives whose card names none",
            (count - with_choice, ""),
            Bar::Equals(0.0),
            &capture,
        ),
        Finding::new(
            "drives with another number of cards than one",
            (cards, ""),
            Bar::Equals(0.0),
            &capture,
        ),
        Finding::new(
            "drives on which the card's choice costs more than a tenth over the best setting",
            (misses.count() as f64, ""),
            Bar::Equals(0.0),
            &capture,
        ),
        Finding::new(
            "loss of the card's choice over that of the best setting, the greatest",
            (worst, ""),
            Bar::AtMost(COST_MOST),
            &capture,
        ),
    ])
}

/// A card, and the losses that the judge found.
struct Judged {
    drive: String,
    cards: usize,
    action: Action,
    /// What each setting loses over the best: discard, the same in small pieces, weekly, nothing.
    losses: [f64; 4],
    /// What the card's choice does; `None` if it names no setting.
    cost: Option<f64>,
}

impl Judged {
    fn of(raw: &Raw, index: usize, drive: String) -> Result<Self> {
        let record = |name: &str| raw.record(&format!("{}/run.json", part(index, name)));
        let [of_drive, of_files, of_judge, of_small] = PARTS;
        let ordinary = [record(of_drive)?, record(of_files)?];
        let sessions: Vec<&Session> = ordinary.iter().flat_map(|it| &it.sessions).collect();
        let mut names: Vec<String> = sessions.iter().map(|session| drive_of(session)).collect();
        names.sort();
        names.dedup();
        let action = advise(&sessions).action;
        let losses = losses(&record(of_judge)?, &record(of_small)?)?;
        // Where either will do, the reader may take the dearer one.
        let cost = match action {
            Action::EitherWillDo => Some(losses[0].max(losses[2])),
            _ => setting(&action).map(|setting| losses[setting]),
        };
        Ok(Self { drive, cards: names.len(), action, losses, cost })
    }

    fn row(&self) -> String {
        let [discard, small, weekly, nothing] = self.losses.map(short);
        format!(
            "{}: {} (discard {discard}, in small pieces {small}, weekly {weekly}, nothing \
             {nothing})",
            self.drive,
            self.action.id()
        )
    }
}

/// Which of the settings a card asks for.
fn setting(action: &Action) -> Option<usize> {
    match action {
        Action::MountWithDiscard => Some(0),
        Action::SmallerDiscardMax { .. } => Some(1),
        Action::WeeklyFstrim => Some(2),
        Action::NothingToGain | Action::DoNotTrim | Action::TrimDoesNotReach => Some(3),
        _ => None,
    }
}

/// The loss of each setting over the least.
fn losses(judge: &RunRecord, small: &RunRecord) -> Result<[f64; 4]> {
    let session = |record: &RunRecord| record.sessions.first().cloned().context("no session");
    let (judge, small) = (session(judge)?, session(small)?);
    let of = |session: &Session, what: &str, system: &str| -> Result<f64> {
        Ok(figure(session, &format!("{what}-under-{system}"))?.value)
    };
    let wait = |session: &Session, system: &str| of(session, "p99.9-read", system);
    let wear = |session: &Session, system: &str| of(session, "amplification", system);
    let without = wait(&judge, "none")?;
    let floor = floor_ms(without);
    let losses = [
        loss(wear(&judge, "ext4")?, wait(&judge, "ext4")?, floor),
        loss(wear(&small, "ext4")?, wait(&small, "ext4")?, floor),
        // Nobody waits when fstrim.timer runs.
        loss(wear(&judge, "fstrim-ext4")?, without, floor),
        loss(wear(&judge, "none")?, without, floor),
    ];
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(losses.map(|loss| loss / best))
}
