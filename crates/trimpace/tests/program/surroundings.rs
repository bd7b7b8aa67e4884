//! Where trimpace is started: descriptors, environment, what is mounted, and names of any bytes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use crate::stage::{EXT4, Stage, apart, run, trimpace};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trimpace");

#[test]
fn closed_descriptors_and_a_bare_environment_are_no_matter() {
    let test = "surroundings::closed_descriptors_and_a_bare_environment_are_no_matter";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    let sums = stage.checksums();
    // A descriptor of ours in the place of stderr would be written to.
    for script in ["exec \"$@\" <&- >&- 2>&-", "exec env -i PATH=/nowhere \"$@\""] {
        stage.mount_anew();
        let before = stage.discarded();
        let once = [PROGRAM, "once", "-v", "--law", "tail", stage.point()];
        let output = Command::new("sh").args(["-c", script, "sh"]).args(once).output().unwrap();
        assert!(output.status.success(), "{script} {output:?}");
        assert!(stage.discarded() - before > 128 << 20, "{script}");
        // The probe has its file, which another process makes.
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("without a probe"), "{script} {said}");
    }
    assert_eq!(stage.checksums(), sums);
    stage.check(&["e2fsck", "-fn"]);
}

#[test]
fn no_program_of_the_search_path_is_run() {
    let Some(folder) = apart("surroundings::no_program_of_the_search_path_is_run") else { return };
    let Some(stage) = Stage::new(&folder, "ext4", 64, EXT4) else { return };
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    let trap = programs.join("trap");
    let sprung = folder.join("sprung");
    fs::write(&trap, format!("#!/bin/sh\n: > {}\n", sprung.display())).unwrap();
    run("chmod", &["+x", trap.to_str().unwrap()]);
    assert!(Command::new(&trap).env("PATH", &programs).status().unwrap().success());
    fs::remove_file(&sprung).unwrap();
    for name in ["trimpace", "fstrim", "sh", "mount", "losetup", "fsfreeze", "btrfs", "blkid"] {
        fs::hard_link(&trap, programs.join(name)).unwrap();
    }
    let output =
        Command::new(PROGRAM).args(["once", stage.point()]).env("PATH", &programs).output();
    assert!(output.unwrap().status.success());
    assert!(!sprung.exists());
}

#[test]
fn a_read_only_run_leaves_discards_as_long_as_they_are() {
    let test = "surroundings::a_read_only_run_leaves_discards_as_long_as_they_are";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    run("mount", &["-o", "remount,ro", "/run"]);
    let (largest, before) = (stage.largest(), stage.discarded());
    let ended = stage.once(&["--law", "pieces"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.errors.contains("discards stay as long as they are"), "{ended:?}");
    assert!(stage.discarded() - before > 128 << 20);
    assert_eq!(stage.largest(), largest);
    assert_eq!(trimpace(&["restore"]).code, Some(0));
}

#[test]
fn without_sysfs_or_counters_nothing_is_trimmed() {
    let test = "surroundings::without_sysfs_or_counters_nothing_is_trimmed";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    let before = stage.discarded();
    // As Linux before 4.18, which counts no discards.
    let real = fs::canonicalize(stage.queue("stat")).unwrap();
    stage.pretend("stat", "1 0 8 1 1 0 8 1 0 1 1\n");
    let ended = stage.once(&[]);
    run("umount", &[real.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.errors.contains("do not count discards"), "{ended:?}");
    assert_eq!(stage.discarded(), before);
    run("mount", &["-t", "tmpfs", "none", "/sys"]);
    let ended = stage.once(&[]);
    run("umount", &["/sys"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.errors.contains("is no device that is there"), "{ended:?}");
    assert_eq!(stage.discarded(), before);
}

#[test]
fn a_disk_whose_discards_are_off_is_left_alone() {
    let Some(folder) = apart("surroundings::a_disk_whose_discards_are_off_is_left_alone") else {
        return;
    };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    let before = stage.discarded();
    // As below dm-crypt without `allow_discards`.
    stage.pretend("queue/discard_max_bytes", "0\n");
    stage.pretend("queue/discard_granularity", "0\n");
    let ended = stage.once(&[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.errors.contains("the discard operation is not supported"), "{ended:?}");
    assert_eq!(stage.once(&["--quiet-unsupported"]).code, Some(0));
    let list = folder.join("list");
    fs::write(&list, format!("{} {} ext4\n", stage.node, stage.point())).unwrap();
    let ended = trimpace(&["once", "-v", "-I", list.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.errors.contains("takes no discards"), "{ended:?}");
    assert_eq!(stage.discarded(), before);
}

#[test]
fn names_of_any_bytes_are_trimmed_exactly_and_printed_escaped() {
    let test = "surroundings::names_of_any_bytes_are_trimmed_exactly_and_printed_escaped";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    let odd = folder.join(OsStr::from_bytes(b"a b\nc\x1b[31m\\040\xff#"));
    fs::create_dir(&odd).unwrap();
    // Where the name would lead if its escape were undone.
    fs::create_dir(folder.join(OsStr::from_bytes(b"a b\nc\x1b[31m \xff#"))).unwrap();
    let moved = Command::new("mount").arg("--bind").arg(stage.point()).arg(&odd).status();
    assert!(moved.unwrap().success());
    run("umount", &[stage.point()]);
    let before = stage.counted();
    let output = Command::new(PROGRAM).args(["once", "-v"]).arg(&odd).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(stage.counted() - before > 128 << 20);
    for printed in [&output.stdout, &output.stderr] {
        assert!(!printed.contains(&0x1b) && !printed.contains(&0xff), "{output:?}");
        let text = String::from_utf8(printed.clone()).unwrap();
        assert!(text.lines().all(|line| line.contains("a b")), "{output:?}");
    }
    let unmounted = Command::new("umount").arg(&odd).status();
    assert!(unmounted.unwrap().success());
}
