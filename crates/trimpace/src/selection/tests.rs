use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;

use rustix::fs::Mode;
use trimbench_claim::mounts::{MountError, parse_mountinfo, table_of};
use trimbench_claim::opening;

use super::facts::DeviceFacts;
use super::*;

/// A system of tables in text.
#[derive(Default)]
struct Told {
    table: String,
    /// What the table is from its second reading on; `None`: the same.
    later: Option<String>,
    files: BTreeMap<&'static str, &'static str>,
    /// By the source of the mount; a plain disk where there is none.
    devices: BTreeMap<&'static str, DeviceFacts>,
    links: BTreeMap<&'static str, &'static str>,
    /// The mount that a path leads to, where it is not the last of its table.
    leads_to: BTreeMap<&'static str, u64>,
    /// Paths that lead into a mount, not to its root.
    inner: Vec<&'static str>,
    /// Mounts whose directory may not be written to.
    closed: Vec<u64>,
    readings: Cell<u32>,
}

fn disk() -> DeviceFacts {
    DeviceFacts {
        name: "sda1".to_owned(),
        granularity: Some(512),
        is_read_only: false,
        removable: None,
        looped: None,
        degraded: None,
    }
}

fn of(table: &str) -> Told {
    Told { table: table.to_owned(), ..Told::default() }
}

impl SystemFacts for Told {
    fn mounts(&self) -> Result<Vec<Mount>, MountError> {
        let readings = self.readings.replace(self.readings.get() + 1);
        let later = self.later.as_ref().filter(|_| readings > 0);
        Ok(parse_mountinfo(later.unwrap_or(&self.table)))
    }

    fn file(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let path = path.to_str().unwrap();
        if path == OWN_TABLE {
            return Ok(Some(self.table.clone().into_bytes()));
        }
        Ok(self.files.get(path).map(|text| text.as_bytes().to_vec()))
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        let Some(text) = path.to_str() else { return Ok(path.to_owned()) };
        if text.contains("nowhere") {
            return Err(Errno(libc::ENOENT));
        }
        Ok(self.links.get(text).map_or_else(|| path.to_owned(), PathBuf::from))
    }

    fn devices(&self, mount: &Mount) -> Vec<DeviceFacts> {
        let source = mount.source.to_str().unwrap_or("/dev/other");
        match self.devices.get(source) {
            Some(device) => vec![device.clone()],
            None if source == "/dev/unknown" => Vec::new(),
            None => vec![disk()],
        }
    }

    fn hold(&self, path: &Path) -> Result<HeldDirectory, Errno> {
        let text = path.to_str().unwrap_or_default();
        if text.contains("gone") {
            return Err(Errno(libc::ENOENT));
        }
        if text.ends_with("file") {
            return Err(Errno(libc::ENOTDIR));
        }
        let mounts = parse_mountinfo(self.later.as_ref().unwrap_or(&self.table));
        let above = |mount: &&Mount| path.starts_with(&mount.mount_point);
        let id = self.leads_to.get(text).copied();
        let mount = match id {
            Some(id) => mounts.iter().find(|mount| mount.id == id).unwrap(),
            None => mounts
                .iter()
                .filter(above)
                .max_by_key(|mount| mount.mount_point.components().count())
                .unwrap(),
        };
        let hold = rustix::fs::open("/", opening::DIRECTORY, Mode::empty()).unwrap();
        let device = mount.device;
        Ok(HeldDirectory { hold, mount: mount.id, device, is_root: !self.inner.contains(&text) })
    }

    fn open(&self, held: &HeldDirectory) -> Result<OwnedFd, Errno> {
        if self.closed.contains(&held.mount) {
            return Err(Errno(libc::EROFS));
        }
        self.open_named(held)
    }

    fn open_named(&self, _: &HeldDirectory) -> Result<OwnedFd, Errno> {
        Ok(rustix::fs::open("/", opening::DIRECTORY, Mode::empty()).unwrap())
    }
}

fn chosen(selection: &Selection) -> Vec<&Path> {
    selection.chosen.iter().map(|chosen| chosen.mount.mount_point.as_path()).collect()
}

fn reason<'a>(selection: &'a Selection, mount_point: &str) -> &'a SkipReason {
    let is_it = |skipped: &&SkippedMount| skipped.mount_point == Path::new(mount_point);
    let skipped = selection.skipped.iter().find(is_it);
    &skipped.unwrap_or_else(|| panic!("{mount_point} is not skipped: {selection:?}")).reason
}

fn all(system: &Told) -> Selection {
    select_of(system, &WhichMounts::All, None).unwrap()
}

