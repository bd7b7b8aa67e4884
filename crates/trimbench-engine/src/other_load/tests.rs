use trimbench_core::Virtual;

use super::*;
use crate::testing::{Toy, ToyFiles};

fn statistics(read: u64, written: u64) -> DeviceStatistics {
    let mut statistics = DeviceStatistics::default();
    (statistics.read.bytes, statistics.write.bytes) = (Bytes(read), Bytes(written));
    statistics
}

#[test]
fn others_count_from_a_tenth_on_a_device_and_from_a_half_in_a_directory() {
    let mut device = Toy::new();
    device.capabilities.clock = Clock::Wall;
    let device = Virtual::new(device);
    let directory = Virtual::new(ToyFiles::new());
    let mib = |count: u64| count << 20;
    let spoiled = |ours: u64, others: u64| {
        let before = OtherLoad::before(statistics(7, 9));
        let after = statistics(7 + ours / 2, 9 + ours - ours / 2 + others);
        [
            before.caveat(&device, after, Bytes(ours)).is_some(),
            before.caveat(&directory, after, Bytes(ours)).is_some(),
        ]
    };
    assert_eq!(spoiled(0, mib(1)), [false, false], "any machine does that");
    assert_eq!(spoiled(0, mib(1) + 1), [true, true]);
    assert_eq!(spoiled(mib(100), mib(10)), [false, false]);
    assert_eq!(spoiled(mib(100), mib(10) + 1), [true, false]);
    assert_eq!(spoiled(mib(100), mib(50) + 1), [true, true]);
}

#[test]
fn a_target_that_others_use_more_than_the_method_is_busy() {
    let mut device = Toy::new();
    device.capabilities.clock = Clock::Wall;
    let device = Virtual::new(device);
    let directory = Virtual::new(ToyFiles::new());
    let check = |ours: u64, others: u64, expected: Option<Caveat>| {
        let before = OtherLoad::before(statistics(7, 9));
        let after = statistics(7, 9 + ours + others);
        for found in [
            before.caveat(&device, after, Bytes(ours)),
            before.caveat(&directory, after, Bytes(ours)),
        ] {
            assert_eq!(found, expected, "{others} beside {ours}");
        }
    };
    check(0, BUSY.0 - 1, Some(Caveat::OtherLoad));
    check(0, BUSY.0, Some(Caveat::BusyTarget));
    check(BUSY.0, BUSY.0, Some(Caveat::OtherLoad));
    check(BUSY.0, BUSY.0 + 1, Some(Caveat::BusyTarget));
    // As many as a look before it would not let pass, beside a load that is larger by far.
    check(100 * BUSY.0, BUSY.0, None);
    assert!(Caveat::BusyTarget.invalidates() && !Caveat::OtherLoad.invalidates());
    assert!(is_spoiled_by_others("busy-target") && !is_spoiled_by_others("noise"));
}

#[test]
fn nobody_else_has_an_emulated_drive() {
    let device = Virtual::new(Toy::new());
    let before = OtherLoad::before(statistics(0, 0));
    assert_eq!(before.caveat(&device, statistics(0, 1 << 40), Bytes(0)), None);
}
