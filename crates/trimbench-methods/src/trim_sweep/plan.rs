//! The plan: which rows are measured, in which order, and where each discards.

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, LbaRange};

use super::options::{TrimSweep, gap};
use trimbench_engine::Shape;

/// Fewer discards are no row.
const COMMANDS_MIN: u64 = 3;
/// A row has at least this many discards for each one beyond the first that is outstanding, so that
/// filling and emptying the queue are a tenth of it at most.
const QUEUES_MIN: u64 = 5;
/// From one size to the next.
const SIZE_FACTOR: u64 = 4;

/// What a row discards, and beside what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SweepKind {
    /// Nothing was written there since the purge.
    NeverWritten,
    /// Written just before.
    Mapped,
    /// Written just before; each discard ends one logical block before a unit of the granularity
    /// does. It begins with one: the kernel splits what does not into two commands.
    MappedUnaligned,
    /// Written just before; reads and writes go on elsewhere.
    MappedLoaded,
    /// Discarded just before.
    Trimmed,
    /// Discarded just before; each discard ends one logical block before a unit does.
    TrimmedUnaligned,
    /// The whole device, written just before.
    MappedWhole,
    /// The whole device, discarded just before.
    TrimmedWhole,
}

impl SweepKind {
    /// Every kind; those of one class of content stand together, in the order of a run.
    pub const ALL: [Self; 8] = [
        Self::NeverWritten,
        Self::Mapped,
        Self::MappedUnaligned,
        Self::MappedLoaded,
        Self::Trimmed,
        Self::TrimmedUnaligned,
        Self::MappedWhole,
        Self::TrimmedWhole,
    ];

    /// The name in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::NeverWritten => "never-written",
            Self::Mapped => "mapped",
            Self::MappedUnaligned => "mapped-unaligned",
            Self::MappedLoaded => "mapped-loaded",
            Self::Trimmed => "trimmed",
            Self::TrimmedUnaligned => "trimmed-unaligned",
            Self::MappedWhole => "mapped-whole",
            Self::TrimmedWhole => "trimmed-whole",
        }
    }

    /// Whether the content is written before the row.
    pub const fn is_mapped(self) -> bool {
        matches!(
            self,
            Self::Mapped | Self::MappedUnaligned | Self::MappedLoaded | Self::MappedWhole
        )
    }

    /// Whether reads and writes go on beside the discards.
    pub const fn is_loaded(self) -> bool {
        matches!(self, Self::MappedLoaded)
    }

    /// Whether the whole device is discarded.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::MappedWhole | Self::TrimmedWhole)
    }

    /// Whether the discards end within a unit of the granularity.
    pub const fn is_unaligned(self) -> bool {
        matches!(self, Self::MappedUnaligned | Self::TrimmedUnaligned)
    }

    /// Rows of different classes are not mixed: first what was never written, for it can be found
    /// only once; last the whole device.
    const fn class(self) -> u8 {
        match self {
            Self::NeverWritten => 0,
            Self::Mapped | Self::MappedUnaligned | Self::MappedLoaded => 1,
            Self::Trimmed | Self::TrimmedUnaligned => 2,
            Self::MappedWhole => 3,
            Self::TrimmedWhole => 4,
        }
    }
}

/// Discards of one size at one queue depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Unique in the session.
    pub id: String,
    /// What it discards.
    pub kind: SweepKind,
    /// Bytes of each discard before unaligned ones are cut; of the whole device, of each piece.
    pub size: Bytes,
    /// Discards outstanding.
    pub queue_depth: u32,
    /// How many discards, at most.
    pub count: u64,
}

/// All rows of a session, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimSweepPlan {
    /// The rows.
    pub rows: Vec<Row>,
    shape: Shape,
}

impl TrimSweepPlan {
    /// The rows of `method` on a device of this shape: by class, in random order within a class.
    /// `never`: the device can be purged by other means than TRIM.
    pub fn new(method: &TrimSweep, shape: Shape, never: bool, rng: &Rng) -> Self {
        let mut rows = Vec::new();
        for kind in SweepKind::ALL {
            let wanted = match kind {
                SweepKind::NeverWritten => never,
                SweepKind::Mapped | SweepKind::Trimmed => true,
                SweepKind::MappedUnaligned | SweepKind::TrimmedUnaligned => method.unaligned,
                SweepKind::MappedLoaded => method.asked_rate().is_some(),
                SweepKind::MappedWhole | SweepKind::TrimmedWhole => method.whole,
            };
            if wanted {
                rows.extend(rows_of(kind, method, shape));
            }
        }
        rng.split("order").shuffle(&mut rows);
        rows.sort_by_key(|row| row.kind.class());
        Self { rows, shape }
    }

    /// Where a row discards: slots of equal distance, never adjacent, so that the kernel finds no
    /// neighbours to merge. What was never written is used up from `cursor` on; everything else
    /// lies behind the load's area. `None` if there is no room left behind the cursor.
    pub fn slots(&self, method: &TrimSweep, row: &Row, cursor: Bytes) -> Option<Vec<SweepSlot>> {
        let shape = &self.shape;
        if row.kind.is_whole() {
            return Some(vec![SweepSlot { start: Bytes(0), length: shape.capacity }]);
        }
        let least = stride(row.size, shape);
        let (start, stride) = if row.kind == SweepKind::NeverWritten {
            let end = cursor.0 + row.count * least.0;
            if end > shape.capacity.0 {
                return None;
            }
            (cursor, least)
        } else {
            let start = first_slot(method, shape);
            let share = (shape.capacity.0 - start.0) / row.count;
            (start, Bytes(share / shape.granularity.0 * shape.granularity.0))
        };
        debug_assert!(stride >= least, "rows have no more discards than there are slots");
        let slot = |index| SweepSlot { start: Bytes(start.0 + index * stride.0), length: row.size };
        Some((0..row.count).map(slot).collect())
    }

