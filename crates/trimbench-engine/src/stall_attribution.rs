//! Stall attribution: in which layer a stall arises.
//!
//! A caller that waits longer than a threshold is stalled, from the beginning of its wait. At each
//! instant the rule looks at the stalled caller that has waited longest. Its stall is attributed to
//! the first of these places whose condition holds:
//!
//! 1. the **device**, if it holds a request that the caller waits for;
//! 2. the **tags**, if such a request is in the block layer and its device holds at least half as
//!    many requests as it ever did: no tag is free. That is the device, seen from above;
//! 3. the **block layer**, if such a request is there, though the device has room: a scheduler or a
//!    throttle keeps it;
//! 4. **above** both, if there is none: the filesystem has it, or keeps the caller from submitting.
//!
//! Only the class of what a caller waits for is known. Requests of its own classes count however
//! recent they are, because a slow device is seldom without one. Through locks and commits it may
//! wait for other classes too: they count if they stayed as long as the threshold, in the device
//! for 1 and before it for 2 and 3. Discards count only for callers that wait for discards, because
//! the question is whether a filesystem makes others wait meanwhile.
//!
//! | caller waits for | own classes | other classes that count |
//! |---|---|---|
//! | read | read | write, flush |
//! | write | write | read, flush |
//! | flush (fsync) | write, flush | read |
//! | metadata | read | write, flush |
//! | discard | discard | read, write, flush |
//!
//! Two limits follow. Requests of other programs of the same class on the same device look like the
//! caller's. And if tags belong to several queues, half of what the device ever held is a guess.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use trimbench_core::{BlockRequest, CallerWait, Instant, Nanos, OperationKind};

#[cfg(test)]
mod tests;

/// The layer in which a stall lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StallLayer {
    /// The device holds what the caller waits for.
    Device,
    /// What the caller waits for has no tag: the device holds its fill of other requests.
    Tags,
    /// The block layer keeps what the caller waits for, though the device has room.
    BlockLayer,
    /// The layer above has sent nothing that the caller could wait for.
    Above,
}

/// A piece of the stalled time that lies in one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its first instant.
    pub from: Instant,
    /// Its end.
    pub to: Instant,
    /// Where the stall lies.
    pub place: StallLayer,
    /// Whether a device holds discards meanwhile.
    pub discarding: bool,
}

/// Where the stalled time lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallAttribution {
    /// All of the stalled time, in its order; neighbours differ.
    pub slices: Vec<Slice>,
}

impl StallLayer {
    /// Every layer, from below.
    pub const ALL: [Self; 4] = [Self::Device, Self::Tags, Self::BlockLayer, Self::Above];

    /// The stable name in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Tags => "tags",
            Self::BlockLayer => "block-layer",
            Self::Above => "above",
        }
    }
}

impl StallAttribution {
    /// The time in which some caller was stalled.
    pub fn stalled(&self) -> Nanos {
        self.sum(|_| true)
    }

    /// How much of it lies there.
    pub fn time(&self, place: StallLayer) -> Nanos {
        self.sum(|slice| slice.place == place)
    }

    /// How much of it lies above while a device discards: the filesystem may be waiting for its
    /// own discards.
    pub fn above_while_discarding(&self) -> Nanos {
        self.sum(|slice| slice.place == StallLayer::Above && slice.discarding)
    }

    /// The share of `place` in the stalled time; `None` if nobody was stalled. Tags are a part of
    /// their own: whoever asks for the device alone adds them.
    pub fn share(&self, place: StallLayer) -> Option<f64> {
        let stalled = self.stalled();
        (stalled > Nanos::ZERO).then(|| self.time(place).0 as f64 / stalled.0 as f64)
    }

    fn sum(&self, counts: impl Fn(&Slice) -> bool) -> Nanos {
        let counted = self.slices.iter().filter(|slice| counts(slice));
        counted.fold(Nanos::ZERO, |sum, slice| sum + slice.to.since(slice.from))
    }

    fn push(&mut self, slice: Slice) {
        match self.slices.last_mut() {
            Some(last)
                if last.to == slice.from
                    && last.place == slice.place
                    && last.discarding == slice.discarding =>
            {
                last.to = slice.to;
            }
            _ => self.slices.push(slice),
        }
    }
}

