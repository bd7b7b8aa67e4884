use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use MountDiscard::{AtCommit, Deferred, Off};

use super::*;
use crate::testing::{borrow_until_killed, borrower, kill};

/// A filesystem in an image of our own with its journals; unmounted when dropped.
struct Place {
    folder: tempfile::TempDir,
    entries: PathBuf,
    mounted: PathBuf,
}

impl Place {
    /// `None` where there can be none, which is said.
    fn new(test: &str, filesystem: &str, mkfs: &[&str], options: &str) -> Option<Self> {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (image, mounted) = (folder.path().join("image"), folder.path().join("mounted"));
        fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        fs::create_dir(&mounted).unwrap();
        let made = Command::new(format!("mkfs.{filesystem}")).args(mkfs).arg(&image).output();
        let options = format!("loop,{options}");
        let mount =
            || Command::new("mount").args(["-o", &options]).args([&image, &mounted]).status();
        if !made.is_ok_and(|made| made.status.success()) || !mount().is_ok_and(|it| it.success()) {
            eprintln!("SKIP {test}: it needs root, loop devices and {filesystem}");
            return None;
        }
        let entries = folder.path().join("entries");
        Some(Self { folder, entries, mounted })
    }

    fn ext4(test: &str, options: &str) -> Option<Self> {
        Self::new(test, "ext4", &["-q"], options)
    }

    fn take(&self) -> Result<BorrowedMountOption, MountOptionError> {
        BorrowedMountOption::take_in(&self.entries, &self.mounted)
    }

    fn mount(&self) -> Mount {
        mount_of(&self.mounted).unwrap()
    }

    fn now(&self) -> MountDiscard {
        mount_discard(&self.mount())
    }

    fn remounted_by_somebody_else(&self, option: &str) {
        let option = format!("remount,{option}");
        let status = Command::new("mount").args(["-o", &option]).arg(&self.mounted).status();
        assert!(status.unwrap().success(), "{option}");
    }

    fn unmount(&self) {
        let status = Command::new("umount").arg(&self.mounted).status();
        assert!(status.unwrap().success());
    }

    fn journal(&self) -> PathBuf {
        self.entries.join(format!("mount-{}.json", thing(self.mount().device)))
    }

    fn restore_abandoned(&self) -> Vec<MountRestored> {
        restore_abandoned_in(&self.entries).unwrap()
    }

    /// A process that has switched to `discard`, and waits to be killed.
    fn borrower(&self, test: &str) -> Child {
        let (test, mounted) = (format!("mount_option::tests::{test}"), self.mounted.to_str());
        borrower(&test, &self.entries, mounted.unwrap(), || self.now() == AtCommit)
    }

    fn kill_a_borrower(&self, test: &str) {
        kill(self.borrower(test));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mounted).stderr(Stdio::null()).status();
    }
}

/// In the process that is to be killed.
fn switch_until_killed() {
    borrow_until_killed(|entries, mounted| {
        let mut borrowed = BorrowedMountOption::take_in(entries, Path::new(mounted)).unwrap();
        borrowed.set(AtCommit).unwrap();
        borrowed
    });
}

#[test]
fn ext4_is_switched_and_put_back_and_all_other_options_stay() {
    let test = "ext4_is_switched_and_put_back_and_all_other_options_stay";
    // A remount that does not name `lazytime` clears it.
    let options = "nodiscard,lazytime,noatime,nosuid,commit=17,stripe=8,data=ordered";
    let Some(place) = Place::ext4(test, options) else { return };
    let before = place.mount().options;
    assert!(before.contains("lazytime") && before.contains("commit=17"), "{before}");
    let mut borrowed = place.take().unwrap();
    assert_eq!((borrowed.original(), borrowed.recovered()), (Off, None));
    for way in [AtCommit, Off, AtCommit, AtCommit] {
        borrowed.set(way).unwrap();
        assert_eq!(place.now(), way);
    }
    assert!(place.journal().exists());
    let mount_point = place.mounted.clone();
    assert_eq!(borrowed.restore(), MountRestored::PutBack { mount_point, way: Off });
    assert_eq!((place.mount().options, place.journal().exists()), (before.clone(), false));
    let mut borrowed = place.take().unwrap();
    borrowed.set(AtCommit).unwrap();
    drop(borrowed);
    assert_eq!(place.mount().options, before);
    assert_eq!(fs::read_dir(&place.entries).unwrap().count(), 0);
}

#[test]
fn an_option_of_the_superblock_counts() {
    let test = "an_option_of_the_superblock_counts";
    let Some(place) = Place::ext4(test, "nodiscard") else { return };
    // The mount table leaves an option out that the superblock has.
    place.unmount();
    let image = place.folder.path().join("image");
    let tuned = Command::new("tune2fs").args(["-o", "discard"]).arg(&image).output().unwrap();
    assert!(tuned.status.success(), "{tuned:?}");
    let mounted =
        Command::new("mount").args(["-o", "loop"]).args([&image, &place.mounted]).status();
    assert!(mounted.unwrap().success());
    assert!(!place.mount().has_option("discard"), "{}", place.mount().options);
    let mut borrowed = place.take().unwrap();
    assert_eq!(borrowed.original(), AtCommit);
    borrowed.set(Off).unwrap();
    assert_eq!(place.now(), Off);
    borrowed.set(AtCommit).unwrap();
    assert_eq!(place.now(), AtCommit);
}

