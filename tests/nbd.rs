//! nbdkit as a process, and a client of NBD that may say what no honest one does.
//!
//! The protocol is that of <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>:
//! fixed newstyle, simple replies.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::scratch;

/// What begins an option of the client.
const OPTION: u64 = 0x4948_4156_454F_5054;
/// What begins the server's answer to one.
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;
/// An acknowledgement of an option, the last of its answers.
const ACKNOWLEDGED: u32 = 1;
/// `NBD_OPT_GO`: begin with the export of this name.
const GO: u32 = 7;
/// Nobody waits for an answer longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// A plugin that nbdkit serves on a socket. Ended when dropped.
#[derive(Debug)]
pub struct NbdServer {
    child: Child,
    socket: PathBuf,
    folder: TempDir,
}

impl NbdServer {
    /// Serves a plugin with these settings: one of nbdkit's by its name, any other by its path.
    ///
    /// # Panics
    /// If nbdkit does not serve it.
    pub fn start(plugin: impl AsRef<OsStr>, settings: &[&str]) -> Self {
        let folder = scratch();
        let socket = folder.path().join("nbd");
        let errors = File::create(folder.path().join("log")).expect("the folder is ours");
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["--foreground", "--exit-with-parent", "--threads=64", "--unix"]).arg(&socket);
        nbdkit.arg(plugin.as_ref()).args(settings).stderr(errors);
        let child = nbdkit.spawn().expect("nbdkit runs");
        let mut new = Self { child, socket, folder };
        let begun = Instant::now();
        while !new.socket.exists() {
            let is_slow = begun.elapsed() > PATIENCE;
            let is_fine = new.is_running() && !is_slow;
            assert!(is_fine, "nbdkit does not serve: {}", new.complaint());
            std::thread::sleep(Duration::from_millis(20));
        }
        new
    }

    /// Serves an emulated drive, by the plugin that is beside the test's own program.
    ///
    /// # Panics
    /// If nbdkit does not serve it.
    pub fn of_drive(settings: &[&str]) -> Self {
        let own = std::env::current_exe().expect("a test has a program");
        Self::start(own.with_file_name("libtrimbench_nbdkit.so"), settings)
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// What it has said of errors, the last of it.
    pub fn complaint(&self) -> String {
        let said = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        said.lines().next_back().unwrap_or("it said nothing").to_owned()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }

    /// fio with its engine for NBD on this server; jobs are to be added.
    pub fn fio(&self) -> Command {
        let mut fio = Command::new("fio");
        fio.args(["--ioengine=nbd", &format!("--uri={}", self.uri())])
            .current_dir(self.folder.path());
        fio
    }

    /// A connection on which nothing was said yet.
    ///
    /// # Errors
    /// If the server takes none.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// How clients name it.
    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    /// The place of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client asks for, as it is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdCommand {
    /// `NBD_CMD_READ`.
    Read,
    /// `NBD_CMD_WRITE`.
    Write,
    /// `NBD_CMD_FLUSH`.
    Flush,
    /// `NBD_CMD_TRIM`.
    Trim,
    /// `NBD_CMD_WRITE_ZEROES`; it may free blocks.
    WriteZeroes,
    /// Whatever number it has.
    Unknown(u16),
}

impl NbdCommand {
    const fn number(self) -> u16 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Flush => 3,
            Self::Trim => 4,
            Self::WriteZeroes => 6,
            Self::Unknown(number) => number,
        }
    }
}

/// What begins an option: its number and the length of what follows.
pub fn option_head(option: u32, length: u32) -> Vec<u8> {
    [&OPTION.to_be_bytes()[..], &option.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// The head of a request, whose cookie is `cookie`.
pub fn request_head(command: NbdCommand, cookie: u64, (offset, length): (u64, u32)) -> Vec<u8> {
    [
        &REQUEST.to_be_bytes()[..],
        // No flags.
        &0_u16.to_be_bytes(),
        &command.number().to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

/// A client that has begun with the export.
#[derive(Debug)]
pub struct NbdClient {
    stream: UnixStream,
    cookie: u64,
}

impl NbdClient {
    /// Greets the server and begins.
    ///
    /// # Errors
    /// If the server refuses.
    pub fn begin(server: &NbdServer) -> io::Result<Self> {
        let mut stream = server.connect()?;
        greet(&mut stream)?;
        // The name of the export, which is empty, and no wishes for information.
        stream.write_all(&[option_head(GO, 6), vec![0; 6]].concat())?;
        loop {
            let mut head = [0; 20];
            stream.read_exact(&mut head)?;
            let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four"));
            let magic = u64::from_be_bytes(head[..8].try_into().expect("eight"));
            let (kind, length) = (word(12), word(16));
            if magic != OPTION_REPLY || kind >> 31 == 1 {
                return Err(io::Error::other("the server refuses the export"));
            }
            io::copy(&mut (&stream).take(length.into()), &mut io::sink())?;
            if kind == ACKNOWLEDGED {
                return Ok(Self { stream, cookie: 0 });
            }
        }
    }

    /// The connection, to say anything on.
    pub fn stream(&mut self) -> &mut UnixStream {
        &mut self.stream
    }

    /// Sends a request with what a write carries, and waits for no answer.
    ///
    /// # Errors
    /// If the server has closed the connection.
    pub fn send(&mut self, command: NbdCommand, place: (u64, u32), data: &[u8]) -> io::Result<()> {
        self.cookie += 1;
        self.stream.write_all(&request_head(command, self.cookie, place))?;
        self.stream.write_all(data)
    }

    /// The same, and its answer: the bytes of a read, or the number of an error.
    ///
    /// # Errors
    /// If the server has closed the connection.
    pub fn ask(
        &mut self,
        command: NbdCommand,
        place: (u64, u32),
        data: &[u8],
    ) -> io::Result<Result<Vec<u8>, u32>> {
        self.send(command, place, data)?;
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        let error = u32::from_be_bytes(head[4..8].try_into().expect("four"));
        let cookie = u64::from_be_bytes(head[8..].try_into().expect("eight"));
        if head[..4] != REPLY.to_be_bytes() || cookie != self.cookie {
            return Err(io::Error::other("an answer to another request"));
        }
        if error != 0 {
            return Ok(Err(error));
        }
        let length = if command == NbdCommand::Read { place.1 } else { 0 };
        let mut bytes = vec![0; usize::try_from(length).expect("32 bits fit")];
        self.stream.read_exact(&mut bytes)?;
        Ok(Ok(bytes))
    }
}

/// Takes the server's greeting and answers it.
///
/// # Errors
/// If it is none.
pub fn greet(stream: &mut UnixStream) -> io::Result<()> {
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting)?;
    if !greeting.starts_with(b"NBDMAGIC") {
        return Err(io::Error::other("no greeting of NBD"));
    }
    // Fixed newstyle, and no zeroes at the end of the old handshake.
    stream.write_all(&3_u32.to_be_bytes())
}
