//! Modelled filesystems on an emulated drive: made as often as a method requests, in virtual time.
//!
//! All filesystems use the same drive, and its clock continues from one to the next. mkfs's
//! discards are sent to the drive; its writes are not modelled.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use trimbench_claim::Consent;
use trimbench_core::fault::Faulty;
use trimbench_core::rng::Rng;
use trimbench_core::settings::{FromSettings as _, IfUnset, Named, named, optional, within};
use trimbench_core::{
    Account, BlockCommand, Bytes, Capabilities, Caveat, Clock, Completion, DiscardMode, Drive as _,
    DriveError, Errno, Files, FilesystemSpec, Instant, LbaRange, Medium, Nanos, ProvisionError,
    Provisioner, Status, Storage as _, Support, Tag, Target, Virtual, named_enum, settings,
};
use trimbench_fs::{Allocation, FS_BLOCK, FileSystem, FsConfig, FsKind, FsPolicy, Journaling};
use trimbench_policy::{Ext4Era, Issuer};
use trimbench_ssd::Ssd;

use super::emulated::{EmulatedDrive, EmulatedSpec};
use super::{NamedText, Reading, TargetKind, TargetKindInfo};
use crate::description::{Description, Provisioned};
use crate::error::{KindProblem, TargetError};
use crate::opened::{OpenTarget, Opening};
use crate::options::{self, EMULATED};
use crate::outlook::{TargetOutlook, ideal_directory};
use crate::queue::QueueSettings;

#[cfg(test)]
mod tests;

const OF: &str = "the modelled filesystem";
const CPU_MAX: Nanos = Nanos::from_secs(1);
/// What mke2fs discards at a time. Source: e2fsprogs, `mke2fs_discard_device`.
const MKFS_DISCARD: Bytes = Bytes::gib(2);
/// A start state overwrites at most this part of the drive at random.
const OVERWRITTEN: u64 = 8;
/// The one tag: the provisioner issues one command after the other.
pub(super) const TAG: Tag = Tag(0);

/// Filesystems that are models.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "modelled",
    forms: &[[
        "`ext4:sim:NAME`",
        "a modelled filesystem, newly made on an emulated drive; also `xfs`, `btrfs`, `f2fs`",
    ]],
    names: &{
        let mut names = [""; FsKind::NAMES.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = FsKind::NAMES[index].0;
            index += 1;
        }
        names
    },
    hint: Some(["filesystems", ":"]),
    reading: Reading::OverDrives(read),
};

settings! {
    /// The settings that may follow its name.
    #[derive(Clone, Debug)]
    struct ModelSettings(values) {
        /// {}: the base for the other settings
        machine: Option<Machine> = "machine", IfUnset::Absent, optional(named());
        /// of ext4, {}: the release from which on the kernel discards as it does
        era: Option<Ext4Era> = "era", IfUnset::Absent, optional(named());
        /// of ext4, {}: what its journal holds
        journaling: Option<Journaling> = "journaling", IfUnset::Absent, optional(named());
        /// of btrfs, {}: how it discards online
        discard: Option<BtrfsDiscard> = "discard", IfUnset::Absent, optional(named());
        /// memory of the machine, {}
        memory: Option<Bytes> = "memory", IfUnset::Absent,
            optional(within(Bytes::mib(16), Bytes::gib(1 << 10)));
        /// size of the journal, or of the log of XFS, {}
        journal: Option<Bytes> = "journal", IfUnset::Absent,
            optional(within(Bytes::mib(1), Bytes::gib(1)));
        /// time between commits, or checkpoints of f2fs, {}
        commit: Option<Nanos> = "commit", IfUnset::Absent,
            optional(within(Nanos::from_millis(1), Nanos::from_secs(3_600)));
        /// its block layer
        queue: QueueSettings;
        /// processor time of an operation on metadata, {}
        cpu_metadata: Option<Nanos> = "cpu-metadata", IfUnset::Absent,
            optional(within(Nanos::ZERO, CPU_MAX));
        /// processor time of a system call, {}
        cpu_call: Option<Nanos> = "cpu-call", IfUnset::Absent,
            optional(within(Nanos::ZERO, CPU_MAX));
        /// processor time of each KiB copied, {}
        cpu_kib: Option<Nanos> = "cpu-kib", IfUnset::Absent,
            optional(within(Nanos::ZERO, CPU_MAX));
    }
}

