//! Modelled filesystems on an emulated drive: made anew as often as a method wishes, in virtual
//! time.
//!
//! The drive is one and the same from filesystem to filesystem, and its clock goes on. What mkfs
//! discards is sent to it; what mkfs writes is not modelled.

use std::collections::BTreeMap;
use std::fmt;

use trimbench_core::fault::Faulty;
use trimbench_core::rng::Rng;
use trimbench_core::{
    Account, BlockCommand, Bytes, Capabilities, Completion, DiscardMode, Drive as _, DriveError,
    Errno, FilesystemWish, Instant, LbaRange, Medium, Model, Nanos, ProvisionError, Provisioner,
    Status, Support, Tag, Target, Virtual,
};
use trimbench_fs::{Allocation, CpuCosts, DiscardPath, FS_BLOCK, FileSystem, FsConfig, Scheduler};
use trimbench_ssd::Ssd;

use crate::Description;
use crate::emulated::{Drive, EmulatedSpec};
use crate::settings::{nearest, one_of, within};
use crate::spec::{EMULATED, TargetError};

pub(crate) mod pool;
#[cfg(test)]
mod tests;

/// The filesystem that is modelled.
pub(crate) const NAME: &str = "ext4";
/// What errors call it.
const OF: &str = "the modelled filesystem";
/// The settings that may follow its name.
const SETTINGS: [&str; 8] =
    [MACHINE, "discard-path", "memory", "journal", "commit", "cpu-metadata", "cpu-call", "cpu-kib"];
/// The setting that the others change, wherever it stands.
const MACHINE: &str = "machine";
/// Makes the configuration of a machine.
type Machine = fn() -> FsConfig;
/// What it may be.
const MACHINES: [(&str, Machine); 2] = [("today", FsConfig::default), ("s0", FsConfig::s0)];
/// What `discard-path` may be: what `discard` is served by.
const DISCARD_PATHS: [(&str, DiscardPath); 3] = [
    ("in-commit", DiscardPath::InCommit),
    ("worker", DiscardPath::Worker),
    ("worker-unclipped", DiscardPath::WorkerUnclipped),
];
/// The longest processor time.
const CPU_MAX: Nanos = Nanos::from_secs(1);
/// What mke2fs discards at a time. Source: e2fsprogs, `mke2fs_discard_device`.
const MKFS_DISCARD: Bytes = Bytes::gib(2);
/// A start state overwrites at most this part of the drive at random.
const OVERWRITTEN: u64 = 8;
/// The one tag: the provisioner issues one command after the other.
const TAG: Tag = Tag(0);

/// A modelled filesystem and its drive, not yet made.
#[derive(Clone, Debug)]
pub struct ModelledSpec {
    /// What it is made as where online discard is wished for.
    config: FsConfig,
    /// The settings that were given, as texts.
    settings: BTreeMap<&'static str, String>,
    drive: EmulatedSpec,
}

/// Modelled filesystems that can be had, and what they are.
#[derive(Debug)]
pub struct ProvisionedModel {
    /// What makes them.
    pub target: ModelledFilesystems,
    /// What they are.
    pub description: Description,
}

impl ModelledSpec {
    /// Reads `key=value[,key=value]...`.
    pub(crate) fn parse(text: Option<&str>, drive: EmulatedSpec) -> Result<Self, TargetError> {
        let mut spec = Self { config: FsConfig::default(), settings: BTreeMap::new(), drive };
        let parts = || text.into_iter().flat_map(|text| text.split(','));
        let is_machine = |part: &&str| part.split('=').next() == Some(MACHINE);
        for part in parts().filter(is_machine).chain(parts().filter(|part| !is_machine(part))) {
            spec.set(part)?;
        }
        spec.config.check()?;
        Ok(spec)
    }

