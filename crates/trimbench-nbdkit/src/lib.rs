//! The emulated SSD as a plugin of nbdkit, so that whatever speaks NBD has it: qemu, libnbd, fio,
//! the kernel's own client.
//!
//! ```text
//! nbdkit --unix /run/drive.sock ./libtrimbench_nbdkit.so profile=vendor2 capacity=16GiB
//! ```
//!
//! Unlike a loop device, NBD tells a discard from zeroing, and has many of them under way: queued
//! and background TRIM are what the profile says, and so are reads after TRIM.

use std::sync::mpsc::channel;
use std::sync::{Mutex, OnceLock, PoisonError};

use nbdkit::{Error, Flags, FuaFlags, Result, Server, ThreadModel};
use trimbench_attach::{Attachment, ControlSocket, Engine, InitialState, Request, Timer};
use trimbench_core::Bytes;
use trimbench_core::settings::Named as _;
use trimbench_devices::EmulatedSpec;
use trimbench_ssd::TrimmedReads;

const EIO: i32 = 5;
const EINVAL: i32 = 22;

/// What the command line says.
struct Settings {
    profile: Option<String>,
    capacity: Option<Bytes>,
    state: InitialState,
    slow_down: u32,
    backing: Option<String>,
}

/// The drive, once nbdkit has forked.
struct Served {
    engine: Engine,
    discards_read_zero: bool,
}

/// What ends with the process: the socket for `trimbench attach --stats` and `--fault`, unless its
/// folder cannot be used, and the thread that sends replies.
type Ends = (Option<ControlSocket>, Timer);

static SETTINGS: Mutex<Settings> = Mutex::new(Settings {
    profile: None,
    capacity: None,
    state: InitialState::Fresh,
    slow_down: 1,
    backing: None,
});
static SERVED: OnceLock<Served> = OnceLock::new();
static ENDS: Mutex<Option<Ends>> = Mutex::new(None);

/// A connection.
struct Connection(&'static Served);

impl Connection {
    /// Waits for the end of a request.
    fn run(&self, request: Request<'_>) -> Result<Vec<u8>> {
        let (sender, receiver) = channel();
        self.0.engine.submit(request, Box::new(move |outcome| drop(sender.send(outcome))));
        match receiver.recv() {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(errno)) => Err(Error::new(errno.0, errno.to_string())),
            Err(_) => Err(Error::new(EIO, "the drive has ended")),
        }
    }
}

impl Server for Connection {
    fn name() -> &'static str {
        "trimbench"
    }

    fn description() -> Option<&'static str> {
        Some("an emulated SSD whose TRIM takes the time that it takes on such a drive")
    }

    fn magic_config_key() -> Option<&'static str> {
        Some("profile")
    }

    fn config_help() -> Option<&'static str> {
        Some(
            "profile=NAME        an emulated drive, as behind `sim:` in `trimbench run --target`\n\
             capacity=SIZE       its capacity; by default the profile's\n\
             state=STATE         fresh (default), filled or steady\n\
             slow-down=N         its time runs so many times slower than the machine's\n\
             backing=FILE        keep what it holds in this file",
        )
    }

    fn config(key: &str, value: &str) -> Result<()> {
        let mut settings = SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = || Error::new(EINVAL, format!("`{value}` is no {key}"));
        match key {
            "profile" => settings.profile = Some(value.to_owned()),
            "capacity" => settings.capacity = Some(value.parse().map_err(|_| wrong())?),
            "state" => {
                settings.state = InitialState::of_id(value).ok_or_else(wrong)?;
            }
            "slow-down" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                settings.slow_down = number.ok_or_else(wrong)?;
            }
            "backing" => settings.backing = Some(value.to_owned()),
            _ => return Err(Error::new(EINVAL, format!("`{key}` is no setting"))),
        }
        Ok(())
    }

    fn config_complete() -> Result<()> {
        spec().map(drop)
    }

    /// Threads are started here: those of before are not in the process that serves.
    fn after_fork() -> Result<()> {
        let spec = spec()?;
        let failed = |error: &dyn std::fmt::Display| Error::new(EINVAL, error.to_string());
        let attachment = spec.attachment().map_err(|error| failed(&error))?;
        let settings = SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
        let attachment = Attachment {
            backing: settings.backing.clone().map(|path| spec.kept_in(path.into())),
            state: settings.state,
            slow_down: settings.slow_down,
            ..attachment
        };
        let profile = settings.profile.as_deref().unwrap_or_default();
        let status = attachment.status(profile, format!("nbd:{}", std::process::id()).into());
        let discards_read_zero = attachment.config.contents.reads == TrimmedReads::Zeroes;
        let (engine, timer) = attachment.serve().map_err(|error| failed(&error))?;
        let control = ControlSocket::open(engine.clone(), status).ok();
        *ENDS.lock().unwrap_or_else(PoisonError::into_inner) = Some((control, timer));
        let served = Served { engine, discards_read_zero };
        SERVED.set(served).map_err(|_| Error::new(EINVAL, "it is served already"))
    }

    /// What the drive holds is kept, where a file does.
    fn unload() {
        drop(ENDS.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn thread_model() -> Result<ThreadModel> {
        Ok(ThreadModel::Parallel)
    }

    fn open(_readonly: bool) -> Result<Box<dyn Server>> {
        let served = SERVED.get().ok_or_else(|| Error::new(EIO, "the drive has ended"))?;
        Ok(Box::new(Self(served)))
    }

    fn get_size(&self) -> Result<i64> {
        i64::try_from(self.0.engine.capacity()).map_err(|error| Error::new(EINVAL, error))
    }

    /// All connections reach one drive, whose flush covers what all of them wrote.
    fn can_multi_conn(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_fua(&self) -> Result<FuaFlags> {
        Ok(FuaFlags::Emulate)
    }

    fn is_rotational(&self) -> Result<bool> {
        Ok(false)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let bytes = self.run(Request::Read { offset, length: buffer.len() as u64 })?;
        buffer.copy_from_slice(&bytes);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64, _: Flags) -> Result<()> {
        self.run(Request::Write { offset, data }).map(drop)
    }

    fn trim(&self, count: u32, offset: u64, _: Flags) -> Result<()> {
        self.run(Request::Discard { offset, length: count.into() }).map(drop)
    }

    /// Zeroing that may free blocks is a discard on a drive that then returns zeroes.
    fn zero(&self, count: u32, offset: u64, flags: Flags) -> Result<()> {
        let length = count.into();
        let may_free = flags.contains(Flags::MAY_TRIM) && self.0.discards_read_zero;
        self.run(if may_free {
            Request::ZeroFreeing { offset, length }
        } else {
            Request::Zero { offset, length }
        })
        .map(drop)
    }

    fn flush(&self) -> Result<()> {
        self.run(Request::Flush).map(drop)
    }
}

fn spec() -> Result<EmulatedSpec> {
    let settings = SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let profile = settings.profile.as_deref();
    let profile = profile.ok_or_else(|| Error::new(EINVAL, "which drive? `profile=NAME`"))?;
    EmulatedSpec::parse(profile, settings.capacity)
        .map_err(|error| Error::new(EINVAL, error.to_string()))
}

/// What nbdkit calls first.
mod entry {
    use super::Connection;

    nbdkit::plugin!(Connection {
        config,
        config_complete,
        after_fork,
        unload,
        thread_model,
        can_multi_conn,
        can_fua,
        is_rotational,
        write_at,
        trim,
        zero,
        flush
    });
}
