//! What others do to a run's files, and to what it measures, while it goes on or waits to be
//! resumed: nothing of theirs is destroyed, nothing that was measured is lost, and no step is
//! believed that is not the run's own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use trimbench_results::Step;

use super::interrupts::{signal, wait_until};
use super::{code, command, program, record, stderr, stdout, trimbench};
use tests::Need::Root;
use tests::{Mounted, kept_record, requires};

/// A session of 14 steps that takes some tenths of a second, without its target and directory.
const RUN: [&str; 8] = [
    "run",
    "trim-integrity",
    "--set",
    "region=1MiB",
    "--set",
    "guard=128KiB",
    "--set",
    "cases=shapes",
];
const SCRATCH: &str = "scratch,size=16MiB:there";
const PRECIOUS: &[u8] = b"precious\n";

/// A folder with a precious file, a directory to measure in, and an interrupted run `run`.
struct Scene {
    folder: TempDir,
    /// The steps that were kept.
    steps: Vec<Step>,
}

impl Scene {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        fs::create_dir(folder.path().join("there")).unwrap();
        fs::write(folder.path().join("precious"), PRECIOUS).unwrap();
        let mut child = started(folder.path(), &["--target", SCRATCH]);
        signal(&child, "-KILL");
        child.wait().unwrap();
        let steps = record(folder.path(), "run").sessions[0].steps.clone();
        assert!(steps.len() >= 3);
        Self { folder, steps }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A copy of the interrupted run under another name.
    fn copy(&self, name: &str) -> PathBuf {
        let (from, to) = (self.path().join("run"), self.path().join(name));
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(from).unwrap().flatten() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
        to
    }

    fn resume(&self, name: &str) -> Output {
        trimbench(self.path(), &["run", "--resume", name])
    }

    fn is_kept(&self) -> bool {
        fs::read(self.path().join("precious")).is_ok_and(|bytes| bytes == PRECIOUS)
    }
}

/// Starts a run into `run`, and stops it where it has kept three steps.
fn started(folder: &Path, target: &[&str]) -> Child {
    let arguments = [&RUN[..], target, &["--output", "run"]].concat();
    let mut command = command(folder, &arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, || {
        kept_record(&folder.join("run"))
            .is_some_and(|record| record.sessions.first().is_some_and(|it| it.steps.len() >= 3))
    });
    signal(&child, "-STOP");
    child
}

fn ended(child: Child) -> Output {
    signal(&child, "-CONT");
    child.wait_with_output().unwrap()
}

/// What somebody puts at the name of a file of ours.
#[derive(Clone, Copy, Debug)]
enum Trap {
    File,
    Symlink,
    HardLink,
    Directory,
    Pipe,
}

impl Trap {
    const ALL: [Self; 5] = [Self::File, Self::Symlink, Self::HardLink, Self::Directory, Self::Pipe];

    /// Sets it; the inode of what is there then.
    fn set(self, path: &Path, precious: &Path) -> u64 {
        let _ = fs::remove_file(path);
        match self {
            Self::File => fs::write(path, "theirs").unwrap(),
            Self::Symlink => std::os::unix::fs::symlink(precious, path).unwrap(),
            Self::HardLink => fs::hard_link(precious, path).unwrap(),
            Self::Directory => fs::create_dir(path).unwrap(),
            Self::Pipe => {
                let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
                assert!(status.success());
            }
        }
        fs::symlink_metadata(path).unwrap().ino()
    }
}

fn inodes(folder: &Path) -> BTreeSet<u64> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| fs::symlink_metadata(entry.path()).unwrap().ino()).collect()
}

