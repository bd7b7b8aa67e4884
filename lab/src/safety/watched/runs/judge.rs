//! What a run may change: the targets that were named, its output and temporary directories, and
//! objects that the kernel provides to it (pipes, a terminal, a control group). Any other change is
//! a violation.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::event::{Deed, Event, File};

const TYPE_MASK: u32 = 0o170_000;
const BLOCK: u32 = 0o060_000;
const CHARACTER: u32 = 0o020_000;
const PIPE: u32 = 0o010_000;
const SOCKET: u32 = 0o140_000;
/// Types of filesystems without files that others see (`linux/magic.h`).
const ANONYMOUS: [u64; 3] = [0x0904_1934, 0x534F_434B, 0x5049_5045];
const CONTROL_GROUPS: [u64; 2] = [0x0027_e0eb, 0x6367_7270];
const TRACING: u64 = 0x7472_6163;
const PROCESSES: u64 = 0x9fa0;
/// What trimbench begins the names of its own things with.
const OWN: &[u8] = b"trimbench-";
/// How many bytes of a name the observer keeps.
const NAME: usize = 31;

/// What may be changed below a directory.
#[derive(Clone, Debug)]
pub(super) enum Below {
    /// Everything, and the directory's own attributes.
    All,
    /// What has this name, and everything below that.
    Name(Vec<u8>),
    /// What has a name that begins so, and everything below that.
    Prefix(Vec<u8>),
}

/// What may be changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// Directories, by identity and by the texts of their paths.
    trees: Vec<(File, Vec<PathBuf>, Below)>,
    /// Files, and block devices whose content is in them.
    files: Vec<File>,
    /// Block devices.
    devices: Vec<u32>,
    /// Block devices that filesystems with permitted directories lie on: they are written to.
    carriers: Vec<u32>,
    /// What must not be changed, wherever it lies.
    foreign: Vec<File>,
    /// Block devices that must not be changed.
    guarded: Vec<u32>,
    folder: PathBuf,
}

impl Bounds {
    /// For a program that runs in `folder`.
    pub(super) fn of(folder: &Path) -> Self {
        let mut bounds = Self { folder: folder.to_owned(), ..Self::default() };
        // Made filesystems are mounted below a directory of its own in one of these.
        for parent in ["/run", "/tmp"] {
            bounds.permit(Path::new(parent), Below::Prefix(b".trimbench-".to_vec()));
        }
        // Which tracing instances and control groups are whose is noted here, and what libblkid
        // remembers of a device that mkfs.btrfs wrote to.
        for name in ["trimbench", "blkid"] {
            bounds.permit(Path::new("/run"), Below::Name(name.into()));
        }
        bounds
    }

    /// What is below a directory may be changed. Does nothing if it is not there.
    pub(super) fn permit(&mut self, directory: &Path, below: Below) {
        let Ok(metadata) = directory.metadata() else { return };
        let mut texts = vec![directory.to_owned()];
        texts.extend(directory.canonicalize());
        self.carriers.push(kernel_number(metadata.dev()));
        self.trees.push((identity(&metadata), texts, below));
    }

    /// A file or block device that was named.
    pub(super) fn name(&mut self, path: &Path) {
        let Ok(metadata) = path.metadata() else { return };
        if metadata.mode() & TYPE_MASK == BLOCK {
            self.devices.push(kernel_number(metadata.rdev()));
        } else {
            self.carriers.push(kernel_number(metadata.dev()));
            self.files.push(identity(&metadata));
        }
    }

    /// Something that is not the run's.
    pub(super) fn forbid(&mut self, path: &Path) {
        let Ok(metadata) = path.symlink_metadata() else { return };
        if metadata.mode() & TYPE_MASK == BLOCK {
            self.guarded.push(kernel_number(metadata.rdev()));
        } else {
            self.foreign.push(identity(&metadata));
        }
    }

    /// Block devices that must not be changed, by whomever.
    pub(super) fn guarded(&self) -> &[u32] {
        &self.guarded
    }

