//! The lines that advice gives to type, given to the real programs: fstab to findmnt and mount,
//! units to systemd, the rule to udev.

use std::fs;
use std::path::{Path, PathBuf};

use tests::Need::{self, Filesystem, Loop, Program, Root};
use tests::{LoopDevice, requires, run, scratch};
use trimbench_results::Action;
use trimbench_results::advice::{
    DISK, LineToType, MOUNTPOINT, RULES_FILE, SERIAL, UUID, lines_to_type,
};

const SMALL: u64 = 1 << 20;

/// Every answer.
fn actions() -> [Action; 7] {
    [
        Action::MountWithDiscard,
        Action::WeeklyFstrim,
        Action::SmallerDiscardMax { bytes: SMALL },
        Action::TrimDoesNotReach,
        Action::DoNotTrim,
        Action::NothingToGain,
        Action::Unknown,
    ]
}

/// Every line of every answer that is said to be tested, once.
fn tested() -> Vec<LineToType> {
    let mut lines: Vec<LineToType> = Vec::new();
    for line in actions().iter().flat_map(lines_to_type) {
        if line.tested && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// A test for each line that is said to be tested: a line of another kind fails here.
#[test]
fn every_line_that_is_said_to_be_tested_is_of_a_kind_that_is() {
    let lines = tested();
    assert!(lines.len() > 8, "{lines:#?}");
    for LineToType { system, file, text, .. } in lines {
        let known = match file {
            Some("/etc/fstab") => true,
            Some(RULES_FILE) => text.contains("discard_max_bytes"),
            _ => ["mount -o remount,", "systemctl ", "udevadm ", "lsblk "]
                .iter()
                .any(|start| text.starts_with(start)),
        };
        assert!(known, "{system}: {text}");
        let replaced = text.replace(UUID, "").replace(MOUNTPOINT, "").replace("UUID=", "");
        assert!(file != Some("/etc/fstab") || !replaced.contains(char::is_uppercase), "{text}");
    }
}

/// Mounts by every line of fstab for a filesystem, and then by the commands.
fn mounts(system: &str, kind: &'static str, mebibytes: u64) {
    // Not mounted elsewhere: options of a superblock that is would stay as they are.
    let made = LoopDevice::within(Path::new("/var/tmp"), mebibytes);
    let device = made.node().to_owned();
    run(&format!("mkfs.{kind}"), &["-q", &device]);
    let uuid = run("blkid", &["-s", "UUID", "-o", "value", &device]);
    let place = scratch();
    let place = place.path().to_str().expect("it is text");
    let lines: Vec<LineToType> = tested().into_iter().filter(|it| it.system == system).collect();
    let ours = |text: &str| text.replace(UUID, uuid.trim()).replace(MOUNTPOINT, place);
    let mut count = 0;
    for line in lines.iter().filter(|line| line.file.is_some()) {
        let text = ours(&line.text);
        let tab = scratch();
        let tab = tab.path().join("fstab");
        fs::write(&tab, format!("{text}\n")).expect("it is ours");
        let tab = tab.to_str().expect("it is text");
        let said = run("findmnt", &["--verify", "--verbose", "--tab-file", tab]);
        assert!(said.contains("no errors or warnings"), "{text}\n{said}");
        // Options of a filesystem are checked by the kernel only.
        run("mount", &["--fstab", tab, place]);
        let options = run("findmnt", &["-n", "-o", "OPTIONS", place]);
        run("umount", &[place]);
        let wished = text.contains(",discard");
        assert_eq!(options.contains(",discard"), wished, "{text}: {options}");
        count += 1;
    }
    assert!(count >= 2, "{system}: {count} lines");
    run("mount", &[&device, place]);
    for line in lines.iter().filter(|line| line.file.is_none()) {
        let text = ours(&line.text);
        run("sh", &["-c", &text]);
        let options = run("findmnt", &["-n", "-o", "OPTIONS", place]);
        assert_eq!(options.contains(",discard"), !text.contains("nodiscard"), "{text}: {options}");
    }
    run("umount", &[place]);
}

#[test]
fn lines_of_fstab_mount_ext4_as_they_say() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")];
    if requires("lines_of_fstab_mount_ext4_as_they_say", NEEDS) {
        mounts("ext4", "ext4", 64);
    }
}

#[test]
fn lines_of_fstab_mount_xfs_as_they_say() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkfs.xfs"), Filesystem("xfs")];
    if requires("lines_of_fstab_mount_xfs_as_they_say", NEEDS) {
        mounts("XFS", "xfs", 320);
    }
}

#[test]
fn lines_of_fstab_mount_btrfs_as_they_say() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")];
    if requires("lines_of_fstab_mount_btrfs_as_they_say", NEEDS) {
        mounts("btrfs", "btrfs", 128);
    }
}

/// Where the units of the system lie.
fn unit_folder() -> Option<PathBuf> {
    let known = ["/usr/lib/systemd/system", "/lib/systemd/system"];
    known.iter().map(PathBuf::from).find(|folder| folder.join("fstrim.timer").exists())
}

