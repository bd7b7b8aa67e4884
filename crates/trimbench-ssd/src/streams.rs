//! Sequential write streams: which writes continue one, and the cost of the others.
//!
//! Model: the drive knows where its last `count` streams ended. A write that begins at one of these
//! ends continues that stream and costs nothing more; any other write begins a stream, replaces the
//! least recently continued one, and costs `switch`. This stands for the merge of a log block in a
//! drive that maps coarsely \[KIM02\]; the flash operations of the merge are not counted as
//! programs, so write amplification does not show them.
//!
//! Units: logical mapping units.

use trimbench_core::Nanos;
use trimbench_core::units::index;

use crate::config::WriteStreamsConfig;

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct WriteStreams {
    config: WriteStreamsConfig,
    /// In the order in which they were continued, from `oldest` on and around.
    ends: Vec<u32>,
    oldest: usize,
}

impl WriteStreams {
    pub(crate) fn new(config: WriteStreamsConfig) -> Self {
        Self { config, ends: Vec::with_capacity(index(config.count.into())), oldest: 0 }
    }

    /// Units `[first, end)` are written: what that costs beyond the write itself.
    pub(crate) fn write(&mut self, first: u32, end: u32) -> Nanos {
        // Without branches, as mostly none is continued.
        if self.ends.iter().filter(|at| **at == first).count() > 0 {
            self.go_on(first, end);
            return Nanos::ZERO;
        }
        if self.ends.len() < index(self.config.count.into()) {
            self.ends.push(end);
        } else {
            self.ends[self.oldest] = end;
            self.oldest = (self.oldest + 1) % self.ends.len();
        }
        self.config.switch
    }

    /// The least recently continued of the streams that end at `first` now ends at `end`.
    fn go_on(&mut self, first: u32, end: u32) {
        self.ends.rotate_left(self.oldest);
        self.oldest = 0;
        let place = self.ends.iter().position(|at| *at == first).expect("a stream ends there");
        self.ends[place..].rotate_left(1);
        *self.ends.last_mut().expect("there is one") = end;
    }
}
