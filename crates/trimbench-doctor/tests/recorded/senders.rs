//! Who sends discards from a filesystem or a swap area: mount options, `fstrim.timer`, cron, fstab.

use trimbench_doctor::{Diagnosis, Reach};

use crate::tree_file::RecordedTree;

/// Whether something sends, or why nothing does.
fn sends(found: &Diagnosis) -> Result<(), String> {
    match &found.reach {
        Reach::Reaches { .. } => Ok(()),
        Reach::DoesNot { stops, .. } => {
            assert_eq!(stops[0].cause, "nobody-sends", "{stops:?}");
            Err(stops[0].why.clone())
        }
        Reach::CannotTell { unknown } => Err(unknown[0].why.clone()),
        Reach::HasNoDrive => panic!("{found:?}"),
    }
}

const ROOT: &str = "22 1 8:1 / / rw - ext4 /dev/sda1 rw";
const SRV: &str = "22 1 8:1 / /srv rw - ext4 /dev/sda1 rw";

/// Whether the timer trims what is mounted so, with these lines of fstab.
fn timed(mounts: &str, fstab: &str) -> Result<(), String> {
    let tree = RecordedTree::named("sata-queued-trim-quirk");
    let tree = tree.with_mounts(mounts).with_fstab(fstab);
    let place = mounts.split(' ').nth(4).unwrap();
    sends(&tree.diagnose(place))
}

fn check_left_out(mounts: &str, fstab: &str, why: &str) {
    let found = timed(mounts, fstab);
    assert!(found.as_ref().is_err_and(|it| it.contains(why)), "{fstab}: {found:?}");
}

#[test]
fn without_the_option_and_the_timer_nothing_sends() {
    let off = RecordedTree::named("sata-queued-trim-quirk")
        .without("/etc/systemd/system/timers.target.wants/fstrim.timer");
    let found = off.diagnose("/");
    assert!(sends(&found).is_err());
    let Reach::DoesNot { stops, .. } = &found.reach else { panic!("{found:?}") };
    let typed: Vec<&str> = stops[0].lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(typed, ["systemctl enable --now fstrim.timer"]);
    // By cron it is sent all the same.
    let by_cron = off.with("/etc/cron.weekly/fstrim: /sbin/fstrim --all");
    assert_eq!(sends(&by_cron.diagnose("/")), Ok(()));
}

#[test]
fn the_timer_trims_only_what_fstab_lists() {
    const NOT_THERE: &str = "this filesystem is not there";
    check_left_out(SRV, "UUID=9 /elsewhere ext4 defaults 0 0", NOT_THERE);
    // Any line counts, of swap or of a filesystem in memory as well.
    check_left_out(SRV, "UUID=8 none swap sw 0 0", NOT_THERE);
    check_left_out(SRV, "tmpfs /tmp tmpfs", NOT_THERE);
    // An empty one leaves it to what is mounted, and so does a line that makes no sense.
    for empty in ["", "# UUID=9 /elsewhere ext4 defaults 0 0", "UUID=9 /elsewhere"] {
        assert_eq!(timed(SRV, empty), Ok(()), "{empty:?}");
    }
    let without = RecordedTree::named("sata-queued-trim-quirk").without("/etc/fstab");
    assert_eq!(sends(&without.diagnose("/")), Ok(()));
    // The options may be left out.
    assert_eq!(timed(SRV, "UUID=1234-abcd /srv ext4"), Ok(()));
    assert_eq!(timed(SRV, "UUID=9 /a ext4%0aUUID=1234-abcd /srv ext4"), Ok(()));
}

/// `fstrim` adds it, by `root=` of the kernel command line.
#[test]
fn the_timer_trims_the_root_filesystem_although_fstab_does_not_list_it() {
    let other = "UUID=9 /elsewhere ext4 defaults 0 0";
    assert_eq!(timed(ROOT, other), Ok(()));
    assert_eq!(timed(ROOT, "UUID=8 none swap sw 0 0"), Ok(()));
    check_left_out(ROOT, "UUID=1234-abcd / ext4 X-fstrim.notrim 0 1", "X-fstrim.notrim");
    check_left_out(ROOT, "UUID=1234-abcd / ext4 ro 0 1", "as read-only");
    check_left_out(&ROOT.replace("rw", "ro"), other, "read-only");
    // A subvolume is trimmed with the filesystem that it is of.
    let home = "23 22 8:1 /home /home rw - ext4 /dev/sda1 rw";
    assert_eq!(timed(&format!("{home}%0a{ROOT}"), other), Ok(()));
    let named = |line: &str| {
        let tree = RecordedTree::named("sata-queued-trim-quirk").with_fstab(other);
        sends(&tree.with(&format!("/proc/cmdline: {line}")).diagnose("/"))
    };
    assert_eq!(named("BOOT_IMAGE=/vmlinuz root=UUID=1234-abcd ro quiet"), Ok(()));
    assert!(named("BOOT_IMAGE=/vmlinuz quiet").is_err());
}

