//! What the way through nbdkit and the engine takes: a drive that takes no time, beside nbdkit's
//! own memory, in turns.

use ::tests::Need::{Program, Root};
use ::tests::nbd::NbdServer;
use anyhow::Result;
use serde_json::Value;

use super::speed::{NOTHING, PROFILE, middle};
use super::{CAPACITY, SOURCES, jobs_of, plugin, with_settings};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::fio::number;
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "speed_nbd",
    title: "A drive that takes no time over NBD, beside nbdkit's memory",
    needs: &[Root, Program("fio"), Program("nbdkit")],
    sources: SOURCES,
    run,
};

/// Turns, in the short form and in full.
const TURNS: [usize; 2] = [3, 9];
/// The least share of the rate of nbdkit's memory.
const RATE_MIN: f64 = 0.8;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let capacity = format!("capacity={CAPACITY}");
    let drive = with_settings(PROFILE, &NOTHING);
    let ours = NbdServer::start(plugin(lab)?, &[&drive, &capacity, "state=filled"]);
    let memory = NbdServer::start("memory", &["size=4G"]);
    let servers = [&ours, &memory];
    for server in servers {
        job(lab, server, &["--rw=write", "--bs=1m", "--iodepth=4", "--size=1g"])?;
    }
    let mut figures = Vec::new();
    for kind in ["randread", "randwrite"] {
        let (mut ratios, mut rates) = (Vec::new(), Vec::new());
        for turn in 0..lab.form(TURNS[0], TURNS[1]) {
            // Who comes first changes.
            let mut order = [0, 1];
            order.rotate_left(turn % 2);
            let mut seen = [0.0; 2];
            for side in order {
                seen[side] = rate(lab, servers[side], kind)?;
            }
            ratios.push(seen[0] / seen[1]);
            rates.push(seen[0]);
        }
        let what = format!("{kind} of 4 KiB, 32 at once: share of the rate of nbdkit's memory");
        let figure = Figure::new(what, (middle(&ratios), ""), Bar::AtLeast(RATE_MIN));
        figures.push(figure.with_note(format!("{:.0} requests a second", middle(&rates))));
    }
    Ok(figures)
}

/// Requests a second.
fn rate(lab: &Lab<'_>, server: &NbdServer, kind: &str) -> Result<f64> {
    let shape = format!("--rw={kind}");
    let time = ["--time_based", "--runtime=3", "--size=1g", "--bs=4k", "--iodepth=32"];
    let job = job(lab, server, &[&time[..], &[&shape]].concat())?;
    number(&job, &format!("/{}/iops", kind.trim_start_matches("rand")))
}

fn job(lab: &Lab<'_>, server: &NbdServer, arguments: &[&str]) -> Result<Value> {
    let mut fio = server.fio();
    let output = lab.call_well(fio.args(["--output-format=json", "--name=job"]).args(arguments))?;
    let [job] = jobs_of(&output.stdout)?;
    Ok(job)
}
