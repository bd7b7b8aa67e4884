//! Mapping units of more than 4 KiB.

use trimbench_core::rng::Rng;
use trimbench_core::{Content, Data, Drive as _};

use super::physics::greedy_waf;
use super::*;

/// With units of so many KiB.
pub(super) fn mapping(kib: u64) -> SsdConfig {
    let unit = Bytes::kib(kib);
    let geometry = Geometry { superblock: Bytes(64 * unit.0), ..plain().geometry };
    SsdConfig { mapping_unit: unit, geometry, ..plain() }
}

/// So many logical blocks of 512 bytes.
fn blocks(first: u64, count: u64) -> LbaRange {
    LbaRange::new(Lba(first), Blocks(count)).unwrap()
}

/// Writes of w bytes program a unit each: their write amplification is unit / w times that of
/// collection. Those of two sizes in equal numbers have the mean in place of w. Source: [RAGH23].
#[test]
fn writes_below_a_unit_amplify_by_all_of_it() {
    for (kib, sizes, over_provisioning) in [
        (16, [4, 4], Ppm(70_000)),
        (16, [16, 16], Ppm(280_000)),
        (16, [4, 16], Ppm(280_000)),
        (64, [4, 4], Ppm(280_000)),
        (64, [16, 16], Ppm(70_000)),
        (64, [4, 16], Ppm(70_000)),
    ] {
        let capacity = Bytes::mib(64 * kib);
        let config = SsdConfig { capacity, over_provisioning, ..mapping(kib) };
        let (count, mut rng) = (config.exported_units(), Rng::new(3));
        // Whole superblocks, and the half that the collector has open.
        let physical = (count + over_provisioning.of(count)).div_ceil(64) * 64 + 32;
        let mut target = drive(config);
        target.model_mut().precondition_random(10 * count, &mut rng);
        let before = target.model().counters();
        let writes: Vec<_> = (0..3 * count)
            .map(|number| {
                let size = sizes[usize::try_from(number % 2).unwrap()] * 2;
                let parts = kib * 2 / size;
                let first = rng.below(count) * kib * 2 + rng.below(parts) * size;
                BlockCommand::write(blocks(first, size))
            })
            .collect();
        run_in_turn(&mut target, 32, writes);
        let mean = (sizes[0] + sizes[1]) as f64 / 2.0;
        let expected = kib as f64 / mean * greedy_waf(physical as f64 / count as f64, 64);
        let amplification = target.model().counters().waf_since(&before).unwrap();
        let error = amplification / expected - 1.0;
        assert!(error.abs() <= 0.005, "{sizes:?} of {kib} KiB: {amplification}, {expected}");
        target.model_mut().check();
    }
}

#[test]
fn a_write_of_a_part_reads_the_unit_and_a_read_takes_only_its_part() {
    let mut target = full(mapping(64));
    // 10 command + 8.192 link, then 50 die + 65.536 channel for the unit, and 20 latency.
    assert_eq!(times(&mut target, &[BlockCommand::write(units(0, 1))]), [153]);
    // All of a unit needs no read: 10 + 131.072 + 20.
    assert_eq!(times(&mut target, &[BlockCommand::write(units(16, 16))]), [161]);
    // As with small units: 10 command + 50 die + 4.096 channel + 8.192 link + 20 latency.
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    assert_eq!(times(&mut target, &[read(100)]), [92]);
    // Across a border: 8 KiB of two units of two groups.
    let counters = target.model().counters();
    times(&mut target, &[BlockCommand::Read(units(15, 2))]);
    assert_eq!(target.model().counters().host_read_units - counters.host_read_units, 2);
}

#[test]
fn a_trim_frees_whole_units_and_the_drive_says_so() {
    let mut target = full(mapping(16));
    let all = target.model_mut().mapped_units();
    assert_eq!(target.capabilities().discard_granularity, Bytes::kib(16));
    times(&mut target, &[BlockCommand::Discard(units(1, 6))]);
    assert_eq!(target.model_mut().mapped_units(), all, "no unit is covered");
    times(&mut target, &[BlockCommand::Discard(units(1, 8))]);
    assert_eq!(target.model_mut().mapped_units(), all - 1, "units 1 to 8 cover 4 to 7");
    assert!(!target.model_mut().holds_data(Bytes::kib(28)));
    assert!(target.model_mut().holds_data(Bytes::kib(32)));
    for kib in [16, 64] {
        let mut target = full(mapping(kib));
        let all = target.model_mut().mapped_units();
        let by = |pieces: u64| {
            (0..16_384 / pieces).map(move |it| BlockCommand::Discard(units(it * pieces, pieces)))
        };
        run_in_turn(&mut target, 32, by(1));
        assert_eq!(target.model_mut().mapped_units(), all, "no unit of {kib} KiB is covered");
        run_in_turn(&mut target, 32, by(kib / 4));
        assert_eq!(target.model_mut().mapped_units(), 0, "each unit of {kib} KiB is");
    }
    // A larger granularity of the drive's own stays as it is.
    let trim = TrimConfig { granularity: Bytes::kib(64), ..plain().trim };
    assert_eq!(SsdConfig { trim, ..mapping(16) }.discard_granularity(), Bytes::kib(64));
}

#[test]
fn what_is_trimmed_and_written_in_part_reads_as_zeroes_beside_it() {
    let mut target = drive(mapping(16));
    let stamped =
        |range, generation| BlockCommand::Write { range, data: Data::Stamped(generation) };
    times(&mut target, &[stamped(units(0, 8), 1)]);
    times(&mut target, &[BlockCommand::Discard(units(0, 4)), stamped(units(1, 1), 2)]);
    let mut found = Vec::new();
    target.model_mut().examine(units(0, 8), &mut found).unwrap();
    for (block, content) in found.into_iter().enumerate() {
        let lba = Lba(block as u64);
        let expected = match block / 8 {
            1 => Content::Stamp { lba, generation: 2 },
            0 | 2 | 3 => Content::Zeroes,
            _ => Content::Stamp { lba, generation: 1 },
        };
        assert_eq!(content, expected, "{block}");
    }
}

#[test]
fn a_power_cut_takes_units_back_as_a_whole() {
    let mut target = drive(mapping(16));
    let stamped =
        |range, generation| BlockCommand::Write { range, data: Data::Stamped(generation) };
    times(&mut target, &[stamped(units(0, 4), 1), BlockCommand::Flush]);
    times(&mut target, &[stamped(units(2, 1), 2)]);
    trimbench_core::Drive::power_cut(target.model_mut()).unwrap();
    let mut found = Vec::new();
    target.model_mut().examine(units(0, 4), &mut found).unwrap();
    let stamps = (0..32).map(|block| Content::Stamp { lba: Lba(block), generation: 1 });
    assert!(found.into_iter().eq(stamps), "the write had not left the buffer");
}

#[test]
fn the_buffer_takes_overwrites_in_by_units() {
    let mut target = drive(SsdConfig { buffer_overwrites: true, ..mapping(16) });
    times(&mut target, &[BlockCommand::write(units(0, 1)), BlockCommand::write(units(3, 1))]);
    let counters = target.model().counters();
    assert_eq!((counters.host_written_units, counters.absorbed_units), (2, 1));
    assert_eq!((counters.host_written, counters.programmed), (Bytes::kib(8), Bytes::kib(16)));
}
