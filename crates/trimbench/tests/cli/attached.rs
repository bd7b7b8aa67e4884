//! `trimbench run --target attach:NAME`: an emulated drive that is measured through the kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::tempdir;
use tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use tests::{Need, machine, requires};
use trimbench_results::Session;

use super::attach::{AttachedDisk, until};
use super::filesystems::DELETIONS;
use super::interrupts::{signal, wait_for_steps, wait_until};
use super::{code, command, looking, record, stderr, stdout, trimbench};

const NEEDS: [Need; 3] = [Root, Loop, Fuse];
const FILES_NEED: [Need; 5] = [Root, Loop, Fuse, Filesystem("ext4"), Program("mkfs.ext4")];

/// Attached drives whose process was started by this one.
fn drives_of(run: u32) -> Vec<(u32, String)> {
    let listed = looking(Path::new("/"), &["attach", "--list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_str(&stdout(&listed)).unwrap();
    let text = |drive: &Value| drive["device"].as_str().unwrap().to_owned();
    let process = |drive: &Value| u32::try_from(drive["process"].as_u64().unwrap()).unwrap();
    let is_of = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        status
            .lines()
            .any(|line| line.strip_prefix("PPid:").map(str::trim) == Some(&run.to_string()))
    };
    let drives = listed.as_array().into_iter().flatten();
    let drives = drives.map(|drive| (process(drive), text(drive)));
    drives.filter(|(process, _)| is_of(*process)).collect()
}

fn begun(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = command(folder, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The drive of a run, once it is attached.
fn drive_of(run: &mut Child) -> (u32, AttachedDisk) {
    let process = run.id();
    wait_until(run, || !drives_of(process).is_empty());
    let (server, node) = drives_of(process).remove(0);
    (server, AttachedDisk::on(&node))
}

fn only_session(folder: &Path) -> Session {
    record(folder, "run").sessions.remove(0)
}

#[test]
fn a_block_method_measures_a_drive_that_is_told_from_a_real_one() {
    if !requires("attached::a_block_method_measures_a_drive_that_is_told_from_a_real_one", &NEEDS) {
        return;
    }
    let folder = tempdir().unwrap();
    let arguments = [
        "run",
        "trim-integrity",
        "--set",
        "region=4MiB",
        "--set",
        "guard=512KiB",
        "--capacity",
        "1GiB",
        "--target",
        "attach:sim:generic-nvme-tlc,trim-reads=old-data",
        "--output",
        "run",
    ];
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}\n{}", stdout(&output), stderr(&output));
    let session = only_session(folder.path());
    assert!(session.finished);
    assert_eq!(session.plan.target, "attach:generic-nvme-tlc,capacity=1GiB,trim-reads=old-data");
    assert_eq!((&*session.target.kind, &*session.target.clock), ("device", "wall"));
    assert_eq!(session.target.name, "attached generic-nvme-tlc");
    let identity = &session.target.identity;
    assert_eq!(identity["kind"], "emulated drive behind a loop device");
    assert_eq!(identity["trim-reads"], "zeroes", "the loop device decides");
    assert!(identity["transport"].contains("FUSE"));
    for caveat in ["attached-drive", "not-a-physical-ssd"] {
        assert!(session.caveats.iter().any(|id| id == caveat), "{caveat}: {:?}", session.caveats);
    }
    assert!(session.figure("neighbour-blocks-lost").unwrap().value < 1.0);
    assert!(session.figure("trimmed-zeroes-share").unwrap().value > 99.9);
    // A second run has a drive of its own, which is new.
    let resumed = trimbench(folder.path(), &["run", "--resume", "run"]);
    assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
}

#[test]
fn late_answers_make_a_run_invalid() {
    let test = "attached::late_answers_make_a_run_invalid";
    if !requires(test, &NEEDS) {
        return;
    }
    let folder = tempdir().unwrap();
    // Nobody answers within a twentieth of the time of such a drive.
    let target = "attach:like-optane-900p,capacity=1GiB";
    let arguments = ["run", "idle-trim", "--set", "span=64MiB", "--target", target];
    let output = trimbench(folder.path(), &[&arguments[..], &["--output", "run"]].concat());
    assert_eq!(code(&output), Some(4), "{}\n{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("answered later than its model"), "{}", stdout(&output));
    let session = only_session(folder.path());
    let late = |ids: &Vec<String>| ids.iter().any(|id| id == "late-answers");
    assert!(session.steps.iter().any(|step| late(&step.caveats)));
    assert!(session.figures.iter().any(|figure| late(&figure.caveats)));
    let percent = session.steps.iter().filter_map(|step| step.metrics.get("answers_late_percent"));
    assert!(percent.copied().fold(0.0, f64::max) > 5.0);
}

#[test]
fn a_file_method_gets_filesystems_on_a_drive_and_ctrl_c_leaves_nothing() {
    let test = "attached::a_file_method_gets_filesystems_on_a_drive_and_ctrl_c_leaves_nothing";
    if !requires(test, &FILES_NEED) {
        return;
    }
    // All runs mount in one folder, where each removes what killed ones left.
    let _alone = machine::alone();
    let folder = tempdir().unwrap();
    let target = ["--capacity", "1GiB", "--target", "ext4:attach:generic-sata-tlc"];
    let output =
        trimbench(folder.path(), &[&DELETIONS[..], &target, &["--output", "run"]].concat());
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    let session = only_session(folder.path());
    assert!(session.finished);
    assert_eq!(session.plan.target, "ext4:attach:generic-sata-tlc,capacity=1GiB");
    assert_eq!(session.target.name, "ext4 on attached generic-sata-tlc");
    assert_eq!(session.target.identity["filesystem"], "ext4");
    assert_eq!(session.target.identity["kind"], "emulated drive behind a loop device");
    // Four deletions, each with its placebo.
    assert_eq!(session.steps.len(), 8);
    assert!(session.steps.iter().all(|step| step.metrics.contains_key("answers_late_percent")));

    let mut run = begun(folder.path(), &[&DELETIONS[..], &target, &["--output", "int"]].concat());
    let (server, disk) = drive_of(&mut run);
    wait_for_steps(folder.path(), "int", 1, &mut run);
    signal(&run, "-INT");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(!Path::new(&format!("/proc/{server}")).exists(), "it has ended before the run");
    assert!(!disk.is_there());
}

#[test]
fn a_killed_run_leaves_no_process_no_mount_and_no_loop_device() {
    let test = "attached::a_killed_run_leaves_no_process_no_mount_and_no_loop_device";
    if !requires(test, &FILES_NEED) {
        return;
    }
    let _alone = machine::alone();
    let folder = tempdir().unwrap();
    for (target, output) in
        [("ext4:attach:vendor2", "files"), ("attach:generic-nvme-tlc", "blocks")]
    {
        let method: &[&str] = if output == "files" {
            &DELETIONS
        } else {
            &["run", "steady-state", "--set", "span=64MiB"]
        };
        let arguments = ["--capacity", "1GiB", "--target", target, "--output", output];
        let mut run = begun(folder.path(), &[method, &arguments].concat());
        let (server, disk) = drive_of(&mut run);
        if output == "files" {
            wait_for_steps(folder.path(), output, 1, &mut run);
        } else {
            wait_until(&mut run, || folder.path().join(output).join("run.json").exists());
        }
        signal(&run, "-KILL");
        run.wait().unwrap();
        until("its server ends", || !Path::new(&format!("/proc/{server}")).exists());
        assert!(!disk.is_there(), "{target}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_in_words() {
    let folder = tempdir().unwrap();
    for (target, exit, says) in [
        ("attach:vendor22", 2, "did you mean `vendor2`?"),
        ("attach:", 2, "does not name an emulated drive"),
        ("attach,slow-down=0:vendor2", 2, "out of range"),
        ("attach,slowdown=2:vendor2", 2, "did you mean `slow-down`?"),
        ("attach:vendor2,wbt=0", 2, "`wbt` is a setting of models"),
        ("ext4,memory=1MiB:attach:vendor2", 2, "out of range"),
        ("ext5:attach:vendor2", 2, "there is no kind of target `ext5`"),
    ] {
        let output = trimbench(folder.path(), &["run", "trim-integrity", "--target", target]);
        assert_eq!(code(&output), Some(exit), "{target}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{target}: {}", stderr(&output));
    }
    let test = "attached::what_cannot_be_measured_is_refused_in_words";
    if !requires(test, &[Root, Loop, Fuse, Program("setpriv")]) {
        return;
    }
    let run = ["run", "trim-integrity", "--output", "run", "--target"];
    for (more, exit, says) in [
        (&["attach:vendor2,capacity=8TiB"][..], 2, "of memory"),
        (&["attach:vendor2,capacity=1GiB", "--purge", "ata-security-erase"], 3, "no purge"),
    ] {
        let output = trimbench(folder.path(), &[&run[..], more].concat());
        assert_eq!(code(&output), Some(exit), "{more:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{more:?}: {}", stderr(&output));
    }
    // Its own folder is where everybody may enter.
    let folder = tests::scratch();
    let program = folder.path().join("trimbench");
    fs::copy(env!("CARGO_BIN_EXE_trimbench"), &program).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for (more, exit) in [(&[][..], 3), (&["--dry-run"], 0)] {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        nobody.args(run).args(["attach:vendor2,capacity=1GiB"]).args(more);
        let output = nobody.current_dir(folder.path()).output().unwrap();
        assert_eq!(code(&output), Some(exit), "{}", stderr(&output));
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains("only root may attach a drive"), "{said}");
    }
}
