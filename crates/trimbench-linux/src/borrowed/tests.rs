use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};

use super::*;
use crate::testing::{borrow_until_killed, borrower, kill};

/// A loop device of our own with its journals; detached when dropped.
struct Place {
    folder: tempfile::TempDir,
    entries: PathBuf,
    node: String,
    disk: BlockDevice,
}

impl Place {
    /// `None` where there can be none, which is said. Its number is one that did not exist: nobody
    /// has changed its settings, and nobody who asks for a free one gets it while it is detached.
    fn new(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let is_unused = |number: &u32| !Path::new(&format!("/sys/block/loop{number}")).exists();
        let nodes = (900..1_000).filter(is_unused).map(|number| format!("/dev/loop{number}"));
        let Some(node) = nodes.into_iter().find(|node| attach(node, &image)) else {
            eprintln!("SKIP {test}: it needs root and loop devices");
            return None;
        };
        let disk = BlockDevice::from_node(Path::new(&node)).unwrap();
        let entries = folder.path().join("entries");
        Some(Self { folder, entries, node, disk })
    }

    /// The same with a limit of 1 GiB, which can be written back.
    fn of_1_gib(test: &str) -> Option<Self> {
        let place = Self::new(test)?;
        place.set_by_somebody_else(1 << 30);
        Some(place)
    }

    fn take(&self) -> Result<BorrowedSetting, BorrowError> {
        BorrowedSetting::take_in(&self.entries, &self.disk)
    }

    fn now(&self) -> u64 {
        self.disk.number(SETTING).unwrap()
    }

    fn set_by_somebody_else(&self, bytes: u64) {
        fs::write(setting_path(&self.disk), bytes.to_string()).unwrap();
    }

    fn journal(&self) -> PathBuf {
        self.entries.join(format!("setting-{}.json", self.disk.name))
    }

    fn restore_abandoned(&self) -> Vec<Restored> {
        restore_abandoned_in(&self.entries).unwrap()
    }

    /// A process that has borrowed the setting and set 4 MiB, then is killed.
    fn kill_a_borrower(&self, test: &str) {
        kill(self.borrower(test));
    }

    fn borrower(&self, test: &str) -> Child {
        let test = format!("borrowed::tests::{test}");
        borrower(&test, &self.entries, &self.node, || self.now() == 4 << 20)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        detach(&self.node);
        // Setting and number go, too, where there is something that can have them removed.
        let number = self.node.trim_start_matches("/dev/loop");
        let remove =
            format!("import fcntl; fcntl.ioctl(open('/dev/loop-control'), 0x4C81, {number})");
        let _ = Command::new("python3").args(["-c", &remove]).stderr(Stdio::null()).status();
    }
}

fn attach(node: &str, image: &Path) -> bool {
    let output = Command::new("losetup").arg(node).arg(image).output();
    output.is_ok_and(|output| output.status.success())
}

fn detach(node: &str) {
    let _ = Command::new("losetup").args(["--detach", node]).output();
}

/// In the process that is to be killed.
fn borrow_4_mib_until_killed() {
    borrow_until_killed(|entries, node| {
        let disk = BlockDevice::from_node(Path::new(node)).unwrap();
        let mut borrowed = BorrowedSetting::take_in(entries, &disk).unwrap();
        borrowed.set(Bytes::mib(4)).unwrap();
        borrowed
    });
}

#[test]
fn it_is_put_back_by_restore_and_by_drop() {
    let Some(place) = Place::of_1_gib("it_is_put_back_by_restore_and_by_drop") else { return };
    let mut borrowed = place.take().unwrap();
    assert_eq!((borrowed.original(), borrowed.recovered()), (Bytes::gib(1), None));
    assert_eq!(borrowed.set(Bytes::mib(4)).unwrap(), Bytes::mib(4));
    assert_eq!(place.now(), 4 << 20);
    assert_eq!(borrowed.set(Bytes::mib(8)).unwrap(), Bytes::mib(8));
    let device = place.disk.name.clone();
    assert_eq!(borrowed.restore(), Restored::PutBack { device, value: Bytes::gib(1) });
    assert_eq!(place.now(), 1 << 30);
    assert!(!place.journal().exists());
    let mut borrowed = place.take().unwrap();
    borrowed.set(Bytes::mib(2)).unwrap();
    assert!(place.journal().exists());
    drop(borrowed);
    assert_eq!((place.now(), place.journal().exists()), (1 << 30, false));
    drop(place.take().unwrap());
    assert_eq!(fs::read_dir(&place.entries).unwrap().count(), 0);
}

#[test]
fn what_is_set_is_a_multiple_of_the_granularity_within_the_hardwares_limit() {
    let test = "what_is_set_is_a_multiple_of_the_granularity_within_the_hardwares_limit";
    let Some(place) = Place::of_1_gib(test) else { return };
    let granularity = place.disk.number(GRANULARITY).unwrap();
    let hardware = place.disk.number(HARDWARE).unwrap();
    let most = hardware / granularity * granularity;
    let mut borrowed = place.take().unwrap();
    for (wanted, expected) in [
        (0, granularity),
        (1, granularity),
        (granularity * 3 + 1, granularity * 3),
        (granularity * 4 - 1, granularity * 3),
        (u64::MAX, most),
    ] {
        assert_eq!(borrowed.set(Bytes(wanted)).unwrap(), Bytes(expected), "{wanted}");
        assert_eq!(place.now(), expected);
    }
}

