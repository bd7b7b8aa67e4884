//! Emulated drives: a profile, a capacity and planted faults, filled before a run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::trace_hash::TraceHash;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Capabilities, Caveat, Drives, Instant, Nanos, TrimPromise, Virtual};
use trimbench_ssd::{
    BUILT_IN, ConfigError, ContentsConfig, MODEL_VERSION, Overreach, Profile, Ssd, SsdConfig,
    TrimmedReads,
};

use crate::Description;
use crate::settings::{nearest, one_of, quantity};
use crate::spec::TargetError;

/// An emulated drive behind its virtual clock, with a layer for planted faults where there are any.
pub type Drive = Virtual<Faulty<Ssd>>;

/// What errors call it.
const EMULATED_DRIVE: &str = "an emulated drive";
/// The settings that may follow a profile's name.
const SETTINGS: [&str; 9] = [
    "capacity",
    "trim-reads",
    "trim-promise",
    "freeze-on-discard",
    "eio-from",
    "vanish-from",
    "trim-eats-neighbour",
    "trim-eats-before",
    "profile-hash",
];
/// What `trim-reads` may be.
const READS: [(&str, TrimmedReads); 3] = [
    ("zeroes", TrimmedReads::Zeroes),
    ("old-data", TrimmedReads::OldData),
    ("unstable", TrimmedReads::Unstable),
];
/// What `trim-promise` may be, by [`TrimPromise::id`].
const PROMISES: [TrimPromise; 5] = [
    TrimPromise::Unknown,
    TrimPromise::Nothing,
    TrimPromise::Deterministic,
    TrimPromise::Zeroes,
    TrimPromise::Ones,
];
/// Mapping unit of all emulated drives: what a planted fault frees comes in whole ones.
const UNIT: Bytes = Bytes(4_096);
/// The most that a planted fault frees beside a TRIM.
const EATEN_MAX: Bytes = Bytes::gib(1);
/// A profile file is a few KiB.
const PROFILE_MAX: u64 = 1 << 20;
/// The longest planted freeze.
const FREEZE_MAX: Nanos = Nanos::from_secs(24 * 3_600);
/// Drives that are in use at once: a core each, and no more memory than a machine of two cores has.
const SIDE_BY_SIDE: u64 = 2;
/// Part of the available memory that the tables of a drive may take.
const MEMORY_SHARE: u64 = 90;

/// An emulated drive, not yet made.
#[derive(Clone, Debug)]
pub struct EmulatedSpec {
    /// The profile as named: built in, or a file.
    name: String,
    profile: Profile,
    profile_hash: u64,
    /// As asked for; `None` leaves it to the profile and the method.
    capacity: Option<Bytes>,
    /// Instead of the profile's.
    reads: Option<TrimmedReads>,
    /// Instead of the profile's.
    promise: Option<TrimPromise>,
    faults: FaultPlan,
    overreach: Overreach,
}

/// A drive in a stated condition.
#[derive(Debug)]
pub struct ProvisionedDrive {
    /// The drive.
    pub target: Drive,
    /// What it is.
    pub description: Description,
}

/// Drives in a stated condition, not yet made.
#[derive(Debug)]
pub struct EmulatedDrives {
    config: SsdConfig,
    capabilities: Capabilities,
    faults: FaultPlan,
    overreach: Overreach,
    /// What each of them is.
    pub description: Description,
}

