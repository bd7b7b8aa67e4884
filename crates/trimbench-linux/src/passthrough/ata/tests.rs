//! ATA against images built here from the specification's words, and procedures against a script.

use trimbench_core::{Errno, Nanos, TrimPromise};

use super::drive::AtaDrive;
use crate::ioctl::ScsiOutcome;
use crate::passthrough::Protocol as _;
use crate::passthrough::error::{PassthroughError, PurgeError, PurgeObstacle};
use crate::passthrough::purge::ReportedPurge;
use crate::passthrough::tests::script::{Script, Step};

mod purge;
mod read_logs;

/// IDENTIFY DEVICE with these words changed, and its checksum.
fn identify(changes: &[(usize, u16)]) -> Vec<u8> {
    let mut words = [0_u16; 256];
    // 2^40 + 7 blocks of 4096 bytes, WWN, TRIM with DRAT and RZAT, all of sanitize, security with
    // enhanced erase.
    for (index, value) in [
        (59, 0xf000),
        (69, 1 << 14 | 1 << 5),
        (83, 0x4000 | 1 << 10),
        (87, 0x4000 | 1 << 8),
        (89, 30),
        (90, 0x8190),
        (100, 7),
        (102, 1 << 8),
        (106, 0x4000 | 1 << 12),
        (108, 0x5000),
        (109, 0xc500),
        (110, 0x15ea),
        (111, 0x71ac),
        (117, 2048),
        (128, 0b10_0001),
        (169, 1),
    ] {
        words[index] = value;
    }
    for (index, text) in [(10, "SERIAL 1"), (23, "FW 2"), (27, "A Model!")] {
        for (word, pair) in words[index..].iter_mut().zip(text.as_bytes().chunks(2)) {
            *word = u16::from_be_bytes([pair[0], pair[1]]);
        }
    }
    for (index, value) in changes {
        words[*index] = *value;
    }
    let mut image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    image[510] = 0xa5;
    let sum = image.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    image[511] = 0_u8.wrapping_sub(sum);
    image
}

#[expect(clippy::unnecessary_wraps, reason = "what a step takes")]
fn good() -> Result<ScsiOutcome, Errno> {
    Ok(ScsiOutcome::default())
}

/// A check condition with the registers in a descriptor.
#[expect(clippy::unnecessary_wraps, reason = "what a step takes")]
fn registers(status: u8, error: u8, count: u16, lba: u32) -> Result<ScsiOutcome, Errno> {
    let [count, count_high] = count.to_le_bytes();
    let [low, mid, high, _] = lba.to_le_bytes();
    let key = if status & 1 != 0 { 0xb } else { 1 };
    let mut sense = vec![0x72, key, 0, 0x1d, 0, 0, 0, 14];
    sense.extend([9, 12, 1, error, count_high, count, 0, low, 0, mid, 0, high, 0x40, status]);
    Ok(ScsiOutcome { status: 2, driver_status: 8, sense, ..ScsiOutcome::default() })
}

fn aborted() -> Result<ScsiOutcome, Errno> {
    registers(0x51, 0x04, 0, 0)
}

fn step(sent: &[u8], data: Vec<u8>, answer: Result<ScsiOutcome, Errno>) -> Step {
    Step::Scsi { sent: sent.to_vec(), data, answer }
}

fn identify_step(changes: &[(usize, u16)]) -> Step {
    let sent = [0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0];
    step(&sent, identify(changes), good())
}

fn open_with(changes: &[(usize, u16)]) -> AtaDrive<Script> {
    AtaDrive::open(Script::new([identify_step(changes)])).unwrap()
}

fn open() -> AtaDrive<Script> {
    open_with(&[])
}

#[test]
fn identity_is_read_from_its_words() {
    let drive = open();
    let identity = drive.identity();
    assert_eq!((identity.model.as_str(), identity.serial.as_str()), ("A Model!", "SERIAL 1"));
    assert_eq!(identity.wwn, Some(0x5000_c500_15ea_71ac));
}

