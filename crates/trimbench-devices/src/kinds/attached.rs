//! Emulated drives behind a loop device: made for the run, measured through the kernel like a block
//! device, and gone afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;

use trimbench_attach::{DriveInquiry, DriveProcess, DriveProcessError, Statistics};
use trimbench_claim::{Consent, OwnDevice, OwnDeviceError, OwnDeviceGuard};
use trimbench_core::settings::{FromSettings as _, IfUnset, optional, within};
use trimbench_core::{
    Bytes, Capabilities, Caveat, Clock, DriveError, PurgeMeans, Rejected, TrimPromise, Wear,
    settings,
};
use trimbench_linux::passthrough::PurgeChoice;
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget, Purger};
use trimbench_ssd::Profile;

use super::device::discard_words;
use super::emulated::EmulatedSpec;
use super::{NamedText, Reading, TargetKind, TargetKindInfo};
use crate::attached::AttachedTarget;
use crate::description::Description;
use crate::error::{KindProblem, Problem, TargetError};
use crate::opened::{Form, OpenTarget, Opening, TargetGuard};
use crate::options::{self, EMULATED};
use crate::outlook::{TargetOutlook, ideal_device};

/// What it is called on the command line.
const ATTACHED: &str = "attach";
const OF: &str = "an attached drive";

/// Emulated drives behind a loop device.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "attach",
    forms: &[
        [
            "`attach:NAME`",
            "an emulated drive behind a loop device, measured through the real kernel: made for \
             the run, and gone afterwards. Nothing is destroyed",
        ],
        ["`ext4:attach:NAME`", "a real filesystem on such a drive; also `xfs`, `btrfs`, `f2fs`"],
    ],
    names: &[ATTACHED],
    hint: Some(["attached drives", ":NAME"]),
    reading: Reading::OverProfile(|text, capacity| {
        Ok(Some(Arc::new(AttachedSpec::parse(text, capacity)?)))
    }),
};

settings! {
    /// The settings that may follow `attach`.
    struct AttachedSettings(values) {
        /// how often the drive's time runs slower than the machine's, {}
        slow_down: Option<u32> = "slow-down", IfUnset::Absent, optional(within(1, 1_000_000));
    }
}

/// An emulated drive that is to be attached.
#[derive(Clone, Debug)]
pub(super) struct AttachedSpec {
    drive: EmulatedSpec,
    slow_down: u32,
}

impl AttachedSpec {
    /// Reads what is behind a layer's name, if it is such a drive.
    pub(super) fn below(text: &str, capacity: Option<Bytes>) -> Result<Option<Self>, TargetError> {
        let text = NamedText::of(text).filter(|text| text.name == ATTACHED);
        text.map(|text| Self::parse(&text, capacity)).transpose()
    }

    fn parse(text: &NamedText<'_>, capacity: Option<Bytes>) -> Result<Self, TargetError> {
        let values = options::settings(OF, &AttachedSettings::rows(), text.settings)?;
        let AttachedSettings { slow_down } = AttachedSettings::read(&values)?;
        // As a drive is named elsewhere.
        let profile = text.below.strip_prefix(EMULATED).unwrap_or(text.below);
        let drive = EmulatedSpec::parse(profile, capacity)?;
        if let Some(key) = drive.of_virtual_time() {
            return Err(OfTheModel { key }.into());
        }
        Ok(Self { drive, slow_down: slow_down.unwrap_or(1) })
    }

    /// The same with its capacity settled.
    pub(super) fn settled(&self, own: Option<Bytes>, space: Bytes) -> Self {
        let drive = self.drive.clone().preferring(own).settled(space);
        Self { drive, ..self.clone() }
    }

    pub(super) fn capacity(&self) -> Bytes {
        self.drive.capacity()
    }

    /// Memory of the tables, and of all that can be written.
    pub(super) fn memory(&self) -> Bytes {
        self.drive.memory() + self.drive.contents_memory()
    }

