//! An emulated drive as a block device of the kernel: what filesystems and programs see of it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a device that answers by the wall's clock"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use tests::nbd::{NbdClient, NbdServer};
use tests::{Mounted, Need, requires, run, scratch};
use trimbench_attach::{AttachedDrive, Attachment, BackingPlace, Request, RequestKind};
use trimbench_core::{Bytes, Errno};
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
        // The kernel zeroes the rest of the tables meanwhile, which a loop device sends as holes.
        works("ext4", &["e2fsck", "-fn"], "noinit_itable,discard");
        works("ext4", &["e2fsck", "-fn"], "noinit_itable,nodiscard");
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
fn a_filesystem_is_made_on_one_drive_while_another_is_mounted() {
    let test = "a_filesystem_is_made_on_one_drive_while_another_is_mounted";
    let needs = [NEEDS.as_slice(), &[Filesystem("btrfs"), Program("mkfs.btrfs")]].concat();
    if !requires(test, &needs) {
        return;
    }
    let [one, other] = [(); 2].map(|()| attach(&new(config("generic-nvme-tlc"))));
    let node = |drive: &AttachedDrive| drive.node().to_str().unwrap().to_owned();
    run("mkfs.btrfs", &["-q", &node(&one)]);
    let folder = scratch();
    let _mounted = Mounted::new(&[&node(&one)], folder.path());
    run("mkfs.btrfs", &["-q", &node(&other)]);
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
fn nobody_but_its_user_reaches_a_drive_and_nothing_looks_into_it() {
    use std::os::unix::fs::{FileExt as _, PermissionsExt as _};

    let test = "nobody_but_its_user_reaches_a_drive_and_nothing_looks_into_it";
    if !requires(test, &[NEEDS.as_slice(), &[Program("nbdkit")]].concat()) {
        return;
    }
    let server = NbdServer::of_drive(&["generic-nvme-tlc", "capacity=1GiB"]);
    let _client = NbdClient::begin(&server).unwrap();
    let folder = fs::metadata(trimbench_claim::registry::folder()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o077, 0, "of control sockets");
    let open = fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap();
    let open = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let sockets: Vec<String> = open.map(|link| link.display().to_string()).collect();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let Ok(table) = fs::read_to_string(format!("/proc/net/{table}")) else { continue };
        for inode in table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(9)) {
            assert!(!sockets.contains(&format!("socket:[{inode}]")), "it is on the network");
        }
    }
    let drive = attach(&new(config("generic-nvme-tlc")));
    let device = fs::File::options().write(true).open(drive.node()).unwrap();
    // One partition of Linux, from the first MiB on.
    let mut table = [0; 512];
    table[446..462].copy_from_slice(&[0, 0, 2, 0, 0x83, 0, 2, 0, 0, 8, 0, 0, 0, 8, 0, 0]);
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    device.write_all_at(&table, 0).unwrap();
    device.sync_all().unwrap();
    drop(device);
    let name = drive.node().file_name().unwrap().to_str().unwrap();
    let sysfs = Path::new("/sys/block").join(name);
    assert_eq!(fs::read_to_string(sysfs.join("loop/partscan")).unwrap().trim(), "0");
    assert!(!sysfs.join(format!("{name}p1")).exists(), "partitions are looked for");
}

#[test]
fn a_file_without_room_gives_the_same_error_and_what_was_not_written_is_not_read() {
    let test = "a_file_without_room_gives_the_same_error_and_what_was_not_written_is_not_read";
    if !requires(test, &[Root]) {
        return;
    }
    let folder = scratch();
    let place = folder.path().join("small");
    let _mounted = Mounted::memory("4m", &place);
    let ballast = place.join("ballast");
    fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let backing = BackingPlace {
        path: place.join("drive"),
        profile: "generic-nvme-tlc".to_owned(),
        profile_hash: 1,
    };
    let attachment =
        Attachment { backing: Some(backing), ..Attachment::new(config("generic-nvme-tlc")) };
    let (engine, _timer) = attachment.serve().unwrap();
    let run = |request: Request<'_>| {
        let (sender, receiver) = std::sync::mpsc::channel();
        engine.submit(request, Box::new(move |outcome| drop(sender.send(outcome))));
        receiver.recv().unwrap()
    };
    let length = 65_536;
    let data = vec![7; 65_536];
    let full = (0..100).map(|number| number * length).find_map(|offset| {
        run(Request::Write { offset, data: &data }).err().map(|errno| (offset, errno))
    });
    let (offset, errno) = full.expect("there is no room for so much");
    assert_eq!(errno, Errno(28), "ENOSPC");
    assert_eq!(run(Request::Read { offset, length }), Err(Errno::EIO));
    let before = offset - length;
    assert!(run(Request::Read { offset: before, length }).unwrap() == data);
    fs::remove_file(&ballast).unwrap();
    assert_eq!(run(Request::Read { offset, length }), Err(Errno::EIO), "it stays an error");
    run(Request::Write { offset, data: &data }).unwrap();
    assert!(run(Request::Read { offset, length }).unwrap() == data);
}
