//! Drives that are slow to discard, with each filesystem and under each pacing law.
//!
//! In one queue a read that arrives t after a discard of c has begun waits c - t (1 - rho), `rho`
//! being the share of the time in which the drive is busy with the reads. So N discards make the
//! reads of N (c - m) / (1 - rho) late, `m` being what the target leaves beside a read's own time.
//!
//! - With `--p99` the share 1 % - s0 of the time is left for that, `s0` being the share that is
//!   late anyway: it takes N (c - m) / ((1 - rho) (1 % - s0)) at least. The bar is half as much
//!   again.
//! - With `--deadline T` the late share is N (c - m) / ((1 - rho) T) + s0, if nothing is wasted.
//!   The bar of the first part is a tenth more.
//!
//! The target is half of a discard, or four times the 99th percentile of the reads alone. Where
//! that comes near a discard, the machine is too busy for this measurement: it is tried again.

use anyhow::{Result, ensure};
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Nanos};

use super::full_filesystem::{FILESYSTEMS, FSTRIM, SOURCES, SlowDrive, trial};
use super::trial::Trimmed;
use crate::entry::{Entry, FILESYSTEMS_ON_DRIVES, NotMeasured};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "slow_drives",
    title: "Reads beside `trimpace --p99` on slow drives keep the target, and it takes little \
            longer than it must",
    needs: FILESYSTEMS_ON_DRIVES,
    sources: SOURCES,
    run,
};

/// The drives, and whether discards and reads share one queue there. The short form takes the
/// first.
const DRIVES: [(SlowDrive, bool); 5] = [
    (TEN_MS, true),
    (
        SlowDrive {
            name: "100 ms a discard",
            profile: "plain-nvme-tlc,trim.mode=blocking,trim.command=100ms,\
                      trim.per_gib_mapped=500ms",
            deleted: 9,
            ..TEN_MS
        },
        true,
    ),
    (SlowDrive { name: "vendor2", profile: "vendor2", deleted: 10, rate: 200, ..TEN_MS }, true),
    (
        SlowDrive {
            name: "like-rc100",
            profile: "like-rc100",
            file: Bytes::mib(16),
            files: 40,
            deleted: 20,
            ..TEN_MS
        },
        true,
    ),
    (
        SlowDrive {
            name: "trims in the background",
            profile: "plain-nvme-tlc,trim.mode=background,trim.per_gib_mapped=1s",
            ..TEN_MS
        },
        false,
    ),
];
/// The drive of the short form.
pub(super) const TEN_MS: SlowDrive = SlowDrive {
    name: "10 ms a discard",
    profile: "plain-nvme-tlc,trim.mode=blocking,trim.command=10ms,trim.per_gib_mapped=0",
    file: Bytes::mib(1),
    files: 120,
    deleted: 60,
    rate: 500,
};
/// Other ways to pace it, by the options of `trimpace once`.
pub(super) const RIVALS: [(&str, &[&str]); 3] = [
    ("pieces", &["--law", "pieces"]),
    ("talos", &["--law", "talos", "--chunk", "64MiB", "--delay", "250ms"]),
    ("mean", &["--law", "mean", "--chunk", "64MiB"]),
];
/// How often a drive with a filesystem is tried while the machine is too busy.
const ATTEMPTS: u32 = 3;
/// The share of requests that may be late.
const MAY_BE_LATE: f64 = 0.01;
/// Where more reads than this share are late anyway, a drive is too slow for the target.
const MOST_LATE_ALONE: f64 = 0.003;
/// Over the least time that the pass can take, and over the least share that can be late.
const TIME_SLACK: f64 = 1.5;
const LATE_SLACK: f64 = 1.1;
/// A deadline, over the time that `fstrim` takes; and what p99.9 may be then: discards, and ms.
const DEADLINE: f64 = 4.0;
const MOST_P999: (f64, f64) = (1.2, 5.0);
/// What `trimpace` takes of the free space while it trims, bytes: the file that its probes read,
/// and the metadata of it.
const OWN_FILE: f64 = 2.0 * 1_048_576.0;
/// Over the time of a discard: a longer target would say little of what discards delay.
const MOST_TARGET: f64 = 0.8;
/// XFS holds back what is allocated while it discards: where `fstrim` delays a read longer than
/// this, ms, ours must stay below a tenth of that delay.
const LONG_MS: f64 = 500.0;

