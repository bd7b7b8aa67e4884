//! The choice of mounts on real filesystems, in a mount namespace of the test's own, beside the
//! real fstrim(8).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stderr, reason = "tests report what they skip")]

mod common;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use common::apart;
use trimpace::selection::{Selection, SelectionError, SkipReason, WhichMounts, select};

fn run(program: &str, arguments: &[&std::ffi::OsStr]) -> Vec<u8> {
    let output = Command::new(program).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    output.stdout
}

fn mount(arguments: &[&str], place: &Path) {
    fs::create_dir_all(place).unwrap();
    let mut all: Vec<&std::ffi::OsStr> = arguments.iter().map(std::ffi::OsStr::new).collect();
    all.push(place.as_os_str());
    run("mount", &all);
}

/// An ext4 on a loop device, which goes with the last mount of this namespace.
fn ext4(folder: &Path, name: &str, place: &Path) {
    let image = folder.join(name);
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    run("mkfs.ext4", &["-q".as_ref(), image.as_os_str()]);
    mount(&["-o", "loop", image.to_str().unwrap()], place);
}

fn points(selection: &Selection) -> BTreeSet<PathBuf> {
    selection.chosen.iter().map(|chosen| chosen.mount.mount_point.clone()).collect()
}

/// Those of ours that fstrim would have trimmed, which knows no such rule.
fn unasked(selection: &Selection) -> BTreeSet<PathBuf> {
    let is_ours = |reason: &SkipReason| {
        matches!(
            reason,
            SkipReason::Loop { .. }
                | SkipReason::Removable { .. }
                | SkipReason::Fuse
                | SkipReason::OfUser { .. }
        )
    };
    let skipped = selection.skipped.iter().filter(|skipped| is_ours(&skipped.reason));
    skipped.map(|skipped| skipped.mount_point.clone()).collect()
}

/// What the real fstrim would trim.
fn fstrim(arguments: &[&str]) -> BTreeSet<PathBuf> {
    let arguments: Vec<&std::ffi::OsStr> =
        [arguments, &["--dry-run", "--verbose"]].concat().into_iter().map(AsRef::as_ref).collect();
    let printed = run("fstrim", &arguments);
    let end = b": 0 B (dry run) trimmed";
    let point = |line: &[u8]| {
        let length = line.windows(end.len()).position(|window| window == end)?;
        Some(PathBuf::from(OsString::from_vec(line[..length].to_vec())))
    };
    printed.split(|byte| *byte == b'\n').filter_map(point).collect()
}

fn reason_of<'a>(selection: &'a Selection, place: &Path) -> &'a SkipReason {
    let skipped = selection.skipped.iter().find(|skipped| skipped.mount_point == place);
    &skipped.unwrap_or_else(|| panic!("{} is not skipped", place.display())).reason
}

