//! A disk that can be made slow or stopped, or to fail where it is read: a loop device over a file
//! that this program serves by FUSE from a file in memory. What the loop device is asked for is
//! done by one thread, one after the other, discards included.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, WriteFlags,
};
use rustix::fs::FallocateFlags;
use rustix::mount::{UnmountFlags, unmount};
use tempfile::TempDir;

use crate::write_log::WriteLog;
use crate::{LoopDevice, LoopFilesystem};

/// What the list of mounts calls it.
const SOURCE: &str = "trimbench-slow-image";
/// The one file of the filesystem.
const NAME: &str = "image";
const FILE: INodeNo = INodeNo(2);
/// What a loop device takes for the granularity of discards.
const FS_BLOCK: u32 = 4096;
/// How long the kernel may believe what it was told of the file: it never changes.
const TTL: Duration = Duration::from_secs(3_600);

/// A file that can be made slow. Unmounted when dropped.
#[derive(Debug)]
pub struct SlowImage {
    path: PathBuf,
    pace: Arc<Pace>,
    session: Option<BackgroundSession>,
    _folder: TempDir,
}

/// A filesystem on a loop device over a file that can be made slow. All is gone when dropped.
#[derive(Debug)]
pub struct SlowDisk {
    // The order is that of dropping, after the file was made fast again.
    filesystem: LoopFilesystem,
    image: SlowImage,
}

/// The same without a filesystem.
#[derive(Debug)]
pub struct SlowDevice {
    device: LoopDevice,
    image: SlowImage,
}

/// How fast the file is.
#[derive(Debug, Default)]
struct Pace {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Debug, Default)]
struct State {
    frozen: bool,
    delay: Duration,
    discard_delay: Duration,
    /// What cannot be read, in bytes, after it was read so many times more.
    unreadable: Range<u64>,
    good_reads: u32,
    /// Whether the next read is interrupted.
    interrupts: bool,
}

#[derive(Debug)]
struct SlowFile {
    content: File,
    size: u64,
    pace: Arc<Pace>,
    /// Where what changes it is noted.
    log: Option<Arc<WriteLog>>,
}

impl SlowImage {
    /// Of this size, in memory, as fast as it can be.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(mebibytes: u64) -> Self {
        Self::logged(mebibytes, None)
    }

    /// The same, with a log of its writes.
    pub(crate) fn logged(mebibytes: u64, log: Option<Arc<WriteLog>>) -> Self {
        let folder = crate::scratch();
        let content = tempfile::tempfile_in(folder.path()).expect("the folder is ours");
        content.set_len(mebibytes << 20).expect("sparse files take no room");
        let mount_point = folder.path().join("fuse");
        std::fs::create_dir(&mount_point).expect("the folder is ours");
        let pace = Arc::new(Pace::default());
        let file = SlowFile { content, size: mebibytes << 20, pace: Arc::clone(&pace), log };
        let mut config = Config::default();
        config.mount_options.push(MountOption::FSName(SOURCE.to_owned()));
        let session = fuser::spawn_mount(file, &mount_point, &config);
        let session = Some(session.expect("root may mount FUSE"));
        Self { path: mount_point.join(NAME), pace, session, _folder: folder }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next read ends with EINTR, as if a signal had come.
    pub fn interrupt(&self) {
        self.pace.set(|state| state.interrupts = true);
    }
}

/// Detaches the mounts of slow images whose program was killed: a filesystem without its server
/// anywhere on the machine makes mkfs.btrfs refuse every loop device.
///
/// # Errors
/// If the list of mounts cannot be read.
pub fn detach_dead() -> io::Result<()> {
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    for place in slow_images(&mounts) {
        let is_dead = std::fs::metadata(place)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotConnected);
        if is_dead {
            // Who may not unmount it did not mount it either.
            let _ = unmount(place, UnmountFlags::DETACH);
        }
    }
    Ok(())
}

/// Where slow images are mounted, by the list of mounts.
fn slow_images(mounts: &str) -> impl Iterator<Item = &str> {
    mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        (fields.next() == Some(SOURCE)).then(|| fields.next())?
    })
}

impl Drop for SlowImage {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let _ = session.umount_and_join();
        }
    }
}

impl SlowDisk {
    /// A filesystem of this type and size with these mount options. It is as fast as it can be.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(filesystem: &str, mebibytes: u64, options: &str) -> Self {
        let image = SlowImage::new(mebibytes);
        let filesystem = LoopFilesystem::on(&image.path, filesystem, options);
        Self { filesystem, image }
    }

    /// The same with further arguments of mkfs, on a loop device whose queue nobody has shortened.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn untouched(filesystem: &str, mebibytes: u64, make: &[&str], options: &str) -> Self {
        let image = SlowImage::new(mebibytes);
        let filesystem = LoopFilesystem::untouched(&image.path, filesystem, make, options);
        Self { filesystem, image }
    }

    /// The disk: `/dev/loop0`.
    pub fn node(&self) -> &str {
        self.filesystem.node()
    }

    /// From now on each discard takes so much longer, and nothing else.
    pub fn delay_discards(&self, delay: Duration) {
        self.image.pace.set(|state| state.discard_delay = delay);
    }

    /// Where the filesystem is mounted.
    pub fn path(&self) -> &Path {
        self.filesystem.path()
    }

    /// An attribute of the disk's queue in sysfs.
    pub fn queue(&self, attribute: &str) -> PathBuf {
        self.filesystem.queue(attribute)
    }

    /// From now on each read, write, discard and flush takes so much longer.
    pub fn delay(&self, delay: Duration) {
        self.image.pace.set(|state| state.delay = delay);
    }

    /// Stops the disk, or resumes it: it then serves the requests that arrived meanwhile.
    pub fn freeze(&self, frozen: bool) {
        self.image.pace.set(|state| state.frozen = frozen);
    }

    /// From now on these bytes of the disk cannot be read (EIO), once they were read `good_reads`
    /// times more. What is in the page cache above it stays there.
    pub fn fail(&self, unreadable: Range<u64>, good_reads: u32) {
        self.image.pace.set(|state| {
            state.unreadable = unreadable;
            state.good_reads = good_reads;
        });
    }

    /// The disk can be read everywhere again.
    pub fn heal(&self) {
        self.fail(0..0, 0);
    }
}