const MACHINE: &str = "\
20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
21 20 0:20 / /proc rw - proc proc rw
22 20 0:21 / /run rw - tmpfs tmpfs rw
23 20 0:22 / /net rw - nfs4 server:/export rw
24 20 8:2 / /ro ro,relatime - ext4 /dev/sda2 rw
25 20 8:3 / /ro-below rw - ext4 /dev/sda3 ro
26 20 0:30 /@ /data rw - btrfs /dev/sdb rw,subvol=/@
27 20 0:30 /@home /home rw - btrfs /dev/sdb rw,subvol=/@home
28 20 8:1 /srv /bound rw - ext4 /dev/sda1 rw
29 20 0:40 / /auto rw - autofs systemd-1 rw
30 20 0:41 / /zfs rw - zfs pool/data rw
31 20 8:5 / /boot rw - vfat /dev/sda5 rw
";

#[test]
fn all_means_each_local_writable_filesystem_once_the_last_first() {
    let selection = all(&of(MACHINE));
    assert_eq!(chosen(&selection), ["/boot", "/data", "/"].map(Path::new));
    assert!(selection.failed.is_empty());
    for (mount_point, expected) in [
        ("/proc", "proc has no disk of its own"),
        ("/run", "tmpfs has no disk of its own"),
        ("/net", "nfs4 is on another machine"),
        ("/ro", "it is mounted read-only"),
        ("/ro-below", "it is mounted read-only"),
        ("/home", "it is the filesystem on `/data`"),
        ("/bound", "it is the filesystem on `/`"),
        ("/auto", "autofs has no disk of its own"),
        ("/zfs", "it is on no block device"),
    ] {
        assert_eq!(reason(&selection, mount_point).to_string(), expected, "{mount_point}");
    }
}

#[test]
fn types_limit_what_is_mounted() {
    let types = |types| {
        let selection = select_of(&of(MACHINE), &WhichMounts::All, Some(types)).unwrap();
        chosen(&selection).into_iter().map(|path| path.to_str().unwrap().to_owned()).collect()
    };
    let of_types: Vec<String> = types("ext4,vfat");
    assert_eq!(of_types, ["/boot", "/"]);
    let of_types: Vec<String> = types("noext4,vfat");
    assert_eq!(of_types, ["/data"]);
}

#[test]
fn devices_decide() {
    let table = "\
        20 1 8:1 / /none rw - ext4 /dev/a rw\n\
        21 1 8:2 / /locked rw - ext4 /dev/b rw\n\
        22 1 8:3 / /stick rw - ext4 /dev/c rw\n\
        23 1 8:4 / /image rw - ext4 /dev/d rw\n\
        24 1 8:5 / /unknown rw - bcachefs /dev/unknown rw\n\
        25 1 8:6 / /silent rw - ext4 /dev/e rw\n\
        26 1 8:7 / /array rw - ext4 /dev/f rw\n\
        27 1 8:8 / /broken rw,emergency_ro - ext4 /dev/g rw\n";
    let mut system = of(table);
    system.devices = BTreeMap::from([
        ("/dev/a", DeviceFacts { granularity: Some(0), ..disk() }),
        ("/dev/b", DeviceFacts { is_read_only: true, ..disk() }),
        ("/dev/c", DeviceFacts { removable: Some("sdc".to_owned()), ..disk() }),
        ("/dev/d", DeviceFacts { looped: Some("loop3".to_owned()), ..disk() }),
        ("/dev/e", DeviceFacts { granularity: None, ..disk() }),
        ("/dev/f", DeviceFacts { degraded: Some("md0".to_owned()), ..disk() }),
    ]);
    let selection = all(&system);
    assert_eq!(chosen(&selection), ["/silent", "/unknown"].map(Path::new));
    assert!(matches!(reason(&selection, "/none"), SkipReason::NoDiscards { .. }));
    assert!(matches!(reason(&selection, "/locked"), SkipReason::ReadOnlyDevice { .. }));
    assert!(reason(&selection, "/stick").to_string().contains("removable disk sdc"));
    assert!(reason(&selection, "/image").to_string().contains("loop device loop3"));
    assert!(reason(&selection, "/array").to_string().contains("md0 lacks a device"));
    assert_eq!(reason(&selection, "/broken"), &SkipReason::ReadOnly);
    // Named in a list of the administrator's, or by themselves, the last two are meant.
    system.files = BTreeMap::from([(FSTAB, "/dev/c /stick ext4\n/dev/d /image ext4\n")]);
    let selection = select_of(&system, &WhichMounts::Fstab, None).unwrap();
    assert_eq!(chosen(&selection), ["/image", "/stick"].map(Path::new));
    let named = WhichMounts::Named(PathBuf::from("/image"));
    assert_eq!(chosen(&select_of(&system, &named, None).unwrap()), [Path::new("/image")]);
    // What lacks a device is not trimmed either way.
    let named = WhichMounts::Named(PathBuf::from("/array"));
    let error = select_of(&system, &named, None).unwrap_err();
    assert!(matches!(error, SelectionError::Degraded { .. }), "{error}");
}

