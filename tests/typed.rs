//! The lines that advice gives to type, given to the real programs: fstab to findmnt and mount,
//! units to systemd, the rule to udev, mkfs to loop devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::Need::{self, Filesystem, Loop, Program, RamDisk, Root};
use tests::obstacles::Scene;
use tests::{LoopDevice, LoopFilesystem, requires, run, scratch};
use trimbench_results::Action;
use trimbench_results::advice::{
    DISK, LineToType, MOUNTPOINT, Place, RULES_FILE, SERIAL, UUID, already, lines_to_type,
};

#[path = "typed/own_fstab.rs"]
mod own_fstab;

use own_fstab::OwnFstab;

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
    let all = actions();
    for line in all.iter().flat_map(|it| lines_to_type(it, &Place::template())) {
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
            _ => ["mount ", "umount ", "systemctl ", "udevadm ", "lsblk ", "mkfs."]
                .iter()
                .any(|start| text.starts_with(start)),
        };
        assert!(known, "{system}: {text}");
        let replaced = text.replace(UUID, "").replace(MOUNTPOINT, "").replace("UUID=", "");
        let replaced = replaced.replace("SWAP-UUID", "").replace("X-fstrim", "");
        let replaced = replaced.replace("SWAP-", "");
        assert!(file != Some("/etc/fstab") || !replaced.contains(char::is_uppercase), "{text}");
    }
}

/// What a mount shows that asks for discards.
fn discards(options: &str) -> Option<&str> {
    options.trim().split(',').find(|it| it.starts_with("discard"))
}

/// Types the lines of every answer that concern the mount, on a filesystem that is mounted with
/// `start` and with `kept`, which must survive, and looks whether they did what they are for.
fn typed_on(kind: &str, mebibytes: u64, kept: &[&str], start: &str) {
    let own = OwnFstab::new(kind, mebibytes);
    let online = if kind == "btrfs" { "discard=async" } else { "discard" };
    for has_line in [true, false] {
        for action in [Action::MountWithDiscard, Action::WeeklyFstrim, Action::NothingToGain] {
            let context = format!("{kind}, {start}, {action:?}, fstab known: {has_line}");
            let before: Vec<&str> =
                kept.iter().copied().chain([start]).filter(|it| !it.is_empty()).collect();
            own.write(&format!(
                "UUID={} {} {kind} {} 0 0",
                own.uuid(),
                own.point(),
                before.join(",")
            ));
            let shown = own.mount();
            let place = own.recorded(has_line);
            let lines = lines_to_type(&action, &place);
            let ours = lines.iter().filter(|line| !line.text.starts_with("systemctl "));
            for line in ours {
                assert!(line.tested, "{context}: {line:?}");
                let said = own.does(line);
                if line.check.as_deref().is_some_and(|it| it.starts_with("fstrim")) {
                    assert!(!said.contains(own.point()), "{context}: {said}");
                }
            }
            // What is on is kept as it is, and else becomes what the answer says.
            let wished = match action {
                Action::MountWithDiscard => Some(discards(&shown).unwrap_or(online).to_owned()),
                _ => None,
            };
            for moment in ["now", "after the next start"] {
                let options = own.options();
                assert_eq!(discards(&options), wished.as_deref(), "{context}, {moment}: {options}");
                for option in kept.iter().filter(|it| !it.starts_with("x-")) {
                    let option =
                        if *option == "compress=zstd" { "compress=zstd:3" } else { option };
                    let has = options.trim().split(',').any(|it| it == option);
                    assert!(has, "{context}, {moment}: {option} in {options}");
                }
                own.unmount();
                let tab = fs::read_to_string(&own.tab).expect("it is ours");
                own.write(tab.trim());
                let listed = kept.iter().filter(|it| it.starts_with("x-") && has_line);
                listed.for_each(|it| assert!(tab.contains(*it), "{context}: {tab}"));
                own.mount();
            }
            // There is nothing left to type.
            let place = own.recorded(true);
            let lines = lines_to_type(&action, &place);
            let left: Vec<_> =
                lines.iter().filter(|it| !it.text.starts_with("systemctl ")).collect();
            assert!(left.is_empty(), "{context}: {left:?}");
            assert!(already(&action, &place).is_some(), "{context}");
            let is_listed = own.trims().contains(own.point());
            assert_eq!(is_listed, action != Action::NothingToGain, "{context}");
            own.unmount();
        }
    }
}

