//! The published recovery test on whole drives of 256 GB: its wall time and its results.

use anyhow::{Context as _, Result};
use tests::program::Run;
use trimbench_engine::{PhaseStep, RoundStep, SteadyStep};
use trimbench_results::StepOf;

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(super) const ENTRY: Entry = Entry {
    name: "recovery",
    title: "`recovery` on emulated drives of 256 GB: hours of bench time in minutes, and what \
            [S2] found",
    needs: &[],
    sources: EMULATED,
    run,
};

/// The drive of \[S2\], and one whose link is so slow that it hides garbage collection.
const PUBLISHED: &str = "like-m4-256";
const OTHER: &str = "generic-sata-tlc";
/// The drive's time over the wall's.
const SPEED_MIN: f64 = 50.0;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let published = of_preset(lab, PUBLISHED, "published")?;
    let mut figures = times(&published, PUBLISHED, "published", 120.0);
    figures.extend(passes(&published)?);
    if !lab.is_short() {
        figures.extend(times(&of_preset(lab, OTHER, "published")?, OTHER, "published", 120.0));
        for drive in [PUBLISHED, OTHER] {
            let standard = of_preset(lab, drive, "standard")?;
            figures.extend(times(&standard, drive, "standard", 300.0));
            figures.push(steady(&standard, drive)?);
        }
    }
    Ok(figures)
}

fn of_preset(lab: &Lab<'_>, drive: &str, preset: &str) -> Result<Run> {
    let place = lab.folder().join(format!("{preset}-{drive}"));
    let target = format!("sim:{drive},capacity=256GB");
    let mut command = lab.program()?.run_command("recovery", (&target, &[]), &place);
    let run = Run::read(lab.call(command.args(["--preset", preset]))?, &place)?;
    run.ended_well()?;
    Ok(run)
}

/// How long the run took, and how much longer the drive would have taken, its rests left out.
fn times(run: &Run, drive: &str, preset: &str, most: f64) -> Vec<Figure> {
    let phases = run.session.steps.iter().filter_map(StepOf::<PhaseStep>::read);
    let emulated: f64 = phases.map(|phase| phase.elapsed_s).sum();
    let wall = run.output.seconds;
    let what = format!("`{preset}` on {drive}");
    let note = format!("{emulated:.0} s of the drive's time in {wall:.1} s");
    let ratio = (emulated / wall, "");
    vec![
        Figure::new(format!("{what}, wall time"), (wall, "s"), Bar::AtMost(most)),
        Figure::new(format!("{what}, drive's time over wall's"), ratio, Bar::AtLeast(SPEED_MIN))
            .with_note(note),
    ]
}

/// The four passes of the published test, with the values of \[S2\].
fn passes(run: &Run) -> Result<Vec<Figure>> {
    let speed = |pass: &str| run.throughput(pass);
    let (fresh, fragmented) = (speed("fresh")?, speed("fragmented")?);
    let (healed, trimmed) = (speed("self-healed")?, speed("trimmed")?);
    let figure = |what: &str, value, bar, note: &str| {
        Figure::new(format!("sequential writes of {PUBLISHED}, {what}"), value, bar).with_note(note)
    };
    let falloff = format!(
        "published as a picture, \"a remarkable falloff\"; {fragmented:.0} after {fresh:.0} MB/s"
    );
    let fresh_bar = Bar::Near { value: 250.0, share: 0.02 };
    Ok(vec![
        figure("fresh", (fresh, "MB/s"), fresh_bar, "published: \"averaging 250MB/s\", fitted"),
        figure("fragmented over fresh", (fragmented / fresh, ""), Bar::AtMost(0.7), &falloff),
        figure(
            "second pass over the fragmented one",
            (healed / fragmented, ""),
            // The method's own limit from which on a second pass counts as healing.
            Bar::AtLeast(1.02),
            "published: recovers \"pretty well\", not wholly; the emulated drive does wholly, \
             because it maps every 4 KiB by itself",
        ),
        figure(
            "trimmed over fresh",
            (trimmed / fresh, ""),
            Bar::AtLeast(0.98),
            "published: \"back to new\"",
        ),
    ])
}

/// Whether the last round of the first torture ended a steady window.
fn steady(run: &Run, drive: &str) -> Result<Figure> {
    let steps = run.session.steps.iter();
    let rounds: Vec<_> = steps.filter_map(StepOf::<SteadyStep>::read).collect();
    let last = rounds.last().context("no rounds")?;
    let is_steady = last.window.context("too few rounds to be judged")?.steady;
    let iops = last.step.read::<RoundStep>()?.iops.context("a round that took no time")?;
    let what = format!("`standard` on {drive}, steady by [PTS] at the last round");
    let note = format!("{} rounds, the last at {iops:.0} IOPS", rounds.len());
    Ok(Figure::new(what, (is_steady.into(), ""), Bar::Equals(1.0)).with_note(note))
}
