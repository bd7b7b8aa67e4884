//! An emulated drive over NBD: what hostile clients come to, and what other people's programs and a
//! guest see of it.

#![expect(clippy::print_stderr, reason = "tests report what they skip")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use tests::Need::{Program, Root};
use tests::nbd::{NbdClient, NbdCommand, NbdServer, greet, option_head, request_head};
use tests::{requires, run, scratch};
use trimbench_attach::{Answer, Order, RequestKind, Statistics, ask, attached};
use xtask::{Guest, GuestKind};

const MIB: u64 = 1 << 20;

fn fio(nbd: &NbdServer, arguments: &[&str]) {
    let output = nbd.fio().arg("--name=job").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn ask_drive(nbd: &NbdServer, order: &Order) -> Answer {
    let device = format!("nbd:{}", nbd.process());
    let drives = attached().unwrap();
    let own = drives.iter().find(|(_, status)| status.device == Path::new(&device));
    ask(&own.expect("it is listed").0, order).unwrap()
}

fn statistics(nbd: &NbdServer) -> Statistics {
    match ask_drive(nbd, &Order::Statistics) {
        Answer::Statistics(statistics) => statistics,
        other => panic!("{other:?}"),
    }
}

/// Discards that arrived, and their bytes.
fn discards(nbd: &NbdServer) -> (u64, u64) {
    let kinds = statistics(nbd).kinds;
    let discards = kinds.iter().find(|it| it.kind == RequestKind::Discard);
    discards.map_or((0, 0), |it| (it.count, it.bytes))
}

#[test]
fn discards_run_side_by_side_and_what_was_written_is_there() {
    let test = "discards_run_side_by_side_and_what_was_written_is_there";
    if !requires(test, &[Root, Program("nbdkit"), Program("fio")]) {
        return;
    }
    let nbd =
        NbdServer::of_drive(&["plain-nvme-tlc,trim.mode=queued", "capacity=1GiB", "slow-down=20"]);
    fio(&nbd, &["--rw=randwrite", "--bs=4k", "--size=4m", "--verify=crc32c", "--iodepth=16"]);
    fio(&nbd, &["--rw=randtrim", "--bs=64k", "--offset=512m", "--size=16m", "--iodepth=8"]);
    let statistics = statistics(&nbd);
    assert!(statistics.most_under_way >= 8, "{statistics:?}");
    assert_eq!(discards(&nbd), (256, 16 * MIB));
    // nbdkit ends it, and nobody else.
    let stop = ask_drive(&nbd, &Order::Stop);
    assert!(matches!(stop, Answer::Refused(reason) if reason.contains("process")));
}

/// A drive over NBD, and a client of it.
fn hostile_server() -> (NbdServer, NbdClient) {
    let server = NbdServer::of_drive(&["generic-nvme-tlc", "capacity=1GiB"]);
    let client = NbdClient::begin(&server).unwrap();
    (server, client)
}

#[test]
fn places_that_are_none_of_the_drive_are_refused() {
    let test = "places_that_are_none_of_the_drive_are_refused";
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
fn who_breaks_off_or_floods_ends_his_own_connection_only() {
    let test = "who_breaks_off_or_floods_ends_his_own_connection_only";
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
fn a_second_client_reads_what_the_first_one_wrote() {
    let test = "a_second_client_reads_what_the_first_one_wrote";
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

/// A drive of 1 GiB, for programs that name it by this URI.
fn served(test: &str, programs: &'static [&'static str]) -> Option<(NbdServer, String)> {
    let mut needs = vec![Root, Program("nbdkit")];
    needs.extend(programs.iter().map(|program| Program(program)));
    requires(test, &needs).then(|| {
        let server = NbdServer::of_drive(&["generic-nvme-tlc", "capacity=1GiB"]);
        let uri = server.uri();
        (server, uri)
    })
}

/// 16 MiB of which no block is like another, in a file.
fn filled(path: &Path) {
    let words = (0..4 * MIB).map(|number| u32::try_from(number).expect("it is small"));
    let bytes: Vec<u8> =
        words.flat_map(|word| word.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
    fs::write(path, bytes).unwrap();
}

#[test]
fn nbdinfo_shows_a_drive_that_trims_and_zeroes() {
    let test = "nbdinfo_shows_a_drive_that_trims_and_zeroes";
    let Some((_server, uri)) = served(test, &["nbdinfo"]) else { return };
    let shown: serde_json::Value =
        serde_json::from_str(&run("nbdinfo", &["--json", &uri])).unwrap();
    let export = &shown["exports"][0];
    assert_eq!(export["export-size"], 1024 * MIB);
    let is = |key: &str| export[key].as_bool().unwrap();
    for can in ["can_trim", "can_zero", "can_flush", "can_fua", "can_multi_conn"] {
        assert!(is(can), "{can}");
    }
    assert!(!is("is_rotational") && !is("is_read_only"));
}

#[test]
fn what_nbdcopy_writes_by_many_requests_it_reads_back() {
    let test = "what_nbdcopy_writes_by_many_requests_it_reads_back";
    let Some((server, uri)) = served(test, &["nbdcopy"]) else { return };
    let folder = scratch();
    let file = |name: &str| folder.path().join(name);
    let (written, read) = (file("written"), file("read"));
    filled(&written);
    run("nbdcopy", &["--flush", written.to_str().unwrap(), &uri]);
    run("nbdcopy", &[&uri, read.to_str().unwrap()]);
    let [written, read] = [written, read].map(|path| fs::read(path).unwrap());
    assert!(read.len() as u64 == 1024 * MIB && read.starts_with(&written));
    assert!(read[written.len()..].iter().all(|byte| *byte == 0), "nothing was written there");
    assert!(statistics(&server).most_under_way > 1);
}

#[test]
fn what_qemu_img_converts_compares_as_equal_until_it_is_changed() {
    let test = "what_qemu_img_converts_compares_as_equal_until_it_is_changed";
    let Some((_server, uri)) = served(test, &["qemu-img", "qemu-io"]) else { return };
    let folder = scratch();
    let (raw, copy) = (folder.path().join("raw"), folder.path().join("copy.qcow2"));
    let (raw, copy) = (raw.to_str().unwrap(), copy.to_str().unwrap());
    filled(Path::new(raw));
    run("truncate", &["--size=1G", raw]);
    // Onto the drive that is there, and from it.
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", raw, &uri]);
    run("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &uri, copy]);
    let compare = |format: &str, other: &str| {
        let words = ["compare", "-f", "raw", "-F", format, &uri, other];
        Command::new("qemu-img").args(words).output().unwrap().status.code()
    };
    assert_eq!((compare("raw", raw), compare("qcow2", copy)), (Some(0), Some(0)));
    run("qemu-io", &["-f", "raw", "-c", "write -P 7 4k 4k", &uri]);
    assert_eq!((compare("raw", raw), compare("qcow2", copy)), (Some(1), Some(1)));
}

#[test]
fn discards_of_qemu_io_arrive_and_read_as_zeroes() {
    let test = "discards_of_qemu_io_arrive_and_read_as_zeroes";
    let Some((server, uri)) = served(test, &["qemu-io"]) else { return };
    let qemu_io = |commands: &[&str]| {
        let words = commands.iter().flat_map(|command| ["-c", command]);
        let words: Vec<&str> = ["-f", "raw", "-d", "unmap"].into_iter().chain(words).collect();
        // It ends with 0 whatever a pattern came to.
        let said = run("qemu-io", &[&words[..], &[uri.as_str()]].concat());
        assert!(!said.contains("Pattern verification failed"), "{said}");
    };
    qemu_io(&["write -P 7 8M 8M", "flush", "read -P 7 8M 8M"]);
    assert_eq!(discards(&server), (0, 0));
    qemu_io(&["discard 9M 2M", "discard 12M 1M"]);
    assert_eq!(discards(&server), (2, 3 * MIB));
    qemu_io(&["read -P 7 8M 1M", "read -P 0 9M 2M", "read -P 7 11M 1M", "read -P 0 12M 1M"]);
}

/// A drive over NBD for a guest, and what the guest's script prints.
fn with_guest(test: &str, settings: &[&str]) -> Option<(NbdServer, impl Fn(&str) -> String)> {
    if !requires(test, &[Root, Program("nbdkit")]) {
        return None;
    }
    if let Some(missing) = GuestKind::Cloud.missing() {
        eprintln!("SKIP {test}: {missing}");
        return None;
    }
    let server = NbdServer::of_drive(settings);
    let guest = Guest::new(GuestKind::Cloud).served_nvme(server.socket());
    let run = move |script: &str| guest.run(script).unwrap().checked().unwrap().stdout;
    Some((server, run))
}

#[test]
fn discards_of_a_guest_reach_an_nvme_drive_that_ignores_them() {
    let test = "discards_of_a_guest_reach_an_nvme_drive_that_ignores_them";
    let settings = ["generic-nvme-tlc,trim.mode=ignored", "capacity=1GiB"];
    let Some((server, run)) = with_guest(test, &settings) else { return };
    let seen = run("cat /sys/block/nvme0n1/size
        tr '\\0' 7 </dev/zero | dd of=$DISKS bs=1M count=8 iflag=fullblock oflag=direct 2>/dev/null
        blkdiscard --offset 1M --length 5M $DISKS
        dd if=$DISKS bs=1M count=8 iflag=direct 2>/dev/null | tr -cd 7 | wc -c");
    let sectors = (1024 * MIB / 512).to_string();
    assert_eq!(
        seen.split_whitespace().collect::<Vec<_>>(),
        [&sectors, "8388608"],
        "all is as written"
    );
    assert_eq!(discards(&server).1, 5 * MIB);
}

#[test]
fn ranges_of_a_guests_nvme_commands_arrive_one_by_one() {
    let test = "ranges_of_a_guests_nvme_commands_arrive_one_by_one";
    let settings = ["generic-nvme-tlc", "capacity=1GiB"];
    let Some((server, run)) = with_guest(test, &settings) else { return };
    run("modprobe xfs; mkfs.xfs -q -K $DISKS && mount $DISKS /mnt || exit 1
        for number in $(seq 40); do head -c 1M /dev/zero >/mnt/$number; done
        umount /mnt");
    // Zeroing that may free blocks counts, too: of the log.
    let before = discards(&server);
    // XFS sends the extents of a checkpoint together, and the kernel makes one command of them.
    let commands = run("modprobe xfs; mount -o discard $DISKS /mnt || exit 1
        echo 1 >/sys/kernel/tracing/events/nvme/nvme_setup_cmd/enable
        rm /mnt/*[13579]; sync; umount /mnt
        sed -n 's/.*nvme_cmd_dsm nr=\\([0-9]*\\).*/\\1/p' /sys/kernel/tracing/trace");
    // NVMe counts ranges from 0.
    let ranges: Vec<u64> =
        commands.lines().map(|ranges| 1 + ranges.parse::<u64>().unwrap()).collect();
    assert!(ranges.iter().any(|ranges| *ranges > 4), "{ranges:?}");
    let (count, bytes) = discards(&server);
    // A block of the folder is freed as well.
    assert!((20 * MIB..21 * MIB).contains(&(bytes - before.1)), "{ranges:?}");
    assert_eq!(count - before.0, ranges.iter().sum::<u64>(), "{ranges:?}");
}
