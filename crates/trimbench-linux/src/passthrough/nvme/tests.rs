//! `NVMe` against images built here from the specification's offsets, and procedures against a
//! script.

use trimbench_core::{Bytes, Errno, Nanos, TrimPromise, Wear};

use super::drive::NvmeDrive;
use crate::passthrough::Protocol as _;
use crate::passthrough::error::{PassthroughError, PurgeError, PurgeObstacle};
use crate::passthrough::purge::ReportedPurge;
use crate::passthrough::tests::script::{Script, Step};

mod purge;
mod read_logs;

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

/// A controller: all sanitize actions, format with crypto erase, DSM, UUID list.
fn controller() -> Vec<u8> {
    image(
        4096,
        &[
            (4, b"S3RIAL              "),
            (24, b"Model X                                 "),
            (96, &[0, 2]),            // CTRATT bit 9
            (256, &[0b0010, 0]),      // OACS: format
            (328, &[0b111, 0, 0, 0]), // SANICAP
            (516, &[1, 0, 0, 0]),     // NN
            (520, &[0b100, 0]),       // ONCS: DSM
            (524, &[0b100]),          // FNA: crypto erase
        ],
    )
}

/// 1,000,000 blocks; formats 512+0, 4096+8 (in use, metadata extended, PI type 2 at the start).
fn namespace() -> Vec<u8> {
    image(
        4096,
        &[
            (0, &1_000_000_u64.to_le_bytes()),
            (25, &[1]),        // two formats
            (26, &[0x11]),     // format 1, extended
            (29, &[0b1010]),   // PI 2, first bytes
            (33, &[0b1_1001]), // zeroes, write zeroes, guard CRC
            (104, &[1; 16]),
            (128, &[0, 0, 9, 2]),
            (132, &[8, 0, 12, 0]),
        ],
    )
}

fn step(sent: (u8, u32, u32, u32), data: Vec<u8>, answer: Result<u16, Errno>) -> Step {
    Step::Nvme { sent, data, answer }
}

fn look() -> [Step; 2] {
    [step((6, 0, 1, 0), controller(), OK), step((6, 7, 0, 0), namespace(), OK)]
}

fn open() -> NvmeDrive<Script> {
    NvmeDrive::open(Script::new(look()), 7).unwrap()
}

#[test]
fn identity_is_read_from_its_offsets() {
    let drive = open();
    let identity = drive.identity();
    assert_eq!((identity.model.as_str(), identity.serial.as_str()), ("Model X", "S3RIAL"));
    assert_eq!((identity.namespace, identity.nguid), (Some(7), Some([1; 16])));
    assert_eq!(drive.namespace.logical_block.unwrap().bytes(), Bytes(4096));
}

#[test]
fn promise_is_dlfeat() {
    for (dlfeat, oncs, promise) in [
        (0b1_1001, 0b100, TrimPromise::Zeroes),
        (0b010, 0b100, TrimPromise::Ones),
        (0b000, 0b100, TrimPromise::Deterministic),
        (0b001, 0b000, TrimPromise::Unknown),
    ] {
        let (mut controller, mut namespace) = (controller(), namespace());
        (controller[520], namespace[33]) = (oncs, dlfeat);
        let look = [step((6, 0, 1, 0), controller, OK), step((6, 7, 0, 0), namespace, OK)];
        assert_eq!(NvmeDrive::open(Script::new(look), 7).unwrap().promise(), promise);
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

/// 256 units written by the host.
fn smart_log() -> Vec<u8> {
    image(512, &[(48, &[0, 1])])
}

fn ocp_log() -> Vec<u8> {
    let guid = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5_u128.to_le_bytes();
    image(512, &[(0, &[0, 0, 0, 0, 1]), (496, &guid)])
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

/// What the drive says of its wear, with these logs.
fn wear(smart: Vec<u8>, ocp: Vec<u8>, answer: Result<u16, Errno>) -> Option<Wear> {
    let mut drive = open();
    drive.transport.extend([
        step(log(0x02), smart, OK),
        step((6, 0, 0x17, 0), uuid_list(), OK),
        step(log(0xc0), ocp, answer),
    ]);
    let wear = drive.wear();
    drive.transport.assert_finished();
    wear
}

#[test]
fn counters_come_with_their_units() {
    let (host_written, media_written) = (Bytes(256 * 512_000), Bytes(1 << 32));
    assert_eq!(wear(smart_log(), ocp_log(), OK), Some(Wear { host_written, media_written }));
}

#[test]
fn a_list_of_uuids_that_is_refused_is_no_list() {
    let mut drive = open();
    drive.transport.extend([
        step(log(0x02), smart_log(), OK),
        step((6, 0, 0x17, 0), Vec::new(), INVALID_FIELD),
        step(log(0xc0), ocp_log(), OK),
    ]);
    assert!(drive.wear().is_some());
}

#[test]
fn a_foreign_log_c0h_is_not_believed() {
    let mut foreign = ocp_log();
    foreign[511] ^= 1;
    for (data, answer) in [(foreign, OK), (Vec::new(), INVALID_LOG), (Vec::new(), Ok(0x06))] {
        assert_eq!(wear(smart_log(), data, answer), None);
    }
}

#[test]
fn zero_and_too_large_are_no_figures() {
    let smart = |byte| image(512, &[(48, &[byte; 16])]);
    assert_eq!(wear(smart(0), ocp_log(), OK), None);
    assert_eq!(wear(smart(0xff), ocp_log(), OK), None);
    // 2^64 units of 512,000 bytes do not wrap.
    assert_eq!(wear(image(512, &[(56, &[1])]), ocp_log(), OK), None);
    let mut ocp = ocp_log();
    ocp[8] = 1;
    assert_eq!(wear(smart_log(), ocp, OK), None);
}
