//! Emulated drives: a profile, a capacity and planted faults, filled before a run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use trimbench_attach::{Attachment, BackingPlace};
use trimbench_block::{HostQueue, QueueConfig};
use trimbench_claim::Consent;
use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::nearest::nearest;
use trimbench_core::settings::{
    FromSettings as _, IfUnset, Named as _, Setting, SettingError, described, multiple_of, named,
    optional, text, within,
};
use trimbench_core::trace_hash::TraceHash;
use trimbench_core::{
    Bytes, Capabilities, Caveat, Clock, Device, Drives, Instant, Nanos, TrimPromise, Virtual,
    named_enum, settings,
};
use trimbench_ssd::{
    BUILT_IN, ContentsConfig, DriveConfigError, MODEL_VERSION, Origin, Overreach, Profile, Ssd,
    SsdConfig, TrimmedReads,
};

use super::{Reading, TargetKind, TargetKindInfo};
use crate::description::{Description, Provisioned};
use crate::error::{Problem, TargetError};
use crate::opened::{Form, OpenTarget, Opening};
use crate::options::{self, EMULATED};
use crate::outlook::{TargetOutlook, ideal_device};
use crate::queue::QueueSettings;

#[cfg(test)]
mod tests;

/// Emulated drives.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "emulated",
    forms: &[
        ["`sim:NAME`", "a built-in emulated drive: `trimbench list profiles`"],
        ["`sim:./drive.toml`", "an emulated drive of your own"],
    ],
    names: &["sim"],
    hint: Some(["emulated drives", ":NAME"]),
    reading: Reading::Alone(|text, capacity| {
        Ok(Some(Arc::new(EmulatedSpec::parse(text.below, capacity)?)))
    }),
};

/// An emulated drive behind its virtual clock, with a layer for planted faults where there are any.
pub type EmulatedDrive = Virtual<Faulty<Ssd>>;

const EMULATED_DRIVE: &str = "an emulated drive";
/// The setting that holds a resumed run to the profile that it was begun with.
const PROFILE_HASH: &str = "profile-hash";
/// The capacity, as profiles call it.
const CAPACITY: &str = "drive.capacity";
/// Settings, and the keys of profiles that set the same.
const SAME: [(&str, &str); 3] =
    [("capacity", CAPACITY), ("trim-reads", "trim.reads"), ("trim-promise", "trim.promise")];
/// Mapping unit of all emulated drives: what a planted fault frees comes in whole ones.
const UNIT: Bytes = Bytes(4_096);
/// The most that a planted fault frees beside a TRIM.
const EATEN_MAX: Bytes = Bytes::gib(1);
/// A profile file is a few KiB.
const PROFILE_MAX: u64 = 1 << 20;
const FREEZE_MAX: Nanos = Nanos::from_secs(24 * 3_600);
/// Part of the available memory that the tables of a drive may take.
const MEMORY_SHARE: u64 = 90;

settings! {
    /// The settings that may follow a profile's name, beside the profile's own keys.
    #[derive(Clone, Debug)]
    struct DriveSettings(values) {
        /// capacity of the drive
        capacity: Option<Bytes> = "capacity", IfUnset::Absent,
            optional(described("at least 8 superblocks"));
        /// {}: how trimmed blocks read
        trim_reads: Option<TrimmedReads> = "trim-reads", IfUnset::Absent, optional(named());
        /// {}: what the drive promises about reads of trimmed blocks
        trim_promise: Option<TrimPromise> = "trim-promise", IfUnset::Absent, optional(named());
        /// {}: what is filled of a drive that a method has purged, beside what the method uses
        fill: Option<Filling> = "fill", IfUnset::Absent, optional(named());
        /// a planted fault: each discard freezes the drive for this time, {}
        freeze_on_discard: Option<Nanos> = "freeze-on-discard", IfUnset::Absent,
            optional(within(Nanos::ZERO, FREEZE_MAX));
        /// a planted fault: from this instant on every command fails
        eio_from: Option<Nanos> = "eio-from", IfUnset::Absent, optional(described("a time"));
        /// a planted fault: from this instant on the drive is gone
        vanish_from: Option<Nanos> = "vanish-from", IfUnset::Absent, optional(described("a time"));
        /// a planted fault: each TRIM also frees this much after its end, {}
        trim_eats_neighbour: Option<Bytes> = "trim-eats-neighbour", IfUnset::Absent,
            optional(multiple_of(UNIT, within(Bytes(0), EATEN_MAX)));
        /// a planted fault: each TRIM also frees this much before its beginning, {}
        trim_eats_before: Option<Bytes> = "trim-eats-before", IfUnset::Absent,
            optional(multiple_of(UNIT, within(Bytes(0), EATEN_MAX)));
        /// of the host's block layer, for methods that act as a program there (`delete-stall`)
        queue: QueueSettings;
    }
}

