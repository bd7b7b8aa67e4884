//! System error numbers by name, as manual pages call them.

use std::error::Error;
use std::fmt;
use std::io;

#[cfg(test)]
mod tests;

/// Numbers of Linux (x86, ARM, RISC-V) with their names and what they mean.
const ERRNO_NAMES: [(i32, &str); 62] = [
    (1, "EPERM (operation not permitted)"),
    (2, "ENOENT (no such file or directory)"),
    (3, "ESRCH (no such process)"),
    (4, "EINTR (interrupted)"),
    (5, "EIO (input/output error)"),
    (6, "ENXIO (no such device or address)"),
    (7, "E2BIG (argument list too long)"),
    (8, "ENOEXEC (not a program)"),
    (9, "EBADF (bad file descriptor)"),
    (10, "ECHILD (no child processes)"),
    (11, "EAGAIN (try again)"),
    (12, "ENOMEM (out of memory)"),
    (13, "EACCES (permission denied)"),
    (14, "EFAULT (bad address)"),
    (15, "ENOTBLK (not a block device)"),
    (16, "EBUSY (device or resource busy)"),
    (17, "EEXIST (file exists)"),
    (18, "EXDEV (on another filesystem)"),
    (19, "ENODEV (no such device)"),
    (20, "ENOTDIR (not a directory)"),
    (21, "EISDIR (is a directory)"),
    (22, "EINVAL (invalid argument)"),
    (23, "ENFILE (too many open files in the system)"),
    (24, "EMFILE (too many open files)"),
    (25, "ENOTTY (not supported by this device)"),
    (26, "ETXTBSY (text file busy)"),
    (27, "EFBIG (file too large)"),
    (28, "ENOSPC (no space left on device)"),
    (29, "ESPIPE (cannot seek)"),
    (30, "EROFS (read-only file system)"),
    (31, "EMLINK (too many links)"),
    (32, "EPIPE (broken pipe)"),
    (33, "EDOM (argument out of domain)"),
    (34, "ERANGE (result out of range)"),
    (35, "EDEADLK (deadlock avoided)"),
    (36, "ENAMETOOLONG (file name too long)"),
    (37, "ENOLCK (no locks available)"),
    (38, "ENOSYS (not in this kernel)"),
    (39, "ENOTEMPTY (directory not empty)"),
    (40, "ELOOP (too many symbolic links)"),
    (52, "EBADE (invalid exchange)"),
    (61, "ENODATA (no data available)"),
    (67, "ENOLINK (link severed)"),
    (71, "EPROTO (protocol error)"),
    (74, "EBADMSG (bad message)"),
    (75, "EOVERFLOW (value too large)"),
    (84, "EILSEQ (invalid sequence)"),
    (95, "EOPNOTSUPP (operation not supported)"),
    (103, "ECONNABORTED (connection aborted)"),
    (104, "ECONNRESET (connection reset)"),
    (107, "ENOTCONN (not connected)"),
    (108, "ESHUTDOWN (shut down)"),
    (110, "ETIMEDOUT (timed out)"),
    (111, "ECONNREFUSED (connection refused)"),
    (112, "EHOSTDOWN (host is down)"),
    (116, "ESTALE (stale file handle)"),
    (117, "EUCLEAN (the filesystem needs repair)"),
    (121, "EREMOTEIO (remote I/O error)"),
    (122, "EDQUOT (disk quota exceeded)"),
    (123, "ENOMEDIUM (no medium)"),
    (124, "EMEDIUMTYPE (wrong medium type)"),
    (125, "ECANCELED (cancelled)"),
];

/// An error number of the operating system; prints by name (`EIO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// No such file or directory.
    pub const ENOENT: Self = Self(2);
    /// Input or output error.
    pub const EIO: Self = Self(5);
    /// Device or resource busy.
    pub const EBUSY: Self = Self(16);
    /// The name is taken.
    pub const EEXIST: Self = Self(17);
    /// No such device: it vanished.
    pub const ENODEV: Self = Self(19);
    /// Invalid argument.
    pub const EINVAL: Self = Self(22);
    /// No space left on the device.
    pub const ENOSPC: Self = Self(28);
    /// Read-only filesystem.
    pub const EROFS: Self = Self(30);
    /// The directory has names in it.
    pub const ENOTEMPTY: Self = Self(39);
    /// Operation not supported.
    pub const EOPNOTSUPP: Self = Self(95);

    /// The system's own reason of an error, also where another wraps it.
    pub fn of(error: &io::Error) -> Option<Self> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            let own = error.downcast_ref::<io::Error>();
            if let Some(code) = own.and_then(io::Error::raw_os_error) {
                return Some(Self(code));
            }
            // The source of an error that wraps another is that of the other.
            let within = own.and_then(io::Error::get_ref);
            cause = within.map(|within| within as _).or_else(|| error.source());
        }
        None
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ERRNO_NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => formatter.write_str(name),
            None => write!(formatter, "errno {}", self.0),
        }
    }
}

/// An error in words: by the system's name where it is the system's (`ENOSPC`), else as it says
/// itself.
pub fn reason(error: &io::Error) -> String {
    Errno::of(error).map_or_else(|| error.to_string(), |errno| errno.to_string())
}
