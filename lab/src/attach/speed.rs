//! What the way through FUSE, the engine and the loop device takes: a drive that takes no time,
//! beside a loop device over a file in memory, in turns.

use std::process::Command;

use ::tests::LoopDevice;
use ::tests::Need::{Fuse, Loop, Program, Root};
use anyhow::{Context as _, Result};
use serde_json::Value;
use trimbench_results::statistics::median;
use trimbench_ssd::Profile;

use super::{CAPACITY, SOURCES, attach};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "speed",
    title: "An attached drive that takes no time, beside a loop device over a file in memory",
    needs: &[Root, Loop, Fuse, Program("fio")],
    sources: SOURCES,
    run,
};

/// What takes time of a drive that is overwritten in place.
const NOTHING: [(&str, &str); 7] = [
    ("nand.read", "0"),
    ("nand.program", "0"),
    ("host.command", "0"),
    ("host.latency", "0"),
    ("trim.command", "0"),
    ("nand.channel_bytes_per_second", "1000GB"),
    ("host.link_bytes_per_second", "1000GB"),
];
/// Turns, in the short form and in full.
const TURNS: [usize; 2] = [1, 7];
/// The least share of the loop device's rate, with 32 requests at once.
const RATE_MIN: f64 = 0.5;
/// The most that one request at a time may take longer, us.
const MORE_MAX: f64 = 50.0;

fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or(f64::NAN)
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let profile = Profile::built_in("like-optane-900p").context("no such profile")?;
    let mut config = profile.with_values("a drive", &NOTHING)?.config;
    config.capacity = CAPACITY;
    let drive = attach(config, false)?;
    let node = drive.node().to_str().context("a device")?;
    let folder = lab.memory_folder()?;
    let image = folder.path().join("image");
    std::fs::File::create(&image)?.set_len(CAPACITY.0)?;
    let peer = LoopDevice::untouched(&image);
    for device in [node, peer.node()] {
        fio(lab, device, &["--rw=write", "--bs=1m", "--iodepth=4", "--size=1g"])?;
    }
    let mut figures = Vec::new();
    for kind in ["randread", "randwrite"] {
        let (mut ratios, mut rates, mut more) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..lab.form(TURNS[0], TURNS[1]) {
            let seen = |depth: &str, device: &str| {
                let time = ["--time_based", "--runtime=3", "--size=1g", "--bs=4k"];
                let shape = [format!("--rw={kind}"), format!("--iodepth={depth}")];
                let shape: Vec<&str> = shape.iter().map(String::as_str).collect();
                fio(lab, device, &[&time[..], &shape].concat())
            };
            let (ours, theirs) = (seen("32", node)?, seen("32", peer.node())?);
            ratios.push(ours.rate / theirs.rate);
            rates.push(ours.rate);
            let (ours, theirs) = (seen("1", node)?, seen("1", peer.node())?);
            more.push(ours.p50_us - theirs.p50_us);
        }
        let note = format!("{:.0} requests a second", middle(&rates));
        figures.push(
            Figure::new(
                format!("{kind}, 32 at once: share of the loop device's rate"),
                (middle(&ratios), ""),
                Bar::AtLeast(RATE_MIN),
            )
            .with_note(note),
        );
        figures.push(Figure::new(
            format!("{kind}, one at a time: p50 beyond the loop device's"),
            (middle(&more), "us"),
            Bar::AtMost(MORE_MAX),
        ));
    }
    Ok(figures)
}

/// What fio saw.
struct Seen {
    /// Requests a second.
    rate: f64,
    p50_us: f64,
}

fn fio(lab: &Lab<'_>, device: &str, arguments: &[&str]) -> Result<Seen> {
    let mut fio = Command::new("fio");
    fio.args(["--name=job", "--direct=1", "--ioengine=io_uring", "--output-format=json"]);
    fio.arg(format!("--filename={device}")).args(arguments).current_dir(lab.folder());
    let output = lab.call_well(&mut fio)?;
    let start = output.stdout.find('{').context("fio printed no JSON")?;
    let document: Value = serde_json::from_str(&output.stdout[start..])?;
    let job = &document["jobs"][0];
    let of = |kind: &str| job[kind]["iops"].as_f64().unwrap_or(0.0);
    let kind = if of("read") > 0.0 { "read" } else { "write" };
    let p50 = job[kind]["clat_ns"]["percentile"]["50.000000"].as_f64().unwrap_or(f64::NAN);
    Ok(Seen { rate: of(kind), p50_us: p50 / 1e3 })
}
