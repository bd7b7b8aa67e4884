//! Telemetry built as OCP's own scripts and nvme-cli build and read it.

use crate::error::LogPageError;
use crate::ocp::telemetry::{HEADER_BYTES, STATISTICS_MAX, read, statistics, statistics_range};
use crate::{DriveSummary, LogValue};

/// Where the statistics are written, and what the header says of it.
struct Telemetry {
    /// First byte in the log.
    at: usize,
    /// What the header says, in dwords.
    start: u64,
    dwords: u64,
    blocks: u16,
    statistics: Vec<u8>,
}

impl Telemetry {
    fn new(at: usize, start: usize, statistics: Vec<u8>) -> Self {
        let dwords = (statistics.len() / 4) as u64;
        Self { at, start: (start / 4) as u64, dwords, blocks: 32, statistics }
    }

    /// nvme-cli, `struct nvme_ocp_telemetry_common_header` and `struct nvme_ocp_header_in_da1`.
    fn bytes(&self) -> Vec<u8> {
        let mut log = vec![0; 512 + usize::from(self.blocks) * 512];
        log[0] = 0x07;
        log[8..10].copy_from_slice(&self.blocks.to_le_bytes());
        let area = &mut log[512..];
        (area[0], area[2]) = (3, 1);
        let guid = 0xBA56_0A9C_3043_424C_BC73_719D_87E6_4EFA_u128;
        area[16..32].copy_from_slice(&guid.to_le_bytes());
        area[96..104].copy_from_slice(&self.start.to_le_bytes());
        area[104..112].copy_from_slice(&self.dwords.to_le_bytes());
        log[self.at..self.at + self.statistics.len()].copy_from_slice(&self.statistics);
        log
    }

    fn read(&self) -> Result<crate::DecodedPage, LogPageError> {
        let log = self.bytes();
        let range = statistics_range(&log[..HEADER_BYTES])?;
        read(&log[..HEADER_BYTES], &log[range])
    }
}

/// nvme-cli, `struct nvme_ocp_telemetry_statistic_descriptor`, and its data.
fn statistic(id: u16, namespace: u8, data: &[u32]) -> Vec<u8> {
    let [low, high] = id.to_le_bytes();
    let mut bytes = vec![low, high, 0x05, namespace];
    bytes.extend(u16::try_from(data.len()).unwrap().to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend(data.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn usual() -> Vec<u8> {
    [
        statistic(0x01, 0, &[3]),
        statistic(0x09, 0, &[0x89ab_cdef, 0x4567]),
        statistic(0x0a, 0, &[77, 0]),
        statistic(0x8001, 0, &[1, 2, 3, 4, 5, 6]),
        statistic(0x13, 0, &[0, 1]),
    ]
    .concat()
}

#[test]
fn pending_trim_is_read_wherever_the_start_is_counted_from() {
    // From the start of the log, as OCP's scripts; from the start of area 1, as nvme-cli.
    for (at, start) in [(2048, 2048), (2048, 1536), (2560, 2048)] {
        let page = Telemetry::new(at, start, usual()).read().unwrap();
        assert_eq!(page.number("pending-trim-blocks"), Some(0x4567_89ab_cdef), "{at} {start}");
        assert_eq!(page.number("host-trim-request-blocks"), Some(77));
        assert_eq!(page.number("garbage-collection-write-bytes"), Some(1 << 32));
        assert_eq!((page.version, page.number("minor-version")), (Some(3), Some(1)));
        let summary = DriveSummary::of(&[page]);
        assert_eq!(summary.pending_trim_blocks, Some(0x4567_89ab_cdef));
        assert_eq!(summary.requested_trim_blocks, Some(77));
    }
}

#[test]
fn statistics_that_can_be_read_in_two_ways_are_not_believed() {
    let mut telemetry = Telemetry::new(2048, 2048, usual());
    telemetry.statistics.resize(512, 0);
    telemetry.statistics.extend(statistic(0x09, 0, &[5, 0]));
    telemetry.dwords = (usual().len() / 4) as u64;
    let error = telemetry.read().unwrap_err();
    assert!(error.to_string().contains("in two ways"), "{error}");
}

#[test]
fn a_long_list_is_not_mistaken_for_its_own_end() {
    // Descriptions of 16 bytes: 512 bytes further on is another one.
    let list: Vec<u8> = (0..64).flat_map(|index| statistic(0x100 + index, 0, &[1, 2])).collect();
    let list = [list, usual()].concat();
    let page = Telemetry::new(2048, 2048, list).read().unwrap();
    assert_eq!(page.number("pending-trim-blocks"), Some(0x4567_89ab_cdef));
}

#[test]
fn namespaces_add_up_where_the_drive_says_nothing_of_the_whole() {
    let by_namespace = [statistic(0x09, 0x81, &[5, 0]), statistic(0x09, 0x82, &[6, 0])].concat();
    let page = Telemetry::new(2048, 2048, by_namespace.clone()).read().unwrap();
    assert_eq!(page.number("pending-trim-blocks"), Some(11));
    let with_whole = [by_namespace, statistic(0x09, 0, &[12, 0])].concat();
    let page = Telemetry::new(2048, 2048, with_whole).read().unwrap();
    assert_eq!(page.number("pending-trim-blocks"), Some(12));
    let huge = [
        statistic(0x09, 0x81, &[u32::MAX, u32::MAX]),
        statistic(0x09, 0x82, &[u32::MAX, u32::MAX]),
    ];
    let page = Telemetry::new(2048, 2048, huge.concat()).read().unwrap();
    assert_eq!(page.get("pending-trim-blocks"), Some(&LogValue::Saturated));
}

#[test]
fn places_outside_the_area_have_no_statistics() {
    let mut telemetry = Telemetry::new(2048, 2048, usual());
    for (start, dwords) in [
        (u64::MAX, 1),
        (u64::MAX / 4, u64::MAX / 4),
        (0, 10),
        (512, u64::MAX),
        (512, 100_000),
        (100_000, 4),
        (512, 0),
    ] {
        (telemetry.start, telemetry.dwords) = (start, dwords);
        let log = telemetry.bytes();
        let header = &log[..HEADER_BYTES];
        let range = statistics_range(header).unwrap();
        assert!(range.is_empty(), "{start} {dwords}: {range:?}");
        assert_eq!(statistics(header, &[]), Ok(Vec::new()));
        assert!(read(header, &[]).unwrap().get("pending-trim-blocks").is_none());
    }
    // A large area is bounded.
    (telemetry.start, telemetry.dwords, telemetry.blocks) = (512, 1_000_000, u16::MAX);
    let log = telemetry.bytes();
    let range = statistics_range(&log[..HEADER_BYTES]).unwrap();
    assert_eq!(range, 2048..2048 + STATISTICS_MAX);
}

#[test]
fn telemetry_that_is_not_ocps_is_refused() {
    let mut log = Telemetry::new(2048, 2048, usual()).bytes();
    log[512 + 16] ^= 1;
    let error = statistics_range(&log[..HEADER_BYTES]).unwrap_err();
    assert!(matches!(error, LogPageError::WrongGuid { .. }), "{error}");
    log[512 + 16] ^= 1;
    log[512] = 9;
    let error = read(&log[..HEADER_BYTES], &[]).unwrap_err();
    assert_eq!(error.to_string(), "`ocp-telemetry` has version 9; trimbench knows 1 to 3");
}