#[test]
fn mounts_of_users_and_of_fuse_are_not_meant_by_all() {
    let mut system = of("\
        20 1 8:1 / /media/a rw - ext4 /dev/a rw\n\
        21 1 8:2 / /media/b rw - fuseblk /dev/b rw\n\
        22 1 8:3 / /media/c rw - ext4 /dev/c rw\n");
    system.files = BTreeMap::from([(UTAB, "SRC=/dev/a TARGET=/media/a ROOT=/ OPTS=user=anna\n")]);
    let selection = all(&system);
    assert_eq!(chosen(&selection), [Path::new("/media/c")]);
    assert!(reason(&selection, "/media/a").to_string().contains("user=anna"));
    assert_eq!(reason(&selection, "/media/b"), &SkipReason::Fuse);
}

#[test]
fn fstab_names_what_is_mounted_and_the_root_filesystem() {
    let mut system = of(MACHINE);
    system.files = BTreeMap::from([(
        FSTAB,
        "LABEL=boot /boot// vfat defaults\n\
         UUID=1 /link auto defaults\n\
         UUID=2 /absent ext4 defaults\n\
         UUID=3 none swap sw\n\
         tmpfs /run tmpfs defaults\n\
         /srv /bound none bind\n",
    )]);
    system.links = BTreeMap::from([("/link", "/home")]);
    let selection = select_of(&system, &WhichMounts::Fstab, None).unwrap();
    assert_eq!(chosen(&selection), ["/", "/home", "/boot"].map(Path::new));
    assert_eq!(reason(&selection, "/absent"), &SkipReason::NotMounted);
    assert_eq!(reason(&selection, "none"), &SkipReason::Swap);
    assert!(matches!(reason(&selection, "/bound"), SkipReason::Pseudo { .. }));
    // Another list has no root filesystem of its own accord.
    system.files = BTreeMap::from([("/list", "LABEL=boot /boot vfat defaults\n")]);
    let list = WhichMounts::listed_in(OsStr::new("/missing:/list:/proc/self/mountinfo"));
    assert_eq!(chosen(&select_of(&system, &list, None).unwrap()), [Path::new("/boot")]);
}

#[test]
fn the_first_list_with_a_line_counts() {
    let mut system = of(MACHINE);
    system.files = BTreeMap::from([("/empty", "# nothing\n")]);
    let list = WhichMounts::listed_in(OsStr::new("/empty:/missing:/proc/self/mountinfo"));
    let selection = select_of(&system, &list, None).unwrap();
    assert_eq!(chosen(&selection), ["/boot", "/data", "/"].map(Path::new));
    let list = WhichMounts::listed_in(OsStr::new(":/empty:/missing"));
    let error = select_of(&system, &list, None).unwrap_err();
    assert!(error.to_string().contains("`/empty`, `/missing`"), "{error}");
}

#[test]
fn an_option_of_fstab_forbids_trimming_also_by_all() {
    let mut system = of(MACHINE);
    system.files = BTreeMap::from([(FSTAB, "UUID=1 /boot vfat rw,X-fstrim.notrim 0 0\n")]);
    let selection = all(&system);
    assert_eq!(chosen(&selection), ["/data", "/"].map(Path::new));
    assert_eq!(reason(&selection, "/boot"), &SkipReason::NoTrim);
    let selection = select_of(&system, &WhichMounts::Fstab, None).unwrap();
    assert_eq!(chosen(&selection), [Path::new("/")]);
}

#[test]
fn what_is_mounted_over_is_skipped() {
    let mut system = of("\
        20 1 8:1 / / rw - ext4 /dev/a rw\n\
        21 20 8:2 / /x rw - ext4 /dev/b rw\n\
        22 21 8:3 / /x rw - ext4 /dev/c rw\n\
        23 20 8:4 / /y/gone rw - ext4 /dev/d rw\n\
        24 20 8:5 / /z/deep rw - ext4 /dev/e rw\n\
        25 20 8:6 / /z rw - ext4 /dev/f rw\n\
        26 20 8:7 / /file rw - ext4 /dev/g rw\n\
        27 20 8:8 / /shut rw - ext4 /dev/h rw\n");
    system.leads_to = BTreeMap::from([("/x", 22), ("/z/deep", 25)]);
    system.closed = vec![27];
    let selection = all(&system);
    assert_eq!(chosen(&selection), ["/z", "/x", "/"].map(Path::new));
    assert_eq!(selection.chosen[1].mount.id, 22);
    assert_eq!(reason(&selection, "/x"), &SkipReason::Hidden { by: None });
    assert_eq!(reason(&selection, "/y/gone"), &SkipReason::Unreachable);
    assert_eq!(reason(&selection, "/z/deep"), &SkipReason::Hidden { by: Some("/z".into()) });
    assert_eq!(reason(&selection, "/file"), &SkipReason::NoDirectory);
    assert_eq!(reason(&selection, "/shut"), &SkipReason::Closed { errno: Errno(libc::EROFS) });
}

