//! Reads beside discards that take a fixed time and leave the flash alone: over NBD, over the loop
//! device from a control group of their own, and from that of the discards.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ::tests::ControlGroup;
use ::tests::Need::{self, Fuse, Loop, Program, Root};
use ::tests::nbd::NbdServer;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use trimbench_attach::AttachedDrive;
use trimbench_ssd::Profile;

use super::{CAPACITY, SOURCES, filled, jobs_of, plugin, with_settings};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::fio::number;
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "beside_discard",
    title: "Reads beside a discard of 100 ms: over NBD, and over the loop device",
    needs: &[Root, Loop, Fuse, GROUP, Program("fio"), Program("nbdkit")],
    sources: SOURCES,
    run,
};

const GROUP: Need = Need::RequestGroup;
const PROFILE: &str = "plain-nvme-tlc";
/// A discard ends after 100 ms, in which it occupies nothing.
const DISCARDS: [(&str, &str); 6] = [
    ("trim.mode", "queued"),
    ("trim.command", "10us"),
    ("trim.range", "0"),
    ("trim.per_gib_mapped", "0"),
    ("trim.per_gib_unmapped", "0"),
    ("trim.latency", "100ms"),
];
/// One discard, and another 400 ms after its end.
const TRIMS: [&str; 7] = [
    "--name=trims",
    "--rw=trim",
    "--bs=1m",
    "--offset=2g",
    "--size=1g",
    "--thinktime=400ms",
    "--time_based",
];
/// 2,000 reads a second, as many at once as it takes.
const READS: [&str; 7] = [
    "--name=reads",
    "--rw=randread",
    "--bs=4k",
    "--size=1g",
    "--iodepth=256",
    "--rate_iops=2000",
    "--time_based",
];
/// Discards begin so much before the reads, and end so much after them, s.
const AROUND: u64 = 2;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let seconds = lab.form(8, 60);
    let over_nbd = over_nbd(lab, seconds)?;
    let profile = Profile::built_in(PROFILE).context("no such profile")?;
    let mut config = profile.with_values("a drive", &DISCARDS)?.config;
    config.capacity = CAPACITY;
    let drive = AttachedDrive::attach(filled(config))?;
    let group = ControlGroup::of_requests()?;
    let apart = over_loop(lab, drive.node(), group.command("fio"), seconds)?;
    let together = over_loop(lab, drive.node(), Command::new("fio"), seconds)?;
    let figure = |what: &str, reads: &Reads, bar| {
        let (value, share) = match bar {
            Some(Bar::AtMost(1.0)) => (reads.p99_ms, "p99"),
            _ => (reads.p999_ms, "p99.9"),
        };
        let what = format!("{what}: {share} of reads beside discards of 100 ms");
        let bar = bar.unwrap_or(Bar::AtLeast(0.0));
        Figure::new(what, (value, "ms"), bar).with_note(reads.note())
    };
    Ok(vec![
        figure("over NBD", &over_nbd, Some(Bar::AtMost(1.0))),
        figure("loop device, a control group of their own", &apart, Some(Bar::AtMost(15.0))),
        figure("loop device, the discards' control group", &together, None),
    ])
}

/// What fio saw of the reads.
struct Reads {
    p99_ms: f64,
    p999_ms: f64,
    longest_ms: f64,
    rate: f64,
}

impl Reads {
    fn of(job: &Value) -> Result<Self> {
        let ms = |pointer: &str| number(job, pointer).map(|ns| ns / 1e6);
        Ok(Self {
            p99_ms: ms("/read/clat_ns/percentile/99.000000")?,
            p999_ms: ms("/read/clat_ns/percentile/99.900000")?,
            longest_ms: ms("/read/clat_ns/max")?,
            rate: number(job, "/read/iops")?,
        })
    }

    fn note(&self) -> String {
        let Self { p99_ms, p999_ms, longest_ms, rate } = self;
        format!(
            "p99 {p99_ms:.2}, p99.9 {p999_ms:.1}, at most {longest_ms:.1} ms; {rate:.0} reads a \
             second"
        )
    }
}

fn over_nbd(lab: &Lab<'_>, seconds: u64) -> Result<Reads> {
    let drive = with_settings(PROFILE, &DISCARDS);
    let capacity = format!("capacity={CAPACITY}");
    let server = NbdServer::start(plugin(lab)?, &[&drive, &capacity, "state=filled"]);
    let mut fio = server.fio();
    fio.arg("--output-format=json").args(READS).arg(format!("--runtime={seconds}"));
    fio.args(TRIMS).args(["--iodepth=1", &format!("--runtime={seconds}")]);
    let output = lab.call_well(&mut fio)?;
    let [reads, trims] = jobs_of(&output.stdout)?;
    let trims = number(&trims, "/trim/total_ios")?;
    // There are to be two a second.
    ensure!(trims >= seconds as f64, "{trims} discards in {seconds} s");
    Reads::of(&reads)
}

/// Reads by this fio beside discards of one in the control group of this process.
fn over_loop(lab: &Lab<'_>, node: &Path, mut fio: Command, seconds: u64) -> Result<Reads> {
    let file = format!("--filename={}", node.display());
    let mut trims = Command::new("fio");
    trims.args(["--direct=1", "--ioengine=sync", &file]).args(TRIMS).current_dir(lab.folder());
    trims.arg(format!("--runtime={}", seconds + 2 * AROUND)).stdout(Stdio::null());
    let mut trims = Trims(trims.spawn().context("start fio")?);
    thread::sleep(Duration::from_secs(AROUND));
    fio.args(["--direct=1", "--ioengine=io_uring", "--output-format=json", &file]).args(READS);
    fio.arg(format!("--runtime={seconds}")).current_dir(lab.folder());
    let output = lab.call_well(&mut fio)?;
    let is_beside = trims.0.try_wait().is_ok_and(|ended| ended.is_none());
    ensure!(is_beside, "the discards ended before the reads");
    ensure!(trims.0.wait().is_ok_and(|status| status.success()), "the discards failed");
    let [reads] = jobs_of(&output.stdout)?;
    Reads::of(&reads)
}

/// What discards. Ended when dropped.
struct Trims(Child);

impl Drop for Trims {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
