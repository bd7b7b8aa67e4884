//! A disk that stalls does not delay the schedule of a replay.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tests::Need;
use tests::program::Run;
use tests::slow_disk::SlowDisk;
use trimbench_methods::replay::ReplayPassStep;

use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(super) const ENTRY: Entry = Entry {
    name: "schedule",
    title: "On a disk that stops for 2 s no command of a replay is issued late",
    needs: &[
        Need::Root,
        Need::Loop,
        Need::Fuse,
        Need::Filesystem("ext4"),
        Need::Program("mkfs.ext4"),
    ],
    sources: REAL,
    run,
};

/// When the disk stops, and for how long.
const BEFORE: Duration = Duration::from_secs(4);
const FROZEN: Duration = Duration::from_secs(2);
/// Bytes of the image.
const IMAGE: usize = 128 << 20;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for number in 1..=lab.form(1, 3) {
        let run = replay_with_stall(lab)?;
        let meter = run.step("paced-kept")?.read::<ReplayPassStep>()?.meter;
        let lateness = meter.lateness.context("a pass has no lateness")?;
        let what = |what: &str| format!("{what}, run {number}");
        let (held, late) = ((meter.service_ms_max, "ms"), (lateness.lateness_ms_max, "ms"));
        let writes = format!("of {} writes, one each 1 ms on average", meter.write_count);
        // So that it was held by the stall.
        figures.push(Figure::new(what("longest write"), held, Bar::AtLeast(1_800.0)));
        let latest = Figure::new(what("latest issue"), late, Bar::AtMost(10.0));
        figures.push(latest.with_note(writes));
    }
    Ok(figures)
}

/// A replay at its own times, of some seconds, on an image whose disk stops on its way.
fn replay_with_stall(lab: &Lab<'_>) -> Result<Run> {
    let disk = SlowDisk::new("ext4", 256, "noatime");
    let image = disk.path().join("image");
    std::fs::write(&image, vec![0; IMAGE])?;
    let image = image.to_str().context("temporary names are ASCII")?;
    let folder = lab.memory_folder()?;
    let place = folder.path().join("run");
    let options = ["pace=100%", "passes=kept", "span=64MiB", "length=60%", "rest=1s"];
    let mut command = lab.program()?.run_command("replay", (image, &options), &place);
    command.args(["--destroy", image]);
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(BEFORE);
            disk.freeze(true);
            thread::sleep(FROZEN);
            disk.freeze(false);
        });
        lab.call(&mut command)
    })?;
    // The stall is none of ours to judge: the run may say that it was not undisturbed.
    Run::read(output, &place)
}
