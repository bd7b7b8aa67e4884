//! `NVMe` against images built here from the specification's offsets, and procedures against a
//! script.

use trimbench_core::{BlockSize, Blocks, Bytes, Errno, Lba, LbaRange, Nanos, Ppm};

use super::drive::NvmeDrive;
use crate::passthrough::script::{Script, Step};
use crate::passthrough::{
    DeallocateError, PassthroughError, Protocol as _, PurgeError, PurgeObstacle, ReportedPurge,
    ReportedTrimmedReads,
};

mod purge;

/// Success, and the field "do not retry".
const OK: Result<u16, Errno> = Ok(0);
const INVALID_FIELD: Result<u16, Errno> = Ok(0x4002);
const INVALID_LOG: Result<u16, Errno> = Ok(0x4109);

/// An image with bytes put at offsets.
fn image(length: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut image = vec![0; length];
    for (at, bytes) in parts {
        image[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    image
}

/// A controller: all sanitize actions, format with crypto erase, DSM, UUID list, HCTM.
fn controller() -> Vec<u8> {
    image(
        4096,
        &[
            (4, b"S3RIAL              "),
            (24, b"Model X                                 "),
            (64, b"FW01    "),
            (96, &[0, 2]),            // CTRATT bit 9
            (256, &[0b0010, 0]),      // OACS: format
            (266, &[0x57, 0x01]),     // WCTEMP 343 K
            (322, &[1, 0]),           // HCTMA
            (328, &[0b111, 0, 0, 0]), // SANICAP
            (516, &[1, 0, 0, 0]),     // NN
            (520, &[0b100, 0]),       // ONCS: DSM
            (524, &[0b100]),          // FNA: crypto erase
            (768, b"nqn.2014.org.nvmexpress:uuid:1"),
        ],
    )
}

/// 1,000,000 blocks; formats 512+0, 4096+8 (in use, metadata extended, PI type 2 at the start).
fn namespace() -> Vec<u8> {
    image(
        4096,
        &[
            (0, &1_000_000_u64.to_le_bytes()),
            (24, &[1 << 4]),             // OPTPERF
            (25, &[1]),                  // two formats
            (26, &[0x11]),               // format 1, extended
            (29, &[0b1010]),             // PI 2, first bytes
            (33, &[0b1_1001]),           // zeroes, write zeroes, guard CRC
            (68, &[31, 0, 7, 0, 63, 0]), // NPDG 32, NPDA 8, NOWS 64
            (104, &[1; 16]),
            (120, &[2; 8]),
            (128, &[0, 0, 9, 2]),
            (132, &[8, 0, 12, 0]),
        ],
    )
}

fn limits(ranges: u8, range_blocks: u32, blocks: u64) -> Vec<u8> {
    let range_blocks = range_blocks.to_le_bytes();
    image(4096, &[(3, &[ranges]), (4, &range_blocks), (8, &blocks.to_le_bytes())])
}

fn step(sent: (u8, u32, u32, u32), data: Vec<u8>, answer: Result<u16, Errno>) -> Step {
    Step::Nvme { sent, data, answer }
}

fn look() -> [Step; 2] {
    [step((6, 0, 1, 0), controller(), OK), step((6, 7, 0, 0), namespace(), OK)]
}

fn open_with(limits: Vec<u8>, answer: Result<u16, Errno>) -> NvmeDrive<Script> {
    let script = Script::new(look().into_iter().chain([step((6, 0, 6, 0), limits, answer)]));
    NvmeDrive::open(script, 7).unwrap()
}

fn open() -> NvmeDrive<Script> {
    open_with(limits(0, 0, 0), OK)
}

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).unwrap()
}

#[test]
fn identity_is_read_from_its_offsets() {
    let drive = open();
    let identity = drive.identity();
    assert_eq!((identity.model.as_str(), identity.serial.as_str()), ("Model X", "S3RIAL"));
    assert_eq!(identity.firmware, "FW01");
    assert_eq!(identity.capacity, Blocks(1_000_000));
    assert_eq!(identity.logical_block.bytes(), Bytes(4096));
    assert_eq!(identity.format_index, Some(1));
    assert_eq!(identity.formats.len(), 2);
    assert_eq!(identity.formats[0].block, Some(BlockSize::SECTOR));
    assert_eq!(identity.formats[0].relative_performance, 2);
    assert_eq!(identity.formats[1].metadata, Bytes(8));
    assert_eq!(identity.nqn.as_deref(), Some("nqn.2014.org.nvmexpress:uuid:1"));
    assert_eq!((identity.nguid, identity.eui64), (Some([1; 16]), Some([2; 8])));
}