#[test]
fn what_others_put_at_the_names_of_a_waiting_run_is_never_destroyed() {
    let scene = Scene::new();
    for name in ["run.json", "steps.ndjson", "host.json", "report.html"] {
        for trap in Trap::ALL {
            let row = format!("{name}-{trap:?}");
            let run = scene.copy(&row);
            let theirs = trap.set(&run.join(name), &scene.path().join("precious"));
            let output = program(scene.path(), &["run", "--resume", &row]).output().unwrap();
            let errors = stderr(&output);
            assert!(matches!(code(&output), Some(0 | 2 | 3 | 4)), "{row}: {errors}");
            assert!(scene.is_kept(), "{row}: {errors}");
            assert!(inodes(&run).contains(&theirs), "{row}: it is gone: {errors}");
            let refused = ["run.json", "steps.ndjson", "report.html"].contains(&name);
            assert!(!refused || code(&output) == Some(2), "{row}: {errors}");
        }
    }
}

#[test]
fn what_others_put_at_the_names_of_a_run_at_work_is_never_destroyed() {
    for name in ["run.json", "steps.ndjson", "host.json"] {
        for trap in [Trap::File, Trap::Symlink, Trap::HardLink] {
            let row = format!("{name}-{trap:?}");
            let folder = tempdir().unwrap();
            fs::create_dir(folder.path().join("there")).unwrap();
            let precious = folder.path().join("precious");
            fs::write(&precious, PRECIOUS).unwrap();
            let child = started(folder.path(), &["--target", SCRATCH]);
            let theirs = trap.set(&folder.path().join("run").join(name), &precious);
            let output = ended(child);
            let errors = stderr(&output);
            assert!(matches!(code(&output), Some(0 | 3 | 4)), "{row}: {errors}");
            assert_eq!(fs::read(&precious).unwrap(), PRECIOUS, "{row}");
            assert!(inodes(&folder.path().join("run")).contains(&theirs), "{row}: {errors}");
            let kept = record(folder.path(), "run").sessions[0].steps.len();
            assert!(kept >= 3, "{row}: {kept} steps are kept: {errors}");
        }
    }
}

/// A row of what is done to the lines of kept steps; those of another run are given as well.
type Tamper = fn(&mut Vec<String>, &[String]);

const TAMPERS: [(&str, Tamper); 9] = [
    ("digit", |lines, _| lines[1] = lines[1].replacen("\"sequence\":1", "\"sequence\":8", 1)),
    ("value", |lines, _| lines[1] = changed_value(&lines[1])),
    ("name", |lines, _| lines[1] = lines[1].replacen("\"kind\":\"", "\"kind\":\"x", 1)),
    ("garbage", |lines, _| "{\"session\":0,".clone_into(&mut lines[1])),
    ("empty", |lines, _| lines[1].clear()),
    ("joined", |lines, _| {
        let next = lines.remove(2);
        lines[1] += &next;
    }),
    ("another run", |lines, other| lines[1].clone_from(&other[1])),
    ("all of another run", |lines, other| *lines = other.to_vec()),
    ("order", |lines, _| lines.swap(1, 2)),
];

/// The line with another number in its first metric.
fn changed_value(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap();
    let metrics = value["step"]["metrics"].as_object_mut().unwrap();
    let first = metrics.keys().next().unwrap().clone();
    metrics.insert(first, 1e9.into());
    value.to_string()
}