    fn set(&mut self, part: &str) -> Result<(), TargetError> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let Some(known) = SETTINGS.into_iter().find(|known| *known == key) else {
            let nearest = nearest(key, &SETTINGS);
            return Err(TargetError::UnknownSetting { of: OF, key: key.to_owned(), nearest });
        };
        let wrong = |problem| TargetError::Setting { of: OF, key: known.to_owned(), problem };
        let FsConfig { cpu: CpuCosts { metadata, call, kib }, .. } = &mut self.config;
        let text = match known {
            MACHINE => {
                self.config = one_of(value, &MACHINES).map_err(wrong)?();
                value.to_owned()
            }
            "discard-path" => {
                self.config.discard = one_of(value, &DISCARD_PATHS).map_err(wrong)?;
                value.to_owned()
            }
            "memory" => {
                let found = within(value, Bytes::mib(16), Bytes::gib(1 << 10)).map_err(wrong)?;
                self.config.memory = found;
                found.to_string()
            }
            "journal" => {
                let found = within(value, Bytes::mib(1), Bytes::gib(1)).map_err(wrong)?;
                self.config.journal = Some(found);
                found.to_string()
            }
            "commit" => {
                let hour = Nanos::from_secs(3_600);
                let found = within(value, Nanos::from_millis(1), hour).map_err(wrong)?;
                self.config.commit_interval = found;
                found.to_string()
            }
            _ => {
                let cost = match known {
                    "cpu-metadata" => metadata,
                    "cpu-call" => call,
                    _ => kib,
                };
                *cost = within(value, Nanos::ZERO, CPU_MAX).map_err(wrong)?;
                cost.to_string()
            }
        };
        self.settings.insert(known, text);
        Ok(())
    }

    /// The drive below.
    pub fn drive(&self) -> &EmulatedSpec {
        &self.drive
    }

    /// The same with this capacity of the drive where none was asked for.
    #[must_use]
    pub fn preferring(self, capacity: Option<Bytes>) -> Self {
        Self { drive: self.drive.preferring(capacity), ..self }
    }

    /// The same with the drive's capacity settled for files of `needed` bytes and what the
    /// filesystem takes itself.
    #[must_use]
    pub fn settled(mut self, needed: Bytes) -> Self {
        self.drive = self.drive.settled(with_metadata(needed));
        self
    }

    /// Makes the drive and fills it, as [`EmulatedSpec::provision`] does; what is random comes from
    /// `seed`.
    pub fn provision(&self, needed: Bytes, seed: u64) -> Result<ProvisionedModel, TargetError> {
        let drive = self.drive.provision(with_metadata(needed))?;
        let Description { mut identity, caveats, provenance, .. } = drive.description;
        let now = drive.target.now();
        // For its room, and to see whether it can be made at all.
        let first = FileSystem::make(self.config, drive.target.into_model())?;
        let capabilities = first.capabilities().clone();
        identity.insert("filesystem".to_owned(), format!("{NAME}, modelled"));
        identity.extend(self.describe_config(first.config()));
        let description = Description {
            name: format!("{NAME} on {}", drive.description.name),
            kind: "filesystem",
            identity,
            state: "each filesystem made anew by the method; before the first, the drive was \
                    purged and every 4 KiB unit written once in order. Processor times are assumed"
                .to_owned(),
            provenance,
            caveats,
        };
        let drive = Some(Virtual::starting_at(now, first.into_device()));
        let rng = Rng::new(seed).split("start-state");
        let config = self.config;
        let target = ModelledFilesystems { config, capabilities, rng, drive, mounted: None };
        Ok(ProvisionedModel { target, description })
    }

    /// What it is made as, in the words of the settings.
    fn describe_config(&self, made: &FsConfig) -> BTreeMap<String, String> {
        let FsConfig { memory, commit_interval, cpu, .. } = made;
        let allocation = match made.allocation {
            Allocation::Linear => "group by group (Linux to 5.5)".to_owned(),
            Allocation::ByIndex { processors } => {
                format!("by index (Linux from 6.17 on), {processors} processors")
            }
        };
        let scheduler = match made.scheduler {
            Scheduler::None => "none",
            Scheduler::Cfq => "CFQ",
        };
        let path = DISCARD_PATHS.into_iter().find(|(_, path)| *path == self.config.discard);
        let journal = made.journal.map_or("as mke2fs".to_owned(), |size| size.to_string());
        [
            ("discard-path", path.map_or("none", |(name, _)| name).to_owned()),
            ("memory", memory.to_string()),
            ("journal", journal),
            ("commit", commit_interval.to_string()),
            ("cpu-metadata", cpu.metadata.to_string()),
            ("cpu-call", cpu.call.to_string()),
            ("cpu-kib", cpu.kib.to_string()),
            ("allocation", allocation),
            ("scheduler", scheduler.to_owned()),
            ("dirty-background", made.dirty_background.to_string()),
            ("dirty-limit", made.dirty_limit.to_string()),
            ("write-back-depth", made.write_back_depth.to_string()),
        ]
        .map(|(key, value)| (format!("{NAME}-{key}"), value))
        .into()
    }
}

