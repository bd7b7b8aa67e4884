//! Reads, writes, discards, flushes and power cuts of fio, replayed in virtual time.

use std::process::Command;
use std::time::Duration;

use ::tests::Need::{Fuse, Loop, Program, Root};
use anyhow::Result;
use trimbench_attach::{AttachedDrive, Attachment, LiveFault};

use super::{SOURCES, config, filled};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "exact",
    title: "A replay of what an attached drive was asked comes to the same instants",
    needs: &[Root, Loop, Fuse, Program("fio")],
    sources: SOURCES,
    run,
};

/// Profiles of different kinds, and how many commands each gets, in the short form and in full:
/// a TRIM of vendor2 takes a tenth of a second.
const PROFILES: [(&str, [u64; 2]); 5] = [
    ("generic-nvme-tlc", [10_000, 100_000]),
    ("generic-sata-tlc", [10_000, 100_000]),
    ("like-optane-900p", [10_000, 100_000]),
    ("generic-nvme-dramless", [10_000, 100_000]),
    ("vendor2", [1_000, 10_000]),
];
/// The power goes so long after fio has begun, and comes back after as long.
const CUT_AFTER: Duration = Duration::from_millis(700);

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    PROFILES
        .iter()
        .map(|(profile, [short, full])| of(lab, profile, lab.form(*short, *full)))
        .collect()
}

fn of(lab: &Lab<'_>, profile: &str, commands: u64) -> Result<Figure> {
    let attachment = Attachment { logs: true, ..filled(config(profile)?) };
    let drive = AttachedDrive::attach(attachment.clone())?;
    let mut fio = Command::new("fio");
    fio.args(["--direct=1", "--ioengine=io_uring", "--continue_on_error=all", "--randrepeat=1"]);
    fio.arg(format!("--filename={}", drive.node().display())).current_dir(lab.folder());
    fio.args(["--name=mix", "--rw=randrw", "--bsrange=4k-64k", "--iodepth=32", "--fsync=100"]);
    fio.arg(format!("--number_ios={}", commands * 9 / 10));
    fio.args(["--name=trims", "--rw=randtrim", "--bs=64k", "--iodepth=4", "--thinktime=500us"]);
    fio.arg(format!("--number_ios={}", commands / 10));
    let engine = drive.engine().clone();
    let cut = std::thread::spawn(move || {
        for fault in [LiveFault::PowerCut, LiveFault::PowerOn] {
            std::thread::sleep(CUT_AFTER);
            // Refused is only a second cut.
            let _ = engine.plant(&fault);
        }
    });
    // The power cut fails some of its requests.
    lab.call(&mut fio)?;
    let _ = cut.join();
    let log = drive.engine().take_log();
    drop(drive);
    let ended = attachment.replay(&log);
    let note = ended.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let same = ended.map_or(0.0, |ended| ended as f64);
    Ok(Figure::new(
        format!("{profile}: commands that ended at the same instant, before and after a power cut"),
        (same, ""),
        Bar::AtLeast(commands as f64 * 0.9),
    )
    .with_note(note))
}