named_enum! {
    /// What is filled of a purged drive, in no time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Filling {
        /// All that the method does not use: its span is a part of a full drive.
        BeyondSpan = "beyond-span",
        /// Nothing: what the method does not use serves as over-provisioning.
        None = "none",
    }
}

impl DriveSettings {
    fn faults(&self) -> FaultPlan {
        FaultPlan {
            freeze_on_discard: self.freeze_on_discard.unwrap_or_default(),
            fail_from: self.eio_from.map(Instant::from_start),
            vanish_from: self.vanish_from.map(Instant::from_start),
        }
    }

    fn overreach(&self) -> Overreach {
        Overreach {
            before: self.trim_eats_before.unwrap_or_default(),
            behind: self.trim_eats_neighbour.unwrap_or_default(),
        }
    }
}

/// An emulated drive, not yet made.
#[derive(Clone, Debug)]
pub struct EmulatedSpec {
    /// The profile as named: built in, or a file.
    name: String,
    profile: Profile,
    profile_hash: u64,
    /// What is not set is left to the profile, and the capacity to the method, too.
    settings: DriveSettings,
}

/// Drives in a stated condition, not yet made.
#[derive(Debug)]
pub struct EmulatedDrives {
    config: SsdConfig,
    capabilities: Capabilities,
    faults: FaultPlan,
    overreach: Overreach,
    /// What a method does not use of a drive that it has purged stays empty.
    stays_empty: bool,
    /// The block layer of the host, for those that are made in one.
    queue: QueueConfig,
}

impl EmulatedSpec {
    /// Reads `NAME[,key=value]...`; `capacity` is what is asked for beside it.
    ///
    /// # Errors
    /// An unknown profile or key, or a value out of its range.
    pub fn parse(text: &str, capacity: Option<Bytes>) -> Result<Self, TargetError> {
        let (name, settings) = match text.split_once(',') {
            Some((name, settings)) => (name.to_owned(), Some(settings)),
            None => (text.to_owned(), None),
        };
        if name.is_empty() {
            return Err(Problem::NoProfile.into());
        }
        let (text, profile) = load(&name)?;
        let mut hash = TraceHash::default();
        hash.text(&text);
        let profile_hash = hash.value();
        let values = options::settings(EMULATED_DRIVE, &rows(), settings)?;
        if values.text(PROFILE_HASH).is_some_and(|hash| hash != format!("{profile_hash:016x}")) {
            return Err(Problem::ProfileChanged { name }.into());
        }
        let mut settings = DriveSettings::read(&values)?;
        // A fault of nothing is none.
        settings.freeze_on_discard = settings.freeze_on_discard.filter(|it| *it > Nanos::ZERO);
        for eaten in [&mut settings.trim_eats_neighbour, &mut settings.trim_eats_before] {
            *eaten = eaten.filter(|it| *it > Bytes(0));
        }
        for (key, of_profile) in SAME {
            if values.text(key).is_some() && values.text(of_profile).is_some() {
                return Err(SettingError::SetTwice { key: of_profile }.into());
            }
        }
        let set: Vec<_> = values.texts().filter(|(key, _)| is_of_profile(key)).collect();
        let profile = profile.with_values(EMULATED_DRIVE, &set)?;
        let own = set.iter().any(|(key, _)| *key == CAPACITY).then_some(profile.config.capacity);
        settings.capacity = settings.capacity.or(own).or(capacity);
        let spec = Self { name, profile, profile_hash, settings };
        spec.check(spec.capacity())?;
        Ok(spec)
    }