impl fmt::Display for ModelledSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAME)?;
        for key in SETTINGS {
            if let Some(value) = self.settings.get(key) {
                write!(formatter, ",{key}={value}")?;
            }
        }
        write!(formatter, ":{EMULATED}{}", self.drive)
    }
}

/// A drive for files of so many bytes: inode tables and bitmaps take 1.7 % of it, the journal at
/// most 1 GiB, and a last group that is not whole is not used.
fn with_metadata(files: Bytes) -> Bytes {
    files + Bytes(files.0 / 32) + Bytes::mib(1_280)
}

/// Makes modelled filesystems on one emulated drive.
#[derive(Debug)]
pub struct ModelledFilesystems {
    config: FsConfig,
    capabilities: Capabilities,
    /// Of start states.
    rng: Rng,
    /// While no filesystem is on it; else it is below that one.
    drive: Option<Drive>,
    mounted: Option<Virtual<FileSystem<Faulty<Ssd>>>>,
}

impl ModelledFilesystems {
    /// The drive by itself, after the filesystem was unmounted.
    fn take_drive(&mut self) -> Result<Drive, ProvisionError> {
        if self.mounted.is_some() {
            self.unmount()?;
        }
        let gone = "an earlier one failed and took the drive with it".to_owned();
        self.drive.take().ok_or_else(|| failed("make", gone))
    }
}

impl Provisioner for ModelledFilesystems {
    type Files = Virtual<FileSystem<Faulty<Ssd>>>;

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn check(&self, wish: &FilesystemWish) -> Result<(), ProvisionError> {
        if let DiscardMode::Policy(text) = &wish.discard {
            trimbench_fs::policy(text).map_err(not_made)?;
        }
        Ok(())
    }

    fn make(&mut self, wish: &FilesystemWish) -> Result<(), ProvisionError> {
        let (discard, policy) = match &wish.discard {
            DiscardMode::Off => (DiscardPath::None, None),
            DiscardMode::Online => (self.config.discard, None),
            DiscardMode::Policy(text) => {
                (DiscardPath::None, Some(trimbench_fs::policy(text).map_err(not_made)?))
            }
        };
        let mut drive = self.take_drive()?;
        prepare(&mut drive, wish, &self.rng)?;
        let now = drive.now();
        let config = FsConfig { discard, ..self.config };
        let made = FileSystem::make(config, drive.into_model()).map_err(not_made)?;
        let made = match policy {
            Some(policy) => made.with_policy(policy),
            None => made,
        };
        self.mounted = Some(Virtual::starting_at(now, made));
        Ok(())
    }

    fn files(&mut self) -> &mut Self::Files {
        self.mounted.as_mut().expect("a filesystem was made and is mounted")
    }

    fn unmount(&mut self) -> Result<Nanos, ProvisionError> {
        let files = self.files();
        let begin = files.now();
        let began = files.model_mut().unmount(begin, TAG);
        began.map_err(|rejected| failed("unmount", rejected.to_string()))?;
        await_one(files).map_err(|errno| failed("unmount", errno.to_string()))?;
        let end = files.now();
        let files = self.mounted.take().expect("it was there a moment ago");
        let drive = files.into_model().into_device();
        self.drive = Some(Virtual::starting_at(end, drive));
        Ok(end - begin)
    }

