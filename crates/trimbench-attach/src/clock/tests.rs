use super::*;

fn at(clock: &mut DriveClock, machine: u64) -> u64 {
    clock.at(Nanos(machine)).since_start().0
}

#[test]
fn time_runs_slower_and_stands_still_in_a_stall() {
    let mut clock = DriveClock::start(Nanos(1_000), 10);
    assert_eq!([at(&mut clock, 1_000), at(&mut clock, 1_100)], [0, 10]);
    clock.stall(Nanos(1_100), Nanos(1_200), Nanos(500));
    assert_eq!(clock.machine_time(Instant::from_start(Nanos(20))), Nanos(1_200));
    assert_eq!(clock.machine_time(Instant::from_start(Nanos(21))), Nanos(1_710));
    assert_eq!([at(&mut clock, 1_150), at(&mut clock, 1_300), at(&mut clock, 1_699)], [15, 20, 20]);
    assert_eq!([at(&mut clock, 1_700), at(&mut clock, 1_710)], [20, 21]);
    assert_eq!(clock.machine_time(Instant::from_start(Nanos(30))), Nanos(1_800));
}

#[test]
fn a_stall_that_is_replaced_keeps_what_has_passed_of_it() {
    let mut clock = DriveClock::start(Nanos(0), 1);
    clock.stall(Nanos(100), Nanos(100), Nanos(1_000));
    assert_eq!(at(&mut clock, 300), 100);
    clock.stall(Nanos(300), Nanos(300), Nanos(50));
    assert_eq!([at(&mut clock, 349), at(&mut clock, 350), at(&mut clock, 360)], [100, 100, 110]);
    let mut clock = DriveClock::start(Nanos(0), 1);
    clock.stall(Nanos(100), Nanos(500), Nanos(1_000));
    clock.stall(Nanos(200), Nanos(200), Nanos(50));
    assert_eq!([at(&mut clock, 220), at(&mut clock, 260)], [200, 210]);
}
