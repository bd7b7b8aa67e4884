use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;

use tempfile::TempDir;

use super::*;
use crate::sysfs::{BlockDevice, disks};
use crate::testing::{self, Holder, LoopDevice};

const SIZE: u64 = 1 << 20;

/// A folder in memory, by the name that the kernel has for it.
pub(super) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = std::fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

/// An empty image of 1 MiB.
pub(super) fn image(path: &Path) -> PathBuf {
    testing::image(path, b"", SIZE)
}

fn set_size(path: &Path, size: u64) {
    File::options().write(true).open(path).unwrap().set_len(size).unwrap();
}

fn consent(destroy: &Path) -> Consent {
    Consent { destroy: vec![destroy.to_owned()], ..Consent::default() }
}

/// Everything that [`Inspection::claim`] does but asking for signatures, which takes a program.
fn guard(target: &Path, named: &Path) -> Guard {
    let inspection = Inspection::without_signatures(target).unwrap();
    let file =
        patiently(|| inspection.open(), |error| matches!(error, Refusal::Busy { .. })).unwrap();
    let backing = inspection.lock(&file).unwrap();
    // What these tests do to their own files is not to be noticed for ever.
    Guard { file, backing, inspection, consent: consent(named), witness: None }
}

/// A device of this machine as if it were the target and unused. Nothing of it is opened.
fn device(block: BlockDevice) -> Inspection {
    let (_folder, path) = folder();
    let mut inspection = Inspection::without_signatures(&image(&path.join("image"))).unwrap();
    inspection.uses = uses::Uses::default();
    inspection.subject = Subject::Device(Box::new(Device {
        numbers: block.numbers().unwrap_or_default(),
        sequence: None,
        start: None,
        serial: None,
        wwid: None,
        links: Vec::new(),
        backing: None,
        block,
    }));
    inspection
}

fn any_device() -> Inspection {
    device(disks().into_iter().next().expect("the kernel shows some disk, if only in memory"))
}

fn device_of(guard: &mut Guard) -> &mut Device {
    match &mut guard.inspection.subject {
        Subject::Device(device) => device,
        Subject::Image(_) => panic!("it is a device"),
    }
}

/// The name of the refusal and what it says.
fn refusal(result: Result<(), impl Into<ClaimError>>) -> (&'static str, String) {
    let told = |error: ClaimError| (error.id(), error.to_string());
    result.map_err(Into::into).map_or_else(told, |()| ("none", String::new()))
}

#[test]
fn a_dry_run_is_refused_for_the_same_reasons_as_a_claim() {
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let mut inspection = Inspection::without_signatures(&path).unwrap();
    let mut named = consent(&path);
    inspection.refusal(&named).unwrap();
    assert_eq!(refusal(inspection.refusal(&Consent::default())).0, "not-named");
    inspection.signatures = Ok(vec![Signature {
        device: "image".to_owned(),
        kind: "ext4".to_owned(),
        offset: "0x438".to_owned(),
        label: None,
    }]);
    assert_eq!(refusal(inspection.refusal(&named)).0, "signature");
    named.signatures = vec!["xfs".to_owned()];
    assert_eq!(refusal(inspection.refusal(&named)).0, "signature");
    named.signatures.push("ext4".to_owned());
    inspection.refusal(&named).unwrap();
    inspection.signatures = Err(ProbeError::NoProgram);
    assert_eq!(refusal(inspection.refusal(&named)).0, "probe");
}

#[test]
fn an_empty_device_is_refused_with_the_reason_that_fits_its_kind() {
    for block in disks() {
        let name = block.name.clone();
        let mut inspection = device(block);
        inspection.size = Bytes(0);
        let why = match inspection.refuse(&Consent::default()) {
            Err(Refusal::Empty { why, .. }) => why,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(why.contains("attached"), name.starts_with("loop"), "{name}: {why}");
        assert_eq!(why.contains("medium"), !name.starts_with("loop"), "{name}: {why}");
    }
}

#[test]
fn a_device_whose_users_cannot_all_be_seen_is_refused_and_an_image_is_left_to_the_lease() {
    let path = PathBuf::from("/proc/7/fd");
    let unseen = Some(crate::mounts::Unseen { path, errno: Errno(libc::EACCES) });
    let mut inspection = any_device();
    assert_eq!(refusal(inspection.refuse(&Consent::default())).0, "not-named");
    inspection.uses.unseen.clone_from(&unseen);
    let (id, text) = refusal(inspection.refuse(&Consent::default()));
    assert_eq!(id, "unknown", "{text}");
    assert!(text.contains("/proc/7/fd") && text.contains("EACCES"), "{text}");
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let mut inspection = Inspection::without_signatures(&path).unwrap();
    inspection.uses.unseen = unseen;
    inspection.refuse(&consent(&path)).unwrap();
}

#[test]
fn an_image_is_opened_through_the_cache_where_there_is_no_direct_io_and_a_device_never_is() {
    let (_folder, folder) = folder();
    let mut inspection = Inspection::without_signatures(&image(&folder.join("image"))).unwrap();
    // Procfs has no direct I/O. This is opened and not written.
    inspection.path = PathBuf::from("/proc/self/comm");
    let file = inspection.open().unwrap();
    assert!(!rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::DIRECT));
    let mut device = any_device();
    device.path.clone_from(&inspection.path);
    assert_eq!(device.open().unwrap_err().id(), "not-opened");
}

