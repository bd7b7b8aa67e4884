//! A block device or an image file as a target.
//!
//! Reads, writes, flushes and discards go through one `io_uring`, bypassing the page cache, with
//! file and memory registered: no thread, no notification, no allocation a command. While the
//! device is busy, [`Target::submit`] submits each command to the kernel at once, because gathered
//! commands reach it in bursts between which it idles. While it is idle, [`Target::reap`] submits
//! the command and waits, with one system call for both.
//!
//! A command ends at the time that `reap` takes its completion, read once for all completions taken
//! together. Latency counts from before the submission, so it includes the kernel's own work on it.
//!
//! Discards: `BLOCK_URING_CMD_DISCARD` (Linux 6.12, devices that never block), else ioctls on
//! threads; for image files, holes punched through the ring. No discard delays reads and writes, as
//! far as the kernel allows: a filesystem locks an image while it punches.
//!
//! `docs/reference/block-devices.md` says what is counted and which kernel has what.

mod drive;
mod error;
mod flight;
mod helpers;
mod medium;
mod pool;

use std::collections::VecDeque;
use std::sync::Arc;

use trimbench_claim::inspect::is_physical;
use trimbench_claim::random;
use trimbench_core::{
    BlockCommand, Bytes, Capabilities, Caveat, Completion, DeviceStatistics, Errno, Instant, Lba,
    LbaRange, Nanos, Rejected, Status, Storage, Support, Tag, Target,
};

use crate::clock::{MonotonicClock, exact_timers, pause};
use crate::ring::Wait;
use crate::ring::fixed::{FixedRing, Work};
use crate::statistics::DeviceCounters;

pub use drive::Purger;
pub use error::BlockError;
use flight::{Flight, Kind};
use helpers::{Finished, Helpers, Job, THREADS, helpers};
pub use medium::BlockMedium;
use pool::{Buffer, Pool};

#[cfg(test)]
mod tests;

/// Commands under way at once; more wait in user space.
const ENTRIES: u32 = 4096;
/// Memory for data under way, for each size class of reads and of writes. Commands for which there
/// is none wait in user space: 64 commands of 4 MiB or more are under way at once.
const BUFFER_LIMIT: Bytes = Bytes::mib(256);
/// The longest single wait; `reap` waits again.
const LONGEST_WAIT: Nanos = Nanos::from_secs(3_600);

/// A last look before anything is destroyed: an error says why nothing may be, and what to do. It
/// answers this command and every later one.
pub type FirstWrite = Box<dyn FnMut() -> Result<(), Rejected>>;

/// What a user of [`BlockTarget`] can choose.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "the check before the first write has none")]
pub struct BlockOptions {
    /// Seed of the random data.
    pub seed: u64,
    /// Called once, immediately before the first command that writes, discards or purges. After an
    /// error that command and every later one is refused. Kept as long as the target: what it owns
    /// may be what keeps others away.
    pub first_write: Option<FirstWrite>,
    /// Discard by ioctls on threads, as kernels before 6.12 need it, whatever the kernel can.
    pub discard_on_threads: bool,
    /// Purges by the drive's own means, and reads its counters; without, there is TRIM.
    pub purger: Option<Box<dyn Purger>>,
}

/// A block device or an image file.
///
/// Stays with the thread that made it: the kernel takes commands from no other. Dropping it waits
/// for what is under way, because the kernel still uses its memory.
pub struct BlockTarget {
    // The order is that of dropping: first what waits for the kernel.
    discards: Discards,
    ring: FixedRing,
    pool: Pool,
    medium: BlockMedium,
    clock: MonotonicClock,
    caveats: Vec<Caveat>,
    counters: Counters,
    permit: Permit,
    purger: Option<Box<dyn Purger>>,
    /// By slot of the ring.
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// In the order of submission.
    backlog: VecDeque<Flight>,
    /// Slots of commands that go on, with their memory.
    unfinished: Vec<(u32, Option<Buffer>)>,
    finished: Vec<Finished>,
    outstanding: u64,
    /// Set when the ring failed: nothing is taken any more.
    broken: Option<Errno>,
}

/// By what means ranges are discarded.
enum Discards {
    Unsupported,
    Ring,
    Punch,
    Threads(Helpers),
}

enum Counters {
    /// The kernel's, of a device.
    Kernel(DeviceCounters),
    /// Our own, of an image.
    Own(DeviceStatistics),
}

/// Whether something may be destroyed.
enum Permit {
    /// Not asked yet.
    Ask(FirstWrite),
    /// With what was asked, which is only kept.
    Granted {
        _asked: Option<FirstWrite>,
    },
    Refused(Rejected),
}

impl std::fmt::Debug for BlockTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BlockTarget")
            .field("medium", &self.medium)
            .field("outstanding", &self.outstanding)
            .finish_non_exhaustive()
    }
}

