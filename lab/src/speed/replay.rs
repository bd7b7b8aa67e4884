//! A replay of the size of JEDEC's master trace: wall time, memory, and the generated trace beside
//! what is published of that one.

use anyhow::{Context as _, Result};
use tests::program::Run;
use trimbench_methods::replay::{ReplayPassStep, ReplaySurveyStep};
use trimbench_trace::generate::PUBLISHED;

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(super) const ENTRY: Entry = Entry {
    name: "replay",
    title: "`replay` of 800 GB of writes, four times, on an emulated drive of 256 GB, and the \
            generated trace beside the published statistics",
    needs: &[],
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-ssd",
        "crates/trimbench-engine",
        "crates/trimbench-methods/src/replay",
        "crates/trimbench-trace",
        "profiles",
    ],
    run,
};

/// Its flash is of the commonest kind.
const TARGET: &str = "sim:generic-sata-tlc,capacity=256GB";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let place = lab.folder().join("run");
    // With the queue depths and passes of the preset: 1 and 32, with and without TRIMs.
    let mut command = lab.program()?.run_command("replay", (TARGET, &[]), &place);
    let (output, kibibytes) =
        lab.program()?.call_weighed(command.args(["--preset", "published"]))?;
    let run = Run::read(output, &place)?;
    let memory = (kibibytes as f64 / f64::from(1 << 20), "GiB");
    let mut figures = vec![
        Figure::new("four passes, wall time", (run.output.seconds, "s"), Bar::AtMost(45.0))
            .with_note(work(&run)?),
        Figure::new("most memory resident, two passes side by side", memory, Bar::AtMost(2.0)),
    ];
    figures.extend(statistics(&run)?);
    figures.push(gain(&run)?);
    Ok(figures)
}

/// What all passes did together.
fn work(run: &Run) -> Result<String> {
    let (mut writes, mut bytes) = (0.0, 0.0);
    for pass in run.steps("pass") {
        let meter = pass.read::<ReplayPassStep>()?.meter;
        writes += meter.write_count as f64;
        bytes += meter.written_bytes.0 as f64;
    }
    Ok(format!("{:.1} million writes of {:.2} TB together", writes / 1e6, bytes / 1e12))
}

/// The generated trace, compared with what is published of the master trace.
fn statistics(run: &Run) -> Result<Vec<Figure>> {
    let near = |value: f64, share: f64| Bar::Near { value, share };
    let written = near(PUBLISHED.written.0 as f64 / 1e9, 0.01);
    let writes = PUBLISHED.writes as f64 / 1e6;
    let writes = Bar::Within(writes, writes * 1.02);
    let sequential = near(PUBLISHED.sequential.fraction(), 0.04);
    let trimmed = near(PUBLISHED.trimmed.fraction(), 0.04);
    let found: ReplaySurveyStep = run.step("trace")?.read()?;
    let (gb, million) = (found.write.bytes.0 as f64 / 1e9, found.write.count as f64 / 1e6);
    let reads = found.read.count as f64;
    let rows = [
        ("bytes written", (gb, "GB"), written, "close to 800 GB"),
        ("write commands", (million, "million"), writes, "over 37 million"),
        ("share of sequential writes", (found.sequential_share, ""), sequential, "25 %"),
        ("share of the space trimmed in the end", (found.trimmed_share, ""), trimmed, "13 %"),
        ("reads", (reads, ""), Bar::Equals(0.0), "writes, flushes and TRIMs only"),
    ];
    let figures = rows.into_iter().map(|(what, value, bar, published)| {
        let figure = Figure::new(format!("generated trace: {what}"), value, bar);
        figure.with_note(format!("published: {published}"))
    });
    Ok(figures.collect())
}

/// Averages and windows, with TRIM over without: above 1 in the deep queue. With one command
/// outstanding a drive whose TRIMs hold it up may lose by them.
fn gain(run: &Run) -> Result<Figure> {
    let figure = |key: &str, depth: u32| run.value(&format!("{key}-qd{depth}-kept"));
    let iops = |depth: u32, trims: &str| {
        let pass: ReplayPassStep = run.step(&format!("qd{depth}-{trims}"))?.read()?;
        pass.meter.write_iops.context("a pass has no rate")
    };
    let of_depth = |depth: u32| {
        anyhow::Ok(format!(
            "queue depth {depth}: {:.0} and {:.0} IOPS, a ratio of {:.3}, in windows of 100,000 \
             commands from {:.2} to {:.2}",
            iops(depth, "kept")?,
            iops(depth, "stripped")?,
            figure("gain", depth)?,
            figure("gain-min", depth)?,
            figure("gain-max", depth)?
        ))
    };
    let what = "write IOPS with TRIM over those without, queue depth 32";
    let figure = Figure::new(what, (figure("gain", 32)?, ""), Bar::AtLeast(1.0));
    Ok(figure.with_note(format!("{}; {}", of_depth(32)?, of_depth(1)?)))
}