#[test]
fn lists_mean_what_they_mean_to_fstrim() {
    let Some(folder) = apart("lists_mean_what_they_mean_to_fstrim") else { return };
    let [a, b, bound, read_only, over, deep, odd] =
        ["a", "b", "bound", "read-only", "over", "under/deep", "o d\\d"].map(|it| folder.join(it));
    ext4(&folder, "a.img", &a);
    mount(&["--bind", a.to_str().unwrap()], &bound);
    ext4(&folder, "b.img", &b);
    // Nobody may write into it, but it can be trimmed.
    run("chattr", &["+i".as_ref(), b.as_os_str()]);
    ext4(&folder, "ro.img", &read_only);
    run("mount", &["-o".as_ref(), "remount,ro".as_ref(), read_only.as_os_str()]);
    ext4(&folder, "over.img", &over);
    mount(&["-t", "tmpfs", "none"], &over);
    ext4(&folder, "deep.img", &deep);
    mount(&["-t", "tmpfs", "none"], deep.parent().unwrap());
    ext4(&folder, "odd.img", &odd);

    let all = select(&WhichMounts::All, None).unwrap();
    assert!(all.failed.is_empty(), "{:?}", all.failed);
    // Those that another test mounts on one file twice are one filesystem to fstrim, too.
    let here = |set: BTreeSet<PathBuf>| -> BTreeSet<PathBuf> {
        set.into_iter().filter(|path| path.starts_with(&folder) || path == Path::new("/")).collect()
    };
    let theirs = here(fstrim(&["--all"]));
    let ours = here(points(&all).union(&unasked(&all)).cloned().collect());
    // The rule about loop devices comes before the one about bind mounts.
    let ours: BTreeSet<PathBuf> = ours.into_iter().filter(|path| *path != bound).collect();
    // A mount below another is skipped for its device before its path is looked at.
    let ours: BTreeSet<PathBuf> = ours.into_iter().filter(|path| *path != deep).collect();
    assert_eq!(ours, theirs);
    assert!(theirs.contains(&a) && theirs.contains(&odd), "{theirs:?}");
    assert!(matches!(reason_of(&all, &read_only), SkipReason::ReadOnly));
    assert!(matches!(reason_of(&all, &a), SkipReason::Loop { .. }));

    // In a list of the administrator's loop devices are meant: the sets are equal.
    let listed = [&a, &bound, &b, &read_only, &over, &deep, &odd].map(|place| {
        let escaped = place.to_str().unwrap().replace('\\', "\\134").replace(' ', "\\040");
        // fstrim goes by the name of the device: that of the mount, or of one that is none.
        format!("{} {escaped} auto defaults 0 0\n", source_of(place))
    });
    let list = folder.join("list");
    fs::write(&list, listed.concat() + "none none swap sw\n/dev/none /nowhere ext4 rw\n").unwrap();
    let which = WhichMounts::ListedIn(vec![PathBuf::from("/missing"), list.clone()]);
    let chosen = select(&which, None).unwrap();
    let ours = points(&chosen);
    let mut theirs = fstrim(&["--listed-in", &format!("/missing:{}", list.display())]);
    // fstrim would trim the tmpfs that is mounted over it, in vain.
    assert!(theirs.remove(&over));
    assert_eq!(ours, theirs);
    assert_eq!(ours, BTreeSet::from([a.clone(), b.clone(), odd]));
    assert!(
        matches!(reason_of(&chosen, &bound), SkipReason::Same { mount_point } if *mount_point == a)
    );
    assert!(matches!(reason_of(&chosen, &over), SkipReason::Pseudo { .. }));
    assert_eq!(reason_of(&chosen, &deep), &SkipReason::Unreachable);
    assert_eq!(reason_of(&chosen, &read_only), &SkipReason::ReadOnly);
    // What was chosen is open: its descriptor leads to the filesystem.
    for mount in &chosen.chosen {
        let found = rustix::fs::fstat(&mount.directory).unwrap();
        let numbers = (rustix::fs::major(found.st_dev), rustix::fs::minor(found.st_dev));
        assert_eq!(numbers, mount.mount.device);
    }
}

