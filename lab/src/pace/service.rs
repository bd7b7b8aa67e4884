//! The service as it is packaged, under systemd: whether it works in its sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use ::tests::LoopDevice;
use ::tests::Need::{Filesystem, Loop, Program, Root};
use anyhow::{Context as _, Result, ensure};

use crate::entry::{Entry, NotMeasured};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "service",
    title: "`trimpace.service` under systemd trims in its sandbox, lets go of what it has trimmed, \
            stops at once and remembers",
    needs: &[Root, Loop, Filesystem("ext4"), Program("mkfs.ext4"), Program("systemctl")],
    sources: &[
        "crates/trimbench-claim",
        "crates/trimbench-core",
        "crates/trimbench-linux",
        "crates/trimbench-policy",
        "crates/trimpace",
        "lab/src/pace/service.sh",
        "packaging/systemd",
    ],
    run,
};

const SCRIPT: &str = include_str!("service.sh");
const MEBIBYTES: u64 = 512;
/// The first process of a machine.
const SYSTEMD: &str = "/lib/systemd/systemd";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    if !Path::new(SYSTEMD).exists() {
        return Err(NotMeasured(format!("no {SYSTEMD}")).into());
    }
    let device = LoopDevice::new(MEBIBYTES);
    let make = ["-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device.node()];
    lab.call_well(Command::new("mkfs.ext4").args(make))?;
    let trimpace = lab.trimpace(&[])?;
    let (script, folder) = (lab.folder().join("service.sh"), lab.folder().join("service"));
    fs::write(&script, SCRIPT).context("write the script")?;
    fs::create_dir(&folder).context("make a folder")?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--uts", "--ipc", "bash"]).arg(&script).arg(&folder);
    command.arg(trimpace.get_program()).arg(lab.repository().root().join("packaging/systemd"));
    let output = lab.call_well(command.arg(device.node()))?;
    let seen: BTreeMap<&str, f64> = output
        .stdout
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect();
    ensure!(seen.contains_key("end"), "it did not come to its end: {}", output.stdout);
    let value = |name: &str| seen.get(name).copied().with_context(|| format!("no `{name}`"));
    let is = |what: &str, name| -> Result<_> {
        Ok(Figure::new(what, (value(name)?, ""), Bar::Equals(1.0)))
    };
    let mebibytes = |name| -> Result<f64> { Ok(value(name)? / f64::from(1 << 20)) };
    let free = 0.9 * MEBIBYTES as f64;
    Ok(vec![
        is("the pass is completed", "trimmed")?,
        Figure::new("discarded", (mebibytes("discarded")?, "MiB"), Bar::AtLeast(free)),
        is("its discards are shortened", "shortened")?,
        is("while it waits the filesystem can be unmounted", "unmounted")?,
        is("it sees that", "absent")?,
        is("it knows the filesystem again", "returned")?,
        is("after a restart, too", "remembered")?,
        Figure::new(
            "discarded twice",
            (mebibytes("once")? - mebibytes("discarded")?, "MiB"),
            Bar::Equals(0.0),
        ),
        Figure::new("`systemctl stop` takes", (value("stop_ms")?, "ms"), Bar::AtMost(1_000.0)),
        is("the timer is planned", "timer")?,
    ])
}
