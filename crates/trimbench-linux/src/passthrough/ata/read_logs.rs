//! Reads the device statistics that a drive has (\[ATA\] ACS-4, 9.5).
//!
//! The drive is asked for nothing that it does not announce: general purpose logs in its identity,
//! statistics in the directory of logs, pages in the list of page 0.

use std::fmt::Debug;

use trimbench_log_pages::ata::statistics::{
    ATA_STATISTICS, AtaStatisticsPage, LOG, PAGE_BYTES, supported_pages,
};

use super::command::{LogTransfer, read_log};
use super::drive::AtaDrive;
use crate::ioctl::Data;
use crate::passthrough::bytes::le16;
use crate::passthrough::drive_logs::{DriveLog, LogNotRead};
use crate::passthrough::error::PassthroughError;
use crate::passthrough::transport::Transport;

/// The directory of logs: the number of pages of log `n` is in word `n`.
const DIRECTORY: u8 = 0x00;

impl<T: Transport + Debug> AtaDrive<T> {
    pub(super) fn logs(&mut self) -> Vec<DriveLog> {
        let supported = self.supported_statistics();
        let mut logs = Vec::new();
        for table in &ATA_STATISTICS {
            let outcome = match &supported {
                Ok(supported) if supported.contains(&table.number) => self.statistics(table),
                Ok(_) => Err(LogNotRead::Absent),
                Err(reason) => Err(reason.clone()),
            };
            logs.push(DriveLog { page: table.page.id, outcome });
        }
        logs
    }

    fn supported_statistics(&mut self) -> Result<Vec<u8>, LogNotRead> {
        if !self.identity.has_logs {
            return Err(LogNotRead::Absent);
        }
        let directory = self.log_page(DIRECTORY, 0)?;
        if le16(&directory, 2 * usize::from(LOG)) == 0 {
            return Err(LogNotRead::Absent);
        }
        Ok(supported_pages(&self.log_page(LOG, 0)?)?)
    }

    fn statistics(
        &mut self,
        table: &AtaStatisticsPage,
    ) -> Result<trimbench_log_pages::DecodedPage, LogNotRead> {
        Ok(table.read(&self.log_page(LOG, table.number)?)?)
    }

    /// A page of a log, by DMA if the drive refuses PIO.
    fn log_page(&mut self, log: u8, page: u8) -> Result<[u8; PAGE_BYTES], LogNotRead> {
        let mut bytes = [0; PAGE_BYTES];
        let mut read = |transfer| -> Result<(), PassthroughError> {
            self.line.send(&read_log(transfer, log, page), Data::In(&mut bytes)).map(drop)
        };
        let outcome = match read(LogTransfer::Pio) {
            Err(error) if error.is_refusal() => read(LogTransfer::Dma),
            outcome => outcome,
        };
        outcome.map_err(|error| LogNotRead::of(&error))?;
        Ok(bytes)
    }
}
