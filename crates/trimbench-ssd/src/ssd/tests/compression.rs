//! Compression: speed, amplification and over-provisioning of data that compresses.

use trimbench_core::trace_hash::TraceHash;

use super::physics::greedy_waf;
use super::*;
use crate::config::CompressionConfig;

const UNITS: u64 = 16_384;

pub(super) fn compressing() -> SsdConfig {
    SsdConfig { compression: Some(CompressionConfig { floor: Ppm(140_000) }), ..plain() }
}

fn write(range: LbaRange, percent: u8) -> BlockCommand {
    BlockCommand::Write { range, data: Data::Compressible(percent) }
}

#[test]
fn a_sequential_pass_of_half_the_data_takes_half_the_time() {
    let pass = |data: Data| {
        let mut target = drive(SsdConfig { write_buffer: Bytes(65_536), ..compressing() });
        let commands: Vec<_> = (0..960)
            .map(|group| BlockCommand::Write { range: units(group * 16, 16), data })
            .collect();
        let taken = times(&mut target, &commands).into_iter().max().unwrap();
        times(&mut target, &[BlockCommand::Flush]);
        target.model_mut().check();
        (taken, target.model().counters())
    };
    let (whole, counters) = pass(Data::Random);
    assert_eq!((counters.programmed_units, counters.saved_units), (15_360, 0));
    // One die, 65.536 channel + 600 program a group: the last one's program is not waited for.
    assert!(whole.abs_diff(959 * 665_536 / 1_000 + 161) < 10, "{whole}");
    let (half, counters) = pass(Data::Compressible(50));
    assert_eq!((counters.programmed_units, counters.saved_units), (7_680, 7_680));
    assert_eq!(counters.waf_since(&DriveCounters::default()), Some(0.5));
    // 480 programs, of which the last is not waited for; the first begins with the second group.
    assert!(half.abs_diff(479 * 665_536 / 1_000 + 292) < 10, "{half}");
    let (quarter, counters) = pass(Data::Compressible(25));
    assert_eq!(counters.waf_since(&DriveCounters::default()), Some(0.25));
    assert!(quarter.abs_diff(half / 2) < 200, "{quarter}");
}

#[test]
fn no_data_takes_less_than_the_floor() {
    let mut target = drive(compressing());
    for first in (0..6_400).step_by(320) {
        times(&mut target, &[write(units(first, 320), 0)]);
    }
    let counters = target.model().counters();
    assert_eq!(counters.waf_since(&DriveCounters::default()), Some(0.14));
    // A superblock holds 457 units; 2 hundredths of one are left over in each of the 14 full ones.
    let saved = counters.host_written_units - counters.programmed_units + 1;
    assert_eq!((counters.padding_units, counters.saved_units), (1, saved));
}

#[test]
fn compressible_data_amplifies_as_at_the_larger_over_provisioning() {
    for (percent, held) in [(50, 128), (80, 80), (25, 256)] {
        let config = SsdConfig {
            capacity: Bytes::mib(256),
            over_provisioning: Ppm(70_000),
            ..compressing()
        };
        let count = config.exported_units();
        // Superblocks of 64 units of flash, the reserve left out.
        let physical = (config.superblocks() - 3) as f64 * 64.0;
        let alpha = physical / count as f64 * 100.0 / f64::from(percent);
        let mut ssd = config.build().unwrap();
        let mut rng = Rng::new(3);
        let data = Data::Compressible(percent);
        let units = u32::try_from(count).unwrap();
        ssd.fill((0..units).map(PreconditionStep::Write), data);
        ssd.fill((0..count * 8).map(|_| PreconditionStep::Write(narrow(rng.below(count)))), data);
        let before = ssd.counters();
        ssd.fill((0..count * 4).map(|_| PreconditionStep::Write(narrow(rng.below(count)))), data);
        let waf = ssd.counters().waf_since(&before).unwrap();
        ssd.check();
        let expected = greedy_waf(alpha, held) * f64::from(percent) / 100.0;
        assert!((waf / expected - 1.0).abs() < 0.02, "{percent}: {waf}, expected {expected}");
    }
}

/// A hash over the completions of random writes, reads, discards and flushes.
fn hash(config: SsdConfig, data: Data) -> (u64, DriveCounters) {
    let mut target = full(config);
    target.model_mut().precondition_random(20_000, &mut Rng::new(9));
    let (mut rng, mut hash) = (Rng::new(4), TraceHash::default());
    let commands = (0..6_000).map(|_| {
        let range = units(rng.below(UNITS - 40), 1 + rng.below(40));
        match rng.below(20) {
            0 => BlockCommand::Discard(range),
            1 => BlockCommand::Flush,
            2..5 => BlockCommand::Read(range),
            _ => BlockCommand::Write { range, data },
        }
    });
    let out = run_in_turn(&mut target, 8, commands);
    target.model_mut().check();
    for completion in &out {
        hash.word(completion.tag.0.into());
        hash.instant(completion.at);
    }
    (hash.value(), target.model().counters())
}

#[test]
fn data_that_does_not_compress_is_written_as_by_any_other_drive() {
    let plainly = hash(plain(), Data::Random);
    assert_eq!(hash(compressing(), Data::Random), plainly);
    assert_eq!(hash(compressing(), Data::Stamped(1)), plainly);
    assert_eq!(hash(compressing(), Data::Compressible(100)), plainly);
    assert_eq!(hash(plain(), Data::Compressible(50)), plainly, "a drive that does not compress");
    assert_ne!(hash(compressing(), Data::Compressible(50)).0, plainly.0);
}

/// What model version 3 does with these commands on a drive that has neither cache nor compression.
#[test]
fn a_drive_with_neither_keeps_its_times() {
    let modes = [TrimMode::Queued, TrimMode::Background, TrimMode::Blocking];
    let found = modes.map(|mode| hash(SsdConfig { trim: trim(mode), ..plain() }, Data::Random).0);
    let expected = [0x1e9d_5308_37a2_9abf, 0x9338_b795_1bc6_9fe1, 0xb78d_4074_58f5_3f5d];
    assert_eq!(found, expected);
}

#[test]
fn mixed_data_keeps_every_invariant() {
    let mut target = drive(compressing());
    let mut rng = Rng::new(8);
    for round in 0..20_000 {
        let percent = u8::try_from(rng.below(101)).unwrap();
        let range = units(rng.below(UNITS - 8), 1 + rng.below(8));
        let command = if round % 50 == 0 { BlockCommand::Flush } else { write(range, percent) };
        times(&mut target, &[command]);
        if round % 1_000 == 0 {
            target.model_mut().check();
        }
    }
    // A drive full of it, then of data that does not compress.
    for first in (0..UNITS).step_by(128) {
        times(&mut target, &[BlockCommand::write(units(first, 128))]);
    }
    target.model_mut().check();
    assert_eq!(target.model_mut().mapped_units(), UNITS);
}
