//! ATA against images built here from the specification's words, and procedures against a script.

use trimbench_core::{BlockSize, Blocks, Bytes, Errno, Lba, LbaRange, Nanos, Ppm};

use super::drive::AtaDrive;
use crate::ioctl::ScsiOutcome;
use crate::passthrough::script::{Script, Step};
use crate::passthrough::{
    DeallocateError, PassthroughError, Protocol as _, PurgeError, PurgeObstacle, ReportedPurge,
    ReportedTrimmedReads,
};

mod purge;

/// IDENTIFY DEVICE with these words changed, and its checksum.
fn identify(changes: &[(usize, u16)]) -> Vec<u8> {
    let mut words = [0_u16; 256];
    // 0 to 2^40 + 7 blocks of 4096 bytes, WWN, logs, TRIM with DRAT and RZAT, 8 payload blocks,
    // NCQ with SEND FPDMA QUEUED, all of sanitize, security with enhanced erase.
    for (index, value) in [
        (59, 0xf000),
        (69, 1 << 14 | 1 << 5),
        (76, 1 << 8),
        (77, 1 << 6),
        (83, 0x4000 | 1 << 10),
        (84, 0x4000 | 1 << 5),
        (87, 0x4000 | 1 << 8),
        (89, 30),
        (90, 0x8190),
        (100, 7),
        (102, 1 << 8),
        (105, 8),
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

/// READ LOG EXT of one page.
fn log_step(log: u8, page: u8, data: Vec<u8>) -> Step {
    let sent = [0x85, 0x09, 0x0e, 0, 0, 0, 1, 0, log, 0, page, 0, 0, 0x40, 0x2f, 0];
    step(&sent, data, good())
}

/// A directory with the logs 04h and 13h.
fn directory() -> Vec<u8> {
    let mut directory = vec![0; 512];
    (directory[0], directory[8], directory[0x26]) = (1, 8, 1);
    directory
}

fn ncq_log(commands: u8, trim: u8) -> Vec<u8> {
    let mut log = vec![0; 512];
    (log[0], log[4]) = (commands, trim);
    log
}

fn open_with(changes: &[(usize, u16)]) -> AtaDrive<Script> {
    let mut steps = vec![identify_step(changes)];
    steps.push(log_step(0, 0, directory()));
    steps.push(log_step(0x13, 0, ncq_log(1, 1)));
    AtaDrive::open(Script::new(steps)).unwrap()
}

fn open() -> AtaDrive<Script> {
    open_with(&[])
}

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).unwrap()
}

#[test]
fn identity_is_read_from_its_words() {
    let drive = open();
    let identity = drive.identity();
    assert_eq!((identity.model.as_str(), identity.serial.as_str()), ("A Model!", "SERIAL 1"));
    assert_eq!(identity.firmware, "FW 2");
    assert_eq!(identity.capacity, Blocks((1 << 40) + 7));
    assert_eq!(identity.logical_block.bytes(), Bytes(4096));
    assert_eq!(identity.wwn, Some(0x5000_c500_15ea_71ac));
}

#[test]
fn capacity_is_in_the_words_that_are_valid() {
    // 28 bits.
    let changes = [(83, 0x4000), (60, 5), (61, 1), (106, 0)];
    let drive = open_with(&changes);
    assert_eq!(drive.identity().capacity, Blocks(0x1_0005));
    assert_eq!(drive.identity().logical_block, BlockSize::SECTOR);
    // More than 48-bit addresses in words 230 to 233.
    let drive = open_with(&[(69, 1 << 3), (230, 9)]);
    assert_eq!(drive.identity().capacity, Blocks(9));
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
    for (word, deterministic, reads) in [
        (DRAT | RZAT, true, ReportedTrimmedReads::Zeroes),
        (DRAT, true, ReportedTrimmedReads::Unspecified),
        (RZAT, false, ReportedTrimmedReads::Unspecified),
        (0, false, ReportedTrimmedReads::Unspecified),
    ] {
        let promise = *open_with(&[(69, word)]).promise();
        assert_eq!((promise.deterministic, promise.reads), (Some(deterministic), reads));
        assert_eq!((promise.ranges_max, promise.range_blocks_max), (512, 65_535));
        assert_eq!(promise.queued, Some(true));
    }
    assert_eq!(open_with(&[(105, 0)]).promise().ranges_max, 64);
}

#[test]
fn queued_trim_needs_both_bits_of_log_13h() {
    for (commands, trim, queued) in [(1, 1, true), (1, 0, false), (0, 1, false)] {
        let script = Script::new([
            identify_step(&[]),
            log_step(0, 0, directory()),
            log_step(0x13, 0, ncq_log(commands, trim)),
        ]);
        assert_eq!(AtaDrive::open(script).unwrap().promise().queued, Some(queued));
    }
}

#[test]
fn a_drive_without_trim_says_so() {
    let mut drive = AtaDrive::open(Script::new([identify_step(&[(169, 0)])])).unwrap();
    assert!(!drive.promise().supported);
    assert_eq!(drive.deallocate(&[range(0, 1)]).unwrap_err(), DeallocateError::Unsupported);
    drive.line.transport.assert_finished();
}

