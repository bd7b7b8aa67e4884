//! Operations on the drive besides commands: examine contents, cut the power, purge.

use std::ops::Range;

use trimbench_core::units::narrow;
use trimbench_core::{
    Bytes, Content, Data, Drive, DriveError, LbaRange, Nanos, PurgeMeans, TrimPromise, Wear,
};

use super::{LOGICAL_BLOCK, PreconditionStep, Ssd};
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
                for lpn in span.first..span.end {
                    contents.journal(lpn, flash.mapping.holder(lpn).is_some());
                }
            }
            for lpn in span.partial() {
                if flash.mapping.holder(lpn).is_none() {
                    contents.revive(lpn);
                }
            }
        }
        contents.write(range, data);
    }

    /// Cuts the power and brings it back: what the buffer held and no flush made durable is lost,
    /// and so are all TRIMs since the last flush. The drive must be idle; it is at rest afterwards,
    /// and no time has passed. Where contents are not kept, nothing but the rest can be seen of it.
    ///
    /// A unit goes back to what it held at the last flush even if a later write of it had reached
    /// the flash before the last one. A unit whose TRIM is undone is written again.
    ///
    /// # Panics
    /// If commands are outstanding.
    pub fn cut_power(&mut self) {
        assert!(self.is_idle(), "a power cut needs an idle drive");
        let mut undone = Vec::new();
        if let (Some(contents), Some(flash)) = (&mut self.contents, &mut self.flash) {
            for durable in contents.take_unflushed() {
                let lpn = durable.lpn;
                let mapped = flash.mapping.holder(lpn).is_some();
                // Found on flash: its program has ended.
                if mapped && flash.locate(lpn, self.now).is_some() {
                    continue;
                }
                contents.revert(&durable);
                match (mapped, durable.mapped) {
                    (true, false) => drop(flash.deallocate(&(lpn..lpn + 1), &mut self.counters)),
                    (false, true) => undone.push(lpn),
                    // Where it lies on the flash is not modelled.
                    (true, true) | (false, false) => {}
                }
            }
        }
        self.fill(undone.into_iter().map(PreconditionStep::Write), Data::Random);
        self.backlog.clear();
        self.plan();
    }

    /// Keeps what units held that a TRIM is about to free, for a power cut.
    #[cold]
    pub(super) fn journal(&mut self, freed: Range<u32>) {
        if let (Some(contents), Some(flash)) = (&mut self.contents, &mut self.flash)
            && !self.config.power_loss_protection
        {
            for lpn in freed {
                contents.journal(lpn, flash.mapping.holder(lpn).is_some());
            }
        }
    }
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

    fn power_cut(&mut self) -> Result<(), DriveError> {
        self.cut_power();
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