#[test]
fn a_killed_borrower_is_tidied_up_after() {
    let test = "a_killed_borrower_is_tidied_up_after";
    borrow_4_mib_until_killed();
    let Some(place) = Place::of_1_gib(test) else { return };
    let child = place.borrower(test);
    assert_eq!(place.restore_abandoned(), [], "a living process keeps it");
    let Err(BorrowError::Held { process, .. }) = place.take() else { panic!("taken twice") };
    assert_eq!(process, Some(child.id()));
    assert_eq!(place.now(), 4 << 20);
    kill(child);
    let expected = Restored::PutBack { device: place.disk.name.clone(), value: Bytes::gib(1) };
    assert_eq!(place.restore_abandoned(), [expected]);
    assert_eq!((place.now(), place.journal().exists()), (1 << 30, false));
    assert_eq!(place.restore_abandoned(), []);
}

#[test]
fn who_borrows_after_a_kill_knows_the_original() {
    let test = "who_borrows_after_a_kill_knows_the_original";
    borrow_4_mib_until_killed();
    let Some(place) = Place::of_1_gib(test) else { return };
    place.kill_a_borrower(test);
    let borrowed = place.take().unwrap();
    assert_eq!(borrowed.original(), Bytes::gib(1));
    assert!(matches!(borrowed.recovered(), Some(Restored::PutBack { .. })));
}

#[test]
fn what_somebody_else_has_set_survives() {
    let test = "what_somebody_else_has_set_survives";
    borrow_4_mib_until_killed();
    let Some(place) = Place::of_1_gib(test) else { return };
    place.kill_a_borrower(test);
    place.set_by_somebody_else(1 << 29);
    let [Restored::Changed { original, found, .. }] = &place.restore_abandoned()[..] else {
        panic!("it was not noticed")
    };
    assert_eq!((*original, *found), (Bytes::gib(1), Bytes::mib(512)));
    assert_eq!((place.now(), place.journal().exists()), (1 << 29, false));
    // The same while the borrower lives.
    let mut borrowed = place.take().unwrap();
    borrowed.set(Bytes::mib(4)).unwrap();
    place.set_by_somebody_else(1 << 28);
    assert!(matches!(borrowed.set(Bytes::mib(8)), Err(BorrowError::Changed { .. })));
    assert!(matches!(borrowed.restore(), Restored::Changed { .. }));
    assert_eq!(place.now(), 1 << 28);
}

#[test]
fn a_disk_that_was_replaced_is_left_alone() {
    let test = "a_disk_that_was_replaced_is_left_alone";
    borrow_4_mib_until_killed();
    let Some(place) = Place::of_1_gib(test) else { return };
    place.kill_a_borrower(test);
    attach_again(&place);
    let device = place.disk.name.clone();
    assert_eq!(place.restore_abandoned(), [Restored::Replaced { device: device.clone() }]);
    assert_eq!((place.now(), place.journal().exists()), (4 << 20, false));
    let mut borrowed = place.take().unwrap();
    borrowed.set(Bytes::mib(8)).unwrap();
    attach_again(&place);
    assert!(matches!(borrowed.set(Bytes::mib(2)), Err(BorrowError::Replaced { .. })));
    assert_eq!(borrowed.restore(), Restored::Replaced { device });
    assert_eq!(place.now(), 8 << 20);
}

/// The same node, another disk.
fn attach_again(place: &Place) {
    detach(&place.node);
    assert!(attach(&place.node, &place.folder.path().join("image")));
}

#[test]
fn journals_that_are_torn_or_of_others_are_not_trusted() {
    let test = "journals_that_are_torn_or_of_others_are_not_trusted";
    borrow_4_mib_until_killed();
    let Some(place) = Place::of_1_gib(test) else { return };
    place.kill_a_borrower(test);
    let whole = fs::read_to_string(place.journal()).unwrap();
    assert!(Entry::from_json(whole.as_bytes()).is_some());
    let name = &place.disk.name;
    let others = [
        whole[..whole.len() - 1].to_owned(),
        String::new(),
        whole.replace("\"version\":1", "\"version\":2"),
        whole.replace("{\"version\"", "{\"more\":1,\"version\""),
        whole.replace(&format!("\"{name}\""), "\"sda\""),
        whole.replace("\"original_bytes\":1073741824", "\"original_bytes\":0"),
        whole.replace("\"original_bytes\":1073741824", "\"original_bytes\":-1"),
    ];
    for content in others {
        fs::write(place.journal(), &content).unwrap();
        let unreadable =
            Restored::Unreadable { path: place.journal(), errno: Errno(libc::EBADMSG) };
        assert!(unreadable.needs_attention());
        assert_eq!(place.restore_abandoned(), [unreadable], "{content}");
        assert!(matches!(place.take(), Err(BorrowError::Unreadable { .. })), "{content}");
        assert_eq!(place.now(), 4 << 20, "{content}");
        assert_eq!(fs::read_to_string(place.journal()).unwrap(), content);
    }
    let boot = boot_id().unwrap();
    fs::write(place.journal(), whole.replace(&boot, "other")).unwrap();
    assert_eq!(place.restore_abandoned(), [Restored::OtherBoot { device: name.clone() }]);
    let gone = whole.replace("\"minor\":", "\"minor\":9");
    fs::write(place.journal(), gone).unwrap();
    assert_eq!(place.restore_abandoned(), [Restored::Gone { device: name.clone() }]);
    assert_eq!((place.now(), place.journal().exists()), (4 << 20, false));
}