#[test]
fn a_line_that_is_not_the_runs_own_is_set_aside_and_measured_again() {
    let (scene, other) = (Scene::new(), Scene::new());
    let lines = |scene: &Scene| -> Vec<String> {
        let text = fs::read_to_string(scene.path().join("run/steps.ndjson")).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let (own, foreign) = (lines(&scene), lines(&other));
    for (row, tamper) in TAMPERS {
        let run = scene.copy(row);
        let mut changed = own.clone();
        tamper(&mut changed, &foreign);
        assert_ne!(changed, own, "{row}");
        let text = changed.join("\n") + "\n";
        fs::write(run.join("steps.ndjson"), &text).unwrap();
        let report = trimbench(scene.path(), &["report", row]);
        assert_eq!(code(&report), Some(2), "{row}: {}", stderr(&report));
        assert!(stderr(&report).contains("of `steps.ndjson`"), "{row}: {}", stderr(&report));
        let refused = scene.resume(row);
        let errors = stderr(&refused);
        assert_eq!(code(&refused), Some(2), "{row}: {errors}");
        assert!(errors.contains("are not believed: line"), "{row}: {errors}");
        let aside = fs::read_to_string(run.join("steps.ndjson.set-aside-1")).unwrap();
        assert_eq!(aside, text, "{row}: all lines are kept as they were");
        // What is believed was kept, to the bit; the rest is measured again.
        let believed = record(scene.path(), row).sessions[0].steps.clone();
        assert!(believed.iter().all(|step| scene.steps.contains(step)), "{row}");
        let good = changed.iter().filter(|line| own.contains(line)).count();
        let least = if row == "order" { good - 1 } else { good };
        assert!(believed.len() >= least, "{row}: {} of {good} good lines", believed.len());
        let resumed = scene.resume(row);
        assert!(matches!(code(&resumed), Some(0 | 4)), "{row}: {}", stderr(&resumed));
        let whole = record(scene.path(), row);
        let steps = &whole.sessions[0].steps;
        assert!(whole.sessions[0].finished && steps.len() > believed.len(), "{row}");
        assert!(believed.iter().all(|step| steps.contains(step)), "{row}");
        assert!(steps.iter().all(|step| step.metrics.values().all(|it| *it < 1e9)), "{row}");
    }
}

#[test]
fn a_changed_record_is_shown_with_a_word_and_not_continued() {
    let scene = Scene::new();
    // Its steps are in the record then.
    let resumed = scene.copy("resumed");
    let text = fs::read_to_string(resumed.join("run.json")).unwrap();
    let without = |keys: &[&str]| {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        let object = value.as_object_mut().unwrap();
        object.retain(|key, _| !keys.contains(&key.as_str()));
        serde_json::to_string_pretty(&value).unwrap()
    };
    for (row, changed, why) in [
        ("seed", text.replacen("\"seed\": 1", "\"seed\": 2", 1), "was changed after"),
        ("seal", text.replacen("\"seal\": \"", "\"seal\": \"0", 1), "was changed after"),
        ("id", without(&["run_id"]), "was changed after"),
        ("both", without(&["run_id", "seal"]), "has lost its `run_id`"),
    ] {
        assert_ne!(changed, text, "{row}");
        let run = scene.copy(row);
        fs::write(run.join("run.json"), &changed).unwrap();
        if row == "both" {
            fs::remove_file(run.join("steps.ndjson")).unwrap();
        }
        let output = scene.resume(row);
        let errors = stderr(&output);
        assert_eq!(code(&output), Some(2), "{row}: {errors}");
        assert!(errors.contains(why), "{row}: {errors}");
        assert_eq!(fs::read_to_string(run.join("run.json")).unwrap(), changed, "{row}");
        let report = trimbench(scene.path(), &["report", row]);
        assert!(row == "both" || stderr(&report).contains("was changed after it was written"));
    }
}

/// Steps that a run announces, measured by it.
fn measured(output: &Output) -> usize {
    stdout(output).lines().filter(|line| line.contains("\"event\":\"step\"")).count()
}

/// Opens what a run measures and writes to it, as a second loop device does.
fn meddle(path: &Path) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.write_all(&[0x5a; 4096]).unwrap();
    file.sync_all().unwrap();
}

/// The image without a name that a run has open.
fn unnamed_image(child: &Child) -> PathBuf {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
    let mut paths = open.map(|entry| entry.path());
    let is_image = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|it| it.is_file() && it.nlink() == 0 && it.len() == 16 << 20)
    };
    paths.find(is_image).expect("the image is open")
}

