use super::*;
use crate::command::Status;
use crate::contract::{Capabilities, Clock, DrainRule, Medium, Storage, Support};
use crate::units::{BlockSize, Bytes, Nanos};

/// Completes tag `n` at `n` microseconds.
struct Echo {
    capabilities: Capabilities,
    queue: Vec<u32>,
}

impl Storage for Echo {
    type Command = ();

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics::default()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Echo {
    fn submit(&mut self, _: Instant, tag: Tag, (): ()) -> Result<(), Rejected> {
        self.queue.push(tag.0);
        Ok(())
    }

    fn next_event(&self) -> Instant {
        let next = self.queue.iter().min();
        next.map_or(Instant::NEVER, |&tag| Instant::from_start(Nanos::from_micros(tag.into())))
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        while self.next_event() <= now && !self.queue.is_empty() {
            let (index, &tag) = self.queue.iter().enumerate().min_by_key(|e| e.1).unwrap();
            out.push(Completion { tag: Tag(tag), at: self.next_event(), status: Status::Done });
            self.queue.remove(index);
        }
    }
}

#[test]
fn time_stops_at_the_first_completion_and_never_passes_the_deadline() {
    let capabilities = Capabilities {
        clock: Clock::Virtual,
        medium: Medium::Device { capacity: Bytes(512), logical_block: BlockSize::SECTOR },
        discard: Support::None,
        discard_max: Bytes(0),
        discard_granularity: Bytes(0),
        queue_depth: 1,
        drain: DrainRule::IMMEDIATE,
    };
    let mut target = Virtual::new(Echo { capabilities, queue: Vec::new() });
    for tag in [30, 10, 20] {
        target.submit(Tag(tag), ()).unwrap();
    }
    let mut out = Vec::new();
    let micros = |count| Instant::from_start(Nanos::from_micros(count));
    target.reap(micros(5), &mut out);
    assert_eq!((out.len(), target.now()), (0, micros(5)));
    target.reap(micros(25), &mut out);
    assert_eq!((out.len(), target.now()), (1, micros(10)));
    target.reap(Instant::NEVER, &mut out);
    assert_eq!((out.len(), target.now()), (2, micros(20)));
    target.reap(micros(1), &mut out);
    assert_eq!(
        (out.len(), target.now()),
        (2, micros(20)),
        "a deadline in the past waits for nothing"
    );
}
