//! An emulated drive as a block device of the kernel: what filesystems and programs see of it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a device that answers by the wall's clock"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use tests::{Mounted, Need, requires, run, scratch};
use trimbench_attach::{
    Answer, AttachedDrive, Attachment, LiveFault, Order, RequestKind, ask, attached,
};
use trimbench_core::Bytes;
use trimbench_ssd::{Profile, SsdConfig};

const NEEDS: [Need; 3] = [Root, Loop, Fuse];
/// Files that are written.
const FILES: u32 = 40;
/// Files of which every other one is deleted.
const FILE_BYTES: usize = 300_000;

fn config(profile: &str) -> SsdConfig {
    let own = Profile::built_in(profile).expect("it is built in").config;
    SsdConfig { capacity: Bytes::gib(1), ..own }
}

/// A new drive that logs what it is asked.
fn new(config: SsdConfig) -> Attachment {
    Attachment { logs: true, ..Attachment::new(config) }
}

fn attach(attachment: &Attachment) -> AttachedDrive {
    AttachedDrive::attach(attachment.clone()).expect("root has FUSE and loop devices")
}

/// Everything that the drive was asked comes to the same instants in virtual time.
fn assert_replayed(drive: &AttachedDrive, attachment: &Attachment) {
    let ended = attachment.replay(&drive.engine().take_log());
    assert!(ended.expect("the model is deterministic") > 100);
}

/// Bytes that the kernel has discarded on the device, by its own count.
fn discarded_by_kernel(node: &str) -> u64 {
    let name = node.strip_prefix("/dev/").expect("a device");
    let counters = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("it is there");
    let sectors: u64 = counters.split_whitespace().nth(13).expect("a field").parse().unwrap();
    sectors * 512
}

fn discarded_by_drive(drive: &AttachedDrive) -> u64 {
    let kinds = drive.engine().statistics().kinds;
    kinds.iter().find(|it| it.kind == RequestKind::Discard).map_or(0, |it| it.bytes)
}

fn content(number: u32, version: u32) -> Vec<u8> {
    format!("file {number}, version {version}\n").repeat(FILE_BYTES / 20).into_bytes()
}

fn works(filesystem: &'static str, check: &[&str], options: &str) {
    let attachment = new(config("generic-sata-tlc"));
    let drive = attach(&attachment);
    let node = drive.node().to_str().expect("a device").to_owned();
    run(&format!("mkfs.{filesystem}"), &["-q", &node]);
    let folder = scratch();
    {
        let mounted = Mounted::new(&["-o", options, &node], folder.path());
        let before = (discarded_by_kernel(&node), discarded_by_drive(&drive));
        let file = |number: u32| folder.path().join(format!("file{number}"));
        for number in 0..FILES {
            fs::write(file(number), content(number, 0)).unwrap();
        }
        run("sync", &["--file-system", folder.path().to_str().unwrap()]);
        (0..FILES).step_by(2).for_each(|number| fs::remove_file(file(number)).unwrap());
        run("sync", &["--file-system", folder.path().to_str().unwrap()]);
        run("fstrim", &[folder.path().to_str().unwrap()]);
        let since = || {
            let kernel = discarded_by_kernel(&node) - before.0;
            (kernel, discarded_by_drive(&drive) - before.1)
        };
        // XFS returns from a trim while the last discards are under way.
        let begun = Instant::now();
        while since().0 != since().1 && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (kernel, arrived) = since();
        assert_eq!(kernel, arrived, "what the kernel sent has arrived");
        assert!(arrived > u64::from(FILES / 2) * FILE_BYTES as u64 / 2);
        fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
        for number in (1..FILES).step_by(2) {
            assert!(fs::read(file(number)).unwrap() == content(number, 0), "{number}");
        }
        drop(mounted);
    }
    run(check[0], &[&check[1..], &[node.as_str()]].concat());
    assert_replayed(&drive, &attachment);
}

#[test]
fn ext4_is_made_filled_trimmed_and_clean() {
    let needs = [NEEDS.as_slice(), &[Filesystem("ext4"), Program("mkfs.ext4")]].concat();
    if requires("ext4_is_made_filled_trimmed_and_clean", &needs) {
        works("ext4", &["e2fsck", "-fn"], "discard");
        works("ext4", &["e2fsck", "-fn"], "nodiscard");
    }
}

#[test]
fn xfs_is_made_filled_trimmed_and_clean() {
    let needs = [NEEDS.as_slice(), &[Filesystem("xfs"), Program("mkfs.xfs")]].concat();
    if requires("xfs_is_made_filled_trimmed_and_clean", &needs) {
        works("xfs", &["xfs_repair", "-n"], "discard");
        works("xfs", &["xfs_repair", "-n"], "nodiscard");
    }
}

#[test]
fn btrfs_is_made_filled_trimmed_and_clean() {
    let needs = [NEEDS.as_slice(), &[Filesystem("btrfs"), Program("mkfs.btrfs")]].concat();
    if requires("btrfs_is_made_filled_trimmed_and_clean", &needs) {
        works("btrfs", &["btrfs", "check"], "discard=sync");
        works("btrfs", &["btrfs", "check"], "nodiscard");
    }
}