    /// The drive, to be attached as a block device.
    ///
    /// # Errors
    /// If its tables do not fit into memory.
    pub fn attachment(&self) -> Result<Attachment, TargetError> {
        let config = self.check(self.capacity())?;
        let (faults, overreach) = (self.settings.faults(), self.settings.overreach());
        Ok(Attachment { faults, overreach, ..Attachment::new(config) })
    }

    /// The file at `path` as the one that keeps what such a drive holds.
    pub fn kept_in(&self, path: PathBuf) -> BackingPlace {
        let profile = self.profile.name.clone();
        BackingPlace { path, profile, profile_hash: self.profile_hash }
    }

    /// What it is behind a loop device, which frees what reads as zeroes from then on.
    pub(crate) fn attached_identity(&self) -> BTreeMap<String, String> {
        let contents = ContentsConfig { reads: TrimmedReads::Zeroes, promise: TrimPromise::Zeroes };
        let own = self.profile.config.clone();
        self.identity(&SsdConfig { capacity: self.capacity(), contents, ..own })
    }

    /// A setting that only models in virtual time have, if one is set.
    pub(crate) fn of_virtual_time(&self) -> Option<&'static str> {
        let fill = self.settings.fill.map(|_| "fill");
        self.settings.queue.first_set().or(fill)
    }

    /// Memory that takes all that can be written to it, where its contents are kept: the bytes, and
    /// which write each block is of.
    pub(crate) fn contents_memory(&self) -> Bytes {
        let capacity = self.capacity();
        Bytes(capacity.0 + capacity.0 / 128)
    }

    /// Checks that tables and contents fit into memory.
    pub(crate) fn check_contents(&self) -> Result<(), TargetError> {
        check_memory(self.capacity(), self.memory() + self.contents_memory())
    }

    /// The limits of what is measured on it that its numbers bring.
    pub(crate) fn caveats(&self) -> Vec<Caveat> {
        let (faults, overreach) = (self.settings.faults(), self.settings.overreach());
        let planted = faults != FaultPlan::default() || overreach != Overreach::default();
        let fitted = self.profile.provenance.fitted > 0;
        let all = [(fitted, Caveat::Calibrated), (planted, Caveat::PlantedFault)];
        all.into_iter().filter_map(|(holds, caveat)| holds.then_some(caveat)).collect()
    }

    /// Whether it may lie below a filesystem or a pool, which have a block layer of their own.
    pub(crate) fn below_filesystem(&self, name: &'static str) -> Result<(), TargetError> {
        match self.settings.queue.first_set() {
            Some(key) => Err(Problem::OfTheHost { key, name }.into()),
            None => Ok(()),
        }
    }

    /// The values of the profile that the user set, as they were.
    fn set(&self) -> impl Iterator<Item = (&str, &str)> {
        let values = self.profile.values.iter().filter(|value| value.origin == Origin::Set);
        values.map(|value| (value.key.as_str(), value.value.as_str()))
    }

    /// Checks the numbers, and that the tables fit into memory, without making the drive.
    fn check(&self, capacity: Bytes) -> Result<SsdConfig, TargetError> {
        let own = self.profile.config.clone();
        let contents = ContentsConfig {
            reads: self.settings.trim_reads.unwrap_or(own.contents.reads),
            promise: self.settings.trim_promise.unwrap_or(own.contents.promise),
        };
        let config = SsdConfig { capacity, contents, ..own };
        let name = || self.name.clone();
        config.check().map_err(|error| Problem::Config { name: name(), error })?;
        check_memory(capacity, config.memory())?;
        Ok(config)
    }

    /// Memory that the tables of one such drive take.
    pub fn memory(&self) -> Bytes {
        SsdConfig { capacity: self.capacity(), ..self.profile.config.clone() }.memory()
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Bytes that the drive exports: as asked for, else the profile's.
    pub fn capacity(&self) -> Bytes {
        self.settings.capacity.unwrap_or(self.profile.config.capacity)
    }

    /// The hash of the profile's text: what tells two versions of a profile apart.
    pub fn profile_hash(&self) -> u64 {
        self.profile_hash
    }

    /// The capacity of a drive that must hold `needed` bytes: as asked for, else the profile's,
    /// else a quarter more than needed in whole GiB.
    fn capacity_for(&self, needed: Bytes) -> Bytes {
        let own = self.profile.config.capacity;
        match self.settings.capacity {
            Some(capacity) => capacity,
            None if own >= needed => own,
            None => Bytes((needed.0 + needed.0 / 4).next_multiple_of(1 << 30)),
        }
    }

    /// The same drive with this capacity where none was asked for.
    #[must_use]
    pub fn preferring(mut self, capacity: Option<Bytes>) -> Self {
        self.settings.capacity = self.settings.capacity.or(capacity);
        self
    }

    /// The same drive with its capacity settled, so that its text says it.
    #[must_use]
    pub fn settled(mut self, needed: Bytes) -> Self {
        self.settings.capacity = Some(self.capacity_for(needed));
        self
    }

    /// Makes the drive and fills it: every unit written once, in order, then at rest.
    pub fn provision(&self, needed: Bytes) -> Result<Provisioned<EmulatedDrive>, TargetError> {
        let Provisioned { target: drives, description } = self.drives(needed)?;
        Ok(Provisioned { target: drives.drive(), description })
    }

    /// Gets ready to make such drives; see [`Self::provision`].
    pub fn drives(&self, needed: Bytes) -> Result<Provisioned<EmulatedDrives>, TargetError> {
        let config = self.check(self.capacity_for(needed))?;
        let identity = self.identity(&config);
        let caveats = [Caveat::Emulated].into_iter().chain(self.caveats()).collect();
        let (faults, overreach) = (self.settings.faults(), self.settings.overreach());
        let description = Description {
            name: self.profile.name.clone(),
            kind: "emulated",
            identity,
            state: "as handed to the method: purged, then every 4 KiB unit written once in order, \
                    then at rest"
                .to_owned(),
            provenance: Some(self.profile.provenance),
            calibrated_through: self.profile.calibrated_through.clone(),
            caveats,
        };
        let capabilities = config.capabilities();
        let queue = self.settings.queue.config(QueueConfig::default());
        let stays_empty = self.settings.fill == Some(Filling::None);
        let target = EmulatedDrives { config, capabilities, faults, overreach, stays_empty, queue };
        Ok(Provisioned { target, description })
    }

    fn identity(&self, config: &SsdConfig) -> BTreeMap<String, String> {
        let mut identity = BTreeMap::from([
            ("profile".to_owned(), self.name.clone()),
            ("profile-hash".to_owned(), format!("{:016x}", self.profile_hash)),
            ("summary".to_owned(), self.profile.summary.clone()),
            ("capacity".to_owned(), config.capacity.to_string()),
            ("over-provisioning".to_owned(), config.over_provisioning.to_string()),
            ("trim-mode".to_owned(), config.trim.mode.id().to_owned()),
            ("trim-reads".to_owned(), config.contents.reads.id().to_owned()),
            ("trim-promise".to_owned(), config.contents.promise.id().to_owned()),
            ("model-version".to_owned(), MODEL_VERSION.to_string()),
        ]);
        let set: Vec<String> = self.set().map(|(key, text)| format!("{key}={text}")).collect();
        if !set.is_empty() {
            identity.insert("set-by-the-user".to_owned(), set.join(", "));
        }
        identity
    }
}

