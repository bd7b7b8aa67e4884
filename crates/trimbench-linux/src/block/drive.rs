//! A block target as a drive: purge, contents and wear.

use rustix::io::Errno as RawErrno;
use trimbench_claim::errno_of;
use trimbench_core::units::index;
use trimbench_core::{
    BlockCommand, Blocks, Content, Drive, DriveError, Errno, Instant, Lba, LbaRange, PurgeMeans,
    Status, Support, Tag, Target as _, TrimPromise, Wear, stamp,
};

use crate::size_classes::{Direction, LARGEST};

use super::BlockTarget;

/// The tag of commands of our own; no other is under way.
const OWN: Tag = Tag(u32::MAX);

/// Purges a drive by its own means and reads its counters: the drive's passthrough commands.
pub trait Purger {
    /// By what means it purges; [`PurgeMeans::Trim`] leaves it to the target.
    fn means(&self) -> PurgeMeans;

    /// Purges, and returns when the drive is done.
    fn purge(&mut self) -> Result<(), DriveError>;

    /// What the drive counts of its writes; `None` where it does not say.
    fn wear(&mut self) -> Option<Wear>;

    /// What the drive says of reads after TRIM.
    fn promise(&self) -> TrimPromise;
}

impl BlockTarget {
    /// Refuses what is not a command while commands are under way.
    fn may_begin(&self, operation: &'static str) -> Result<(), DriveError> {
        if self.outstanding > 0 {
            let reason = format!("{} commands are under way", self.outstanding);
            return Err(DriveError::Refused { operation, reason });
        }
        Ok(())
    }

    fn alone(&mut self, operation: &'static str, command: BlockCommand) -> Result<(), DriveError> {
        self.submit(OWN, command).map_err(refused(operation))?;
        let mut out = Vec::with_capacity(1);
        while out.is_empty() {
            self.reap(Instant::NEVER, &mut out);
        }
        match out[0].status {
            Status::Done => Ok(()),
            Status::Failed(errno) => Err(DriveError::Failed { operation, errno }),
        }
    }

    fn trim_all(&mut self) -> Result<(), DriveError> {
        if self.medium.capabilities.discard == Support::None {
            let reason = "it takes no discards and has no purge of its own".to_owned();
            return Err(DriveError::Refused { operation: "purge", reason });
        }
        let size = self.medium.logical_block();
        let piece = self.medium.capabilities.discard_max.blocks_floor(size);
        let end = self.medium.capacity().blocks_floor(size);
        let first = self.medium.discard_alignment().blocks_floor(size);
        for range in pieces(end, first, piece) {
            self.alone("discard", BlockCommand::Discard(range))?;
        }
        Ok(())
    }

    /// Reads whole logical blocks at byte `offset` into `memory`.
    fn read(&self, memory: &mut [u8], offset: u64) -> Result<(), Errno> {
        let mut done = 0;
        while done < memory.len() {
            match rustix::io::pread(&self.medium, &mut memory[done..], offset + done as u64) {
                Ok(0) => return Err(Errno(libc::ENODATA)),
                Ok(count) => done += count,
                Err(RawErrno::INTR | RawErrno::AGAIN) => {}
                Err(errno) => return Err(errno_of(errno)),
            }
        }
        Ok(())
    }
}

impl Drive for BlockTarget {
    fn purge_means(&self) -> PurgeMeans {
        self.purger.as_ref().map_or(PurgeMeans::Trim, |purger| purger.means())
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.may_begin("purge")?;
        self.permitted().map_err(refused("purge"))?;
        match &mut self.purger {
            Some(purger) if purger.means() != PurgeMeans::Trim => purger.purge(),
            _ => self.trim_all(),
        }
    }

    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        const NAME: &str = "read";
        self.may_begin(NAME)?;
        let flight = self.flight(OWN, super::Kind::Read, range).map_err(refused(NAME))?;
        let failed = |errno| DriveError::Failed { operation: NAME, errno };
        let whole = flight.length.min(LARGEST);
        let lent = self.pool.lend(&mut self.ring, Direction::Read, whole);
        let mut buffer = lent.ok_or(failed(Errno(libc::ENOMEM)))?;
        let size = self.medium.logical_block().bytes().0;
        let (mut offset, end) = (flight.offset, flight.offset + flight.length);
        let mut result = Ok(());
        while offset < end && result.is_ok() {
            let length = index((end - offset).min(whole));
            let memory = &mut buffer.chunk.bytes()[..length];
            result = self.read(memory, offset);
            if result.is_ok() {
                out.extend(memory.chunks_exact(index(size)).map(stamp::read));
            }
            offset += length as u64;
        }
        self.pool.give_back(Direction::Read, buffer);
        result.map_err(|errno| failed(super::reason(&self.medium, &flight, errno)))
    }

    fn trim_promise(&self) -> TrimPromise {
        if let Some(purger) = &self.purger {
            return purger.promise();
        }
        // Holes read as zeroes, and so does what a loop device frees in its file or device below.
        // `queue/discard_zeroes_data` has said 0 of every device since Linux 4.12.
        let is_file = self.medium.is_image() || self.medium.loop_backing_file().is_some();
        match self.medium.capabilities.discard {
            Support::None => TrimPromise::Unknown,
            _ if is_file => TrimPromise::Zeroes,
            _ => TrimPromise::Unknown,
        }
    }

    fn discard_alignment(&self) -> trimbench_core::Bytes {
        self.medium.discard_alignment()
    }

    fn wear(&mut self) -> Option<Wear> {
        self.purger.as_mut()?.wear()
    }
}

/// Everything up to `end`, in pieces of at most `piece`. The first unit of the granularity begins
/// at `first`, and `piece` is whole units: what is before goes by itself, for a unit that is cut in
/// two is freed by neither half.
pub(super) fn pieces(end: Blocks, first: Blocks, piece: Blocks) -> impl Iterator<Item = LbaRange> {
    let mut start = Lba(0);
    std::iter::from_fn(move || {
        let length = if start.0 < first.0 { first.min(piece) } else { piece };
        let range = LbaRange::new(start, length.min(Blocks(end.0.saturating_sub(start.0))))?;
        start += range.length();
        Some(range)
    })
}

fn refused(operation: &'static str) -> impl Fn(trimbench_core::Rejected) -> DriveError {
    move |rejected| DriveError::Refused { operation, reason: rejected.to_string() }
}
