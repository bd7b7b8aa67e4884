//! Virtual time: makes a target of any model.

use crate::command::{Completion, Content, FileId, Rejected, Tag};
use crate::contract::{
    Capabilities, DeviceStatistics, DriveDiscards, Model, MountDiscard, Storage, Target,
};
use crate::drive::{Drive, DriveError, PurgeMeans, TrimPromise, Wear};
use crate::layers::BlockRequest;
use crate::units::{Bytes, Instant, LbaRange, Nanos};

#[cfg(test)]
mod tests;

/// A model with a clock. Time jumps from event to event and stands still in between.
#[derive(Debug)]
pub struct Virtual<M> {
    now: Instant,
    model: M,
}

impl<M: Model> Virtual<M> {
    /// Starts the clock at zero.
    pub fn new(model: M) -> Self {
        Self { now: Instant::START, model }
    }

    /// Starts the clock at `now`, where another one has stopped.
    pub fn starting_at(now: Instant, model: M) -> Self {
        Self { now, model }
    }

    /// The model, without its clock.
    pub fn into_model(self) -> M {
        self.model
    }

    /// The model, to read its own counters.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The model, to put it into a stated condition between measurements.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }
}

impl<M: Model> Storage for Virtual<M> {
    type Command = M::Command;

    fn capabilities(&self) -> &Capabilities {
        self.model.capabilities()
    }

    #[inline]
    fn prefetch(&self, command: &M::Command) {
        self.model.prefetch(command);
    }

    fn statistics(&self) -> DeviceStatistics {
        self.model.statistics()
    }

    fn drive_discards(&self) -> Vec<DriveDiscards> {
        self.model.drive_discards()
    }

    fn watch_requests(&mut self, watch: bool) -> Result<(), Rejected> {
        self.model.watch_requests(watch)
    }

    fn discard_ways(&self) -> Vec<MountDiscard> {
        self.model.discard_ways()
    }

    fn switch_discard(&mut self, way: MountDiscard) -> Result<(), Rejected> {
        self.model.switch_discard(way)
    }

    fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        self.model.take_requests(out);
    }

    fn extent_count(&self, file: FileId) -> Option<u64> {
        self.model.extent_count(file)
    }
}

impl<M: Model> Target for Virtual<M> {
    #[inline]
    fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn submit(&mut self, tag: Tag, command: M::Command) -> Result<(), Rejected> {
        self.model.submit(self.now, tag, command)
    }

    fn submit_discard(&mut self, tag: Tag, ranges: &[LbaRange]) -> Result<(), Rejected> {
        self.model.submit_discard(self.now, tag, ranges)
    }

    #[inline]
    fn reap(&mut self, deadline: Instant, out: &mut Vec<Completion>) {
        let before = out.len();
        while out.len() == before {
            let event = self.model.next_event();
            if event > deadline || event == Instant::NEVER {
                assert!(deadline != Instant::NEVER, "a runner waits for a model that is idle");
                self.now = self.now.max(deadline);
                self.model.advance(self.now, out);
                return;
            }
            self.now = self.now.max(event);
            self.model.advance(self.now, out);
        }
    }
}

/// Virtual time stands still meanwhile, but for a purge.
impl<M: Model + Drive> Drive for Virtual<M> {
    fn purge_means(&self) -> PurgeMeans {
        self.model.purge_means()
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.model.purge()?;
        self.now += self.model.purge_time();
        self.model.advance(self.now, &mut Vec::new());
        Ok(())
    }

    fn purge_time(&self) -> Nanos {
        self.model.purge_time()
    }

    fn fill_from(&mut self, from: Bytes) -> Result<bool, DriveError> {
        self.model.fill_from(from)
    }

    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        self.model.examine(range, out)
    }

    fn power_cut(&mut self) -> Result<(), DriveError> {
        self.model.power_cut()
    }

    fn discard_alignment(&self) -> Bytes {
        self.model.discard_alignment()
    }

    fn trim_promise(&self) -> TrimPromise {
        self.model.trim_promise()
    }

    fn wear(&mut self) -> Option<Wear> {
        self.model.wear()
    }
}