    /// What is known of it, or of filesystems on it.
    pub(super) fn outlook_as(
        &self,
        ideal: fn(Bytes, Clock) -> Capabilities,
        privileges: &'static str,
    ) -> TargetOutlook {
        let capacity = self.capacity();
        let destroys = "nothing: the drive is made for the run";
        let refused = |error: TargetError| (error.to_string(), error.hint().unwrap_or_default());
        TargetOutlook {
            capacity: Some(capacity),
            refusal: self.check().err().map(refused),
            ..TargetOutlook::new(ideal(capacity, Clock::Wall), destroys, privileges)
        }
    }

    fn check(&self) -> Result<(), TargetError> {
        if !rustix::process::geteuid().is_root() {
            return Err(AttachProblem::NotRoot.into());
        }
        for (path, what, module) in
            [("/dev/fuse", "FUSE", "fuse"), ("/dev/loop-control", "loop devices", "loop")]
        {
            if !Path::new(path).exists() {
                return Err(AttachProblem::Lacking { path, what, module }.into());
            }
        }
        self.drive.check_contents()
    }

    /// Attaches it.
    pub(super) fn attach(&self, opening: &Opening<'_>) -> Result<AttachedTarget, TargetError> {
        self.check()?;
        let server = opening.drive_server.ok_or(AttachProblem::NoServer)?;
        let mut command = Command::new(server);
        command.arg(ATTACHED).arg(self.drive.to_string());
        command.arg("--slow-down").arg(self.slow_down.to_string());
        let process = DriveProcess::start(command).map_err(AttachProblem::NotServed)?;
        Ok(AttachedTarget::new(process))
    }

    /// A copy of the open device, and its node.
    pub(super) fn shared(attached: &AttachedTarget) -> Result<(OwnedFd, PathBuf), TargetError> {
        let shared = attached.shared().map_err(DriveProcessError::from);
        Ok(shared.map_err(AttachProblem::NotServed)?)
    }

    /// What it is, for the record: nothing that differs from one run to the next.
    pub(super) fn identity(&self) -> BTreeMap<String, String> {
        let mut identity = self.drive.attached_identity();
        let mut add = |key: &str, text: String| {
            identity.insert(key.to_owned(), text);
        };
        add("kind", "emulated drive behind a loop device".to_owned());
        add("transport", "FUSE and a loop device of the kernel, one discard at a time".to_owned());
        add("discarded-blocks", "read as zeroes, by the loop device".to_owned());
        add("slow-down", self.slow_down.to_string());
        add("contents", "in memory".to_owned());
        identity
    }

    /// The limits of all that is measured on it.
    pub(super) fn caveats(&self) -> Vec<Caveat> {
        let all = [Caveat::AttachedDrive, Caveat::NotAPhysicalSsd];
        all.into_iter().chain(self.drive.caveats()).collect()
    }

    /// How it is called in reports.
    pub(super) fn name(&self) -> String {
        let name = &self.drive.profile().name;
        match self.slow_down {
            1 => format!("attached {name}"),
            times => format!("attached {name}, {times} times slower"),
        }
    }

    pub(super) fn profile(&self) -> &Profile {
        self.drive.profile()
    }

    /// What it is, and in which condition.
    fn description(&self, target: &BlockTarget) -> Description {
        let mut identity = self.identity();
        identity.insert("purged-by".to_owned(), PurgeMeans::Trim.id().to_owned());
        let words = discard_words(target);
        Description {
            name: self.name(),
            kind: "device",
            identity,
            state: format!("an emulated drive that was never written; {words}"),
            provenance: Some(self.drive.profile().provenance),
            calibrated_through: self.drive.profile().calibrated_through.clone(),
            caveats: self.caveats(),
        }
    }
}