#[test]
fn btrfs_is_switched_between_its_modes() {
    let test = "btrfs_is_switched_between_its_modes";
    let Some(place) = Place::new(test, "btrfs", &["-q"], "nodiscard,noatime") else { return };
    let before = place.mount().options;
    let mut borrowed = place.take().unwrap();
    for way in [Deferred, AtCommit, Off, Deferred] {
        borrowed.set(way).unwrap();
        assert_eq!(place.now(), way);
    }
    // What somebody else has set meanwhile stays.
    place.remounted_by_somebody_else("discard=sync");
    assert!(matches!(borrowed.set(Off), Err(MountOptionError::Changed { found: AtCommit, .. })));
    assert!(matches!(borrowed.restore(), MountRestored::Changed { way: Off, found: AtCommit, .. }));
    assert_eq!(place.now(), AtCommit);
    place.remounted_by_somebody_else("nodiscard");
    assert_eq!(place.mount().options, before);
}

#[test]
fn xfs_is_refused_because_its_remount_changes_nothing() {
    let test = "xfs_is_refused_because_its_remount_changes_nothing";
    let Some(place) = Place::new(test, "xfs", &["-q"], "nodiscard") else { return };
    let error = place.take().unwrap_err();
    assert!(matches!(error, MountOptionError::Fixed { .. }), "{error}");
    // The reason is true.
    place.remounted_by_somebody_else("discard");
    assert_eq!(place.now(), Off);
}

#[test]
fn a_killed_borrower_is_tidied_up_after() {
    let test = "a_killed_borrower_is_tidied_up_after";
    switch_until_killed();
    let Some(place) = Place::ext4(test, "nodiscard,lazytime") else { return };
    let before = place.mount().options;
    let child = place.borrower(test);
    assert_eq!(place.restore_abandoned(), [], "a living process keeps it");
    let Err(MountOptionError::Held { process, .. }) = place.take() else { panic!("taken twice") };
    assert_eq!((process, place.now()), (Some(child.id()), AtCommit));
    kill(child);
    let expected = MountRestored::PutBack { mount_point: place.mounted.clone(), way: Off };
    assert_eq!(place.restore_abandoned(), [expected]);
    assert_eq!((place.mount().options, place.journal().exists()), (before, false));
    assert_eq!(place.restore_abandoned(), []);
    // Who borrows after a kill knows what it was at first.
    place.kill_a_borrower(test);
    let borrowed = place.take().unwrap();
    assert_eq!((borrowed.original(), place.now()), (Off, Off));
    assert!(matches!(borrowed.recovered(), Some(MountRestored::PutBack { .. })));
}

#[test]
fn journals_of_others_are_not_trusted_and_what_is_gone_is_left_alone() {
    let test = "journals_of_others_are_not_trusted_and_what_is_gone_is_left_alone";
    switch_until_killed();
    let Some(place) = Place::ext4(test, "nodiscard") else { return };
    place.kill_a_borrower(test);
    let (journal, whole) = (place.journal(), fs::read_to_string(place.journal()).unwrap());
    let torn = [
        whole[..whole.len() - 1].to_owned(),
        String::new(),
        whole.replace("\"version\":1", "\"version\":2"),
        whole.replace("{\"version\"", "{\"more\":1,\"version\""),
        whole.replace("\"original\":\"nodiscard\"", "\"original\":\"ro\""),
        whole.replace("\"device\":[", "\"device\":[1"),
    ];
    for content in torn {
        fs::write(&journal, &content).unwrap();
        let errno = Errno(libc::EBADMSG);
        let unreadable = MountRestored::Unreadable { path: journal.clone(), errno };
        assert!(unreadable.needs_attention());
        assert_eq!(place.restore_abandoned(), [unreadable], "{content}");
        assert!(matches!(place.take(), Err(MountOptionError::Unreadable { .. })), "{content}");
        assert_eq!(place.now(), AtCommit, "{content}");
    }
    let mount_point = place.mounted.clone();
    fs::write(&journal, whole.replace(&boot_id().unwrap(), "other")).unwrap();
    let other_boot = MountRestored::OtherBoot { mount_point: mount_point.clone() };
    assert_eq!(place.restore_abandoned(), [other_boot]);
    fs::write(&journal, &whole).unwrap();
    place.unmount();
    assert_eq!(place.restore_abandoned(), [MountRestored::Gone { mount_point }]);
    assert!(!journal.exists());
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let test = "without_a_journal_nothing_is_changed";
    let Some(place) = Place::ext4(test, "nodiscard") else { return };
    let mut borrowed = place.take().unwrap();
    // A folder where the draft goes: it cannot be made.
    fs::create_dir(place.journal().with_extension("draft")).unwrap();
    let error = borrowed.set(AtCommit).unwrap_err();
    assert!(error.to_string().contains("not changed"), "{error}");
    assert_eq!((place.now(), place.journal().exists()), (Off, false));
}

#[test]
fn what_cannot_be_put_back_is_said_with_the_line_to_type() {
    let failed = MountRestored::Failed {
        mount_point: "/srv/my data".into(),
        filesystem: "btrfs".to_owned(),
        way: AtCommit,
        reason: "Operation not permitted".to_owned(),
    };
    assert!(failed.needs_attention());
    let text = failed.to_string();
    assert!(text.contains("NOT mounted as before: Operation not permitted"), "{text}");
    assert!(text.contains("`mount -o remount,discard=sync '/srv/my data'`"), "{text}");
}
