//! A device behind its host's block layer, as programs have it that open the device.

use std::collections::BTreeMap;

use trimbench_core::{
    BlockCommand, Bytes, Capabilities, Completion, Content, DISCARD_RANGES_MAX, DeviceStatistics,
    Drive, DriveError, Errno, Instant, LbaRange, Medium, Model, Nanos, PurgeMeans, Rejected,
    Status, Storage, Tag, TrimPromise, Wear,
};

use crate::config::QueueConfig;
use crate::layer::{BlockLayer, QueueEvent, Urgency};

#[cfg(test)]
mod tests;

/// A block device behind the block layer of its host. Each command ends when the last of its pieces
/// has; the statistics are the device's, so they count pieces.
#[derive(Debug)]
pub struct HostQueue<M> {
    layer: BlockLayer<M, Tag>,
    /// What is left of the commands under way.
    under_way: BTreeMap<Tag, UnderWay>,
    events: Vec<QueueEvent<Tag>>,
}

/// A command of which pieces are under way or wait.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    pieces: u32,
    failure: Option<Errno>,
}

impl<M: Model<Command = BlockCommand>> HostQueue<M> {
    /// Over a block device; `None` if it is none.
    pub fn new(device: M, config: &QueueConfig) -> Option<Self> {
        let layer = BlockLayer::new(device, config)?;
        Some(Self { layer, under_way: BTreeMap::new(), events: Vec::new() })
    }

    /// The device.
    pub fn device(&self) -> &M {
        self.layer.device()
    }

    fn check(&self, range: LbaRange) -> Result<(), Rejected> {
        let Medium::Device { capacity, logical_block } = self.capabilities().medium else {
            unreachable!("a block layer is over a device");
        };
        let capacity = capacity.blocks_floor(logical_block);
        let fits = range.end().0 <= capacity.0;
        if fits { Ok(()) } else { Err(Rejected::OutOfRange { range, capacity }) }
    }

    fn sent(&mut self, now: Instant, tag: Tag, pieces: u32) {
        self.under_way.insert(tag, UnderWay { pieces, failure: None });
        self.layer.dispatch(now);
    }
}

impl<M: Model<Command = BlockCommand>> Storage for HostQueue<M> {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        let outstanding = self.under_way.len() as u64;
        DeviceStatistics { outstanding, ..self.device().statistics() }
    }

    fn capabilities(&self) -> &Capabilities {
        self.layer.capabilities()
    }
}

impl<M: Model<Command = BlockCommand>> Model for HostQueue<M> {
    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        match command {
            BlockCommand::Discard(range)
            | BlockCommand::Read(range)
            | BlockCommand::Write { range, .. } => self.check(range)?,
            BlockCommand::Flush => {}
        }
        let pieces = self.layer.submit(now, tag, command, Urgency::Foreground);
        self.sent(now, tag, pieces);
        Ok(())
    }

    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        let (count, maximum) = (ranges.len(), DISCARD_RANGES_MAX);
        if count == 0 || count > maximum {
            return Err(Rejected::DiscardRanges { count, maximum });
        }
        ranges.iter().try_for_each(|range| self.check(*range))?;
        let pieces = self.layer.discard(now, tag, ranges, true);
        self.sent(now, tag, pieces);
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.layer.next_event()
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        let mut events = std::mem::take(&mut self.events);
        self.layer.advance(now, &mut events);
        for event in events.drain(..) {
            // Nobody here waits for a submission.
            let QueueEvent::Ended { owner: tag, at, failure, .. } = event else { continue };
            let left = self.under_way.get_mut(&tag).expect("it was sent and has not ended");
            left.pieces -= 1;
            left.failure = left.failure.or(failure);
            if left.pieces == 0 {
                let status = left.failure.map_or(Status::Done, Status::Failed);
                self.under_way.remove(&tag);
                out.push(Completion { tag, at, status });
            }
        }
        self.events = events;
        self.layer.dispatch(now);
    }
}

/// All of it is the device's.
impl<M: Model<Command = BlockCommand> + Drive> Drive for HostQueue<M> {
    fn purge_means(&self) -> PurgeMeans {
        self.device().purge_means()
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.layer.device_mut().purge()
    }

    fn purge_time(&self) -> Nanos {
        self.device().purge_time()
    }

    fn fill_from(&mut self, from: Bytes) -> Result<bool, DriveError> {
        self.layer.device_mut().fill_from(from)
    }

    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        self.layer.device_mut().examine(range, out)
    }

    fn power_cut(&mut self) -> Result<(), DriveError> {
        self.layer.device_mut().power_cut()
    }

    fn discard_alignment(&self) -> Bytes {
        self.device().discard_alignment()
    }

    fn trim_promise(&self) -> TrimPromise {
        self.device().trim_promise()
    }

    fn wear(&mut self) -> Option<Wear> {
        self.layer.device_mut().wear()
    }
}