#[test]
fn the_default_of_a_loop_device_is_put_back_to_the_nearest() {
    let test = "the_default_of_a_loop_device_is_put_back_to_the_nearest";
    let Some(place) = Place::new(test) else { return };
    if place.now() != 4_294_966_784 {
        eprintln!("SKIP {test}: this kernel's default is {}", place.now());
        return;
    }
    let mut borrowed = place.take().unwrap();
    borrowed.set(Bytes::mib(4)).unwrap();
    let restored = borrowed.restore();
    let device = place.disk.name.clone();
    let (original, written) = (Bytes(4_294_966_784), Bytes(4_294_963_200));
    assert_eq!(restored, Restored::PutBackNearest { device, original, written });
    let text = restored.to_string();
    assert!(text.contains("4294966784") && text.contains("4294963200"), "{text}");
    assert_eq!((place.now(), place.journal().exists()), (written.0, false));
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let test = "without_a_journal_nothing_is_changed";
    let Some(place) = Place::of_1_gib(test) else { return };
    let mut borrowed = place.take().unwrap();
    // A folder where the draft goes: it cannot be made.
    let draft = place.entries.join(format!("setting-{}.draft", place.disk.name));
    fs::create_dir(&draft).unwrap();
    let error = borrowed.set(Bytes::mib(4)).unwrap_err();
    assert!(error.to_string().contains("not changed"), "{error}");
    assert_eq!(place.now(), 1 << 30);
    assert!(!place.journal().exists());
    drop(borrowed);
    let elsewhere = place.folder.path().join("elsewhere");
    symlink(&place.entries, &elsewhere).unwrap();
    let refused = BorrowedSetting::take_in(&elsewhere, &place.disk);
    assert!(matches!(refused, Err(BorrowError::Lock { .. })));
    assert!(restore_abandoned_in(&elsewhere).is_err());
    let missing = place.folder.path().join("missing/entries");
    let refused = BorrowedSetting::take_in(&missing, &place.disk);
    assert!(matches!(refused, Err(BorrowError::Lock { errno: Errno(libc::ENOENT), .. })));
}

/// A filesystem in memory for the journals; unmounted when dropped.
struct Journals(PathBuf);

impl Journals {
    fn new(place: &Place) -> Self {
        fs::create_dir(&place.entries).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=12k,mode=700", "trimbench-test"];
        let mounted = Command::new("mount").args(options).arg(&place.entries).status().unwrap();
        assert!(mounted.success());
        Self(place.entries.clone())
    }
}

impl Drop for Journals {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_or_read_only_folder_of_journals_changes_nothing() {
    let test = "a_full_or_read_only_folder_of_journals_changes_nothing";
    let Some(place) = Place::of_1_gib(test) else { return };
    let journals = Journals::new(&place);
    let mut borrowed = place.take().unwrap();
    borrowed.set(Bytes::mib(8)).unwrap();
    let before = fs::read(place.journal()).unwrap();
    fs::write(journals.0.join("filler"), [0_u8; 4096]).unwrap();
    let Err(BorrowError::Journal { errno, .. }) = borrowed.set(Bytes::mib(4)) else {
        panic!("changed without a journal")
    };
    assert_eq!(errno, Errno(libc::ENOSPC));
    assert_eq!(place.now(), 8 << 20);
    assert_eq!(fs::read(place.journal()).unwrap(), before, "the older journal is whole");
    let remount = |how: &str| {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{how}")]).arg(&place.entries).status().unwrap()
    };
    // What is there is put back all the same.
    drop(borrowed);
    assert_eq!((place.now(), place.journal().exists()), (1 << 30, false));
    assert!(remount("ro").success());
    let refused = place.take();
    let Err(BorrowError::Lock { errno, .. }) = refused else { panic!("taken without a journal") };
    assert_eq!((errno, place.now()), (Errno(libc::EROFS), 1 << 30));
}

#[test]
fn what_can_be_written_instead_is_the_nearest_below() {
    assert_eq!(candidates(4_294_966_784, 4096), [4_294_966_784, 4_294_963_200]);
    assert_eq!(candidates(1 << 30, 4096), [1 << 30]);
    assert_eq!(candidates(1 << 40, 4096), [1 << 40, 4_294_963_200]);
    assert_eq!(candidates(512, 4096), [512]);
    assert_eq!(candidates(512, 0), [512]);
}