    fn account(&mut self) -> Option<Account> {
        let files = self.files().model_mut();
        let policy = files.policy_account();
        files.forget_policy_maxima();
        // The drive's units are as large as the filesystem's blocks.
        let free: Vec<LbaRange> = files.free_space().collect();
        let ssd = files.device_mut().inner_mut();
        let held = |range: &LbaRange| {
            (range.start().0..range.end().0).filter(|unit| ssd.holds_data(*unit)).count() as u64
        };
        let units: u64 = free.iter().map(held).sum();
        let wear = ssd.wear()?;
        Some(Account { wear, untrimmed: Bytes(units * FS_BLOCK.0), policy })
    }
}

/// Brings a drive into the state that mkfs and the mount are to find.
fn prepare(drive: &mut Drive, wish: &FilesystemWish, rng: &Rng) -> Result<(), ProvisionError> {
    if let Some(start_state) = wish.start_state {
        put_into(drive, start_state, rng).map_err(not_made)?;
    }
    if wish.mkfs_discard {
        discard_all(drive)?;
    }
    let settled = drive.now() + wish.settle;
    rest(drive, settled);
    Ok(())
}

/// Lets time pass; nothing is outstanding.
fn rest(drive: &mut Drive, until: Instant) {
    while drive.now() < until {
        drive.reap(until, &mut Vec::new());
    }
}

/// Purges the drive, fills it in order, and overwrites a part of it at random.
fn put_into(drive: &mut Drive, start_state: u32, rng: &Rng) -> Result<(), DriveError> {
    let Medium::Device { capacity, .. } = drive.capabilities().medium else {
        unreachable!("it is a drive");
    };
    drive.purge()?;
    let ssd = drive.model_mut().inner_mut();
    ssd.precondition_sequential(Bytes(0), capacity);
    let mut rng = rng.split(&start_state.to_string());
    let fs_blocks = capacity.0 / FS_BLOCK.0;
    ssd.precondition_random(rng.below(fs_blocks / OVERWRITTEN), &mut rng);
    Ok(())
}

/// The whole drive is discarded, as mkfs does it: one piece after the other.
fn discard_all(drive: &mut Drive) -> Result<(), ProvisionError> {
    let Capabilities { medium, discard, discard_max, discard_granularity, .. } =
        *drive.capabilities();
    let Medium::Device { capacity, logical_block } = medium else {
        unreachable!("it is a drive");
    };
    if discard == Support::None {
        return Ok(());
    }
    let granularity = discard_granularity.max(logical_block.bytes());
    let piece = MKFS_DISCARD.min(discard_max);
    let piece = Bytes((piece.0 / granularity.0).max(1) * granularity.0);
    for index in 0..capacity.pieces(piece) {
        let offset = Bytes(index * piece.0);
        let length = piece.min(capacity - offset);
        let range = LbaRange::from_bytes(offset, length, logical_block)
            .expect("pieces of a drive are whole logical blocks");
        drive
            .submit(TAG, BlockCommand::Discard(range))
            .map_err(|rejected| failed("make", rejected.to_string()))?;
        await_one(drive).map_err(|errno| failed("make", format!("its discard failed: {errno}")))?;
    }
    Ok(())
}

/// Waits for the command under way.
fn await_one<T: Target>(target: &mut T) -> Result<(), Errno> {
    let mut ended: Vec<Completion> = Vec::new();
    target.reap(Instant::NEVER, &mut ended);
    match ended[..] {
        [Completion { status: Status::Done, .. }] => Ok(()),
        [Completion { status: Status::Failed(errno), .. }] => Err(errno),
        _ => unreachable!("one command is under way"),
    }
}

fn not_made(error: impl fmt::Display) -> ProvisionError {
    failed("make", error.to_string())
}

fn failed(operation: &'static str, reason: String) -> ProvisionError {
    ProvisionError { operation, reason, advice: None }
}
