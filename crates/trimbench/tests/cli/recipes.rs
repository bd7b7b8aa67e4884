//! Recipes of `docs/recipes`, run in folders of their own; what is changed in one is noted.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use tests::{Need, code_blocks, requires, scratch, unmount};

const NEEDS: [Need; 5] = [Root, Loop, Fuse, Filesystem("ext4"), Program("mkfs.ext4")];

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes").join(name)
}

/// The blocks of a page in this language, in order.
fn blocks(name: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(page(name)).unwrap();
    code_blocks(&text, language).map(str::to_owned).collect()
}

/// Runs lines of a shell as a reader would who has installed the program.
fn shell(folder: &Path, lines: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_trimbench")).parent().unwrap();
    let lines = format!("PATH={}:$PATH\n{lines}", programs.display());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-u", "-c", &lines]).current_dir(folder);
    shell.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn a_database_on_a_drive_with_slow_trim() {
    let test = "recipes::a_database_on_a_drive_with_slow_trim";
    if !requires(test, &[NEEDS.as_slice(), &[Program("python3")]].concat()) {
        return;
    }
    let folder = scratch();
    let [program] = &blocks("database.md", "python")[..] else { panic!("one program") };
    fs::write(folder.path().join("commits.py"), program).unwrap();
    // The fewest blocks; and beside other tests the drive is not quiet, and a run may be invalid,
    // because it was paused.
    let lines = blocks("database.md", "sh").concat();
    let lines =
        lines.replace("--switch-mount", "--switch-mount --busy-ok --set blocks-max=9 --no-report");
    let lines = lines.replace("commits.py\"", "commits.py\" || [ $? = 4 ]");
    let output = shell(folder.path(), &lines);
    unmount(&folder.path().join("slow-trim"));
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    for part in ["command-discard-added", "request-max-discard-added"] {
        let record = fs::read_dir(folder.path().join("trimbench-runs")).unwrap().next().unwrap();
        let record = fs::read_to_string(record.unwrap().path().join("run.json")).unwrap();
        assert!(record.contains(part), "{part}: {said}");
    }
}

#[test]
fn power_cuts_of_a_drive_under_a_filesystem() {
    let test = "recipes::power_cuts_of_a_drive_under_a_filesystem";
    if !requires(test, &[NEEDS.as_slice(), &[Program("e2fsck")]].concat()) {
        return;
    }
    let folder = scratch();
    let save = |lines: &str| fs::write(folder.path().join("power-cuts.sh"), lines).unwrap();
    let [script, call] = &blocks("power-cuts.md", "sh")[..] else { panic!("two blocks") };
    save(script);
    let output = shell(folder.path(), call);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for round in ["round 1: ", "round 2: ", "round 3: "] {
        assert!(text.contains(round) && text.contains("the check finds nothing"), "{text}");
    }
    let lies =
        "\"$notes/mnt\"\n    trimbench attach --fault lying-flush=on \"$drive\"\n    { write ";
    let lying = script.replacen("\"$notes/mnt\"\n    { write ", lies, 1);
    assert_ne!(lying, *script);
    save(&lying);
    let output = shell(folder.path(), &call.replace('3', "10"));
    let text = said(&output);
    assert!(!output.status.success(), "{text}");
    let is_seen = ["FAILED", "e2fsck", "mount:"].iter().any(|part| text.contains(part));
    assert!(is_seen && !text.contains("before the cut"), "{text}");
}

#[test]
fn a_test_on_each_drive_of_a_matrix() {
    let test = "recipes::a_test_on_each_drive_of_a_matrix";
    if !requires(test, &[NEEDS.as_slice(), &[Program("fstrim")]].concat()) {
        return;
    }
    let folder = scratch();
    let blocks = blocks("continuous-integration.md", "sh");
    let [on_drives, fill_and_trim, call, _with_figures] = &blocks[..] else { panic!("four") };
    fs::write(folder.path().join("on-drives.sh"), on_drives).unwrap();
    fs::write(folder.path().join("fill-and-trim.sh"), fill_and_trim).unwrap();
    let output = shell(folder.path(), call);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for drive in ["quick: 0\n", "slow-trim: 0\n", "full-qlc: 0\n", "no-trim: 0\n"] {
        assert!(text.contains(drive), "{drive}{text}");
    }
    // A test that fails is not hidden by the drive that is detached behind it.
    let output = shell(folder.path(), "sh on-drives.sh false");
    assert!(!output.status.success() && said(&output).contains("quick: 1\n"));
}

/// A suite of tests that prints how it was called, and fails where told to.
fn suite(folder: &Path, name: &str, check: &str) -> PathBuf {
    let place = folder.join(name);
    for inner in ["ltp", "tests/block"] {
        fs::create_dir_all(place.join(inner)).unwrap();
    }
    for (file, content) in [("check", check), ("ltp/fsstress", ""), ("tests/block/003", "")] {
        let path = place.join(file);
        fs::write(&path, format!("#!/bin/bash\n{content}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    place
}

#[test]
fn suites_of_others_get_drives_and_their_failures_are_told() {
    let test = "recipes::suites_of_others_get_drives_and_their_failures_are_told";
    if !requires(test, &NEEDS) {
        return;
    }
    let folder = scratch();
    let script = page("drive-tests.sh");
    let run = |arguments: &str| {
        let output = shell(folder.path(), &format!("{} {arguments}", script.display()));
        let code = output.status.code();
        (code, said(&output))
    };
    let xfstests = "source $HOST_OPTIONS; echo \"$@\" $FSTYP
        blkid -o value -s TYPE $TEST_DEV; [ -b $SCRATCH_DEV -a -d $SCRATCH_MNT ] && echo scratch";
    let xfstests = suite(folder.path(), "xfstests", xfstests);
    let blktests =
        suite(folder.path(), "blktests", "source $2; [ -b $TEST_DEVS ] && echo $5; exit 3");
    let (code, text) = run(&format!("--capacity 1028MiB --xfstests {}", xfstests.display()));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("-g trim ext4\next4\nscratch\nresults: "), "{text}");
    let (code, text) = run(&format!("--capacity 1028MiB --blktests {}", blktests.display()));
    assert_eq!(code, Some(1), "{text}");
    for part in ["block/009 [not run]", "block/025 [not run]", "\nblock/003\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    fs::remove_file(xfstests.join("ltp/fsstress")).unwrap();
    let (code, text) = run(&format!("--xfstests {}", xfstests.display()));
    assert!(code == Some(2) && text.contains("build it first"), "{text}");
    fs::remove_file(blktests.join("tests/block/003")).unwrap();
    let (code, text) = run(&format!("--blktests {}", blktests.display()));
    assert!(code == Some(2) && text.contains("has none of"), "{text}");
    for wrong in ["", "--tests", "--other x", "--blktests /nowhere"] {
        assert_eq!(run(wrong).0, Some(2), "{wrong}");
    }
    let drives = shell(folder.path(), "trimbench attach --list");
    assert!(!said(&drives).contains("generic-nvme-qlc, 1028MiB"), "they are detached");
}