impl TargetKind for EmulatedSpec {
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let Provisioned { target, description } = self.drives(opening.space)?;
        Ok(OpenTarget::new(Form::Drives(Box::new(target)), description))
    }

    fn outlook(&self, _: &Consent) -> Result<TargetOutlook, TargetError> {
        let capacity = self.capacity();
        let ideal = ideal_device(capacity, Clock::Virtual);
        Ok(TargetOutlook::of_model(ideal, capacity, "nothing: the drive is emulated"))
    }

    fn emulated_drive(&self) -> Option<&EmulatedSpec> {
        Some(self)
    }

    fn sized_for(&self, own: Option<Bytes>, space: Bytes) -> Option<Arc<dyn TargetKind>> {
        Some(Arc::new(self.clone().preferring(own).settled(space)))
    }
}

impl Drives for EmulatedDrives {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Bytes {
        self.config.memory()
    }

    fn make(&self) -> Box<dyn Device> {
        Box::new(self.drive())
    }

    fn make_in_host(&self) -> Box<dyn Device> {
        let drive = self.drive().into_model();
        let host = HostQueue::new(drive, &self.queue).expect("it is a block device");
        Box::new(Virtual::new(host))
    }
}

impl EmulatedDrives {
    fn drive(&self) -> EmulatedDrive {
        let mut drive =
            open_drive(self.config.clone(), self.faults).expect("the numbers were checked");
        let ssd = drive.model_mut().inner_mut();
        ssd.plant_overreach(self.overreach);
        if self.stays_empty {
            ssd.stay_empty();
        }
        drive
    }
}

