use trimbench_core::{DriveDiscards, FileCommand, FileId, Payload, Stream};

use super::*;
use crate::TargetSpec;

/// A filesystem of 256 MiB on a small drive.
fn provisioned(settings: &str) -> ModelledFilesystems {
    let text = format!("ext4,journal=8MiB{settings}:sim:vendor6,capacity=512MiB");
    modelled(&text).provision(Bytes(0), 1).expect("the drive is large enough").target
}

fn modelled(text: &str) -> ModelledSpec {
    let spec = TargetSpec::parse(text, None).unwrap();
    spec.as_kind::<ModelledSpec>().expect("it is a modelled filesystem").clone()
}

fn spec(discard: DiscardMode, mkfs_discard: bool) -> FilesystemSpec {
    FilesystemSpec { discard, mkfs_discard, ..FilesystemSpec::default() }
}

fn run(files: &mut Files<'_>, commands: &[FileCommand]) {
    for command in commands {
        files.submit(TAG, *command).expect("the command is sound");
        await_one(files).expect("there is room");
    }
}

/// A file is made, made durable, and removed.
fn make_and_remove(files: &mut Files<'_>, length: Bytes) {
    let file = FileId(1);
    let stream = Stream { piece: 4096, buffered: false, payload: Payload::Random };
    let directory = trimbench_core::DirectoryId::OWN;
    let make = FileCommand::Store { file, directory, length, stream };
    run(files, &[make, FileCommand::Fsync { file }, FileCommand::Unlink { file }]);
    run(files, &[FileCommand::SyncFilesystem]);
    let second = files.now() + Nanos::from_secs(1);
    files.reap(second, &mut Vec::new());
}

#[test]
fn mkfs_discards_the_whole_drive_if_that_is_wished() {
    for (mkfs_discard, discarded) in [(true, Bytes::mib(512)), (false, Bytes(0))] {
        let mut filesystems = provisioned("");
        filesystems.make(&spec(DiscardMode::Off, mkfs_discard)).unwrap();
        assert_eq!(filesystems.files().statistics().discard.bytes, discarded);
    }
}

#[test]
fn what_a_deletion_frees_is_discarded_by_an_online_mount_alone() {
    let mut filesystems = provisioned(",era=5.15");
    for (mode, freed) in [(DiscardMode::Off, Bytes(0)), (DiscardMode::Online, Bytes::mib(4))] {
        filesystems.make(&spec(mode, false)).unwrap();
        let before = filesystems.files().statistics().discard.bytes;
        make_and_remove(filesystems.files(), Bytes::mib(4));
        assert_eq!(filesystems.files().statistics().discard.bytes - before, freed);
    }
}

#[test]
fn each_filesystem_is_new_and_the_clock_goes_on() {
    let mut filesystems = provisioned("");
    let file = FileId(7);
    let mut ended = Nanos::ZERO;
    for _ in 0..3 {
        filesystems.make(&FilesystemSpec::default()).unwrap();
        assert!(filesystems.files().now().since_start() > ended, "mkfs discards, in its time");
        run(filesystems.files(), &[FileCommand::Create { file }]);
        let before = filesystems.files().now().since_start();
        let span = filesystems.unmount().unwrap();
        assert!(span > Nanos::ZERO, "the journal is written");
        ended = before + span;
    }
}

#[test]
fn a_settle_wait_comes_between_mkfs_and_mount() {
    let settle = Nanos::from_secs(10);
    let mounted = |settle| {
        let mut filesystems = provisioned("");
        filesystems.make(&FilesystemSpec { settle, ..FilesystemSpec::default() }).unwrap();
        filesystems.files().now()
    };
    assert_eq!(mounted(settle) - mounted(Nanos::ZERO), settle);
}

#[test]
fn the_same_start_state_gives_the_same_times_and_another_one_others() {
    let took = |start_state| {
        let mut filesystems = provisioned("");
        let spec =
            FilesystemSpec { start_state: Some(start_state), ..spec(DiscardMode::Off, false) };
        // Whatever was done before.
        filesystems.make(&FilesystemSpec::default()).unwrap();
        for _ in 0..start_state {
            make_and_remove(filesystems.files(), Bytes::mib(2));
        }
        filesystems.make(&spec).unwrap();
        let begin = filesystems.files().now();
        for _ in 0..20 {
            make_and_remove(filesystems.files(), Bytes::mib(16));
        }
        filesystems.files().now() - begin
    };
    assert_eq!(took(1), took(1));
    assert_ne!(took(1), took(2));
}

