//! Stall attribution: stalls planted on real filesystems, and the one of \[S3\] on a modelled pool.
//! The verdict on a planted stall is computed from the raw output: one line for each wait of a
//! caller and each request of the device.

mod storm;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use trimbench_core::{BlockRequest, CallerWait, Instant, Nanos, OperationKind};
use trimbench_engine::{StallAttribution, StallLayer, attribute_stalls};

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::planted::{Planted, Seen};

#[cfg(test)]
mod tests;

/// How often each stall is planted in the full form.
const REPETITIONS: usize = 4;
/// The share of the stalled time that must lie in the right layer.
const SHARE: f64 = 0.95;

/// A line of what was seen. Times in ns on one clock; what has not happened is left out.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// A caller waited.
    Wait { kind: String, from: u64, to: u64 },
    /// The device was sent something.
    Request { kind: String, entered: u64, issued: Option<u64>, completed: Option<u64> },
    /// So many events were lost. The last line.
    Lost(u64),
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let repetitions = if context.is_short() { 1 } else { REPETITIONS };
    for number in 0..repetitions {
        for planted in Planted::ALL {
            let name = format!("{}-{number}", planted.id());
            context.keep(&name, || Ok(lines(&planted.watch())))?;
        }
    }
    storm::measure(context)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = read_planted(raw)?;
    findings.extend(storm::read(raw)?);
    Ok(findings)
}

fn read_planted(raw: &Raw) -> Result<Vec<Finding>> {
    let captures = raw.captures()?;
    let mut findings = Vec::new();
    for planted in Planted::ALL {
        let of_it = captures.iter().filter(|capture| capture.name.starts_with(planted.id()));
        let before = findings.len();
        for capture in of_it {
            let seen = parse(&raw.text(&capture.output)?)
                .with_context(|| format!("read {}", capture.output))?;
            findings.extend(judge(planted, &seen, capture)?);
        }
        ensure!(findings.len() > before, "{} was not planted", planted.id());
    }
    Ok(findings)
}

fn judge(planted: Planted, seen: &Seen, capture: &Capture) -> Result<Vec<Finding>> {
    let located = attribute_stalls(&seen.waits, &seen.requests, planted.threshold());
    let (places, least): (&[StallLayer], f64) = match planted {
        Planted::FrozenDevice => (&[StallLayer::Device], 1.9),
        Planted::FrozenFilesystem => (&[StallLayer::Above], 1.9),
        Planted::ExhaustedTags => (&[StallLayer::Device, StallLayer::Tags], 4.0),
    };
    let share = |places: &[StallLayer]| -> f64 {
        places.iter().filter_map(|place| located.share(*place)).sum()
    };
    let names: Vec<&str> = places.iter().map(|place| place.id()).collect();
    let id = planted.id();
    let mut findings = vec![
        Finding::new(
            &format!("{id}: stalled time found in {}", names.join(" or ")),
            (share(places), ""),
            Bar::AtLeast(SHARE),
            capture,
        )
        .with_note(&shares(&located)),
        Finding::new(
            &format!("{id}: stalled time"),
            (located.stalled().seconds(), "s"),
            Bar::AtLeast(least),
            capture,
        ),
        Finding::new(
            &format!("{id}: events lost"),
            (seen.lost as f64, ""),
            Bar::Equals(0.0),
            capture,
        ),
    ];
    if planted == Planted::ExhaustedTags {
        // Writers always have some write in the device. The reader is who waits for a tag.
        let mut waits = seen.waits.clone();
        waits.retain(|wait| wait.kind == OperationKind::Read);
        let of_reader = attribute_stalls(&waits, &seen.requests, planted.threshold());
        let tags = of_reader.share(StallLayer::Tags).context("the reader was never stalled")?;
        let device = of_reader.share(StallLayer::Device).unwrap_or(0.0);
        let what = format!("{id}: the reader's stalled time found in device or tags");
        let note = shares(&of_reader);
        let bar = Bar::AtLeast(SHARE);
        findings.push(Finding::new(&what, (device + tags, ""), bar, capture).with_note(&note));
    }
    Ok(findings)
}

/// The share of each layer, for a note.
fn shares(located: &StallAttribution) -> String {
    let share = |place: StallLayer| located.share(place).unwrap_or(0.0) * 100.0;
    let shares: Vec<String> = StallLayer::ALL
        .iter()
        .map(|place| format!("{} {:.1} %", place.id(), share(*place)))
        .collect();
    shares.join(", ")
}

fn lines(seen: &Seen) -> Vec<Line> {
    let nanos = |instant: Instant| instant.since_start().0;
    let happened = |instant: Instant| (instant != Instant::NEVER).then(|| nanos(instant));
    let waits = seen.waits.iter().map(|wait| Line::Wait {
        kind: wait.kind.id().to_owned(),
        from: nanos(wait.from),
        to: nanos(wait.to),
    });
    let requests = seen.requests.iter().map(|request| Line::Request {
        kind: request.kind.id().to_owned(),
        entered: nanos(request.entered),
        issued: happened(request.issued),
        completed: happened(request.completed),
    });
    waits.chain(requests).chain([Line::Lost(seen.lost)]).collect()
}

/// What was seen, of its lines; an error if its last line is not there.
fn parse(text: &str) -> Result<Seen> {
    let mut seen = Seen::default();
    let at = |time: u64| Instant::from_start(Nanos(time));
    let maybe = |time: Option<u64>| time.map_or(Instant::NEVER, at);
    for line in text.lines() {
        match serde_json::from_str(line).with_context(|| format!("read `{line}`"))? {
            Line::Wait { kind, from, to } => {
                seen.waits.push(CallerWait { kind: kind_of(&kind)?, from: at(from), to: at(to) });
            }
            Line::Request { kind, entered, issued, completed } => {
                seen.requests.push(BlockRequest {
                    device: 0,
                    kind: kind_of(&kind)?,
                    entered: at(entered),
                    issued: maybe(issued),
                    completed: maybe(completed),
                });
            }
            Line::Lost(count) => {
                seen.lost = count;
                return Ok(seen);
            }
        }
    }
    bail!("the last line is missing")
}

fn kind_of(id: &str) -> Result<OperationKind> {
    let found = OperationKind::ALL.into_iter().find(|kind| kind.id() == id);
    found.with_context(|| format!("no class is called `{id}`"))
}