impl EmulatedSpec {
    /// Reads `NAME[,key=value]...`.
    pub(crate) fn parse(text: &str, capacity: Option<Bytes>) -> Result<Self, TargetError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default().to_owned();
        let (text, profile) = load(&name)?;
        let mut hash = TraceHash::default();
        hash.text(&text);
        let profile_hash = hash.value();
        let mut spec = Self {
            name,
            profile,
            profile_hash,
            capacity,
            reads: None,
            promise: None,
            faults: FaultPlan::default(),
            overreach: Overreach::default(),
        };
        for part in parts {
            spec.set(part)?;
        }
        spec.check(spec.capacity.unwrap_or(spec.profile.config.capacity))?;
        Ok(spec)
    }

    fn set(&mut self, part: &str) -> Result<(), TargetError> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let wrong = |problem: String| TargetError::Setting {
            of: EMULATED_DRIVE,
            key: key.to_owned(),
            problem,
        };
        match key {
            "capacity" => self.capacity = Some(quantity(value).map_err(wrong)?),
            "trim-reads" => self.reads = Some(one_of(value, &READS).map_err(wrong)?),
            "trim-promise" => {
                let promises = PROMISES.map(|promise| (promise.id(), promise));
                self.promise = Some(one_of(value, &promises).map_err(wrong)?);
            }
            "freeze-on-discard" => {
                let span = quantity(value).map_err(wrong)?;
                if span > FREEZE_MAX {
                    return Err(wrong(format!(
                        "`{span}` is out of range; give at most {FREEZE_MAX}"
                    )));
                }
                self.faults.freeze_on_discard = span;
            }
            "eio-from" => self.faults.fail_from = Some(instant(value).map_err(wrong)?),
            "vanish-from" => self.faults.vanish_from = Some(instant(value).map_err(wrong)?),
            "trim-eats-neighbour" => self.overreach.behind = eaten(value).map_err(wrong)?,
            "trim-eats-before" => self.overreach.before = eaten(value).map_err(wrong)?,
            "profile-hash" => {
                if value != format!("{:016x}", self.profile_hash) {
                    return Err(TargetError::ProfileChanged { name: self.name.clone() });
                }
            }
            _ => {
                let (of, nearest) = (EMULATED_DRIVE, nearest(key, &SETTINGS));
                return Err(TargetError::UnknownSetting { of, key: key.to_owned(), nearest });
            }
        }
        Ok(())
    }

    /// Checks the numbers, and that the tables fit into memory, without making the drive.
    fn check(&self, capacity: Bytes) -> Result<SsdConfig, TargetError> {
        let own = self.profile.config.clone();
        let contents = ContentsConfig {
            reads: self.reads.unwrap_or(own.contents.reads),
            promise: self.promise.unwrap_or(own.contents.promise),
        };
        let config = SsdConfig { capacity, contents, ..own };
        let name = || self.name.clone();
        config.check().map_err(|error| TargetError::Config { name: name(), error })?;
        let needed = config.memory();
        if let Some(available) = trimbench_linux::available_memory()
            && needed.0 > available.0 / 100 * MEMORY_SHARE
        {
            return Err(TargetError::Memory { capacity, needed, available });
        }
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
        self.capacity.unwrap_or(self.profile.config.capacity)
    }

    /// The hash of the profile's text: what tells two versions of a profile apart.
    pub fn profile_hash(&self) -> u64 {
        self.profile_hash
    }

    /// The capacity of a drive that must hold `needed` bytes: as asked for, else the profile's,
    /// else a quarter more than needed in whole GiB.
    fn capacity_for(&self, needed: Bytes) -> Bytes {
        let own = self.profile.config.capacity;
        match self.capacity {
            Some(capacity) => capacity,
            None if own >= needed => own,
            None => Bytes((needed.0 + needed.0 / 4).next_multiple_of(1 << 30)),
        }
    }

    /// The same drive with this capacity where none was asked for.
    #[must_use]
    pub fn preferring(self, capacity: Option<Bytes>) -> Self {
        Self { capacity: self.capacity.or(capacity), ..self }
    }

    /// The same drive with its capacity settled, so that its text says it.
    #[must_use]
    pub fn settled(mut self, needed: Bytes) -> Self {
        self.capacity = Some(self.capacity_for(needed));
        self
    }

    /// Makes the drive and fills it: every unit written once, in order, then at rest.
    pub fn provision(&self, needed: Bytes) -> Result<ProvisionedDrive, TargetError> {
        let drives = self.drives(needed)?;
        Ok(ProvisionedDrive { target: drives.make(), description: drives.description })
    }

    /// Gets ready to make such drives; see [`Self::provision`].
    pub fn drives(&self, needed: Bytes) -> Result<EmulatedDrives, TargetError> {
        let config = self.check(self.capacity_for(needed))?;
        let identity = self.identity(&config);
        let mut caveats = vec![Caveat::Emulated];
        if self.profile.provenance.fitted > 0 {
            caveats.push(Caveat::Calibrated);
        }
        if self.faults != FaultPlan::default() || self.overreach != Overreach::default() {
            caveats.push(Caveat::PlantedFault);
        }
        let description = Description {
            name: self.profile.name.clone(),
            kind: "emulated",
            identity,
            state: "as handed to the method: purged, then every 4 KiB unit written once in order, \
                    then at rest"
                .to_owned(),
            provenance: Some(self.profile.provenance),
            caveats,
        };
        let capabilities = config.capabilities();
        let (faults, overreach) = (self.faults, self.overreach);
        Ok(EmulatedDrives { config, capabilities, faults, overreach, description })
    }

    fn identity(&self, config: &SsdConfig) -> BTreeMap<String, String> {
        let mode = format!("{:?}", config.trim.mode).to_lowercase();
        BTreeMap::from([
            ("profile".to_owned(), self.name.clone()),
            ("profile-hash".to_owned(), format!("{:016x}", self.profile_hash)),
            ("summary".to_owned(), self.profile.summary.clone()),
            ("capacity".to_owned(), config.capacity.to_string()),
            ("over-provisioning".to_owned(), config.over_provisioning.to_string()),
            ("trim-mode".to_owned(), mode),
            ("trim-reads".to_owned(), reads_name(config.contents.reads).to_owned()),
            ("trim-promise".to_owned(), config.contents.promise.id().to_owned()),
            ("model-version".to_owned(), MODEL_VERSION.to_string()),
        ])
    }
}

