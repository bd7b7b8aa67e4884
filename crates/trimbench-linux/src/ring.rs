//! `io_uring`, as the directory and the block target share it: set-up, waiting, and the end.
//!
//! Memory that the kernel works on belongs to the module that pushed the request until its
//! completion was taken. The owner of a ring calls [`Uring::quiesce`] before freeing anything, and
//! leaks memory that the kernel has not returned by then: a leak is better than memory that is
//! overwritten.
#![allow(unsafe_code)]

pub(crate) mod fixed;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::squeue;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use trimbench_claim::errno_of;
use trimbench_core::units::narrow;
use trimbench_core::{Errno, Nanos};

/// Marks the completion of the read on the bell.
const BELL: u64 = u64::MAX;
/// How long a ring waits at its end for requests that the device does not complete.
const PATIENCE: u32 = 60; // Waits of one second each.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// Any, one after the other.
    Any,
    /// The one that sets it up and no other: completions are handled only when it asks for them.
    OneThread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all: only show the kernel what was pushed.
    Not,
    /// At most so long.
    For(Nanos),
    /// Until one comes.
    Forever,
}

pub(crate) struct Uring {
    inner: IoUring,
    /// Requests pushed and not taken back, without the bell's.
    flying: u32,
    bell: Option<Bell>,
}

struct Bell {
    event: Arc<OwnedFd>,
    /// Where the kernel puts the event counter's value; never moves while a read is under way.
    value: Box<[u8; 8]>,
    read_under_way: bool,
}

impl Uring {
    /// A ring of `entries`, with the best means that the kernel has. ENOSYS before Linux 5.11.
    pub(crate) fn new(entries: u32, users: Users) -> Result<Self, Errno> {
        let deferred = || {
            // Linux 6.1: completions wait until this thread asks for them.
            let mut builder = IoUring::builder();
            builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
            (users == Users::OneThread).then(|| builder.build(entries).ok()).flatten()
        };
        let cooperative = || {
            // Linux 5.19: completions are handled when this thread next enters the kernel, as it
            // does to wait: no interrupt of the running thread for each.
            IoUring::builder().setup_coop_taskrun().setup_taskrun_flag().build(entries).ok()
        };
        let inner = match deferred().or_else(cooperative) {
            Some(uring) => uring,
            None => IoUring::new(entries).map_err(errno_of)?,
        };
        if !inner.params().is_feature_ext_arg() || !inner.params().is_feature_nodrop() {
            return Err(Errno(libc::ENOSYS));
        }
        Ok(Self { inner, flying: 0, bell: None })
    }

    /// The counter that other threads add to in order to end a wait.
    pub(crate) fn bell(&mut self) -> Result<Arc<OwnedFd>, Errno> {
        if let Some(bell) = &self.bell {
            return Ok(Arc::clone(&bell.event));
        }
        // SAFETY: plain system call without pointers.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if event < 0 {
            return Err(errno_of(std::io::Error::last_os_error()));
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let event = Arc::new(unsafe { OwnedFd::from_raw_fd(event) });
        let value = Box::new([0; 8]);
        self.bell = Some(Bell { event: Arc::clone(&event), value, read_under_way: false });
        self.listen()?;
        Ok(event)
    }

    /// The requests that wait to be shown to the kernel.
    #[inline]
    pub(crate) fn has_unsubmitted(&mut self) -> bool {
        !self.inner.submission().is_empty()
    }

    /// Adds a request; [`Self::enter`] shows it to the kernel, or this does where the ring is full.
    ///
    /// # Safety
    /// What the entry points to and the file that it names stay until its completion was taken, and
    /// nobody else touches that memory. Its user data is not [`u64::MAX`].
    #[inline]
    pub(crate) unsafe fn push(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        while unsafe { self.inner.submission().push(entry) }.is_err() {
            self.enter(Wait::Not)?;
        }
        self.flying += 1;
        Ok(())
    }

    /// Shows the kernel what was pushed, and waits for a completion if none is there. Returns early
    /// on signals.
    #[inline]
    pub(crate) fn enter(&mut self, wait: Wait) -> Result<(), Errno> {
        let wait = if self.inner.completion().is_empty() { wait } else { Wait::Not };
        let result = match wait {
            Wait::Not => {
                let submission = self.inner.submission();
                if submission.is_empty() && !submission.taskrun() && !submission.cq_overflow() {
                    return Ok(());
                }
                drop(submission);
                self.inner.submit()
            }
            Wait::For(span) => {
                let seconds = span.0 / 1_000_000_000;
                let timeout = Timespec::new().sec(seconds).nsec(narrow(span.0 % 1_000_000_000));
                self.inner.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
            }
            Wait::Forever => self.inner.submit_and_wait(1),
        };
        match result.map_err(errno_of) {
            // Time passed, a signal came, or the kernel is short of memory and wants completions to
            // be taken first: in each case the caller looks and comes again.
            Ok(_) | Err(Errno(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY)) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Takes the completions, in the kernel's order: user data and result. Says whether the bell
    /// rang.
    #[inline]
    pub(crate) fn take(&mut self, mut each: impl FnMut(u64, i32)) -> bool {
        let mut rang = false;
        for entry in self.inner.completion() {
            if entry.user_data() == BELL {
                rang = true;
            } else {
                self.flying -= 1;
                each(entry.user_data(), entry.result());
            }
        }
        if rang {
            if let Some(bell) = &mut self.bell {
                bell.read_under_way = false;
            }
            // A ring that takes no requests any more says so at the next `enter`, too.
            let _ = self.listen();
        }
        rang
    }

    /// Starts the read on the bell that ends a wait.
    fn listen(&mut self) -> Result<(), Errno> {
        let Some(bell) = &mut self.bell else { return Ok(()) };
        let fd = Fd(bell.event.as_raw_fd());
        let entry = opcode::Read::new(fd, bell.value.as_mut_ptr(), 8).build().user_data(BELL);
        loop {
            // SAFETY: `drop` keeps the value and the counter until the read has ended.
            if unsafe { self.inner.submission().push(&entry) }.is_ok() {
                break;
            }
            self.enter(Wait::Not)?;
        }
        if let Some(bell) = &mut self.bell {
            bell.read_under_way = true;
        }
        Ok(())
    }

    /// Waits until the kernel has given everything back; `false` if it does not in a minute.
    /// Nothing may be pushed afterwards.
    pub(crate) fn quiesce(&mut self, mut each: impl FnMut(u64, i32)) -> bool {
        for _ in 0..PATIENCE {
            let listening = self.bell.as_ref().is_some_and(|bell| bell.read_under_way);
            if self.flying == 0 && !listening {
                return true;
            }
            if self.flying == 0
                && let Some(bell) = &self.bell
            {
                // Ends the read. A counter that is full has been rung already.
                let _ = rustix::io::write(&*bell.event, &1_u64.to_ne_bytes());
            }
            if self.enter(Wait::For(Nanos::from_secs(1))).is_err() {
                return false;
            }
            for entry in self.inner.completion() {
                if entry.user_data() != BELL {
                    self.flying -= 1;
                    each(entry.user_data(), entry.result());
                } else if let Some(bell) = &mut self.bell {
                    bell.read_under_way = false;
                }
            }
        }
        false
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if let Some(bell) = self.bell.take()
            && bell.read_under_way
        {
            // The kernel has not given the value back: it is kept for good.
            std::mem::forget(bell);
        }
    }
}
