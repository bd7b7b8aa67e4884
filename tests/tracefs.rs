//! The kernel's tracefs, mounted if it is not.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::Mounted;

/// Where it usually is.
const USUAL: &str = "/sys/kernel/tracing";

/// Tracefs; a mount of ours goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Tracefs {
    top: PathBuf,
    /// The order is that of dropping.
    _own: Option<(Mounted, TempDir)>,
}

impl Tracefs {
    pub(crate) fn open() -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "tracing needs root");
        let usual = Path::new(USUAL);
        if usual.join("instances").exists() {
            return Ok(Self { top: usual.to_owned(), _own: None });
        }
        let folder = tempfile::tempdir_in("/var/tmp").context("make a folder in /var/tmp")?;
        let mounted = Mounted::new(&["-t", "tracefs", "trimbench-tests"], folder.path());
        Ok(Self { top: folder.path().to_owned(), _own: Some((mounted, folder)) })
    }

    /// Its top folder.
    pub(crate) fn path(&self) -> &Path {
        &self.top
    }
}
