//! The interface of a trim policy.

use std::fmt::{self, Debug};

use trimbench_core::settings::{Setting, SettingError, ValueKind, Values, checked, within};
use trimbench_core::{Blocks, Bytes, Instant, Nanos};

use crate::issuer::Issuer;

/// Decides when and how much to discard.
///
/// `now` never falls from one call to the next. After any call an earlier [`Grant::Until`] or
/// [`Grant::Idle`] is stale: ask again.
pub trait TrimPolicy: Debug + Send {
    /// An extent was freed, and its commit is done. How many of its blocks are to wait for a
    /// discard, from its start; the rest is skipped. `backlog` is what waited before it.
    fn admit(&mut self, _now: Instant, freed: Blocks, _backlog: &Backlog) -> Blocks {
        freed
    }

    /// Whether all that waits is to be skipped. Asked before each [`Self::grant`].
    fn sheds(&mut self, _now: Instant) -> bool {
        false
    }

    /// What may be discarded now. Asked only while something waits.
    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant;

    /// A discard was issued: of fewer blocks than granted if the extent was short, of more if it
    /// could not be divided.
    fn issued(&mut self, _now: Instant, _blocks: Blocks) {}

    /// A discard that was issued is done.
    fn completed(&mut self, _now: Instant) {}

    /// The foreground, at each submission and completion of a request, or as often as it is
    /// sampled.
    fn foreground(&mut self, _now: Instant, _seen: Foreground) {}
}

/// What a policy answers: when and how much to discard. Where it is discarded is for others to
/// know: freed extents in a model, windows of FITRIM on a mounted filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// One discard of at most so many blocks, now; ask again for the next. Never none.
    Blocks(Blocks),
    /// Nothing before this instant, unless something happens before.
    Until(Instant),
    /// Nothing until something happens.
    Idle,
}

/// A policy of the catalogue, as lists have it.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Its name, kebab-case: of a system, the name that this has as an issuer, if it is one.
    pub id: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Whose it is.
    pub origin: PolicyOrigin,
    /// What can be set.
    pub parameters: fn() -> Vec<Setting>,
    /// `None` for a filesystem's own path.
    pub(crate) build: Option<Build>,
}

/// Whose policy it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOrigin {
    /// The discard path that a modelled filesystem has by itself.
    OwnPath(Issuer),
    /// What a system does, as far as a queue of freed extents can express it.
    System,
    /// A proposal that no system is known to follow; whose it is.
    Proposal(&'static str),
}

impl fmt::Display for PolicyOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnPath(_) | Self::System => formatter.write_str("system"),
            Self::Proposal(whose) => write!(formatter, "proposal ({whose})"),
        }
    }
}

pub(crate) type Build = fn(&Values) -> Result<Box<dyn TrimPolicy>, SettingError>;

/// What waits for a discard, and what is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Blocks that wait.
    pub blocks: Blocks,
    /// Extents that they make, merged where they touch.
    pub extents: u64,
    /// When the first of them was freed; [`Instant::NEVER`] when nothing waits.
    pub oldest: Instant,
    /// The least that the next discard can be: a block, or all of an extent that is not divided;
    /// none when nothing waits.
    pub least: Blocks,
    /// Discards issued and not completed.
    pub in_flight: u64,
}

/// A look at the foreground: reads, writes and flushes, everything but discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreground {
    /// Requests submitted and not completed.
    pub outstanding: u64,
    /// The latency of the request that has just completed; `None` if none has. A probe of the
    /// caller's own may be given here without being counted above: then it does not end idleness.
    pub latency: Option<Nanos>,
}

impl Backlog {
    pub(crate) fn room(&self, max: Blocks) -> Blocks {
        Blocks(max.0.saturating_sub(self.blocks.0))
    }

    /// Leave for any discard, as long as fewer than `depth` are in flight.
    pub(crate) fn any_below(&self, depth: u64) -> Grant {
        if self.in_flight < depth { Grant::Blocks(self.blocks) } else { Grant::Idle }
    }
}

/// A size of whole logical blocks of the drive, from one to `high`.
pub(crate) fn whole_blocks(high: Bytes, values: &Values) -> ValueKind<Blocks> {
    let block_size = values.block_size();
    checked(within(block_size.bytes(), high), move |size| {
        let blocks = size.blocks_exact(block_size);
        blocks.ok_or_else(|| format!("{size} is no whole number of blocks of {block_size}").into())
    })
}