    /// Whether a deed stays within the bounds.
    pub(super) fn allow(&self, event: &Event) -> bool {
        match event.deed {
            Deed::Signal => true,
            Deed::Unknown => false,
            Deed::BlockRequest => {
                self.allow_storage(event)
                    || self.carriers.contains(&event.node) && !self.guards(event)
            }
            Deed::Ioctl if is_harmless(event.command) => true,
            _ if event.text.is_empty() => self.allow_object(event),
            _ => self.allow_text(event),
        }
    }

    fn guards(&self, event: &Event) -> bool {
        self.guarded.contains(&event.storage) || self.foreign.contains(&event.backing)
    }

    /// Whether the event's block device was named, or shows a file that was.
    fn allow_storage(&self, event: &Event) -> bool {
        let shown = event.backing.1 != 0 && self.files.contains(&event.backing);
        (shown || self.devices.contains(&event.storage)) && !self.guards(event)
    }

    fn allow_object(&self, event: &Event) -> bool {
        let is_foreign = |inode| self.foreign.contains(&(event.device, inode));
        match event.mode & TYPE_MASK {
            BLOCK => return self.allow_storage(event),
            CHARACTER => return is_harmless_device(event.node),
            PIPE | SOCKET => return true,
            _ if ANONYMOUS.contains(&event.magic) || is_memory(event) => return true,
            _ if event.path.iter().any(|step| is_foreign(step.inode)) => return false,
            _ => {}
        }
        self.files.contains(&(event.device, event.inode))
            || event.storage != 0 && self.allow_storage(event)
            || self.allow_tree(event)
            || is_own_of_kernel(event)
    }

    fn allow_tree(&self, event: &Event) -> bool {
        let steps: Vec<_> = event.steps().collect();
        self.trees.iter().any(|((device, inode), _, below)| {
            event.device == *device
                && match steps.iter().position(|(_, at)| *at == Some(*inode)) {
                    Some(0) => matches!(below, Below::All),
                    Some(at) => below.holds(steps[at - 1].0),
                    None => false,
                }
        })
    }

    /// A path: where it leads by its words alone. Objects that must not be changed are watched by
    /// fanotify, so that a link in the path is no way around this.
    fn allow_text(&self, event: &Event) -> bool {
        let text =
            Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&event.text));
        if text.is_relative() && self.allow_object_below(event, text) {
            return true;
        }
        let Some(path) = lexical(&self.folder.join(text)) else { return false };
        if is_own_path(&path) {
            return true;
        }
        if event.deed == Deed::Mount && path.starts_with("/dev") {
            return path
                .metadata()
                .is_ok_and(|it| !self.guarded.contains(&kernel_number(it.rdev())));
        }
        let within = |(_, texts, below): &(File, Vec<PathBuf>, Below)| {
            texts.iter().filter_map(|text| path.strip_prefix(text).ok()).any(|rest| {
                match rest.components().next() {
                    Some(Component::Normal(name)) => below.holds(name.as_encoded_bytes()),
                    _ => matches!(below, Below::All),
                }
            })
        };
        // The source of a mount without a device is a word.
        let is_word =
            event.deed == Deed::Mount && text.components().count() == 1 && text.is_relative();
        is_word || self.trees.iter().any(within)
    }

    fn allow_object_below(&self, event: &Event, text: &Path) -> bool {
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_foreign = |inode| self.foreign.contains(&(event.device, inode));
        text.components().all(is_plain)
            && !event.path.iter().any(|step| is_foreign(step.inode))
            && (event.storage != 0 && self.allow_storage(event)
                || self.allow_tree(event)
                || is_own_of_kernel(event))
    }
}

impl Below {
    fn holds(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Name(wanted) => name.iter().take(NAME).eq(wanted.iter().take(NAME)),
            Self::Prefix(start) => name.starts_with(start),
        }
    }
}

/// A device as the kernel numbers it.
pub(super) fn kernel_number(device: u64) -> u32 {
    rustix::fs::major(device) << 20 | rustix::fs::minor(device)
}

