//! Cuts a filesystem into calls of FITRIM, each as large as the law allows.
//!
//! Free extents are asked for region by region, just before they are trimmed: what the foreground
//! frees or takes meanwhile moves into or out of a call, for calls follow each other without a gap.

use std::collections::VecDeque;

use trimbench_core::{Bytes, Errno};
use trimbench_policy::pacing::{Amount, StepExtent, StepLimit};

use crate::planner::{FreeExtent, Planner, Region};

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Where it begins, in the addresses of FITRIM.
    pub start: u64,
    /// How long it is.
    pub length: u64,
    /// The free extents in it, as far as they are known.
    pub free: Amount,
}

/// What is left of a filesystem.
#[derive(Debug)]
pub struct Cutter {
    planner: Box<dyn Planner>,
    /// The part of the filesystem that is asked for: first byte and the first behind.
    asked: [u64; 2],
    /// Regions that no call has begun, in order.
    regions: VecDeque<(Region, Option<Amount>)>,
    /// The region that calls are in.
    open: Option<OpenRegion>,
    /// What is known to be left: all that no call has covered.
    left: Amount,
    is_begun: bool,
}

#[derive(Debug)]
struct OpenRegion {
    region: Region,
    /// Where the next call begins.
    position: u64,
    /// Free extents from there on; `None` where the filesystem does not say.
    extents: Option<VecDeque<FreeExtent>>,
}

impl Cutter {
    /// Asks for the free extents of all regions once, to know how much there is. A pass that goes
    /// on keeps to their order: it would trim the least region each time.
    ///
    /// # Errors
    /// Those of the filesystem's answer.
    pub fn new(
        planner: Box<dyn Planner>,
        (offset, length): (u64, u64),
        goes_on: bool,
    ) -> Result<Self, Errno> {
        let asked = [offset, offset.saturating_add(length)];
        let mut regions = VecDeque::new();
        let mut left = Amount::default();
        for region in planner.regions().iter().filter_map(|region| within(*region, asked)) {
            let extents = planner.free_extents(region)?;
            let amount = extents.as_deref().map(total);
            left = left.and(amount.unwrap_or_default());
            // A region without free space needs no call.
            if amount != Some(Amount::default()) {
                regions.push_back((region, amount));
            }
        }
        Ok(Self { planner, asked, regions, open: None, left, is_begun: goes_on })
    }

    /// How its calls behave.
    pub fn planner(&self) -> &dyn Planner {
        self.planner.as_ref()
    }

    /// One call over all that is asked for, whatever is free there.
    pub fn everything(&self) -> Call {
        let [start, end] = self.asked;
        Call { start, length: end - start, free: Amount::default() }
    }

    /// Whether no call is left.
    pub fn is_done(&self) -> bool {
        self.open.is_none() && self.regions.is_empty()
    }

    /// The free extents that are left, as far as they are known.
    pub fn remaining(&self) -> Amount {
        self.left
    }

    /// The first address that no call has covered: all below it is done, once the last call is.
    pub fn cursor(&self) -> u64 {
        let open = self.open.as_ref().map(|open| open.position);
        let next = self.regions.front().map(|(region, _)| region.start);
        open.into_iter().chain(next).min().unwrap_or(self.asked[1])
    }

    /// The least that the next call can be, as far as it is known.
    pub fn upcoming(&self) -> Amount {
        let is_cut = self.planner.cutting().between_extents;
        match (&self.open, self.regions.front()) {
            (Some(open), _) => {
                let extents = open.extents.iter().flatten().copied().map(one);
                // The first alone where a call may end behind it.
                let least = extents.take(if is_cut { 1 } else { usize::MAX });
                least.fold(Amount::default(), Amount::and)
            }
            (None, Some((_, Some(all)))) if is_cut => {
                Amount { discards: 1, bytes: Bytes(all.bytes.0 / all.discards.max(1)) }
            }
            (None, Some((_, Some(all)))) => *all,
            _ => Amount::default(),
        }
    }

    /// The next call; `None` when nothing is left.
    ///
    /// # Errors
    /// Those of the filesystem's answer.
    pub fn next(&mut self, limit: StepLimit, piece: Bytes) -> Result<Option<Call>, Errno> {
        match limit.extent {
            StepExtent::Whole => Ok(self.whole()),
            StepExtent::Range(length) => Ok(self.range(length)),
            StepExtent::Cost { .. } => self.by_cost(limit, piece),
        }
    }

    fn whole(&mut self) -> Option<Call> {
        let free = self.remaining();
        let begun = self.open.take().map(|open| open.position);
        let first = self.regions.front().map(|(region, _)| region.start);
        self.regions.clear();
        self.left = Amount::default();
        // All of what is asked for, as it is asked for.
        begun.or(first)?;
        let start = begun.unwrap_or(self.asked[0]);
        Some(Call { start, length: self.asked[1].saturating_sub(start), free })
    }

