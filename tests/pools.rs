//! The scenario of \[S3\] in the manners of `OpenZFS` and FreeBSD: discards are as many and as long
//! as a calculation from the rules of their sources gives (`rules`, which shares no code with the
//! model), rates are kept, and what is freed is accounted for on every drive.

mod rules;

use anyhow::{Context as _, Result};
use trimbench_methods::delete_storm::{StormDiscardsStep, StormPhaseStep};
use trimbench_results::Series;

use crate::expectation::{Expectation, near};
use crate::program::Run;
use rules::Pool;

/// One in so many of the bytes of \[S3\], with the capacity of a drive and the size of a file in
/// MiB.
#[derive(Clone, Copy, Debug)]
pub struct StormSize {
    scale: u64,
    drive: u64,
    file: u64,
    /// Settings of the drives: at a large scale TRIMs that are as much quicker.
    settings: Option<&'static str>,
}

/// Runs `delete-storm` on a target with these options.
pub type RunStorm<'a> = &'a dyn Fn(&str, &[&str]) -> Result<Run>;

/// \[S3\] at 1/512.
pub const SMALL: StormSize =
    StormSize { scale: 512, drive: 704, file: 960, settings: Some(",trim.range=30us") };
/// \[S3\] at 1/32.
pub const LARGE: StormSize = StormSize { scale: 32, drive: 11_264, file: 15_360, settings: None };

/// How far a figure may be off the calculation.
const SHARE: f64 = 0.1;
/// `zpool trim -r` on one drive of so many bytes.
const ONE_DRIVE: u64 = 8 << 30;

/// Discards of each manner, and what becomes of what it frees.
pub fn manners(size: StormSize, run: RunStorm<'_>) -> Result<Vec<Expectation>> {
    let pool = size.pool();
    let mut all = Vec::new();
    for (manner, expected) in [
        ("zfs-autotrim", pool.autotrim()),
        ("zfs-trim", pool.zpool_trim()),
        ("freebsd-2013", pool.freebsd()),
        ("freebsd-2017", pool.freebsd()),
    ] {
        let run = size.run(run, manner, "")?;
        let trim: StormPhaseStep = run.step("trim")?.read()?;
        let issued = trim.discards.context("no discards were counted")?.issued;
        let (count, bytes) = (issued.count as f64, issued.bytes.0 as f64);
        let ended = trim.meter.context("no interval was measured")?.discard.count as f64;
        let expect =
            |what: &str, value, range| Expectation::new(format!("{manner}: {what}"), value, range);
        all.extend([
            expect("discards", (count, ""), near(expected.count as f64, SHARE)),
            expect("mean size of a discard", (bytes / count, "B"), near(expected.mean(), SHARE)),
            expect("discards that ended at the drives", (ended, ""), [count; 2]),
            accounted(&run, manner)?,
        ]);
        if manner == "zfs-autotrim" {
            let time = (run.value("trim-time")?, "s");
            let range = near(pool.autotrim_seconds(), SHARE);
            all.push(expect("from the deletion to the last discard", time, range));
        }
    }
    Ok(all)
}

/// How long a number of discards a second takes, on a drive that could do twice as many one after
/// the other; and the first of the skipping that \[S3\] proposes.
pub fn policies(size: StormSize, run: RunStorm<'_>) -> Result<Vec<Expectation>> {
    let mut all = Vec::new();
    for rate in [500, 5_000] {
        let manner = format!("freebsd-2017,policy=rate-limited+iops={rate}");
        let time = size.run(run, &manner, ",trim.range=100us")?.value("trim-time")?;
        let what = format!("freebsd-2017 at {rate} discards a second and drive: time");
        let range = near(size.pool().freebsd_2017_seconds(f64::from(rate)), SHARE);
        all.push(Expectation::new(what, (time, "s"), range));
    }
    let policy = "skip-by-queue";
    let skipping = size.run(run, &format!("freebsd-2017,policy={policy}"), "")?;
    let skipped: u64 = discards(&skipping)?.iter().map(|it| it.skipped.count).sum();
    let what = format!("{policy}: extents skipped");
    all.push(Expectation::new(what, (skipped as f64, ""), [1.0, f64::INFINITY]));
    all.push(accounted(&skipping, policy)?);
    Ok(all)
}

/// How much longer `zpool trim` takes with a rate than without.
pub fn trim_rates(run: RunStorm<'_>) -> Result<Vec<Expectation>> {
    let time = |rate: u64| -> Result<f64> {
        let target = format!(
            "stripe,manner=zfs-trim,trim-rate={rate}MiB:sim:like-p3500,capacity={}MiB*1",
            ONE_DRIVE >> 20
        );
        // So large that the files are written before they are deleted.
        storm(run, &target, 512)?.value("trim-time")
    };
    let without = time(0)?;
    let longer = |rate: u64| {
        let expected = Pool::of_one(ONE_DRIVE).rate_seconds(rate << 20);
        let what = format!("zpool trim -r {rate}M: seconds longer than without a rate");
        Ok(Expectation::new(what, (time(rate)? - without, "s"), near(expected, SHARE)))
    };
    [64, 256].into_iter().map(longer).collect()
}

impl StormSize {
    fn pool(&self) -> Pool {
        Pool::of_s3(self.scale, self.drive << 20, self.file << 20)
    }

    fn run(&self, run: RunStorm<'_>, manner: &str, settings: &str) -> Result<Run> {
        let Self { scale, drive, file, .. } = self;
        let settings = self.settings.unwrap_or(settings);
        let drives = format!("sim:like-p3500,capacity={drive}MiB{settings}*10");
        storm(run, &format!("raidz2,manner={manner},scale={scale}:{drives}"), *file)
    }
}

fn storm(run: RunStorm<'_>, target: &str, file: u64) -> Result<Run> {
    let file = format!("file-size={file}MiB");
    run(target, &[&file, "rewrite=false", "interval=20ms", "probe-interval=20ms"])
}

/// What of the freed bytes was neither issued nor skipped nor written again, and is not waiting, on
/// the drive where that is most.
fn accounted(run: &Run, name: &str) -> Result<Expectation> {
    let phases = discards(run)?;
    let last = phases.last().context("no phase")?;
    let mut lost: f64 = 0.0;
    for drive in 0..rules::DRIVES {
        let (mut freed, mut known) = (0.0, of_drive(last.waiting_bytes_by_drive.as_ref(), drive)?);
        for phase in &phases {
            freed += of_drive(phase.freed.bytes_by_drive.as_ref(), drive)?;
            for counter in [&phase.issued, &phase.skipped, &phase.invalidated] {
                known += of_drive(counter.bytes_by_drive.as_ref(), drive)?;
            }
        }
        lost = lost.max((freed - known).abs());
    }
    let what = format!("{name}: freed bytes in no account, the most of all drives");
    Ok(Expectation::new(what, (lost, "B"), [0.0; 2]))
}

/// What became of freed space in each phase.
fn discards(run: &Run) -> Result<Vec<StormDiscardsStep>> {
    let phases = run.steps("phase").map(|step| {
        let discards = step.read::<StormPhaseStep>()?.discards;
        discards.with_context(|| format!("no discards were counted in `{}`", step.id))
    });
    phases.collect()
}

fn of_drive(bytes: Option<&Series>, drive: usize) -> Result<f64> {
    let value = bytes.and_then(|bytes| *bytes.y.get(drive)?);
    value.with_context(|| format!("a phase has no bytes of drive {drive}"))
}
