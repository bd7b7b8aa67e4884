//! Modelled pools: copy-on-write filesystems over several emulated drives of one kind.
//!
//! `raidz2,policy=paced:sim:like-p3500*10`. All drives are alike, and each receives the discards
//! of making the pool.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use trimbench_claim::Consent;
use trimbench_core::fault::Faulty;
use trimbench_core::nearest::{did_you_mean, meant};
use trimbench_core::rng::Rng;
use trimbench_core::settings::{
    FromSettings as _, IfUnset, Setting, ValueKind, ValueProblem, Values, checked, default_to,
    one_of, optional, parsed, within,
};
use trimbench_core::{
    Bytes, Capabilities, DiscardMode, FileCommand, Files, FilesystemSpec, Instant, Model as _,
    Nanos, ProvisionError, Provisioner, Storage as _, Target, Virtual, settings,
};
use trimbench_fs::{Pool, PoolConfig, TrimManner};
use trimbench_policy::{Choice, PolicyError};
use trimbench_ssd::{Ssd, TrimMode};

use super::emulated::{EmulatedDrive, EmulatedSpec};
use super::modelled::{TAG, await_one, failed, not_made, outlook, prepare, rest};
use super::{Reading, TargetKind, TargetKindInfo};
use crate::description::{Description, Provisioned};
use crate::error::{KindProblem, TargetError};
use crate::opened::{OpenTarget, Opening};
use crate::options::{self, EMULATED};
use crate::outlook::TargetOutlook;

#[cfg(test)]
mod tests;

const OF: &str = "the modelled pool";
const MANNERS: &[(&str, TrimManner)] = &[
    ("zfs-autotrim", TrimManner::ZfsAutotrim),
    ("zfs-trim", TrimManner::ZfsTrim),
    ("freebsd-2017", TrimManner::FreeBsd2017),
    ("freebsd-2013", TrimManner::FreeBsd2013),
];
/// What manners were called before each had the name of its system.
const FORMER_MANNERS: [(&str, &str); 2] =
    [("freebsd", "freebsd-2017"), ("openzfs", "zfs-autotrim")];
/// What a pool's policy was called where its system alone decided.
const ALONE: &str = "online";
const DRIVES_MAX: usize = 64;

/// Time between the pool's groups of changes, at scale 1 (`zfs_txg_timeout`).
const GROUP: Nanos = Nanos::from_secs(5);
/// Discards that are in a drive's queue at once (`docs/model/pool.md`).
const QUEUE: u64 = 64;
/// Waits for such a queue that a group must be longer than.
const WAITS: u64 = 4;

/// Modelled pools.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "pool",
    forms: &[[
        "`raidz2:sim:NAME*10`",
        "a modelled pool on ten emulated drives; also `raidz1`, `raidz3`, `stripe`",
    ]],
    names: &["stripe", "raidz1", "raidz2", "raidz3"],
    hint: Some(["pools", ":sim:NAME*10"]),
    reading: Reading::OverDrives(|text, capacity| {
        let drive = text.below.strip_prefix(EMULATED);
        let drive =
            drive.ok_or_else(|| PoolProblem::NotOnDevices { name: text.name.to_owned() })?;
        Ok(Some(Arc::new(PoolSpec::parse((text.name, text.settings), drive, capacity)?)))
    }),
};

settings! {
    /// The settings that may follow its name.
    #[derive(Clone, Debug)]
    struct PoolSettings(values) {
        /// trim policy, with `+` instead of commas; without it the system of `manner` alone decides
        policy: Option<Choice> = "policy", IfUnset::Absent,
            optional(parsed("a trim policy", policy));
        /// {}: the system that sends the discards to the drives
        manner: TrimManner = "manner", default_to("freebsd-2017"), manners();
        /// bytes a second that `zfs-trim` discards on each drive, {}; 0: no limit
        trim_rate: Option<Bytes> = "trim-rate", IfUnset::Absent,
            optional(within(Bytes(0), Bytes::gib(1 << 10)));
        /// divisor for the pool's own times and amounts, {}
        scale: u32 = "scale", default_to("1"), within(1, 512);
        /// processor time of each KiB written, {}
        write_kib: Option<Nanos> = "write-kib", IfUnset::Absent,
            optional(within(Nanos::ZERO, Nanos::from_millis(1)));
        /// processor time of each KiB read
        read_kib: Option<Nanos> = "read-kib", IfUnset::Absent,
            optional(within(Nanos::ZERO, Nanos::from_millis(1)));
    } with {
        values: Values = values.clone();
    }
}