#[test]
fn errors_of_opening_say_what_they_mean_for_a_target() {
    use rustix::io::Errno as E;
    let (_folder, folder) = folder();
    let inspection = Inspection::without_signatures(&image(&folder.join("image"))).unwrap();
    for (errno, expected) in [
        (E::BUSY, "busy"),
        (E::TXTBSY, "in-use"),
        (E::ROFS, "read-only"),
        (E::NOENT, "gone"),
        (E::NODEV, "gone"),
        (E::NXIO, "gone"),
        (E::NOMEDIUM, "gone"),
        (E::LOOP, "changed"),
        (E::PERM, "denied"),
        (E::ACCESS, "denied"),
        (E::IO, "not-opened"),
        (E::INVAL, "not-opened"),
    ] {
        assert_eq!(inspection.open_error(errno).id(), expected, "{errno:?}");
    }
}

#[test]
fn either_kind_of_lock_of_another_opening_keeps_an_image() {
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let inspection = Inspection::without_signatures(&path).unwrap();
    let open = || OwnedFd::from(File::options().read(true).write(true).open(&path).unwrap());
    let locked = |file: &OwnedFd| refusal(inspection.lock(file).map(|_| ())).0;
    // As qemu locks a part of its images.
    let holder = open();
    lock_whole(holder.as_fd()).unwrap();
    assert_eq!(locked(&open()), "locked");
    assert_eq!(locked(&holder), "none", "one's own lock is in nobody's way");
    drop(holder);
    let holder = open();
    lock(holder.as_fd(), &path).unwrap();
    let second = open();
    assert_eq!(refusal(lock(second.as_fd(), &path)).0, "locked");
    assert_eq!(locked(&second), "locked");
    drop(holder);
    assert_eq!(locked(&second), "none");
}

#[test]
fn a_claimed_image_that_changes_or_is_opened_is_no_longer_ours_to_write() {
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let mut guard = guard(&path, &path);
    guard.check().unwrap();
    guard.check_descriptor().unwrap();
    // This process does not suspect itself: the lease alone tells.
    let reader = File::open(&path).unwrap();
    assert_eq!(refusal(guard.check()).0, "in-use");
    guard.check_descriptor().unwrap();
    drop(reader);
    set_size(&path, SIZE - 1);
    for result in [guard.check(), guard.check_descriptor()] {
        let (id, text) = refusal(result);
        assert_eq!(id, "changed", "{text}");
        assert!(text.contains("1MiB") && text.contains("1048575"), "{text}");
    }
    set_size(&path, SIZE);
    guard.check_descriptor().unwrap();
    guard.file = File::open(image(&folder.join("other"))).unwrap().into();
    let (id, text) = refusal(guard.check_descriptor());
    assert_eq!(id, "changed");
    assert!(text.contains("another file was opened"), "{text}");

    let guard = self::guard(&path, &path);
    let claim = Claim { file: guard.file.try_clone().unwrap(), guard };
    claim.check().unwrap();
    std::fs::rename(folder.join("other"), &path).unwrap();
    assert_eq!(refusal(claim.check()).0, "changed");
}

#[test]
fn an_image_that_another_opened_and_closed_again_is_never_ours_alone_again() {
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let mut guard = guard(&path, &path);
    guard.witness = guard.inspection.witness(&guard.file, None);
    guard.check().unwrap();
    guard.check_descriptor().unwrap();
    drop(File::open(&path).unwrap());
    for result in [guard.check_descriptor(), guard.check(), guard.check_descriptor()] {
        let (id, text) = refusal(result);
        assert_eq!(id, "changed", "{text}");
        assert!(text.contains("another process opened it"), "{text}");
    }
}