impl fmt::Display for EmulatedSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{EMULATED}{}", self.name)?;
        let sets_capacity = self.set().any(|(key, _)| key == CAPACITY);
        let said = |key: &str| key == "capacity" && sets_capacity;
        let shown = self.settings.shown().into_iter().filter(|(key, _)| !said(key));
        options::write_settings(formatter, shown)?;
        options::write_settings(formatter, self.set().map(|(key, text)| (key, text.to_owned())))?;
        // A built-in profile is told by the commit, a file by its content.
        if is_file_name(&self.name) {
            write!(formatter, ",{PROFILE_HASH}={:016x}", self.profile_hash)?;
        }
        Ok(())
    }
}

fn check_memory(capacity: Bytes, needed: Bytes) -> Result<(), TargetError> {
    match trimbench_linux::available_memory() {
        Some(available) if needed.0 > available.0 / 100 * MEMORY_SHARE => {
            let needed = Bytes(needed.0.next_multiple_of(1 << 20));
            let available = Bytes(available.0 & !((1 << 20) - 1));
            Err(Problem::Memory { capacity, needed, available }.into())
        }
        _ => Ok(()),
    }
}

/// Opens an emulated drive of these numbers with these faults: every unit written once, in order,
/// then at rest.
///
/// # Errors
/// A number out of its range.
pub fn open_drive(config: SsdConfig, faults: FaultPlan) -> Result<EmulatedDrive, DriveConfigError> {
    let capacity = config.capacity;
    let mut ssd = config.build()?;
    ssd.precondition_sequential(Bytes(0), capacity);
    Ok(Virtual::new(Faulty::new(ssd, faults)))
}

/// The profile of a built-in name or of a file (a name with a `/` or a `.`).
pub fn find_profile(name: &str) -> Result<Profile, TargetError> {
    load(name).map(|(_, profile)| profile)
}

/// What may be set of an emulated drive, behind its name: each key with its help.
pub fn profile_keys() -> Vec<(&'static str, String)> {
    let rows = rows().into_iter().filter(|row| row.key != PROFILE_HASH);
    rows.map(|row| (row.key, row.help)).collect()
}

/// Whether it is a key of the profile, `nand.read`.
fn is_of_profile(key: &str) -> bool {
    key.contains('.')
}

fn rows() -> Vec<Setting> {
    let mut rows = DriveSettings::rows();
    rows.extend(SsdConfig::rows());
    rows.push(Setting::new(PROFILE_HASH, IfUnset::Absent, text(), "what the profile must be"));
    rows
}

fn load(name: &str) -> Result<(String, Profile), TargetError> {
    let text = if let Some(built_in) = BUILT_IN.iter().find(|profile| profile.name == name) {
        built_in.text.to_owned()
    } else if is_file_name(name) {
        read(PathBuf::from(name))?
    } else {
        let names = BUILT_IN.iter().map(|profile| profile.name);
        let nearest = nearest(name, names).map(str::to_owned);
        return Err(Problem::UnknownProfile { name: name.to_owned(), nearest }.into());
    };
    let profile =
        Profile::parse(&text).map_err(|error| Problem::Profile { name: name.to_owned(), error })?;
    Ok((text, profile))
}

fn is_file_name(name: &str) -> bool {
    name.contains(['/', '.'])
}

/// The text of a profile file, if it is a regular file of sensible size.
fn read(path: PathBuf) -> Result<String, TargetError> {
    let text = std::fs::metadata(&path).and_then(|metadata| {
        if metadata.is_file() && metadata.len() <= PROFILE_MAX {
            std::fs::read_to_string(&path)
        } else {
            Err(std::io::Error::other("it is no file of at most 1 MiB"))
        }
    });
    Ok(text.map_err(|error| Problem::Unreadable { path, error })?)
}