#[test]
fn a_bridge_that_knows_twelve_bytes_is_spoken_to_so() {
    let sense = vec![0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
    let unknown = Ok(ScsiOutcome { status: 2, sense, ..ScsiOutcome::default() });
    let sixteen = [0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0];
    let twelve = [0xa1, 0x08, 0x0e, 0, 1, 0, 0, 0, 0, 0xec, 0, 0];
    let plain = [(76, 0), (84, 0x4000)];
    let script =
        Script::new([step(&sixteen, Vec::new(), unknown), step(&twelve, identify(&plain), good())]);
    let mut drive = AtaDrive::open(script).unwrap();
    // TRIM has 48 bits: it cannot be sent, and nothing is.
    let error = drive.deallocate(&[range(0, 1)]).unwrap_err();
    let command = matches!(error, DeallocateError::Command(PassthroughError::Scsi { .. }));
    assert!(command, "{error}");
    drive.line.transport.assert_finished();
}

#[test]
fn trim_packs_ranges_into_blocks() {
    let mut drive = open();
    // 64 single blocks and one range of 65,536: 66 entries, two blocks of payload.
    let mut ranges: Vec<_> = (0..64).map(|index| range(index * 2, 1)).collect();
    ranges.push(range(0x12_3456_7890, 65_536));
    let sent = [0x85, 0x0d, 0x06, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0x40, 0x06, 0];
    drive.line.transport.extend([step(&sent, Vec::new(), good())]);
    ranges[64] = range(0x12_3456, 65_536);
    drive.deallocate(&ranges).unwrap();
    drive.line.transport.assert_finished();
    let payload = &drive.line.transport.written[0];
    assert_eq!(payload.len(), 1024);
    assert_eq!(payload[8..16], [2, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(payload[512..520], [0x56, 0x34, 0x12, 0, 0, 0, 0xff, 0xff]);
    assert_eq!(payload[520..528], [0x55, 0x34, 0x13, 0, 0, 0, 1, 0]);
    assert!(payload[528..].iter().all(|&byte| byte == 0));
}

#[test]
fn what_the_drive_aborts_is_reported_with_its_registers() {
    let mut drive = open();
    let sent = [0x85, 0x0d, 0x06, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0x40, 0x06, 0];
    drive.line.transport.extend([step(&sent, Vec::new(), aborted())]);
    let error = drive.deallocate(&[range(0, 1)]).unwrap_err();
    let text = "the drive answered `DATA SET MANAGEMENT (TRIM)` with status 0x51 (DRDY ERR), \
                error 0x04 (ABRT)";
    assert_eq!(error.to_string(), text);
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

/// A page of device statistics with these entries.
fn page(number: u8, entries: &[(usize, u64)]) -> Vec<u8> {
    let mut page = vec![0; 512];
    (page[0], page[2]) = (1, number);
    for (at, entry) in entries {
        page[*at..*at + 8].copy_from_slice(&entry.to_le_bytes());
    }
    page
}

/// Supported and valid.
const GOOD: u64 = 0b11 << 62;
/// Supported, not valid; normalized set, which changes nothing.
const STALE: u64 = 0b101 << 61;

#[test]
fn statistics_count_only_if_supported_and_valid() {
    let mut drive = open();
    let mut list = page(0, &[]);
    list[8..13].copy_from_slice(&[4, 0, 1, 5, 7]);
    drive.line.transport.extend([
        log_step(0, 0, directory()),
        log_step(4, 0, list),
        log_step(4, 1, page(1, &[(0x10, GOOD | 3), (0x18, GOOD | 1 << 40), (0x28, STALE | 9)])),
        log_step(4, 5, page(5, &[(0x08, GOOD | 0xfb), (0x50, GOOD | 2)])),
        log_step(4, 7, page(7, &[(0x08, GOOD | 1 << 61 | 0x65)])),
    ]);
    let counters = drive.counters().unwrap();
    drive.line.transport.assert_finished();
    assert_eq!(counters.host_written.known(), Some(Bytes(4096 << 40)));
    assert_eq!(counters.host_read.known(), None);
    assert!(counters.host_read.source().contains("not valid"));
    assert_eq!(counters.power_on.known(), Some(Nanos::from_secs(3 * 3_600)));
    assert_eq!(counters.temperature_celsius.known(), Some(-5));
    assert_eq!(counters.overheated.known(), Some(Nanos::from_secs(120)));
    assert_eq!(counters.percentage_used.known(), Some(101));
    // Page 04h is not listed, and has no place to be read from.
    assert_eq!(counters.media_errors.known(), None);
    assert_eq!(counters.media_written.known(), None);
}

#[test]
fn a_page_that_bears_another_number_is_not_believed() {
    let mut drive = open();
    let mut list = page(0, &[]);
    list[8..10].copy_from_slice(&[1, 1]);
    drive.line.transport.extend([
        log_step(0, 0, directory()),
        log_step(4, 0, list),
        log_step(4, 1, page(5, &[(0x18, GOOD | 7)])),
    ]);
    assert_eq!(drive.counters().unwrap().host_written.known(), None);
}

#[test]
fn a_drive_without_statistics_has_no_counters() {
    let mut drive = open();
    drive.line.transport.extend([log_step(0, 0, vec![0; 512])]);
    let counters = drive.counters().unwrap();
    assert_eq!(counters.host_written.known(), None);
    drive.line.transport.assert_finished();
}