#[test]
fn a_trim_policy_decides_what_is_discarded() {
    let mut filesystems = provisioned("");
    let policy = |text: &str| spec(DiscardMode::Policy(text.to_owned()), false);
    for (text, freed) in [
        ("none", Bytes(0)),
        ("ext4-4.13", Bytes::mib(4)),
        ("skip-by-queue", Bytes::mib(4)),
        ("btrfs-async", Bytes(0)),
    ] {
        filesystems.make(&policy(text)).unwrap();
        let before = filesystems.files().statistics().discard.bytes;
        make_and_remove(filesystems.files(), Bytes::mib(4));
        assert_eq!(filesystems.files().statistics().discard.bytes - before, freed, "{text}");
        assert!(filesystems.mounted().model().policy_account().is_some());
    }
    // A policy that cannot be leaves the drive where it is.
    let error = filesystems.make(&policy("pased")).unwrap_err();
    assert!(error.to_string().contains("`pased`"), "{error}");
    filesystems.make(&policy("paced")).unwrap();
}

#[test]
fn an_account_tells_what_the_policy_did_and_what_the_drive_still_holds() {
    let length = Bytes::mib(4);
    for (text, discards) in
        [("none", 0), ("ext4-4.13", 1), ("skip-by-queue", 1), ("btrfs-async,delay=1h", 0)]
    {
        let mut filesystems = provisioned("");
        let policy = DiscardMode::Policy(text.to_owned());
        filesystems.make(&spec(policy, true)).unwrap();
        let before = filesystems.account().unwrap();
        assert_eq!(before.untrimmed, Bytes(0), "mkfs has discarded all");
        make_and_remove(filesystems.files(), length);
        let after = filesystems.account().unwrap();
        let written = after.wear.host_written - before.wear.host_written;
        assert!(written >= length, "{written}: its data, and the journal");
        let left = if discards == 0 { length } else { Bytes(0) };
        assert_eq!(after.untrimmed, left, "{text}");
        let done = after.discards.unwrap();
        let DriveDiscards { freed, issued, skipped, invalidated, waiting, .. } = done.totals;
        assert_eq!((freed.count, freed.bytes), (1, length), "{text}");
        assert_eq!(issued.count, discards, "{text}");
        let known = issued.bytes + skipped.bytes + invalidated.bytes + waiting;
        assert_eq!(known, length, "{text}");
        assert_eq!(done.longest > Nanos::ZERO, discards > 0, "{text}");
        let waited = if text.starts_with("btrfs") { length } else { Bytes(0) };
        assert_eq!(done.waiting_max, waited, "{text}");
        assert_eq!(done.withheld_max, length - left, "{text}");
        let again = filesystems.account().unwrap().discards.unwrap();
        assert_eq!((again.withheld_max, again.longest), (Bytes(0), Nanos::ZERO), "maxima are new");
        assert_eq!(again.waiting_max, waited, "what still waits counts");
    }
}

