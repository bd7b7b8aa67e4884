use trimbench_core::fault::FaultPlan;
use trimbench_core::{Blocks, Lba, Virtual};
use trimbench_ssd::TrimMode;

use super::*;
use crate::testing::{Lying, drive, says};

#[test]
fn the_shape_is_of_whole_units() {
    let shape =
        Shape::of(&says(Bytes(10_000_000), Bytes(4_096), Bytes(100_001)), Bytes(0)).unwrap();
    assert_eq!(shape.capacity, Bytes(9_998_336));
    assert_eq!(shape.discard_max, Bytes(98_304));
    let odd = Shape::of(&says(Bytes(1 << 20), Bytes(0), Bytes(u64::MAX)), Bytes(0)).unwrap();
    assert_eq!((odd.granularity, odd.discard_max), (Bytes(512), Bytes(1 << 20)));
}

#[test]
fn on_a_real_device_a_command_holds_what_a_request_of_the_kernel_does() {
    let mut says = says(Bytes::gib(64), Bytes(4_096), Bytes::gib(2_048));
    assert_eq!(Shape::of(&says, Bytes(0)).unwrap().discard_max, Bytes::gib(64));
    says.clock = Clock::Wall;
    let max = Shape::of(&says, Bytes(0)).unwrap().discard_max;
    assert_eq!(max, Bytes(Bytes::gib(4).0 - 4_096));
}

#[test]
fn discards_cover_all_bytes_once() {
    let shape = Shape::of(&says(Bytes(1 << 20), Bytes(512), Bytes(1 << 20)), Bytes(0)).unwrap();
    let ranges: Vec<(u64, u64)> = shape
        .discards(Bytes(1_024), Bytes(2_560), Bytes(1_024))
        .iter()
        .map(|command| match command {
            BlockCommand::Discard(range) => (range.start().0, range.length().0),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ranges, [(2, 2), (4, 2), (6, 1)]);
}

#[test]
fn counters_that_lag_are_waited_for_and_no_longer_than_stated() {
    let interrupt = Interrupt::default();
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.merged = 2;
    let mut target = Virtual::new(lying);
    let mut runner = DeviceRunner::new(&mut target, &interrupt);
    let before = runner.device.statistics();
    let range = LbaRange::new(Lba(0), Blocks(8)).unwrap();
    let discards = vec![BlockCommand::Discard(range); 4];
    runner.all("test", discards, 1).unwrap();
    let issued = ClassStatistics { completed: 2, bytes: Bytes(16_384), ..Default::default() };
    let from = runner.now();
    let mut step = Step::new("test", "test");
    assert_eq!(runner.discards_since(before, issued, &mut step).unwrap().completed, 2);
    assert_eq!(runner.now(), from, "what is there needs no waiting");
    assert!(step.caveats.is_empty());
    let issued = ClassStatistics { completed: 4, ..issued };
    assert_eq!(runner.discards_since(before, issued, &mut step).unwrap().completed, 2);
    assert_eq!(step.caveats, [Caveat::CommandsMerged.id()]);
    assert_eq!(runner.now() - from, COUNTERS_LAG);
}

#[test]
fn a_device_that_says_nothing_for_very_long_hangs() {
    let interrupt = Interrupt::default();
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.hangs = true;
    let mut target = Virtual::new(lying);
    let mut runner = DeviceRunner::new(&mut target, &interrupt);
    let range = LbaRange::new(Lba(0), Blocks(8)).unwrap();
    let error = runner.all("test", vec![BlockCommand::Discard(range)], 1).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Hung { outstanding: 1, .. })), "{error}");
}

#[test]
fn the_first_failure_ends_a_preparation_and_names_the_step() {
    let interrupt = Interrupt::default();
    let plan = FaultPlan { fail_from: Some(Instant::START), ..FaultPlan::default() };
    let mut target = Virtual::new(Lying::broken(drive(TrimMode::Queued), plan));
    let mut runner = DeviceRunner::new(&mut target, &interrupt);
    let area = runner.shape.area(Bytes(0), Bytes::mib(8));
    match runner.fill("step-7", area).unwrap_err() {
        MethodError::Broken { step, errno, .. } => {
            assert_eq!((step.as_str(), errno), ("step-7", Errno::EIO));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn after_a_failure_nothing_is_issued_and_nothing_stays_outstanding() {
    // When the first command fails, 7 are on their way, and 8 were not issued.
    let interrupt = Interrupt::default();
    let plan = FaultPlan { fail_from: Some(Instant::START), ..FaultPlan::default() };
    let mut slow = drive(TrimMode::Queued);
    slow.trim.per_gib_mapped = Nanos::from_secs(10);
    slow.trim.per_gib_unmapped = Nanos::from_secs(10);
    let mut target = Virtual::new(Lying::broken(slow, plan));
    let mut runner = DeviceRunner::new(&mut target, &interrupt);
    let discards = runner.shape.discards(Bytes(0), Bytes::mib(512), Bytes::mib(32));
    let error = runner.all("step-7", discards, 8).unwrap_err();
    assert!(matches!(error, MethodError::Broken { count: 8, .. }), "{error}");
    assert_eq!(runner.runner.outstanding(), 0);
}
