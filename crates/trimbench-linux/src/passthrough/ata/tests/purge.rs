//! Sanitize and security erase against scripts.

use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

/// SANITIZE DEVICE: feature, count and address (as it lies in the command).
fn sanitize(feature: u8, count: u8, lba: [u8; 6], answer: Result<ScsiOutcome, Errno>) -> Step {
    let [b7, b8, b9, b10, b11, b12] = lba;
    let sent = [0x85, 0x07, 0x20, 0, feature, 0, count, b7, b8, b9, b10, b11, b12, 0x40, 0xb4, 0];
    step(&sent, Vec::new(), answer)
}

/// SANITIZE STATUS EXT, answered with this count.
fn status(count: u16) -> Step {
    sanitize(0, 0, [0; 6], registers(0x50, 0, count, 0))
}

/// `BkEr` in bits 31:0, and the failure mode.
fn block_erase() -> Step {
    sanitize(0x12, 0x10, [0x42, 0x72, 0, 0x45, 0, 0x6b], registers(0x50, 0, 0, 0))
}

const IDLE: u16 = 0;
const COMPLETED: u16 = 1 << 15;
const IN_PROGRESS: u16 = 1 << 14;
const FROZEN: u16 = 1 << 13;

/// A command of the security set with its 512 bytes.
fn security(command: u8, answer: Result<ScsiOutcome, Errno>) -> Step {
    let sent = [0x85, 0x0a, 0x06, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, command, 0];
    step(&sent, Vec::new(), answer)
}

fn prepare(answer: Result<ScsiOutcome, Errno>) -> Step {
    let sent = [0x85, 0x06, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf3, 0];
    step(&sent, Vec::new(), answer)
}

/// Word 128.
const NO_PASSWORD: u16 = 0b10_0001;
const ENABLED: u16 = 0b10_0011;
const LOCKED: u16 = 0b10_0111;
const ALL_FROZEN: u16 = 0b10_1001;

fn security_is(state: u16) -> Step {
    identify_step(&[(128, state)])
}

/// What comes before every purge: is it the same drive, and what stands against it.
fn prelude(state: u16, sanitize: u16) -> Vec<Step> {
    vec![security_is(state), security_is(state), status(sanitize)]
}

fn purge(
    drive: &mut AtaDrive<Script>,
    means: ReportedPurge,
    steps: Vec<Step>,
) -> Result<(), PurgeError> {
    drive.line.transport.extend(steps);
    let result = drive.purge(means);
    drive.line.transport.assert_finished();
    result
}

#[test]
fn means_come_strongest_first_with_estimates() {
    let mut drive = open();
    drive.line.transport.extend([identify_step(&[]), status(IDLE)]);
    let options = drive.purge_means().unwrap();
    let means: Vec<_> = options.iter().map(|option| option.means).collect();
    assert_eq!(
        means,
        [
            ReportedPurge::AtaSanitizeBlockErase,
            ReportedPurge::AtaSanitizeCryptoScramble,
            ReportedPurge::AtaSanitizeOverwrite,
            ReportedPurge::AtaSecurityEraseEnhanced,
            ReportedPurge::AtaSecurityErase,
        ]
    );
    // Words 90 (400, 15 bits) and 89 (8 bits), in 2 minutes.
    assert_eq!(options[3].estimate, Some(Nanos::from_secs(400 * 120)));
    assert_eq!(options[4].estimate, Some(Nanos::from_secs(30 * 120)));
    assert!(options.iter().all(|option| option.obstacle.is_none()));
}

#[test]
fn only_what_the_words_announce_is_offered() {
    let mut drive = open();
    // Sanitize is announced by bit 12 only; security without the enhanced mode.
    drive.line.transport.extend([identify_step(&[(59, 0xe000), (128, 1)])]);
    let options = drive.purge_means().unwrap();
    assert_eq!(options.len(), 1);
    assert_eq!(options[0].means, ReportedPurge::AtaSecurityErase);
}

