//! Error numbers of system calls in our type.

use std::io;

use trimbench_core::Errno;

/// The error number of a system call, whoever made it; EIO where it was none.
pub fn errno_of(error: impl Into<io::Error>) -> Errno {
    errno_in(&error.into())
}

/// The same of an error that is still needed.
pub fn errno_in(error: &io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(Errno::EIO.0))
}

/// The error number of the last call of this thread.
pub fn last_errno() -> Errno {
    errno_of(io::Error::last_os_error())
}
