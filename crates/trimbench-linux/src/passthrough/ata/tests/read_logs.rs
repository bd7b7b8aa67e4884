//! Device statistics: what is asked for, and what comes of it.

use super::*;
use crate::passthrough::drive_logs::{LogNotRead, LogOptions};

/// IDENTIFY DEVICE, word 87: valid, a WWN, and general purpose logs.
const WITH_LOGS: (usize, u16) = (87, 0x4000 | 1 << 8 | 1 << 5);

/// ATA PASS-THROUGH (16) of READ LOG EXT (PIO) or READ LOG DMA EXT.
fn read(command: u8, log: u8, page: u8) -> [u8; 16] {
    let protocol = if command == 0x2f { 4 } else { 6 };
    [0x85, protocol << 1 | 1, 0x0e, 0, 0, 0, 1, 0, log, 0, page, 0, 0, 0x40, command, 0]
}

/// The directory of logs, with this many pages of statistics.
fn directory(pages: u8) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    (bytes[0], bytes[8]) = (1, pages);
    bytes
}

fn list(pages: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    (bytes[0], bytes[8]) = (1, u8::try_from(pages.len()).unwrap());
    bytes[9..9 + pages.len()].copy_from_slice(pages);
    bytes
}

fn statistic(page: u8, value: u8) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    (bytes[0], bytes[2], bytes[8], bytes[15]) = (1, page, value, 0xc0);
    bytes
}

#[test]
fn supported_statistics_are_read() {
    let mut drive = open_with(&[WITH_LOGS]);
    drive.line.transport.extend([
        step(&read(0x2f, 0, 0), directory(8), good()),
        step(&read(0x2f, 4, 0), list(&[0, 1, 5, 7]), good()),
        step(&read(0x2f, 4, 1), statistic(1, 12), good()),
        step(&read(0x2f, 4, 5), statistic(5, 40), good()),
        step(&read(0x2f, 4, 7), statistic(6, 3), good()),
    ]);
    let logs = drive.read_logs(LogOptions::default(), 0);
    drive.line.transport.assert_finished();
    let of = |page: &str| logs.iter().find(|log| log.page == page).unwrap().outcome.clone();
    let general = of("ata-general-statistics").unwrap();
    assert_eq!(general.number("power-on-reset-count"), Some(12));
    assert_eq!(of("ata-temperature-statistics").unwrap().number("temperature-celsius"), Some(40));
    assert_eq!(of("ata-rotating-statistics"), Err(LogNotRead::Absent));
    // The drive answered with another page.
    assert!(matches!(of("ata-solid-state-statistics"), Err(LogNotRead::Page(_))));
}

#[test]
fn a_drive_that_refuses_pio_is_read_by_dma() {
    let mut drive = open_with(&[WITH_LOGS]);
    drive.line.transport.extend([
        step(&read(0x2f, 0, 0), Vec::new(), aborted()),
        step(&read(0x47, 0, 0), directory(8), good()),
        step(&read(0x2f, 4, 0), Vec::new(), aborted()),
        step(&read(0x47, 4, 0), Vec::new(), aborted()),
    ]);
    let logs = drive.read_logs(LogOptions::default(), 0);
    drive.line.transport.assert_finished();
    for log in logs {
        let error = log.outcome.unwrap_err();
        assert!(error.to_string().contains("READ LOG DMA EXT"), "{error}");
    }
}

#[test]
fn a_drive_is_not_asked_for_what_it_does_not_announce() {
    let mut without_logs = open();
    assert!(
        without_logs
            .read_logs(LogOptions::default(), 0)
            .iter()
            .all(|log| { log.outcome == Err(LogNotRead::Absent) })
    );
    let mut without_statistics = open_with(&[WITH_LOGS]);
    let directory = step(&read(0x2f, 0, 0), directory(0), good());
    without_statistics.line.transport.extend([directory]);
    let logs = without_statistics.read_logs(LogOptions::default(), 0);
    without_statistics.line.transport.assert_finished();
    assert!(logs.iter().all(|log| log.outcome == Err(LogNotRead::Absent)));
}
