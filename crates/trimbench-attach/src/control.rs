//! How an attached drive is asked and told things by another process: a socket that only its user
//! can reach, one line of JSON each way.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trimbench_claim::registry::{RegistryKind, RegistryToken, sockets};
use trimbench_claim::users_of;
use trimbench_core::Errno;

use crate::engine::Engine;
use crate::faults::LiveFault;
use crate::statistics::Statistics;

/// The longest line, bytes.
const LINE_MAX: u64 = 1 << 20;
/// Who does not send its line, or take its answer, for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked of an attached drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// What it is.
    Status,
    /// What it has counted.
    Statistics,
    /// What it has counted since it was last asked this.
    StatisticsSince,
    /// Plant this fault, or take it back.
    Fault(LiveFault),
    /// Detach the drive, unless somebody uses the device.
    Stop,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// What it is.
    Status(DriveStatus),
    /// What it has counted.
    Statistics(Statistics),
    /// It is done.
    Done,
    /// It is not done, for this reason.
    Refused(String),
    /// The device is in use, by these.
    InUse(Vec<String>),
}

/// What an attached drive is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveStatus {
    /// Its profile, as it was named.
    pub profile: String,
    /// Its capacity, bytes.
    pub capacity: u64,
    /// The state in which it began.
    pub state: String,
    /// Its block device.
    pub device: PathBuf,
    /// How often its time runs slower than the machine's.
    pub slow_down: u32,
    /// The process that serves it.
    pub process: u32,
}

/// The socket of an attached drive. Gone when dropped.
#[derive(Debug)]
pub struct ControlSocket {
    token: RegistryToken,
    ends: Arc<AtomicBool>,
    stop_asked: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Answers for a drive.
    ///
    /// # Errors
    /// If the folder of sockets cannot be used.
    pub fn open(engine: Engine, status: DriveStatus) -> io::Result<Self> {
        let token = RegistryToken::new(RegistryKind::Socket)
            .map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        let listener = UnixListener::bind(token.socket())?;
        let (ends, stop_asked) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (ended, asked) = (Arc::clone(&ends), Arc::clone(&stop_asked));
        let builder = std::thread::Builder::new().name("drive-control".to_owned());
        let thread = builder.spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                // Whoever breaks off gets no answer; the next one does.
                let _ = stream.and_then(|stream| serve(stream, &engine, &status, &asked));
            }
        })?;
        Ok(Self { token, ends, stop_asked, thread: Some(thread) })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.token.socket()
    }

    /// Whether another process asked that the drive be detached.
    pub fn stop_asked(&self) -> bool {
        self.stop_asked.load(Ordering::Relaxed)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let path = self.token.socket();
        // It wakes the thread.
        let _ = UnixStream::connect(&path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&path);
        self.token.forget();
    }
}

fn serve(
    mut stream: UnixStream,
    engine: &Engine,
    status: &DriveStatus,
    stop_asked: &AtomicBool,
) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let answer = match read_line(&stream)? {
        Ok(Order::Status) => Answer::Status(status.clone()),
        Ok(Order::Statistics) => Answer::Statistics(engine.statistics()),
        Ok(Order::StatisticsSince) => Answer::Statistics(engine.statistics_since()),
        Ok(Order::Fault(fault)) => match engine.plant(&fault) {
            Ok(()) => Answer::Done,
            Err(reason) => Answer::Refused(reason),
        },
        Ok(Order::Stop) if !status.device.is_absolute() => Answer::Refused(format!(
            "`{}` is no device of the kernel: end process {}, which serves it",
            status.device.display(),
            status.process
        )),
        Ok(Order::Stop) => {
            let users = users_of(&status.device);
            if users.is_empty() {
                stop_asked.store(true, Ordering::Relaxed);
                Answer::Done
            } else {
                Answer::InUse(users)
            }
        }
        Err(error) => Answer::Refused(error.to_string()),
    };
    send_line(&mut stream, &answer)
}

/// Asks the drive of this socket.
///
/// # Errors
/// If nobody answers, or in a language of another version.
pub fn ask(socket: &Path, order: &Order) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(2 * PATIENCE))?;
    send_line(&mut stream, order)?;
    read_line(&stream)?.map_err(io::Error::from)
}

/// Every attached drive of this user, with its socket. What killed processes left of theirs is
/// removed.
///
/// # Errors
/// If the folder of sockets cannot be read.
pub fn attached() -> io::Result<Vec<(PathBuf, DriveStatus)>> {
    let sockets = match sockets() {
        Ok(sockets) => sockets,
        // A user without a folder of his own has attached nothing.
        Err(Errno::ENOENT) => Vec::new(),
        Err(errno) => return Err(io::Error::from_raw_os_error(errno.0)),
    };
    let known = sockets.into_iter().filter_map(|socket| match ask(&socket, &Order::Status) {
        Ok(Answer::Status(status)) => Some((socket, status)),
        // It has just gone, or is of another version.
        _ => None,
    });
    Ok(known.collect())
}

fn read_line<T: for<'a> Deserialize<'a>>(stream: &UnixStream) -> io::Result<serde_json::Result<T>> {
    let mut line = Vec::new();
    BufReader::new(stream.take(LINE_MAX)).read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line))
}

fn send_line<T: Serialize>(stream: &mut UnixStream, what: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)
}
