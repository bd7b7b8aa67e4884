//! The store of raw output: `target/evidence/<state>/<id>/`, short forms in `<id>.short/`.
//!
//! A folder counts once its `about.json` is there, which is written last: an interrupted
//! measurement is never used.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use ::tests::acceptance::{Form, Raw};
use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::repository::State;

const ABOUT: &str = "about.json";

/// What raw output was measured on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    /// The state's short name.
    pub(super) commit: String,
    /// The hash of its sources.
    pub(super) sources: String,
    /// Whether it is the short form.
    pub(super) short: bool,
    /// Processor, cores and kernel.
    pub(super) machine: String,
}

/// A finished measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) folder: PathBuf,
    pub(super) about: About,
}

impl Kept {
    /// Its raw output, to be read.
    pub(super) fn raw(&self) -> Raw {
        Raw::new(&self.folder, form(self.about.short))
    }
}

/// A measurement that has begun: no other call measures the same meanwhile.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) folder: PathBuf,
    /// Locked until this is dropped, or the process ends.
    _lock: File,
}

/// All raw output of this checkout.
#[derive(Clone, Debug)]
pub(super) struct Store {
    top: PathBuf,
}

impl Store {
    pub(super) fn new(top: &Path) -> Self {
        Self { top: top.to_owned() }
    }

    /// Where a claim's raw output goes.
    pub(super) fn folder(&self, id: &str, state: &State, short: bool) -> PathBuf {
        self.top.join(state.label()).join(folder_name(id, short))
    }

    /// An empty folder for a measurement.
    ///
    /// # Errors
    /// If another call measures the same.
    pub(super) fn begin(&self, id: &str, state: &State, short: bool) -> Result<Begun> {
        let folder = self.folder(id, state, short);
        let lock = self.lock(id, short)?;
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        Ok(Begun { folder, _lock: lock })
    }

    /// Keeps others from measuring a claim, of whatever sources: they would disturb each other. The
    /// file stays: who removed it could remove the one that another call has locked.
    fn lock(&self, id: &str, short: bool) -> Result<File> {
        let locks = self.top.join("locks");
        fs::create_dir_all(&locks).with_context(|| format!("make {}", locks.display()))?;
        let path = locks.join(folder_name(id, short));
        let file = File::create(&path).with_context(|| format!("make {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                bail!("another `cargo xtask evidence` measures {id}: wait until it has ended")
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("lock {}", path.display()))
            }
        }
    }

    /// Makes a folder count.
    pub(super) fn finish(begun: Begun, state: &State, short: bool) -> Result<Kept> {
        let Begun { folder, _lock } = begun;
        let (commit, sources) = (state.label(), state.sources.clone());
        let about = About { commit, sources, short, machine: machine() };
        let text = serde_json::to_string_pretty(&about).context("write what was measured on")?;
        fs::write(folder.join(ABOUT), text)
            .with_context(|| format!("write to {}", folder.display()))?;
        Ok(Kept { folder, about })
    }

    /// A measurement of these very sources, under whatever commit; the full form if there is one,
    /// the short one only where that is enough.
    pub(super) fn find(&self, id: &str, state: &State, short_is_enough: bool) -> Option<Kept> {
        let forms: &[bool] = if short_is_enough { &[false, true] } else { &[false] };
        forms.iter().find_map(|short| {
            let mut states: Vec<PathBuf> =
                fs::read_dir(&self.top).ok()?.flatten().map(|entry| entry.path()).collect();
            states.sort();
            let current = self.top.join(state.label());
            // The same commit first: its label is then the one that is shown.
            states.sort_by_key(|path| *path != current);
            let folders = states.into_iter().map(|path| path.join(folder_name(id, *short)));
            folders.filter_map(read).find(|kept| kept.about.sources == state.sources)
        })
    }
}

/// What is measured.
pub(super) fn form(short: bool) -> Form {
    if short { Form::Short } else { Form::Full }
}

fn folder_name(id: &str, short: bool) -> String {
    if short { format!("{id}.short") } else { id.to_owned() }
}

fn read(folder: PathBuf) -> Option<Kept> {
    let about = serde_json::from_str(&fs::read_to_string(folder.join(ABOUT)).ok()?).ok()?;
    Some(Kept { folder, about })
}

/// Processor, cores and kernel: what a figure of speed depends on.
fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cores} cores, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests;
