//! Error numbers of system calls in our type.

use std::io;

use trimbench_core::Errno;

/// The error number of a system call, whoever made it; EIO where it was none.
pub(crate) fn errno_of(error: impl Into<io::Error>) -> Errno {
    errno_in(&error.into())
}

/// The same of an error that is still needed.
pub(crate) fn errno_in(error: &io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(Errno::EIO.0))
}
