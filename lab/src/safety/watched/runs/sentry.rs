//! fanotify on the objects that must not change: reports every change, whatever the path.

use std::path::Path;

use anyhow::{Context as _, Result};
use nix::errno::Errno;
use nix::libc;
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};

/// The watch.
pub(super) struct Sentry {
    group: Fanotify,
}

impl Sentry {
    /// Over nothing.
    pub(super) fn new() -> Result<Self> {
        // Names and attributes are told of in this mode only. It says what by handles, which we do
        // not need: whatever is told is wrong.
        let flags = InitFlags::from_bits_retain(libc::FAN_REPORT_FID)
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_UNLIMITED_QUEUE;
        let group = Fanotify::init(flags, EventFFlags::O_RDONLY).context("watch by fanotify")?;
        Ok(Self { group })
    }

    /// A file, or a directory and what is right in it.
    pub(super) fn watch(&self, path: &Path) -> Result<()> {
        let mut mask = libc::FAN_MODIFY | libc::FAN_ATTRIB;
        mask |= libc::FAN_DELETE_SELF | libc::FAN_MOVE_SELF;
        if path.is_dir() {
            mask |= libc::FAN_CREATE | libc::FAN_DELETE | libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO;
            mask |= libc::FAN_EVENT_ON_CHILD | libc::FAN_ONDIR;
        }
        let mask = MaskFlags::from_bits_retain(mask);
        let here = rustix::fs::CWD;
        let flags = MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_DONT_FOLLOW;
        self.group
            .mark(flags, mask, here, Some(path))
            .with_context(|| format!("watch {} by fanotify", path.display()))
    }

    /// What others than this process did since the last look.
    pub(super) fn seen(&self) -> Result<Vec<String>> {
        let own = i32::try_from(std::process::id()).context("a process's number is small")?;
        let mut seen = Vec::new();
        loop {
            match self.group.read_events() {
                Ok(events) => {
                    let others = events.iter().filter(|event| event.pid() != own);
                    seen.extend(others.map(|event| format!("{:?}", event.mask())));
                }
                Err(Errno::EAGAIN) => return Ok(seen),
                Err(errno) => return Err(errno).context("read what fanotify tells"),
            }
        }
    }
}
