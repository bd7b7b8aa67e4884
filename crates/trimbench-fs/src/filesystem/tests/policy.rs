//! Freed space under a trim policy.

use trimbench_core::{DiscardAccount, DriveDiscards};
use trimbench_policy::{Issuer, Sender};

use crate::kind::FsKind;

use super::*;

/// A machine with this policy, on a device that takes 1 ms for a discard.
fn machine(policy: &str) -> Machine {
    with(policy, Recorder::new(Bytes::mib(128)))
}

fn with(policy: &str, device: Recorder) -> Machine {
    let policy = super::super::policy(FsKind::Ext4, policy).expect("a policy");
    let made = FileSystem::make(config(policy.issuer()), device).expect("it fits");
    Machine { target: Virtual::new(made.with_policy(policy)) }
}

/// Files of 32 blocks, one behind the other, on the device.
fn filled(policy: &str, files: u32) -> Machine {
    let mut machine = machine(policy);
    fill(&mut machine, files);
    machine
}

fn fill(machine: &mut Machine, files: u32) {
    for file in 0..files {
        machine.store(file, 32);
    }
    machine.sync();
    machine.clear();
}

fn account(machine: &Machine) -> DiscardAccount {
    machine.fs().policy_account().expect("it has a policy")
}

fn totals(machine: &Machine) -> DriveDiscards {
    account(machine).totals
}

#[test]
fn a_queue_is_discarded_at_the_commit_and_nobody_waits_for_it() {
    let mut machine = filled("skip-by-queue", 8);
    let (first, second) = (machine.extents(1)[0], machine.extents(5)[0]);
    machine.unlink(1);
    machine.unlink(5);
    machine.sync();
    // Both at once: the commit does not wait, though each takes 1 ms.
    assert_eq!(machine.discards(), [first, second]);
    assert_eq!(account(&machine).withheld_max, bytes(64));
    machine.rest(SECOND);
    machine.fs().check();
    let DriveDiscards { issued, deferred, .. } = totals(&machine);
    assert_eq!((issued.count, issued.bytes, deferred.count), (2, bytes(64), 0));
    assert_eq!(machine.counters().discarded, bytes(64));
    assert_eq!(machine.fs().discards.policy_withholds(), 0);
}

#[test]
fn of_its_own_path_there_is_an_account_and_nothing_else_changes() {
    for (name, issuer) in [
        ("ext4", Issuer::Ext4),
        ("ext4-5.15", Issuer::Ext4Since5_15),
        ("ext4-4.13", Issuer::Ext4Since4_13),
        ("ext4-2.6.33", Issuer::Ext4Since2_6_33),
    ] {
        let mut plain = Machine::new(Some(issuer));
        let mut watched = machine(name);
        for machine in [&mut plain, &mut watched] {
            fill(machine, 8);
            machine.unlink(1);
            machine.unlink(5);
            machine.sync();
            machine.rest(SECOND);
        }
        assert_eq!(watched.discards(), plain.discards(), "{name}");
        assert_eq!(plain.fs().policy_account(), None);
        let done = account(&watched);
        let in_commit = issuer.rule().sender == Sender::Commit;
        let DriveDiscards { freed, issued, deferred, .. } = done.totals;
        assert_eq!((freed.bytes, issued.bytes), (bytes(64), bytes(64)), "{name}");
        assert_eq!((freed.count, issued.count), (2, 2), "{name}");
        // The worker begins with one at once, and the second waits for it.
        assert_eq!(deferred.count, u64::from(!in_commit), "{name}");
        assert_eq!(done.waiting_max, if in_commit { Bytes(0) } else { bytes(32) }, "{name}");
        // A commit gives the space back when all is discarded.
        let withheld = match issuer {
            // To the end of the free space: the rest of the group lies behind the last file.
            Issuer::Ext4 => done.withheld_max,
            Issuer::Ext4Since5_15 => bytes(32),
            _ => bytes(64),
        };
        assert_eq!(done.withheld_max, withheld, "{name}");
        assert!(done.longest >= Nanos::from_millis(1), "{name}: {}", done.longest);
        watched.fs().check();
    }
}

#[test]
fn none_discards_nothing_and_counts_it_as_skipped() {
    let mut machine = filled("none", 4);
    machine.unlink(0);
    machine.sync();
    machine.rest(Nanos::from_secs(1_000));
    assert!(machine.discards().is_empty());
    assert_eq!(totals(&machine).skipped.bytes, bytes(32));
    assert_eq!(machine.counters().dropped, bytes(32));
}

#[test]
fn a_delayed_discard_comes_in_its_time() {
    let mut machine = filled("btrfs-async,delay=100s", 4);
    let extent = machine.extents(2)[0];
    machine.unlink(2);
    machine.sync();
    machine.rest(Nanos::from_secs(99));
    assert!(machine.discards().is_empty());
    assert_eq!(machine.fs().discards_pending(), bytes(32));
    machine.rest(Nanos::from_secs(2));
    assert_eq!(machine.discards(), [extent]);
    assert_eq!(totals(&machine).deferred.count, 1);
}

