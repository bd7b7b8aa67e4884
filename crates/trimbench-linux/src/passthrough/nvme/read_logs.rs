//! Reads the pages that a drive of this vendor may have, and telemetry.
//!
//! A log that the controller does not have costs one command that fails, which some drives count
//! among their errors. Nothing else changes, except by [`TelemetryCapture::New`].

use trimbench_log_pages::nvme::smart::SMART;
use trimbench_log_pages::ocp::telemetry::{self, HEADER_BYTES, OCP_TELEMETRY};
use trimbench_log_pages::{DecodedPage, LogPage, LogPageError, pages_for};

use super::command::LogPart;
use super::drive::{NvmeDrive, send};
use crate::ioctl::{Data, NvmeCommand};
use crate::passthrough::drive_logs::{
    DriveLog, LogNotRead, LogOptions, LogScope, TelemetryCapture,
};
use crate::passthrough::error::PassthroughError;
use crate::passthrough::transport::Transport;

/// What every controller transfers in one command.
const TRANSFER_BYTES: usize = 4096;

impl<T: Transport> NvmeDrive<T> {
    pub(super) fn logs(&mut self, options: LogOptions, pci_device: u16) -> Vec<DriveLog> {
        let controller = &self.controller;
        let is_all = options.scope == LogScope::All;
        let pages = pages_for(controller.pci_vendor, pci_device, &controller.model);
        let pages = if is_all { pages } else { &[&SMART][..] };
        let mut logs = Vec::new();
        let mut uuid_index = None;
        for group in pages.chunk_by(|first, second| first.lid == second.lid) {
            let index = if group.iter().any(|page| page.is_ocp) {
                uuid_index.get_or_insert_with(|| self.ocp_uuid_index()).clone()
            } else {
                Ok(0)
            };
            let (page, outcome) = match index.and_then(|index| self.whole_log(group, index)) {
                Ok(bytes) => first_that_accepts(group, &bytes),
                Err(error) => (group[0].id, Err(LogNotRead::of(&error))),
            };
            logs.push(DriveLog { page, outcome });
        }
        if is_all && self.controller.has_telemetry {
            let outcome = self.telemetry(options.telemetry);
            logs.push(DriveLog { page: OCP_TELEMETRY.id, outcome });
        }
        logs
    }

    /// The log of these pages, as long as the longest.
    fn whole_log(
        &mut self,
        group: &[&LogPage],
        uuid_index: u8,
    ) -> Result<Vec<u8>, PassthroughError> {
        let length = group.iter().map(|page| page.length).max().unwrap_or(0);
        self.log_parts(length, |part| NvmeCommand::get_log_part(group[0].lid, part, uuid_index))
    }

    /// `length` bytes in as many commands as they take.
    fn log_parts(
        &mut self,
        length: usize,
        command: impl Fn(LogPart) -> NvmeCommand,
    ) -> Result<Vec<u8>, PassthroughError> {
        let mut bytes = vec![0; length];
        let mut offset = 0;
        for part in bytes.chunks_mut(TRANSFER_BYTES) {
            let bytes = u32::try_from(part.len()).expect("a part has 4096 bytes at most");
            let command = command(LogPart { offset, bytes });
            send(&mut self.transport, "Get Log Page", &command, Data::In(part))?;
            offset += bytes;
        }
        Ok(bytes)
    }

    /// The statistics of telemetry. Another program may have it captured anew between two
    /// commands, which is not noticed.
    fn telemetry(&mut self, capture: TelemetryCapture) -> Result<DecodedPage, LogNotRead> {
        let lid = OCP_TELEMETRY.lid;
        let header = self.log_parts(HEADER_BYTES, |part| {
            let command = NvmeCommand::get_log_part(lid, part, 0);
            match capture {
                TelemetryCapture::Keep => command,
                TelemetryCapture::New => command.capturing(),
            }
        });
        let header = header.map_err(|error| LogNotRead::of(&error))?;
        let range = telemetry::statistics_range(&header)?;
        let start = u32::try_from(range.start).expect("statistics begin in a data area of 32 MiB");
        let statistics = self.log_parts(range.len(), |LogPart { offset, bytes }| {
            NvmeCommand::get_log_part(lid, LogPart { offset: start + offset, bytes }, 0)
        });
        let statistics = statistics.map_err(|error| LogNotRead::of(&error))?;
        Ok(telemetry::read(&header, &statistics)?)
    }
}

/// What the first page that accepts the bytes reads. If none does, the error of one that the bytes
/// are by GUID, else of the first.
fn first_that_accepts(
    group: &[&LogPage],
    bytes: &[u8],
) -> (&'static str, Result<DecodedPage, LogNotRead>) {
    let mut refused: Option<(&'static str, LogPageError)> = None;
    for page in group {
        match page.read(bytes) {
            Ok(read) => return (page.id, Ok(read)),
            Err(error) => {
                let is_this = matches!(error, LogPageError::UnknownVersion { .. });
                if refused.is_none() || is_this {
                    refused = Some((page.id, error));
                }
            }
        }
    }
    let (page, error) = refused.expect("a group has a page");
    (page, Err(error.into()))
}
