//! A survey of the whole trace before anything is written: its contents, and whether it can be
//! replayed on this device.

use trimbench_core::units::index;
use trimbench_core::{Bytes, Nanos};
use trimbench_results::Step;
use trimbench_trace::{Record, RecordKind, TraceError, TraceSource};

use super::options::{Pace, Replay, Scaling};
use super::steps::{ReplayKindStep, ReplaySurveyStep};
use trimbench_engine::MethodError;

/// Space is counted in units of so many bytes.
const UNIT: u64 = 4_096;

/// Which units of the device are trimmed and not written again: those that a TRIM covers whole.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trimmed {
    /// A bit a unit.
    words: Vec<u64>,
    units: u64,
}

impl Trimmed {
    fn none_of(room: Bytes) -> Self {
        let units = room.0 / UNIT;
        Self { words: vec![0; index(units.div_ceil(64))], units }
    }

    /// Notes what a record does to the units of the device.
    #[inline]
    fn note(&mut self, record: &Record) {
        let (start, end) = (record.offset.0, record.end().0);
        match record.kind {
            RecordKind::Write => self.set((start / UNIT, end.div_ceil(UNIT)), false),
            RecordKind::Discard => self.set((start.div_ceil(UNIT), end / UNIT), true),
            RecordKind::Read | RecordKind::Flush => {}
        }
    }

    #[inline]
    fn set(&mut self, (first, end): (u64, u64), trimmed: bool) {
        let end = end.min(self.units);
        let mut next = first;
        while next < end {
            let upper = (next / 64 + 1) * 64;
            let stop = end.min(upper);
            let mask = (u64::MAX >> (upper - stop)) & (u64::MAX << (next % 64));
            let word = &mut self.words[index(next / 64)];
            *word = if trimmed { *word | mask } else { *word & !mask };
            next = stop;
        }
    }

    fn share(&self) -> f64 {
        let trimmed: u64 = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
        trimmed as f64 / self.units as f64
    }
}

/// What a trace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Survey {
    /// Commands and bytes by kind, in the order of [`RecordKind::ALL`].
    count: [u64; 4],
    bytes: [u64; 4],
    /// Bytes written within the device.
    inside: u64,
    /// Writes that begin where the write before ended.
    sequential: u64,
    /// The share of the device that is trimmed and not written again, at the end.
    trimmed: f64,
    /// The end of the last byte that is accessed.
    pub(super) span: u64,
    /// Commands that end beyond the device, and the first of them with its number, from 1.
    beyond: u64,
    first_beyond: Option<(u64, Record)>,
    /// Whether it has stamps, the last of them, and how many are before the one before them.
    timed: bool,
    pub(super) last: Nanos,
    backwards: u64,
}

impl Survey {
    /// Reads the trace to its end; `room` is what there is of the device.
    pub(super) fn of(source: &mut dyn TraceSource, room: Bytes) -> Result<Self, TraceError> {
        let mut survey = Self { timed: source.is_timed(), ..Self::default() };
        let (mut batch, mut number, mut end) = (Vec::new(), 0, None);
        let mut trimmed = Trimmed::none_of(room);
        loop {
            source.read(&mut batch)?;
            if batch.is_empty() {
                survey.trimmed = trimmed.share();
                return Ok(survey);
            }
            for record in &batch {
                number += 1;
                survey.add(number, record, room);
                trimmed.note(record);
                if record.kind == RecordKind::Write {
                    survey.sequential += u64::from(end == Some(record.offset));
                    end = Some(record.end());
                }
            }
        }
    }

    fn add(&mut self, number: u64, record: &Record, room: Bytes) {
        let kind = record.kind as usize;
        self.count[kind] += 1;
        self.bytes[kind] += record.length.0;
        if record.kind == RecordKind::Write {
            self.inside += record.length.0.min(room.0.saturating_sub(record.offset.0));
        }
        self.span = self.span.max(record.end().0);
        if record.end() > room {
            self.beyond += 1;
            self.first_beyond.get_or_insert((number, *record));
        }
        self.backwards += u64::from(record.time < self.last);
        self.last = self.last.max(record.time);
    }

    /// Bytes that a replay writes of it, to a part of a command.
    pub(super) fn written(&self, scaling: Scaling) -> Bytes {
        Bytes(match scaling {
            Scaling::Truncate => self.inside,
            Scaling::Refuse | Scaling::Modulo | Scaling::Linear => {
                self.bytes[RecordKind::Write as usize]
            }
        })
    }

    /// Why such a trace cannot be replayed in so much room, if it cannot.
    pub(super) fn check(&self, method: &Replay, room: Bytes) -> Result<(), MethodError> {
        let reason = if self.count[RecordKind::Write as usize] == 0 {
            "it has no writes, and their rate is what is measured".to_owned()
        } else if let (Some((number, record)), Scaling::Refuse) =
            (self.first_beyond, method.scaling)
        {
            let Record { offset, length, .. } = record;
            format!(
                "command {number} ({} bytes at byte {}) and {} more end beyond the {} bytes that \
                 are used of the device; use a larger one, or say what to do with them: `--set \
                 scaling=modulo`, `linear` or `truncate`",
                length.0,
                offset.0,
                self.beyond - 1,
                room.0
            )
        } else if !self.timed && method.paces().iter().any(|pace| matches!(pace, Pace::Stamps(_))) {
            "its commands have no times; replay it as fast as possible: `--set pace=none`"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(MethodError::Unreplayable { reason })
    }

    /// As a step.
    pub(super) fn step(&self) -> Step {
        let of = |kind: RecordKind| {
            let kind = kind as usize;
            ReplayKindStep { count: self.count[kind], bytes: Bytes(self.bytes[kind]) }
        };
        let write = of(RecordKind::Write);
        let survey = ReplaySurveyStep {
            read: of(RecordKind::Read),
            write,
            trim: of(RecordKind::Discard),
            flush: of(RecordKind::Flush),
            sequential_share: self.sequential as f64 / write.count as f64,
            trimmed_share: self.trimmed,
            span_bytes: Bytes(self.span),
            beyond_count: self.beyond,
            duration_s: self.timed.then(|| self.last.seconds()),
            backwards_count: self.timed.then_some(self.backwards),
        };
        Step::of("trace", "survey", &survey)
    }
}