named_enum! {
    /// What an ext4 stands on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Machine {
        /// A machine of today.
        Today = "today",
        /// The one that is assumed for \[S0\].
        S0 = "s0",
    }
}

named_enum! {
    /// How btrfs discards online.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum BtrfsDiscard {
        /// Within the commit.
        Sync = "sync",
        /// Later.
        Async = "async",
    }
}

/// A setting of another filesystem.
#[derive(Debug, thiserror::Error)]
#[error("`{key}` is a setting of {of}, not of {name}")]
struct OfAnother {
    key: &'static str,
    of: &'static str,
    name: &'static str,
}

impl KindProblem for OfAnother {}

impl ModelSettings {
    /// The first setting that is another filesystem's.
    fn check(&self, kind: FsKind) -> Result<(), OfAnother> {
        let (ext4, btrfs) = (kind == FsKind::Ext4, kind == FsKind::Btrfs);
        let has_journal = matches!(kind, FsKind::Ext4 | FsKind::Xfs);
        let rows = [
            ("machine", "ext4", self.machine.is_some(), ext4),
            ("era", "ext4", self.era.is_some(), ext4),
            ("journaling", "ext4", self.journaling.is_some(), ext4),
            ("journal", "ext4 and xfs", self.journal.is_some(), has_journal),
            ("discard", "btrfs", self.discard.is_some(), btrfs),
        ];
        let wrong = rows.into_iter().find(|(.., set, fits)| *set && !fits);
        match wrong {
            Some((key, of, ..)) => Err(OfAnother { key, of, name: kind.id() }),
            None => Ok(()),
        }
    }

    /// The first setting that decides who discards.
    fn of_issuer(&self) -> Option<&'static str> {
        let rows = [
            ("machine", self.machine.is_some()),
            ("era", self.era.is_some()),
            ("journaling", self.journaling.is_some()),
            ("discard", self.discard.is_some()),
        ];
        rows.into_iter().find(|(_, set)| *set).map(|(key, _)| key)
    }

    fn config(&self, kind: FsKind) -> FsConfig {
        let mut config = match self.machine {
            None | Some(Machine::Today) => FsConfig::of(kind),
            Some(Machine::S0) => FsConfig::s0(),
        };
        let of_btrfs = self.discard.map(|discard| match discard {
            BtrfsDiscard::Sync => Issuer::BtrfsSync,
            BtrfsDiscard::Async => Issuer::BtrfsAsync,
        });
        config.journaling = self.journaling.unwrap_or(config.journaling);
        let by_journaling =
            (config.journaling != Journaling::Ordered).then_some(Issuer::Ext4NoJournal);
        let by_era = self.era.map(Ext4Era::issuer);
        config.discard = of_btrfs.or(by_journaling).or(by_era).or(config.discard);
        config.memory = self.memory.unwrap_or(config.memory);
        config.journal = self.journal.or(config.journal);
        config.commit_interval = self.commit.unwrap_or(config.commit_interval);
        config.cpu.metadata = self.cpu_metadata.unwrap_or(config.cpu.metadata);
        config.cpu.call = self.cpu_call.unwrap_or(config.cpu.call);
        config.cpu.kib = self.cpu_kib.unwrap_or(config.cpu.kib);
        config.queue = self.queue.config(config.queue);
        config
    }
}

/// A modelled filesystem and its drive, not yet made.
#[derive(Clone, Debug)]
pub struct ModelledSpec {
    settings: ModelSettings,
    /// What it is made as where online discard is wished for.
    config: FsConfig,
    drive: EmulatedSpec,
}

impl ModelledSpec {
    /// Reads `key=value[,key=value]...`.
    pub(crate) fn parse(
        kind: FsKind,
        text: Option<&str>,
        drive: EmulatedSpec,
    ) -> Result<Self, TargetError> {
        let values = options::settings(OF, &ModelSettings::rows(), text)?;
        let settings = ModelSettings::read(&values)?;
        settings.check(kind)?;
        drive.below_filesystem(kind.id())?;
        let config = settings.config(kind);
        config.check()?;
        Ok(Self { settings, config, drive })
    }

