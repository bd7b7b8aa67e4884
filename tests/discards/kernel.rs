//! What the running kernel does.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;

use trimbench_core::settings::Named as _;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Nanos};
use trimbench_fs::{FsKind, Journaling};
use trimbench_policy::Issuer;

use super::{DiscardAction, DiscardCase, FsyncCase, SeenRequests};
use crate::run;
use crate::slow_disk::{SlowDevice, SlowDisk};
use crate::tracepoints::{Recorded, Trace};

/// How long a discard of the slow device takes, beside what FUSE takes.
const DISCARD: Duration = Duration::from_millis(2);
/// How long every request takes beside an fsync.
const REQUEST: Duration = Duration::from_millis(2);
/// Write-back throttling is back at its first step after this rest.
const SETTLE: Duration = Duration::from_secs(4);
/// Discards are over when none came for so long.
const QUIET: Duration = Duration::from_millis(1_500);

/// The discards of a case on a slow loop device.
///
/// # Panics
/// If the kernel lacks what it needs: [`crate::requires`] said that it is there.
pub(super) fn by_kernel(case: &DiscardCase) -> Result<SeenRequests> {
    let mebibytes = case.capacity.0 >> 20;
    let Some(kind) = case.kind() else {
        let device = SlowDevice::new(mebibytes);
        set_queue(|it| device.queue(it), case.throttled, case.discard_max);
        std::thread::sleep(SETTLE);
        device.delay_discards(DISCARD);
        let trace = Trace::of(device.node(), Recorded::Discards)?;
        run("blkdiscard", &[device.node()]);
        set_queue(|it| device.queue(it), true, None);
        let [discards, _] = SeenRequests::of_trace(&trace)?;
        return Ok(discards);
    };
    let disk = made(case, kind, mebibytes);
    set_queue(|it| disk.queue(it), case.throttled, case.discard_max);
    let top = disk.path().to_owned();
    let path = |file: u32| top.join(file.to_string());
    let data = vec![1; index(case.size.0)];
    for file in 0..case.files {
        store(&path(file), &data);
    }
    let place = top.to_str().expect("temporary names are ASCII");
    run("sync", &["--file-system", place]);
    let remove = || case.deleted().for_each(|it| fs::remove_file(path(it)).expect("it is there"));
    if case.action == DiscardAction::Trim {
        remove();
        settle_deletions(&top, kind);
    }
    std::thread::sleep(SETTLE);
    disk.delay_discards(DISCARD);
    let trace = Trace::of(disk.node(), Recorded::Discards)?;
    match case.action {
        DiscardAction::Trim => {
            run("fstrim", &[place]);
        }
        DiscardAction::Unmount => {
            remove();
            run("umount", &[place]);
        }
        DiscardAction::DeleteAlternate | DiscardAction::DeleteAll | DiscardAction::Device => {
            remove();
            settle_deletions(&top, kind);
        }
    }
    if case.action != DiscardAction::Unmount {
        let late = case.issuer == Issuer::BtrfsAsync;
        trace.quiet(if late { Duration::from_secs(15) } else { QUIET })?;
    }
    let [discards, _] = SeenRequests::of_trace(&trace)?;
    disk.delay_discards(Duration::ZERO);
    set_queue(|it| disk.queue(it), true, None);
    drop(trace);
    Ok(discards)
}

/// How long an fsync takes behind a mass deletion where every request takes a while; and the
/// discards and other requests meanwhile.
///
/// # Panics
/// As [`by_kernel`].
pub(super) fn fsync_by_kernel(case: &FsyncCase) -> Result<(Nanos, [SeenRequests; 2])> {
    let mount = case.issuer.map_or("nodiscard", |issuer| discarding(case.kind, Some(issuer)));
    let mebibytes = case.capacity().0 >> 20;
    let disk = SlowDisk::on(SlowDevice::new(mebibytes), case.kind.id(), &[], mount);
    set_queue(|it| disk.queue(it), case.throttled, None);
    let top = disk.path().to_owned();
    let path = |file: u32| top.join(file.to_string());
    let data = vec![1; index(case.size.0)];
    for file in 0..2 * case.files {
        store(&path(file), &data);
    }
    let place = top.to_str().expect("temporary names are ASCII");
    run("sync", &["--file-system", place]);
    std::thread::sleep(SETTLE);
    disk.delay(REQUEST);
    let trace = Trace::of(disk.node(), Recorded::All)?;
    (0..case.files).for_each(|file| fs::remove_file(path(2 * file)).expect("it is there"));
    // XFS frees in the background.
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    // Without data: on btrfs an fsync that allocates a block group commits everything.
    store(&top.join("new"), &[]);
    let took = begin.elapsed();
    trace.quiet(QUIET)?;
    let seen = SeenRequests::of_trace(&trace)?;
    disk.delay(Duration::ZERO);
    set_queue(|it| disk.queue(it), true, None);
    drop(trace);
    Ok((Nanos(u64::try_from(took.as_nanos()).expect("less than centuries")), seen))
}

fn made(case: &DiscardCase, kind: FsKind, mebibytes: u64) -> SlowDisk {
    let (make, mount): (&[&str], &str) = match (case.action, case.journaling) {
        (_, Journaling::None) => (&["-O", "^has_journal"], "discard"),
        (_, Journaling::Writeback) => (&[], "discard,data=writeback"),
        (DiscardAction::Trim, _) => (&[], "nodiscard"),
        _ => (&[], discarding(kind, Some(case.issuer))),
    };
    let disk = SlowDisk::on(SlowDevice::new(mebibytes), kind.id(), make, mount);
    if kind == FsKind::Ext4 {
        // It allocates in those groups only that it has looked at.
        let groups = format!("/proc/fs/ext4/{}/mb_groups", disk.name());
        fs::read(groups).expect("ext4 shows its groups");
    }
    disk
}

/// The mount option.
fn discarding(kind: FsKind, issuer: Option<Issuer>) -> &'static str {
    match (kind, issuer) {
        (FsKind::Btrfs, Some(Issuer::BtrfsSync)) => "discard=sync",
        (FsKind::Btrfs, _) => "discard=async",
        _ => "discard",
    }
}

/// Sets a queue: what others set of a loop device outlives its being detached.
fn set_queue(queue: impl Fn(&str) -> PathBuf, throttled: bool, discard_max: Option<Bytes>) {
    let own = Bytes((1 << 32) - 4096);
    for (attribute, value) in [
        ("scheduler", "none".to_owned()),
        ("nr_requests", "128".to_owned()),
        ("wbt_lat_usec", if throttled { "2000" } else { "0" }.to_owned()),
        ("discard_max_bytes", discard_max.unwrap_or(own).0.to_string()),
    ] {
        fs::write(queue(attribute), value).expect("the queue can be set");
    }
}

fn store(path: &Path, data: &[u8]) {
    let mut new = File::create(path).expect("there is room");
    new.write_all(data).expect("there is room");
    new.sync_all().expect("the device works");
}

/// Deletions are committed: XFS frees in the background first, and needs a dirty file.
fn settle_deletions(place: &Path, kind: FsKind) {
    if kind == FsKind::Xfs {
        std::thread::sleep(Duration::from_millis(300));
        store(&place.join("last"), &[1; 4096]);
    }
    run("sync", &["--file-system", place.to_str().expect("temporary names are ASCII")]);
}