#[test]
fn promise_is_dlfeat_and_the_limits() {
    let promise = *open_with(limits(16, 1 << 20, 1 << 22), OK).promise();
    assert!(promise.supported);
    assert_eq!((promise.deterministic, promise.reads), (Some(true), ReportedTrimmedReads::Zeroes));
    assert_eq!((promise.ranges_max, promise.range_blocks_max), (16, 1 << 20));
    assert_eq!(promise.command_blocks_max, Some(1 << 22));
    assert_eq!(promise.granularity, Some(Blocks(32)));
    assert_eq!((promise.alignment, promise.optimal_write), (Some(Blocks(8)), Some(Blocks(64))));
    assert_eq!((promise.write_zeroes_deallocates, promise.guard_is_crc), (Some(true), Some(true)));
}

#[test]
fn a_controller_without_limits_takes_256_ranges() {
    for (limits, answer) in [(limits(0, 0, 0), OK), (Vec::new(), INVALID_FIELD)] {
        let promise = *open_with(limits, answer).promise();
        assert_eq!(promise.ranges_max, 256);
        assert_eq!(promise.range_blocks_max, u64::from(u32::MAX));
        assert_eq!(promise.command_blocks_max, None);
    }
}

#[test]
fn an_inactive_namespace_is_refused() {
    let script =
        Script::new([step((6, 0, 1, 0), controller(), OK), step((6, 7, 0, 0), vec![0; 4096], OK)]);
    let error = NvmeDrive::open(script, 7).unwrap_err();
    assert!(matches!(error, PassthroughError::Malformed { .. }), "{error}");
}

#[test]
fn a_refusal_by_the_kernel_says_what_is_missing() {
    let script = Script::new([step((6, 0, 1, 0), Vec::new(), Err(Errno(1)))]);
    let error = NvmeDrive::open(script, 7).unwrap_err();
    assert!(error.to_string().contains("CAP_SYS_ADMIN"), "{error}");
}

#[test]
fn statuses_have_names() {
    let failed = PassthroughError::Nvme { command: "Sanitize", status: super::NvmeStatus(0x401d) };
    let text = "the drive answered `Sanitize` with Sanitize In Progress (SCT 0h, SC 1dh, do not \
                retry)";
    assert_eq!(failed.to_string(), text);
    // Retry delay and "more" are no part of the code.
    assert!(super::NvmeStatus(0x3800).is_success());
}