/// Why a pool cannot be had.
#[derive(Debug, thiserror::Error)]
enum PoolProblem {
    #[error(
        "`scale={scale}` is too much for this drive: a group of the pool would last {group}, and a \
         queue of {queue} in the drive would count as a stall of the pool"
    )]
    Scale { scale: u32, most: u32, queue: Nanos, group: Nanos },
    #[error("{name} is a model, and can be made on emulated drives only")]
    NotOnDevices { name: String },
}

impl KindProblem for PoolProblem {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Scale { most, .. } => {
                format!("give `scale={most}` or less, or a drive with faster TRIMs")
            }
            Self::NotOnDevices { .. } => "write for example `raidz2:sim:NAME*10`".to_owned(),
        })
    }
}

/// A comma would end the setting.
fn policy(text: &str) -> Result<Choice, ValueProblem> {
    let choice: Result<Choice, PolicyError> = text.replace('+', ",").parse();
    match choice {
        Ok(choice) if choice.own_path().is_some() => {
            let problem = "is what an ext4 does by itself; `manner` is the pool's system";
            Err(ValueProblem(format!("`{text}` {problem}")))
        }
        Err(_) if text == ALONE => Err(ValueProblem(format!(
            "`{ALONE}` is no policy any more: without `policy`, `manner` decides alone"
        ))),
        Err(error) => Err(error.to_string().into()),
        Ok(choice) => Ok(choice),
    }
}

/// A manner; of another word, the name that is nearest.
fn manners() -> ValueKind<TrimManner> {
    checked(parsed(&one_of(MANNERS).range, |text| Ok(text.to_owned())), |text: String| {
        one_of(MANNERS).read(&text).map_err(|problem| {
            let names = MANNERS.iter().map(|(name, _)| *name);
            let meant = did_you_mean(meant(&text, &FORMER_MANNERS, names));
            ValueProblem(format!("{problem}{meant}"))
        })
    })
}

/// Refuses a scale at which the wait for a drive's queue counts as a stall of the pool: a group
/// must be several such waits long. A drive whose TRIM blocks holds up everything by itself, at any
/// scale.
fn check_scale(scale: u32, drive: &EmulatedSpec) -> Result<(), PoolProblem> {
    let trim = &drive.profile().config.trim;
    let occupies = matches!(trim.mode, TrimMode::Queued | TrimMode::Background);
    let queue = (trim.command + trim.range).times(QUEUE);
    let most = GROUP.0 / queue.times(WAITS).0.max(1);
    if scale == 1 || !occupies || u64::from(scale) <= most {
        return Ok(());
    }
    let most = u32::try_from(most.max(1)).unwrap_or(u32::MAX);
    Err(PoolProblem::Scale { scale, most, queue, group: Nanos(GROUP.0 / u64::from(scale)) })
}

/// A modelled pool and its drives, not yet made.
#[derive(Clone, Debug)]
struct PoolSpec {
    name: String,
    parity: u32,
    settings: PoolSettings,
    drive: EmulatedSpec,
    drives: usize,
}

impl PoolSpec {
    /// Reads a pool's name and its settings, and `NAME[,key=value]...*COUNT` below it.
    fn parse(
        (name, settings): (&str, Option<&str>),
        below: &str,
        capacity: Option<Bytes>,
    ) -> Result<Self, TargetError> {
        let (drive, count) = match below.rsplit_once('*') {
            Some((drive, count)) => (drive, count.parse().ok()),
            None => (below, Some(1)),
        };
        let parity = match name {
            "raidz1" => 1,
            "raidz2" => 2,
            "raidz3" => 3,
            _ => 0,
        };
        let least = parity as usize + 1;
        let drives = count.filter(|count| (least..=DRIVES_MAX).contains(count));
        let rows = PoolSettings::rows();
        let values = options::settings(OF, &rows, settings)?;
        let drives = drives.ok_or_else(|| {
            let right =
                format!("write for example `{name}:sim:NAME*10`, of {least} to {DRIVES_MAX}");
            values.wrong("drives", right)
        })?;
        let settings = PoolSettings::read(&values)?;
        if settings.trim_rate.is_some() && settings.manner != TrimManner::ZfsTrim {
            let right = "it is the rate of `zpool trim`: give `manner=zfs-trim` with it".to_owned();
            return Err(values.wrong("trim-rate", right).into());
        }
        let drive = EmulatedSpec::parse(drive, capacity)?;
        drive.below_filesystem("a pool")?;
        check_scale(settings.scale, &drive)?;
        Ok(Self { name: name.to_owned(), parity, settings, drive, drives })
    }