impl BlockTarget {
    /// Gets ready; nothing is written.
    pub fn new(medium: BlockMedium, options: BlockOptions) -> Result<Self, BlockError> {
        let clock = MonotonicClock::start();
        let ring = FixedRing::new(Arc::clone(medium.file()), ENTRIES);
        let mut ring = ring.map_err(kernel("set up io_uring"))?;
        let discards = discards(&medium, &mut ring, clock, options.discard_on_threads)
            .map_err(kernel("find out how to discard"))?;
        let counters = match medium.device() {
            None => Counters::Own(DeviceStatistics::default()),
            Some(device) => {
                let source = DeviceCounters::of_device(device);
                Counters::Kernel(source.ok_or(BlockError::NoDiscardCounters)?)
            }
        };
        let is_physical = medium.device().is_some_and(is_physical);
        let stamp = random().map_err(kernel("read `/dev/urandom`"))?;
        Ok(Self {
            discards,
            ring,
            pool: Pool::new(BUFFER_LIMIT, options.seed, stamp),
            clock,
            medium,
            caveats: if is_physical { Vec::new() } else { vec![Caveat::NotAPhysicalSsd] },
            counters,
            permit: options.first_write.map_or(Permit::Granted { _asked: None }, Permit::Ask),
            purger: options.purger,
            flights: vec![Flight::NONE; ENTRIES as usize],
            free: (0..ENTRIES).rev().collect(),
            backlog: VecDeque::new(),
            unfinished: Vec::new(),
            finished: Vec::new(),
            outstanding: 0,
            broken: None,
        })
    }

    /// What it stores on.
    pub fn medium(&self) -> &BlockMedium {
        &self.medium
    }

    /// What any figure measured here must carry.
    pub fn caveats(&self) -> &[Caveat] {
        &self.caveats
    }

    /// Whether something may be destroyed; asks before the first time.
    #[inline]
    fn permitted(&mut self) -> Result<(), Rejected> {
        match &self.permit {
            Permit::Granted { .. } => Ok(()),
            Permit::Refused(rejected) => Err(rejected.clone()),
            Permit::Ask(_) => self.ask(),
        }
    }

    #[cold]
    fn ask(&mut self) -> Result<(), Rejected> {
        // What asks and panics has not granted anything.
        let reason = "the check before the first write did not end".to_owned();
        let before = Permit::Refused(Rejected::Refused { reason });
        if let Permit::Ask(mut check) = std::mem::replace(&mut self.permit, before) {
            self.permit = match check() {
                Ok(()) => Permit::Granted { _asked: Some(check) },
                Err(rejected) => Permit::Refused(rejected),
            };
        }
        self.permitted()
    }

    #[inline]
    fn plan(&mut self, tag: Tag, command: BlockCommand) -> Result<Flight, Rejected> {
        if let Some(errno) = self.broken {
            return Err(Rejected::Kernel { errno });
        }
        if let Permit::Refused(rejected) = &self.permit {
            return Err(rejected.clone());
        }
        let flight = match command {
            BlockCommand::Read(range) => self.flight(tag, Kind::Read, range)?,
            BlockCommand::Write { range, data } => self.flight(tag, Kind::Write(data), range)?,
            BlockCommand::Discard(range) => {
                if matches!(self.discards, Discards::Unsupported) {
                    return Err(Rejected::Unsupported { operation: "discard" });
                }
                let flight = self.flight(tag, Kind::Discard, range)?;
                let (length, maximum) = (flight.length, self.medium.capabilities.discard_max);
                if length > maximum.0 {
                    let length = Bytes(length);
                    return Err(Rejected::DiscardTooLarge { length, maximum });
                }
                flight
            }
            BlockCommand::Flush => Flight { tag, kind: Kind::Flush, ..Flight::NONE },
        };
        if matches!(flight.kind, Kind::Write(_) | Kind::Discard) {
            self.permitted()?;
        }
        Ok(flight)
    }

    #[inline]
    fn flight(&self, tag: Tag, kind: Kind, range: LbaRange) -> Result<Flight, Rejected> {
        let capacity = self.medium.capacity().blocks_floor(self.medium.logical_block());
        if range.end().0 > capacity.0 {
            return Err(Rejected::OutOfRange { range, capacity });
        }
        let (offset, length) = self.medium.bytes_of(range);
        Ok(Flight { tag, kind, offset, length, ..Flight::NONE })
    }

    /// Starts a command if there is a slot and memory for it; says whether.
    #[inline]
    fn start(&mut self, flight: Flight) -> Result<bool, Errno> {
        let Some(&slot) = self.free.last() else { return Ok(false) };
        let buffer = match flight.direction() {
            None => None,
            Some(direction) => {
                let lent = self.pool.lend(&mut self.ring, direction, flight.piece());
                let Some(buffer) = lent else { return Ok(false) };
                Some(buffer)
            }
        };
        self.flights[slot as usize] = flight;
        self.launch(slot, buffer)?;
        self.free.pop();
        Ok(true)
    }

