//! What the way through FUSE, the engine and the loop device takes: a drive that takes no time,
//! beside a loop device over a file in memory, in turns.

use std::path::Path;

use ::tests::LoopDevice;
use ::tests::Need::{Fuse, Loop, Program, Root};
use anyhow::Result;
use trimbench_results::statistics::median;

use super::{CAPACITY, SOURCES, fio, with_settings};
use crate::detached::DetachedDrive;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::fio::number;
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "speed",
    title: "An attached drive that takes no time, beside a loop device over a file in memory",
    needs: &[Root, Loop, Fuse, Program("fio")],
    sources: SOURCES,
    run,
};

pub(super) const PROFILE: &str = "like-optane-900p";
/// What takes time of a drive that is overwritten in place.
pub(super) const NOTHING: [(&str, &str); 7] = [
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

pub(super) fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or(f64::NAN)
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let drive = DetachedDrive::filled(lab, &with_settings(PROFILE, &NOTHING), CAPACITY)?;
    let folder = lab.memory_folder()?;
    let image = folder.path().join("image");
    std::fs::File::create(&image)?.set_len(CAPACITY.0)?;
    let peer = LoopDevice::untouched(&image);
    let devices = [drive.node(), Path::new(peer.node())];
    for device in devices {
        fio(lab, device, &["--rw=write", "--bs=1m", "--iodepth=4", "--size=1g"])?;
    }
    let mut figures = Vec::new();
    for kind in ["randread", "randwrite"] {
        let (mut ratios, mut rates, mut more) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..lab.form(TURNS[0], TURNS[1]) {
            let of = |depth| devices.map(|device| seen(lab, device, kind, depth));
            let [ours, theirs] = of(32);
            let (ours, theirs) = (ours?, theirs?);
            ratios.push(ours.rate / theirs.rate);
            rates.push(ours.rate);
            let [ours, theirs] = of(1);
            let (ours, theirs) = (ours?, theirs?);
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

fn seen(lab: &Lab<'_>, device: &Path, kind: &str, depth: u32) -> Result<Seen> {
    let shape = [format!("--rw={kind}"), format!("--iodepth={depth}")];
    let shape: Vec<&str> = shape.iter().map(String::as_str).collect();
    let time = ["--time_based", "--runtime=3", "--size=1g", "--bs=4k"];
    let job = fio(lab, device, &[&time[..], &shape].concat())?;
    let side = kind.trim_start_matches("rand");
    let p50 = number(&job, &format!("/{side}/clat_ns/percentile/50.000000"))?;
    Ok(Seen { rate: number(&job, &format!("/{side}/iops"))?, p50_us: p50 / 1e3 })
}
