//! The transport by FUSE: a filesystem with one file, which is the drive. That of an attached drive
//! is mounted nowhere, so nobody else can open it, and it goes with the last user of the file.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request as Asked, Session,
    SessionACL, WriteFlags,
};
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags};
use rustix::mount::{fsconfig_create, fsconfig_set_string, fsmount, fsopen, move_mount};
use trimbench_claim::random;

use crate::engine::{Engine, Reply, Request};

/// The number of the one file.
const FILE: INodeNo = INodeNo(2);
const OPENING: OFlags = OFlags::RDWR.union(OFlags::CLOEXEC);
/// What a loop device takes for the granularity of discards.
const FS_BLOCK: u32 = 4096;
/// How long the kernel may believe what it was told of the file: it never changes.
const TTL: Duration = Duration::from_secs(1 << 30);
/// Requests that the kernel has under way at once. With fewer a loop device's queue of 128 is not
/// seen whole; the default is 16.
const IN_FLIGHT: u16 = 512;
/// The largest write, bytes.
const WRITE_MAX: u32 = 1 << 20;
/// Threads that take requests.
const THREADS: usize = 2;
/// They hold the engine's lock, and send replies that are due: while another program ran in their
/// place, every reply was late. Below the timer.
const PRIORITY: i32 = 1;

/// What a file by FUSE is served from.
pub trait BlockServer: Send + Sync + 'static {
    /// Bytes of the file, which stay as many.
    fn size(&self) -> u64;

    /// Takes a request, which `reply` is told the end of.
    fn submit(&self, request: Request<'_>, reply: Reply);
}

impl BlockServer for Engine {
    fn size(&self) -> u64 {
        self.capacity()
    }

    fn submit(&self, request: Request<'_>, reply: Reply) {
        Self::submit(self, request, reply);
    }
}

/// A filesystem with one file, and what serves it. It is mounted nowhere at first.
#[derive(Debug)]
pub struct ServedFile {
    /// The session ends once this and every copy of the file are closed.
    mount: OwnedFd,
    name: String,
    session: BackgroundSession,
}

impl ServedFile {
    /// Serves a file. Needs root.
    ///
    /// # Errors
    /// No root, no FUSE.
    pub fn of(server: impl BlockServer) -> io::Result<Self> {
        let device = rustix::fs::open("/dev/fuse", OPENING, Mode::empty())?;
        let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&context, "fd", device.as_raw_fd().to_string())?;
        fsconfig_set_string(&context, "rootmode", "40000")?;
        fsconfig_set_string(&context, "user_id", "0")?;
        fsconfig_set_string(&context, "group_id", "0")?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        // mkfs.btrfs takes two loop devices over files of one name for one device.
        let number = random().map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        let name = format!("drive-{number:016x}");
        let mut config = Config::default();
        config.n_threads = Some(THREADS);
        let file = OneFile { size: server.size(), server, name: name.clone() };
        let session = Session::from_fd(file, device, SessionACL::Owner, config)?.spawn()?;
        Ok(Self { mount, name, session })
    }

    /// Opens the file.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.mount, &self.name, OPENING, Mode::empty())?)
    }

    /// What serves it as long as somebody has it open.
    pub(crate) fn into_session(self) -> BackgroundSession {
        self.session
    }

    /// Gives it a path, in this empty folder, until that is unmounted.
    ///
    /// # Errors
    /// If nothing can be mounted there.
    pub fn mount(self, folder: &Path) -> io::Result<PathBuf> {
        move_mount(&self.mount, "", CWD, folder, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        Ok(folder.join(self.name))
    }
}

/// A file as FUSE is asked about it.
struct OneFile<S> {
    server: S,
    size: u64,
    name: String,
}

impl<S: BlockServer> OneFile<S> {
    /// Submits a request from a thread of the session, which has no other place to be told this.
    fn submit(&self, request: Request<'_>, reply: Reply) {
        thread_local! {
            static RUNS_FIRST: bool = trimbench_linux::run_first(PRIORITY);
        }
        RUNS_FIRST.with(|_| ());
        self.server.submit(request, reply);
    }

    fn attributes(&self, node: INodeNo) -> FileAttr {
        let is_file = node == FILE;
        FileAttr {
            ino: node,
            size: if is_file { self.size } else { 0 },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file { FileType::RegularFile } else { FileType::Directory },
            perm: if is_file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: FS_BLOCK,
            flags: 0,
        }
    }
}

/// A number of the kernel, as FUSE has it.
fn errno(errno: trimbench_core::Errno) -> Errno {
    Errno::from_i32(errno.0)
}

fn answer(reply: ReplyEmpty) -> Reply {
    Box::new(|outcome| match outcome {
        Ok(_) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    })
}

impl<S: BlockServer> Filesystem for OneFile<S> {
    fn init(&mut self, _: &Asked, config: &mut KernelConfig) -> io::Result<()> {
        let lacking = |_| io::Error::new(io::ErrorKind::Unsupported, "FUSE without direct I/O");
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(lacking)?;
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "FUSE refuses a limit");
        config.set_max_background(IN_FLIGHT).map_err(invalid)?;
        config.set_congestion_threshold(IN_FLIGHT).map_err(invalid)?;
        // The kernel may allow less.
        let _ = config.set_max_write(WRITE_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Asked, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == self.name.as_str() {
            reply.entry(&TTL, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Asked, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(node));
    }

    fn open(&self, _: &Asked, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let parallel = FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | parallel);
    }

    fn statfs(&self, _: &Asked, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(self.size / u64::from(FS_BLOCK), 0, 0, 1, 0, FS_BLOCK, 255, FS_BLOCK);
    }

    fn read(
        &self,
        _: &Asked,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let request = Request::Read { offset, length: size.into() };
        self.submit(
            request,
            Box::new(|outcome| match outcome {
                Ok(bytes) => reply.data(&bytes),
                Err(error) => reply.error(errno(error)),
            }),
        );
    }

    fn write(
        &self,
        _: &Asked,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = u32::try_from(data.len()).expect("a request is short");
        self.submit(
            Request::Write { offset, data },
            Box::new(move |outcome| match outcome {
                Ok(_) => reply.written(length),
                Err(error) => reply.error(errno(error)),
            }),
        );
    }

    fn fsync(&self, _: &Asked, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.submit(Request::Flush, answer(reply));
    }

    /// A loop device sends a discard, and zeroing that may free blocks, as holes; zeroing that may
    /// not as a range of zeroes.
    fn fallocate(
        &self,
        _: &Asked,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let keeps = FallocateFlags::KEEP_SIZE;
        if flags == FallocateFlags::PUNCH_HOLE | keeps {
            self.submit(Request::ZeroFreeing { offset, length }, answer(reply));
        } else if flags == FallocateFlags::ZERO_RANGE | keeps {
            self.submit(Request::Zero { offset, length }, answer(reply));
        } else {
            reply.error(Errno::EOPNOTSUPP);
        }
    }
}