impl TargetKind for AttachedSpec {
    /// Attaches it, and opens the device for this run alone.
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        if let PurgeChoice::Means(means) = opening.purge {
            let reason = "an attached drive has no purge of its own".to_owned();
            return Err(Problem::Purge { means: means.id(), reason }.into());
        }
        let attached = self.attach(opening)?;
        let node = attached.node().to_owned();
        let unusable = |error| Problem::Block { path: node.clone(), error };
        let own = OwnDevice::over(attached.device()).map_err(AttachProblem::Device)?;
        let (file, guard) = own.into_parts();
        let guard = Rc::new(guard);
        let looking = Rc::clone(&guard);
        let options = BlockOptions {
            seed: opening.seed,
            first_write: Some(Box::new(move || {
                looking.check().map_err(|error| Rejected::Refused { reason: error.to_string() })
            })),
            purger: Some(Box::new(AttachedPurger { inquiry: attached.inquiry() })),
            ..BlockOptions::default()
        };
        let medium = BlockMedium::of(file).map_err(unusable)?;
        let target = BlockTarget::new(medium.clone(), options).map_err(unusable)?;
        let description = self.description(&target);
        let read_environment = move || medium.environment();
        Ok(OpenTarget {
            environment: read_environment(),
            read_environment: Box::new(read_environment),
            guard: Some(guard as Rc<dyn TargetGuard>),
            attached: Some(attached),
            ..OpenTarget::new(Form::Device(target), description)
        })
    }

    fn outlook(&self, _: &Consent) -> Result<TargetOutlook, TargetError> {
        Ok(self.outlook_as(ideal_device, "root: for FUSE and a loop device"))
    }

    fn memory(&self) -> Bytes {
        AttachedSpec::memory(self)
    }

    fn sized_for(&self, own: Option<Bytes>, space: Bytes) -> Option<Arc<dyn TargetKind>> {
        Some(Arc::new(self.settled(own, space)))
    }
}

impl fmt::Display for AttachedSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(ATTACHED)?;
        if self.slow_down > 1 {
            write!(formatter, ",slow-down={}", self.slow_down)?;
        }
        let drive = self.drive.to_string();
        write!(formatter, ":{}", drive.strip_prefix(EMULATED).unwrap_or(&drive))
    }
}

/// What the model counts of its wear. It is purged by TRIM.
#[derive(Debug)]
struct AttachedPurger {
    inquiry: DriveInquiry,
}

impl Purger for AttachedPurger {
    fn means(&self) -> PurgeMeans {
        PurgeMeans::Trim
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        let reason = "it is purged by TRIM".to_owned();
        Err(DriveError::Refused { operation: "purge", reason })
    }

    fn wear(&mut self) -> Option<Wear> {
        let Statistics { host_written, media_written, .. } = self.inquiry.statistics()?;
        Some(Wear { host_written: Bytes(host_written), media_written: Bytes(media_written) })
    }

    /// The loop device's, whatever the profile promises.
    fn promise(&self) -> TrimPromise {
        TrimPromise::Zeroes
    }
}

impl TargetGuard for OwnDeviceGuard {
    fn check_descriptor(&self) -> Result<(), TargetError> {
        Ok(self.check().map_err(AttachProblem::Device)?)
    }

    fn check(&self) -> Result<(), TargetError> {
        Ok(OwnDeviceGuard::check(self).map_err(AttachProblem::Device)?)
    }
}

/// A setting that has no meaning where the kernel is a real one.
#[derive(Debug, thiserror::Error)]
#[error("`{key}` is a setting of models in virtual time: an attached drive has the kernel's own")]
struct OfTheModel {
    key: &'static str,
}

impl KindProblem for OfTheModel {}

/// Why a drive is not attached.
#[derive(Debug, thiserror::Error)]
enum AttachProblem {
    #[error("only root may attach a drive: it is a block device of the kernel")]
    NotRoot,
    #[error("there is no `{path}`: the drive takes {what}")]
    Lacking { path: &'static str, what: &'static str, module: &'static str },
    #[error("this program cannot start a process that serves a drive")]
    NoServer,
    #[error("the drive cannot be attached: {0}")]
    NotServed(#[source] DriveProcessError),
    #[error(transparent)]
    Device(OwnDeviceError),
}

impl KindProblem for AttachProblem {
    fn is_usage(&self) -> bool {
        false
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotRoot => {
                "run it by `sudo`, or take the drive in virtual time: `sim:NAME`".into()
            }
            Self::Lacking { path, module, .. } => {
                format!("`modprobe {module}`; in a container, give it `{path}`")
            }
            Self::NoServer => "run it by the `trimbench` program".to_owned(),
            Self::NotServed(_) => {
                "`trimbench attach NAME` shows whether one can be attached".into()
            }
            Self::Device(_) => "end what uses the loop device, then measure again".to_owned(),
        })
    }
}