#[test]
fn capacity_is_in_the_words_that_are_valid() {
    // 28 bits; more than 48-bit addresses in words 230 to 233.
    for (changes, is_there) in [
        (&[(83, 0x4000), (60, 5), (61, 1), (106, 0)][..], true),
        (&[(83, 0x4000), (60, 0), (61, 0)], false),
        (&[(69, 1 << 3), (230, 9)], true),
        (&[(69, 1 << 3), (230, 0)], false),
        (&[(100, 0), (102, 0)], false),
    ] {
        let opened = AtaDrive::open(Script::new([identify_step(changes)]));
        assert_eq!(opened.is_ok(), is_there, "{changes:?}");
    }
}

#[test]
fn a_wrong_checksum_is_not_believed() {
    let mut image = identify(&[]);
    image[100] ^= 1;
    let sent = [0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0];
    let error = AtaDrive::open(Script::new([step(&sent, image, good())])).unwrap_err();
    assert!(matches!(error, PassthroughError::Malformed { .. }), "{error}");
}

#[test]
fn promise_follows_drat_and_rzat() {
    const DRAT: u16 = 1 << 14;
    const RZAT: u16 = 1 << 5;
    for (word, promise) in [
        (DRAT | RZAT, TrimPromise::Zeroes),
        (DRAT, TrimPromise::Deterministic),
        (RZAT, TrimPromise::Nothing),
        (0, TrimPromise::Nothing),
    ] {
        assert_eq!(open_with(&[(69, word)]).promise(), promise);
    }
    assert_eq!(open_with(&[(169, 0)]).promise(), TrimPromise::Unknown);
}

#[test]
fn a_bridge_that_knows_twelve_bytes_is_spoken_to_so() {
    let sense = vec![0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
    let unknown = Ok(ScsiOutcome { status: 2, sense, ..ScsiOutcome::default() });
    let sixteen = [0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0];
    let twelve = [0xa1, 0x08, 0x0e, 0, 1, 0, 0, 0, 0, 0xec, 0, 0];
    let script =
        Script::new([step(&sixteen, Vec::new(), unknown), step(&twelve, identify(&[]), good())]);
    let mut drive = AtaDrive::open(script).unwrap();
    // Sanitizing takes 48 bits: it is not offered, and nothing of it is sent.
    drive.line.transport.extend([step(&twelve, identify(&[]), good())]);
    let options = drive.purge_means().unwrap();
    let security = [ReportedPurge::AtaSecurityEraseEnhanced, ReportedPurge::AtaSecurityErase];
    assert!(options.iter().map(|option| option.means).eq(security));
    drive.line.transport.assert_finished();
}

#[test]
fn what_the_drive_aborts_is_reported_with_its_registers() {
    let sent = [0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0];
    let script = Script::new([step(&sent, Vec::new(), aborted())]);
    let text =
        "the drive answered `IDENTIFY DEVICE` with status 0x51 (DRDY ERR), error 0x04 (ABRT)";
    assert_eq!(AtaDrive::open(script).unwrap_err().to_string(), text);
}

#[test]
fn short_data_and_adapters_are_no_answers() {
    let short = Ok(ScsiOutcome { missing_bytes: 12, ..ScsiOutcome::default() });
    let timeout = Ok(ScsiOutcome { host_status: 3, ..ScsiOutcome::default() });
    let sent = [0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0];
    let error = AtaDrive::open(Script::new([step(&sent, identify(&[]), short)])).unwrap_err();
    assert!(matches!(error, PassthroughError::Short { missing: 12, .. }), "{error}");
    let error = AtaDrive::open(Script::new([step(&sent, identify(&[]), timeout)])).unwrap_err();
    assert!(matches!(error, PassthroughError::Adapter { host_status: 3, .. }), "{error}");
    let script = Script::new([step(&sent, identify(&[]), Err(Errno(1)))]);
    let error = AtaDrive::open(script).unwrap_err();
    assert!(error.to_string().contains("CAP_SYS_RAWIO"), "{error}");
}
