//! Empties the kernel's buffers, puts events in order, and joins them to requests.

use std::fs::File;
use std::io::Read as _;

use trimbench_core::{BlockRequest, Nanos};

use crate::clock::MonotonicClock;

use super::TraceError;
use super::events::{BlockEvent, Happened, Layout, field};
use super::instance::Instance;
use super::pages::{HEADER, read_page};
use super::requests::{Disk, Requests};

/// Memory for all processors' buffers together, in KiB.
const BUFFERS_KIB: usize = 64 << 10;
/// Bounds of the buffer of one: 256 KiB hold about 3,000 events.
const BUFFER_KIB: (usize, usize) = (256, 4 << 10);
/// Larger than any page of the buffers is by default.
const PAGE_MAX: usize = 64 << 10;
/// An event that is younger may still be preceded by one that is being written.
const SETTLED: Nanos = Nanos::from_micros(200);

/// What records, and what was recorded.
#[derive(Debug)]
pub(super) struct Reader {
    /// Dropped before the instance, which they keep from going.
    buffers: Vec<File>,
    layouts: Vec<Layout>,
    clock: MonotonicClock,
    /// Read, but not applied: they may not be in order yet.
    events: Vec<BlockEvent>,
    requests: Requests,
    page: Vec<u8>,
    _instance: Instance,
}

impl Reader {
    /// Has `instance` record the requests of `disks`.
    pub(super) fn new(
        instance: Instance,
        disks: Vec<Disk>,
        clock: MonotonicClock,
    ) -> Result<Self, TraceError> {
        let header = "events/header_page";
        let data = instance.text(header).map(|text| field(&text, "data"))?;
        if data.is_none_or(|(offset, _)| offset != HEADER) {
            return Err(TraceError::UnknownLayout { path: instance.shown(header) });
        }
        instance.set("trace_clock", "mono")?;
        let buffers = instance.buffers()?;
        let each = (BUFFERS_KIB / buffers.len().max(1)).clamp(BUFFER_KIB.0, BUFFER_KIB.1);
        instance.set("buffer_size_kb", &each.to_string())?;
        let numbers = disks.iter().flat_map(|disk| &disk.numbers);
        let ours: Vec<String> = numbers.map(|number| format!("dev == {number}")).collect();
        let mut layouts = Vec::new();
        for happened in Happened::ALL {
            let folder = format!("events/block/{}", happened.event());
            let format = format!("{folder}/format");
            let layout = Layout::parse(happened, &instance.text(&format)?);
            let unknown = || TraceError::UnknownLayout { path: instance.shown(&format) };
            layouts.push(layout.ok_or_else(unknown)?);
            let filter = format!("({}){}", ours.join(" || "), happened.condition());
            instance.set(&format!("{folder}/filter"), &filter)?;
        }
        // Ends before begins: what begins is then seen to its end.
        for happened in Happened::ALL.iter().rev() {
            instance.set(&format!("events/block/{}/enable", happened.event()), "1")?;
        }
        let (requests, page) = (Requests::new(disks), vec![0; PAGE_MAX]);
        let events = Vec::new();
        Ok(Self { buffers, layouts, clock, events, requests, page, _instance: instance })
    }

    /// Takes in what the kernel has recorded.
    pub(super) fn drain(&mut self) {
        let settled = MonotonicClock::monotonic().saturating_sub(SETTLED);
        let Self { buffers, layouts, events, page, .. } = self;
        let mut lost = 0;
        for buffer in buffers {
            // It has a page or nothing at all: EAGAIN.
            while let Ok(length @ 1..) = buffer.read(page) {
                lost += read_page(&page[..length], |at, data| {
                    events.extend(layouts.iter().find_map(|layout| layout.read(at, data)));
                });
            }
        }
        if lost > 0 {
            // What is in order after the loss cannot be told from what was before.
            self.events.clear();
            self.requests.lose(lost);
            return;
        }
        self.events.sort_by_key(|event| (event.at, event.happened));
        let ready = self.events.partition_point(|event| event.at <= settled);
        for event in self.events.drain(..ready) {
            self.requests.apply(&event, self.clock.at_monotonic(event.at));
        }
    }

    /// Appends what ended since the last call, then what is under way.
    pub(super) fn take(&mut self, out: &mut Vec<BlockRequest>) {
        self.requests.take(out);
    }

    /// Events lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.requests.lost()
    }
}