#[test]
fn an_image_that_others_write_to_midway_is_marked_and_measured_again_as_a_whole() {
    for named in [true, false] {
        let folder = tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("there")).unwrap();
        let image = folder.join("image");
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let named_as = fs::canonicalize(&image).unwrap();
        let named_as = named_as.to_str().unwrap();
        let target: &[&str] = if named {
            &["--target", named_as, "--destroy", named_as]
        } else {
            &["--target", SCRATCH]
        };
        let child = started(folder, target);
        meddle(&if named { image } else { unnamed_image(&child) });
        let output = ended(child);
        let errors = stderr(&output);
        assert_eq!(code(&output), Some(3), "{errors}");
        assert!(errors.contains("another process"), "{errors}");
        let kept = record(folder, "run");
        let changed = |id: &String| id == "target-changed";
        assert!(kept.sessions[0].caveats.iter().any(changed), "{:?}", kept.sessions[0].caveats);
        let report = trimbench(folder, &["report", "run"]);
        assert_ne!(code(&report), Some(0));
        let again = ["run", "--resume", "run", "--output-format", "ndjson"];
        let consent: &[&str] = if named { &["--destroy", named_as] } else { &[] };
        let resumed = trimbench(folder, &[&again[..], consent].concat());
        assert!(matches!(code(&resumed), Some(0 | 4)), "{}", stderr(&resumed));
        let whole = record(folder, "run");
        assert_eq!(measured(&resumed), whole.sessions[0].steps.len(), "none was taken over");
        assert!(!whole.sessions[0].caveats.iter().any(changed));
    }
}

#[test]
fn steps_whose_directory_is_gone_are_printed() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("there")).unwrap();
    let child = started(folder, &["--target", SCRATCH]);
    let kept = record(folder, "run").sessions[0].steps.clone();
    fs::remove_dir_all(folder.join("run")).unwrap();
    let output = ended(child);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("not saved: the steps of trim-integrity on scratch"), "{text}");
    for step in kept {
        let line =
            text.lines().find(|line| line.trim_start().starts_with(&format!("{}:", step.id)));
        let line = line.unwrap_or_else(|| panic!("{} is not printed: {text}", step.id));
        for (key, value) in &step.metrics {
            assert!(line.contains(&format!("{key}={value}")), "{key} is not in {line}");
        }
    }
}

#[test]
fn steps_that_a_full_disk_does_not_take_are_printed_and_the_run_goes_on_when_there_is_room() {
    const TEST: &str = "tampering::steps_that_a_full_disk_does_not_take_are_printed_and_the_run_\
                        goes_on_when_there_is_room";
    if !requires(TEST, &[Root]) {
        return;
    }
    let outer = tempdir().unwrap();
    let folder = outer.path().join("disk");
    fs::create_dir(&folder).unwrap();
    fs::create_dir(outer.path().join("there")).unwrap();
    let _mounted = Mounted::memory("8m", &folder);
    let child = started(&folder, &["--target", "scratch,size=16MiB:../there"]);
    let before = record(&folder, "run").sessions[0].steps.clone();
    let mut filling = File::create(folder.join("filling")).unwrap();
    while filling.write_all(&[1; 4096]).is_ok() {}
    drop(filling);
    let output = ended(child);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("ENOSPC"), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("not saved: the steps of trim-integrity on scratch"), "{text}");
    let kept = record(&folder, "run").sessions[0].steps.clone();
    assert!(kept.starts_with(&before), "what was kept is there");
    fs::remove_file(folder.join("filling")).unwrap();
    let resumed = trimbench(&folder, &["run", "--resume", "run"]);
    assert!(matches!(code(&resumed), Some(0 | 4)), "{}", stderr(&resumed));
    let whole = record(&folder, "run").sessions[0].steps.clone();
    assert!(whole.starts_with(&kept) && whole.len() > kept.len());
}

#[test]
fn a_scratch_image_is_gone_however_its_run_ends() {
    let folder = tempdir().unwrap();
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    let fit = ["fit", "fitted", "--base", "plain-nvme-tlc,trim.mode=queued"];
    let fit = [&fit[..], &["--free", "trim.command", "--measure", "there"]].concat();
    let run = [&RUN[..], &["--target", SCRATCH, "--output", "run"]].concat();
    let theirs = there.join("trimbench-fit.img");
    fs::write(&theirs, PRECIOUS).unwrap();
    for moment in 0..20_u64 {
        let arguments = if moment % 4 == 0 { &fit } else { &run };
        let mut command = command(folder.path(), arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        pause(30 * (moment + 1));
        let _ = child.kill();
        child.wait().unwrap();
        let names: Vec<_> =
            fs::read_dir(&there).unwrap().flatten().map(|it| it.file_name()).collect();
        assert_eq!(names, ["trimbench-fit.img"], "moment {moment}");
        assert_eq!(fs::read(&theirs).unwrap(), PRECIOUS);
        for made in ["run", "fitted"] {
            let _ = fs::remove_dir_all(folder.path().join(made));
        }
    }
}

/// Numbers from a seed: splitmix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }
}