#[test]
fn a_policy_that_cannot_be_is_known_before_anything_is_made() {
    let filesystems = provisioned("");
    let policy = |text: &str| spec(DiscardMode::Policy(text.to_owned()), false);
    assert_eq!(filesystems.check(&policy("paced,target=5ms")), Ok(()));
    for (text, said) in [("pased", "did you mean `paced`?"), ("paced,target=5h", "out of range")] {
        let error = filesystems.check(&policy(text)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_drive_that_fails_is_told_of() {
    let mut filesystems = provisioned("");
    filesystems.make(&FilesystemSpec::default()).unwrap();
    let text = "ext4:sim:vendor6,capacity=512MiB,eio-from=0s";
    let mut filesystems = modelled(text).provision(Bytes(0), 1).unwrap().target;
    let error = filesystems.make(&FilesystemSpec::default()).unwrap_err();
    assert_eq!(error.operation, "make");
    assert!(error.reason.contains("EIO"), "{error}");
}

#[test]
fn the_machine_of_s0_is_that_of_the_calibration_and_the_record_says_so() {
    let text = "ext4,memory=1GiB,machine=s0:sim:vendor6,capacity=512MiB";
    let spec = modelled(text);
    assert_eq!(spec.config, FsConfig { memory: Bytes::gib(1), ..FsConfig::s0() });
    let identity = spec.provision(Bytes(0), 1).unwrap().description.identity;
    for (key, value) in [
        ("issuer", "ext4-2.6.33"),
        ("allocation", "group by group (Linux to 5.5)"),
        ("scheduler", "cfq"),
        ("dirty-limit", "15%"),
        ("memory", "1GiB"),
    ] {
        assert_eq!(identity[&format!("ext4-{key}")], value);
    }
}

#[test]
fn a_model_that_was_compared_with_no_kernel_says_so() {
    for (name, says) in [("ext4", false), ("xfs", false), ("btrfs", false), ("f2fs", true)] {
        let text = format!("{name}:sim:vendor6,capacity=4GiB");
        let made = modelled(&text).provision(Bytes(0), 1).expect("the drive is large enough");
        let described = made.description;
        assert_eq!(described.caveats.contains(&Caveat::ByReadingOnly), says, "{name}");
        assert_eq!(described.identity["filesystem"], format!("{name}, modelled"));
    }
}

#[test]
fn a_system_gets_its_own_filesystem_whatever_the_target_names() {
    let mut filesystems = provisioned_without_journal();
    for (issuer, kind, discards) in [
        (Issuer::Ext4Since4_13, FsKind::Ext4, true),
        (Issuer::Xfs, FsKind::Xfs, true),
        (Issuer::BtrfsSync, FsKind::Btrfs, true),
        (Issuer::FstrimXfs, FsKind::Xfs, false),
        (Issuer::Ext4NoJournal, FsKind::Ext4, true),
    ] {
        filesystems.make(&spec(DiscardMode::As(issuer.id()), false)).unwrap();
        let config = *filesystems.made().model_mut().config();
        assert_eq!((config.kind, config.discard), (kind, discards.then_some(issuer)));
        let journal = issuer != Issuer::Ext4NoJournal;
        assert_eq!(config.journaling == Journaling::Ordered, journal, "{issuer:?}");
    }
    for system in ["zfs-autotrim", "ext5"] {
        let reason = filesystems.check(&spec(DiscardMode::As(system), false)).unwrap_err().reason;
        let said = format!("no model of a filesystem that discards as `{system}`");
        assert!(reason.contains(&said), "{reason}");
    }
    let of_an_era = provisioned(",era=4.13").check(&spec(DiscardMode::As("ext4"), false));
    assert_eq!(of_an_era.unwrap_err().reason, "`era` is for the method to decide");
}

fn provisioned_without_journal() -> ModelledFilesystems {
    let spec = modelled("ext4:sim:vendor6,capacity=1GiB");
    spec.provision(Bytes(0), 1).expect("the drive is large enough").target
}

/// Freed bytes are in the account of a filesystem that was unmounted, with those that it gave up.
#[test]
fn an_account_after_the_unmount_says_what_was_given_up() {
    for (issuer, given_up) in [(Issuer::Xfs, Bytes(0)), (Issuer::BtrfsAsync, Bytes::mib(4))] {
        let mut filesystems = provisioned_without_journal();
        filesystems.make(&spec(DiscardMode::As(issuer.id()), false)).unwrap();
        make_and_remove(filesystems.files(), Bytes::mib(4));
        filesystems.unmount().unwrap();
        let account = filesystems.account().unwrap();
        assert!(account.freed >= Bytes::mib(4), "{issuer:?}: {account:?}");
        let lost = if given_up > Bytes(0) { account.freed } else { Bytes(0) };
        assert_eq!(account.given_up, lost, "{issuer:?}");
        // The next one takes the drive.
        filesystems.make(&spec(DiscardMode::Off, false)).unwrap();
        assert_eq!(filesystems.account().unwrap().freed, Bytes(0));
    }
}