#[test]
fn deallocation_is_one_command_with_its_ranges() {
    let mut drive = open();
    drive.transport.extend([step((9, 7, 1, 4), Vec::new(), OK)]);
    drive.deallocate(&[range(0x10, 0x20), range(0x1234, 1)]).unwrap();
    drive.transport.assert_finished();
    let list = &drive.transport.written[0];
    assert_eq!(list.len(), 4096);
    assert_eq!(list[..16], [0, 0, 0, 0, 0x20, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(list[16..32], [0, 0, 0, 0, 1, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0]);
    assert!(list[32..].iter().all(|&byte| byte == 0));
}

#[test]
fn what_one_command_cannot_carry_is_not_sent() {
    let mut drive = open_with(limits(2, 100, 150), OK);
    let three: Vec<_> = (0..3).map(|index| range(index * 10, 1)).collect();
    let error = drive.deallocate(&three).unwrap_err();
    assert_eq!(error, DeallocateError::TooManyRanges { given: 3, limit: 2 });
    let error = drive.deallocate(&[range(0, 151)]).unwrap_err();
    assert_eq!(error, DeallocateError::TooManyBlocks { given: 151, limit: 150 });
    let error = drive.deallocate(&[range(999_999, 2)]).unwrap_err();
    assert_eq!(error, DeallocateError::BeyondEnd { end: 1_000_001, capacity: 1_000_000 });
    assert_eq!(drive.deallocate(&[]).unwrap_err(), DeallocateError::Empty);
    drive.transport.assert_finished();
}

fn smart_log() -> Vec<u8> {
    image(
        512,
        &[
            (1, &[0x3c, 0x01]), // 316 K
            (3, &[99]),
            (5, &[3]),
            (32, &[4]),
            (48, &[0, 1]), // 256 units
            (128, &[10]),
            (144, &[11]),
            (160, &[12]),
            (192, &[2, 0, 0, 0]),
            (224, &[5, 0, 0, 0]),
            (228, &[6, 0, 0, 0]),
        ],
    )
}

fn ocp_log() -> Vec<u8> {
    let guid = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5_u128.to_le_bytes();
    image(512, &[(0, &[0, 0, 0, 0, 1]), (96, &[8]), (496, &guid)])
}

/// OCP's UUID as the second of the list.
fn uuid_list() -> Vec<u8> {
    let uuid = 0xC194_D55B_E094_4794_A21D_2999_8F56_BE6F_u128.to_be_bytes();
    image(4096, &[(32 + 16, &[9; 16]), (64 + 16, &uuid)])
}

/// 512 bytes of a log for all namespaces, with its event retained.
fn log(number: u32) -> (u8, u32, u32, u32) {
    (2, u32::MAX, 0x007f_8000 | number, 0)
}

#[test]
fn counters_come_with_their_units() {
    let mut drive = open();
    drive.transport.extend([
        step(log(0x02), smart_log(), OK),
        step((6, 0, 0x17, 0), uuid_list(), OK),
        step(log(0xc0), ocp_log(), OK),
    ]);
    let counters = drive.counters().unwrap();
    drive.transport.assert_finished();
    assert_eq!(counters.host_written.known(), Some(Bytes(256 * 512_000)));
    assert_eq!(counters.host_read.known(), Some(Bytes(4 * 512_000)));
    assert_eq!(counters.media_written.known(), Some(Bytes(1 << 32)));
    assert_eq!(counters.percentage_used.known(), Some(3));
    assert_eq!(counters.available_spare.known(), Some(99));
    assert_eq!(counters.temperature_celsius.known(), Some(43));
    assert_eq!(counters.throttled_light.known(), Some(Nanos::from_secs(5)));
    assert_eq!(counters.throttled_heavy.known(), Some(Nanos::from_secs(6)));
    assert_eq!(counters.overheated.known(), Some(Nanos::from_secs(120)));
    assert_eq!(counters.throttle_events.known(), Some(8));
    assert_eq!(counters.power_on.known(), Some(Nanos::from_secs(36_000)));
    assert_eq!(counters.unsafe_shutdowns.known(), Some(11));
    assert_eq!(counters.media_errors.known(), Some(12));
}

#[test]
fn a_foreign_log_c0h_is_not_believed() {
    let mut foreign = ocp_log();
    foreign[511] ^= 1;
    for (data, answer) in [(foreign, OK), (Vec::new(), INVALID_LOG), (Vec::new(), Ok(0x06))] {
        let mut drive = open();
        drive.transport.extend([
            step(log(0x02), smart_log(), OK),
            step((6, 0, 0x17, 0), uuid_list(), INVALID_FIELD),
            step(log(0xc0), data, answer),
        ]);
        let counters = drive.counters().unwrap();
        assert_eq!(counters.media_written.known(), None);
        assert!(counters.media_written.source().contains("C0h"));
        assert!(counters.host_written.known().is_some());
    }
}

#[test]
fn zero_and_too_large_are_no_figures() {
    let mut drive = open();
    let mut smart = smart_log();
    smart[48..64].fill(0);
    smart[32..48].fill(0xff);
    drive.transport.extend([
        step(log(0x02), smart, OK),
        step((6, 0, 0x17, 0), uuid_list(), OK),
        step(log(0xc0), Vec::new(), INVALID_LOG),
    ]);
    let counters = drive.counters().unwrap();
    assert!(matches!(
        counters.host_written,
        crate::passthrough::HealthCounter::NotAvailable { .. }
    ));
    assert!(matches!(counters.host_read, crate::passthrough::HealthCounter::TooLarge { .. }));
}
