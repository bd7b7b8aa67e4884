//! Sanitize and format against scripts.

use super::*;

/// Estimates: overwrite 1000 s, block erase 100 s, crypto erase not known.
fn status(state: u8, command: u32) -> Vec<u8> {
    let command = command.to_le_bytes();
    image(
        512,
        &[
            (2, &[state | 0b1000]), // one overwrite pass completed: no part of the state
            (4, &command),
            (8, &1_000_u32.to_le_bytes()),
            (12, &100_u32.to_le_bytes()),
            (16, &[0xff; 4]),
        ],
    )
}

fn status_step(state: u8, command: u32) -> Step {
    step(log(0x81), status(state, command), OK)
}

fn namespaces(list: &[u32]) -> Step {
    let bytes: Vec<u8> = list.iter().flat_map(|nsid| nsid.to_le_bytes()).collect();
    step((6, 0, 2, 0), image(4096, &[(0, &bytes)]), OK)
}

/// What comes before every purge, with the last operation as given.
fn prelude(state: u8, command: u32) -> Vec<Step> {
    let mut steps = Vec::from(look());
    steps.extend([status_step(state, command), namespaces(&[7])]);
    steps
}

fn sanitize(cdw10: u32) -> Step {
    step((0x84, 0, cdw10, 0), Vec::new(), OK)
}

const SECOND: Nanos = Nanos::from_secs(1);
/// Block erase with AUSE.
const BLOCK: u32 = 0b1010;

fn purge(
    drive: &mut NvmeDrive<Script>,
    means: ReportedPurge,
    steps: Vec<Step>,
) -> Result<(), PurgeError> {
    drive.transport.extend(steps);
    let result = drive.purge(means);
    drive.transport.assert_finished();
    result
}

#[test]
fn means_come_strongest_first_with_estimates() {
    let mut drive = open();
    drive.transport.extend([status_step(0, 0), namespaces(&[7])]);
    let options = drive.purge_means().unwrap();
    let means: Vec<_> = options.iter().map(|option| option.means).collect();
    assert_eq!(
        means,
        [
            ReportedPurge::NvmeSanitizeBlockErase,
            ReportedPurge::NvmeSanitizeCryptoErase,
            ReportedPurge::NvmeSanitizeOverwrite,
            ReportedPurge::NvmeFormatUserDataErase,
            ReportedPurge::NvmeFormatCryptoErase,
        ]
    );
    assert_eq!(options[0].estimate, Some(Nanos::from_secs(100)));
    assert_eq!(options[1].estimate, None);
    assert_eq!(options[2].estimate, Some(Nanos::from_secs(1_000)));
    assert!(options.iter().all(|option| option.obstacle.is_none()));
}