#[test]
fn lines_of_fstab_mount_ext4_as_they_say() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")];
    if requires("lines_of_fstab_mount_ext4_as_they_say", NEEDS) {
        for start in ["", "discard"] {
            typed_on("ext4", 64, &["noatime", "nodev", "commit=7", "x-systemd.requires=a"], start);
        }
    }
}

#[test]
fn lines_of_fstab_mount_xfs_as_they_say() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkfs.xfs"), Filesystem("xfs")];
    if requires("lines_of_fstab_mount_xfs_as_they_say", NEEDS) {
        for start in ["", "discard"] {
            typed_on("xfs", 320, &["noatime", "nosuid", "logbsize=64k"], start);
        }
    }
}

#[test]
fn lines_of_fstab_mount_btrfs_as_they_say() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")];
    if requires("lines_of_fstab_mount_btrfs_as_they_say", NEEDS) {
        // The default, which is `discard=async` from Linux 6.2 on, and each of the modes.
        for start in ["", "discard=async", "discard=sync", "discard", "nodiscard"] {
            typed_on("btrfs", 256, &["noatime", "compress=zstd"], start);
        }
    }
}

/// Why the lines for XFS unmount: a remount says that it did it.
#[test]
fn a_remount_of_xfs_succeeds_and_changes_nothing() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkfs.xfs"), Filesystem("xfs")];
    if requires("a_remount_of_xfs_succeeds_and_changes_nothing", NEEDS) {
        let filesystem = LoopFilesystem::new("xfs", 320, "noatime");
        let point = filesystem.path().to_str().expect("it is text");
        run("mount", &["-o", "remount,discard", point]);
        let options = run("findmnt", &["-no", "OPTIONS", point]);
        assert_eq!(discards(&options), None, "{options}");
    }
}

/// The lines without a place: each is a line of fstab, and mounts when it is filled in.
#[test]
fn a_template_that_is_filled_in_mounts() {
    const NEEDS: &[Need] = &[
        Root,
        Loop,
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
        Filesystem("ext4"),
        Filesystem("xfs"),
        Filesystem("btrfs"),
    ];
    if !requires("a_template_that_is_filled_in_mounts", NEEDS) {
        return;
    }
    for (system, kind, mebibytes) in
        [("ext4", "ext4", 64), ("XFS", "xfs", 320), ("btrfs", "btrfs", 256)]
    {
        let own = OwnFstab::new(kind, mebibytes);
        let lines = tested();
        let of_mount =
            lines.iter().filter(|it| it.system == system && it.file == Some("/etc/fstab"));
        let mut count = 0;
        for line in of_mount {
            let text = line.text.replace(UUID, &own.uuid()).replace(MOUNTPOINT, own.point());
            own.write(&text);
            let options = own.mount();
            own.unmount();
            assert_eq!(
                discards(&options).is_some(),
                text.contains(",discard"),
                "{text}: {options}"
            );
            count += 1;
        }
        assert!(count >= 3, "{system}: {count} lines");
    }
}

