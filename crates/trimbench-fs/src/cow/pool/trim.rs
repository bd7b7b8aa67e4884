//! Discards of freed space: who is told what, in the manner of the system.

use trimbench_core::{BlockCommand, DrainRule, ForceDiscards, Instant, Model, Nanos};

use super::Pool;
use crate::cow::config::{PoolConfig, TrimManner};
use crate::cow::drive::TRIM_MOST;
use crate::cow::space::Space;
use automatic::Autotrim;
use manual::ManualTrim;
use passes::Passes;

mod automatic;
mod manual;
mod passes;

/// How far trimming has come.
#[derive(Debug)]
pub(super) enum Trimming {
    Passes(Passes),
    Automatic(Autotrim),
    Manual(ManualTrim),
    /// Nothing is discarded, or nothing more.
    Off,
}

impl Trimming {
    /// In this manner, if there are discards at all.
    pub(super) fn new(manner: TrimManner, discards: bool) -> Self {
        match manner {
            TrimManner::FreeBsd2013 | TrimManner::FreeBsd2017 => Self::Passes(Passes::default()),
            _ if !discards => Self::Off,
            TrimManner::ZfsAutotrim => Self::Automatic(Autotrim::default()),
            TrimManner::ZfsTrim => Self::Manual(ManualTrim::default()),
        }
    }

    pub(super) fn is_automatic(&self) -> bool {
        matches!(self, Self::Automatic(_))
    }

    /// When the next pass of FreeBSD begins.
    pub(super) fn next_pass(&self) -> Instant {
        match self {
            Self::Passes(passes) => passes.next,
            _ => Instant::NEVER,
        }
    }

    /// Whether groups are to go on although nothing changes.
    pub(super) fn waits_for_groups(&self, space: &Space) -> bool {
        match self {
            Self::Automatic(automatic) => automatic.is_busy() || space.to_trim() > 0,
            Self::Manual(manual) => manual.is_busy(),
            Self::Passes(_) | Self::Off => false,
        }
    }
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    /// A group is synced, and freed space of an earlier one is available; some was `deleted`.
    pub(super) fn group_synced(&mut self, group: u64, deleted: bool, now: Instant) {
        match self.trim {
            Trimming::Passes(_) => self.freed_space_is_safe(now),
            Trimming::Automatic(_) => self.automatic_after_group(now),
            Trimming::Manual(_) => self.manual_after_group(group, deleted, now),
            Trimming::Off => {}
        }
    }

    /// A discard ended on a drive; it was queued while this group was open.
    pub(super) fn discard_ended(&mut self, drive: usize, group: u64, now: Instant) {
        self.drives[drive].discard_ended();
        if self.config.manner.is_openzfs() {
            self.discard_of_group_ended(group, now);
        } else {
            self.pass_on(now);
        }
    }

    /// Goes on where the drives have come far enough.
    pub(super) fn trim_on(&mut self, now: Instant) {
        match self.trim {
            Trimming::Passes(_) => self.pass_on(now),
            Trimming::Automatic(_) => self.automatic_on(now),
            Trimming::Manual(_) => self.manual_on(now),
            Trimming::Off => {}
        }
    }
}

/// How long discards may be silent, and how late they may begin.
pub(super) fn drain(config: &PoolConfig) -> DrainRule {
    let (interval, group) = (config.trim_interval, config.group_timeout);
    let (quiet, latest_start) = match config.manner {
        // FreeBSD waits for `trim_timeout`, and then takes a share at each pass.
        TrimManner::FreeBsd2013 | TrimManner::FreeBsd2017 => {
            (interval.times(3), config.trim_timeout + interval.times(2))
        }
        // Two groups until freed space is available, 32 until each metaslab has had its turn, 5
        // after each.
        TrimManner::ZfsAutotrim => (group.times(40), group.times(40)),
        TrimManner::ZfsTrim => {
            let seconds = TRIM_MOST.0.div_ceil(config.trim_rate.0.max(1));
            let pause = if config.trim_rate.0 == 0 { 0 } else { 2 * seconds };
            (group.times(8) + Nanos::from_secs(pause), group.times(8))
        }
    };
    let timeout = Nanos::from_secs(24 * 3_600);
    DrainRule { force: ForceDiscards::Sync, quiet, latest_start, timeout }
}