impl SlowDisk {
    /// The name of the disk in `/sys` and `/proc`: `loop0`.
    pub fn device_name(&self) -> &str {
        self.filesystem.device_name()
    }

    /// Unmounts the filesystem and detaches the disk; a second time does nothing.
    pub fn close(&mut self) {
        self.filesystem.close();
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        self.image.pace.set(|state| *state = State::default());
        self.filesystem.close();
    }
}

impl SlowDevice {
    /// A device of this size. It is as fast as it can be.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(mebibytes: u64) -> Self {
        let image = SlowImage::new(mebibytes);
        Self { device: LoopDevice::on(&image.path), image }
    }

    /// The same on a loop device whose queue nobody has shortened.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn untouched(mebibytes: u64) -> Self {
        let image = SlowImage::new(mebibytes);
        Self { device: LoopDevice::untouched(&image.path), image }
    }

    /// `/dev/loop0`.
    pub fn node(&self) -> &str {
        self.device.node()
    }

    /// The file below it.
    pub fn image(&self) -> &Path {
        &self.image.path
    }

    /// Stops the device, or resumes it: it then serves the requests that arrived meanwhile.
    pub fn freeze(&self, frozen: bool) {
        self.image.pace.set(|state| state.frozen = frozen);
    }

    /// From now on each discard takes so much longer, and nothing else.
    pub fn delay_discards(&self, delay: Duration) {
        self.image.pace.set(|state| state.discard_delay = delay);
    }

    /// An attribute of the device's queue in sysfs.
    pub fn queue(&self, attribute: &str) -> PathBuf {
        self.device.queue(attribute)
    }
}

impl Drop for SlowDevice {
    fn drop(&mut self) {
        self.image.pace.set(|state| *state = State::default());
    }
}

impl Pace {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Whether this read is interrupted.
    fn interrupts(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.interrupts)
    }

    /// Whether these bytes can be read this time.
    fn reads(&self, range: Range<u64>) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bad = &state.unreadable;
        if range.end <= bad.start || bad.end <= range.start {
            return true;
        }
        let good = state.good_reads.checked_sub(1);
        state.good_reads = good.unwrap_or(0);
        good.is_some()
    }

    /// Takes the time that one operation takes.
    #[expect(clippy::disallowed_methods, reason = "a disk that is slow by the wall's clock")]
    fn pass(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(state.delay);
        let thawed = self.changed.wait_while(state, |state| state.frozen);
        drop(thawed);
    }
}

impl Pace {
    /// Takes the time that a discard takes beyond that.
    #[expect(clippy::disallowed_methods, reason = "a disk that is slow by the wall's clock")]
    fn pass_discard(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let delay = state.discard_delay;
        drop(state);
        std::thread::sleep(delay);
    }
}

impl SlowFile {
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

    fn answer(&self, done: io::Result<()>, reply: ReplyEmpty) {
        self.pace.pass();
        match done {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        }
    }
}

impl Filesystem for SlowFile {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&TTL, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(node));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Nothing is to be hidden by the page cache of this file.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(self.size / u64::from(FS_BLOCK), 0, 0, 1, 0, FS_BLOCK, 255, FS_BLOCK);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.pace.pass();
        if self.pace.interrupts() {
            return reply.error(Errno::EINTR);
        }
        if !self.pace.reads(offset..offset + u64::from(size)) {
            return reply.error(Errno::EIO);
        }
        let mut data = vec![0; usize::try_from(size).expect("64 bits")];
        match self.content.read_at(&mut data, offset) {
            Ok(length) => reply.data(&data[..length]),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.pace.pass();
        if let Some(log) = &self.log {
            log.write(offset, data);
        }
        match self.content.write_all_at(data, offset) {
            Ok(()) => reply.written(u32::try_from(data.len()).expect("a request is short")),
            Err(error) => reply.error(error.into()),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if let Some(log) = &self.log {
            log.flush();
        }
        self.answer(Ok(()), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        if let Some(log) = &self.log {
            // Whatever the range is freed for, it reads as zeroes afterwards.
            log.zero(offset, length);
        }
        let done = rustix::fs::fallocate(&self.content, flags, offset, length);
        self.pace.pass_discard();
        self.answer(done.map_err(io::Error::from), reply);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_slow_images_are_looked_for_among_the_mounts() {
        let mounts = "/dev/fuse /mnt/somebodys fuse rw 0 0\n\
            trimbench-slow-image /dev/shm/.tmp1/fuse fuse rw 0 0\n";
        let found: Vec<_> = super::slow_images(mounts).collect();
        assert_eq!(found, ["/dev/shm/.tmp1/fuse"]);
    }
}
