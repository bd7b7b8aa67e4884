//! When the service trims a mount: at least once in a period, within the hours that are allowed,
//! and within the part of these hours that belongs to this host.
//!
//! All of it is a function of the time and of what is remembered, so that a year can be tested in a
//! moment.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Time};
use jiff::{Timestamp, Zoned};
use trimbench_core::Nanos;
use trimbench_core::trace_hash::TraceHash;

#[cfg(test)]
mod tests;

/// Days that are looked ahead; the longest period is shorter.
const DAYS: usize = 400;

/// Hours of the day, by local clocks: from `start` until `end`, over midnight if that is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    start: Time,
    end: Time,
}

/// A text that is no such hours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a part of the day, as `01:00-05:00`")]
pub struct HoursError {
    /// As given.
    pub text: String,
}

/// The part of the hours that is a host's: the `number`th of `of` equal ones, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    number: u32,
    of: u32,
}

/// When a mount is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// At least once in this time.
    pub every: Nanos,
    /// Only then; `None` for at any time.
    pub hours: Option<Hours>,
    /// Which part of them.
    pub slot: Slot,
}

/// What a rhythm says of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is the mount's turn, until the hours end.
    Now {
        /// When they do; `None` for never.
        until: Option<Timestamp>,
    },
    /// It is not before then.
    At(Timestamp),
}

impl Slot {
    /// All of the hours.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// Drawn by a hash of host and volume: hosts spread over `of` slots, and some may share one.
    pub fn drawn(host: &str, volume: &str, of: u32) -> Self {
        let mut hash = TraceHash::default();
        for text in [host, volume] {
            hash.text(text);
        }
        let of = of.max(1);
        Self { number: u32::try_from(hash.value() % u64::from(of)).unwrap_or(0), of }
    }

    /// By the place of `host` among all hosts that share a storage, of which `at_once` have a slot
    /// together; `None` if it is not one of them. Where each host has the same list, never more
    /// than `at_once` trim at the same time.
    pub fn ranked(host: &str, hosts: &[String], at_once: u32) -> Option<Self> {
        let mut names: Vec<&str> = hosts.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let rank = names.iter().position(|name| *name == host)?;
        let place = |rank: usize| u32::try_from(rank).ok()?.checked_div(at_once);
        Some(Self { number: place(rank)?, of: place(names.len() - 1)? + 1 })
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {}", self.number + 1, self.of)
    }
}

impl FromStr for Hours {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, HoursError> {
        let error = || HoursError { text: text.to_owned() };
        let time = |text: &str| {
            let (hour, minute) = text.trim().split_once(':').ok_or_else(error)?;
            let digits = |text: &str| {
                let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
                text.parse().ok().filter(|_| is_number).ok_or_else(error)
            };
            Time::new(digits(hour)?, digits(minute)?, 0, 0).map_err(|_| error())
        };
        let (start, end) = text.split_once('-').ok_or_else(error)?;
        let hours = Self { start: time(start)?, end: time(end)? };
        if hours.start == hours.end { Err(error()) } else { Ok(hours) }
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [start, end] = [self.start, self.end].map(|time| (time.hour(), time.minute()));
        write!(formatter, "{:02}:{:02}-{:02}:{:02}", start.0, start.1, end.0, end.1)
    }
}

impl Hours {
    /// How long they last on a day without a change of the clocks.
    pub fn seconds(self) -> u64 {
        let minute = |time: Time| i64::from(time.hour()) * 60 + i64::from(time.minute());
        let minutes = (minute(self.end) - minute(self.start)).rem_euclid(24 * 60);
        minutes.unsigned_abs() * 60
    }

    /// From when to when they last that begin on this day, in the zone of `now`.
    fn on(self, day: Date, now: &Zoned) -> Option<[Timestamp; 2]> {
        let at = |day: Date, time| {
            let zone = now.time_zone().clone();
            day.to_datetime(time).to_zoned(zone).ok().map(|it| it.timestamp())
        };
        let last = if self.end > self.start { day } else { day.tomorrow().ok()? };
        Some([at(day, self.start)?, at(last, self.end)?])
    }
}

impl Slot {
    /// This part of a span.
    fn within(self, [start, end]: [Timestamp; 2]) -> [Timestamp; 2] {
        let [start, end] = [start, end].map(Timestamp::as_nanosecond);
        let part = (end - start).max(0) / i128::from(self.of);
        let from = start + part * i128::from(self.number);
        [from, from + part].map(|at| Timestamp::from_nanosecond(at).unwrap_or(Timestamp::MAX))
    }
}

impl Rhythm {
    /// Whether it is the mount's turn. `last` is when the last pass began that was completed;
    /// `is_begun`: another one is under way.
    ///
    /// A pass begins in the last opening of the hours that is not too late: the next one would be
    /// more than `every` after the last pass. In one opening no second pass begins. A last pass in
    /// the future, which a clock that was set back leaves, counts as one that begins now.
    pub fn turn(&self, now: &Zoned, last: Option<Timestamp>, is_begun: bool) -> Turn {
        let at = now.timestamp();
        let last = last.map(|last| last.min(at));
        let late = last.map(|last| after(last, self.every));
        let Some(hours) = self.hours else {
            return match late {
                Some(late) if !is_begun && late > at => Turn::At(late),
                _ => Turn::Now { until: None },
            };
        };
        let mut openings = self.openings(hours, now).peekable();
        while let Some([start, end]) = openings.next() {
            let is_done_here = last.is_some_and(|last| last >= start);
            let is_last_chance = match (late, openings.peek()) {
                (Some(late), Some([next, _])) => *next > late,
                _ => true,
            };
            if is_begun || is_last_chance && !is_done_here {
                return if start > at { Turn::At(start) } else { Turn::Now { until: Some(end) } };
            }
        }
        // The hours never come, or the calendar ends.
        Turn::At(after(at, self.every))
    }

    /// The openings of the hours that are not over, in order.
    fn openings(self, hours: Hours, now: &Zoned) -> impl Iterator<Item = [Timestamp; 2]> {
        // Hours over midnight began yesterday.
        let first = now.date().yesterday().unwrap_or(now.date());
        let days = std::iter::successors(Some(first), |day| day.tomorrow().ok()).take(DAYS);
        let spans = days.filter_map(move |day| hours.on(day, now));
        let at = now.timestamp();
        // Where the clocks skip all of the hours, there are none on that day.
        spans
            .map(move |span| self.slot.within(span))
            .filter(move |[start, end]| *end > at && end > start)
    }
}

fn after(at: Timestamp, span: Nanos) -> Timestamp {
    let at = at.as_nanosecond().saturating_add(i128::from(span.0));
    Timestamp::from_nanosecond(at).unwrap_or(Timestamp::MAX)
}