/// What plain `fstrim` shows of a drive and a filesystem.
struct Plain {
    trimmed: Trimmed,
    /// Discards, and how long one takes, s.
    count: f64,
    each: f64,
    target: Nanos,
}

/// The closed forms, with what the reads alone show in the trial that they are held against.
struct Least {
    /// N (c - m) / (1 - rho), s.
    late: f64,
    /// The share that is late anyway.
    alone: f64,
    note: String,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for (drive, is_one_queue) in &DRIVES[..lab.form(1, DRIVES.len())] {
        for filesystem in &FILESYSTEMS[..lab.form(2, FILESYSTEMS.len())] {
            let of = format!("{}, {}", drive.name, filesystem.0);
            let trial = |law: Option<&[&str]>| trial(lab, drive, *filesystem, law);
            // The curve has them on XFS as well.
            let rivals = if filesystem.0 == "ext4" { &RIVALS[..] } else { &[] };
            let is_xfs = filesystem.0 == "xfs";
            let shape = (drive.rate, *is_one_queue, is_xfs);
            match tried_again(|| figures_of(&of, shape, rivals, &trial)) {
                Ok(found) => figures.extend(found),
                Err(error) if error.is::<NotMeasured>() => missing.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
    }
    if figures.is_empty() {
        return Err(NotMeasured(missing.join("; ")).into());
    }
    let count = (missing.len() as f64, "");
    let what = "drives with a filesystem that could not be measured";
    figures.push(Figure::new(what, count, Bar::AtMost(0.0)).with_note(missing.join("; ")));
    Ok(figures)
}

/// Measures, and tries again while the machine is too busy: a busy moment must not cost the figures
/// of half an hour.
fn tried_again<T>(measure: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS {
        match measure() {
            Err(error) if error.is::<NotMeasured>() => {}
            found => return found,
        }
    }
    measure()
}

/// The figures of a drive with a filesystem: `fstrim`, the rivals, ours, ours with a deadline.
/// `rate` reads come in a second; in one queue with the discards, or not. XFS cuts extents, and
/// holds back what is allocated meanwhile.
pub(super) fn figures_of(
    of: &str,
    (rate, is_one_queue, is_xfs): (u64, bool, bool),
    rivals: &[(&str, &[&str])],
    trial: &dyn Fn(Option<&[&str]>) -> Result<Trimmed>,
) -> Result<Vec<Figure>> {
    let plain = Plain::of(trial(FSTRIM)?, of)?;
    let target = plain.target;
    let figure = |law: &str, what: &str, (value, unit), bar, trimmed: &Trimmed| {
        let figure = Figure::new(format!("{of}, {law}: {what}"), (value, unit), bar);
        figure.with_note(trimmed.note(target))
    };
    let p99 = |law: &str, trimmed: &Trimmed, bar| {
        figure(law, "p99 of reads", (trimmed.beside.quantile_ms(0.99), "ms"), bar, trimmed)
    };
    let mut figures = vec![p99("fstrim", &plain.trimmed, Bar::AtLeast(0.0))];
    for (name, options) in rivals {
        let trimmed = trial(Some(options))?;
        figures.push(p99(name, &trimmed, Bar::AtLeast(0.0)));
    }
    let stated = target.to_string();
    let ours = trial(Some(&["--p99", &stated]))?;
    let least = plain.least(rate, &ours);
    if least.alone > MOST_LATE_ALONE {
        let void = format!("void: {:.2} % of the reads alone are late; ", 100.0 * least.alone);
        let ours = p99("--p99", &ours, Bar::AtLeast(0.0));
        let note = void + &ours.note;
        figures.push(ours.with_note(note));
        return Ok(figures);
    }
    figures.push(p99("--p99", &ours, Bar::AtMost(target.seconds() * 1e3)));
    let bytes = ours.counts.discarded as f64 / plain.trimmed.counts.discarded as f64;
    let but_own = Bar::AtLeast(1.0 - OWN_FILE / plain.trimmed.counts.discarded as f64);
    figures.push(figure("--p99", "bytes over fstrim's", (bytes, ""), but_own, &ours));
    let longest = plain.trimmed.beside.longest_ms();
    if is_xfs && longest > LONG_MS {
        let (ours_ms, most) = (ours.beside.longest_ms(), Bar::AtMost(longest / 10.0));
        figures.push(figure("--p99", "longest read", (ours_ms, "ms"), most, &ours));
    }
    if is_one_queue {
        let fstrim_s = plain.trimmed.time.seconds();
        // Where a discard makes nothing late, it still takes its time.
        let most = TIME_SLACK * (least.late / (MAY_BE_LATE - least.alone)).max(fstrim_s);
        let time = Figure::new(
            format!("{of}, --p99: time"),
            (ours.time.seconds(), "s"),
            Bar::AtMost((most * 10.0).round() / 10.0),
        );
        figures.push(time.with_note(format!("{}; fstrim {fstrim_s:.2} s", least.note)));
        let (seconds, law) = (DEADLINE * fstrim_s, "--deadline");
        let deadline = format!("{}ms", rounded(1e3 * seconds));
        let options = ["--p99", &stated, "--deadline", &deadline];
        let late = trial(Some(&options))?;
        let least = plain.least(rate, &late);
        let most = 100.0 * (LATE_SLACK * least.late / seconds + least.alone);
        let share = 100.0 * late.beside.share_later(target);
        let (share, most) = ((share, "%"), Bar::AtMost((most * 100.0).round() / 100.0));
        figures.push(figure(law, "reads later than the target", share, most, &late));
        let p999 = (late.beside.quantile_ms(0.999), "ms");
        let most = MOST_P999.0 * plain.each * 1e3 + MOST_P999.1;
        let most = Bar::AtMost((most * 10.0).round() / 10.0);
        figures.push(figure(law, "p99.9 of reads", p999, most, &late));
    }
    Ok(figures)
}

impl Plain {
    fn of(trimmed: Trimmed, of: &str) -> Result<Self> {
        ensure!(trimmed.counts.discards > 0, "fstrim discarded nothing on {of}");
        let count = trimmed.counts.discards as f64;
        let each = trimmed.time.seconds() / count;
        let usual = trimmed.alone.quantile_ms(0.99) / 1e3;
        let target = (each / 2.0).max(4.0 * usual);
        if target > MOST_TARGET * each {
            return Err(NotMeasured(format!(
                "{of}: the reads alone have a p99 of {:.1} ms, beside discards of {:.1} ms; is the \
                 machine busy?",
                usual * 1e3,
                each * 1e3
            ))
            .into());
        }
        // In tenths of a millisecond.
        let target = Nanos(100_000 * rounded((target * 1e4).ceil()));
        Ok(Self { trimmed, count, each, target })
    }

    fn least(&self, rate: u64, trimmed: &Trimmed) -> Least {
        let Self { count, each, target, .. } = self;
        let usual = trimmed.alone.quantile_ms(0.5) / 1e3;
        let busy = rate as f64 * usual;
        let unheard = target.seconds() - usual;
        let late = (count * (each - unheard) / (1.0 - busy)).max(0.0);
        let alone = trimmed.alone.share_later(*target);
        let note = format!(
            "N {count}, c {:.2} ms, m {:.2} ms, rho {busy:.3}, s0 {:.2} %: at least {:.1} s",
            each * 1e3,
            unheard * 1e3,
            100.0 * alone,
            late / (MAY_BE_LATE - alone)
        );
        Least { late, alone, note }
    }
}
