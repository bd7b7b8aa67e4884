//! `trimbench attach`: the device, what is asked of it, and how it ends.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a device that answers by the wall's clock"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use tests::Need::{Filesystem, Fuse, Loop, MemoryLimit, Program, Root};
use tests::{ControlGroup, Mounted, Need, requires};
use trimbench_claim::registry;

use super::interrupts::signal;
use super::{code, looking, stderr, stdout};

const NEEDS: [Need; 5] = [Root, Loop, Fuse, Filesystem("ext4"), Program("mkfs.ext4")];
/// Something that is waited for comes within this time, or never.
const PATIENCE: Duration = Duration::from_secs(20);

/// A drive that another process serves. Ended when dropped.
struct Served {
    child: Child,
    node: String,
    disk: AttachedDisk,
    folder: TempDir,
}

impl Served {
    fn begin(arguments: &[&str]) -> Self {
        let folder = tempdir().unwrap();
        let mut command = looking(folder.path(), &[&["attach"], arguments].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let node = first.split(':').next().unwrap().to_owned();
        assert!(node.starts_with("/dev/loop"), "{first}");
        let disk = AttachedDisk::on(&node);
        Self { child, node, disk, folder }
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let all = [&["attach"], arguments, &[self.node.as_str()]].concat();
        looking(self.folder.path(), &all).output().unwrap()
    }

    fn signal(&self, kind: &str) {
        signal(&self.child, kind);
    }

    /// Its exit code and what it said, once it has ended.
    fn ended(&mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut errors = self.child.stderr.take().unwrap();
        (status.code(), std::io::read_to_string(&mut errors).unwrap())
    }

    /// What invalidates times that are measured on it, in words.
    fn invalid_because(&self) -> String {
        let stats = stdout(&self.ask(&["--stats", "--json"]));
        let stats: Value = serde_json::from_str(&stats).unwrap();
        stats["invalid_because"].to_string()
    }

    /// fio, which writes so many MiB at once, and then reads them and compares.
    fn write_and_verify(&self, mebibytes: u32, more: &[&str]) -> Command {
        let mut fio = Command::new("fio");
        fio.args(["--name=job", "--direct=1", "--ioengine=io_uring", "--iodepth=32"]);
        fio.args(["--rw=write", "--verify=crc32c", "--verify_fatal=1"]).args(more);
        fio.arg(format!("--size={mebibytes}m")).arg(format!("--filename={}", self.node));
        fio.current_dir(self.folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        fio
    }

    fn make_ext4(&self) {
        tests::run("mkfs.ext4", &["-q", &self.node]);
    }

    fn mount(&self) -> (Mounted, TempDir) {
        let place = tests::scratch();
        (Mounted::new(&[self.node.as_str()], place.path()), place)
    }

    fn is_there(&self) -> bool {
        self.disk.is_there()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is attached to a loop device: later, nothing or another test's drive may be.
pub(crate) struct AttachedDisk {
    folder: PathBuf,
    sequence: String,
}

impl AttachedDisk {
    pub(crate) fn on(node: &str) -> Self {
        let folder = Path::new("/sys/block").join(node.strip_prefix("/dev/").unwrap());
        let sequence = fs::read_to_string(folder.join("diskseq")).unwrap();
        Self { folder, sequence }
    }

    pub(crate) fn is_there(&self) -> bool {
        let sequence = fs::read_to_string(self.folder.join("diskseq"));
        self.folder.join("loop").exists() && sequence.is_ok_and(|it| it == self.sequence)
    }
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn sockets() -> Vec<PathBuf> {
    let entries = fs::read_dir(registry::folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_string_lossy().contains("/socket-")).collect()
}

fn attach(arguments: &[&str]) -> Output {
    let folder = tempdir().unwrap();
    looking(folder.path(), &[&["attach"], arguments].concat()).output().unwrap()
}

#[test]
fn a_drive_is_attached_asked_and_detached() {
    if !requires("attach::a_drive_is_attached_asked_and_detached", &NEEDS) {
        return;
    }
    let mut served = Served::begin(&["sim:vendor2", "--capacity", "1GiB"]);
    served.make_ext4();
    let memory = fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let locked = memory.lines().find(|line| line.starts_with("VmLck:")).unwrap();
    assert!(!locked.ends_with(" 0 kB"), "{locked}");
    let stats = served.ask(&["--stats", "--json"]);
    assert_eq!(code(&stats), Some(0), "{}", stderr(&stats));
    let stats: Value = serde_json::from_str(&stdout(&stats)).unwrap();
    assert_eq!(stats["drive"]["profile"], "vendor2");
    assert!(stats["statistics"]["host_written"].as_u64().unwrap() > 1 << 16);
    let listed = stdout(&attach(&["--list"]));
    assert!(listed.contains(&format!("{}: vendor2, 1GiB", served.node)), "{listed}");
    let (mounted, place) = served.mount();
    let refused = served.ask(&["--stop"]);
    assert_eq!(code(&refused), Some(3), "{}", stdout(&refused));
    assert!(stderr(&refused).contains(&place.path().display().to_string()), "{}", stderr(&refused));
    drop(mounted);
    let stopped = served.ask(&["--stop"]);
    assert_eq!(code(&stopped), Some(0), "{}", stderr(&stopped));
    assert_eq!(served.ended().0, Some(0));
    // Whoever looks for devices may have it open for a moment.
    until("the device goes with its last user", || !served.is_there());
    let other = tests::LoopDevice::new(16);
    let again = attach(&["--stop", other.node()]);
    assert_eq!(code(&again), Some(2), "{}", stderr(&again));
}

#[test]
fn ctrl_c_waits_for_who_uses_the_device_and_a_second_one_does_not() {
    if !requires("attach::ctrl_c_waits_for_who_uses_the_device_and_a_second_one_does_not", &NEEDS) {
        return;
    }
    let mut served = Served::begin(&["generic-sata-tlc", "--capacity", "1GiB"]);
    served.make_ext4();
    let (mounted, place) = served.mount();
    served.signal("-INT");
    std::thread::sleep(Duration::from_millis(500));
    fs::write(place.path().join("file"), "it still works").unwrap();
    drop(mounted);
    let (status, errors) = served.ended();
    assert_eq!(status, Some(0), "{errors}");
    let shown = place.path().display().to_string();
    assert!(errors.contains("in use") && errors.contains(&shown), "{errors}");
    assert!(!served.is_there());

    let mut served = Served::begin(&["generic-sata-tlc", "--capacity", "1GiB"]);
    served.make_ext4();
    let (mounted, place) = served.mount();
    fs::write(place.path().join("file"), "not synced").unwrap();
    served.signal("-INT");
    std::thread::sleep(Duration::from_millis(500));
    served.signal("-INT");
    assert_eq!(served.ended().0, Some(130));
    let sync = fs::File::open(place.path().join("file")).unwrap().sync_all();
    assert_eq!(sync.unwrap_err().raw_os_error(), Some(5), "EIO, and no hang");
    drop(mounted);
    until("the device goes with its last user", || !served.is_there());
}

#[test]
fn a_killed_server_leaves_errors_and_nothing_after_the_next_start() {
    if !requires("attach::a_killed_server_leaves_errors_and_nothing_after_the_next_start", &NEEDS) {
        return;
    }
    let mut served = Served::begin(&["generic-nvme-tlc", "--capacity", "1GiB"]);
    served.make_ext4();
    let (mounted, place) = served.mount();
    fs::write(place.path().join("file"), vec![1; 8 << 20]).unwrap();
    served.signal("-KILL");
    served.ended();
    let begun = Instant::now();
    drop(mounted);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(place);
    until("the device goes with its last user", || !served.is_there());
    let listed = stdout(&attach(&["--list"]));
    assert!(!listed.contains(&served.node), "{listed}");
    let living = |path: &PathBuf| {
        let file = fs::File::open(path).unwrap();
        file.try_lock().is_err()
    };
    assert!(sockets().iter().all(living), "what was left is removed");
}

#[test]
fn a_server_that_is_stopped_goes_on_where_it_was_and_says_so() {
    let test = "attach::a_server_that_is_stopped_goes_on_where_it_was_and_says_so";
    if !requires(test, &[&NEEDS[..], &[Program("fio")]].concat()) {
        return;
    }
    // Nothing is under way when it is stopped, and a read comes meanwhile.
    let served = Served::begin(&["generic-nvme-tlc", "--capacity", "1GiB"]);
    served.signal("-STOP");
    let mut read = Command::new("dd");
    read.args([&format!("if={}", served.node), "of=/dev/null", "bs=4096", "count=1"]);
    let mut read = read.arg("iflag=direct").stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(read.try_wait().unwrap().is_none(), "it waits for the server");
    served.signal("-CONT");
    assert!(read.wait().unwrap().success());
    until("the pause is told", || served.invalid_because().contains("did not run"));

    // Writes are under way when it is stopped.
    let served = Served::begin(&["generic-nvme-tlc", "--capacity", "1GiB"]);
    let fio = served.write_and_verify(64, &["--bs=4k", "--rate_iops=4000"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    served.signal("-STOP");
    std::thread::sleep(Duration::from_secs(3));
    served.signal("-CONT");
    let output = fio.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    until("the pause is told", || served.invalid_because().contains("did not run"));
}

#[test]
fn a_server_without_memory_for_the_contents_is_killed_and_nobody_hangs() {
    let test = "attach::a_server_without_memory_for_the_contents_is_killed_and_nobody_hangs";
    if !requires(test, &[&NEEDS[..], &[Program("fio"), MemoryLimit]].concat()) {
        return;
    }
    let group = ControlGroup::of_memory(64).unwrap();
    let mut served = Served::begin(&["generic-nvme-tlc", "--capacity", "1GiB"]);
    group.hold(served.child.id()).unwrap();
    let output = served.write_and_verify(256, &["--bs=1m"]).output().unwrap();
    assert!(!output.status.success() && stderr(&output).contains("Input/output error"));
    // By the kernel, whose signal leaves no exit code.
    assert_eq!(served.ended().0, None);
    until("the device goes with its last user", || !served.is_there());
}

#[test]
fn a_file_holds_more_than_the_memory_of_its_server() {
    let test = "attach::a_file_holds_more_than_the_memory_of_its_server";
    if !requires(test, &[&NEEDS[..], &[Program("fio"), MemoryLimit]].concat()) {
        return;
    }
    let group = ControlGroup::of_memory(64).unwrap();
    // On a disk: a file in memory would count in full.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("drive");
    let backing = file.to_str().unwrap();
    let mut served =
        Served::begin(&["generic-nvme-tlc", "--capacity", "1GiB", "--backing", backing]);
    group.hold(served.child.id()).unwrap();
    let output = served.write_and_verify(256, &["--bs=1m", "--end_fsync=1"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(code(&served.ask(&["--stop"])), Some(0));
    assert_eq!(served.ended().0, Some(0));
}

#[test]
fn a_detached_drive_outlives_the_command_and_logs_what_it_was_asked() {
    if !requires("attach::a_detached_drive_outlives_the_command_and_logs_what_it_was_asked", &NEEDS)
    {
        return;
    }
    let folder = tempdir().unwrap();
    let log = folder.path().join("log.ndjson");
    let arguments =
        ["like-rc100", "--capacity", "1GiB", "--detach", "--log", log.to_str().unwrap()];
    let started = attach(&arguments);
    assert_eq!(code(&started), Some(0), "{}", stderr(&started));
    let node = stdout(&started).trim().to_owned();
    let disk = AttachedDisk::on(&node);
    assert!(disk.is_there());
    tests::run("mkfs.ext4", &["-q", &node]);
    let stopped = attach(&["--stop", &node]);
    assert_eq!(code(&stopped), Some(0), "{}", stderr(&stopped));
    until("it goes", || !disk.is_there());
    let log = fs::read_to_string(log).unwrap();
    let entries: Vec<trimbench_attach::LogEntry> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(entries.len() > 20, "{}", entries.len());
}

#[test]
fn faults_come_and_go_while_it_runs() {
    if !requires("attach::faults_come_and_go_while_it_runs", &NEEDS) {
        return;
    }
    let served = Served::begin(&["generic-sata-tlc", "--capacity", "1GiB"]);
    let reads = || {
        let mut read = Command::new("dd");
        let source = format!("if={}", served.node);
        read.args([source.as_str(), "of=/dev/null", "bs=4096", "count=1", "iflag=direct"]);
        read.output().unwrap().status.success()
    };
    let plant = |fault| {
        let planted = served.ask(&["--fault", fault]);
        assert_eq!(code(&planted), Some(0), "{fault}: {}", stderr(&planted));
    };
    assert!(reads());
    plant("power-cut");
    assert!(!reads());
    plant("power-on");
    assert!(reads());
    plant("unreadable=0B+4KiB");
    assert!(!reads());
    plant("unreadable=off");
    assert!(reads());
    let takes = |least| {
        let begun = Instant::now();
        assert!(reads() && begun.elapsed() >= least);
    };
    plant("slow=300ms");
    takes(Duration::from_millis(300));
    plant("slow=0");
    plant("slow-discards=300ms");
    let begun = Instant::now();
    tests::run("blkdiscard", &["--length", "4096", &served.node]);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    plant("slow-discards=off");
    plant("stall=on");
    std::thread::scope(|scope| {
        scope.spawn(|| takes(Duration::from_millis(500)));
        std::thread::sleep(Duration::from_secs(1));
        plant("stall=off");
    });
    for wrong in [
        "power-cuts",
        "unreadable=4KiB",
        "stall=x",
        "slow",
        "slow-discards=fast",
        "neighbour-lost=1B",
        "lying-flush=2",
    ] {
        let refused = served.ask(&["--fault", wrong]);
        assert_eq!(code(&refused), Some(2), "{wrong}: {}", stderr(&refused));
    }
}

#[test]
fn a_file_keeps_what_a_drive_held_and_only_its_own_drive_gets_it() {
    if !requires("attach::a_file_keeps_what_a_drive_held_and_only_its_own_drive_gets_it", &NEEDS) {
        return;
    }
    let folder = tests::scratch();
    let file = folder.path().join("drive");
    let backing = file.to_str().unwrap();
    let arguments = ["generic-nvme-tlc", "--capacity", "1GiB", "--backing", backing];
    let served = Served::begin(&arguments);
    served.make_ext4();
    let (mounted, place) = served.mount();
    fs::write(place.path().join("file"), vec![5; 1 << 20]).unwrap();
    let held = attach(&arguments);
    assert_eq!(code(&held), Some(3), "{}", stderr(&held));
    assert!(stderr(&held).contains("in use"), "{}", stderr(&held));
    let inside = place.path().join("inner");
    let inner = attach(&["vendor2", "--capacity", "1GiB", "--backing", inside.to_str().unwrap()]);
    assert_eq!(code(&inner), Some(3), "{}", stderr(&inner));
    assert!(stderr(&inner).contains("lies on the attached drive"), "{}", stderr(&inner));
    assert!(!inside.exists());
    drop(mounted);
    assert_eq!(code(&served.ask(&["--stop"])), Some(0));
    drop(served);

    let served = Served::begin(&arguments);
    let (mounted, place) = served.mount();
    assert!(fs::read(place.path().join("file")).unwrap() == vec![5; 1 << 20]);
    drop(mounted);
    assert_eq!(code(&served.ask(&["--stop"])), Some(0));
    drop(served);
    let head = |path: &Path| {
        let mut head = vec![0; 1 << 20];
        std::io::Read::read_exact(&mut fs::File::open(path).unwrap(), &mut head).unwrap();
        head
    };
    let before = head(&file);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for (path, profile) in [(backing, "vendor2"), (link.to_str().unwrap(), "generic-nvme-tlc")] {
        let refused = attach(&[profile, "--capacity", "1GiB", "--backing", path]);
        assert_eq!(code(&refused), Some(3), "{path}: {}", stderr(&refused));
    }
    assert!(head(&file) == before, "nothing of it was changed");
}

#[test]
fn a_killed_server_lets_go_of_its_file_which_has_what_was_synced() {
    if !requires("attach::a_killed_server_lets_go_of_its_file_which_has_what_was_synced", &NEEDS) {
        return;
    }
    let folder = tests::scratch();
    let backing = folder.path().join("drive");
    let arguments =
        ["generic-sata-tlc", "--capacity", "1GiB", "--backing", backing.to_str().unwrap()];
    let mut served = Served::begin(&arguments);
    served.make_ext4();
    let (mounted, place) = served.mount();
    let file = |place: &TempDir| place.path().join("file");
    fs::write(file(&place), vec![5; 1 << 20]).unwrap();
    fs::File::open(file(&place)).unwrap().sync_all().unwrap();
    served.signal("-KILL");
    served.ended();
    drop(mounted);
    until("the device goes with its last user", || !served.is_there());
    let served = Served::begin(&arguments);
    let (mounted, place) = served.mount();
    assert!(fs::read(file(&place)).unwrap() == vec![5; 1 << 20]);
    drop(mounted);
}

#[test]
fn what_cannot_be_attached_is_refused_in_words() {
    let unknown = attach(&["vendor9"]);
    assert_eq!(code(&unknown), Some(2));
    assert!(stderr(&unknown).contains("vendor"), "{}", stderr(&unknown));
    let small = attach(&["vendor2", "--capacity", "1MiB"]);
    assert_eq!(code(&small), Some(2), "{}", stderr(&small));
    let nothing = attach(&[]);
    assert_eq!(code(&nothing), Some(2));
    if requires("attach::what_cannot_be_attached_is_refused_in_words", &[Root, Program("setpriv")])
    {
        // Its own folder is where everybody may enter.
        let folder = tests::scratch();
        let program = folder.path().join("trimbench");
        fs::copy(env!("CARGO_BIN_EXE_trimbench"), &program).unwrap();
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), everybody).unwrap();
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        let output = nobody.args(["attach", "vendor2", "--capacity", "1GiB"]).output().unwrap();
        assert_eq!(code(&output), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("root"), "{}", stderr(&output));
    }
}
