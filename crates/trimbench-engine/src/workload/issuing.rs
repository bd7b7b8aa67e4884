//! Discards as a system sends them: so many ranges under way, in pieces of what the device takes.

use std::collections::BTreeMap;

use trimbench_core::{BlockCommand, Blocks, Instant, Lba, LbaRange, Nanos, Next, Workload};

#[cfg(test)]
mod tests;

/// How an issuer paces its ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuePace {
    /// Ranges under way; `None` where there is no bound.
    pub depth: Option<u32>,
    /// The wait after each round of `depth` ranges; zero for none, and then there are no rounds: a
    /// range begins whenever another has ended.
    pub pause: Nanos,
}

/// Discards of a list of ranges. The pieces of a range are sent together, whatever the depth.
#[derive(Clone, Debug)]
pub struct Issuing {
    ranges: std::vec::IntoIter<LbaRange>,
    piece_max: Blocks,
    pace: IssuePace,
    due: Instant,
    /// What is still to be sent of the range that began last.
    rest: Option<LbaRange>,
    /// Ranges under way by their first block, each with what is not done of it.
    under_way: BTreeMap<Lba, Blocks>,
    /// Ranges that have begun in this round.
    begun: u32,
}

impl Issuing {
    /// Begins at `start`; no command is longer than `piece_max`. The ranges do not overlap.
    pub fn new(start: Instant, ranges: Vec<LbaRange>, piece_max: Blocks, pace: IssuePace) -> Self {
        debug_assert!(piece_max.0 > 0, "a discard has at least one block");
        Self {
            ranges: ranges.into_iter(),
            piece_max,
            pace,
            due: start,
            rest: None,
            under_way: BTreeMap::new(),
            begun: 0,
        }
    }

    /// Whether another range may begin.
    fn has_room(&self) -> bool {
        let count = if self.pace.pause > Nanos::ZERO {
            self.begun
        } else {
            u32::try_from(self.under_way.len()).unwrap_or(u32::MAX)
        };
        self.pace.depth.is_none_or(|most| count < most)
    }

    /// The next piece of a range, the rest of which is kept.
    fn cut(&mut self, range: LbaRange) -> BlockCommand {
        let (start, length) = (range.start(), range.length());
        let first = length.min(self.piece_max);
        let part = |start, length| LbaRange::new(start, length);
        self.rest = part(Lba(start.0 + first.0), Blocks(length.0 - first.0));
        BlockCommand::Discard(part(start, first).expect("a piece has at least one block"))
    }
}

impl Workload for Issuing {
    type Command = BlockCommand;

    fn next(&mut self, now: Instant) -> Next<BlockCommand> {
        if let Some(rest) = self.rest.take() {
            return Next::Issue { intended: now, command: self.cut(rest) };
        }
        if self.ranges.len() == 0 {
            return Next::Done;
        }
        if self.due > now {
            return Next::NotBefore(self.due);
        }
        if !self.has_room() {
            return Next::Await;
        }
        let Some(range) = self.ranges.next() else { return Next::Done };
        self.under_way.insert(range.start(), range.length());
        self.begun += 1;
        Next::Issue { intended: now, command: self.cut(range) }
    }

    fn completed(&mut self, command: &BlockCommand, at: Instant) {
        let BlockCommand::Discard(piece) = command else { return };
        let range = self.under_way.range_mut(..=piece.start()).next_back();
        let (&first, left) = range.expect("it is of a range that began");
        *left = Blocks(left.0 - piece.length().0);
        if left.0 > 0 {
            return;
        }
        self.under_way.remove(&first);
        if self.under_way.is_empty() && !self.has_room() {
            self.begun = 0;
            self.due = at + self.pace.pause;
        }
    }
}

/// Workloads one after the other: each begins when the one before has ended.
#[expect(missing_debug_implementations, reason = "what is behind a trait object has none")]
pub struct InTurn<'a, C> {
    parts: Vec<Box<dyn Workload<Command = C> + 'a>>,
    outstanding: usize,
}

impl<'a, C> InTurn<'a, C> {
    /// In this order.
    pub fn new(mut parts: Vec<Box<dyn Workload<Command = C> + 'a>>) -> Self {
        parts.reverse();
        Self { parts, outstanding: 0 }
    }
}

impl<C> Workload for InTurn<'_, C> {
    type Command = C;

    fn next(&mut self, now: Instant) -> Next<C> {
        while let Some(part) = self.parts.last_mut() {
            match part.next(now) {
                Next::Done if self.outstanding > 0 => return Next::Await,
                Next::Done => drop(self.parts.pop()),
                next => {
                    self.outstanding += usize::from(matches!(next, Next::Issue { .. }));
                    return next;
                }
            }
        }
        Next::Done
    }

    fn completed(&mut self, command: &C, at: Instant) {
        self.outstanding -= 1;
        if let Some(part) = self.parts.last_mut() {
            part.completed(command, at);
        }
    }
}