#[test]
fn sanitize_is_polled_to_its_end() {
    let mut drive = open();
    let mut steps = prelude(NO_PASSWORD, IDLE);
    steps.extend([status(IDLE), block_erase()]);
    // A hundredth of an hour is 36 s, looked at every 30.
    steps.extend([status(IN_PROGRESS), Step::Pause(SECOND.times(30))]);
    steps.push(status(COMPLETED));
    let result = purge(&mut drive, ReportedPurge::AtaSanitizeBlockErase, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn crypto_and_overwrite_have_their_own_keys() {
    for (means, feature, count, lba) in [
        (ReportedPurge::AtaSanitizeCryptoScramble, 0x11, 0x10, [0x43, 0x70, 0, 0x79, 0, 0x72]),
        (ReportedPurge::AtaSanitizeOverwrite, 0x14, 0x11, [0, 0, 0x57, 0, 0x4f, 0]),
    ] {
        let mut drive = open();
        let mut steps = prelude(NO_PASSWORD, IDLE);
        steps.push(status(IDLE));
        steps.push(sanitize(feature, count, lba, registers(0x50, 0, 0, 0)));
        steps.push(status(COMPLETED));
        assert_eq!(purge(&mut drive, means, steps), Ok(()));
    }
}

#[test]
fn an_unknown_operation_under_way_is_waited_for_before_the_wanted_one() {
    let mut drive = open();
    let mut steps = prelude(NO_PASSWORD, IN_PROGRESS);
    steps.extend([status(IN_PROGRESS), status(COMPLETED), block_erase()]);
    steps.push(status(COMPLETED));
    let result = purge(&mut drive, ReportedPurge::AtaSanitizeBlockErase, steps);
    assert_eq!(result, Ok(()));
}

#[test]
fn a_failed_sanitize_is_cleared_and_reported() {
    for (answer, usable) in [(registers(0x50, 0, 0, 0), true), (aborted(), false)] {
        let mut drive = open();
        let mut steps = prelude(NO_PASSWORD, IDLE);
        steps.extend([status(IDLE), block_erase()]);
        steps.push(sanitize(0, 0, [0; 6], registers(0x51, 0x04, 0, 1)));
        steps.push(sanitize(0, 1, [0; 6], answer));
        let result = purge(&mut drive, ReportedPurge::AtaSanitizeBlockErase, steps);
        assert_eq!(result, Err(PurgeError::SanitizeFailed { usable }));
    }
}

#[test]
fn idle_without_completion_is_a_failure() {
    let mut drive = open();
    let mut steps = prelude(NO_PASSWORD, IDLE);
    steps.extend([status(IDLE), block_erase(), status(IDLE)]);
    steps.push(sanitize(0, 1, [0; 6], registers(0x50, 0, 0, 0)));
    let result = purge(&mut drive, ReportedPurge::AtaSanitizeBlockErase, steps);
    assert_eq!(result, Err(PurgeError::SanitizeFailed { usable: true }));
}

#[test]
fn a_sanitize_status_without_registers_is_no_status() {
    let mut drive = open();
    let steps = vec![identify_step(&[]), identify_step(&[]), sanitize(0, 0, [0; 6], good())];
    let result = purge(&mut drive, ReportedPurge::AtaSanitizeBlockErase, steps);
    let error = PassthroughError::NoRegisters { command: "SANITIZE STATUS EXT" };
    assert_eq!(result, Err(PurgeError::Command(error)));
}

#[test]
fn frozen_and_locked_drives_are_refused_untouched() {
    let erase = ReportedPurge::AtaSecurityErase;
    let block = ReportedPurge::AtaSanitizeBlockErase;
    let password = "trimbench";
    for (means, state, sanitize, obstacle) in [
        (erase, ALL_FROZEN, IDLE, PurgeObstacle::SecurityFrozen),
        (erase, LOCKED, IDLE, PurgeObstacle::SecurityLocked { password }),
        (erase, ENABLED, IDLE, PurgeObstacle::PasswordSet { password }),
        (erase, NO_PASSWORD | 1 << 4, IDLE, PurgeObstacle::SecurityCountExpired),
        (block, NO_PASSWORD, FROZEN, PurgeObstacle::SanitizeFrozen),
        (block, LOCKED, IDLE, PurgeObstacle::SecurityLocked { password }),
    ] {
        let mut drive = open();
        let result = purge(&mut drive, means, prelude(state, sanitize));
        assert_eq!(result, Err(PurgeError::Refused(obstacle)));
    }
}

#[test]
fn another_drive_behind_the_device_is_not_touched() {
    let mut drive = open();
    let steps = vec![identify_step(&[(10, 0x5858)])];
    let result = purge(&mut drive, ReportedPurge::AtaSecurityErase, steps);
    assert!(matches!(result, Err(PurgeError::AnotherDrive { .. })), "{result:?}");
}

#[test]
fn security_erase_sets_a_password_and_ends_without() {
    for (means, mode, limit) in [
        (ReportedPurge::AtaSecurityErase, 0, 3 * 3_600 + 600),
        (ReportedPurge::AtaSecurityEraseEnhanced, 0b10, 3 * 48_000 + 600),
    ] {
        let mut drive = open();
        let mut steps = prelude(NO_PASSWORD, IDLE);
        steps.extend([security(0xf1, good()), prepare(good()), security(0xf4, good())]);
        steps.push(security_is(NO_PASSWORD));
        let result = purge(&mut drive, means, steps);
        assert_eq!(result, Ok(()));
        let [set, erase] = &drive.line.transport.written[..] else { panic!("two blocks") };
        assert_eq!((set[0], set[1]), (0, 0));
        assert_eq!(set[2..34], *b"trimbench\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(erase[0], mode);
        assert_eq!(erase[2..11], *b"trimbench");
        // Three times the drive's estimate and ten minutes.
        assert_eq!(drive.line.transport.timeouts.iter().max(), Some(&Nanos::from_secs(limit)));
    }
}

#[test]
fn a_refused_password_leaves_nothing_behind() {
    let mut drive = open();
    let mut steps = prelude(NO_PASSWORD, IDLE);
    steps.extend([security(0xf1, aborted()), security_is(NO_PASSWORD)]);
    let result = purge(&mut drive, ReportedPurge::AtaSecurityErase, steps);
    assert!(matches!(result, Err(PurgeError::Command(_))), "{result:?}");
}

#[test]
fn a_failed_erase_takes_the_password_off_again() {
    let mut drive = open();
    let mut steps = prelude(NO_PASSWORD, IDLE);
    steps.extend([security(0xf1, good()), prepare(good()), security(0xf4, aborted())]);
    // A reset has locked it.
    steps.extend([security_is(LOCKED), security_is(LOCKED), security(0xf2, good())]);
    steps.extend([security(0xf6, good()), security_is(NO_PASSWORD)]);
    let result = purge(&mut drive, ReportedPurge::AtaSecurityErase, steps);
    assert!(matches!(result, Err(PurgeError::Command(_))), "{result:?}");
}

#[test]
fn a_password_that_cannot_be_taken_off_is_named() {
    let mut drive = open();
    let mut steps = prelude(NO_PASSWORD, IDLE);
    steps.extend([security(0xf1, good()), prepare(aborted()), security_is(ENABLED)]);
    steps.extend([security_is(ENABLED), security(0xf6, aborted())]);
    let result = purge(&mut drive, ReportedPurge::AtaSecurityErase, steps);
    let error = result.unwrap_err();
    assert!(matches!(error, PurgeError::PasswordLeft { .. }), "{error}");
    assert!(error.to_string().contains("--security-disable trimbench"), "{error}");
}

#[test]
fn an_erase_that_leaves_the_password_is_no_success() {
    let mut drive = open();
    let mut steps = prelude(NO_PASSWORD, IDLE);
    steps.extend([security(0xf1, good()), prepare(good()), security(0xf4, good())]);
    steps.extend([security_is(ENABLED), security_is(ENABLED), security(0xf6, good())]);
    steps.push(security_is(NO_PASSWORD));
    let result = purge(&mut drive, ReportedPurge::AtaSecurityErase, steps);
    let error = result.unwrap_err();
    assert!(matches!(error, PurgeError::Command(PassthroughError::Malformed { .. })), "{error}");
}
