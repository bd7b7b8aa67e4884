//! What the service is to trim, as it is mounted just now.

use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{Mount, own_mounts};
use trimbench_core::reason;

use crate::config::{Config, MountConfig, MountSettings, PauseRules};
use crate::hindrance::hindrance;
use crate::pass::is_read_only;
use crate::selection::{ChosenMount, SelectionError, WhichMounts, no_trim, select};
use crate::status::Activity;

const TABLE: &str = "/proc/self/mountinfo";
/// Where fstrim.timer looks, in this order.
const LISTS: [&str; 2] = ["/etc/fstab", TABLE];

/// A mount that is to be trimmed.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) settings: MountSettings,
    /// It, or why it cannot be trimmed.
    pub(super) found: Result<Mount, Unfit>,
}

/// Why a mount cannot be trimmed now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    NotMounted,
    /// Nothing is wrong with that.
    Excluded(String),
    Wrong(String),
}

/// The targets of a configuration that names none: found anew when the mount table has changed.
#[derive(Debug, Default)]
pub(super) struct TargetList {
    listed: Option<(Vec<u8>, Vec<Target>)>,
}

impl Unfit {
    pub(super) fn clause(&self) -> String {
        match self {
            Self::NotMounted => "it is not mounted".to_owned(),
            Self::Excluded(why) | Self::Wrong(why) => why.clone(),
        }
    }

    pub(super) fn activity(&self) -> Activity {
        match self {
            Self::NotMounted => Activity::Absent,
            Self::Excluded(why) => Activity::Unsupported { because: why.clone() },
            Self::Wrong(why) => Activity::Failing { because: why.clone() },
        }
    }
}

impl TargetList {
    /// All targets. Nothing is kept open, and of named ones nothing is opened.
    ///
    /// # Errors
    /// The file that cannot be read, and why.
    pub(super) fn look(&mut self, config: &Config) -> Result<Vec<Target>, (PathBuf, String)> {
        if !config.mounts.is_empty() {
            return named(&config.mounts);
        }
        let table = std::fs::read(TABLE).map_err(|error| (TABLE.into(), reason(&error)))?;
        if let Some((seen, targets)) = &self.listed
            && *seen == table
        {
            return Ok(targets.clone());
        }
        let which = WhichMounts::ListedIn(LISTS.map(PathBuf::from).to_vec());
        let selection =
            select(&which, None).map_err(|error| (PathBuf::from(LISTS[0]), error.to_string()))?;
        let target = |chosen: ChosenMount| Target {
            path: chosen.mount.mount_point.clone(),
            settings: config.defaults,
            found: Ok(chosen.mount),
        };
        let targets: Vec<Target> = selection.chosen.into_iter().map(target).collect();
        self.listed = Some((table, targets.clone()));
        Ok(targets)
    }
}

fn named(mounts: &[MountConfig]) -> Result<Vec<Target>, (PathBuf, String)> {
    let table = own_mounts().map_err(|error| (TABLE.into(), error.to_string()))?;
    let marked = no_trim().map_err(|error| (LISTS[0].into(), error.to_string()))?;
    let target = |wanted: &MountConfig| {
        let path = wanted.path.clone();
        let mount = table.iter().rfind(|mount| mount.mount_point == path);
        let found = match mount {
            None => Err(Unfit::NotMounted),
            Some(mount) => fit(mount, &marked).map(|()| mount.clone()),
        };
        Target { path, settings: wanted.settings, found }
    };
    Ok(mounts.iter().map(target).collect())
}

/// Whether the service may trim it. A filesystem that is read-only may have found an error, and its
/// map of free space be wrong.
fn fit(mount: &Mount, marked: &[PathBuf]) -> Result<(), Unfit> {
    if marked.contains(&mount.mount_point) {
        return Err(Unfit::Excluded("`X-fstrim.notrim` stands in `/etc/fstab`".to_owned()));
    }
    if is_read_only(mount) {
        return Err(Unfit::Excluded("it is mounted read-only".to_owned()));
    }
    Ok(())
}

/// The mount on this directory, held open.
pub(super) fn chosen(path: &Path) -> Result<ChosenMount, Unfit> {
    let wrong = |error: SelectionError| Unfit::Wrong(error.to_string());
    let selection = select(&WhichMounts::Named(path.to_owned()), None).map_err(wrong)?;
    let chosen = selection.chosen.into_iter().next().ok_or(Unfit::NotMounted)?;
    fit(&chosen.mount, &no_trim().map_err(wrong)?)?;
    Ok(chosen)
}

/// What is in the way of a pass just now.
pub(super) fn obstacle(rules: &PauseRules, path: &Path) -> Result<Option<String>, Unfit> {
    let ChosenMount { mount, directory } = chosen(path)?;
    Ok(hindrance(rules, &mount, directory.as_fd()))
}
