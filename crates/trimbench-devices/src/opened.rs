//! Opens a target of any kind from its text, describes it, and closes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use trimbench_claim::Consent;
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::{Bytes, Capabilities, Drives, Interrupt, Opened, Provisioner, Storage as _};
use trimbench_linux::passthrough::{DriveHeat, LogOptions, drive_log_facts};
use trimbench_linux::{BlockTarget, DirectoryTarget, MemoryLimit};

use crate::PurgeChoice;
use crate::attached::{AnswerTimes, AttachedTarget};
use crate::description::{Description, Provisioned};
use crate::error::TargetError;

/// What it takes to open a target, beside its text.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// What may be destroyed.
    pub consent: &'a Consent,
    /// How a block device is purged.
    pub purge: PurgeChoice,
    /// Makes everything random.
    pub seed: u64,
    /// The least room that the target must have.
    pub space: Bytes,
    /// What the run and its page cache are to be limited to, on filesystems whose target does not
    /// say it.
    pub memory: Option<Bytes>,
    /// The program that serves a drive which is to be attached, as `PROGRAM attach NAME`; `None`
    /// where there is none.
    pub drive_server: Option<&'a Path>,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
}

/// What methods get of it.
pub(crate) enum Form {
    /// Emulated drives, made one by one.
    Drives(Box<dyn Drives>),
    /// Filesystems, real or modelled, made one by one.
    Filesystems(Box<dyn Provisioner>),
    Directory(DirectoryTarget),
    Device(BlockTarget),
}

/// Keeps what is measured for us, and tells whether it is still ours alone.
pub(crate) trait TargetGuard {
    /// Between two measurements: asks nobody else.
    fn check_descriptor(&self) -> Result<(), TargetError>;

    /// When all is measured: asks everybody.
    fn check(&self) -> Result<(), TargetError>;
}

/// A target that is ready to be measured.
#[expect(missing_debug_implementations, reason = "what reads the environment has none")]
pub struct OpenTarget {
    pub(crate) form: Form,
    /// What it is.
    pub description: Description,
    /// The machine's settings, read before anything was measured; empty if it is emulated.
    pub environment: BTreeMap<String, String>,
    /// What the user should know about how it was opened.
    pub notes: Vec<String>,
    /// Reads the machine's settings; what can no longer be read is left out.
    pub(crate) read_environment: Box<dyn Fn() -> BTreeMap<String, String>>,
    /// The drives that it stands on in the end; none if it is emulated.
    pub(crate) drives: Vec<BlockDevice>,
    /// Keeps a block device or an image file for us.
    pub(crate) guard: Option<Rc<dyn TargetGuard>>,
    /// The drive that was attached for it. Detached when nothing of ours uses it any more.
    pub(crate) attached: Option<AttachedTarget>,
    /// Of this process. Given back last, when nothing of ours is cached any more.
    pub(crate) limit: Option<MemoryLimit>,
}

/// Tells whether a target is still the one that was opened.
pub type Watch = Box<dyn Fn() -> Result<(), TargetError>>;

impl OpenTarget {
    /// A target that is no part of this machine.
    pub(crate) fn new(form: Form, description: Description) -> Self {
        Self {
            form,
            description,
            environment: BTreeMap::new(),
            notes: Vec::new(),
            read_environment: Box::new(BTreeMap::new),
            drives: Vec::new(),
            guard: None,
            attached: None,
            limit: None,
        }
    }

    /// Filesystems that are models.
    pub(crate) fn modelled<P: Provisioner + 'static>(made: Provisioned<P>) -> Self {
        Self::new(Form::Filesystems(Box::new(made.target)), made.description)
    }

    /// Whether its filesystem has free space, and no inode for another file.
    pub fn has_no_inodes(&self) -> bool {
        match &self.form {
            Form::Directory(directory) => DirectoryTarget::has_no_inodes(directory.path()),
            _ => false,
        }
    }

    /// What the target says of itself.
    pub fn capabilities(&self) -> &Capabilities {
        match &self.form {
            Form::Drives(drives) => drives.capabilities(),
            Form::Filesystems(filesystems) => filesystems.capabilities(),
            Form::Directory(directory) => directory.capabilities(),
            Form::Device(device) => device.capabilities(),
        }
    }

    /// What methods are run on.
    pub fn opened(&mut self) -> Opened<'_> {
        match &mut self.form {
            Form::Drives(drives) => Opened::Drives(&**drives),
            Form::Filesystems(filesystems) => Opened::Filesystems(&mut **filesystems),
            Form::Directory(directory) => Opened::Directory(directory),
            Form::Device(device) => Opened::Device(device),
        }
    }

    /// Tells between measurements whether a block device or an image file is still what was
    /// claimed, and as large; `None` for other targets.
    pub fn watch(&self) -> Option<Watch> {
        let guard = Rc::clone(self.guard.as_ref()?);
        Some(Box::new(move || guard.check_descriptor()))
    }

    /// What its drives say of themselves, as facts for the record.
    pub fn drive_logs(&self) -> BTreeMap<String, String> {
        drive_log_facts(&self.drives, LogOptions::default())
    }

    /// Asks its drives how hot they are; `None` where it has none.
    pub fn heat(&self) -> Option<Box<dyn Fn() -> DriveHeat>> {
        let drives = self.drives.clone();
        (!drives.is_empty()).then(|| Box::new(move || DriveHeat::of(&drives)) as Box<_>)
    }

    /// Tells how late an attached drive answers; `None` of all others.
    pub fn answer_times(&self) -> Option<AnswerTimes> {
        self.attached.as_ref().map(AttachedTarget::answer_times)
    }

    /// Whether a block device or an image file is still what was claimed, as large as it was, and
    /// nobody else's.
    pub fn still_same(&self) -> Result<(), TargetError> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.check())
    }

    /// Gives the target back; what was made in a directory is removed. The machine's settings after
    /// all was measured, and whether everything is as it was.
    pub fn close(self) -> (BTreeMap<String, String>, Result<(), TargetError>) {
        let logs = self.drive_logs();
        let Self { form, read_environment, limit, .. } = self;
        let closed = match form {
            Form::Directory(directory) => directory.close().map_err(TargetError::from),
            _ => Ok(()),
        };
        let mut environment = read_environment();
        environment.extend(logs);
        drop(limit);
        (environment, closed)
    }
}