#[test]
fn what_is_taken_again_is_not_discarded() {
    let mut machine = filled("btrfs-async,delay=100s", 4);
    for file in 0..4 {
        machine.unlink(file);
    }
    machine.sync();
    // Closed files take what became free in their group first.
    machine.store(10, 64);
    machine.sync();
    let taken = machine.extents(10);
    let reused = totals(&machine).invalidated.bytes;
    machine.rest(Nanos::from_secs(200));
    let discards = machine.discards();
    assert!(
        !discards.is_empty() && reused == bytes(64),
        "{reused} of 128 blocks were taken: {taken:?}"
    );
    let apart = |a: &Extent, b: &Extent| a.end() <= b.start || b.end() <= a.start;
    assert!(discards.iter().all(|it| taken.iter().all(|file| apart(it, file))), "{discards:?}");
    machine.fs().check();
}

#[test]
fn what_is_kept_for_a_file_and_given_back_is_discarded() {
    let mut machine = machine("btrfs-async,delay=100s");
    // Files fill the filesystem, but for 8 blocks: what is taken later is what a deletion freed.
    let mut files = 0;
    while machine.fs().allocator.free() > 8 {
        let length = (machine.fs().allocator.free() - 8).min(1_024);
        machine.store(files, length);
        machine.sync();
        files += 1;
    }
    machine.clear();
    machine.unlink(0);
    machine.sync();
    // A file that is open and has 40 blocks gets 64, of which 24 are kept for it.
    let (file, offset) = (FileId(files), Bytes(0));
    machine.done(FileCommand::Create { file });
    machine.done(FileCommand::Write { file, offset, length: bytes(40) });
    machine.done(fsync(files));
    let taken = machine.extents(files);
    assert_eq!(machine.fs().allocator.obtainable(), machine.fs().allocator.free() + 24);
    assert_eq!(totals(&machine).invalidated.bytes, bytes(40));
    assert_eq!(totals(&machine).waiting, bytes(1_024 - 40));
    machine.rest(Nanos::from_secs(200));
    let blocks = |machine: &Machine| machine.discards().iter().map(|it| it.length).sum::<u64>();
    assert_eq!(blocks(&machine), 1_024 - 64, "what is kept is left alone");
    machine.fs().check();
    machine.unlink(files);
    machine.sync();
    machine.rest(Nanos::from_secs(200));
    let DriveDiscards { freed, issued, invalidated, .. } = totals(&machine);
    assert_eq!((freed.bytes, invalidated.bytes), (bytes(1_024 + 40), bytes(40)), "{taken:?}");
    assert_eq!(issued.bytes, bytes(1_024), "all that is free is discarded, once");
    assert_eq!((blocks(&machine), totals(&machine).waiting), (1_024, Bytes(0)));
    machine.fs().check();
}

#[test]
fn unmount_gives_up_what_waits_and_lets_the_rest_end() {
    let mut machine = filled("btrfs-async,delay=100s", 4);
    machine.unlink(0);
    machine.unmount();
    assert!(machine.discards().is_empty());
    assert_eq!(totals(&machine).skipped.bytes, bytes(32));
    let mut machine = filled("btrfs-async,delay=1s", 4);
    machine.unlink(0);
    machine.sync();
    while machine.discards().is_empty() {
        machine.rest(Nanos::from_micros(100));
    }
    assert_eq!(machine.fs().discards.policy_withholds(), 32, "the discard is under way");
    machine.unmount();
    assert_eq!(machine.fs().discards.policy_withholds(), 0, "it has ended");
    machine.fs().check();
}

#[test]
fn a_discard_is_as_long_as_its_extent_whatever_is_granted() {
    let mut device = Recorder::new(Bytes::mib(128));
    device.limit_discards(bytes(20));
    let mut machine = with("paced,discard-max=4KiB", device);
    fill(&mut machine, 4);
    let extent = machine.extents(2)[0];
    machine.unlink(2);
    machine.sync();
    machine.rest(Nanos::from_secs(600));
    // Only the longest discard of the drive divides it.
    let parts = [Extent::new(extent.start, 20), Extent::new(extent.start + 20, 12)];
    assert_eq!(machine.discards(), parts);
}

#[test]
fn a_policy_sees_how_long_the_foreground_waits() {
    // Reads and writes of some ms or some us; the discard of a freed file is skipped or not.
    for (write, skipped) in [(Nanos::from_millis(50), 32), (Nanos::from_micros(10), 0)] {
        let mut device = Recorder::new(Bytes::mib(128));
        device.write = write;
        let mut machine = with("skip-by-latency,threshold=15ms", device);
        fill(&mut machine, 4);
        machine.unlink(1);
        machine.sync();
        assert_eq!(totals(&machine).skipped.bytes, bytes(skipped), "{write}");
    }
}

#[test]
fn a_device_without_discards_has_no_policy() {
    let mut device = Recorder::new(Bytes::mib(128));
    device.refuse_discards();
    let machine = with("skip-by-queue", device);
    assert_eq!(machine.fs().policy_account(), None);
    for wrong in ["btrfs-async,delay=fast", "no-such-policy"] {
        assert!(super::super::policy(FsKind::Ext4, wrong).is_err(), "{wrong}");
    }
    let others = super::super::policy(FsKind::Xfs, "ext4-4.13").unwrap_err().to_string();
    assert!(others.contains("what a modelled ext4 does by itself"), "{others}");
}
