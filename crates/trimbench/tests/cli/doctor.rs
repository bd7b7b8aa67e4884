//! `trimbench doctor` on this machine: filesystems on loop devices, without root, and what it says
//! to people and programs. The verdicts on other stacks are tested with recorded systems
//! (`crates/trimbench-doctor/tests`).

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::tempdir;
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::{LoopFilesystem, requires};

use super::{code, program, stderr, stdout};

const MIB: u64 = 1 << 20;

fn doctor(arguments: &[&str]) -> Output {
    let folder = tempdir().unwrap();
    program(folder.path(), &[&["doctor"], arguments].concat()).output().unwrap()
}

/// What it says of one place, as JSON.
fn diagnosis(path: &Path, arguments: &[&str]) -> Value {
    let path = path.to_str().unwrap();
    let output = doctor(&[&[path, "--json"], arguments].concat());
    let all: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    all["places"][0].clone()
}

/// What the topmost layer does.
fn does(place: &Value) -> (&str, &str) {
    let handling = &place["top"]["handling"];
    (handling["does"].as_str().unwrap(), handling["cause"].as_str().unwrap_or_default())
}

#[test]
fn a_mount_without_discard_sends_nothing_until_it_is_mended() {
    let name = "a_mount_without_discard_sends_nothing_until_it_is_mended";
    if !requires(name, &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")]) {
        return;
    }
    let made = LoopFilesystem::new("ext4", 256, "nodiscard");
    let before = diagnosis(made.path(), &[]);
    if does(&before) == ("drops", "nobody-sends") {
        let output = doctor(&[made.path().to_str().unwrap()]);
        assert_eq!(code(&output), Some(1), "{}", stdout(&output));
        let text = stdout(&output);
        assert!(text.lines().last().unwrap().contains("nothing sends it from"), "{text}");
    } else {
        // The timer of this machine trims whatever is mounted.
        assert_eq!(does(&before).0, "sends");
    }
    tests::run("mount", &["-o", "remount,discard", made.path().to_str().unwrap()]);
    let after = diagnosis(made.path(), &[]);
    assert_eq!(does(&after).0, "sends", "{after:#}");
    assert_eq!(after["top"]["below"][0]["kind"], "loop");
    assert_eq!(after["top"]["below"][0]["handling"]["does"], "frees");
}

#[test]
fn a_live_test_counts_what_arrives_and_leaves_nothing() {
    let name = "a_live_test_counts_what_arrives_and_leaves_nothing";
    for (filesystem, make) in [("ext4", "mkfs.ext4"), ("xfs", "mkfs.xfs")] {
        if !requires(name, &[Root, Loop, Program(make), Filesystem(filesystem)]) {
            continue;
        }
        let made = LoopFilesystem::new(filesystem, 512, "nodiscard");
        let free = || rustix::fs::statvfs(made.path()).unwrap().f_bfree;
        let before = free();
        let place = diagnosis(made.path(), &["--probe", "--yes"]);
        let probe = &place["probe"];
        assert_eq!(probe["mapped_bytes"], 64 * MIB, "{filesystem}: {probe:#}");
        assert_eq!(probe["layers"][0]["name"], made.device_name());
        let discarded = probe["layers"][0]["discarded_bytes"].as_u64().unwrap();
        assert!(discarded >= 64 * MIB, "{filesystem}: {probe:#}");
        // Holes in the image read as zeros.
        assert_eq!(probe["read_back"]["zero_bytes"], 64 * MIB, "{filesystem}: {probe:#}");
        assert!(before - free() < 64, "{filesystem}: blocks of the file are still in use");
    }
}