/// In a root directory of its own, so that nothing is started here.
#[test]
fn systemd_takes_the_commands_for_the_timer() {
    const NEEDS: &[Need] = &[Program("systemctl"), Program("systemd-analyze")];
    const NAME: &str = "systemd_takes_the_commands_for_the_timer";
    if !requires(NAME, NEEDS) {
        return;
    }
    let Some(units) = unit_folder() else {
        eprintln!("SKIP {NAME}: no fstrim.timer");
        return;
    };
    let timer = units.join("fstrim.timer");
    run("systemd-analyze", &["verify", timer.to_str().expect("it is text")]);
    let root = scratch();
    let inside = root.path().join("usr/lib/systemd/system");
    fs::create_dir_all(&inside).expect("it is ours");
    for unit in ["fstrim.timer", "fstrim.service"] {
        fs::copy(units.join(unit), inside.join(unit)).expect("it is there");
    }
    let wanted = root.path().join("etc/systemd/system/timers.target.wants/fstrim.timer");
    let at = format!("--root={}", root.path().display());
    let commands: Vec<String> = tested().into_iter().map(|line| line.text).collect();
    let of_verb = |verb: &str| {
        let is_it = |text: &&String| text.starts_with(&format!("systemctl {verb} "));
        commands.iter().find(is_it).expect("some answer asks for it").clone()
    };
    for (verb, enabled) in [("enable", true), ("disable", false)] {
        let text = of_verb(verb);
        // Nothing runs in there that could be started or stopped.
        let words: Vec<&str> = text.split(' ').skip(1).filter(|word| *word != "--now").collect();
        run("systemctl", &[&[at.as_str()], &words[..]].concat());
        assert_eq!(fs::symlink_metadata(&wanted).is_ok(), enabled, "{text}");
    }
}

/// A rule that is gone when it is dropped.
struct RuleOfUdev(PathBuf);

impl Drop for RuleOfUdev {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The longest discard of a loop device, which outlives what is attached to it: set back when it is
/// dropped.
struct LimitOfLoop {
    limit: PathBuf,
    before: u64,
}

impl LimitOfLoop {
    fn of(name: &str) -> Self {
        let limit = PathBuf::from(format!("/sys/block/{name}/queue/discard_max_bytes"));
        let before = fs::read_to_string(&limit).expect("a loop device has it");
        Self { limit, before: before.trim().parse().expect("it is a number") }
    }
}

impl Drop for LimitOfLoop {
    fn drop(&mut self) {
        // The kernel takes multiples of the granularity only, which its own value is none of.
        fs::write(&self.limit, (self.before / 4096 * 4096).to_string()).expect("root may");
    }
}

#[test]
fn udev_takes_the_rule_and_the_limit_is_set() {
    const NEEDS: &[Need] = &[Root, Loop, Program("udevadm")];
    if !requires("udev_takes_the_rule_and_the_limit_is_set", NEEDS) {
        return;
    }
    let device = LoopDevice::within(Path::new("/var/tmp"), 64);
    let name = device.node().rsplit('/').next().expect("a name").to_owned();
    let limit = LimitOfLoop::of(&name);
    let rule = tested().into_iter().find(|line| line.file == Some(RULES_FILE)).expect("a rule");
    // A loop device has no serial number: a line of ours gives it one.
    let serial = format!("trimbench-test-{}", std::process::id());
    let ours = format!("KERNEL==\"{name}\", ENV{{ID_SERIAL_SHORT}}=\"{serial}\"\n");
    let folder = Path::new("/run/udev/rules.d");
    fs::create_dir_all(folder).expect("root may");
    let file = RuleOfUdev(folder.join(format!("60-{serial}.rules")));
    fs::write(&file.0, format!("{ours}{}\n", rule.text.replace(SERIAL, &serial)))
        .expect("root may");
    run("udevadm", &["test", "--action=change", &format!("/sys/block/{name}")]);
    let set = fs::read_to_string(&limit.limit).expect("a loop device has it");
    assert_eq!(set.trim(), SMALL.to_string());
    // Where udevd runs, the commands work; elsewhere their arguments are read.
    let commands = tested().into_iter().filter(|line| line.text.starts_with("udevadm "));
    for line in commands {
        let text = line.text.replace(DISK, &name);
        let words: Vec<&str> = text.split(' ').skip(1).collect();
        let dry = if words[0] == "trigger" { &["--dry-run"][..] } else { &["--ping"] };
        let dry = if words[0] == "trigger" || Path::new("/run/udev/control").exists() {
            run("udevadm", &[&words[..1], dry, &words[1..]].concat())
        } else {
            run("udevadm", &[words[0], "--help"])
        };
        assert!(!dry.contains("unrecognized"), "{text}: {dry}");
    }
}

#[test]
fn lsblk_takes_its_command() {
    if requires("lsblk_takes_its_command", &[Program("lsblk")]) {
        let line = tested().into_iter().find(|line| line.text.starts_with("lsblk"));
        let text = line.expect("some answer asks for it").text;
        let said = run("sh", &["-c", &text]);
        assert!(said.contains("DISC-MAX"), "{said}");
    }
}