/// Older units of `fstrim.service`, and those that somebody has changed.
#[test]
fn the_command_of_its_service_says_where_the_timer_looks() {
    let timed = |command: &str, fstab: &str| {
        let tree = RecordedTree::named("sata-queued-trim-quirk").with_mounts(SRV).with_fstab(fstab);
        let unit = "/usr/lib/systemd/system/fstrim.service: [Service]%0aExecStart=/sbin/fstrim";
        sends(&tree.with(&format!("{unit} {command}")).diagnose("/srv")).is_ok()
    };
    let both = "--listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported";
    let other = "UUID=9 /elsewhere ext4 defaults 0 0";
    for (command, is_with_other, is_with_none) in [
        (both, false, true),
        ("--fstab --verbose --quiet", false, false),
        ("-Av", false, false),
        ("--all", true, true),
        ("-av", true, true),
    ] {
        assert_eq!(timed(command, other), is_with_other, "{command}");
        assert_eq!(timed(command, "# nothing"), is_with_none, "{command}");
    }
    let unit = "/usr/lib/systemd/system/fstrim.service: ExecStart=/sbin/fstrim --all";
    let own = "/etc/systemd/system/fstrim.service.d/own.conf: ExecStart=%0aExecStart=fstrim -A";
    let tree = RecordedTree::named("sata-queued-trim-quirk").with_mounts(SRV).with_fstab(other);
    assert!(sends(&tree.with(unit).with(own).diagnose("/srv")).is_err());
}

/// `X-fstrim.notrim` and `ro` are of a line: another of the same filesystem has it trimmed.
#[test]
fn one_line_that_the_timer_follows_is_enough() {
    let both = format!("{SRV}%0a23 22 8:1 /a /a rw - ext4 /dev/sda1 rw");
    let lines = |first: &str, second: &str| format!("U=1 /srv ext4 {first}%0aU=1 /a ext4 {second}");
    assert_eq!(timed(&both, &lines("X-fstrim.notrim", "defaults")), Ok(()));
    assert_eq!(timed(&both, &lines("defaults", "X-fstrim.notrim")), Ok(()));
    check_left_out(&both, &lines("ro", "X-fstrim.notrim"), "X-fstrim.notrim");
    check_left_out(&both, &lines("ro", "noatime,ro"), "as read-only");
}

/// It shows the least number of blocks: `jfs_show_options`.
#[test]
fn jfs_with_discard_sends() {
    let mounted = |kind: &str, options: &str| {
        let mount = format!("22 1 8:1 / / rw - {kind} /dev/sda1 {options}");
        sends(&RecordedTree::named("sata-plain").with_mounts(&mount).diagnose("/"))
    };
    assert_eq!(mounted("jfs", "rw,discard=512"), Ok(()));
    assert!(mounted("jfs", "rw").is_err());
    assert!(mounted("f2fs", "rw,discard_unit=block").is_err());
}

/// They outlive the file: another one inherits them.
#[test]
fn the_counters_of_a_loop_device_prove_nothing_of_its_file() {
    const SOMEBODY: &str = "somebody has sent discards";
    let image = sends(&RecordedTree::named("loop-image").diagnose("/mnt/image")).unwrap_err();
    assert!(!image.contains(SOMEBODY), "{image}");
    let folder = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
    let tree = RecordedTree::named("sata-plain").with_mounts(ROOT);
    let tree = tree.with(&format!("{folder}/sda1/stat: 9 0 72 1 9 0 72 1 0 1 1 4 0 262144 3 0 0"));
    let why = sends(&tree.diagnose("/")).unwrap_err();
    assert!(why.contains(SOMEBODY), "{why}");
}

const SWAP: &str = "/dev/nvme0n1p2";

