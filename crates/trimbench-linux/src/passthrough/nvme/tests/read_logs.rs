//! Which logs a drive is asked for, and what comes of each.

use trimbench_log_pages::LogPageError;

use super::*;
use crate::passthrough::drive_logs::TelemetryCapture;
use crate::passthrough::drive_logs::{DriveLog, DriveLogs, LogNotRead, LogOptions};

/// A controller of this vendor and model, with telemetry if asked.
fn drive(vendor: u16, model: &[u8], has_telemetry: bool) -> NvmeDrive<Script> {
    let mut image = controller();
    image[..2].copy_from_slice(&vendor.to_le_bytes());
    image[24..24 + model.len()].copy_from_slice(model);
    image[261] = if has_telemetry { 0b1100 } else { 0b1000 };
    let look = [step((6, 0, 1, 0), image, OK), step((6, 7, 0, 0), namespace(), OK)];
    NvmeDrive::open(Script::new(look), 7).unwrap()
}

/// Get Log Page of `bytes` of a log.
fn get(lid: u32, bytes: u32) -> (u8, u32, u32, u32) {
    (2, u32::MAX, lid | 1 << 15 | (bytes / 4 - 1) << 16, 0)
}

fn latency_monitor() -> Vec<u8> {
    let guid = 0x85D4_5E58_D4E6_4370_9C6C_84D0_8CC0_7A92_u128.to_le_bytes();
    image(512, &[(0, &[1]), (80 + 4, &[3]), (192, &[0x14, 5]), (494, &[1]), (496, &guid)])
}

fn outcome<'a>(logs: &'a [DriveLog], page: &str) -> &'a DriveLog {
    logs.iter().find(|log| log.page == page).unwrap()
}

#[test]
fn logs_are_read_one_by_one_and_a_refused_one_is_a_reason() {
    let mut drive = drive(0x1e0f, b"", false);
    let mut smart = smart_log();
    smart[5] = 9;
    drive.transport.extend([
        step(get(0x02, 512), smart, OK),
        step((6, 0, 0x17, 0), uuid_list(), OK),
        step(get(0xc0, 512), Vec::new(), INVALID_LOG),
        step(get(0xc3, 512), latency_monitor(), OK),
    ]);
    let logs = drive.read_logs(LogOptions::default(), 0);
    drive.transport.assert_finished();
    // The list of UUIDs is read once, and OCP's logs by its index; others by the default.
    let places = &drive.transport.places[2..];
    assert_eq!(places, [(0, 0), (0, 0), (0, 2), (0, 2)]);
    let error = outcome(&logs, "ocp-smart").outcome.clone().unwrap_err();
    assert!(matches!(error, LogNotRead::Command { is_refused_by_drive: true, .. }), "{error}");
    let json = serde_json::to_value(&logs).unwrap();
    assert_eq!(json[1]["page"], "ocp-smart");
    assert!(json[1]["not_read"].as_str().unwrap().contains("Invalid Log Page"), "{json}");
    let logs = DriveLogs { model: String::new(), serial: String::new(), logs };
    let summary = logs.summary();
    assert_eq!(summary.endurance_used_percent, Some(9));
    let worst = summary.latency_monitor.unwrap().active.deallocate[3];
    assert_eq!((worst.count, worst.latency_ms), (3, Some(0x514)));
}

#[test]
fn pages_with_one_identifier_are_alternatives() {
    let boot_ssd = 0xC46D_D792_0F1E_4266_A178_D8AC_7888_4365_u128.to_le_bytes();
    let ocp = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5_u128.to_le_bytes();
    let known = image(512, &[(172, &[7]), (494, &[1]), (496, &boot_ssd)]);
    let newer = image(512, &[(172, &[7]), (494, &[2]), (496, &boot_ssd)]);
    let newest = image(512, &[(494, &[9]), (496, &ocp)]);
    let foreign = image(512, &[(0, &[1])]);
    let read = |answer: Vec<u8>| {
        let mut drive = drive(0x1e0f, b"", false);
        drive.transport.extend([
            step(get(0x02, 512), smart_log(), OK),
            step((6, 0, 0x17, 0), Vec::new(), INVALID_FIELD),
            step(get(0xc0, 512), answer, OK),
            step(get(0xc3, 512), Vec::new(), INVALID_LOG),
        ]);
        let log = drive.read_logs(LogOptions::default(), 0).remove(1);
        (log.page, log.outcome)
    };
    let (page, outcome) = read(known);
    assert_eq!(page, "ocp-boot-ssd-smart");
    assert_eq!(outcome.unwrap().number("deallocate-command-count"), Some(7));
    // The page that the bytes are by GUID names the version that is not known.
    for (answer, page) in [(newer, "ocp-boot-ssd-smart"), (newest, "ocp-smart")] {
        let (found, outcome) = read(answer);
        let error = outcome.unwrap_err();
        assert_eq!(found, page);
        let unknown = LogNotRead::Page(LogPageError::UnknownVersion {
            page,
            found: if page == "ocp-smart" { 9 } else { 2 },
            known: if page == "ocp-smart" { "0 to 6".into() } else { "1".into() },
        });
        assert_eq!(error, unknown);
    }
    let (page, outcome) = read(foreign);
    assert_eq!(page, "ocp-smart");
    assert!(matches!(outcome, Err(LogNotRead::Page(LogPageError::WrongGuid { .. }))));
}

