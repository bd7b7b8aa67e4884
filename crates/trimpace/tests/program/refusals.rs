//! What cannot be done, or is not asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::stage::{EXT4, Stage, apart, run, trimpace};

#[test]
fn without_a_place_for_journals_discards_stay_as_long_as_they_are() {
    let test = "refusals::without_a_place_for_journals_discards_stay_as_long_as_they_are";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    // Others could write what is put back.
    fs::create_dir("/run/trimbench").unwrap();
    fs::set_permissions("/run/trimbench", fs::Permissions::from_mode(0o777)).unwrap();
    let largest = stage.largest();
    for law in [&["--law", "pieces"][..], &[]] {
        stage.mount_anew();
        let before = stage.discarded();
        let ended = stage.once(law);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.errors.contains("discards stay as long as they are"), "{ended:?}");
        assert!(stage.discarded() - before > 128 << 20);
        assert_eq!(stage.largest(), largest, "nothing was changed");
    }
    fs::remove_dir_all("/run/trimbench").unwrap();
    fs::write("/run/trimbench", "a file").unwrap();
    let ended = stage.once(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.errors.contains("discards stay as long as they are"), "{ended:?}");
    assert_eq!(trimpace(&["restore"]).code, Some(1));
}

#[test]
fn who_is_not_root_is_told() {
    let Some(folder) = apart("refusals::who_is_not_root_is_told") else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    // Where that user may reach it.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.join("trimpace");
    fs::copy(env!("CARGO_BIN_EXE_trimpace"), &program).unwrap();
    let before = stage.discarded();
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&program)
        .args(["once", stage.point()])
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("not permitted") || errors.contains("denied"), "{errors}");
    assert_eq!(stage.discarded(), before);
}

#[test]
fn what_is_no_mount_point_and_wrong_options_are_errors() {
    let test = "refusals::what_is_no_mount_point_and_wrong_options_are_errors";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::new(&folder, "ext4", 64, EXT4) else { return };
    let inside = stage.place.join("inside");
    fs::create_dir(&inside).unwrap();
    let ended = trimpace(&["once", inside.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.errors.contains("mount point"), "{ended:?}");
    let point = stage.point();
    let wrong: [&[&str]; 12] = [
        &["once"],
        &["once", "/nowhere/at/all"],
        &["once", "--unknown", point],
        &["once", "--law", "unknown", point],
        &["once", "--share", "0%", point],
        &["once", "--share", "1%", "--p99", "1ms", point],
        &["once", "--delay", "1s", point],
        &["once", "--law", "plain", "--p99", "1ms", point],
        &["once", "--law", "talos", "--share", "1%", point],
        &["once", "--law", "mean", "--deadline", "2h", "--dry-run", point],
        &["once", "--minimum", "many", point],
        &["once", "--all", point],
    ];
    let before = stage.discarded();
    for arguments in wrong {
        let ended = trimpace(arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?} {ended:?}");
        assert!(!ended.errors.is_empty() && ended.out.is_empty(), "{arguments:?} {ended:?}");
    }
    assert_eq!(stage.discarded(), before);
}

#[test]
fn a_dry_run_prints_the_line_of_fstrim_and_discards_nothing() {
    let test = "refusals::a_dry_run_prints_the_line_of_fstrim_and_discards_nothing";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    let before = stage.discarded();
    let ended = stage.once(&["--dry-run", "-v"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let theirs = run("fstrim", &["--dry-run", "-v", stage.point()]);
    assert_eq!(ended.out, theirs);
    assert_eq!(stage.once(&["-n"]).out, run("fstrim", &["-n", stage.point()]));
    // Those that are not named are told with their devices.
    let list = folder.join("list");
    fs::write(&list, format!("{} {} ext4 defaults 0 0\n", stage.node, stage.point())).unwrap();
    let listed = ["-n", "-v", "-I", list.to_str().unwrap()];
    let ended = trimpace(&[&["once"], &listed[..]].concat());
    assert_eq!(ended.out, run("fstrim", &listed), "{ended:?}");
    assert!(ended.out.contains(&stage.node));
    assert_eq!(stage.discarded(), before);
}

#[test]
fn all_filesystems_of_a_machine_without_any_are_trimmed() {
    let test = "refusals::all_filesystems_of_a_machine_without_any_are_trimmed";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    // A root of its own with nothing but a filesystem on a loop device, which `--all` leaves out:
    // no disk of this machine is mounted there.
    let script = "set -e; mount -t tmpfs none \"$1\"; cd \"$1\"; mkdir proc sys dev run mnt; \
        cp \"$2\" trimpace; cp -L --parents $(ldd \"$2\" | grep -o '/[^ ]*') .; \
        mount -t proc none proc; mount -t sysfs none sys; mount -t devtmpfs none dev; \
        mount --bind \"$3\" mnt; exec chroot . /trimpace once --all -v";
    let root = folder.join("root");
    fs::create_dir(&root).unwrap();
    let before = stage.discarded();
    let arguments = [root.to_str().unwrap(), env!("CARGO_BIN_EXE_trimpace"), stage.point()];
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(output.stdout.is_empty() && errors.contains("loop"), "{errors}");
    assert_eq!(stage.discarded(), before);
}