/// The trap of a swap area with this line of fstab, and the line that is to replace it.
fn swap(line: &str) -> Option<(String, String)> {
    let tree = RecordedTree::named("nvme-twice").with_fstab(line);
    let links = "/dev/disk";
    let tree = tree
        .with(&format!("{links}/by-uuid/5555-aaaa -> ../../nvme0n1p2"))
        .with(&format!("{links}/by-label/swap -> ../../nvme0n1p2"))
        .with(&format!("{links}/by-partuuid/77 -> ../../nvme0n1p2"))
        .with(&format!("{links}/by-partlabel/s -> ../../nvme0n1p2"));
    let found = tree.diagnose("/");
    let trap = found.traps.iter().find(|trap| trap.id == "swap-discards")?;
    Some((trap.text.clone(), trap.lines[0].text.clone()))
}

#[test]
fn swap_is_found_however_fstab_names_it() {
    for spec in [
        SWAP,
        "UUID=5555-aaaa",
        "UUID=\"5555-aaaa\"",
        "LABEL=swap",
        "PARTUUID=77",
        "PARTLABEL=s",
        "/dev/disk/by-uuid/5555-aaaa",
    ] {
        let (_, line) = swap(&format!("{spec} none swap pri=5,discard 0 0")).expect(spec);
        assert_eq!(line, format!("{spec} none swap pri=5 0 0"));
        assert_eq!(swap(&format!("{spec} none swap sw 0 0")), None);
    }
    assert_eq!(swap("UUID=1234-ffff none swap discard 0 0"), None);
}

/// `swapon(8)`: without a policy it is both.
#[test]
fn swap_discards_once_or_pages_or_both() {
    let said = |option: &str| {
        let (text, line) = swap(&format!("{SWAP} none swap {option} 0 0")).unwrap();
        assert_eq!(line, format!("{SWAP} none swap defaults 0 0"));
        (text.contains("all of it when"), text.contains("each group of pages"))
    };
    assert_eq!(said("discard=once"), (true, false));
    assert_eq!(said("discard=pages"), (false, true));
    assert_eq!(said("discard"), (true, true));
}

#[test]
fn what_the_kernel_log_alone_shows_of_swap_is_said() {
    let tree = RecordedTree::named("nvme-twice").with_fstab("UUID=1234-abcd / ext4 discard 0 1");
    let why = sends(&tree.diagnose(SWAP)).unwrap_err();
    assert!(why.contains("dmesg | grep 'swap on'"), "{why}");
    let asked = RecordedTree::named("nvme-twice").diagnose(SWAP);
    assert_eq!(sends(&asked), Ok(()));
    assert_eq!(asked.traps.iter().filter(|trap| trap.id == "swap-discards").count(), 1);
}

#[test]
fn what_the_timer_trimmed_last_is_what_the_journal_says_of_this_mount_point() {
    let command = "journalctl_--unit=fstrim.service_--output=cat_--lines=200_--no-pager_--quiet";
    let line =
        |place: &str, bytes: u64| format!("{place}: 1 GiB ({bytes} bytes) trimmed on /dev/nvme0n1");
    let printed = [
        "Starting fstrim.service".to_owned(),
        line("/", 1 << 30),
        line("/", 3 << 30),
        line("/srv", 9 << 30),
    ];
    let tree = RecordedTree::named("snaps")
        .with("/var/lib/systemd/timers/stamp-fstrim.timer: ")
        .with(&format!("/commands/{command}: {}", printed.join("%0a")));
    let found = tree.diagnose("/");
    assert_eq!(found.timer_trimmed_bytes, Some(3 << 30));
    let lines = trimbench_doctor::lines(&found, None, false);
    assert!(lines[0].ends_with("`fstrim.timer`, last within a day (3 GiB trimmed)"), "{lines:?}");
}

#[test]
fn where_linux_has_no_trim_no_line_is_suggested() {
    let mount = "61 22 259:0 / /mnt rw,relatime shared:31 - hfsplus /dev/nvme0n1 rw";
    let found = RecordedTree::named("snaps").with_mounts(mount).diagnose("/mnt");
    let Reach::DoesNot { stops, .. } = &found.reach else { panic!("{:?}", found.reach) };
    assert_eq!((stops[0].cause.as_str(), stops[0].lines.len()), ("filesystem-without-trim", 0));
    let said = trimbench_doctor::conclusion(&found);
    assert!(said.ends_with("drops it, because Linux has no TRIM for hfsplus."), "{said}");
}