/// One random sequence of run, kill, tamper, resume and report, and what must hold after each.
struct Sequence {
    folder: TempDir,
    draw: Draw,
    log: Vec<String>,
    /// Inodes of what others put into the run's directory.
    theirs: BTreeSet<u64>,
}

/// The content of a directory, by name.
type Content = std::collections::BTreeMap<String, Vec<u8>>;

/// What a program measured.
#[derive(Default)]
struct Measured {
    announced: Vec<Step>,
    killed: bool,
}

impl Sequence {
    fn new(seed: u64) -> Self {
        let folder = tempdir().unwrap();
        fs::create_dir(folder.path().join("there")).unwrap();
        fs::write(folder.path().join("precious"), PRECIOUS).unwrap();
        let (draw, log) = (Draw(seed), vec![format!("seed {seed}")]);
        Self { folder, draw, log, theirs: BTreeSet::new() }
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn content(&self) -> Content {
        let entries = fs::read_dir(self.run()).into_iter().flatten().flatten();
        let files = entries.filter(|it| it.metadata().is_ok_and(|it| it.is_file()));
        let name = |it: &fs::DirEntry| it.file_name().to_string_lossy().into_owned();
        files.map(|it| (name(&it), fs::read(it.path()).unwrap())).collect()
    }

    /// The steps that the program may believe now.
    fn believed(&self) -> Vec<Step> {
        let record = kept_record(&self.run());
        let sessions = record.map(|it| it.sessions).unwrap_or_default();
        sessions.into_iter().flat_map(|it| it.steps).collect()
    }

    /// Whether the record is as the program wrote it.
    fn is_sealed(&self) -> bool {
        let json = self.content().remove("run.json").unwrap_or_default();
        let record = trimbench_results::RunRecord::from_json(&json);
        record.is_ok_and(|record| record.run_id.is_some() && record.is_unchanged(&json))
    }

    /// Runs the program to its end, or kills it somewhere on its way.
    fn program(&mut self, arguments: &[&str]) -> Measured {
        let ndjson = ["--output-format", "ndjson"];
        let mut command = command(self.folder.path(), &[arguments, &ndjson].concat());
        let events = self.folder.path().join("events");
        let stdout = File::create(&events).unwrap();
        let mut child = command.stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
        let killed = self.draw.below(3) > 0;
        if killed {
            pause(self.draw.below(300) as u64);
            let _ = child.kill();
        }
        let status = child.wait().unwrap();
        self.log.push(format!("{arguments:?}: {status}"));
        let announced = steps_of(&fs::read(&events).unwrap());
        Measured { announced, killed: status.code().is_none() }
    }

    fn tamper(&mut self, foreign: &[u8]) {
        let name = ["run.json", "steps.ndjson", "host.json"][self.draw.below(3)];
        let path = self.run().join(name);
        // A trap that was set earlier is somebody else's, and may lead to other files.
        let is_set = |it: fs::Metadata| self.theirs.contains(&it.ino());
        if fs::symlink_metadata(&path).is_ok_and(is_set) {
            return;
        }
        let Ok(mut bytes) = fs::read(&path) else { return };
        let kind = self.draw.below(7);
        self.log.push(format!("tamper {kind} with {name}"));
        let at = self.draw.below(bytes.len().max(1));
        match kind {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << self.draw.below(8),
            1 => bytes.truncate(at),
            2 => bytes.splice(at..at, *b"9").for_each(drop),
            3 => bytes.extend_from_slice(foreign),
            4 => bytes = foreign.to_vec(),
            5 => bytes.extend_from_within(at..),
            _ => {
                let precious = self.folder.path().join("precious");
                let trap = Trap::ALL[self.draw.below(Trap::ALL.len())];
                self.theirs.insert(trap.set(&path, &precious));
                return;
            }
        }
        fs::write(&path, bytes).unwrap();
    }

    /// What must hold after the program ran on a directory that held this before it did.
    fn check(&self, before: &Content, believed: &[Step], was_sealed: bool, measured: &Measured) {
        let log = self.log.join("\n");
        let kept = fs::read(self.folder.path().join("precious")).unwrap();
        assert_eq!(kept, PRECIOUS, "a foreign file was changed\n{log}");
        let there = inodes(&self.run());
        assert!(self.theirs.is_subset(&there), "something foreign is gone\n{log}");
        let (now, content) = (self.believed(), self.content());
        let found = steps_of(before.get("steps.ndjson").map_or(&[], Vec::as_slice));
        // A step is kept before it is announced; between the two a program may be killed.
        let unannounced =
            |step: &Step| measured.killed && now.last() == Some(step) && !found.contains(step);
        let own = |step: &Step| {
            believed.contains(step) || measured.announced.contains(step) || unannounced(step)
        };
        let foreign: Vec<&Step> = now.iter().filter(|step| !own(step)).collect();
        assert!(foreign.is_empty(), "believed, and not measured: {foreign:?}\n{log}");
        let all: Vec<u8> = content.values().flatten().copied().collect();
        let has = |bytes: &[u8]| all.windows(bytes.len()).any(|part| part == bytes);
        for step in believed.iter().filter(|step| !now.contains(step)) {
            let line = serde_json::to_vec(step).unwrap();
            assert!(has(&line), "measured, and lost: {}\n{log}", step.id);
        }
        // What the program does not go on with it leaves as it is.
        // But what a killed run had only begun to write.
        let partial = |name: &str| name.ends_with(".partial");
        for (name, bytes) in before.iter().filter(|(name, _)| !was_sealed && !partial(name)) {
            let same = content.get(name) == Some(bytes);
            assert!(same, "`{name}` of a changed run was written to\n{log}");
        }
    }
}

/// The steps of lines of JSON, which may be broken.
fn steps_of(lines: &[u8]) -> Vec<Step> {
    let steps = lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut line: Value = serde_json::from_slice(line).ok()?;
        serde_json::from_value(line.get_mut("step")?.take()).ok()
    });
    steps.collect()
}

