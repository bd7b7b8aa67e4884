use super::Refusal::{
    BackingGone, Busy, Changed, Denied, Empty, Gone, HardLinked, InUse, Indirect, Locked,
    LoopOverDevice, Missing, Mount, NoSuchName, NotNamed, NotOpened, NotStored, Probe, Unknown,
    Unreachable, WeakName, WrongName, WrongType, Zoned,
};
use super::Use::{Attached, Held, Member, Mounted, Open, Swap};
use super::*;

/// A refusal, its name, and what it says: the message, and what to do.
type Row = (Refusal, &'static str, &'static str, &'static str);

const NAME_IT: &str = "if everything on it may be destroyed, add `--destroy /dev/disk/by-id/ata-a`";
const NO_KIND: &str =
    "name a block device, an image file, or a directory for methods that destroy nothing";
const SEE_REASON: &str =
    "see the reason above; destructive methods need write access to the device";
const START_AGAIN: &str = "check the device, then start again";
const LOOK_FOR_LOCKS: &str =
    "look at `lslocks`, `lsof`, `losetup --list`, and at containers and virtual machines";
const BE_ROOT: &str = "run as root (an image may also be overwritten by its owner), with /proc and \
    /sys mounted, /proc without `hidepid` and `subset`";
const EXAMINE: &str = "install util-linux (`wipefs`), or see the reason above; a target that \
    cannot be examined is not overwritten";

fn path() -> PathBuf {
    PathBuf::from("/dev/sdb")
}

fn names() -> Vec<PathBuf> {
    vec![PathBuf::from("/dev/disk/by-id/ata-a"), PathBuf::from("/dev/disk/by-id/wwn-b")]
}

fn used(by: Use) -> Refusal {
    Refusal::Used { path: path(), by }
}

fn mounted(at: &str, process: Option<u32>) -> Refusal {
    let (device, filesystem) = ("sdb1".to_owned(), "ext4".to_owned());
    used(Mounted { device, at: PathBuf::from(at), filesystem, process })
}

fn read_only(why: ReadOnly) -> Refusal {
    Refusal::ReadOnly { path: path(), why }
}

fn open(writes: bool) -> Refusal {
    let command = "qemu".to_owned();
    used(Open { path: PathBuf::from("/dev/sdb1"), process: 71, command, writes, is_file: false })
}

fn signature(kind: &str, label: Option<&str>) -> Refusal {
    let found = Signature {
        device: "sdb1".to_owned(),
        kind: kind.to_owned(),
        offset: "0x438".to_owned(),
        label: label.map(str::to_owned),
    };
    Refusal::Signature { path: path(), found }
}

fn probe(error: ProbeError) -> Refusal {
    Probe { path: path(), error }
}

/// What the target is.
fn of_its_kind() -> Vec<Row> {
    vec![
        (
            Missing { path: path() },
            "missing",
            "`/dev/sdb` does not exist",
            "`ls -l /dev/disk/by-id` lists the disks",
        ),
        (
            Unreachable { path: path(), errno: Errno(libc::EACCES) },
            "unreachable",
            "cannot reach `/dev/sdb`: EACCES (permission denied)",
            SEE_REASON,
        ),
        (
            WrongType { path: path(), what: "character device" },
            "wrong-type",
            "`/dev/sdb` is a character device, which is neither a block device nor an image file",
            NO_KIND,
        ),
        (
            NotStored { path: path(), filesystem: "proc".to_owned() },
            "not-stored",
            "`/dev/sdb` is a file of `proc`, which is not stored on a disk",
            NO_KIND,
        ),
        (
            Empty { path: path(), why: "nothing is attached" },
            "empty",
            "`/dev/sdb` has a size of 0: nothing is attached",
            "attach an image (`losetup --find --show IMAGE`), insert the medium, or give the file \
             a size (`truncate --size 8G IMAGE`)",
        ),
        (
            Gone { path: path(), errno: Errno(libc::EIO) },
            "gone",
            "`/dev/sdb` is gone: EIO (input/output error)",
            START_AGAIN,
        ),
    ]
}

/// Things of which no one knows how to write them, or that may not be written.
fn unwritable() -> Vec<Row> {
    vec![
        (
            read_only(ReadOnly::Device),
            "read-only",
            "`/dev/sdb` is read-only: the kernel's flag of the device is set",
            "`blockdev --setrw DEVICE` if that was not on purpose",
        ),
        (
            read_only(ReadOnly::Mode),
            "read-only",
            "`/dev/sdb` is read-only: its mode permits nobody to write",
            "`chmod u+w IMAGE` if that was not on purpose",
        ),
        (
            read_only(ReadOnly::Mount),
            "read-only",
            "`/dev/sdb` is read-only: its filesystem is mounted read-only",
            "remount it with `-o rw`, or choose another place",
        ),
        (
            Zoned { path: path(), model: "host-managed".to_owned() },
            "zoned",
            "`/dev/sdb` is a zoned device (host-managed)",
            "trimbench measures devices that may be written anywhere",
        ),
        (
            HardLinked { path: path(), links: 2 },
            "hard-linked",
            "`/dev/sdb` has 2 names (hard links), and all of them would be destroyed",
            "work on a copy: `cp --sparse=always IMAGE COPY`",
        ),
    ]
}

/// Things that may be others as well.
fn indirect() -> Vec<Row> {
    vec![
        (
            Indirect { path: path(), filesystem: "overlay".to_owned() },
            "indirect",
            "`/dev/sdb` lies on `overlay`, and the file below it may be in use under another inode",
            "put the image on ext4, XFS, btrfs or tmpfs; if nothing else uses the file below, \
                add `--sole-user`",
        ),
        (
            LoopOverDevice { path: path(), below: PathBuf::from("/dev/sdc") },
            "loop-over-device",
            "`/dev/sdb` is a loop device over the block device `/dev/sdc`",
            "name `/dev/sdc` itself, and detach the loop device",
        ),
        (
            BackingGone { path: path(), backing: PathBuf::from("/var/tmp/image") },
            "backing-gone",
            "`/dev/sdb` is a loop device whose backing file `/var/tmp/image` was removed or \
             replaced",
            "detach it, and attach an image that has a name",
        ),
    ]
}

/// Where it is mounted.
fn mounted_somewhere() -> Vec<Row> {
    vec![
        (
            mounted("/srv/my data", None),
            "mounted",
            "`/dev/sdb` is in use: `sdb1` is mounted at `/srv/my data`",
            "if its content may be destroyed: `umount '/srv/my data'`",
        ),
        (
            mounted("/", None),
            "mounted",
            "`/dev/sdb` is in use: `sdb1` is mounted at `/`, the running system's root",
            "choose another device: this one holds the running system",
        ),
        (
            mounted("/", Some(71)),
            "mounted",
            "`/dev/sdb` is in use: `sdb1` is mounted at `/` in the mount namespace of process 71",
            "if its content may be destroyed: `nsenter --target 71 --mount umount /`",
        ),
        (
            used(Member { device: "sdb1".to_owned(), filesystem: "0f5a7c1e-0000".to_owned() }),
            "member",
            "`/dev/sdb` is in use: `sdb1` belongs to the btrfs filesystem 0f5a7c1e-0000, which is \
             mounted somewhere",
            "unmount the filesystem; `btrfs filesystem show` lists its devices",
        ),
    ]
}

/// What else uses it.
fn in_use() -> Vec<Row> {
    vec![
        (
            used(Swap { path: PathBuf::from("/dev/sdb2") }),
            "swap",
            "`/dev/sdb` is in use: the machine swaps on `/dev/sdb2`",
            "if the swap is not needed: `swapoff /dev/sdb2`",
        ),
        (
            used(Held { device: "sdb1".to_owned(), holder: "dm-0".to_owned() }),
            "held",
            "`/dev/sdb` is in use: `dm-0` uses `sdb1`",
            "see `lsblk -s /dev/dm-0`, and stop that first",
        ),
        (
            used(Attached { device: "sdb1".to_owned(), by: "loop7".to_owned() }),
            "attached",
            "`/dev/sdb` is in use: `sdb1` is attached to the loop device `loop7`",
            "if nothing needs the loop device: `losetup --detach /dev/loop7`",
        ),
        (
            open(false),
            "open",
            "`/dev/sdb` is in use: process 71 (`qemu`) has `/dev/sdb1` open",
            "end process 71 first",
        ),
        (
            open(true),
            "open",
            "`/dev/sdb` is in use: process 71 (`qemu`) has `/dev/sdb1` open for writing",
            "end process 71 first",
        ),
        (
            Busy { path: path() },
            "busy",
            "`/dev/sdb` is in use: something has it open exclusively (EBUSY)",
            "look at `lsblk`, `dmsetup ls`, `/proc/mdstat`, `zpool status`, and at containers and \
             virtual machines",
        ),
        (
            Locked { path: path() },
            "locked",
            "`/dev/sdb` is in use: something holds a lock on it",
            LOOK_FOR_LOCKS,
        ),
        (
            InUse { path: path() },
            "in-use",
            "`/dev/sdb` is in use: the kernel counts another opening of it, by itself or by a \
                process that is not visible from here",
            LOOK_FOR_LOCKS,
        ),
    ]
}

/// How it was named.
fn unconfirmed() -> Vec<Row> {
    let given = || PathBuf::from("/dev/sdc");
    vec![
        (
            NotNamed { path: path(), names: names() },
            "not-named",
            "`/dev/sdb` would be destroyed, and `--destroy` does not name it",
            NAME_IT,
        ),
        (
            NotNamed { path: path(), names: Vec::new() },
            "not-named",
            "`/dev/sdb` would be destroyed, and `--destroy` does not name it",
            "it has no name that could be confirmed",
        ),
        (
            WeakName { path: path(), given: path(), names: names() },
            "weak-name",
            "`--destroy /dev/sdb` reaches the target `/dev/sdb`, but by a name that may mean \
             something else tomorrow",
            NAME_IT,
        ),
        (
            WrongName {
                path: path(),
                given: PathBuf::from("/dev/mine"),
                leads_to: given(),
                names: names(),
            },
            "wrong-name",
            "`--destroy /dev/mine` names `/dev/sdc`, which is not the target `/dev/sdb`",
            NAME_IT,
        ),
        (
            NoSuchName { path: path(), given: given(), errno: Errno(libc::ENOENT), names: names() },
            "no-such-name",
            "`--destroy /dev/sdc` names nothing: ENOENT (no such file or directory); the target is \
             `/dev/sdb`",
            NAME_IT,
        ),
    ]
}

/// What it carries, or may carry.
fn carrying() -> Vec<Row> {
    let (device, errno) = ("sdb".to_owned(), Errno(libc::EIO));
    let unreadable = ProbeError::Unreadable { device, offset: 4096, errno };
    vec![
        (
            signature("ext4", None),
            "signature",
            "`/dev/sdb` carries a signature of `ext4` at 0x438 of `sdb1`",
            "if it may be destroyed, add `--overwrite-signature ext4`",
        ),
        (
            signature("two words", Some("backup")),
            "signature",
            "`/dev/sdb` carries a signature of `two words` at 0x438 of `sdb1`, label `backup`",
            "if it may be destroyed, add `--overwrite-signature 'two words'`",
        ),
        (
            probe(ProbeError::NoProgram),
            "probe",
            "cannot check `/dev/sdb` for signatures: there is no `/usr/sbin/wipefs`",
            EXAMINE,
        ),
        (
            probe(unreadable),
            "probe",
            "cannot check `/dev/sdb` for signatures: `sdb` cannot be read within 1 MiB from byte \
             4096, where signatures lie: EIO (input/output error)",
            "the unreadable part may belong to a filesystem on a failing disk: save its data first \
             (`ddrescue`); if nothing on it matters, overwrite these bytes and try again",
        ),
    ]
}

/// What could not be found out or done.
fn failed() -> Vec<Row> {
    let denial = Denial { is_immutable: true, is_root: true, ..Denial::default() };
    vec![
        (
            Changed { path: path(), change: "another file is attached".to_owned() },
            "changed",
            "`/dev/sdb` has changed since it was inspected: another file is attached",
            START_AGAIN,
        ),
        (
            Denied { path: path(), errno: Errno(libc::EPERM), denial },
            "denied",
            "cannot open `/dev/sdb` for writing: EPERM (operation not permitted); the file is \
             immutable or append-only (`lsattr`)",
            SEE_REASON,
        ),
        (
            NotOpened { path: path(), errno: Errno(libc::EIO) },
            "not-opened",
            "cannot open `/dev/sdb` for writing: EIO (input/output error)",
            SEE_REASON,
        ),
        (
            Unknown {
                path: path(),
                source_file: PathBuf::from("/proc/swaps"),
                errno: Errno(libc::EACCES),
            },
            "unknown",
            "cannot make sure that `/dev/sdb` is unused: `/proc/swaps` cannot be read: \
             EACCES (permission denied)",
            BE_ROOT,
        ),
        (
            Mount(MountError::Absent { path: path() }),
            "unknown",
            "the mount of `/dev/sdb` is not in `/proc/self/mountinfo`",
            BE_ROOT,
        ),
    ]
}

#[test]
fn every_refusal_names_the_thing_and_says_what_to_do() {
    let kinds = [of_its_kind(), unwritable(), indirect(), mounted_somewhere(), in_use()];
    let others = [unconfirmed(), carrying(), failed()];
    let rows: Vec<Row> = kinds.into_iter().chain(others).flatten().collect();
    for (error, id, message, hint) in &rows {
        assert_eq!(error.id(), *id);
        assert_eq!(error.to_string(), *message, "{id}");
        assert_eq!(error.hint(), *hint, "{id}");
    }
}