#[test]
fn sanitize_is_polled_to_its_end() {
    let mut drive = open();
    let mut steps = prelude(0, 0);
    // Once in the procedure itself, before the command.
    steps.extend([status_step(0, 0), sanitize(BLOCK)]);
    steps.extend([status_step(2, BLOCK), Step::Pause(SECOND)]);
    steps.extend([status_step(2, BLOCK), Step::Pause(SECOND)]);
    steps.extend([status_step(1, BLOCK)]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn the_end_of_an_earlier_operation_is_not_taken_for_this_ones() {
    let mut drive = open();
    let crypto = 0b1100;
    let mut steps = prelude(1, crypto);
    steps.extend([status_step(1, crypto), sanitize(BLOCK)]);
    steps.extend([status_step(1, crypto), Step::Pause(SECOND)]);
    // A command that is turned away because of the sanitizing is no failure.
    steps.extend([step(log(0x81), Vec::new(), Ok(0x1d)), Step::Pause(SECOND)]);
    steps.extend([status_step(4, BLOCK)]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn an_operation_under_way_is_waited_for_and_not_repeated() {
    let mut drive = open();
    let mut steps = prelude(2, BLOCK);
    steps.extend([status_step(2, BLOCK)]);
    steps.extend([status_step(2, BLOCK), Step::Pause(SECOND)]);
    steps.extend([status_step(1, BLOCK)]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn after_another_operation_under_way_the_wanted_one_is_run() {
    let mut drive = open();
    let crypto = 0b0100;
    let mut steps = prelude(2, crypto);
    steps.extend([status_step(2, crypto), status_step(1, crypto), sanitize(BLOCK)]);
    steps.extend([status_step(1, BLOCK)]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn a_failed_operation_is_left_and_reported() {
    let mut drive = open();
    let mut steps = prelude(0, 0);
    steps.extend([status_step(0, 0), sanitize(BLOCK), status_step(3, BLOCK)]);
    steps.push(sanitize(0b0001));
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Err(PurgeError::SanitizeFailed { usable: true }));
}

#[test]
fn a_restricted_failure_is_followed_by_a_restricted_operation() {
    let mut drive = open();
    let restricted = 0b0010;
    let mut steps = prelude(3, restricted);
    steps.extend([status_step(3, restricted), sanitize(restricted)]);
    // It fails again, and there is no way out of the failure mode.
    steps.extend([status_step(3, restricted)]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Err(PurgeError::SanitizeFailed { usable: false }));
}

#[test]
fn waiting_has_an_end() {
    let mut drive = open();
    let mut steps = prelude(0, 0);
    steps.extend([status_step(0, 0), sanitize(BLOCK)]);
    // Three times the estimate of 100 s and ten minutes, looked at every second.
    for _ in 0..900 {
        steps.extend([status_step(2, BLOCK), Step::Pause(SECOND)]);
    }
    steps.push(status_step(2, BLOCK));
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    let waited = Nanos::from_secs(900);
    assert_eq!(result, Err(PurgeError::SanitizeOverdue { waited }));
}

#[test]
fn overwriting_makes_one_pass() {
    let mut drive = open();
    let overwrite = 0b1_1011;
    let mut steps = prelude(0, 0);
    steps.extend([status_step(0, 0), sanitize(overwrite)]);
    steps.extend([status_step(1, overwrite)]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeOverwrite, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn nothing_is_sanitized_where_other_namespaces_live() {
    let mut drive = open();
    let mut steps = Vec::from(look());
    steps.extend([status_step(0, 0), namespaces(&[3, 7])]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    let obstacle = PurgeObstacle::OtherNamespaces { count: 2 };
    assert_eq!(result, Err(PurgeError::Refused(obstacle)));
}

/// A drive whose Identify says otherwise: bytes of the controller that differ.
fn changed(parts: &[(usize, u8)]) -> (NvmeDrive<Script>, Vec<u8>) {
    let mut other = controller();
    for (at, byte) in parts {
        other[*at] = *byte;
    }
    let mut drive = open();
    drive
        .transport
        .extend([step((6, 0, 1, 0), other.clone(), OK), step((6, 7, 0, 0), namespace(), OK)]);
    (drive, other)
}

#[test]
fn formats_are_refused_only_where_they_hit_all_namespaces() {
    for (fna, refused) in [(0b100, false), (0b101, true), (0b110, true)] {
        let (mut drive, _) = changed(&[(524, fna)]);
        let mut steps = vec![status_step(0, 0), namespaces(&[7, 8])];
        if !refused {
            steps.push(step((0x80, 7, 0x0351, 0), Vec::new(), OK));
            steps.extend(look());
        }
        let result = purge(&mut drive, ReportedPurge::NvmeFormatUserDataErase, steps);
        assert_eq!(result.is_err(), refused, "FNA {fna:#b}: {result:?}");
    }
}

#[test]
fn a_shared_subsystem_may_hide_namespaces() {
    // CMIC bit 1, and room for 4 namespaces, without namespace management.
    let (mut drive, _) = changed(&[(76, 0b10), (516, 4)]);
    let steps = vec![status_step(0, 0), namespaces(&[7])];
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Err(PurgeError::Refused(PurgeObstacle::UnseenNamespaces)));
}

#[test]
fn with_namespace_management_all_allocated_namespaces_count() {
    let (mut drive, _) = changed(&[(256, 0b1010)]);
    let list = image(4096, &[(0, &[7, 0, 0, 0, 9, 0, 0, 0])]);
    let steps = vec![status_step(0, 0), step((6, 0, 0x10, 0), list, OK)];
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    let obstacle = PurgeObstacle::OtherNamespaces { count: 2 };
    assert_eq!(result, Err(PurgeError::Refused(obstacle)));
}

#[test]
fn with_namespace_management_nothing_is_hidden() {
    // Shared, room for 4, and the list of all allocated namespaces shows this one only.
    let (mut drive, _) = changed(&[(256, 0b1010), (76, 0b10), (516, 4)]);
    let list = image(4096, &[(0, &[7, 0, 0, 0])]);
    let mut steps = vec![status_step(0, 0), step((6, 0, 0x10, 0), list, OK)];
    steps.extend([status_step(0, 0), sanitize(BLOCK), status_step(1, BLOCK)]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn another_drive_behind_the_device_is_not_touched() {
    let (mut drive, _) = changed(&[(4, b'X')]);
    let result = purge(&mut drive, ReportedPurge::NvmeSanitizeBlockErase, Vec::new());
    let expected = PurgeError::AnotherDrive { opened: "S3RIAL".into(), now: "X3RIAL".into() };
    assert_eq!(result, Err(expected));
}

#[test]
fn a_format_keeps_the_format_and_has_time_for_it() {
    let mut drive = open();
    let mut steps = prelude(0, 0);
    // Format 1, metadata extended, PI type 2 at the start, crypto erase.
    steps.push(step((0x80, 7, 1 | 1 << 4 | 2 << 5 | 1 << 8 | 2 << 9, 0), Vec::new(), OK));
    steps.extend(look());
    let result = purge(&mut drive, ReportedPurge::NvmeFormatCryptoErase, steps);
    assert_eq!(result, Ok(()));
    assert_eq!(drive.transport.timeouts.iter().max(), Some(&Nanos::from_secs(86_400)));
}

#[test]
fn a_format_that_changed_the_namespace_is_reported() {
    let mut drive = open();
    let mut steps = prelude(0, 0);
    steps.push(step((0x80, 7, 0x0351, 0), Vec::new(), OK));
    let mut other = namespace();
    other[26] = 0; // 512-byte blocks.
    steps.extend([step((6, 0, 1, 0), controller(), OK), step((6, 7, 0, 0), other, OK)]);
    let result = purge(&mut drive, ReportedPurge::NvmeFormatUserDataErase, steps);
    assert_eq!(result, Err(PurgeError::FormatChanged));
}
