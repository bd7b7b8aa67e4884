//! Events of the observer in the kernel: the operation, its object, and the process.

use std::fmt;

/// As `observer.bpf.c` has them.
const TEXT: usize = 192;
const NAME: usize = 32;
const DEEPEST: usize = 12;

/// What was asked of the kernel. The same order as in `observer.bpf.c`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deed {
    Write,
    Map,
    Ioctl,
    Truncate,
    Attribute,
    Create,
    Link,
    Unlink,
    Rename,
    Mount,
    Unmount,
    RingCommand,
    BlockRequest,
    Signal,
    Unknown,
}

const DEEDS: [Deed; 15] = [
    Deed::Write,
    Deed::Map,
    Deed::Ioctl,
    Deed::Truncate,
    Deed::Attribute,
    Deed::Create,
    Deed::Link,
    Deed::Unlink,
    Deed::Rename,
    Deed::Mount,
    Deed::Unmount,
    Deed::RingCommand,
    Deed::BlockRequest,
    Deed::Signal,
    Deed::Unknown,
];

/// A file by its filesystem's device (as the kernel numbers it) and its inode.
pub(super) type File = (u32, u64);

/// A directory entry on the way from an object up to the root of its filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub inode: u64,
    /// Its first 31 bytes.
    pub name: Vec<u8>,
}

/// A deed. Devices are numbered as in the kernel: 12 bits of major, 20 bits of minor number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub attempt: u32,
    pub deed: Deed,
    /// Of an ioctl or `io_uring` command its number; of a block request its operation.
    pub command: u32,
    /// Of the filesystem.
    pub device: u32,
    /// The block device that it is, or that its filesystem lies on; 0 is none.
    pub storage: u32,
    /// The device that it is.
    pub node: u32,
    pub mode: u32,
    /// The file below `storage`, if that is a loop device.
    pub backing: File,
    pub inode: u64,
    /// A path as its caller wrote it, which begins at the object.
    pub text: Vec<u8>,
    /// Type of the filesystem.
    pub magic: u64,
    pub process: u32,
    pub program: String,
    /// The object, its directory, and so on.
    pub path: Vec<Step>,
}

impl Event {
    /// From the bytes of the kernel's `struct event`; `None` if they are too few.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let [attempt, deed, command, device, storage, node, mode, backing_device] =
            fields.words()?;
        let [backing_inode, inode, _parent] = [fields.long()?, fields.long()?, fields.long()?];
        let text = until_zero(fields.take(TEXT)?).to_owned();
        let magic = fields.long()?;
        let [process] = fields.words()?;
        let program = String::from_utf8_lossy(until_zero(fields.take(16)?)).into_owned();
        let [depth] = fields.words()?;
        let steps = (0..DEEPEST).map(|_| {
            let inode = fields.long()?;
            Some(Step { inode, name: until_zero(fields.take(NAME)?).to_owned() })
        });
        let mut path: Vec<Step> = steps.collect::<Option<_>>()?;
        path.truncate(usize::try_from(depth).ok()?);
        let deed = *DEEDS.get(usize::try_from(deed).ok()?.checked_sub(1)?)?;
        let backing = (backing_device, backing_inode);
        Some(Self {
            attempt,
            deed,
            command,
            device,
            storage,
            node,
            mode,
            backing,
            inode,
            text,
            magic,
            process,
            program,
            path,
        })
    }

    /// The object itself, its directory, and so on, with what a relative path adds to it.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&[u8], Option<u64>)> {
        let relative = if self.text.starts_with(b"/") { &[] } else { self.text.as_slice() };
        let added = relative.split(|byte| *byte == b'/').rev();
        let added = added.filter(|name| !name.is_empty() && *name != b".");
        let known = self.path.iter().map(|step| (step.name.as_slice(), Some(step.inode)));
        added.map(|name| (name, None)).chain(known)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deed, command, program, node, storage, .. } = self;
        write!(formatter, "{program}: {deed:?}")?;
        if *command != 0 {
            write!(formatter, " {command:#x}")?;
        }
        let names: Vec<_> = self.path.iter().rev().map(|step| step.name.escape_ascii()).collect();
        let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
        write!(formatter, " `{}`", names.join("/"))?;
        if !self.text.is_empty() {
            write!(formatter, " + `{}`", self.text.escape_ascii())?;
        }
        let number = |device: u32| format!("{}:{}", device >> 20, device & 0xf_ffff);
        write!(
            formatter,
            " (node {}, on {}, type {:#x})",
            number(*node),
            number(*storage),
            self.magic
        )
    }
}

/// Numbers and texts, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn words<const COUNT: usize>(&mut self) -> Option<[u32; COUNT]> {
        let mut words = [0; COUNT];
        for word in &mut words {
            *word = u32::from_ne_bytes(self.take(4)?.try_into().ok()?);
        }
        Some(words)
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)
}
