//! Over FUSE and the loop device: calls that are wrong, deep queues that are cancelled, and writers
//! beside each other.

use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::{FallocateFlags, fallocate};

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use xtask::process;

use super::{CAPACITY, GUARD, Neighbourhood, PROFILE, Survived, attack_for, frame, peak_mib};
use crate::attach::direct::DirectFile;
use crate::detached::DetachedDrive;
use crate::figure::Figure;
use crate::lab::Lab;

pub(super) fn run(lab: &Lab<'_>, span: Duration) -> Result<Vec<Figure>> {
    let around = Neighbourhood::new(lab)?;
    let backing = around.drive();
    let capacity = format!("{CAPACITY}B");
    let path = backing.to_str().context("a path in memory")?;
    let arguments = [PROFILE, "--capacity", &capacity, "--backing", path];
    let drive = DetachedDrive::start(lab, &arguments)?;
    let (node, process) = (drive.node(), drive.process().as_raw_pid().unsigned_abs());
    let device = DirectFile::open(node)?;
    let guards = [0, CAPACITY - GUARD];
    let content = |place: u64| place.wrapping_add(0x5a5a).to_le_bytes().repeat(index(GUARD / 8));
    for place in guards {
        device.write(place, &content(place))?;
    }
    device.file().sync_all()?;
    let (begun, before) = (frame(&backing)?, peak_mib(process)?);
    let attacks = attack_for(span, |rng| {
        attack(&device, (node, lab.folder()), rng)?;
        // One block more or less is read, whatever happened.
        device.read(GUARD, 4_096).context("an honest read fails").map(drop)
    })?;
    let most = peak_mib(process)?;
    let mut wrong = around.changed()?;
    for place in guards {
        if device.read(place, index(GUARD))? != content(place) {
            wrong.push(format!("the drive at {place}"));
        }
    }
    if frame(&backing)? != begun {
        wrong.push("the header or the length of the drive's file".to_owned());
    }
    if !drive.answers() {
        wrong.push("the server has ended".to_owned());
    }
    drop(device);
    Ok(Survived { way: "loop device", attacks, memory: [before, most], wrong }.figures())
}

fn attack(device: &DirectFile, (node, folder): (&Path, &Path), rng: &mut Rng) -> Result<()> {
    match rng.below(8) {
        0 => odd_memory_and_places(device, rng),
        1..=2 => odd_ranges(device, rng),
        3 => odd_programs(node, rng),
        4 => cancelled(node, folder, rng),
        5 => beside_each_other(node, folder),
        _ => good(device, rng),
    }
}

/// A place between the guards, of whole blocks.
fn drawn(rng: &mut Rng) -> (u64, u64) {
    let offset = GUARD + rng.below((CAPACITY - 2 * GUARD) / 512 - 2_048) * 512;
    (offset, 512 * (1 + rng.below(2_048)))
}

/// Memory and places that are no whole blocks, and places beyond the end.
fn odd_memory_and_places(device: &DirectFile, rng: &mut Rng) -> Result<()> {
    let file = device.file();
    let (offset, _) = drawn(rng);
    let memory = vec![0xbd; 8_193];
    let start = 1 + index(rng.below(510));
    let odd = [
        file.write_at(&memory[start..start + 512], offset + 1),
        file.write_at(&memory[start..start + 513], offset),
        file.write_at(&memory[..4_096], CAPACITY),
        file.write_at(&memory[..4_096], CAPACITY + (1 << 40)),
        file.write_at(&memory[..4_096], (1 << 63) - 4_096),
    ];
    ensure!(odd.iter().all(Result::is_err), "a write is done: {odd:?}");
    let mut into = vec![0; 4_096];
    let read = file.read_at(&mut into, CAPACITY + 4_096);
    ensure!(!matches!(read, Ok(1..)), "a read beyond the end: {read:?}");
    Ok(())
}