    /// Drives less those of parity.
    fn data_drives(&self) -> u64 {
        self.drives as u64 - u64::from(self.parity)
    }

    fn config(&self) -> PoolConfig {
        let PoolSettings { policy, manner, trim_rate, scale, write_kib, read_kib, .. } =
            &self.settings;
        let mut config = PoolConfig::new(*manner).scaled(*scale);
        config.parity = self.parity;
        config.policy.clone_from(policy);
        config.trim_rate = trim_rate.unwrap_or(config.trim_rate);
        config.cpu.write_kib = write_kib.unwrap_or(config.cpu.write_kib);
        config.cpu.read_kib = read_kib.unwrap_or(config.cpu.read_kib);
        config
    }

    /// What a drive must hold of so many bytes: its share with parity and padding, and a tenth for
    /// metadata and what is always free.
    fn share(&self, needed: Bytes) -> Bytes {
        let share = needed.0 / self.data_drives();
        Bytes(share + share / 5 + Bytes::mib(64).0)
    }

    /// Makes the drives and fills each, as [`EmulatedSpec::provision`] does; what is random comes
    /// from `seed`.
    fn provision(
        &self,
        needed: Bytes,
        seed: u64,
    ) -> Result<Provisioned<ModelledPools>, TargetError> {
        let share = self.share(needed);
        let made = (0..self.drives).map(|_| self.drive.provision(share));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let now = made[0].target.now();
        let of_one = made[0].description.clone();
        let devices = made.into_iter().map(|drive| drive.target.into_model()).collect();
        // For its room, and to see whether it can be made at all.
        let first = Pool::make(self.config(), devices)?;
        let capabilities = first.capabilities().clone();
        let Description { mut identity, caveats, provenance, calibrated_through, name, .. } =
            of_one;
        identity.insert("filesystem".to_owned(), format!("{}, modelled", self.name));
        identity.insert("drives".to_owned(), self.drives.to_string());
        identity.extend(self.describe_config());
        let description = Description {
            name: format!("{} on {} x {name}", self.name, self.drives),
            kind: "filesystem",
            identity,
            state: "each pool made anew by the method; before the first, every drive was purged \
                    and every 4 KiB unit written once in order. Of the processor times those for \
                    data are fitted to [S3], the others assumed"
                .to_owned(),
            provenance,
            calibrated_through,
            caveats,
        };
        let drives = first.into_devices();
        let drives = drives.into_iter().map(|model| Virtual::starting_at(now, model)).collect();
        let rng = Rng::new(seed).split("start-state");
        let config = self.config();
        let target = ModelledPools { config, capabilities, rng, drives, mounted: None };
        Ok(Provisioned { target, description })
    }

    fn describe_config(&self) -> BTreeMap<String, String> {
        let config = self.config();
        let manner = one_of(MANNERS).show(&self.settings.manner);
        let rate = self.settings.trim_rate.map(|rate| ("trim-rate", rate.to_string()));
        let policy = config.policy.map(|policy| ("policy", policy.to_string()));
        let settings = [
            ("manner", manner.expect("every manner has a name")),
            ("scale", self.settings.scale.to_string()),
            ("write-kib", config.cpu.write_kib.to_string()),
            ("read-kib", config.cpu.read_kib.to_string()),
        ];
        let settings = settings.into_iter().chain(policy).chain(rate);
        settings.map(|(key, value)| (format!("pool-{key}"), value)).collect()
    }
}

