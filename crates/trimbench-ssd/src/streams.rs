//! Sequential write streams: which writes continue one, and the cost of the others.
//!
//! Model: the drive knows where its last `count` streams ended. A write that begins at one of these
//! ends continues that stream and costs nothing more; any other write begins a stream, replaces the
//! least recently continued one, and costs `switch`. This stands for the merge of a log block in a
//! drive that maps coarsely \[KIM02\]; the flash operations of the merge are not counted as
//! programs, so write amplification does not show them.
//!
//! Units: logical mapping units of 4 KiB.

use std::collections::VecDeque;

use trimbench_core::Nanos;
use trimbench_core::units::index;

use crate::config::WriteStreamsConfig;

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct WriteStreams {
    config: WriteStreamsConfig,
    /// The least recently continued first.
    ends: VecDeque<u32>,
}

impl WriteStreams {
    pub(crate) fn new(config: WriteStreamsConfig) -> Self {
        Self { config, ends: VecDeque::with_capacity(index(config.count.into())) }
    }

    /// Units `[first, end)` are written: what that costs beyond the write itself.
    pub(crate) fn write(&mut self, first: u32, end: u32) -> Nanos {
        let continued = self.ends.iter().position(|at| *at == first);
        match continued {
            Some(place) => {
                self.ends.remove(place);
            }
            None if self.ends.len() == index(self.config.count.into()) => {
                self.ends.pop_front();
            }
            None => {}
        }
        self.ends.push_back(end);
        if continued.is_some() { Nanos::ZERO } else { self.config.switch }
    }
}