/// `TRIMBENCH_SEQUENCES` says how many; `TRIMBENCH_SEED` the first of their seeds.
#[test]
#[expect(clippy::disallowed_methods, reason = "how many is asked of the environment")]
fn no_sequence_of_kills_and_tampering_loses_or_falsifies_a_step() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (count, first) =
        (number("TRIMBENCH_SEQUENCES").unwrap_or(6), number("TRIMBENCH_SEED").unwrap_or(1));
    let other = Scene::new();
    let foreign = fs::read(other.path().join("run/steps.ndjson")).unwrap();
    for seed in first..first + count {
        let mut sequence = Sequence::new(seed);
        let run = [&RUN[..], &["--target", SCRATCH, "--output", "run"]].concat();
        let measured = sequence.program(&run);
        if !sequence.run().join("run.json").exists() {
            continue;
        }
        sequence.check(&Content::new(), &[], true, &measured);
        for _ in 0..3 + sequence.draw.below(5) {
            if sequence.draw.below(2) == 0 {
                sequence.tamper(&foreign);
            }
            let (before, believed) = (sequence.content(), sequence.believed());
            let sealed = sequence.is_sealed();
            if sequence.draw.below(3) == 0 {
                sequence.program(&["report", "run"]);
                sequence.check(&before, &believed, false, &Measured::default());
            } else {
                let measured = sequence.program(&["run", "--resume", "run"]);
                sequence.check(&before, &believed, sealed, &measured);
            }
        }
    }
    println!("{count} sequences");
}

#[expect(clippy::disallowed_methods, reason = "a process is to be killed at some moment")]
fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}
