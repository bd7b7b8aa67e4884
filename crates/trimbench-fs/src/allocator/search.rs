//! The search for free blocks, if those at the request's goal are taken.
//!
//! Groups are tried by one criterion after the other, each less strict than the previous. Within a
//! group the free runs are measured from its start on; after ten runs that are long enough the
//! shortest is taken. A run is measured in whole buddies ([`Group::reach`]); one of exactly the
//! right length is taken at once. Source: `ext4_mb_regular_allocator`.

use std::collections::BTreeSet;
use std::ops::Range;

use trimbench_core::units::{index, narrow};

use crate::config::Allocation;

use super::group::{Group, ORDERS};

/// Runs that are measured before the best is taken (`mb_min_to_scan`).
const ENOUGH: u32 = 10;
/// Runs that are measured at most, if none is long enough (`mb_max_to_scan`).
const AT_MOST: u32 = 200;
/// By how many halvings a request is shortened at most so that a group has it on average
/// (`mb_best_avail_max_trim_order`).
const HALVINGS: u32 = 3;
/// With fewer groups they are searched one after the other
/// (`MB_DEFAULT_LINEAR_SCAN_THRESHOLD`).
const FEW_GROUPS: usize = 16;
/// Groups that hold metadata come in such steps; data that fill whole buddies avoid them.
const FLEX_GROUPS: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) needed: u32,
    /// Blocks that are looked for: more than needed, if the rest is to be kept for later.
    pub(super) sought: u32,
    pub(super) group: usize,
    pub(super) data: bool,
}

/// A run of free blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) group: usize,
    pub(super) start: u32,
    pub(super) length: u32,
}

/// Which groups come into question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Criterion {
    /// Has a buddy that is large enough, for a request of 2^n blocks.
    Buddy(usize),
    /// Its free runs are long enough on average.
    Average,
    /// Has so much free.
    Enough,
    /// Has anything free.
    Anything,
}

/// Groups by how long their free runs are on average, and by their largest buddy; so that
/// suitable ones are found without asking each.
#[derive(Clone, Debug)]
pub(super) struct Index {
    averages: [BTreeSet<usize>; ORDERS],
    largest: [BTreeSet<usize>; ORDERS],
    /// By group, the order of its average and of its largest buddy.
    known: Vec<Option<(usize, usize)>>,
}

impl Index {
    fn new(groups: &[Group]) -> Self {
        let mut new = Self {
            averages: Default::default(),
            largest: Default::default(),
            known: vec![None; groups.len()],
        };
        for (at, group) in groups.iter().enumerate() {
            new.update(at, group);
        }
        new
    }

    pub(super) fn for_search(search: Allocation, groups: &[Group]) -> Option<Self> {
        let by_index = search != Allocation::Linear && groups.len() >= FEW_GROUPS;
        by_index.then(|| Self::new(groups))
    }

    pub(super) fn update(&mut self, at: usize, group: &Group) {
        let now = group.largest_order().map(|largest| (order_of(group.free / group.runs), largest));
        let before = std::mem::replace(&mut self.known[at], now);
        if before == now {
            return;
        }
        if let Some((average, largest)) = before {
            self.averages[average].remove(&at);
            self.largest[largest].remove(&at);
        }
        if let Some((average, largest)) = now {
            self.averages[average].insert(at);
            self.largest[largest].insert(at);
        }
    }

    /// Checks that every group stands where it should.
    pub(super) fn check(&self, groups: &[Group]) {
        let expected = Self::new(groups);
        assert_eq!(expected.averages, self.averages, "groups are known by their averages");
        assert_eq!(expected.largest, self.largest, "groups are known by their largest buddy");
    }
}

/// Where free blocks lie for a request; `None` if nothing is free. At most as long as sought.
pub(super) fn find(groups: &[Group], by: Option<&Index>, request: Request) -> Option<Run> {
    Search { groups, by, request, best: None, measured: 0 }.run()
}

struct Search<'a> {
    groups: &'a [Group],
    by: Option<&'a Index>,
    request: Request,
    best: Option<Run>,
    measured: u32,
}

