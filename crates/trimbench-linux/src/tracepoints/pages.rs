//! The kernel's ring buffer of events, a page at a time, as `trace_pipe_raw` gives it.
//!
//! ```text
//! page:   time (u64) | state (u64) | events ...        state: length of the events, bits 30 and 31
//! event:  kind (5 bits), time since the last (27 bits) | data
//! ```
//!
//! Source: `kernel/trace/ring_buffer.c`, `include/linux/ring_buffer.h`; the kernel describes the
//! layout itself in `events/header_page` and `events/header_event`. On 64-bit machines.

use trimbench_core::Nanos;
use trimbench_core::units::index;

#[cfg(test)]
mod tests;

pub(super) const HEADER: usize = 16;
/// Bit of the state: events were lost before this page.
const MISSED: u64 = 1 << 31;
/// Bit of the state: how many stands behind the events.
const MISSED_STORED: u64 = 1 << 30;
/// Bits of an event's first word that are its kind.
const KIND_BITS: u32 = 5;
/// Bits of that word that are a time.
const TIME_BITS: u32 = 27;
/// The largest kind that is a length, in words.
const WORDS_MAX: u32 = 28;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The bits that an absolute time does not carry.
const STAMP_HIGH: u64 = !0 << 59;

/// Calls `event` with the time and the data of each event of a page. Returns how many events were
/// lost before it, at least; what does not have the documented form ends the page.
pub(super) fn read_page(page: &[u8], mut event: impl FnMut(Nanos, &[u8])) -> u64 {
    let (Some(mut time), Some(state)) = (u64_at(page, 0), u64_at(page, 8)) else { return 0 };
    let length = index(state & (MISSED_STORED - 1)).min(page.len() - HEADER);
    let (events, behind) = page[HEADER..].split_at(length);
    let lost = match (state & MISSED != 0, state & MISSED_STORED != 0) {
        (false, _) => 0,
        (true, true) => u64_at(behind, 0).unwrap_or(1).max(1),
        (true, false) => 1,
    };
    let mut at = 0;
    while let Some(word) = u32_at(events, at) {
        let (kind, delta) = (word & ((1 << KIND_BITS) - 1), u64::from(word >> KIND_BITS));
        let next = || u32_at(events, at + 4);
        let (start, end) = match kind {
            1..=WORDS_MAX => (at + 4, at + 4 + 4 * index(u64::from(kind))),
            // Nothing follows on this page.
            PADDING if delta == 0 => break,
            _ => {
                let Some(next) = next() else { break };
                match kind {
                    TIME_EXTEND => time += u64::from(next) << TIME_BITS,
                    TIME_STAMP => {
                        let stamp = (u64::from(next) << TIME_BITS) + delta;
                        time = (time & STAMP_HIGH) | stamp;
                    }
                    // The length counts its own word.
                    _ => {}
                }
                let length = if kind == TIME_EXTEND || kind == TIME_STAMP { 4 } else { next };
                (at + 8, at + 4 + index(u64::from(length.max(4))))
            }
        };
        time += if kind == TIME_STAMP { 0 } else { delta };
        if kind <= WORDS_MAX {
            let Some(data) = events.get(start..end) else { break };
            event(Nanos(time), data);
        }
        at = end;
    }
    lost
}

/// The number in this machine's byte order.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