#[test]
fn a_claimed_loop_device_must_stay_what_it_was_and_stand_on_the_same_file() {
    let test = "a_claimed_loop_device_must_stay_what_it_was_and_stand_on_the_same_file";
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let Some(device) = LoopDevice::new(test, &path, &[]) else { return };
    let changed = |guard: &Guard, expected: &str| {
        let (id, text) = refusal(guard.check_descriptor());
        assert_eq!(id, "changed", "{expected}: {text}");
        assert!(text.contains(expected), "{expected}: {text}");
    };
    let mut guard = guard(&device.0, &path);
    guard.check().unwrap();
    guard.check_descriptor().unwrap();

    device.set_read_only("--setro");
    assert_eq!(refusal(guard.check_descriptor()).0, "read-only");
    device.set_read_only("--setrw");
    guard.check_descriptor().unwrap();

    // The device keeps its size, whatever becomes of the file.
    set_size(&path, SIZE - 1);
    changed(&guard, "its backing file has");
    set_size(&path, SIZE + 1);
    guard.check_descriptor().unwrap();
    set_size(&path, SIZE);
    device_of(&mut guard).start = Some(1);
    changed(&guard, "its backing file has");
    device_of(&mut guard).start = None;

    let sequence = device_of(&mut guard).sequence;
    if let Some(sequence) = sequence {
        device_of(&mut guard).sequence = Some(sequence + 1);
        changed(&guard, "another generation");
        device_of(&mut guard).sequence = Some(sequence);
    }
    let numbers = device_of(&mut guard).numbers;
    device_of(&mut guard).numbers = (numbers.0, numbers.1 + 1);
    changed(&guard, "something else was opened");
    device_of(&mut guard).numbers = numbers;

    let other = image(&folder.join("other"));
    let id = |path: &Path| path.metadata().map(|data| (data.dev(), data.ino())).unwrap();
    let locked = guard.backing.replace(File::open(&other).unwrap().into());
    changed(&guard, "another file bears the name");
    device_of(&mut guard).backing.as_mut().unwrap().file = Some(id(&other));
    changed(&guard, "another file is attached");
    guard.backing = None;
    device_of(&mut guard).backing.as_mut().unwrap().file = None;
    changed(&guard, "another file bears the name");
    guard.backing = locked;
    device_of(&mut guard).backing.as_mut().unwrap().file = Some(id(&path));
    guard.check().unwrap();
    // Regular files have no number of a device.
    guard.file = File::open(&other).unwrap().into();
    device_of(&mut guard).numbers = (0, 0);
    changed(&guard, "something else was opened");
}

#[test]
fn a_file_that_a_program_has_open_is_in_use() {
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let data = path.metadata().unwrap();
    let uses = || uses_of_file((data.dev(), data.ino())).unwrap();
    assert_eq!(uses(), []);
    let holder = Holder::of(File::open(&path).unwrap(), Stdio::null());
    let found = uses();
    let expected = Use::Open {
        path,
        process: holder.0.id(),
        command: "sleep".to_owned(),
        writes: false,
        is_file: true,
    };
    assert_eq!(found, [expected]);
}

#[test]
fn what_may_pass_is_tried_again_for_a_while_and_nothing_else_is() {
    let locked = || Refusal::Locked { path: PathBuf::from("image") };
    let missing = || Refusal::Missing { path: PathBuf::from("image") };
    let may_pass = |error: &Refusal| matches!(error, Refusal::Locked { .. });
    // How many attempts fail, and how; how many are made, and what comes of them.
    for (failing, error, attempts, expected) in [
        (0, &locked as &dyn Fn() -> Refusal, 1, "none"),
        (2, &locked, 3, "none"),
        (u32::MAX, &locked, BUSY_TRIES + 1, "locked"),
        (u32::MAX, &missing, 1, "missing"),
    ] {
        let made = Cell::new(0);
        let attempt = || {
            made.set(made.get() + 1);
            if made.get() > failing { Ok(()) } else { Err(error()) }
        };
        assert_eq!(refusal(patiently(attempt, may_pass)).0, expected);
        assert_eq!(made.get(), attempts, "{expected}");
    }
}

#[test]
fn filesystems_that_show_files_of_others_and_those_that_store_nothing_are_known_by_type() {
    for (filesystem, indirect, stores) in [
        ("ext4", false, true),
        ("xfs", false, true),
        ("btrfs", false, true),
        ("tmpfs", false, true),
        ("fusectl", false, false),
        ("overlay", true, true),
        ("fuse", true, true),
        ("fuse.sshfs", true, true),
        ("fuseblk", true, true),
        ("9p", true, true),
        ("virtiofs", true, true),
        ("proc", false, false),
        ("sysfs", false, false),
        ("efivarfs", false, false),
        ("debugfs", false, false),
    ] {
        assert_eq!(is_indirect(filesystem), indirect, "{filesystem}");
        assert_eq!(stores_files(filesystem), stores, "{filesystem}");
    }
}
