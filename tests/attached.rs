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
use tests::nbd::{NbdClient, NbdCommand, NbdServer, greet, option_head, request_head};
use tests::{Mounted, Need, requires, run, scratch};
use trimbench_attach::{
    Answer, AttachedDrive, Attachment, BackingPlace, LiveFault, Order, Request, RequestKind, ask,
    attached,
};
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

/// A drive that nbdkit serves by the plugin beside the test's own program.
fn over_nbd(settings: &[&str]) -> NbdServer {
    let built = std::env::current_exe().unwrap();
    NbdServer::start(built.with_file_name("libtrimbench_nbdkit.so"), settings)
}

fn run_fio(nbd: &NbdServer, arguments: &[&str]) {
    let output = nbd.fio().arg("--name=job").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn ask_drive(nbd: &NbdServer, order: &Order) -> Answer {
    let device = format!("nbd:{}", nbd.process());
    let drives = attached().unwrap();
    let own = drives.iter().find(|(_, status)| status.device == Path::new(&device));
    ask(&own.expect("it is listed").0, order).unwrap()
}

#[test]
fn over_nbd_discards_run_side_by_side_and_what_was_written_is_there() {
    let test = "over_nbd_discards_run_side_by_side_and_what_was_written_is_there";
    if !requires(test, &[Root, Program("nbdkit"), Program("fio")]) {
        return;
    }
    let nbd = over_nbd(&["plain-nvme-tlc,trim.mode=queued", "capacity=1GiB", "slow-down=20"]);
    run_fio(&nbd, &["--rw=randwrite", "--bs=4k", "--size=4m", "--verify=crc32c", "--iodepth=16"]);
    run_fio(&nbd, &["--rw=randtrim", "--bs=64k", "--offset=512m", "--size=16m", "--iodepth=8"]);
    let statistics = match ask_drive(&nbd, &Order::Statistics) {
        Answer::Statistics(statistics) => statistics,
        other => panic!("{other:?}"),
    };
    assert!(statistics.most_under_way >= 8, "{statistics:?}");
    let discards = statistics.kinds.iter().find(|it| it.kind == RequestKind::Discard).unwrap();
    assert_eq!((discards.count, discards.bytes), (256, 16 << 20));
    // nbdkit ends it, and nobody else.
    let stop = ask_drive(&nbd, &Order::Stop);
    assert!(matches!(stop, Answer::Refused(reason) if reason.contains("process")));
}

/// A drive over NBD, and a client of it.
fn hostile_server() -> (NbdServer, NbdClient) {
    let server = over_nbd(&["generic-nvme-tlc", "capacity=1GiB"]);
    let client = NbdClient::begin(&server).unwrap();
    (server, client)
}

#[test]
fn over_nbd_places_that_are_none_of_the_drive_are_refused() {
    let test = "over_nbd_places_that_are_none_of_the_drive_are_refused";
    if !requires(test, &[Root, Program("nbdkit")]) {
        return;
    }
    let (mut server, mut client) = hostile_server();
    let capacity: u64 = 1 << 30;
    let last = (capacity - 4_096, 4_096);
    client.ask(NbdCommand::Write, last, &[7; 4_096]).unwrap().unwrap();
    for command in
        [NbdCommand::Read, NbdCommand::Trim, NbdCommand::WriteZeroes, NbdCommand::Unknown(77)]
    {
        for place in [
            (capacity, 512),
            (capacity - 512, 1_024),
            (u64::MAX - 511, 512),
            (u64::MAX, u32::MAX),
            (4_096, u32::MAX),
        ] {
            let answer = client.ask(command, place, &[]).unwrap();
            assert!(answer.is_err(), "{command:?} {place:?}");
        }
    }
    let beyond = client.ask(NbdCommand::Write, (capacity - 512, 1_024), &[9; 1_024]).unwrap();
    assert!(beyond.is_err());
    assert!(client.ask(NbdCommand::Read, last, &[]).unwrap().unwrap() == [7; 4_096]);
    let memory = fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    let most = xtask::process::peak_kib(&memory).unwrap();
    assert!(most < 1 << 20, "4 GiB were asked for, and {most} KiB taken");
    assert!(server.is_running());
}

#[test]
fn over_nbd_who_breaks_off_or_floods_ends_his_own_connection_only() {
    use std::io::Write as _;

    let test = "over_nbd_who_breaks_off_or_floods_ends_his_own_connection_only";
    if !requires(test, &[Root, Program("nbdkit")]) {
        return;
    }
    let (mut server, mut client) = hostile_server();
    client.ask(NbdCommand::Write, (0, 4_096), &[7; 4_096]).unwrap().unwrap();
    let mut half_option = server.connect().unwrap();
    greet(&mut half_option).unwrap();
    half_option.write_all(&option_head(7, 1 << 20)[..9]).unwrap();
    let mut half_request = NbdClient::begin(&server).unwrap();
    let head = request_head(NbdCommand::Write, 1, (0, 4_096));
    half_request.stream().write_all(&head[..13]).unwrap();
    let mut half_write = NbdClient::begin(&server).unwrap();
    half_write.send(NbdCommand::Write, (0, 4_096), &[9; 100]).unwrap();
    let mut flood = server.connect().unwrap();
    greet(&mut flood).unwrap();
    let is_thrown_out = (0..100_000_u32).any(|number| {
        let option = [option_head(1_000 + number, 4_096), vec![0; 4_096]].concat();
        flood.write_all(&option).is_err()
    });
    assert!(is_thrown_out);
    let mut gone = NbdClient::begin(&server).unwrap();
    // Of several that are answered at once nbdkit 1.32 ends, whatever its plugin.
    gone.send(NbdCommand::Read, (0, 1 << 20), &[]).unwrap();
    drop(gone);
    // The slow ones are still connected.
    assert!(client.ask(NbdCommand::Read, (0, 4_096), &[]).unwrap().unwrap() == [7; 4_096]);
    drop((half_option, half_request, half_write));
    let mut next = NbdClient::begin(&server).unwrap();
    assert!(next.ask(NbdCommand::Read, (0, 4_096), &[]).unwrap().unwrap() == [7; 4_096]);
    assert!(server.is_running());
}

#[test]
fn over_nbd_a_second_client_reads_what_the_first_one_wrote() {
    let test = "over_nbd_a_second_client_reads_what_the_first_one_wrote";
    if !requires(test, &[Root, Program("nbdkit")]) {
        return;
    }
    let (server, mut first) = hostile_server();
    let mut second = NbdClient::begin(&server).unwrap();
    for round in 1..=20 {
        let place = (u64::from(round) * 4_096, 4_096);
        first.ask(NbdCommand::Write, place, &[round; 4_096]).unwrap().unwrap();
        first.ask(NbdCommand::Flush, (0, 0), &[]).unwrap().unwrap();
        assert!(second.ask(NbdCommand::Read, place, &[]).unwrap().unwrap() == [round; 4_096]);
        second.ask(NbdCommand::WriteZeroes, place, &[]).unwrap().unwrap();
        assert!(first.ask(NbdCommand::Read, place, &[]).unwrap().unwrap() == [0; 4_096]);
    }
}

#[test]
fn nobody_but_its_user_reaches_a_drive_and_nothing_looks_into_it() {
    use std::os::unix::fs::{FileExt as _, PermissionsExt as _};

    let test = "nobody_but_its_user_reaches_a_drive_and_nothing_looks_into_it";
    if !requires(test, &[NEEDS.as_slice(), &[Program("nbdkit")]].concat()) {
        return;
    }
    let (server, _client) = hostile_server();
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