/// Ranges to be allocated, freed and shifted that are wrong in some way.
fn odd_ranges(device: &DirectFile, rng: &mut Rng) -> Result<()> {
    let (offset, length) = drawn(rng);
    let keeps = FallocateFlags::KEEP_SIZE;
    let (punch, zero) = (FallocateFlags::PUNCH_HOLE | keeps, FallocateFlags::ZERO_RANGE | keeps);
    let places = [
        (offset + 1, length),
        (offset, length + 1),
        (CAPACITY, 4_096),
        (CAPACITY + 4_096, 1 << 40),
        ((1 << 63) - 4_096, 8_192),
        (offset, 0),
    ];
    for flags in [punch, zero] {
        for (offset, length) in places {
            let done = fallocate(device.file(), flags, offset, length);
            ensure!(done.is_err(), "{flags:?} of {length} at {offset} is done");
        }
    }
    for flags in [FallocateFlags::COLLAPSE_RANGE, FallocateFlags::INSERT_RANGE, keeps] {
        let done = fallocate(device.file(), flags, offset, length);
        ensure!(done.is_err(), "{flags:?} is done");
    }
    Ok(())
}

/// What programs ask of a device, rightly and wrongly.
fn odd_programs(node: &Path, rng: &mut Rng) -> Result<()> {
    let (offset, length) = drawn(rng);
    let blkdiscard = |arguments: &[String]| {
        let mut command = Command::new("blkdiscard");
        process::quietly(command.arg("--force").args(arguments).arg(node))
    };
    let place = |offset: u64, length: u64| [format!("-o{offset}"), format!("-l{length}")];
    for (offset, length) in [(offset + 1, 512), (offset, 511), (CAPACITY + 512, 512)] {
        ensure!(!blkdiscard(&place(offset, length)), "a discard of {length} at {offset} is done");
    }
    ensure!(blkdiscard(&place(offset, length)), "a good discard fails");
    let zeroout = [&place(offset, length)[..], &["--zeroout".to_owned()]].concat();
    ensure!(blkdiscard(&zeroout), "a good zeroing fails");
    for wish in ["--flushbufs", "--rereadpt", "--getsize64", "--getalignoff"] {
        let _answer = process::quietly(Command::new("blockdev").arg(wish).arg(node));
    }
    Ok(())
}

/// A thousand requests at once, and a kill.
fn cancelled(node: &Path, folder: &Path, rng: &mut Rng) -> Result<()> {
    let mut job = fio(node, folder, &["--rw=randrw", "--iodepth=1024", "--bsrange=512-128k"])?;
    thread::sleep(Duration::from_millis(100 + rng.below(400)));
    job.kill().context("kill fio")?;
    job.wait().context("wait for fio")?;
    Ok(())
}

/// Four writers, discards among them, to the same MiB.
fn beside_each_other(node: &Path, folder: &Path) -> Result<()> {
    let narrow = ["--size=1m", "--bsrange=512-64k", "--iodepth=16", "--time_based", "--runtime=1"];
    let kinds = ["--rw=randwrite", "--rw=randread", "--rw=randtrim", "--rw=randwrite"];
    let jobs: Result<Vec<Child>> =
        kinds.iter().map(|kind| fio(node, folder, &[&narrow[..], &[kind]].concat())).collect();
    for mut job in jobs? {
        let status = job.wait().context("wait for fio")?;
        if !status.success() {
            bail!("fio {status}");
        }
    }
    Ok(())
}

/// fio between the guards.
fn fio(node: &Path, folder: &Path, arguments: &[&str]) -> Result<Child> {
    let mut fio = Command::new("fio");
    fio.args(["--name=job", "--thread", "--direct=1", "--ioengine=io_uring"]);
    fio.arg(format!("--filename={}", node.display())).arg(format!("--offset={GUARD}"));
    fio.arg(format!("--size={}", CAPACITY - 2 * GUARD)).args(arguments);
    fio.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    fio.spawn().context("start fio")
}

/// What anybody may ask.
fn good(device: &DirectFile, rng: &mut Rng) -> Result<()> {
    let (offset, length) = drawn(rng);
    let keeps = FallocateFlags::KEEP_SIZE;
    match rng.below(4) {
        0 => device.write(offset, &vec![0xbd; index(length)])?,
        1 => drop(device.read(offset, index(length))?),
        2 => fallocate(device.file(), FallocateFlags::PUNCH_HOLE | keeps, offset, length)?,
        _ => fallocate(device.file(), FallocateFlags::ZERO_RANGE | keeps, offset, length)?,
    }
    Ok(())
}
