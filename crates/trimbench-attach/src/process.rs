//! A drive in a process of its own, for the process that uses it.
//!
//! Nobody may wait for a block device that his own process serves: killed in the middle of a wait,
//! he would wait for an answer of his own for ever. So a run has another process serve its drive.
//! The two share a socket. By it the server hands over the open device, so that no name has to be
//! trusted; when it closes, the drive goes, however the process ended that had the other end.

use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use trimbench_claim::mounts::{Mount, own_mounts};
use trimbench_claim::program;
use trimbench_claim::sysfs::devices_of;
use trimbench_core::Nanos;
use trimbench_linux::pause;

use crate::control::{Answer, Order, ask};
use crate::statistics::Statistics;

#[cfg(test)]
mod tests;

/// Set where a process is to serve a drive for the one that started it.
const SERVES_OWNER: &str = "TRIMBENCH_ATTACH_OWNED";
/// A drive is there after so long, or will not be.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether the server has ended, and how many times.
const TICK: Nanos = Nanos::from_millis(10);
const END_TICKS: u32 = 1_500;
/// The longest message of the server, bytes.
const MESSAGE_MAX: usize = 4_096;
/// How a run's own directories begin, in which it mounts.
const OWN_DIRECTORY: &str = ".trimbench-";

/// A drive that another process serves for this one. It is gone when this is dropped, and when this
/// process ends in any other way.
#[derive(Debug)]
pub struct DriveProcess {
    node: PathBuf,
    socket: PathBuf,
    /// Open for reading and writing; closed before the link.
    device: Option<OwnedFd>,
    link: Option<UnixStream>,
    child: Child,
}

/// Why no process serves a drive.
#[derive(Debug, thiserror::Error)]
pub enum DriveProcessError {
    /// It cannot be started, or spoken to.
    #[error("the process that is to serve the drive: {0}")]
    Io(#[from] io::Error),
    /// It ended, and said why.
    #[error("{0}")]
    Ended(String),
}

/// The process that this one serves a drive for.
#[derive(Debug)]
pub struct DriveOwner {
    link: UnixStream,
}

/// What the server says, beside the open device.
#[derive(Debug, Serialize, Deserialize)]
struct HandOver {
    node: PathBuf,
    socket: PathBuf,
}

impl DriveProcess {
    /// Starts `server`, a command line that serves a drive, and takes the device from it.
    ///
    /// # Errors
    /// If it cannot be started, or ends before the device is there.
    pub fn start(mut server: Command) -> Result<Self, DriveProcessError> {
        let (link, theirs) = UnixStream::pair()?;
        link.set_read_timeout(Some(PATIENCE))?;
        server.env(SERVES_OWNER, "1").stdin(OwnedFd::from(theirs));
        // A terminal's Ctrl-C is for this process, which ends the other one in its turn.
        server.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut child = server.spawn()?;
        // It holds a copy of the other end, which would keep the end of the server from us.
        drop(server);
        match receive(&link) {
            Ok((HandOver { node, socket }, device)) => {
                Ok(Self { node, socket, device: Some(device), link: Some(link), child })
            }
            Err(error) => {
                drop(link);
                let _ = child.kill();
                let said = child.wait_with_output()?;
                let said = String::from_utf8_lossy(&said.stderr).into_owned();
                let first = said.lines().next().map(|line| line.trim_start_matches("error: "));
                Err(first
                    .map_or_else(|| error.into(), |it| DriveProcessError::Ended(it.to_owned())))
            }
        }
    }

    /// The block device, such as `/dev/loop3`.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// The open device.
    ///
    /// # Panics
    /// Never: it is open until this is dropped.
    pub fn device(&self) -> BorrowedFd<'_> {
        self.device.as_ref().expect("it is open until this is dropped").as_fd()
    }

    /// How it is asked, by whoever has a copy.
    pub fn inquiry(&self) -> DriveInquiry {
        DriveInquiry { socket: self.socket.clone() }
    }
}

/// Asks a drive that another process serves.
#[derive(Clone, Debug)]
pub struct DriveInquiry {
    socket: PathBuf,
}

impl DriveInquiry {
    /// What it has counted; `None` if its process does not answer.
    pub fn statistics(&self) -> Option<Statistics> {
        self.ask(&Order::Statistics)
    }

    /// What it has counted since the last such call; `None` if its process does not answer.
    pub fn statistics_since(&self) -> Option<Statistics> {
        self.ask(&Order::StatisticsSince)
    }

    fn ask(&self, order: &Order) -> Option<Statistics> {
        match ask(&self.socket, order) {
            Ok(Answer::Statistics(statistics)) => Some(statistics),
            _ => None,
        }
    }
}

impl Drop for DriveProcess {
    fn drop(&mut self) {
        drop(self.device.take());
        drop(self.link.take());
        for _ in 0..END_TICKS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            pause(TICK);
        }
        // It ends by itself, once nobody uses the device.
    }
}

impl DriveOwner {
    /// Who started this process to serve a drive for him, if somebody did.
    ///
    /// # Errors
    /// If his socket cannot be used.
    pub fn of_this_process() -> io::Result<Option<Self>> {
        if std::env::var_os(SERVES_OWNER).is_none() {
            return Ok(None);
        }
        let link = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        link.set_nonblocking(true)?;
        Ok(Some(Self { link }))
    }

    /// Gives him the device, which is open for reading and writing.
    ///
    /// # Errors
    /// If he is gone.
    pub fn hand_over(&self, device: BorrowedFd<'_>, node: &Path, socket: &Path) -> io::Result<()> {
        let (node, socket) = (node.to_owned(), socket.to_owned());
        send(&self.link, device, &HandOver { node, socket })
    }

    /// Whether he has ended, or wants the drive no more.
    pub fn is_gone(&self) -> bool {
        match (&self.link).read(&mut [0]) {
            Ok(sent) => sent == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// Unmounts what he has left mounted of this device in directories of his own. What is mounted
    /// elsewhere stays.
    pub fn unmount_leftovers(node: &Path) {
        for mount in own_mounts().unwrap_or_default() {
            if is_leftover(&mount, node)
                && let Some(mut unmount) = program("umount")
            {
                // By a program: this process must not wait for its own device. What stays mounted
                // keeps the device busy, and shows there.
                let _ = unmount.arg(&mount.mount_point).output();
            }
        }
    }
}

fn is_leftover(mount: &Mount, node: &Path) -> bool {
    let parent = mount.mount_point.parent().and_then(Path::file_name);
    let is_own = parent.is_some_and(|name| name.to_string_lossy().starts_with(OWN_DIRECTORY));
    is_own && devices_of(mount).iter().any(|device| device.node() == node)
}

fn send(link: &UnixStream, device: BorrowedFd<'_>, what: &HandOver) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let devices = [device];
    let fits = ancillary.push(SendAncillaryMessage::ScmRights(&devices));
    assert!(fits, "there is room for one descriptor");
    let sent = sendmsg(link, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL)?;
    if sent == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

fn receive(link: &UnixStream) -> io::Result<(HandOver, OwnedFd)> {
    let mut text = [0; MESSAGE_MAX];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut text)];
    let received = recvmsg(link, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let device = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut devices) => devices.next(),
        _ => None,
    });
    let device = device.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok((serde_json::from_slice(&text[..received.bytes])?, device))
}
