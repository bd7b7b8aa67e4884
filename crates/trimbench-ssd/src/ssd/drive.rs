//! Operations on the drive besides commands: examine contents, cut the power, purge.

use std::ops::Range;

use trimbench_core::units::narrow;
use trimbench_core::{
    Bytes, Content, Data, Drive, DriveError, Instant, LbaRange, Model, Nanos, PurgeMeans, Tag,
    TrimPromise, Wear,
};

use super::{Backlog, Ftl, LOGICAL_BLOCK, Nand, Path, PreconditionStep, Resource, Ssd, Turns};
use crate::config::MetadataOf;
use crate::contents::Contents;

impl Ssd {
    /// Keeps what a write carries.
    #[cold]
    pub(super) fn keep(&mut self, range: LbaRange, data: Data) {
        let config = &self.config;
        let contents = self.contents.get_or_insert_with(|| Box::new(Contents::new(config)));
        if let Some(flash) = &mut self.flash {
            let span = self.unit.span(range);
            if !self.config.power_loss_protection {
                journal_write(contents, flash, span.first..span.end, self.now);
            }
            for lpn in span.partial() {
                if flash.mapping.holder(lpn).is_none() {
                    contents.revive(lpn);
                }
            }
        }
        contents.write(range, data);
    }

    /// Cuts the power at `now` and brings it back, in no time. Commands may be in the drive or wait
    /// for it: they never complete, and their tags are returned, first of those in the drive, then
    /// of those that wait. The drive is at rest afterwards. First [`advance`] it to `now`.
    ///
    /// Writes and TRIMs change the map when they start: those that have started count as done, and
    /// those that wait have changed nothing. With power-loss protection, and on a medium that is
    /// overwritten in place, all that has started stays. Otherwise:
    ///
    /// - a mapping unit whose last write is on the flash (its program has ended) keeps it;
    /// - any other that was written or freed goes back to what was durable of it last: what it held
    ///   at the start of the last flush that has *ended*, or what was on the flash when it was
    ///   written or freed later. Versions that were replaced in the buffer are lost. A unit whose
    ///   TRIM is undone is written again.
    ///
    /// A flush that has not ended has no effect. A unit is never torn; of a command of several
    /// units some may be there and others not. Where contents are not kept (before the first
    /// stamped write), no more is seen of it than that the drive is at rest.
    ///
    /// [`advance`]: trimbench_core::Model::advance
    ///
    /// # Panics
    /// If the drive was told of a later instant, or something is due before `now`.
    pub fn cut_power(&mut self, now: Instant) -> Vec<Tag> {
        assert!(now >= self.now, "time never runs backwards");
        assert!(self.next_event() >= now, "the drive is advanced to the instant of the cut first");
        self.now = now;
        let undone = self.revert_volatile();
        let lost = if self.is_idle() { Vec::new() } else { self.drop_commands() };
        self.fill(undone.into_iter().map(PreconditionStep::Write), Data::Random);
        self.backlog.clear();
        self.plan();
        lost
    }

    /// Whether what these logical blocks hold now, as [`Drive::examine`] shows it, outlasts every
    /// power cut from `now` on until they change again. Once it does, older contents of the blocks
    /// never come back.
    ///
    /// A command that has started counts as done, and one that waits has changed nothing; commands
    /// may be outstanding. Blocks count by whole mapping units: `false` if anything may be lost in
    /// a unit that the range touches. `true` where nothing can be lost: with power-loss protection,
    /// on a medium that is overwritten in place, and before the first stamped write. `now` is the
    /// instant to which the drive was advanced last.
    ///
    /// # Panics
    /// If the drive was told of a later instant.
    pub fn is_durable(&mut self, range: LbaRange, now: Instant) -> bool {
        assert!(now >= self.now, "time never runs backwards");
        let (Some(contents), Some(flash)) = (&mut self.contents, &mut self.flash) else {
            return true;
        };
        let span = self.unit.span(range);
        (span.first..span.end)
            .all(|lpn| contents.is_durable(lpn, |lpn| flash.locate(lpn, now).is_some()))
    }

    /// Of each logical block of a range, whether it holds the stamp of its generation, or a power
    /// cut from `now` on may take it back to that. No other stamp is needed any more. All `false`
    /// where [`Self::is_durable`] is always `true`.
    ///
    /// # Panics
    /// If the drive was told of a later instant.
    pub fn may_hold(&mut self, range: LbaRange, generations: &[u32], now: Instant) -> Vec<bool> {
        // What has become durable no longer keeps older contents.
        self.is_durable(range, now);
        let (Some(contents), Some(_)) = (&self.contents, &self.flash) else {
            return vec![false; generations.len()];
        };
        let blocks = (range.start().0..range.end().0).zip(generations);
        blocks.map(|(lba, generation)| contents.may_hold(lba, *generation)).collect()
    }

    /// Takes back what is not durable; the units whose TRIM is undone.
    fn revert_volatile(&mut self) -> Vec<u32> {
        let mut undone = Vec::new();
        if let (Some(contents), Some(flash)) = (&mut self.contents, &mut self.flash) {
            for (lpn, version) in contents.take_volatile() {
                let mapped = flash.mapping.holder(lpn).is_some();
                // Found on flash: its program has ended.
                if mapped && flash.locate(lpn, self.now).is_some() {
                    continue;
                }
                contents.revert(lpn, &version);
                match (mapped, version.mapped) {
                    (true, false) => drop(flash.deallocate(&(lpn..lpn + 1), &mut self.counters)),
                    (false, true) => undone.push(lpn),
                    // Where it lies on the flash is not modelled.
                    (true, true) | (false, false) => {}
                }
            }
        }
        undone
    }