#[test]
fn a_vendor_has_its_own_logs_and_telemetry_is_read_by_parts() {
    let guid = 0xBA56_0A9C_3043_424C_BC73_719D_87E6_4EFA_u128.to_le_bytes();
    // 600 statistics of 16 bytes from byte 2048 on: in three parts.
    let mut statistics: Vec<u8> = (0..599_u16)
        .flat_map(|index| {
            let [low, high] = (0x100 + index).to_le_bytes();
            [low, high, 5, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        })
        .collect();
    statistics.extend([9, 0, 5, 0, 2, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0]);
    let dwords = u16::try_from(statistics.len() / 4).unwrap().to_le_bytes();
    let header = image(
        1024,
        &[(0, &[7]), (8, &[32]), (512, &[3]), (528, &guid), (608, &[0, 2]), (616, &dwords)],
    );
    // As the log has it: the statistics, and what follows up to 512 bytes more.
    let mut area = statistics.clone();
    area.resize(statistics.len() + 512, 0);
    for (capture, create) in [(TelemetryCapture::Keep, 0), (TelemetryCapture::New, 1 << 8)] {
        let mut drive = drive(0x1344, b"Micron_7450_MTFDKCC960TFR", true);
        let part = |from: usize| area[from..area.len().min(from + 4096)].to_vec();
        let last = u32::try_from(area.len() - 8192).unwrap();
        let mut first = get(0x07, 1024);
        first.2 |= create;
        drive.transport.extend([
            step(get(0x02, 512), smart_log(), OK),
            step((6, 0, 0x17, 0), uuid_list(), OK),
            step(get(0xc0, 512), ocp_log(), OK),
            step(get(0xc3, 512), latency_monitor(), OK),
            step(get(0xfb, 512), image(512, &[(188, &[5]), (494, &[1])]), OK),
            step(get(0xd0, 2056), image(2056, &[(7, &[1])]), OK),
            step(first, header.clone(), OK),
            step(get(0x07, 4096), part(0), OK),
            step(get(0x07, 4096), part(4096), OK),
            step(get(0x07, last), part(8192), OK),
        ]);
        let logs = drive.read_logs(LogOptions { telemetry: capture, ..LogOptions::default() }, 0);
        drive.transport.assert_finished();
        let offsets: Vec<u32> = drive.transport.places.iter().map(|place| place.0).collect();
        assert_eq!(offsets[offsets.len() - 3..], [2048, 2048 + 4096, 2048 + 8192]);
        assert!(logs.iter().all(|log| log.outcome.is_ok()), "{logs:?}");
        let logs = DriveLogs { model: String::new(), serial: String::new(), logs };
        let summary = logs.summary();
        assert_eq!(summary.pending_trim_blocks, Some(0x1234));
        assert_eq!(summary.incomplete_trim, Some(5));
    }
}

#[test]
fn an_unknown_kind_of_telemetry_is_refused() {
    let mut drive = drive(0x1e0f, b"", true);
    drive.transport.extend([
        step(get(0x02, 512), smart_log(), OK),
        step((6, 0, 0x17, 0), uuid_list(), OK),
        step(get(0xc0, 512), ocp_log(), OK),
        step(get(0xc3, 512), Vec::new(), INVALID_LOG),
        step(get(0x07, 1024), image(1024, &[(0, &[7])]), OK),
    ]);
    let logs = drive.read_logs(LogOptions::default(), 0);
    drive.transport.assert_finished();
    let error = outcome(&logs, "ocp-telemetry").outcome.clone().unwrap_err();
    assert!(matches!(error, LogNotRead::Page(LogPageError::WrongGuid { .. })), "{error}");
}