    #[inline]
    fn launch(&mut self, slot: u32, buffer: Option<Buffer>) -> Result<(), Errno> {
        let flight = &mut self.flights[slot as usize];
        let (offset, length) = (flight.offset + flight.moved, flight.piece());
        let work = match (flight.kind, buffer) {
            (Kind::Read, Some(buffer)) => Work::Read { chunk: buffer.chunk, offset, length },
            (Kind::Write(data), Some(mut buffer)) => {
                let logical_block = self.medium.logical_block().bytes().0;
                let lba = Lba(offset / logical_block);
                self.pool.fill(&mut buffer, length, data, pool::Place { lba, logical_block });
                flight.holds = buffer.holds;
                Work::Write { chunk: buffer.chunk, offset, length }
            }
            (Kind::Discard, _) => match &mut self.discards {
                Discards::Threads(helpers) => {
                    let job = Job { slot, offset, length };
                    if let Err(errno) = helpers.give_to_one_of(THREADS, job) {
                        let (at, result) = (self.clock.now(), Err(errno));
                        self.finished.push(Finished { slot, at, result });
                    }
                    return Ok(());
                }
                Discards::Punch => Work::Punch { offset, length },
                Discards::Ring | Discards::Unsupported => {
                    // Half of the queue is room for what others send, and for pieces. A discard
                    // that is alone always finds room.
                    let room = (self.medium.capabilities.queue_depth / 2).max(1);
                    let may_wait = self.ring.under_way() >= room;
                    Work::Discard { offset, length, may_wait }
                }
            },
            (Kind::Flush | Kind::Read | Kind::Write(_), _) => Work::Sync,
        };
        self.ring.start(slot, work)
    }

    #[inline]
    fn collect(&mut self, out: &mut Vec<Completion>) -> Result<(), Errno> {
        let Self { ring, flights, pool, free, unfinished, counters, medium, clock, .. } = self;
        let (before, mut now) = (out.len(), None);
        let alignment = medium.logical_block().bytes().0;
        let rang = ring.collect(|slot, chunk, result| {
            let at = *now.get_or_insert_with(|| clock.now());
            let flight = &mut flights[slot as usize];
            let buffer = chunk.map(|chunk| Buffer { chunk, holds: flight.holds });
            match flight.advance(result, alignment) {
                None => unfinished.push((slot, buffer)),
                Some(status) => {
                    if let (Some(buffer), Some(direction)) = (buffer, flight.direction()) {
                        pool.give_back(direction, buffer);
                    }
                    free.push(slot);
                    let status = truth(medium, flight, status);
                    counters.count(flight, at, status);
                    out.push(Completion { tag: flight.tag, at, status });
                }
            }
        });
        if rang && let Discards::Threads(helpers) = &self.discards {
            helpers.take_finished(&mut self.finished);
        }
        let mut finished = std::mem::take(&mut self.finished);
        for Finished { slot, at, result } in finished.drain(..) {
            let flight = &self.flights[slot as usize];
            let status = result.map_or_else(Status::Failed, |()| Status::Done);
            let status = truth(&self.medium, flight, status);
            self.counters.count(flight, at, status);
            out.push(Completion { tag: flight.tag, at, status });
            self.free.push(slot);
        }
        self.finished = finished;
        self.outstanding -= (out.len() - before) as u64;
        while let Some((slot, buffer)) = self.unfinished.pop() {
            self.launch(slot, buffer)?;
        }
        while let Some(&flight) = self.backlog.front() {
            if !self.start(flight)? {
                break;
            }
            self.backlog.pop_front();
        }
        Ok(())
    }

    #[inline]
    fn wait(&mut self, deadline: Instant, out: &mut Vec<Completion>) -> Result<(), Errno> {
        let before = out.len();
        loop {
            self.collect(out)?;
            if out.len() > before {
                return self.ring.flush();
            }
            let wait = if deadline == Instant::NEVER {
                assert!(self.outstanding > 0, "a runner waits for a target that is idle");
                Wait::Forever
            } else {
                let now = self.clock.now();
                if now >= deadline {
                    // What ended but is not in the ring yet is moved there.
                    self.ring.enter(Wait::Not)?;
                    self.collect(out)?;
                    return self.ring.flush();
                }
                Wait::For(deadline.since(now).min(LONGEST_WAIT))
            };
            self.ring.enter(wait)?;
        }
    }