/// Finds out where the time lies in which callers waited longer than `threshold`.
///
/// Each request is given once, as far as it came. Those of before and after the stalls do no harm
/// and help to know how many the device can hold. Takes time as sorting does.
pub fn attribute_stalls(
    waits: &[CallerWait],
    requests: &[BlockRequest],
    threshold: Nanos,
) -> StallAttribution {
    let mut changes = Vec::new();
    for (index, wait) in waits.iter().enumerate() {
        if wait.to.since(wait.from) > threshold {
            changes.push((wait.from, Change::Stalled { index, by: 1 }));
            changes.push((wait.to, Change::Stalled { index, by: -1 }));
        }
    }
    for request in requests {
        add_request(request, threshold, &mut changes);
    }
    changes.sort_by_key(|(at, _)| *at);
    let devices = requests.iter().map(|request| usize::from(request.device) + 1).max();
    let mut devices = vec![Device::default(); devices.unwrap_or(0)];
    for moment in changes.chunk_by(same_instant) {
        for (_, change) in moment {
            change.apply(&mut devices);
        }
        devices.iter_mut().for_each(Device::note_most);
    }
    // Now that it is known what each device can hold.
    let mut stalled: BTreeSet<(Instant, Reverse<usize>)> = BTreeSet::new();
    let mut located = StallAttribution::default();
    let mut since = Instant::START;
    for moment in changes.chunk_by(same_instant) {
        let at = moment[0].0;
        if let Some((_, Reverse(longest))) = stalled.first() {
            let caller = waits[*longest].kind;
            let discarding = devices.iter().any(Device::holds_discards);
            let place = place_of(caller, &devices);
            located.push(Slice { from: since, to: at, place, discarding });
        }
        for (_, change) in moment {
            change.apply(&mut devices);
            if let Change::Stalled { index, by } = *change {
                // Of those who began to wait at once, the last in the list.
                let key = (waits[index].from, Reverse(index));
                if by > 0 {
                    stalled.insert(key)
                } else {
                    stalled.remove(&key)
                };
            }
        }
        since = at;
    }
    located
}

/// How a request concerns a caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Concern {
    /// It is what the caller waits for.
    Own,
    /// The caller may wait for it indirectly, if it takes long.
    Indirect,
    /// It does not.
    None,
}

/// Requests of one class in one state.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    any: i64,
    /// Those that are in this state for the threshold at least, from begin to end.
    long: i64,
}

/// What a device holds, and what waits before it, by class.
#[derive(Clone, Copy, Debug, Default)]
struct Device {
    held: [Count; OperationKind::ALL.len()],
    waiting: [Count; OperationKind::ALL.len()],
    /// The most that it ever held.
    most: i64,
}

#[derive(Clone, Copy)]
enum Change {
    /// A caller is stalled, or no more.
    Stalled { index: usize, by: i64 },
    /// A request begins or ends to wait, or to be held.
    Request { device: u16, kind: OperationKind, held: bool, long: bool, by: i64 },
}

impl Device {
    fn load(&self) -> i64 {
        self.held.iter().map(|count| count.any).sum()
    }

    fn note_most(&mut self) {
        self.most = self.most.max(self.load());
    }

    /// Whether it takes no more, as far as its past tells.
    fn is_full(&self) -> bool {
        self.load() > 0 && self.load() * 2 >= self.most
    }

    fn holds_discards(&self) -> bool {
        self.held[OperationKind::Discard as usize].any > 0
    }
}

impl Change {
    fn apply(self, devices: &mut [Device]) {
        if let Self::Request { device, kind, held, long, by } = self {
            let device = &mut devices[usize::from(device)];
            let counts = if held { &mut device.held } else { &mut device.waiting };
            let count = &mut counts[kind as usize];
            count.any += by;
            count.long += if long { by } else { 0 };
        }
    }
}

fn same_instant<T>(one: &(Instant, T), other: &(Instant, T)) -> bool {
    one.0 == other.0
}

/// What becomes of the counts when.
fn add_request(request: &BlockRequest, threshold: Nanos, out: &mut Vec<(Instant, Change)>) {
    let BlockRequest { device, kind, entered, issued, completed } = *request;
    // One that failed before it was issued ends its waiting with its completion.
    let waited_until = issued.min(completed);
    for (held, from, to) in [(false, entered, waited_until), (true, issued, completed)] {
        if from < to {
            let long = to.since(from) >= threshold;
            let change = |by| Change::Request { device, kind, held, long, by };
            out.push((from, change(1)));
            out.push((to, change(-1)));
        }
    }
}

fn place_of(caller: OperationKind, devices: &[Device]) -> StallLayer {
    let matters = |counts: &[Count; 5]| {
        OperationKind::ALL.iter().any(|kind| match concern(caller, *kind) {
            Concern::Own => counts[*kind as usize].any > 0,
            Concern::Indirect => counts[*kind as usize].long > 0,
            Concern::None => false,
        })
    };
    if devices.iter().any(|device| matters(&device.held)) {
        StallLayer::Device
    } else if devices.iter().any(|device| matters(&device.waiting) && device.is_full()) {
        StallLayer::Tags
    } else if devices.iter().any(|device| matters(&device.waiting)) {
        StallLayer::BlockLayer
    } else {
        StallLayer::Above
    }
}

/// The table of the module's documentation.
fn concern(caller: OperationKind, request: OperationKind) -> Concern {
    use OperationKind::{Discard, Flush, Metadata, Read, Write};
    match (caller, request) {
        (Read | Metadata, Read) | (Write, Write) | (Flush, Write | Flush) | (Discard, Discard) => {
            Concern::Own
        }
        (_, Discard | Metadata) => Concern::None,
        (_, Read | Write | Flush) => Concern::Indirect,
    }
}