impl Drives for EmulatedDrives {
    type Drive = Drive;

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn at_once(&self) -> usize {
        let each = self.config.memory().0.max(1);
        let room = trimbench_linux::available_memory()
            .map_or(u64::MAX, |available| available.0 / 100 * MEMORY_SHARE / each);
        index(room.clamp(1, SIDE_BY_SIDE))
    }

    fn make(&self) -> Drive {
        let mut drive =
            open_drive(self.config.clone(), self.faults).expect("the numbers were checked");
        drive.model_mut().inner_mut().plant_overreach(self.overreach);
        drive
    }
}

impl fmt::Display for EmulatedSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        if let Some(capacity) = self.capacity {
            write!(formatter, ",capacity={capacity}")?;
        }
        if let Some(reads) = self.reads {
            write!(formatter, ",trim-reads={}", reads_name(reads))?;
        }
        if let Some(promise) = self.promise {
            write!(formatter, ",trim-promise={}", promise.id())?;
        }
        if self.faults.freeze_on_discard > Nanos::ZERO {
            write!(formatter, ",freeze-on-discard={}", self.faults.freeze_on_discard)?;
        }
        if let Some(from) = self.faults.fail_from {
            write!(formatter, ",eio-from={}", from.since_start())?;
        }
        if let Some(from) = self.faults.vanish_from {
            write!(formatter, ",vanish-from={}", from.since_start())?;
        }
        let Overreach { before, behind } = self.overreach;
        for (key, eaten) in [("trim-eats-neighbour", behind), ("trim-eats-before", before)] {
            if eaten > Bytes(0) {
                write!(formatter, ",{key}={eaten}")?;
            }
        }
        // A built-in profile is told by the commit, a file by its content.
        if is_file_name(&self.name) {
            write!(formatter, ",profile-hash={:016x}", self.profile_hash)?;
        }
        Ok(())
    }
}

/// Opens an emulated drive of these numbers with these faults: every unit written once, in order,
/// then at rest.
///
/// # Errors
/// A number out of its range.
pub fn open_drive(config: SsdConfig, faults: FaultPlan) -> Result<Drive, ConfigError> {
    let capacity = config.capacity;
    let mut ssd = config.build()?;
    ssd.precondition_sequential(Bytes(0), capacity);
    Ok(Virtual::new(Faulty::new(ssd, faults)))
}

/// The profile of a built-in name or of a file (a name with a `/` or a `.`).
pub fn find_profile(name: &str) -> Result<Profile, TargetError> {
    load(name).map(|(_, profile)| profile)
}

/// A point on the drive's clock.
fn instant(value: &str) -> Result<Instant, String> {
    quantity(value).map(Instant::from_start)
}

/// What a planted fault frees beside a TRIM.
fn eaten(value: &str) -> Result<Bytes, String> {
    let eaten: Bytes = quantity(value)?;
    if eaten > EATEN_MAX || !eaten.0.is_multiple_of(UNIT.0) {
        return Err(format!("`{eaten}` is not a multiple of {UNIT} of at most {EATEN_MAX}"));
    }
    Ok(eaten)
}

/// The name of what reads after TRIM give.
fn reads_name(reads: TrimmedReads) -> &'static str {
    let found = READS.iter().find(|(_, known)| *known == reads);
    found.expect("the table has them all: tested").0
}

/// The text of a profile, and the profile; see [`find_profile`].
fn load(name: &str) -> Result<(String, Profile), TargetError> {
    let text = if let Some(built_in) = BUILT_IN.iter().find(|profile| profile.name == name) {
        built_in.text.to_owned()
    } else if is_file_name(name) {
        read(PathBuf::from(name))?
    } else {
        let names = BUILT_IN.map(|profile| profile.name);
        let nearest = nearest(name, &names);
        return Err(TargetError::UnknownProfile { name: name.to_owned(), nearest });
    };
    let profile = Profile::parse(&text)
        .map_err(|error| TargetError::Profile { name: name.to_owned(), error })?;
    Ok((text, profile))
}

/// Whether a profile's name means a file.
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
    text.map_err(|error| TargetError::Unreadable { path, error })
}