    /// Ends every command with the error of the ring itself; their memory stays with the kernel.
    /// Where none is left, lets time pass.
    #[cold]
    fn break_down(&mut self, errno: Errno, deadline: Instant, out: &mut Vec<Completion>) {
        self.broken = Some(errno);
        let (at, status) = (self.clock.now(), Status::Failed(errno));
        if self.outstanding == 0 {
            assert!(deadline != Instant::NEVER, "a runner waits for a target that is idle");
            return pause(deadline.since(at));
        }
        let mut under_way = vec![true; self.flights.len()];
        for &slot in &self.free {
            under_way[slot as usize] = false;
        }
        let flying = self.flights.iter().zip(under_way).filter(|(_, flying)| *flying);
        let waiting = self.backlog.drain(..).map(|flight| flight.tag);
        let tags = flying.map(|(flight, _)| flight.tag).chain(waiting);
        out.extend(tags.map(|tag| Completion { tag, at, status }));
        self.outstanding = 0;
    }
}

impl Storage for BlockTarget {
    type Command = BlockCommand;

    fn capabilities(&self) -> &Capabilities {
        &self.medium.capabilities
    }

    fn statistics(&self) -> DeviceStatistics {
        let counted = match &self.counters {
            Counters::Kernel(source) => source.read(),
            Counters::Own(own) => *own,
        };
        DeviceStatistics { outstanding: self.outstanding, ..counted }
    }
}

impl Target for BlockTarget {
    #[inline]
    fn now(&self) -> Instant {
        self.clock.now()
    }

    #[inline]
    fn submit(&mut self, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        let mut flight = self.plan(tag, command)?;
        if matches!(self.counters, Counters::Own(_)) {
            flight.issued = self.clock.now();
        }
        let is_idle = self.outstanding == 0;
        let started = if self.backlog.is_empty() { self.start(flight) } else { Ok(false) };
        let started = match started {
            Ok(started) => started,
            Err(errno) => {
                self.broken = Some(errno);
                return Err(Rejected::Kernel { errno });
            }
        };
        self.outstanding += 1;
        if !started {
            self.backlog.push_back(flight);
        } else if !is_idle && let Err(errno) = self.ring.flush() {
            // The command ends with all others in the next `reap`.
            self.broken = Some(errno);
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, deadline: Instant, out: &mut Vec<Completion>) {
        exact_timers();
        let waited = match self.broken {
            Some(errno) => Err(errno),
            None => self.wait(deadline, out),
        };
        if let Err(errno) = waited {
            self.break_down(errno, deadline, out);
        }
    }
}

impl Counters {
    #[inline]
    fn count(&mut self, flight: &Flight, at: Instant, status: Status) {
        let Self::Own(own) = self else { return };
        if status != Status::Done {
            return;
        }
        let class = match flight.kind {
            Kind::Read => &mut own.read,
            Kind::Write(_) => &mut own.write,
            Kind::Discard => &mut own.discard,
            Kind::Flush => &mut own.flush,
        };
        class.completed += 1;
        class.bytes += Bytes(flight.length);
        class.time += at.since(flight.issued);
    }
}

/// What became of a command when the medium has shrunk or gone: the block layer says ENOSPC to
/// writes beyond the end, reads find nothing, a removed disk has no size; and an image that was cut
/// off takes writes and discards beyond its end as if nothing had happened.
#[inline]
fn truth(medium: &BlockMedium, flight: &Flight, status: Status) -> Status {
    match status {
        Status::Done
            if matches!(flight.kind, Kind::Write(_) | Kind::Discard)
                && medium.is_image()
                && medium.has_shrunk() =>
        {
            Status::Failed(Errno(libc::ENXIO))
        }
        Status::Done => status,
        Status::Failed(errno) => Status::Failed(reason(medium, flight, errno)),
    }
}

#[cold]
fn reason(medium: &BlockMedium, flight: &Flight, errno: Errno) -> Errno {
    match medium.size() {
        Ok(size) if size.0 == 0 => Errno::ENODEV,
        Ok(size) if flight.offset + flight.length > size.0 => Errno(libc::ENXIO),
        _ => errno,
    }
}

fn discards(
    medium: &BlockMedium,
    ring: &mut FixedRing,
    clock: MonotonicClock,
    on_threads: bool,
) -> Result<Discards, Errno> {
    if medium.capabilities.discard == Support::None {
        return Ok(Discards::Unsupported);
    }
    if !on_threads && medium.is_image() {
        return Ok(Discards::Punch);
    }
    if !on_threads && medium.takes_nowait() && ring.discards()? {
        return Ok(Discards::Ring);
    }
    let medium = medium.clone();
    let perform = move |offset, length| medium.discard(offset, length);
    Ok(Discards::Threads(helpers(ring.bell()?, clock, Box::new(perform))))
}

fn kernel(operation: &'static str) -> impl Fn(Errno) -> BlockError {
    move |errno| BlockError::Kernel { operation, errno }
}
