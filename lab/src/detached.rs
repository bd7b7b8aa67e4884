//! A drive that the release build serves, in a process of its own: as users have it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rustix::process::Pid;
use trimbench_attach::{Answer, Order, Statistics, ask, attached};
use trimbench_core::Bytes;

use crate::lab::Lab;

/// The drive. It is detached when dropped, unless its process has ended.
pub(crate) struct DetachedDrive<'a> {
    lab: &'a Lab<'a>,
    node: PathBuf,
    socket: PathBuf,
    process: Pid,
}

impl<'a> DetachedDrive<'a> {
    /// `trimbench attach --detach` with these arguments.
    pub(crate) fn start(lab: &'a Lab<'a>, arguments: &[&str]) -> Result<Self> {
        let arguments = [&["attach", "--detach"], arguments].concat();
        let output = lab.program()?.call_well(&mut lab.trimbench(&arguments)?)?;
        let node = PathBuf::from(output.stdout.trim());
        let own = attached()?.into_iter().find(|(_, status)| status.device == node);
        let (socket, status) = own.context("the new drive is not listed")?;
        let process = i32::try_from(status.process).ok().and_then(Pid::from_raw);
        Ok(Self { lab, node, socket, process: process.context("no process")? })
    }

    /// A drive of this profile and capacity, each block of it written once.
    pub(crate) fn filled(lab: &'a Lab<'a>, profile: &str, capacity: Bytes) -> Result<Self> {
        let capacity = capacity.to_string();
        Self::start(lab, &[profile, "--capacity", &capacity, "--state", "filled"])
    }

    /// Its block device.
    pub(crate) fn node(&self) -> &Path {
        &self.node
    }

    /// Where it is asked.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// What serves it.
    pub(crate) fn process(&self) -> Pid {
        self.process
    }

    /// Whether its process answers.
    pub(crate) fn answers(&self) -> bool {
        matches!(ask(&self.socket, &Order::Status), Ok(Answer::Status(_)))
    }

    /// What it has counted.
    pub(crate) fn statistics(&self) -> Result<Statistics> {
        match ask(&self.socket, &Order::Statistics)? {
            Answer::Statistics(statistics) => Ok(statistics),
            other => bail!("statistics were asked for, not {other:?}"),
        }
    }
}

impl Drop for DetachedDrive<'_> {
    fn drop(&mut self) {
        if !self.answers() {
            return;
        }
        let stop = |node| self.lab.call_well(&mut self.lab.trimbench(&["attach", "--stop", node])?);
        if let Some(Err(error)) = self.node.to_str().map(stop) {
            eprintln!("error: {} stays attached: {error:#}", self.node.display());
        }
    }
}
