//! The file whose blocks the probe reads, kept by a process of its own.
//!
//! To make, write or remove a file waits in the kernel while the filesystem is frozen or its device
//! is stuck, and no signal ends that wait. A process is not over before all of its threads are, so
//! none of ours may wait like that. Another process makes the file and keeps it; it hands the file
//! over, open for reading, through a socket. When the socket closes, it ends, and the file goes
//! with it. If it does not answer, it is left behind, and ends once the filesystem lets it.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::fs::{Mode, OFlags};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::getppid;
use trimbench_claim::{errno_in, errno_of};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Errno, Nanos};
use trimbench_linux::pause;

use super::place::open_direct;

/// Bytes of the file.
pub(super) const FILE: u64 = 1 << 20;
/// How long a filesystem may take to make the file. A frozen one takes until it is thawed.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether a process has ended, and how many times.
const TICK: Nanos = Nanos::from_millis(1);
const END_TICKS: u32 = 1_000;
/// This very program, whatever has happened to its name since.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// The subcommand, which no help lists.
pub const KEEPER: &str = "keep-probe-file";

/// The process that keeps the file. It ends when this is dropped, and when this process ends.
#[derive(Debug)]
pub(super) struct FileKeeper {
    link: UnixStream,
    process: Child,
}

/// Why there is no file.
#[derive(Debug)]
pub(super) enum NoFile {
    /// The filesystem takes none.
    Refused(Errno),
    /// It has not answered in time.
    Stuck,
}

impl FileKeeper {
    /// Has a file made in this directory. Returns it opened past the page cache for reading, and
    /// who keeps it, who is to be dropped after it: the last to close the file may have to wait.
    pub(super) fn start(directory: BorrowedFd<'_>) -> Result<(File, Self), NoFile> {
        let failed = |error: io::Error| NoFile::Refused(errno_in(&error));
        let directory = directory.try_clone_to_owned().map_err(failed)?;
        let (link, theirs) = UnixStream::pair().map_err(failed)?;
        link.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        let errors = theirs.try_clone().map_err(failed)?;
        let mut command = Command::new(OWN_PROGRAM);
        command.arg(KEEPER).stdin(directory);
        // Left behind, it must hold nothing for which somebody waits, such as a pipe.
        command.stdout(OwnedFd::from(theirs)).stderr(OwnedFd::from(errors));
        // A terminal's Ctrl-C is for this process.
        command.process_group(0);
        let mut process = command.spawn().map_err(failed)?;
        // It holds the other end, which would keep the end of the process from us.
        drop(command);
        match receive(&link) {
            Ok(file) => Ok((file, Self { link, process })),
            Err(no_file) => {
                // It ends as soon as the kernel lets it.
                let _ = process.kill();
                if matches!(no_file, NoFile::Refused(_)) {
                    let _ = process.wait();
                }
                Err(no_file)
            }
        }
    }
}

impl Drop for FileKeeper {
    fn drop(&mut self) {
        // Any byte: nobody else has the file open any more.
        let _ = self.link.write_all(&[0]);
        for _ in 0..END_TICKS {
            match self.process.try_wait() {
                Ok(None) => pause(TICK),
                _ => return,
            }
        }
        // The filesystem is frozen: the process waits there, and we do not.
        let _ = self.process.kill();
    }
}

/// What the process does: makes a file in the directory that is its standard input, hands it over
/// through the socket that is its standard output, and keeps it as long as it is told to.
///
/// # Errors
/// Standard output is no such socket.
pub fn keep_probe_file() -> io::Result<()> {
    let parent = getppid();
    let stdout = io::stdout();
    let link = stdout.as_fd();
    let blocks = match make_file(io::stdin().as_fd()) {
        Ok((file, blocks)) => {
            send(link, Ok(file.as_fd()))?;
            blocks
        }
        Err(error) => return send(link, Err(errno_in(&error))),
    };
    let mut link = UnixStream::from(link.try_clone_to_owned()?);
    if link.read(&mut [0]).unwrap_or(0) == 0 {
        // The other process is ending. It shall close its file before we do.
        let is_there = |_: &u32| getppid() == parent;
        (0..END_TICKS).take_while(is_there).for_each(|_| pause(TICK));
    }
    drop(blocks);
    Ok(())
}

/// The file: opened past the page cache to be read, and as it was made.
fn make_file(directory: BorrowedFd<'_>) -> io::Result<(File, OwnedFd)> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let blocks = rustix::fs::openat(directory, ".", flags, Mode::RUSR | Mode::WUSR)?;
    let file = File::from(blocks.try_clone()?);
    let mut rng = Rng::new(trimbench_claim::random().unwrap_or(1));
    let mut content = Vec::with_capacity(index(FILE));
    while content.len() < index(FILE) {
        content.extend_from_slice(&rng.below(u64::MAX).to_le_bytes());
    }
    file.write_all_at(&content, 0)?;
    file.sync_all()?;
    let again = open_direct(Path::new(&format!("/proc/self/fd/{}", blocks.as_raw_fd())))?;
    Ok((again, blocks))
}

/// Sends the file, or the number of the error as text.
fn send(link: BorrowedFd<'_>, made: Result<BorrowedFd<'_>, Errno>) -> io::Result<()> {
    let text = made.as_ref().map_or_else(|errno| errno.0.to_string(), |_| "0".to_owned());
    let files = made.ok();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if files.is_some() {
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(files.as_slice()));
        assert!(fits, "there is room for one descriptor");
    }
    sendmsg(link, &[IoSlice::new(text.as_bytes())], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(link: &UnixStream) -> Result<File, NoFile> {
    let mut text = [0; 64];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut text)];
    let received = loop {
        match recvmsg(link, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return Err(NoFile::Stuck),
            Err(errno) => return Err(NoFile::Refused(errno_of(errno))),
        }
    };
    let file = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let errno = std::str::from_utf8(&text[..received.bytes]).ok().and_then(|it| it.parse().ok());
    // What says nothing has ended before.
    file.map(File::from).ok_or(NoFile::Refused(errno.map_or(Errno::EIO, Errno)))
}