    /// The same with so much memory where neither it nor a machine was asked for.
    fn limited(&self, memory: Option<Bytes>) -> Self {
        let mut limited = self.clone();
        if limited.settings.memory.is_none() && limited.settings.machine.is_none() {
            limited.settings.memory = memory;
            limited.config = limited.settings.config(self.config.kind);
        }
        limited
    }

    /// Makes the drive and fills it, as [`EmulatedSpec::provision`] does; what is random comes from
    /// `seed`.
    pub fn provision(
        &self,
        needed: Bytes,
        seed: u64,
    ) -> Result<Provisioned<ModelledFilesystems>, TargetError> {
        let drive = self.drive.provision(with_metadata(needed))?;
        let Description { mut identity, mut caveats, provenance, calibrated_through, .. } =
            drive.description;
        let now = drive.target.now();
        // For its room, and to see whether it can be made at all.
        let first = FileSystem::make(self.config, drive.target.into_model())?;
        let capabilities = first.capabilities().clone();
        let name = self.config.kind.id();
        if self.config.kind == FsKind::F2fs {
            caveats.push(Caveat::ByReadingOnly);
        }
        identity.insert("filesystem".to_owned(), format!("{name}, modelled"));
        identity.extend(self.describe_config(first.config()));
        let description = Description {
            name: format!("{name} on {}", drive.description.name),
            kind: "filesystem",
            identity,
            state: "each filesystem made anew by the method; before the first, the drive was \
                    purged and every 4 KiB unit written once in order. Processor times are assumed"
                .to_owned(),
            provenance,
            calibrated_through,
            caveats,
        };
        let drive = Some(Virtual::starting_at(now, first.into_device()));
        let rng = Rng::new(seed).split("start-state");
        let config = self.config;
        let settings = self.settings.clone();
        let made = None;
        let target = ModelledFilesystems { settings, config, capabilities, rng, drive, made };
        Ok(Provisioned { target, description })
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
        let issuer = self.config.discard.map_or("none", Issuer::id);
        let journal = made.journal.map_or("as mkfs".to_owned(), |size| size.to_string());
        let throttling = made.queue.write_back_throttling;
        let name = made.kind.id();
        let mut described = BTreeMap::new();
        let mut say = |key: &str, text: String| described.insert(format!("{name}-{key}"), text);
        say("issuer", issuer.to_owned());
        say("memory", memory.to_string());
        if made.kind == FsKind::Ext4 {
            say("journaling", made.journaling.id().to_owned());
            say("allocation", allocation);
        }
        if matches!(made.kind, FsKind::Ext4 | FsKind::Xfs) {
            say("journal", journal);
        }
        say("commit", commit_interval.to_string());
        say("cpu-metadata", cpu.metadata.to_string());
        say("cpu-call", cpu.call.to_string());
        say("cpu-kib", cpu.kib.to_string());
        say("scheduler", made.queue.scheduler.id().to_owned());
        say("wbt", throttling.map_or("off".to_owned(), |target| target.to_string()));
        say("dirty-background", made.dirty_background.to_string());
        say("dirty-limit", made.dirty_limit.to_string());
        say("write-back-depth", made.write_back_depth.to_string());
        if let Some(most) = made.queue.discard_max {
            say("discard-max", most.to_string());
        }
        described
    }
}

impl TargetKind for ModelledSpec {
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let Opening { space, seed, memory, .. } = *opening;
        Ok(OpenTarget::modelled(self.limited(memory).provision(space, seed)?))
    }

    fn outlook(&self, _: &Consent) -> Result<TargetOutlook, TargetError> {
        Ok(outlook(self.drive.capacity()))
    }

    fn is_filesystem(&self) -> bool {
        true
    }

    fn emulated_drive(&self) -> Option<&EmulatedSpec> {
        Some(&self.drive)
    }

    /// The filesystem takes something of the drive itself.
    fn sized_for(&self, own: Option<Bytes>, space: Bytes) -> Option<Arc<dyn TargetKind>> {
        let drive = self.drive.clone().preferring(own).settled(with_metadata(space));
        Some(Arc::new(Self { drive, ..self.clone() }))
    }
}

/// What is known of a modelled filesystem whose files may take so many bytes at most.
pub(super) fn outlook(capacity: Bytes) -> TargetOutlook {
    let ideal = ideal_directory(capacity, Clock::Virtual);
    TargetOutlook::of_model(ideal, capacity, "nothing: filesystem and drive are models")
}

