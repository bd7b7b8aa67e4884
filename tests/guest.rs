//! Guests: what a script in one prints and ends with, how a hang and a panic end, that the host is
//! safe from it, and that discards in it go where the table of stacks says.

#![expect(clippy::print_stderr, reason = "tests report what they skip")]
#![expect(
    clippy::disallowed_types,
    reason = "guests are timed by the wall clock; nothing here runs inside a simulation"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use xtask::guest::StorageStack;
use xtask::{Guest, GuestDisk, GuestKind};

/// Whether the machine has what such guests need; says what is missing.
fn can_start(test: &str, kinds: &[GuestKind]) -> bool {
    let missing = kinds.iter().find_map(|kind| kind.missing());
    if let Some(reason) = &missing {
        eprintln!("SKIP {test}: {reason}");
    }
    missing.is_none()
}

#[test]
fn a_script_runs_as_root_in_a_kernel_of_its_own() {
    let kinds = [GuestKind::Uml, GuestKind::Cloud];
    if !can_start("a_script_runs_as_root_in_a_kernel_of_its_own", &kinds) {
        return;
    }
    let exchange = tempfile::tempdir().unwrap();
    fs::write(exchange.path().join("question"), "6 * 7").unwrap();
    let script = r"
id -u; uname -r; [ -t 1 ] || echo 'no terminal'; printf 'a\tb\r\n\377'
echo complaint >&2
echo $(($(cat question))) >answer
for disk in $DISKS; do blockdev --getsize64 $disk; done
exit 7";
    for kind in kinds {
        let guest = Guest::new(kind).exchange(exchange.path());
        let output = guest.disk(GuestDisk::of_mib(8)).disk(GuestDisk::of_mib(9)).run(script);
        let output = output.unwrap();
        assert_eq!(output.status, Some(7), "{output:?}");
        let lines: Vec<&str> = output.stdout.split('\n').collect();
        let [user, release, terminal, bytes, first, second, ""] = lines[..] else {
            panic!("{output:?}")
        };
        assert_eq!(
            [user, terminal, first, second],
            ["0", "no terminal", "\u{fffd}8388608", "9437184"]
        );
        assert_eq!(bytes, "a\tb\r", "no byte is changed on its way");
        let host = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_ne!(release, host.trim(), "not the host's kernel");
        assert_eq!(output.stderr, "complaint\n");
        let answer = exchange.path().join("answer");
        assert_eq!(fs::read_to_string(&answer).unwrap(), "42\n");
        fs::remove_file(answer).unwrap();
    }
}

#[test]
fn a_script_that_hangs_ends_at_the_deadline_and_what_it_printed_is_kept() {
    let name = "a_script_that_hangs_ends_at_the_deadline_and_what_it_printed_is_kept";
    if !can_start(name, &[GuestKind::Uml]) {
        return;
    }
    let start = Instant::now();
    let guest = Guest::new(GuestKind::Uml).deadline(Duration::from_secs(25));
    let output = guest.run("echo before; sleep 1000; echo never").unwrap();
    assert_eq!((output.status, output.stdout.as_str()), (None, "before\n"), "{output:?}");
    let error = output.checked().unwrap_err().to_string();
    assert!(error.contains("did not end within") && error.contains("before"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    // Less time than the kernel needs to boot.
    let guest = Guest::new(GuestKind::Uml).deadline(Duration::from_millis(200));
    let error = guest.run("true").unwrap_err().to_string();
    assert!(error.contains("did not boot"), "{error}");
}

#[test]
fn a_kernel_that_dies_is_an_error_with_its_last_words() {
    if !can_start("a_kernel_that_dies_is_an_error_with_its_last_words", &[GuestKind::Uml]) {
        return;
    }
    let guest = Guest::new(GuestKind::Uml);
    let error = guest.run("echo before; sleep 1; echo c >/proc/sysrq-trigger").unwrap_err();
    let error = error.to_string();
    for part in ["the guest died", "Kernel panic - not syncing: sysrq", "before"] {
        assert!(error.contains(part), "no `{part}` in {error}");
    }
}

#[test]
fn nothing_on_the_host_can_be_written_from_a_guest() {
    let kinds = [GuestKind::Uml, GuestKind::Cloud];
    if !can_start("nothing_on_the_host_can_be_written_from_a_guest", &kinds) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    // In the guest's own tree everything seems to succeed. Past its overlay, in the share, nothing
    // does: `LEAKED` says what did.
    let past_overlay = |kind: GuestKind| match kind {
        GuestKind::Uml => "mount -t hostfs -o /tmp/share none /mnt/share",
        GuestKind::Cloud => "mount -t virtiofs share /mnt/share",
    };
    for kind in kinds {
        let (mount, victim, folder) =
            (past_overlay(kind), victim.display(), folder.path().display());
        let script = format!(
            "echo overwritten >{victim} && grep -q overwritten {victim} || exit 1
            rm -r {folder} && [ ! -e {victim} ] || exit 2
            mkdir -p /mnt/share && {mount} || exit 3
            [ -e /mnt/share/host{victim} ] || exit 4
            echo overwritten >/mnt/share/host{victim} && echo LEAKED: write
            rm -f /mnt/share/host{victim} && echo LEAKED: unlink
            mv /mnt/share/host{victim} /mnt/share/host{victim}2 && echo LEAKED: rename
            chmod 777 /mnt/share/host{victim} && echo LEAKED: chmod
            touch /mnt/share/host/etc/from-guest && echo LEAKED: create
            touch /mnt/share/tree/from-guest && echo LEAKED: packages
            mount -o remount,rw /mnt/share; rm -f /mnt/share/host{victim} && echo LEAKED: remount
            exit 0"
        );
        let output = Guest::new(kind).run(&script).unwrap();
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), ""), "{kind:?}: {output:?}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    assert!(!Path::new("/etc/from-guest").exists());
}

#[test]
fn what_drops_discards_is_where_the_table_says_and_its_fix_mends_it() {
    let name = "what_drops_discards_is_where_the_table_says_and_its_fix_mends_it";
    if !can_start(name, &[GuestKind::Uml]) {
        return;
    }
    // One that passes everything, one that nothing mends, one with a fix. The whole table takes
    // minutes: `cargo xtask guest --stacks`.
    let stacks = ["plain", "no-discard", "raid5"];
    let stacks = stacks.map(|name| StorageStack::named(name).expect("it is in the table"));
    StorageStack::measure(GuestKind::Uml, &stacks).unwrap().check().unwrap();
}

#[test]
fn discards_that_qemu_ignores_stay_in_the_image() {
    if !can_start("discards_that_qemu_ignores_stay_in_the_image", &[GuestKind::Cloud]) {
        return;
    }
    let disk = GuestDisk::of_mib(64);
    let guest = Guest::new(GuestKind::Cloud).disk(disk);
    let guest = guest.disk(GuestDisk { discard: false, ..disk });
    let guest = guest.disk(GuestDisk { nvme: true, ..disk });
    let script = "for disk in $DISKS; do
        dd if=/dev/zero of=$disk bs=1M count=16 oflag=direct && blkdiscard $disk || exit 1
    done";
    let output = guest.run(script).unwrap().checked().unwrap();
    let mib: Vec<u64> = output.allocated_bytes.iter().map(|bytes| bytes >> 20).collect();
    assert_eq!(mib, [0, 16, 0]);
}
