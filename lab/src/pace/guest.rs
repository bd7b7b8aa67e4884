//! A guest of qemu whose NVMe drive is slow to discard: the emulated drive over NBD. Its discards
//! and reads go through a queue of NVMe, which a loop device does not have. The guest's processor
//! is emulated and slow, its kernel old; what is compared are its own times.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ::tests::Need::{Program, Root};
use ::tests::nbd::NbdServer;
use ::tests::program::BuiltProgram;
use anyhow::{Context as _, Result, bail};
use xtask::steps::Deadline;
use xtask::{Guest, GuestKind, process};

use super::full_filesystem::{CAPACITY, FILESYSTEMS, FullFilesystem, ONCE, SOURCES, SlowDrive};
use super::slow_drives::{RIVALS, TEN_MS, figures_of};
use super::trial::{LIMIT, Trimmed};
use crate::attach::plugin;
use crate::entry::{Entry, NotMeasured};
use crate::figure::Figure;
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "guest",
    title: "Reads beside `trimpace --p99` in a guest of qemu whose NVMe drive takes 10 ms for a \
            discard",
    needs: &[Root, Program("nbdkit")],
    sources: SOURCES,
    run,
};

/// The part of this program that runs in the guest.
pub(crate) const PART: &str = "pace-guest";
/// What the slow processor reads beside all else.
const DRIVE: SlowDrive = SlowDrive { rate: 100, ..TEN_MS };
/// Of the guest, for one trial.
const MEMORY_MIB: u32 = 1_024;
const PATIENCE: Duration = Duration::from_secs(8 * 60);

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    if let Some(reason) = GuestKind::Cloud.missing() {
        return Err(NotMeasured(reason).into());
    }
    let (plugin, trimpace) = (plugin(lab)?, lab.trimpace(&[])?);
    let trial = |law: Option<&[&str]>| trial(&plugin, trimpace.get_program().as_ref(), law);
    figures_of("guest, ext4", (DRIVE.rate, true, false), &RIVALS, &trial)
}

/// A trial in a guest of its own, on a drive of its own.
fn trial(plugin: &Path, trimpace: &Path, law: Option<&[&str]>) -> Result<Trimmed> {
    let capacity = format!("capacity={CAPACITY}");
    let server = NbdServer::start(plugin, &[DRIVE.profile, &capacity, "state=filled"]);
    let own = env::current_exe().context("where this program is")?;
    let words = [
        &[&own.to_string_lossy(), "part", PART, "\"$DISKS\"", &trimpace.to_string_lossy()],
        law.unwrap_or_default(),
    ];
    let script = words.concat().join(" ");
    eprintln!("  in a guest: {script}");
    let guest = Guest::new(GuestKind::Cloud).served_nvme(server.socket()).memory_mib(MEMORY_MIB);
    let output = guest.deadline(PATIENCE).run(&script)?.checked()?;
    let trimmed: Trimmed = serde_json::from_str(output.stdout.trim())
        .with_context(|| format!("the guest says `{}`", output.stdout))?;
    Ok(trimmed)
}

/// In the guest: one trial on this drive, and prints it.
pub(crate) fn part(arguments: &[&str]) -> Result<()> {
    let [node, trimpace, law @ ..] = arguments else { bail!("a drive and a program") };
    let programs = BuiltProgram::at(trimpace).until(Deadline::after(LIMIT));
    process::quietly(Command::new("modprobe").arg(FILESYSTEMS[0].0));
    let full = FullFilesystem::on(
        Path::new(node),
        (&DRIVE, FILESYSTEMS[0]),
        (&programs, Path::new("/mnt")),
    )?;
    let mut trimmer = Command::new(if law.is_empty() { "fstrim" } else { trimpace });
    if !law.is_empty() {
        trimmer.args(ONCE).args(law);
    }
    let trimmed = full.trim(&DRIVE, trimmer, &programs)?;
    println!("{}", serde_json::to_string(&trimmed)?);
    Ok(())
}
