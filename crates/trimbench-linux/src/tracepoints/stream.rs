//! Empties the kernel's buffers and puts events in order.

use std::fs::File;
use std::io::Read as _;

use trimbench_core::Nanos;

use crate::clock::MonotonicClock;

use super::TracingError;
use super::events::{BlockEvent, Happened, Layout, field};
use super::instance::Instance;
use super::pages::{HEADER, read_page};

/// Memory for all processors' buffers together, in KiB.
const BUFFERS_KIB: usize = 64 << 10;
/// Bounds of the buffer of one: 256 KiB hold about 3,000 events.
const BUFFER_KIB: (usize, usize) = (256, 4 << 10);
/// Larger than any page of the buffers is by default.
const PAGE_MAX: usize = 64 << 10;
/// An event that is younger may still be preceded by one that is being written.
const SETTLED: Nanos = Nanos::from_micros(200);

#[derive(Debug)]
pub(super) struct EventStream {
    /// Dropped before the instance, which they keep from going.
    buffers: Vec<File>,
    layouts: Vec<Layout>,
    /// Read, but not handed out: they may not be in order yet.
    events: Vec<BlockEvent>,
    page: Vec<u8>,
    instance: Instance,
}

impl EventStream {
    /// Has `instance` record what happens on the devices of these numbers. `wanted` is in the order
    /// in which it happens.
    pub(super) fn new(
        instance: Instance,
        numbers: &[u32],
        wanted: &[Happened],
    ) -> Result<Self, TracingError> {
        let header = "events/header_page";
        let data = instance.text(header).map(|text| field(&text, "data"))?;
        if data.is_none_or(|(offset, _)| offset != HEADER) {
            return Err(TracingError::UnknownLayout { path: instance.shown(header) });
        }
        instance.set("trace_clock", "mono")?;
        let buffers = instance.buffers()?;
        let each = (BUFFERS_KIB / buffers.len().max(1)).clamp(BUFFER_KIB.0, BUFFER_KIB.1);
        instance.set("buffer_size_kb", &each.to_string())?;
        let ours: Vec<String> = numbers.iter().map(|number| format!("dev == {number}")).collect();
        let mut layouts = Vec::new();
        for &happened in wanted {
            let folder = format!("events/block/{}", happened.event());
            let format = format!("{folder}/format");
            let layout = Layout::parse(happened, &instance.text(&format)?);
            let unknown = || TracingError::UnknownLayout { path: instance.shown(&format) };
            layouts.push(layout.ok_or_else(unknown)?);
            let filter = format!("({}){}", ours.join(" || "), happened.condition());
            instance.set(&format!("{folder}/filter"), &filter)?;
        }
        // Ends before begins: what begins is then seen to its end.
        for happened in wanted.iter().rev() {
            instance.set(&format!("events/block/{}/enable", happened.event()), "1")?;
        }
        let (events, page) = (Vec::new(), vec![0; PAGE_MAX]);
        Ok(Self { buffers, layouts, events, page, instance })
    }

    /// What [`super::Recorder::instance`] tells.
    pub(super) fn instance(&self) -> (&str, bool) {
        (self.instance.name(), self.instance.is_watched())
    }

    /// Takes in what the kernel has recorded; how many events it has lost since the last call, at
    /// least.
    pub(super) fn drain(&mut self) -> u64 {
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
        events.sort_by_key(|event| (event.at, event.happened));
        lost
    }

    /// Hands out, in their order, the events of up to `until`.
    pub(super) fn settled(&mut self, until: Nanos) -> std::vec::Drain<'_, BlockEvent> {
        let ready = self.events.partition_point(|event| event.at <= until);
        self.events.drain(..ready)
    }

    /// Until when events are in order if [`Self::drain`] is called next.
    pub(super) fn settles_at() -> Nanos {
        MonotonicClock::monotonic().saturating_sub(SETTLED)
    }

    pub(super) fn forget(&mut self) {
        self.events.clear();
    }
}