#[test]
fn a_queue_of_64_arrives_whole_and_what_fio_wrote_is_there() {
    let needs = [NEEDS.as_slice(), &[Program("fio")]].concat();
    if !requires("a_queue_of_64_arrives_whole_and_what_fio_wrote_is_there", &needs) {
        return;
    }
    // So slow that the queue fills up on any machine.
    let attachment = Attachment { slow_down: 20, ..new(config("generic-nvme-tlc")) };
    let drive = attach(&attachment);
    let node = drive.node().to_str().expect("a device");
    let folder = scratch();
    let fio = |arguments: &[&str]| {
        let mut command = Command::new("fio");
        command.args(["--name=job", "--direct=1", "--ioengine=io_uring", "--iodepth=64"]);
        command.arg(format!("--filename={node}")).args(arguments).current_dir(folder.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    fio(&["--rw=randwrite", "--bs=4k", "--size=8m", "--verify=crc32c"]);
    fio(&["--rw=randtrim", "--bs=64k", "--offset=512m", "--size=16m"]);
    let statistics = drive.engine().statistics();
    assert_eq!(statistics.most_under_way, 64);
    assert!(statistics.kinds.iter().any(|it| it.kind == RequestKind::Discard && it.count == 256));
    assert_replayed(&drive, &attachment);
}

#[test]
fn what_was_synced_before_a_power_cut_is_there_after_it() {
    let test = "what_was_synced_before_a_power_cut_is_there_after_it";
    let needs = [NEEDS.as_slice(), &[Filesystem("ext4"), Program("mkfs.ext4")]].concat();
    if !requires(test, &needs) {
        return;
    }
    let attachment = new(config("generic-sata-tlc"));
    let drive = attach(&attachment);
    let node = drive.node().to_str().expect("a device").to_owned();
    run("mkfs.ext4", &["-q", &node]);
    let folder = scratch();
    let file = |number: u32| folder.path().join(format!("file{number}"));
    for round in 1..=3 {
        let mounted = Mounted::new(&["-o", "discard", &node], folder.path());
        for number in 0..20 {
            write_durably(&file(number), &content(number, round));
        }
        (20..40).for_each(|number| fs::write(file(number), content(number, round)).unwrap());
        drive.engine().plant(&LiveFault::PowerCut).unwrap();
        assert!(
            fs::write(file(50), "x").and_then(|()| fs::File::open(file(50))?.sync_all()).is_err()
        );
        drop(mounted);
        drive.engine().plant(&LiveFault::PowerOn).unwrap();
        // The journal is replayed by the mount; then nothing is wrong.
        drop(Mounted::new(&["-o", "discard", &node], folder.path()));
        run("e2fsck", &["-fn", &node]);
        let mounted = Mounted::new(&["-o", "ro", &node], folder.path());
        for number in 0..20 {
            assert!(fs::read(file(number)).unwrap() == content(number, round), "{number}");
        }
        drop(mounted);
    }
    assert_replayed(&drive, &attachment);
}

fn write_durably(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::File::open(path).unwrap().sync_all().unwrap();
}

/// A drive that nbdkit serves. Ended when dropped.
struct Nbd {
    child: Child,
    socket: PathBuf,
    _folder: TempDir,
}

impl Nbd {
    fn serve(settings: &[&str]) -> Self {
        let folder = scratch();
        let socket = folder.path().join("nbd");
        // Beside the test's own program.
        let built = std::env::current_exe().unwrap();
        let plugin = built.with_file_name("libtrimbench_nbdkit.so");
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["--foreground", "--exit-with-parent", "--threads=64", "--unix"]).arg(&socket);
        let child = nbdkit.arg(plugin).args(settings).spawn().unwrap();
        let begun = Instant::now();
        while !socket.exists() {
            assert!(begun.elapsed() < Duration::from_secs(20), "nbdkit does not serve");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, socket, _folder: folder }
    }

    fn fio(&self, arguments: &[&str]) {
        let mut command = Command::new("fio");
        let uri = format!("--uri=nbd+unix:///?socket={}", self.socket.display());
        command.args(["--name=job", "--ioengine=nbd", &uri]).args(arguments);
        let output = command.current_dir(self.socket.parent().unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn ask(&self, order: &Order) -> Answer {
        let device = format!("nbd:{}", self.child.id());
        let drives = attached().unwrap();
        let own = drives.iter().find(|(_, status)| status.device == Path::new(&device));
        ask(&own.expect("it is listed").0, order).unwrap()
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn over_nbd_discards_run_side_by_side_and_what_was_written_is_there() {
    let test = "over_nbd_discards_run_side_by_side_and_what_was_written_is_there";
    if !requires(test, &[Root, Program("nbdkit"), Program("fio")]) {
        return;
    }
    let nbd = Nbd::serve(&["plain-nvme-tlc,trim.mode=queued", "capacity=1GiB", "slow-down=20"]);
    nbd.fio(&["--rw=randwrite", "--bs=4k", "--size=4m", "--verify=crc32c", "--iodepth=16"]);
    nbd.fio(&["--rw=randtrim", "--bs=64k", "--offset=512m", "--size=16m", "--iodepth=8"]);
    let statistics = match nbd.ask(&Order::Statistics) {
        Answer::Statistics(statistics) => statistics,
        other => panic!("{other:?}"),
    };
    assert!(statistics.most_under_way >= 8, "{statistics:?}");
    let discards = statistics.kinds.iter().find(|it| it.kind == RequestKind::Discard).unwrap();
    assert_eq!((discards.count, discards.bytes), (256, 16 << 20));
    // nbdkit ends it, and nobody else.
    assert!(matches!(nbd.ask(&Order::Stop), Answer::Refused(reason) if reason.contains("process")));
}
