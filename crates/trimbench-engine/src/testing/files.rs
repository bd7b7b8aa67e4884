//! A directory in memory with completely known behaviour.

use std::collections::{BTreeMap, BTreeSet};

use trimbench_core::{
    Bytes, Capabilities, Clock, Completion, DeviceStatistics, DirectoryId, DrainRule, Errno,
    FileCommand, FileId, ForceDiscards, Instant, Interrupt, Medium, Model, Nanos, Rejected, Status,
    Storage, Support, Tag,
};

/// What commands take: making a file 4 ms, extending one 3 ms, reading one 2 ms, removing one 1 ms,
/// a subdirectory 1 s, a sync 5 s.
pub fn taken(command: FileCommand) -> Nanos {
    Nanos::from_millis(match command {
        FileCommand::Store { .. } => 4,
        FileCommand::Append { .. } => 3,
        FileCommand::Load { .. } => 2,
        FileCommand::Unlink { .. } => 1,
        FileCommand::MakeDirectory { .. } | FileCommand::RemoveDirectory { .. } => 1_000,
        FileCommand::SyncFilesystem => 5_000,
        _ => 0,
    })
}

/// How long after a sync what was freed is discarded.
pub const DISCARDS_AFTER: Nanos = Nanos::from_millis(700);

/// The directory. Fails as a real one does: `ENOSPC` beyond its room, `EEXIST`, `ENOENT`,
/// `ENOTEMPTY`; `EINVAL` for what its files do not hold.
pub struct ToyFiles {
    pub capabilities: Capabilities,
    /// Of all bytes that are written, how many of a hundred reach the device.
    pub percent_reaching: u64,
    /// From this command on, counted from 0, others have filled the filesystem.
    pub full_from: usize,
    /// At this command the user asks for the end.
    pub interrupt_at: Option<(usize, Interrupt)>,
    pub log: Vec<FileCommand>,
    /// Those that there are, with where they are and how large.
    pub present: BTreeMap<FileId, (DirectoryId, Bytes)>,
    pub directories: BTreeSet<DirectoryId>,
    statistics: DeviceStatistics,
    freed: Bytes,
    discards_at: Instant,
    under_way: Option<(Instant, Tag, Status)>,
}

impl ToyFiles {
    pub fn new() -> Self {
        let drain = DrainRule {
            force: ForceDiscards::Sync,
            quiet: Nanos::from_secs(2),
            latest_start: Nanos::from_secs(1),
            timeout: Nanos::from_secs(60),
        };
        let capabilities = Capabilities {
            clock: Clock::Wall,
            medium: Medium::Directory { available: Bytes::gib(1), fs_block: Bytes(4_096) },
            discard: Support::Native,
            discard_max: Bytes::gib(1),
            discard_granularity: Bytes(4_096),
            queue_depth: 32,
            drain,
        };
        Self {
            capabilities,
            percent_reaching: 100,
            full_from: usize::MAX,
            interrupt_at: None,
            log: Vec::new(),
            present: BTreeMap::new(),
            directories: BTreeSet::from([DirectoryId::OWN]),
            statistics: DeviceStatistics::default(),
            freed: Bytes(0),
            discards_at: Instant::NEVER,
            under_way: None,
        }
    }

    fn execute(&mut self, now: Instant, command: FileCommand) -> Result<(), Errno> {
        let is_full = self.log.len() > self.full_from;
        match command {
            FileCommand::Create { file } => self.make(file, DirectoryId::OWN),
            FileCommand::Store { file, directory, length, .. } => {
                self.make(file, directory)?;
                self.extend(file, length, is_full)
            }
            FileCommand::Append { file, length, .. } | FileCommand::Write { file, length, .. } => {
                self.extend(file, length, is_full)
            }
            FileCommand::Load { file, length, .. } => {
                let (_, size) = self.present.get(&file).ok_or(ENOENT)?;
                if *size == length { Ok(()) } else { Err(EINVAL) }
            }
            FileCommand::Unlink { file } => {
                self.freed += self.present.remove(&file).ok_or(ENOENT)?.1;
                Ok(())
            }
            FileCommand::MakeDirectory { directory } => {
                if self.directories.insert(directory) {
                    Ok(())
                } else {
                    Err(EEXIST)
                }
            }
            FileCommand::RemoveDirectory { directory } => {
                if self.present.values().any(|(place, _)| *place == directory) {
                    return Err(ENOTEMPTY);
                }
                if self.directories.remove(&directory) { Ok(()) } else { Err(ENOENT) }
            }
            FileCommand::SyncFilesystem => {
                self.discards_at = now + taken(command) + DISCARDS_AFTER;
                Ok(())
            }
            FileCommand::Fsync { file } if self.present.contains_key(&file) => Ok(()),
            _ => Err(EINVAL),
        }
    }

    fn make(&mut self, file: FileId, directory: DirectoryId) -> Result<(), Errno> {
        if !self.directories.contains(&directory) {
            return Err(ENOENT);
        }
        let before = self.present.insert(file, (directory, Bytes(0)));
        if before.is_some() { Err(EEXIST) } else { Ok(()) }
    }

    fn extend(&mut self, file: FileId, length: Bytes, is_full: bool) -> Result<(), Errno> {
        if is_full {
            return Err(Errno::ENOSPC);
        }
        self.present.get_mut(&file).ok_or(ENOENT)?.1 += length;
        self.statistics.write.bytes += Bytes(length.0 * self.percent_reaching / 100);
        Ok(())
    }
}

const ENOENT: Errno = Errno(2);
const EEXIST: Errno = Errno(17);
const EINVAL: Errno = Errno(22);
const ENOTEMPTY: Errno = Errno(39);

impl Storage for ToyFiles {
    type Command = FileCommand;

    fn statistics(&self) -> DeviceStatistics {
        self.statistics
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for ToyFiles {
    fn submit(&mut self, now: Instant, tag: Tag, command: FileCommand) -> Result<(), Rejected> {
        assert!(self.under_way.is_none(), "one operation at a time");
        if let Some((index, interrupt)) = &self.interrupt_at
            && *index == self.log.len()
        {
            interrupt.request();
        }
        self.log.push(command);
        let status = self.execute(now, command).map_or_else(Status::Failed, |()| Status::Done);
        self.under_way = Some((now + taken(command), tag, status));
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.under_way.map_or(Instant::NEVER, |(at, ..)| at).min(self.discards_at)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        if self.discards_at <= now {
            self.discards_at = Instant::NEVER;
            self.statistics.discard.bytes += std::mem::take(&mut self.freed);
            self.statistics.discard.completed += 1;
        }
        if let Some((at, tag, status)) = self.under_way.take_if(|(at, ..)| *at <= now) {
            out.push(Completion { tag, at, status });
        }
    }
}
