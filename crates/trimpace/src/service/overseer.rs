//! Looks beside a pass whether it must stop: the service ends, its hours end, or something is in
//! the way.

use std::fmt;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use trimbench_claim::mounts::Mount;
use trimbench_core::contract::Interrupt;

use crate::config::PauseRules;
use crate::hindrance::hindrance;

const TICK: Duration = Duration::from_millis(100);
/// Hindrances are looked for in each of so many ticks: some take an ioctl for each device.
const TICKS_PER_LOOK: u32 = 10;

/// Why a pass was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// The service is to end.
    Asked,
    /// Its hours are over.
    HoursEnd,
    /// Something is in the way.
    Hindered(String),
}

/// The look-out of one pass.
#[derive(Debug)]
pub(super) struct Overseer {
    is_over: Sender<()>,
    thread: JoinHandle<Option<Break>>,
}

impl Overseer {
    /// Stops a pass by the first interrupt when one of these is the case: the second is requested,
    /// `until` has come, or these rules name a hindrance.
    pub(super) fn start(
        (pass, service): (Interrupt, Interrupt),
        until: Option<Timestamp>,
        (rules, mount, directory): (PauseRules, Mount, Arc<OwnedFd>),
    ) -> Self {
        let (is_over, over) = channel();
        let thread = std::thread::spawn(move || {
            for tick in 1.. {
                match over.recv_timeout(TICK) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
                }
                let looks = tick % TICKS_PER_LOOK == 0;
                let obstacle = || hindrance(&rules, &mount, directory.as_fd());
                let cause = if service.requested() {
                    Some(Break::Asked)
                } else if until.is_some_and(|until| Timestamp::now() >= until) {
                    Some(Break::HoursEnd)
                } else {
                    looks.then(obstacle).flatten().map(Break::Hindered)
                };
                if cause.is_some() {
                    pass.request();
                    return cause;
                }
            }
            None
        });
        Self { is_over, thread }
    }

    /// Ends it; why it stopped the pass, if it did.
    pub(super) fn end(self) -> Option<Break> {
        drop(self.is_over);
        self.thread.join().unwrap_or_default()
    }
}

impl fmt::Display for Break {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => formatter.write_str("the service ends"),
            Self::HoursEnd => formatter.write_str("its hours end"),
            Self::Hindered(what) => formatter.write_str(what),
        }
    }
}