impl fmt::Display for ModelledSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.config.kind.id())?;
        options::write_settings(formatter, self.settings.shown())?;
        write!(formatter, ":{}", self.drive)
    }
}

/// A drive for files of so many bytes: inode tables and bitmaps take 1.7 % of it, the journal at
/// most 1 GiB, and a last group that is not whole is not used.
pub(super) fn with_metadata(files: Bytes) -> Bytes {
    files + Bytes(files.0 / 32) + Bytes::mib(1_280)
}

/// Makes modelled filesystems on one emulated drive.
#[derive(Debug)]
pub struct ModelledFilesystems {
    settings: ModelSettings,
    /// What the settings make of the filesystem that the target names.
    config: FsConfig,
    capabilities: Capabilities,
    /// Of start states.
    rng: Rng,
    /// While no filesystem is on it; else it is below that one.
    drive: Option<EmulatedDrive>,
    made: Option<MadeFilesystem>,
}

/// The filesystem that was made last.
#[derive(Debug)]
struct MadeFilesystem {
    files: Virtual<FileSystem<Faulty<Ssd>>>,
    is_mounted: bool,
}

impl ModelledFilesystems {
    fn made(&mut self) -> &mut Virtual<FileSystem<Faulty<Ssd>>> {
        &mut self.made.as_mut().expect("a filesystem was made").files
    }

    fn is_mounted(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.is_mounted)
    }

    fn mounted(&mut self) -> &mut Virtual<FileSystem<Faulty<Ssd>>> {
        assert!(self.is_mounted(), "a filesystem is mounted");
        self.made()
    }

    /// The drive by itself, after the filesystem was unmounted.
    fn take_drive(&mut self) -> Result<EmulatedDrive, ProvisionError> {
        if self.is_mounted() {
            self.unmount()?;
        }
        if let Some(MadeFilesystem { files, .. }) = self.made.take() {
            let now = files.now();
            self.drive = Some(Virtual::starting_at(now, files.into_model().into_device()));
        }
        let gone = "an earlier one failed and took the drive with it".to_owned();
        self.drive.take().ok_or_else(|| failed("make", gone))
    }

    /// What is made where a filesystem is to discard so; policies come on top of it.
    fn config_for(&self, wish: &FilesystemSpec) -> Result<FsConfig, ProvisionError> {
        let mut config = match &wish.discard {
            DiscardMode::As(system) => self.config_as(system)?,
            DiscardMode::Online => self.config,
            DiscardMode::Off | DiscardMode::Policy(_) => FsConfig { discard: None, ..self.config },
        };
        config.queue.discard_max = wish.discard_max.or(config.queue.discard_max);
        Ok(config)
    }

    /// The filesystem of a system that discards, on the same machine.
    fn config_as(&self, system: &str) -> Result<FsConfig, ProvisionError> {
        let made = Issuer::of_id(system)
            .and_then(|issuer| Some((issuer, FsKind::of(issuer).or(FsKind::trimmed_by(issuer))?)));
        let (issuer, kind) = made.ok_or_else(|| {
            let reason = format!("there is no model of a filesystem that discards as `{system}`");
            failed("make", reason)
        })?;
        self.settings.check(kind).map_err(not_made)?;
        if let Some(key) = self.settings.of_issuer() {
            return Err(failed("make", format!("`{key}` is for the method to decide")));
        }
        let journaling = match issuer {
            Issuer::Ext4NoJournal => Journaling::None,
            _ => Journaling::Ordered,
        };
        let discard = FsKind::of(issuer).map(|_| issuer);
        Ok(FsConfig { journaling, discard, ..self.settings.config(kind) })
    }
}

impl Provisioner for ModelledFilesystems {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn check(&self, wish: &FilesystemSpec) -> Result<(), ProvisionError> {
        if let DiscardMode::Policy(text) = &wish.discard {
            trimbench_fs::policy(self.config.kind, text).map_err(not_made)?;
        }
        self.config_for(wish)?.check().map_err(not_made)
    }