impl TargetKind for PoolSpec {
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        Ok(OpenTarget::modelled(self.provision(opening.space, opening.seed)?))
    }

    /// What its drives hold beside parity is more than its files may take.
    fn outlook(&self, _: &Consent) -> Result<TargetOutlook, TargetError> {
        let room = Bytes(self.drive.capacity().0 * self.data_drives());
        Ok(TargetOutlook { holder: "the room for them", ..outlook(room) })
    }

    fn is_filesystem(&self) -> bool {
        true
    }

    fn emulated_drive(&self) -> Option<&EmulatedSpec> {
        Some(&self.drive)
    }

    fn memory(&self) -> Bytes {
        Bytes(self.drive.memory().0.saturating_mul(self.drives as u64))
    }

    fn sized_for(&self, _own: Option<Bytes>, space: Bytes) -> Option<Arc<dyn TargetKind>> {
        let drive = self.drive.clone().settled(self.share(space));
        Some(Arc::new(Self { drive, ..self.clone() }))
    }

    /// Without the padding of small records and without metadata.
    fn with_parity(&self, files: Bytes) -> Option<(Bytes, usize)> {
        let drives = u128::from(self.drives as u64);
        let whole = (u128::from(files.0) * drives).div_ceil(u128::from(self.data_drives()));
        Some((Bytes(u64::try_from(whole).unwrap_or(u64::MAX)), self.drives))
    }
}

impl fmt::Display for PoolSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        let text = |row: Setting| Some((row.key, self.settings.values.text(row.key)?.to_owned()));
        let given = PoolSettings::rows().into_iter().filter_map(text);
        options::write_settings(formatter, given)?;
        write!(formatter, ":{}*{}", self.drive, self.drives)
    }
}

/// Makes modelled pools on the same emulated drives.
#[derive(Debug)]
struct ModelledPools {
    config: PoolConfig,
    capabilities: Capabilities,
    /// Of start states.
    rng: Rng,
    /// While no pool is on them.
    drives: Vec<EmulatedDrive>,
    mounted: Option<Virtual<Pool<Faulty<Ssd>>>>,
}

impl ModelledPools {
    fn policy(&self, wish: &FilesystemSpec) -> Result<Option<Choice>, ProvisionError> {
        if wish.discard_max.is_some() {
            return Err(failed("make", "a pool has no block layer to set".to_owned()));
        }
        let text = match &wish.discard {
            DiscardMode::Off => "none",
            DiscardMode::Online => return Ok(self.config.policy.clone()),
            DiscardMode::Policy(text) => text,
            DiscardMode::As(system) => {
                let reason = format!("a pool does not discard as `{system}`");
                return Err(failed("make", reason));
            }
        };
        let choice: Choice = text.parse().map_err(not_made)?;
        if choice.own_path().is_some() {
            return Err(not_made(PolicyError::OwnPath { policy: choice.info().id }));
        }
        Ok(Some(choice))
    }
}

impl Provisioner for ModelledPools {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn check(&self, wish: &FilesystemSpec) -> Result<(), ProvisionError> {
        self.policy(wish).map(|_| ())
    }

    fn make(&mut self, wish: &FilesystemSpec) -> Result<(), ProvisionError> {
        let policy = self.policy(wish)?;
        if self.mounted.is_some() {
            self.unmount()?;
        }
        if self.drives.is_empty() {
            let gone = "an earlier one failed and took the drives with it".to_owned();
            return Err(failed("make", gone));
        }
        let mut drives = std::mem::take(&mut self.drives);
        for drive in &mut drives {
            prepare(drive, wish, &self.rng)?;
        }
        let now = drives.iter().map(Target::now).max().unwrap_or(Instant::START);
        for drive in &mut drives {
            rest(drive, now);
        }
        let devices = drives.into_iter().map(Virtual::into_model).collect();
        let config = PoolConfig { policy, ..self.config.clone() };
        let made = Pool::make(config, devices).map_err(not_made)?;
        self.mounted = Some(Virtual::starting_at(now, made));
        Ok(())
    }

    fn files(&mut self) -> &mut Files<'_> {
        self.mounted.as_mut().expect("a pool was made and is mounted")
    }

    /// Everything is synced, discards that wait are given up, those under way end.
    fn unmount(&mut self) -> Result<Nanos, ProvisionError> {
        let files = self.mounted.as_mut().expect("a pool was made and is mounted");
        let begin = files.now();
        files
            .submit(TAG, FileCommand::SyncFilesystem)
            .map_err(|rejected| failed("unmount", rejected.to_string()))?;
        await_one(files).map_err(|errno| failed("unmount", errno.to_string()))?;
        files.model_mut().give_up_discards();
        while files.model().is_busy() {
            let next = files.model().next_event();
            files.reap(next, &mut Vec::new());
        }
        let end = files.now();
        let pool = self.mounted.take().expect("it was there a moment ago");
        let drives = pool.into_model().into_devices();
        self.drives = drives.into_iter().map(|model| Virtual::starting_at(end, model)).collect();
        Ok(end - begin)
    }
}