#[test]
fn a_live_test_asks_first_and_refuses_what_has_no_room() {
    let name = "a_live_test_asks_first_and_refuses_what_has_no_room";
    if !requires(name, &[Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")]) {
        return;
    }
    let made = LoopFilesystem::new("btrfs", 256, "nodiscard");
    let path = made.path().to_str().unwrap();
    let unasked = doctor(&[path, "--probe"]);
    assert_eq!(code(&unasked), Some(2));
    assert!(stderr(&unasked).contains("--yes"), "{}", stderr(&unasked));
    let wide = doctor(&[path, "--probe", "--yes"]);
    assert_eq!(code(&wide), Some(3));
    assert!(stderr(&wide).contains("--trim-unallocated"), "{}", stderr(&wide));
    let large = ["--probe", "--yes", "--trim-unallocated", "--probe-size", "1GiB"];
    let large = doctor(&[&[path], &large[..]].concat());
    assert_eq!(code(&large), Some(3));
    assert!(stderr(&large).contains("--probe-size"), "{}", stderr(&large));
}

#[test]
fn a_look_writes_nothing_to_the_disk() {
    let name = "a_look_writes_nothing_to_the_disk";
    if !requires(name, &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")]) {
        return;
    }
    let made = LoopFilesystem::new("ext4", 256, "discard");
    let stat = format!("/sys/block/{}/stat", made.device_name());
    // Sectors written, and discards. The flushes are those of this test.
    let counts = || {
        tests::run("sync", &["-f", made.path().to_str().unwrap()]);
        let text = std::fs::read_to_string(&stat).unwrap();
        let fields: Vec<u64> = text.split_whitespace().map(|it| it.parse().unwrap()).collect();
        [fields[6], fields[11]]
    };
    let before = counts();
    let path = made.path().to_str().unwrap();
    for arguments in [&[path, "--full"][..], &[path, "--json"]] {
        let output = doctor(arguments);
        assert!(stderr(&output).is_empty() && !stdout(&output).is_empty(), "{output:?}");
    }
    assert_eq!(counts(), before);
}

#[test]
fn an_overlay_is_not_tested_but_its_upper_directory() {
    let name = "an_overlay_is_not_tested_but_its_upper_directory";
    if !requires(
        name,
        &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4"), Filesystem("overlay")],
    ) {
        return;
    }
    let made = LoopFilesystem::new("ext4", 256, "nodiscard");
    let folder = |name: &str| {
        let path = made.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map(folder);
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    tests::run("mount", &["-t", "overlay", "overlay", "-o", &options, &merged]);
    let tested = doctor(&["--probe", "--yes", &merged]);
    tests::run("umount", &[&merged]);
    assert_eq!(code(&tested), Some(3), "{}", stdout(&tested));
    assert!(stderr(&tested).contains("is an overlay"), "{}", stderr(&tested));
}

#[test]
fn without_root_the_verdict_is_the_same() {
    let name = "without_root_the_verdict_is_the_same";
    let needs = [Root, Loop, Program("mkfs.ext4"), Program("setpriv"), Filesystem("ext4")];
    if !requires(name, &needs) {
        return;
    }
    let made = LoopFilesystem::new("ext4", 256, "discard");
    let root = diagnosis(made.path(), &[]);
    // A folder that everybody may look into has the program.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    tests::run("chmod", &["755", folder.path().to_str().unwrap(), made.path().to_str().unwrap()]);
    let copy = folder.path().join("trimbench");
    std::fs::copy(env!("CARGO_BIN_EXE_trimbench"), &copy).unwrap();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy);
        command.arg("doctor").args(arguments).arg(made.path()).output().unwrap()
    };
    let tested = as_nobody(&["--probe", "--yes"]);
    assert_eq!(code(&tested), Some(3), "{}", stderr(&tested));
    assert!(stderr(&tested).contains("needs root"), "{}", stderr(&tested));
    let output = as_nobody(&["--json"]);
    let all: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!(all["places"][0]["reach"], root["reach"]);
}

#[test]
fn places_without_a_drive_and_without_a_name_are_told_apart() {
    assert_eq!(code(&doctor(&["/proc"])), Some(3));
    let missing = doctor(&["/there/is/no/such/place"]);
    assert_eq!(code(&missing), Some(2));
    assert!(stderr(&missing).contains("ENOENT"), "{}", stderr(&missing));
    let folder = tempdir().unwrap();
    let empty = doctor(&["--sysroot", folder.path().to_str().unwrap(), "/"]);
    assert_eq!(code(&empty), Some(3));
    assert!(stderr(&empty).contains("mountinfo"), "{}", stderr(&empty));
}

#[test]
fn a_recorded_system_gets_an_exit_code_of_its_verdict() {
    let folder = tempdir().unwrap();
    let system = |mounts: &str, most: &str| {
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/self/mountinfo", mounts);
        write("sys/block/nvme0n1/dev", "259:0");
        write("sys/block/nvme0n1/queue/discard_max_bytes", most);
        write("sys/block/nvme0n1/queue/discard_max_hw_bytes", most);
        doctor(&["--sysroot", folder.path().to_str().unwrap(), "/"])
    };
    let on = "22 1 259:0 / / rw - ext4 /dev/nvme0n1 rw,discard\n";
    let off = "22 1 259:0 / / rw - ext4 /dev/nvme0n1 rw\n";
    assert_eq!(code(&system(on, "4096")), Some(0));
    assert_eq!(code(&system(off, "4096")), Some(1));
    assert_eq!(code(&system(on, "0")), Some(1));
    std::fs::remove_file(folder.path().join("sys/block/nvme0n1/queue/discard_max_bytes")).unwrap();
    let hidden = doctor(&["--sysroot", folder.path().to_str().unwrap(), "/"]);
    assert_eq!(code(&hidden), Some(4), "{}", stdout(&hidden));
}

#[test]
fn metrics_replace_their_older_selves_and_nothing_else() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("trimbench.prom");
    let path = file.to_str().unwrap();
    for _ in 0..2 {
        let output = doctor(&["/proc", "--prometheus", path]);
        assert_eq!(code(&output), Some(3), "{}", stderr(&output));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# HELP trimbench_trim_reaches "), "{text}");
    }
    std::fs::write(&file, "# HELP trimbench_trim_reaches of mine\nanother_metric 1\n").unwrap();
    let refused = doctor(&["/proc", "--prometheus", path]);
    assert_eq!(code(&refused), Some(2), "{}", stderr(&refused));
    assert!(std::fs::read_to_string(&file).unwrap().contains("another_metric"));
}
