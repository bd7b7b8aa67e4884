use std::fs;
use std::os::fd::AsRawFd as _;

use super::*;

fn made(folder: &Path) -> (OwnedFd, ScratchGuard) {
    ScratchImage::create(folder, Bytes::mib(8)).unwrap().into_parts()
}

#[test]
fn it_has_no_name_and_nobody_else_may_open_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, guard) = made(folder.path());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let status = rustix::fs::fstat(&file).unwrap();
    assert_eq!((status.st_nlink, status.st_size, status.st_mode & 0o777), (0, 8 << 20, 0o600));
    rustix::fs::ftruncate(&file, 8 << 20).unwrap();
    guard.check().unwrap();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = rustix::fs::linkat(
        rustix::fs::CWD,
        &path,
        rustix::fs::CWD,
        folder.path().join("name"),
        rustix::fs::AtFlags::SYMLINK_FOLLOW,
    );
    assert!(link.is_err(), "it can be given no name");
    drop(fs::File::open(&path).unwrap());
    let error = guard.check().unwrap_err();
    assert!(error.to_string().ends_with("another process has opened it"), "{error}");
    assert!(guard.check().is_err(), "that is not forgotten");
}

#[test]
fn a_change_of_its_size_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (file, guard) = made(folder.path());
    rustix::fs::ftruncate(&file, 1).unwrap();
    let error = guard.check().unwrap_err();
    assert!(error.to_string().contains("it had 8MiB and has 1"), "{error}");
}

#[test]
fn what_there_is_no_room_for_and_what_is_no_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let huge = ScratchImage::create(folder.path(), Bytes(1 << 60)).unwrap_err();
    assert!(matches!(huge, ScratchError::Full { .. }), "{huge}");
    let missing = ScratchImage::create(&folder.path().join("missing"), Bytes::mib(8)).unwrap_err();
    assert!(missing.to_string().contains("ENOENT"), "{missing}");
    // What others in the same filesystem have announced is theirs.
    let status = rustix::fs::statvfs(folder.path()).unwrap();
    let (free, reserve) = free_and_reserve(&status);
    let mount = mount_of(folder.path()).unwrap();
    let all = free.saturating_sub(reserve);
    let other = RoomPromise::new(mount.device, all).unwrap();
    let error = ScratchImage::create(folder.path(), Bytes::gib(1)).unwrap_err();
    assert!(matches!(&error, ScratchError::Full { promised, .. } if *promised >= all), "{error}");
    drop(other);
    made(folder.path());
}