    fn make(&mut self, wish: &FilesystemSpec) -> Result<(), ProvisionError> {
        let policy = match &wish.discard {
            DiscardMode::Policy(text) => {
                Some(trimbench_fs::policy(self.config.kind, text).map_err(not_made)?)
            }
            _ => None,
        };
        let config = self.config_for(wish)?;
        let of_policy = policy.as_ref().and_then(FsPolicy::issuer);
        let discard = of_policy.or(config.discard);
        let config = FsConfig { made_trimmed: wish.mkfs_discard, discard, ..config };
        let mut drive = self.take_drive()?;
        prepare(&mut drive, wish, &self.rng)?;
        let now = drive.now();
        let made = FileSystem::make(config, drive.into_model()).map_err(not_made)?;
        let made = match policy {
            Some(policy) => made.with_policy(policy),
            None => made,
        };
        let files = Virtual::starting_at(now, made);
        self.made = Some(MadeFilesystem { files, is_mounted: true });
        Ok(())
    }

    fn files(&mut self) -> &mut Files<'_> {
        self.mounted()
    }

    fn unmount(&mut self) -> Result<Nanos, ProvisionError> {
        let files = self.mounted();
        let begin = files.now();
        let began = files.model_mut().unmount(begin, TAG);
        began.map_err(|rejected| failed("unmount", rejected.to_string()))?;
        await_one(files).map_err(|errno| failed("unmount", errno.to_string()))?;
        let end = files.now();
        if let Some(made) = &mut self.made {
            made.is_mounted = false;
        }
        Ok(end - begin)
    }

    fn account(&mut self) -> Option<Account> {
        let files = self.made().model_mut();
        let discards = files.counters().discards;
        let account = files.policy_account();
        files.forget_policy_maxima();
        // Of a mapping unit that is larger than a block, the drive keeps all for a part.
        let free: Vec<LbaRange> = files.free_space().collect();
        let ssd = files.device_mut().inner_mut();
        let held = |range: &LbaRange| {
            let blocks = range.start().0..range.end().0;
            blocks.filter(|block| ssd.holds_data(Bytes(block * FS_BLOCK.0))).count() as u64
        };
        let units: u64 = free.iter().map(held).sum();
        let wear = ssd.wear()?;
        Some(Account {
            wear,
            untrimmed: Bytes(units * FS_BLOCK.0),
            freed: discards.freed,
            given_up: discards.dropped,
            discards: account,
        })
    }
}

/// `None` if it is to be made on a path.
fn read(
    text: &NamedText<'_>,
    capacity: Option<Bytes>,
) -> Result<Option<Arc<dyn TargetKind>>, TargetError> {
    let Some(drive) = text.below.strip_prefix(EMULATED) else { return Ok(None) };
    let drive = EmulatedSpec::parse(drive, capacity)?;
    let kind = FsKind::NAMES.iter().find(|(id, _)| *id == text.name);
    let (_, kind) = kind.expect("it begins with one of our names");
    Ok(Some(Arc::new(ModelledSpec::parse(*kind, text.settings, drive)?)))
}

/// Brings a drive into the state that mkfs and the mount are to find.
pub(super) fn prepare(
    drive: &mut EmulatedDrive,
    wish: &FilesystemSpec,
    rng: &Rng,
) -> Result<(), ProvisionError> {
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
pub(super) fn rest(drive: &mut EmulatedDrive, until: Instant) {
    while drive.now() < until {
        drive.reap(until, &mut Vec::new());
    }
}

/// Purges the drive, fills it in order, and overwrites a part of it at random.
fn put_into(drive: &mut EmulatedDrive, start_state: u32, rng: &Rng) -> Result<(), DriveError> {
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
fn discard_all(drive: &mut EmulatedDrive) -> Result<(), ProvisionError> {
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

pub(super) fn await_one<T: Target + ?Sized>(target: &mut T) -> Result<(), Errno> {
    let mut ended: Vec<Completion> = Vec::new();
    target.reap(Instant::NEVER, &mut ended);
    match ended[..] {
        [Completion { status: Status::Done, .. }] => Ok(()),
        [Completion { status: Status::Failed(errno), .. }] => Err(errno),
        _ => unreachable!("one command is under way"),
    }
}

pub(super) fn not_made(error: impl fmt::Display) -> ProvisionError {
    failed("make", error.to_string())
}

pub(super) fn failed(operation: &'static str, reason: String) -> ProvisionError {
    ProvisionError { operation, reason, advice: None }
}
