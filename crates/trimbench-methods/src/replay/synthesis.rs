//! Synthesised TRIMs for traces without TRIMs: data that was not accessed for long is trimmed.
//!
//! The device is divided into chunks of 1 MiB. A chunk that was written by the trace is trimmed
//! when a given number of bytes has been written since the last access to it. Nobody ever deleted
//! it: a figure from such a pass shows the most that a filesystem's TRIMs could achieve, and is
//! labelled.

use std::collections::VecDeque;

use trimbench_core::Bytes;
use trimbench_core::units::{index, narrow};

/// What is trimmed at a time.
const CHUNK: u64 = 1 << 20;

/// The chunks of a device.
#[derive(Debug)]
pub(super) struct Synthesis {
    after: u64,
    /// Bytes written so far.
    written: u64,
    /// By chunk, what had been written at its last access; [`Self::UNTOUCHED`] if the trace has
    /// not written it since it was trimmed.
    accessed: Vec<u64>,
    /// Chunks that were written, each once, with what had been written when they came in. The
    /// oldest first.
    waiting: VecDeque<(u32, u64)>,
}

impl Synthesis {
    const UNTOUCHED: u64 = u64::MAX;

    /// For the first `room` bytes of a device; of them whole chunks.
    pub(super) fn new(room: Bytes, after: Bytes) -> Self {
        let accessed = vec![Self::UNTOUCHED; index(room.0 / CHUNK)];
        Self { after: after.0, written: 0, accessed, waiting: VecDeque::new() }
    }

    /// Bytes `[start, end)` are accessed.
    pub(super) fn access(&mut self, (start, end): (u64, u64), writes: bool) {
        if writes {
            self.written += end - start;
        }
        let last = ((end - 1) / CHUNK).min(self.accessed.len() as u64);
        for chunk in start / CHUNK..=last {
            let Some(accessed) = self.accessed.get_mut(index(chunk)) else { return };
            if *accessed != Self::UNTOUCHED {
                *accessed = self.written;
            } else if writes {
                *accessed = self.written;
                self.waiting.push_back((narrow(chunk), self.written));
            }
        }
    }

    /// The next chunk that is due, as `(start, end)` in bytes.
    pub(super) fn due(&mut self) -> Option<(u64, u64)> {
        while let Some(&(chunk, since)) = self.waiting.front() {
            if self.written - since < self.after {
                return None;
            }
            self.waiting.pop_front();
            let accessed = &mut self.accessed[chunk as usize];
            if *accessed > since {
                self.waiting.push_back((chunk, *accessed));
                continue;
            }
            *accessed = Self::UNTOUCHED;
            let start = u64::from(chunk) * CHUNK;
            return Some((start, start + CHUNK));
        }
        None
    }
}