    /// A range of this length, whatever is free in it.
    fn range(&mut self, length: Bytes) -> Option<Call> {
        let start = match &self.open {
            Some(open) => open.position,
            None => self.regions.front()?.0.start,
        };
        let end = start.saturating_add(length.0.max(1)).min(self.asked[1]);
        let (mut free, mut last) = (Amount::default(), start);
        while let Some((region, _)) = self.regions.front().filter(|(it, _)| it.start < end) {
            last = end.min(region.start.saturating_add(region.length.0));
            if region.start.saturating_add(region.length.0) > end {
                break;
            }
            let (_, amount) = self.regions.pop_front()?;
            free = free.and(amount.unwrap_or_default());
        }
        self.left = self.left.without(free);
        self.open = (!self.regions.is_empty()).then_some(OpenRegion {
            region: Region { start: last, length: Bytes(0) },
            position: end,
            extents: None,
        });
        Some(Call { start, length: end - start, free })
    }

    fn by_cost(&mut self, limit: StepLimit, piece: Bytes) -> Result<Option<Call>, Errno> {
        if !self.is_begun {
            self.begin_with_the_least();
        }
        if self.open.is_none() && !self.open_next()? {
            return Ok(None);
        }
        let cutting = self.planner.cutting();
        self.is_begun = true;
        let Some(mut call) = self.cut_open(limit, piece) else { return Ok(None) };
        self.left = self.left.without(call.free);
        // Whole regions that follow may be in the same call.
        while cutting.joins_regions && self.open.is_none() {
            let Some((region, Some(amount))) = self.regions.front().copied() else { break };
            let follows = region.start >= call.start + call.length;
            if !follows || !fits(limit, piece, call.free.and(amount)) {
                break;
            }
            self.regions.pop_front();
            self.left = self.left.without(amount);
            call.free = call.free.and(amount);
            call.length = region.start.saturating_add(region.length.0) - call.start;
        }
        Ok(Some(call))
    }

    /// Nobody knows yet what a discard costs: the region with the fewest free extents is the first.
    fn begin_with_the_least(&mut self) {
        let size = |at: &usize| {
            self.regions[*at].1.map_or((u64::MAX, Bytes(0)), |it| (it.discards, it.bytes))
        };
        let least = (0..self.regions.len()).min_by_key(size);
        if let Some(region) = least.and_then(|at| self.regions.remove(at)) {
            self.regions.push_front(region);
        }
    }

    /// Opens the next region that has something free; whether there is one.
    fn open_next(&mut self) -> Result<bool, Errno> {
        while let Some((region, amount)) = self.regions.pop_front() {
            let extents = self.planner.free_extents(region)?;
            // As it is now, not as it was at the start.
            let now = extents.as_deref().map(total).unwrap_or_default();
            self.left = self.left.without(amount.unwrap_or_default()).and(now);
            let extents = extents.map(VecDeque::from);
            if extents.as_ref().is_some_and(VecDeque::is_empty) {
                continue;
            }
            self.open = Some(OpenRegion { region, position: region.start, extents });
            return Ok(true);
        }
        Ok(false)
    }

    /// As much of the open region as is allowed, one extent at least.
    fn cut_open(&mut self, limit: StepLimit, piece: Bytes) -> Option<Call> {
        let cutting = self.planner.cutting();
        let open = self.open.as_mut()?;
        let region_end = open.region.start.saturating_add(open.region.length.0);
        let start = open.position;
        let mut free = Amount::default();
        let mut end = region_end;
        match &mut open.extents {
            Some(extents) if cutting.between_extents => {
                if let (StepExtent::Cost { longest: Some(longest), .. }, Some(first)) =
                    (limit.extent, extents.front_mut())
                    && cutting.within_extents
                    && first.length > longest
                {
                    end = first.start + longest.0;
                    free = Amount { discards: 1, bytes: longest };
                    (first.start, first.length) = (end, Bytes(first.length.0 - longest.0));
                } else {
                    while let Some(extent) = extents.front().copied() {
                        let more = free.and(one(extent));
                        if free.discards > 0 && !fits(limit, piece, more) {
                            break;
                        }
                        free = more;
                        extents.pop_front();
                    }
                    end = extents.front().map_or(region_end, |next| next.start);
                }
            }
            Some(extents) => free = extents.drain(..).map(one).fold(free, Amount::and),
            None => {}
        }
        open.position = end;
        if end >= region_end {
            self.open = None;
        }
        Some(Call { start, length: end - start, free })
    }
}

/// Whether this much of free extents is allowed in one call.
fn fits(limit: StepLimit, piece: Bytes, free: Amount) -> bool {
    let StepExtent::Cost { budget, cost, .. } = limit.extent else { return true };
    let commands = free.discards + free.bytes.0 / piece.0.max(1);
    cost.of(Amount { discards: commands, ..free }) <= budget
}

/// The part of a region within a span.
fn within(region: Region, [from, to]: [u64; 2]) -> Option<Region> {
    let end = region.start.saturating_add(region.length.0).min(to);
    let start = region.start.max(from);
    (end > start).then(|| Region { start, length: Bytes(end - start) })
}

fn one(extent: FreeExtent) -> Amount {
    Amount { discards: 1, bytes: extent.length }
}

fn total(extents: &[FreeExtent]) -> Amount {
    extents.iter().copied().map(one).fold(Amount::default(), Amount::and)
}

#[cfg(test)]
mod tests;