    /// The drive forgets all commands, and whatever is reserved for them; their tags.
    fn drop_commands(&mut self) -> Vec<Tag> {
        let mut lost = self.slots.clear();
        lost.extend(self.waiting.drain(..).map(|(command, _)| command.tag));
        self.lists.clear();
        self.events.clear();
        self.path = Path::default();
        self.turns = Turns::default();
        self.alone = false;
        self.backlog = Backlog::new(&self.config.trim);
        self.controller = Resource::default();
        (self.link_in, self.link_out) = (Resource::default(), Resource::default());
        self.nand = Nand::new(&self.config);
        if let Some(flash) = &mut self.flash {
            flash.unpace();
        }
        self.last_activity = self.now;
        lost
    }

    /// Keeps what units held that a TRIM is about to free, for a power cut.
    #[cold]
    pub(super) fn journal(&mut self, freed: Range<u32>) {
        if let (Some(contents), Some(flash)) = (&mut self.contents, &mut self.flash)
            && !self.config.power_loss_protection
        {
            journal_trim(contents, flash, freed, self.now);
        }
    }
}

/// While all that the journal was told of has happened, it forgets what it need not keep any more,
/// if that may be much.
fn prune(contents: &mut Contents, flash: &mut Ftl, now: Instant) {
    if contents.is_overgrown() {
        let mut before = None;
        contents.prune(|lpn| flash.locate_beside(lpn, now, &mut before).is_some());
    }
}

/// These units are about to be written: keeps what they hold.
fn journal_write(contents: &mut Contents, flash: &mut Ftl, units: Range<u32>, now: Instant) {
    prune(contents, flash, now);
    for lpn in units {
        let mapped = flash.mapping.lookup(lpn).is_some();
        contents.journal(lpn, mapped, || flash.locate(lpn, now).is_some());
    }
}

/// These units are about to be trimmed: keeps what they hold, mostly data that are on the flash,
/// unit after unit. Nothing changes in a unit that is free already.
fn journal_trim(contents: &mut Contents, flash: &mut Ftl, units: Range<u32>, now: Instant) {
    prune(contents, flash, now);
    let (mut durable, mut before) = (units.start..units.start, None);
    for lpn in units {
        if flash.locate_beside(lpn, now, &mut before).is_some() {
            durable.end = lpn + 1;
            continue;
        }
        contents.journal_trim(durable);
        durable = lpn + 1..lpn + 1;
        if flash.mapping.lookup(lpn).is_some() {
            contents.journal(lpn, true, || false);
        }
    }
    contents.journal_trim(durable);
}

impl Drive for Ssd {
    fn purge_means(&self) -> PurgeMeans {
        PurgeMeans::Model
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.purge();
        Ok(())
    }

    fn purge_time(&self) -> Nanos {
        self.config.purge
    }

    /// In no time, and without a trace in the contents, unless the drive is to stay empty.
    fn fill_from(&mut self, from: Bytes) -> Result<bool, DriveError> {
        if self.stays_empty {
            return Ok(false);
        }
        let first = narrow(from.0.div_ceil(self.config.mapping_unit.0));
        let end = narrow(self.config.exported_units());
        self.fill((first..end).map(PreconditionStep::Write), Data::Random);
        Ok(true)
    }

    /// From the first stamped write on. What a block held before it is [`Content::Other`].
    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        let capacity = self.config.capacity.blocks_floor(LOGICAL_BLOCK);
        if range.end().0 > capacity.0 {
            let reason = format!("{range:?} ends beyond the device of {capacity:?}");
            return Err(DriveError::Refused { operation: "examine", reason });
        }
        let Some(contents) = &mut self.contents else {
            let reason = "the emulated drive keeps contents from the first stamped write on";
            return Err(DriveError::Refused { operation: "examine", reason: reason.to_owned() });
        };
        let span = self.unit.span(range);
        for lpn in span.first..span.end {
            let holder = match &mut self.flash {
                Some(flash) => flash.mapping.holder(lpn),
                None => Some(lpn),
            };
            let blocks = self.unit.blocks_of(lpn);
            let first = holder.map(|holder| self.unit.blocks_of(holder).start);
            let from = blocks.start.max(range.start().0);
            for lba in from..blocks.end.min(range.end().0) {
                let holder = first.map(|first| first + (lba - blocks.start));
                out.push(contents.read(lba, holder));
            }
        }
        Ok(())
    }

    /// At the latest instant that the drive was told. [`Ssd::cut_power`] also cuts it under load.
    ///
    /// # Panics
    /// If commands are outstanding.
    fn power_cut(&mut self) -> Result<(), DriveError> {
        assert!(self.is_idle(), "this power cut needs an idle drive");
        self.cut_power(self.now);
        Ok(())
    }

    fn discard_alignment(&self) -> Bytes {
        self.config.trim.alignment
    }

    fn trim_promise(&self) -> TrimPromise {
        self.config.contents.promise
    }

    /// As a drive's own counters, with the pages of its map, metadata and parity.
    fn wear(&mut self) -> Option<Wear> {
        let counters = self.counters();
        let map_page = self.config.mapping_cache.map_or(Bytes(0), |cache| cache.page);
        let map = counters.map_pages_programmed * map_page.0;
        let programmed = counters.programmed.0 + map;
        let host_written = counters.host_written.0;
        let metadata = self.config.metadata.of(match self.config.metadata_of {
            MetadataOf::Programs => programmed,
            MetadataOf::HostWrites => host_written,
        });
        Some(Wear {
            host_written: Bytes(host_written),
            media_written: Bytes(programmed + metadata),
        })
    }
}