#[test]
fn a_mount_that_is_exchanged_meanwhile_is_an_error_with_both_names() {
    let before = "20 1 8:1 / / rw - ext4 /dev/a rw\n21 20 8:2 / /x rw - ext4 /dev/b rw\n";
    for after in [
        // Mounted over, replaced, replaced by one with the same number, unmounted.
        "20 1 8:1 / / rw - ext4 /dev/a rw\n21 20 8:2 / /x rw - ext4 /dev/b rw\n\
         22 21 8:3 / /x rw - xfs /dev/c rw\n",
        "20 1 8:1 / / rw - ext4 /dev/a rw\n22 20 8:3 / /x rw - xfs /dev/c rw\n",
        "20 1 8:1 / / rw - ext4 /dev/a rw\n21 20 8:3 / /x rw - xfs /dev/c rw\n",
        "20 1 8:1 / / rw - ext4 /dev/a rw\n",
    ] {
        let exchanged = || {
            let mut system = of(before);
            system.later = Some(after.to_owned());
            if after.contains("22 21") {
                system.leads_to = BTreeMap::from([("/x", 22)]);
            }
            system
        };
        let selection = all(&exchanged());
        assert_eq!(chosen(&selection), [Path::new("/")], "{after}");
        let [error] = &selection.failed[..] else { panic!("{selection:?}") };
        let text = error.to_string();
        let now = if after.contains("/dev/c") { "`/dev/c` (xfs" } else { "`/dev/a` (ext4" };
        assert!(text.contains("`/dev/b` (ext4, mount 21)") && text.contains(now), "{text}");
        let named = WhichMounts::Named(PathBuf::from("/x"));
        let error = select_of(&exchanged(), &named, None).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn what_is_not_the_root_of_its_mount_is_not_taken_for_it() {
    let mut system = of("20 1 8:1 / / rw - ext4 /dev/a rw\n21 20 8:2 / /x rw - ext4 /dev/b rw\n");
    system.inner = vec!["/x"];
    let selection = all(&system);
    assert_eq!(chosen(&selection), [Path::new("/")]);
    assert_eq!(selection.skipped.len() + selection.failed.len(), 1);
    let named = WhichMounts::Named(PathBuf::from("/x"));
    assert!(matches!(select_of(&system, &named, None), Err(SelectionError::Exchanged { .. })));
}

#[test]
fn a_named_directory_must_be_a_mount_point() {
    let mut system = of(MACHINE);
    system.links = BTreeMap::from([("/link", "/home")]);
    let named = |path: &str| select_of(&system, &WhichMounts::Named(PathBuf::from(path)), None);
    assert_eq!(chosen(&named("/link").unwrap()), [Path::new("/home")]);
    // Rules are for lists: who names it means it.
    assert_eq!(chosen(&named("/ro").unwrap()), [Path::new("/ro")]);
    assert_eq!(chosen(&named("/proc").unwrap()), [Path::new("/proc")]);
    for (path, expected) in [
        (
            "/home/anna",
            "`/home/anna`: not a mount point (EINVAL); its filesystem is mounted on `/home`",
        ),
        ("/a-file", "`/a-file`: not a directory"),
        ("/nowhere", "cannot open `/nowhere`: ENOENT (no such file or directory)"),
    ] {
        assert_eq!(named(path).unwrap_err().to_string(), expected);
    }
}

#[test]
fn names_of_any_bytes_are_chosen_exactly_and_printed_escaped() {
    let line = b"20 1 8:1 / /a\\012b\x1b[2J\xff\\134 rw - ext4 /dev/a rw\n\
        21 1 8:2 / /ro\\012\x1b ro - ext4 /dev/b rw\n";
    let selection = all(&of(&table_of(line)));
    let point = selection.chosen[0].mount.mount_point.as_os_str();
    assert_eq!(point.as_bytes(), b"/a\nb\x1b[2J\xff\\");
    let printed = selection.skipped[0].to_string();
    assert!(!printed.contains(['\n', '\x1b']), "{printed:?}");
    assert!(printed.starts_with("/ro\\n\\u{1b}: skipped: "), "{printed}");
    let path = PathBuf::from(OsStr::from_bytes(b"/a\n\xff\x1b"));
    let error = select_of(&of(MACHINE), &WhichMounts::Named(path), None).unwrap_err();
    assert!(!error.to_string().contains(['\n', '\x1b']), "{error}");
}