/// The device that is mounted there, first of all: what is mounted over it comes later.
fn source_of(place: &Path) -> String {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let escaped = place.to_str().unwrap().replace('\\', "\\134").replace(' ', "\\040");
    let line = table.lines().find(|line| line.split(' ').nth(4) == Some(&escaped)).unwrap();
    line.split_once(" - ").unwrap().1.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_named_directory_is_the_mount_on_it_or_an_error() {
    let Some(folder) = apart("a_named_directory_is_the_mount_on_it_or_an_error") else { return };
    let place = folder.join("place");
    ext4(&folder, "image", &place);
    let named = |path: &Path| select(&WhichMounts::Named(path.to_owned()), None);
    assert_eq!(points(&named(&place).unwrap()), BTreeSet::from([place.clone()]));
    let link = folder.join("link");
    std::os::unix::fs::symlink(&place, &link).unwrap();
    assert_eq!(points(&named(&link).unwrap()), BTreeSet::from([place.clone()]));
    let inside = place.join("lost+found");
    let Err(SelectionError::NoMountPoint { on, .. }) = named(&inside) else { panic!("chosen") };
    assert_eq!(on, Some(place.clone()));
    let file = place.join("file");
    File::create(&file).unwrap();
    assert!(matches!(named(&file), Err(SelectionError::NoDirectory { .. })));
    // What is mounted over it is what its name means now.
    mount(&["-t", "tmpfs", "none"], &place);
    let over = named(&place).unwrap();
    assert_eq!(over.chosen[0].mount.filesystem, "tmpfs");
    let odd = folder.join(std::ffi::OsStr::from_bytes(b"line\nend\xff\x1b"));
    fs::create_dir(&odd).unwrap();
    run("mount", &["-t".as_ref(), "tmpfs".as_ref(), "none".as_ref(), odd.as_os_str()]);
    assert_eq!(points(&named(&odd).unwrap()), BTreeSet::from([odd]));
}

#[test]
fn subvolumes_of_btrfs_are_one_filesystem() {
    let test = "subvolumes_of_btrfs_are_one_filesystem";
    let there = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !there.lines().any(|line| line.ends_with("\tbtrfs"))
        || Command::new("mkfs.btrfs").arg("-V").output().is_err()
    {
        eprintln!("SKIP {test}: no btrfs");
        return;
    }
    let Some(folder) = apart(test) else { return };
    let (top, sub) = (folder.join("top"), folder.join("sub"));
    let image = folder.join("image");
    File::create(&image).unwrap().set_len(256 << 20).unwrap();
    run("mkfs.btrfs", &["-q".as_ref(), image.as_os_str()]);
    mount(&["-o", "loop", image.to_str().unwrap()], &top);
    run("btrfs", &["subvolume".as_ref(), "create".as_ref(), top.join("s").as_os_str()]);
    mount(&["-o", "subvol=s", &source_of(&top)], &sub);
    let list = folder.join("list");
    fs::write(
        &list,
        [&top, &sub].map(|it| format!("{} {} auto\n", source_of(&top), it.display())).concat(),
    )
    .unwrap();
    let chosen = select(&WhichMounts::ListedIn(vec![list.clone()]), None).unwrap();
    assert_eq!(points(&chosen), BTreeSet::from([top.clone()]));
    assert_eq!(points(&chosen), fstrim(&["--listed-in", list.to_str().unwrap()]));
    assert_eq!(reason_of(&chosen, &sub), &SkipReason::Same { mount_point: top });
    let named = select(&WhichMounts::Named(sub.clone()), None).unwrap();
    assert_eq!(points(&named), BTreeSet::from([sub]));
}

#[test]
fn a_directory_that_is_mounted_over_meanwhile_is_never_taken_for_another() {
    let test = "a_directory_that_is_mounted_over_meanwhile_is_never_taken_for_another";
    let Some(folder) = apart(test) else { return };
    let place = folder.join("place");
    ext4(&folder, "image", &place);
    let list = folder.join("list");
    fs::write(&list, format!("none {} auto\n", place.display())).unwrap();
    let ended = &AtomicBool::new(false);
    let (mut chosen, mut over, mut refused) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let flags = rustix::mount::MountFlags::empty();
                rustix::mount::mount("none", &place, "tmpfs", flags, None).unwrap();
                rustix::mount::unmount(&place, rustix::mount::UnmountFlags::DETACH).unwrap();
            }
        });
        let asked = [WhichMounts::Named(place.clone()), WhichMounts::ListedIn(vec![list])];
        for which in asked.iter().cycle().take(10_000) {
            match select(which, None) {
                Ok(selection) => {
                    refused += selection.failed.len();
                    for mount in &selection.chosen {
                        chosen += 1;
                        over += u32::from(mount.mount.filesystem == "tmpfs");
                        let found = rustix::fs::fstatfs(&mount.directory).unwrap();
                        let is_ext4 = found.f_type == 0xef53;
                        assert_eq!(is_ext4, mount.mount.filesystem == "ext4", "{mount:?}");
                    }
                }
                Err(SelectionError::Exchanged { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    eprintln!("{chosen} chosen, {over} of them over it, {refused} refused");
    assert!(chosen > over);
}
