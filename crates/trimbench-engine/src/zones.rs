//! Zones that are written whole, each in order and several side by side, as logs are.
//!
//! The order is that of \[SSDIQ\] (pattern `zns` of its tool): every write goes to one of the
//! zones that are being written, all alike likely; a zone that is full gives way to one drawn from
//! all others that are not being written. With TRIM a zone is discarded before its first write,
//! and nothing is issued until that has ended.

use std::collections::VecDeque;

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Bytes, Instant, Next, Workload};

use crate::area::{Area as _, DeviceArea};
use crate::device_runner::Shape;
use crate::pattern::Zones;

#[cfg(test)]
mod tests;

/// The zones that are being written, which one round hands to the next.
#[derive(Clone, Debug, Default)]
pub struct ActiveZones(Vec<ActiveZone>);

#[derive(Clone, Copy, Debug)]
struct ActiveZone {
    zone: u64,
    /// Writes of it that were issued.
    written: u64,
}

/// A closed loop of writes to zones.
#[derive(Debug)]
pub struct ZoneWrites<'a> {
    area: DeviceArea,
    shape: Shape,
    access: Bytes,
    pattern: Zones,
    active: &'a mut ActiveZones,
    rng: Rng,
    /// What goes before the next write is drawn: discards of a zone and its first write.
    ahead: VecDeque<BlockCommand>,
    trimming: bool,
    vacant: u32,
    left: u64,
    until: Instant,
}

impl<'a> ZoneWrites<'a> {
    /// Writes of `access` bytes, `queue_depth` of them outstanding, until at least `count` were
    /// issued and it is `until`. The zones begin where the area does; what is left of it behind
    /// them is not written.
    ///
    /// # Panics
    /// If the area does not [hold](Zones::fit) them.
    pub fn new(
        (pattern, active): (Zones, &'a mut ActiveZones),
        (area, shape): (DeviceArea, Shape),
        (access, queue_depth): (Bytes, u32),
        (count, until): (u64, Instant),
        rng: Rng,
    ) -> Self {
        assert!(pattern.fit(area.length, access).is_ok(), "the area holds the zones");
        let zones = area.length.0 / pattern.size.0;
        // Those of a larger area are given up.
        active.0.retain(|active| active.zone < zones);
        Self {
            area,
            shape,
            access,
            pattern,
            active,
            rng,
            ahead: VecDeque::new(),
            trimming: false,
            vacant: queue_depth,
            left: count,
            until,
        }
    }

    /// Puts the next write ahead, after the discards of its zone if it is the first.
    fn draw(&mut self) {
        let size = self.pattern.size;
        let writes = size.0 / self.access.0;
        let at = index(self.rng.below(self.pattern.active.into()));
        let active = &mut self.active.0;
        let is_over = active.get(at).is_none_or(|active| active.written == writes);
        if is_over {
            let zones = self.area.length.0 / size.0;
            let zone = loop {
                let drawn = self.rng.below(zones);
                if active.iter().all(|active| active.zone != drawn) {
                    break drawn;
                }
            };
            let next = ActiveZone { zone, written: 0 };
            match active.get_mut(at) {
                Some(over) => *over = next,
                None => active.push(next),
            }
        }
        let at = at.min(active.len() - 1);
        let ActiveZone { zone, written } = active[at];
        active[at].written += 1;
        let start = Bytes(zone * size.0);
        if written == 0 && self.pattern.trimmed {
            let first = self.area.start + start;
            self.ahead.extend(self.shape.discards_of(first, first + size));
        }
        self.ahead.push_back(self.area.write(start + Bytes(written * self.access.0), self.access));
    }
}

impl Workload for ZoneWrites<'_> {
    type Command = BlockCommand;

    fn next(&mut self, now: Instant) -> Next<BlockCommand> {
        if self.trimming {
            return Next::Await;
        }
        if self.ahead.is_empty() {
            if self.left == 0 && now >= self.until {
                return Next::Done;
            }
            if self.vacant == 0 {
                return Next::Await;
            }
            self.left = self.left.saturating_sub(1);
            self.vacant -= 1;
            self.draw();
        }
        let command = self.ahead.pop_front().expect("a write is ahead");
        self.trimming = matches!(command, BlockCommand::Discard(_));
        Next::Issue { intended: now, command }
    }

    fn completed(&mut self, command: &BlockCommand, _: Instant) {
        match command {
            BlockCommand::Discard(_) => self.trimming = false,
            _ => self.vacant += 1,
        }
    }
}
