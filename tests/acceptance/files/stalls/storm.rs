//! The deletion storm of \[S3\] on the modelled pool: a mass deletion as older FreeBSD did it, and
//! where the next job stalls.

use anyhow::Result;

use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// A run: its name, its target, and what each writer writes.
type Storm = (&'static str, &'static str, &'static str);

/// \[S3\], with its bytes and the pool's own times and amounts divided by 32.
const STORM: Storm = ("storm", "raidz2,scale=32:sim:like-p3500,capacity=11GiB*10", "15GiB");
/// The same filesystem, emptier, and twice as large.
const OTHERS: [Storm; 2] = [
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
/// \[S3\]: 30 minutes of TRIM after 30 minutes of writing; the next round stalled for 15.
const TRIM_OVER_WRITE: [f64; 2] = [0.8, 1.2];
const STALL_OVER_TRIM: [f64; 2] = [0.35, 0.65];
/// What of the stall must be silent, and above.
const SILENT_LEAST: f64 = 0.85;
const ABOVE_LEAST: f64 = 0.85;
/// What of the stall on a slow drive must be where it is expected.
const SLOW_LEAST: f64 = 0.5;
const WALL_MOST: f64 = 60.0;

pub(super) fn measure(context: &Context<'_>) -> Result<()> {
    run(context, STORM)?;
    for (slow, ..) in SLOW_DRIVES {
        run(context, slow)?;
    }
    if !context.is_short() {
        for other in OTHERS {
            run(context, other)?;
        }
    }
    Ok(())
}

fn run(context: &Context<'_>, (name, target, size): Storm) -> Result<()> {
    let size = format!("file-size={size}");
    let options = [
        size.as_str(),
        "rewrite=false",
        "interval=200ms",
        "probe-interval=20ms",
        "threshold=500ms",
    ];
    context.run_well(name, "delete-storm", (target, &options)).map(drop)
}

pub(super) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut storms = vec![STORM];
    // Only the short form leaves the others out.
    storms.extend(OTHERS.into_iter().filter(|(name, _, _)| raw.capture(name).is_ok()));
    for (name, _, _) in storms {
        let ratios = [
            ("trim-over-write", "discards, over writing alone", within(TRIM_OVER_WRITE)),
            (
                "stall-over-trim",
                "the next round's stall, over the discards",
                within(STALL_OVER_TRIM),
            ),
            (
                "stalled-without-write",
                "of the stall, while no drive completed a write",
                Bar::AtLeast(SILENT_LEAST),
            ),
            ("located-above", "of the stall, above the drives", Bar::AtLeast(ABOVE_LEAST)),
        ];
        for (id, what, bar) in ratios {
            findings.push(finding(raw, name, (id, what), bar)?);
        }
    }
    let itself = raw.capture_itself(STORM.0)?;
    let wall = (itself.elapsed_seconds, "s");
    findings.push(Finding::new("wall time, storm", wall, Bar::AtMost(WALL_MOST), &itself));
    for ((name, ..), id, what) in SLOW_DRIVES {
        findings.push(finding(raw, name, (id, what), Bar::AtLeast(SLOW_LEAST))?);
    }
    Ok(findings)
}

fn within([low, high]: [f64; 2]) -> Bar {
    Bar::Within(low, high)
}

/// One figure of a run.
fn finding(raw: &Raw, name: &str, (id, what): (&str, &str), bar: Bar) -> Result<Finding> {
    let run = raw.run(name)?;
    let note = format!(
        "writing {:.1} s, discards {:.1} s, stall {:.1} s of the model's time; n = 1, as nothing \
         random decides",
        run.value("write-time")?,
        run.value("trim-time")?,
        run.value("second-stall")?
    );
    Ok(run.finding(&format!("{what}, {name}"), (run.value(id)?, ""), bar).with_note(&note))
}