/// A drive that loses data: mkfs with the option sends no discard, and without it it does.
#[test]
fn mkfs_as_it_is_to_be_typed_discards_nothing() {
    const NEEDS: &[Need] =
        &[Root, Loop, Program("mkfs.ext4"), Program("mkfs.xfs"), Program("mkfs.btrfs")];
    if !requires("mkfs_as_it_is_to_be_typed_discards_nothing", NEEDS) {
        return;
    }
    let lines = tested();
    let of_mkfs: Vec<_> = lines.iter().filter(|line| line.system == "mkfs").collect();
    assert_eq!(of_mkfs.len(), 3);
    for line in of_mkfs {
        let made = LoopDevice::within(Path::new("/var/tmp"), 320);
        let name = made.node().trim_start_matches("/dev/").to_owned();
        let sent = || {
            let path = format!("/sys/block/{name}/stat");
            let stat = fs::read_to_string(path).expect("a loop device has it");
            stat.split_ascii_whitespace().nth(11).and_then(|it| it.parse::<u64>().ok())
        };
        let before = sent();
        let text = line.text.replace("/dev/PARTITION", made.node());
        run("sh", &["-c", &text]);
        assert_eq!(sent(), before, "{text}");
        let program = text.split(' ').next().expect("a program");
        let force = if program == "mkfs.ext4" { "-F" } else { "-f" };
        run(program, &[force, made.node()]);
        assert!(sent() > before, "{text}: without the option it does");
    }
}

/// The line for swap, in a fstab.
#[test]
fn the_line_for_swap_is_one_of_fstab() {
    const NEEDS: &[Need] = &[Root, Loop, Program("mkswap")];
    if !requires("the_line_for_swap_is_one_of_fstab", NEEDS) {
        return;
    }
    let lines = tested();
    let line = lines.iter().find(|line| line.system == "swap").expect("there is one");
    let made = LoopDevice::within(Path::new("/var/tmp"), 8);
    run("mkswap", &[made.node()]);
    let uuid = run("blkid", &["-s", "UUID", "-o", "value", made.node()]);
    let tab = scratch();
    let tab = tab.path().join("fstab");
    fs::write(&tab, format!("{}\n", line.text.replace("SWAP-UUID", uuid.trim()))).expect("ours");
    let tab = tab.to_str().expect("it is text");
    let said = run("findmnt", &["--verify", "--verbose", "--tab-file", tab]);
    assert!(said.contains("no errors or warnings"), "{said}");
    let shown = run("findmnt", &["--tab-file", tab, "--types", "swap"]);
    assert!(shown.contains("swap") && !shown.contains("discard"), "{shown}");
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
    let rule = rule_of(SMALL);
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

/// The rule that limits discards to so many bytes.
fn rule_of(bytes: u64) -> LineToType {
    let lines = tested().into_iter().filter(|line| line.file == Some(RULES_FILE));
    let limit = format!("\"{bytes}\"");
    lines.into_iter().find(|line| line.text.ends_with(&limit)).expect("a rule")
}

/// On a disk in memory, which is gone afterwards: the kernel takes no other limit after 0.
#[test]
fn a_drive_whose_limit_is_0_takes_no_discard_from_anybody() {
    const NEEDS: &[Need] = &[Root, RamDisk, Program("udevadm"), Program("blkdiscard")];
    if !requires("a_drive_whose_limit_is_0_takes_no_discard_from_anybody", NEEDS) {
        return;
    }
    let mut scene = Scene::default();
    let (device, _) = scene.ram_disk("typed");
    let node = device.to_str().expect("a short name");
    let name = node.trim_start_matches("/dev/");
    run("blkdiscard", &["--force", "--length", "1MiB", node]);
    let serial = format!("trimbench-test-ram-{}", std::process::id());
    let ours = format!("KERNEL==\"{name}\", ENV{{ID_SERIAL_SHORT}}=\"{serial}\"\n");
    let folder = Path::new("/run/udev/rules.d");
    fs::create_dir_all(folder).expect("root may");
    let file = RuleOfUdev(folder.join(format!("60-{serial}.rules")));
    fs::write(&file.0, format!("{ours}{}\n", rule_of(0).text.replace(SERIAL, &serial)))
        .expect("root may");
    run("udevadm", &["test", "--action=change", &format!("/sys/block/{name}")]);
    let limit = fs::read_to_string(format!("/sys/block/{name}/queue/discard_max_bytes"));
    assert_eq!(limit.expect("it is there").trim(), "0");
    let refused = Command::new("blkdiscard").args(["--force", node]).output().expect("it runs");
    assert!(!refused.status.success());
    let shown = run("lsblk", &["--discard", node]);
    assert!(shown.contains(" 0B "), "{shown}");
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