fn identity(metadata: &Metadata) -> File {
    (kernel_number(metadata.dev()), metadata.ino())
}

/// Without `.` and `..`, by the words alone.
fn lexical(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => plain.pop().then_some(())?,
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// Questions (`linux/fs.h`, `blkdev.h`, `loop.h`, `hdreg.h`, `termios`), and what concerns a
/// descriptor alone.
fn is_harmless(command: u32) -> bool {
    // _IOR: the kernel writes to the caller, and every such command used here is a question.
    const QUESTIONS: [u32; 24] = [
        0x125e, 0x1260, 0x1263, 0x1268, 0x1278, 0x1279, 0x127a, 0x127b, 0x127c, 0x127d, 0x127e,
        0x301, 0x31f, 0x30d, 0x4c03, 0x4c05, 0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451,
        0x1262, 0x5331,
    ];
    const BLKGETSIZE64: u32 = 0x8008_1272;
    const BLKGETDISKSEQ: u32 = 0x8008_1280;
    const BLKBSZGET: u32 = 0x8008_1270;
    const FS_IOC_GETFLAGS: u32 = 0x8008_6601;
    const FS_IOC_FIEMAP: u32 = 0xc020_660b;
    const FS_IOC_GETFSUUID: u32 = 0x8011_1500;
    const BLKGETZONESZ: u32 = 0x8004_1284;
    const FDGETFDCSTAT: u32 = 0x8028_0215;
    const CDROM_LAST_WRITTEN: u32 = 0x5395;
    const FIGETBSZ: u32 = 2;
    let sized = [
        BLKGETSIZE64,
        BLKGETDISKSEQ,
        BLKBSZGET,
        BLKGETZONESZ,
        FS_IOC_GETFLAGS,
        FS_IOC_FIEMAP,
        FS_IOC_GETFSUUID,
        FDGETFDCSTAT,
        CDROM_LAST_WRITTEN,
        FIGETBSZ,
    ];
    QUESTIONS.contains(&command) || sized.contains(&command)
}

/// `/dev/null` and its kin, terminals, what gives out loop devices, what tells btrfs of devices.
fn is_harmless_device(node: u32) -> bool {
    let (major, minor) = (node >> 20, node & 0xf_ffff);
    matches!((major, minor), (1, 3..=9) | (4 | 5 | 136..=143, _) | (10, 234 | 237))
}

/// A file that is in no directory and has no name (`memfd_create`).
fn is_memory(event: &Event) -> bool {
    matches!(event.path.as_slice(), [only] if only.name.starts_with(b"memfd:"))
}

/// A control group or tracing instance of the program's own, or the process itself.
fn is_own_of_kernel(event: &Event) -> bool {
    let has_own = || event.steps().any(|(name, _)| name.starts_with(OWN));
    match event.magic {
        TRACING => has_own(),
        magic if CONTROL_GROUPS.contains(&magic) => {
            // To go back to where it came from, a process writes its own number there.
            has_own() || event.steps().next().is_some_and(|(name, _)| name == b"cgroup.procs")
        }
        PROCESSES => {
            let name = event.steps().next().map(|(name, _)| name);
            matches!(name, Some(b"comm" | b"drop_caches"))
        }
        _ => false,
    }
}

/// Paths of such things, of descriptors, and of the notes that mount(8) keeps.
fn is_own_path(path: &Path) -> bool {
    let own = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(OWN);
    let kernel =
        ["/sys/fs/cgroup", "/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"];
    let in_kernel =
        kernel.iter().any(|place| path.starts_with(place)) && path.components().any(own);
    // To go back to where it came from, a process writes its own number there.
    let in_kernel = in_kernel || path.starts_with(kernel[0]) && path.ends_with("cgroup.procs");
    let places = ["/proc/self/fd", "/dev/fd", "/dev/null", "/run/mount"];
    in_kernel || places.iter().any(|place| path.starts_with(place))
}
