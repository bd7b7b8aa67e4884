//! The deletion storm of \[S3\] on the modelled pool: a mass deletion as older FreeBSD did it, and
//! where the next job stalls.

use anyhow::Result;
use tests::program::Run;

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The storm, and others beside it.
pub(crate) const ENTRY: Entry = Entry {
    name: "storm",
    title: "`delete-storm` reproduces the stall of [S3] on a modelled pool of ten drives, at 1/32",
    needs: &[],
    sources: EMULATED,
    run,
};

/// A run: its name, its target, and what each writer writes.
type Storm = (&'static str, &'static str, &'static str);

/// \[S3\], with its bytes and the pool's own times and amounts divided by 32; the same filesystem,
/// emptier, and twice as large.
const STORMS: [Storm; 3] = [
    ("storm", "raidz2,scale=32:sim:like-p3500,capacity=11GiB*10", "15GiB"),
    ("half-full", "raidz2,scale=32:sim:like-p3500,capacity=16GiB*10", "15GiB"),
    ("larger", "raidz2,scale=16:sim:like-p3500,capacity=22GiB*10", "30GiB"),
];
/// A drive whose TRIM blocks: what is sent to it waits there. `OpenZFS` sends little meanwhile, as
/// its groups wait for their discards.
const SLOW_DRIVES: [(Storm, &str, &str); 2] = [
    (
        ("slow-drive", "raidz2,scale=256:sim:vendor2,capacity=512MiB*10", "512MiB"),
        "located-device",
        "of the stall, in the drives",
    ),
    (
        (
            "slow-drive-openzfs",
            "raidz2,manner=zfs-autotrim,scale=256:sim:vendor2,capacity=512MiB*10",
            "512MiB",
        ),
        "located-above",
        "of the stall, above the drives",
    ),
];
/// Figure, what it is, and its bar. \[S3\]: 30 minutes of TRIM after 30 minutes of writing; the
/// next round stalled for 15. The first is fitted, the others are predicted.
const FIGURES: [(&str, &str, Bar); 4] = [
    ("trim-over-write", "discards, over writing alone", Bar::Within(0.8, 1.2)),
    ("stall-over-trim", "the next round's stall, over the discards", Bar::Within(0.35, 0.65)),
    ("stalled-without-write", "of the stall, while no drive completed a write", Bar::AtLeast(0.85)),
    ("located-above", "of the stall, above the drives", Bar::AtLeast(0.85)),
];
/// What of the stall on a slow drive must be where it is expected.
const SLOW_LEAST: f64 = 0.5;
const WALL_MOST: f64 = 60.0;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (number, storm) in STORMS[..lab.form(1, STORMS.len())].iter().enumerate() {
        let run = storm_of(lab, *storm)?;
        for (id, what, bar) in FIGURES {
            figures.push(figure(&run, storm.0, (id, what), bar)?);
        }
        if number == 0 {
            let wall = (run.output.seconds, "s");
            figures.push(Figure::new("wall time, storm", wall, Bar::AtMost(WALL_MOST)));
        }
    }
    for (storm, id, what) in SLOW_DRIVES {
        let run = storm_of(lab, storm)?;
        figures.push(figure(&run, storm.0, (id, what), Bar::AtLeast(SLOW_LEAST))?);
    }
    Ok(figures)
}

fn storm_of(lab: &Lab<'_>, (_, target, size): Storm) -> Result<Run> {
    let size = format!("file-size={size}");
    let options =
        [&*size, "rewrite=false", "interval=200ms", "probe-interval=20ms", "threshold=500ms"];
    lab.run("delete-storm", target, &options)
}

/// One figure of a run.
fn figure(run: &Run, name: &str, (id, what): (&str, &str), bar: Bar) -> Result<Figure> {
    let note = format!(
        "writing {:.1} s, discards {:.1} s, stall {:.1} s of the model's time; n = 1, as nothing \
         random decides",
        run.value("write-time")?,
        run.value("trim-time")?,
        run.value("second-stall")?
    );
    Ok(Figure::new(format!("{what}, {name}"), (run.value(id)?, ""), bar).with_note(note))
}