impl Search<'_> {
    fn run(mut self) -> Option<Run> {
        let sought = self.request.sought;
        let is_buddy = sought.is_power_of_two() && (2..=8_192).contains(&sought);
        let buddy = is_buddy.then(|| Criterion::Buddy(index(sought.ilog2().into())));
        for criterion in buddy.into_iter().chain([Criterion::Average]) {
            let found = match self.by {
                Some(by) => self.indexed(by, criterion),
                None => self.each(criterion),
            };
            if found.is_some() || self.has_measured_enough() {
                return found.or_else(|| self.longest());
            }
        }
        if let Some(by) = self.by.filter(|_| self.request.data)
            && let Some(found) = self.shortened(by)
        {
            return Some(found);
        }
        for criterion in [Criterion::Enough, Criterion::Anything] {
            let found = self.each(criterion);
            if found.is_some() || self.has_measured_enough() {
                return found.or_else(|| self.longest());
            }
        }
        self.longest()
    }

    fn has_measured_enough(&self) -> bool {
        self.measured > AT_MOST
    }

    /// The groups from that of the request on, then those before it.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let first = self.request.group;
        let ranges = [first..self.groups.len(), 0..first];
        ranges.into_iter().filter(|range| !range.is_empty())
    }

    /// The longest run that was seen, as long as it measures.
    fn longest(&self) -> Option<Run> {
        let run = self.best?;
        let reach = self.groups[run.group].reach(run.start, run.length);
        Some(Run { length: reach.min(self.request.sought), ..run })
    }

    fn each(&mut self, criterion: Criterion) -> Option<Run> {
        let mut groups = self.ranges().flatten();
        groups.find_map(|at| self.look_on(at, criterion))
    }

    /// The groups that the index names, those with the shortest runs that may do first.
    fn indexed(&mut self, by: &Index, criterion: Criterion) -> Option<Run> {
        let (from, table) = match criterion {
            Criterion::Buddy(order) => (order, &by.largest),
            _ => (order_of(self.request.sought), &by.averages),
        };
        self.ranges()
            .flat_map(|range| {
                table[from..].iter().flat_map(move |groups| groups.range(range.clone()))
            })
            .find_map(|&at| self.look_on(at, criterion))
    }

    /// Groups whose average is long enough for a part of the request.
    fn shortened(&mut self, by: &Index) -> Option<Run> {
        let Request { needed, sought, .. } = self.request;
        let order = sought.ilog2();
        let mut least = order.saturating_sub(HALVINGS);
        if 1 << least < needed {
            least = needed.ilog2() + 1;
        }
        for range in self.ranges() {
            for order in (least..=order).rev() {
                let suitable = &by.averages[order_of(1 << order)];
                let found = suitable
                    .range(range.clone())
                    .find_map(|&at| self.look_into(at, Criterion::Average, 1 << order));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// What a group has for the request, as long as not enough has been measured.
    fn look_on(&mut self, at: usize, criterion: Criterion) -> Option<Run> {
        if self.has_measured_enough() {
            return None;
        }
        self.look_into(at, criterion, self.request.sought)
    }

    /// What a group has of so many blocks, if it comes into question.
    fn look_into(&mut self, at: usize, criterion: Criterion, sought: u32) -> Option<Run> {
        let group = &self.groups[at];
        let suitable = group.free > 0
            && match criterion {
                Criterion::Buddy(order) => {
                    let reserved = self.request.data && at.is_multiple_of(FLEX_GROUPS);
                    !reserved && group.largest_order() >= Some(order)
                }
                Criterion::Average => {
                    u64::from(group.free) >= u64::from(sought) * u64::from(group.runs)
                }
                Criterion::Enough => group.free >= sought,
                Criterion::Anything => true,
            };
        if !suitable {
            return None;
        }
        if let Criterion::Buddy(order) = criterion {
            let start = group.first_buddy(order).expect("its largest buddy is large enough");
            return Some(Run { group: at, start, length: sought });
        }
        let mut from = 0;
        while let Some((start, end)) = group.run_from(from, sought) {
            from = end;
            if criterion == Criterion::Average && end - start < sought {
                continue;
            }
            let run = Run { group: at, start, length: group.reach(start, sought) };
            from = start + run.length;
            if self.measure(run, sought) {
                return self.taken(sought);
            }
            if self.has_measured_enough() {
                return None;
            }
        }
        self.taken(sought)
    }

    /// Takes a run into account; whether the search is over.
    fn measure(&mut self, run: Run, sought: u32) -> bool {
        self.measured += 1;
        let Some(best) = self.best.filter(|_| run.length != sought) else {
            self.best = Some(run);
            return run.length == sought;
        };
        let better = if best.length < sought {
            run.length > best.length
        } else {
            run.length > sought && run.length < best.length
        };
        if better {
            self.best = Some(run);
        }
        self.measured > ENOUGH && self.taken(sought).is_some()
    }

    /// The best, if it is long enough.
    fn taken(&self, sought: u32) -> Option<Run> {
        let best = self.best.filter(|best| best.length >= sought)?;
        Some(Run { length: sought, ..best })
    }
}

/// Where the index has groups whose free runs are so long on average
/// (`mb_avg_fragment_size_order`).
fn order_of(length: u32) -> usize {
    index(u64::from(length.max(2).ilog2()) - 1).min(ORDERS - 1)
}

pub(super) fn place(address: u64, group_fs_blocks: u64) -> (usize, u32) {
    (index(address / group_fs_blocks), narrow(address % group_fs_blocks))
}