    /// What is discarded of a slot.
    pub fn discards(&self, row: &Row, slots: &[SweepSlot]) -> Vec<LbaRange> {
        let shape = &self.shape;
        if row.kind.is_whole() {
            let pieces = shape.capacity.pieces(row.size);
            let piece = |index: u64| {
                let start = Bytes(index * row.size.0);
                shape.range(start, row.size.min(shape.capacity - start))
            };
            return (0..pieces).map(piece).collect();
        }
        let cut = if row.kind.is_unaligned() { shape.logical_block.bytes() } else { Bytes(0) };
        let range = |slot: &SweepSlot| shape.range(slot.start, slot.length - cut);
        slots.iter().map(range).collect()
    }

    /// Bytes that are written to prepare.
    pub fn written(&self, method: &TrimSweep) -> Bytes {
        let rows = self.rows.iter().filter(|row| row.kind.is_mapped());
        let prepared: u64 = rows
            .map(|row| {
                let whole = row.kind.is_whole();
                if whole { self.shape.capacity.0 } else { row.size.0 * row.count }
            })
            .sum();
        Bytes(prepared + filled(method, &self.shape).0)
    }

    /// Leaves out the rows with a load beside them.
    pub(super) fn leave_out_load(&mut self) {
        self.rows.retain(|row| !row.kind.is_loaded());
    }

    /// Whether a row has a load beside it.
    pub fn has_load(&self) -> bool {
        self.rows.iter().any(|row| row.kind.is_loaded())
    }

    /// Bytes that the load writes at most: rows that last as long as rows may, and the load alone.
    pub fn written_by_load(&self, method: &TrimSweep) -> Bytes {
        let Some(rate) = method.asked_rate() else { return Bytes(0) };
        let rows = self.rows.iter().filter(|row| row.kind.is_loaded()).count() as u64;
        let alone = u64::from(self.has_load());
        let time = method.loaded_time_max(rate).times(rows + alone);
        let accesses = time.0 / gap(rate).0;
        Bytes((accesses - method.read_share.of(accesses)) * super::row::ACCESS.0)
    }
}

/// What is written before a row, and where it discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepSlot {
    /// First byte, a multiple of the granularity.
    pub start: Bytes,
    /// Bytes.
    pub length: Bytes,
}

/// What is written before all but the never-written rows: the load's area at least.
pub(super) fn filled(method: &TrimSweep, shape: &Shape) -> Bytes {
    let load = if method.asked_rate().is_some() { method.load_span } else { Bytes(0) };
    let unit = shape.granularity.0;
    load.max(Bytes(method.fill.of(shape.capacity.0) / unit * unit))
}

/// The sizes that the device takes, ascending.
fn sizes(method: &TrimSweep, shape: &Shape) -> Vec<Bytes> {
    let unit = shape.granularity.0;
    let mut sizes = method.sizes.clone().unwrap_or_else(|| {
        let steps = std::iter::successors(Some(shape.granularity), |size| {
            size.0.checked_mul(SIZE_FACTOR).map(Bytes)
        });
        let steps = steps.take_while(|size| *size < shape.discard_max);
        steps.chain([method.reference, shape.discard_max]).collect()
    });
    for size in &mut sizes {
        *size = Bytes(size.0 / unit * unit);
    }
    sizes.retain(|size| size.0 > 0 && *size <= shape.discard_max);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn rows_of(kind: SweepKind, method: &TrimSweep, shape: Shape) -> Vec<Row> {
    let row = |size: Bytes, queue_depth: u32, count: u64| {
        let id = format!("{}-{size}-qd{queue_depth}", kind.id());
        Row { id, kind, size, queue_depth, count }
    };
    if kind.is_whole() {
        return vec![row(shape.discard_max, 1, shape.capacity.pieces(shape.discard_max))];
    }
    let deep = matches!(kind, SweepKind::NeverWritten | SweepKind::Mapped | SweepKind::Trimmed);
    let depths = if deep { &method.queue_depths[..] } else { &[1] };
    let block = shape.logical_block.bytes().0;
    let mut rows = Vec::new();
    for size in sizes(method, &shape) {
        // Cut at its end, the smallest may have nothing left.
        if kind.is_unaligned() && size.0 <= block {
            continue;
        }
        let area = match kind {
            SweepKind::NeverWritten => shape.capacity,
            _ => shape.capacity - first_slot(method, &shape),
        };
        let slots = area.0 / stride(size, &shape).0;
        let count = method.commands.min(method.row_bytes_max.0 / size.0).min(slots);
        for &queue_depth in depths {
            let enough = COMMANDS_MIN.max(QUEUES_MIN * u64::from(queue_depth - 1));
            if count >= enough {
                rows.push(row(size, queue_depth, count));
            }
        }
    }
    rows
}

/// From one slot to the next, at the least: one unit of the granularity between them.
fn stride(size: Bytes, shape: &Shape) -> Bytes {
    size + shape.granularity
}

/// Where slots begin: behind the load's area, in whole units.
fn first_slot(method: &TrimSweep, shape: &Shape) -> Bytes {
    let load = if method.asked_rate().is_some() { method.load_span } else { Bytes(0) };
    Bytes(load.0.next_multiple_of(shape.granularity.0))
}
