//! What must hold, beside its policy, before a drive is given its next discard.

use trimbench_core::{Bytes, Instant, Nanos};
use trimbench_policy::Backlog;

use super::config::{PoolConfig, TrimManner};

#[cfg(test)]
mod tests;

/// Discards in the queue of a drive at most. Source: \[OPENZFS\] `zfs_trim_queue_limit`.
const TRIMS_QUEUED: u64 = 10;
/// How often `zpool trim` looks whether its rate lets it go on. Source: \[OPENZFS\]
/// `vdev_trim_range`.
const RATE_POLL: Nanos = Nanos::from_millis(10);
/// Segments that a pass takes are rounded up to this. Source: \[FBZFS\] `trim_map_vdev_commit`.
const PASS_UNIT: u64 = 64;

/// What lets discards of a drive go.
#[derive(Clone, Debug)]
pub(crate) enum Gate {
    /// FreeBSD: a pass over all drives.
    Pass(PassGate),
    /// `OpenZFS`: room in the drive's queue, and a rate.
    Leaf(LeafGate),
}

/// FreeBSD's: within a pass, for what is due. Source: \[FBZFS\] `trim_map_first`.
#[derive(Clone, Debug)]
pub(crate) struct PassGate {
    pending_max: u64,
    /// In blocks of the drive; `None`: the version of 2017, which limits the number only, and takes
    /// a share of the excess.
    blocks_max: Option<u64>,
    /// Passes in which all that waits is taken, where it is not too much.
    passes: u64,
    /// Of the pass under way; `None` where nothing more is due in it.
    share: Option<PassShare>,
}

/// What is due in a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassShare {
    /// What was freed until then is due because of its age,
    ripe: Instant,
    /// and nothing that was freed later, because its group is not synced.
    safe: Instant,
    /// How many segments, and how many of them whatever their age.
    quota: u64,
    forced: u64,
}

/// `OpenZFS`'s. Source: \[OPENZFS\] `vdev_trim_range`.
#[derive(Clone, Debug)]
pub(crate) struct LeafGate {
    /// Bytes a second; 0: no limit.
    rate: u64,
    /// When the metaslab was begun, and what was discarded since.
    begun: Instant,
    bytes: u64,
}

impl Gate {
    /// Of a drive with logical blocks of `block` bytes; no pass is under way.
    pub(crate) fn new(config: &PoolConfig, block: Bytes) -> Self {
        let passes = config.trim_timeout.0 / config.trim_interval.0;
        let blocks_max = config.trim_bytes_max.0 / block.0;
        match config.manner {
            TrimManner::ZfsAutotrim => Self::Leaf(LeafGate::new(0)),
            TrimManner::ZfsTrim => Self::Leaf(LeafGate::new(config.trim_rate.0)),
            TrimManner::FreeBsd2013 | TrimManner::FreeBsd2017 => Self::Pass(PassGate {
                pending_max: config.trim_pending_max.into(),
                blocks_max: (config.manner == TrimManner::FreeBsd2013).then_some(blocks_max),
                passes,
                share: None,
            }),
        }
    }

    /// When the next discard may go, of which `queued` wait or are under way:
    /// [`Instant::NEVER`] if that depends on something else than time.
    pub(crate) fn opens(&mut self, now: Instant, backlog: &Backlog, queued: u64) -> Instant {
        let (opens, at) = match self {
            Self::Pass(pass) => (pass.is_due(backlog), now),
            Self::Leaf(leaf) => (backlog.extents > 0 && queued < TRIMS_QUEUED, leaf.opens(now)),
        };
        if opens { at } else { Instant::NEVER }
    }

    /// A discard of so many bytes goes.
    pub(crate) fn passed(&mut self, bytes: u64) {
        match self {
            Self::Pass(PassGate { share: Some(share), .. }) => {
                share.quota -= 1;
                share.forced = share.forced.saturating_sub(1);
            }
            Self::Pass(_) => unreachable!("a discard goes within a pass"),
            Self::Leaf(leaf) => leaf.bytes += bytes,
        }
    }

    /// A pass begins. `ripe`: what was freed until then is due because of its age; `safe`: what was
    /// freed later is not due.
    pub(crate) fn begin_pass(&mut self, backlog: &Backlog, (ripe, safe): (Instant, Instant)) {
        let Self::Pass(pass) = self else { unreachable!("only FreeBSD has passes") };
        let forced = backlog.extents.saturating_sub(pass.pending_max) / 4;
        let quota = (forced + backlog.extents / pass.passes + 1).next_multiple_of(PASS_UNIT);
        pass.share = Some(match pass.blocks_max {
            None => PassShare { ripe, safe, quota, forced },
            Some(_) => PassShare { ripe, safe, quota: u64::MAX, forced: 0 },
        });
    }

    /// A metaslab is begun.
    pub(crate) fn begin_metaslab(&mut self, now: Instant) {
        let Self::Leaf(leaf) = self else { unreachable!("only OpenZFS trims metaslabs") };
        (leaf.begun, leaf.bytes) = (now, 0);
    }

    /// Whether more discards may be due in the pass under way.
    pub(crate) fn is_in_pass(&self) -> bool {
        matches!(self, Self::Pass(PassGate { share: Some(_), .. }))
    }
}

impl PassGate {
    /// Whether another discard is due; once none is, none is for the rest of the pass.
    fn is_due(&mut self, backlog: &Backlog) -> bool {
        let Some(PassShare { ripe, safe, quota, forced }) = self.share else { return false };
        let too_much = self.blocks_max.is_some_and(|blocks_max| {
            backlog.extents > self.pending_max || backlog.blocks.0 > blocks_max
        });
        let oldest = backlog.oldest;
        let is_due = quota > 0 && oldest <= safe && (oldest <= ripe || forced > 0 || too_much);
        if !is_due {
            self.share = None;
        }
        is_due
    }
}

impl LeafGate {
    fn new(rate: u64) -> Self {
        Self { rate, begun: Instant::START, bytes: 0 }
    }

    /// When the bytes since the metaslab was begun, over the time since then, in whole milliseconds
    /// and one more, are no more than the rate; it looks only so often.
    fn opens(&self, now: Instant) -> Instant {
        if self.rate == 0 {
            return now;
        }
        let millis = u128::from(self.bytes) * 1_000 / (u128::from(self.rate) + 1);
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        let allowed = self.begun + Nanos::from_millis(1).times(millis);
        now + RATE_POLL.times(allowed.since(now).0.div_ceil(RATE_POLL.0))
    }
}
