//! Claim `drives.2`: response times of reads and writes at given rates, of real drives and of the
//! emulated drives of their names.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail, ensure};
use trimbench_core::Bytes;
use trimbench_core::units::rounded;
use trimbench_results::Session;

use super::{keep_table, rows};
use crate::acceptance::{Bar, Context, Finding, Raw, short};

#[cfg(test)]
mod tests;

/// The figures, with their source in the page beside them.
const LATENCY: &str = "docs/drives/latency.csv";
const KEPT: &str = "latency.csv";
/// The capacity to which the drives are scaled; full.
const CAPACITY: Bytes = Bytes::gib(8);
/// The drives; the short form runs the first.
const DRIVES: [&str; 4] =
    ["micron-7450-max-800", "kioxia-cm7-r-3840", "solidigm-p5520-1920", "wd-dc-960"];
/// What the source sent: a rate of which 1 % are reads, and about this many reads beside it.
const READ_SHARE: f64 = 0.01;
const READS_BESIDE: u32 = 4_950;
/// A median is right within this share or this time, a p99 within that factor, that of writes also
/// within the ratio between the row's own intervals.
const MEDIAN_SHARE: f64 = 0.10;
const MEDIAN_US: f64 = 1.0;
const P99_FACTOR: f64 = 1.2;
/// Of all predicted cells, and of those of each quantity, so many must be right.
const OF_ALL: f64 = 2.0 / 3.0;
const OF_EACH: f64 = 0.5;

/// What is compared of a row: its name, the metric of the record, whether it is a median.
const QUANTITIES: [(&str, &str, bool); 4] = [
    ("read p50", "read_response_s_p50", true),
    ("read p99", "read_response_s_p99", false),
    ("write p50", "write_response_s_p50", true),
    ("write p99", "write_response_s_p99", false),
];

/// A real drive at one rate that it kept up with.
#[derive(Clone, Debug)]
struct Row {
    drive: String,
    fitted: bool,
    writes_per_s: f64,
    /// Commands that its load kept outstanding at the most.
    places: u64,
    /// In the order of [`QUANTITIES`], us.
    real: [f64; 4],
    /// The ratio between the intervals of the run, at least 1.
    spread: f64,
}

impl Row {
    fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, split, writes, _, places, r50, r99, w50, w99, spread] = fields[..] else {
            bail!("`{line}` is no rate");
        };
        let number = |text: &str| text.parse::<f64>().with_context(|| format!("`{text}`"));
        Ok(Self {
            drive: drive.to_owned(),
            fitted: split == "fit",
            writes_per_s: number(writes)?,
            places: places.parse().with_context(|| format!("`{places}`"))?,
            real: [number(r50)?, number(r99)?, number(w50)?, number(w99)?],
            spread: number(spread)?,
        })
    }

    /// The rate to offer: its writes, and the share of reads among them.
    fn rate(&self) -> u64 {
        rounded(self.writes_per_s / (1.0 - READ_SHARE))
    }

    /// Whether ours is right, in us.
    fn is_right(&self, quantity: usize, ours: f64) -> bool {
        let (name, _, is_median) = QUANTITIES[quantity];
        let real = self.real[quantity];
        if is_median {
            return (ours - real).abs() <= (MEDIAN_SHARE * real).max(MEDIAN_US);
        }
        let is_write = name.starts_with("write");
        let factor = if is_write { P99_FACTOR.max(self.spread) } else { P99_FACTOR };
        ours <= real * factor && ours >= real / factor
    }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let text = keep_table(context, LATENCY, KEPT)?;
    let rows = rows(&text, context.form(), Row::read)?;
    for drive in DRIVES {
        let of: Vec<&Row> = rows.iter().filter(|row| row.drive == drive).collect();
        let Some(first) = of.first() else { continue };
        let rates: Vec<String> = of.iter().map(|row| row.rate().to_string()).collect();
        let options = [
            "span=all".to_owned(),
            "precondition=100%".to_owned(),
            "round-share=50%".to_owned(),
            "queue-depth=512".to_owned(),
            format!("read-share={}%", READ_SHARE * 100.0),
            format!("reads={READS_BESIDE}"),
            "warm-up=5s".to_owned(),
            "rate-time=20s".to_owned(),
            "accesses-max=none".to_owned(),
            format!("places={}", first.places),
            format!("rates={}", rates.join(",")),
        ];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let target = format!("sim:{drive},capacity={CAPACITY}");
        let mut command = context.run("latency-under-load", &target, &options)?;
        command.arg("--output").arg(context.folder().join(drive));
        let status = context.capture(drive, &mut command)?.status;
        ensure!(matches!(status, Some(0 | 4)), "{drive} ended with {status:?}");
    }
    Ok(())
}

/// Ours in us; `None` where the emulated drive did not keep up.
fn ours(session: &Session, row: &Row, quantity: usize) -> Option<f64> {
    let id = format!("rate-{}-per-s", row.rate());
    let step = session.steps.iter().find(|step| step.id == id)?;
    step.metric(QUANTITIES[quantity].1).map(|seconds| seconds * 1e6)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let rows = rows(&raw.text(KEPT)?, raw.form(), Row::read)?;
    // By quantity: whether each predicted cell is right, and all cells in words.
    let mut right: [Vec<bool>; 4] = Default::default();
    let mut notes: [String; 4] = Default::default();
    for row in &rows {
        let record = raw.record(&format!("{}/run.json", row.drive))?;
        let session = record.sessions.first().context("no session")?;
        for (quantity, real) in row.real.iter().enumerate() {
            let ours = ours(session, row, quantity);
            let is_right = ours.is_some_and(|ours| row.is_right(quantity, ours));
            if !row.fitted {
                right[quantity].push(is_right);
            }
            let ours = ours.map_or_else(|| "not kept up with".to_owned(), short);
            let (split, verdict) =
                (if row.fitted { ", fitted" } else { "" }, if is_right { "" } else { ", off" });
            let _ = write!(
                notes[quantity],
                "{} at {} writes/s{split}: {ours} of {real} us{verdict}; ",
                row.drive, row.writes_per_s
            );
        }
    }
    let share = |cells: &[bool]| {
        cells.iter().filter(|right| **right).count() as f64 / cells.len().max(1) as f64
    };
    let capture = raw.capture(DRIVES[0])?;
    let all = share(&right.concat());
    let what = "predicted cells that are right, of all, as a share";
    let mut findings = vec![Finding::new(what, (all, ""), Bar::AtLeast(OF_ALL), &capture)];
    for ((cells, (name, ..)), note) in right.iter().zip(QUANTITIES).zip(&notes) {
        let what = format!("predicted cells that are right, {name}, as a share");
        let finding = Finding::new(&what, (share(cells), ""), Bar::AtLeast(OF_EACH), &capture);
        findings.push(finding.with_note(note.trim_end_matches("; ")));
    }
    Ok(findings)
}
