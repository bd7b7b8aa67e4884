use trimbench_core::{BlockCommand, BlockSize, Data};

use super::*;
use crate::area::DeviceArea;

fn area() -> DeviceArea {
    DeviceArea {
        start: Bytes::mib(1),
        length: Bytes::mib(1),
        logical_block: BlockSize::SECTOR,
        data: Data::Random,
    }
}

fn access(read_share: Ppm) -> RandomAccess<DeviceArea> {
    RandomAccess::new(area(), Bytes(4_096), read_share, Rng::new(1))
}

fn at(micros: u64) -> Instant {
    Instant::from_start(Nanos::from_micros(micros))
}

fn intended<C: Copy>(next: Next<C>) -> Option<Instant> {
    match next {
        Next::Issue { intended, .. } => Some(intended),
        _ => None,
    }
}

#[test]
fn a_closed_loop_issues_what_it_told_of_in_that_order() {
    let mut drawn = access(Ppm(500_000));
    let all: Vec<_> = std::iter::repeat_with(|| drawn.next()).take(40 + AHEAD).collect();
    let mut closed = ClosedLoop::new(access(Ppm(500_000)), 4, 40);
    let (mut told, mut issued) = (Vec::new(), Vec::new());
    for round in 0..10 {
        while let Next::Issue { command, .. } = closed.next(at(round)) {
            issued.push(command);
        }
        if round % 3 != 2 {
            told.extend(std::iter::from_fn(|| closed.upcoming()));
        }
        let under_way = issued[issued.len() - 4..].to_vec();
        for command in under_way {
            closed.completed(&command, at(round));
        }
    }
    assert_eq!(issued, all[..40], "to look ahead changes nothing");
    assert_eq!(told, all[4..4 + told.len()], "and what it tells of comes");
    assert!(told.len() > 30);
}

#[test]
fn random_accesses_stay_within_the_area_and_keep_the_read_share() {
    let mut access = access(Ppm(250_000));
    let mut reads = 0;
    for _ in 0..4_000 {
        let (range, read) = match access.next() {
            BlockCommand::Read(range) => (range, true),
            BlockCommand::Write { range, .. } => (range, false),
            other => panic!("{other:?} is no access"),
        };
        assert!(range.start().0 >= 2_048 && range.end().0 <= 4_096 && range.start().0 % 8 == 0);
        reads += u32::from(read);
    }
    assert!((900..1_100).contains(&reads), "{reads} of 4000");
}

#[test]
fn an_open_loop_keeps_its_schedule_when_it_is_asked_late() {
    let gap = Nanos::from_micros(10);
    let mut load = OpenLoop::new(access(Ppm::ONE), Arrivals::Constant, gap, at(100)..at(150));
    assert_eq!(load.next(at(0)), Next::NotBefore(at(100)));
    // A second late, every request is still issued, each with its own intended start.
    let starts: Vec<_> = std::iter::from_fn(|| intended(load.next(at(1_000_000)))).collect();
    assert_eq!(starts, [at(100), at(110), at(120), at(130), at(140)]);
    assert_eq!(load.next(at(1_000_000)), Next::Done);
}

#[test]
fn poisson_arrivals_have_the_rate_of_constant_ones() {
    let gap = Nanos::from_micros(10);
    let end = at(200_000);
    let mut load = OpenLoop::new(access(Ppm::ONE), Arrivals::Poisson, gap, at(0)..end);
    let starts: Vec<_> = std::iter::from_fn(|| intended(load.next(end))).collect();
    // 20,000 expected; the standard deviation is 141.
    assert!(starts.len().abs_diff(20_000) < 600, "{}", starts.len());
    let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().any(|&gap| gap < Nanos::from_micros(1)), "gaps vary");
    assert!(gaps.iter().any(|&gap| gap > Nanos::from_micros(50)), "gaps vary");
}

#[test]
fn a_serial_probe_has_one_access_outstanding_and_goes_on_at_once_after_a_stall() {
    let interval = Nanos::from_micros(100);
    let mut probe = SerialProbe::new(access(Ppm::ONE), interval, at(0)..at(1_000));
    let Next::Issue { command, .. } = probe.next(at(0)) else { panic!("it begins at once") };
    assert_eq!(probe.next(at(50)), Next::Await);
    probe.completed(&command, at(60));
    assert_eq!(probe.next(at(60)), Next::NotBefore(at(100)));
    assert_eq!(intended(probe.next(at(100))), Some(at(100)));
    assert_eq!(probe.next(at(500)), Next::Await);
    probe.completed(&command, at(500));
    assert_eq!(intended(probe.next(at(530))), Some(at(530)), "at once, and no catching up");
    assert_eq!(probe.next(at(535)), Next::Await);
    probe.completed(&command, at(540));
    assert_eq!(probe.next(at(540)), Next::NotBefore(at(600)), "back on the grid");
    assert_eq!(probe.next(at(1_000)), Next::Done);
}

#[test]
fn a_closed_loop_keeps_its_depth_and_ends_after_its_count() {
    let mut closed = ClosedLoop::new(access(Ppm(0)), 2, 3);
    let Next::Issue { command, .. } = closed.next(at(0)) else { panic!("there is room") };
    assert!(intended(closed.next(at(0))).is_some());
    assert_eq!(closed.next(at(0)), Next::Await);
    closed.completed(&command, at(5));
    assert_eq!(intended(closed.next(at(5))), Some(at(5)));
    assert_eq!(closed.next(at(5)), Next::Done);
}

#[test]
fn the_groups_of_a_script_wait_for_each_other() {
    let mut script = Script::new(at(10), vec![vec![], vec!['a', 'b'], vec!['c']]);
    assert_eq!(script.next(at(0)), Next::NotBefore(at(10)));
    let next = |script: &mut Script<char>| match script.next(at(10)) {
        Next::Issue { command, .. } => command,
        Next::Await => '.',
        Next::Done => '!',
        Next::NotBefore(_) => '?',
    };
    assert_eq!([next(&mut script), next(&mut script), next(&mut script)], ['a', 'b', '.']);
    script.completed(&'b', at(11));
    assert_eq!(next(&mut script), '.');
    script.completed(&'a', at(12));
    assert_eq!([next(&mut script), next(&mut script)], ['c', '.']);
    script.completed(&'c', at(13));
    assert_eq!(next(&mut script), '!');
}

#[test]
fn a_sequential_write_covers_the_area_once_with_a_shorter_last_piece() {
    let length = Bytes(10 * 4_096);
    let area = DeviceArea { length, ..area() };
    let mut fill = SequentialWrite::new(area, Bytes(4 * 4_096), 8);
    let mut covered = Vec::new();
    while let Next::Issue { command: BlockCommand::Write { range, .. }, .. } = fill.next(at(0)) {
        covered.push((range.start().0 - 2_048, range.length().0));
    }
    assert_eq!(covered, [(0, 32), (32, 32), (64, 16)]);
    assert_eq!(fill.next(at(0)), Next::Done);
}

#[test]
fn a_circling_write_begins_anew_until_its_time_is_over() {
    let area = DeviceArea { length: Bytes(3 * 4_096), ..area() };
    let mut load = SequentialWrite::new(area, Bytes(4_096), 5).circling(at(10));
    let mut starts = Vec::new();
    while let Next::Issue { command, .. } = load.next(at(9)) {
        let BlockCommand::Write { range, .. } = command else { panic!("{command:?}") };
        starts.push(range.start().0 - 2_048);
    }
    assert_eq!(starts, [0, 8, 16, 0, 8], "five outstanding");
    assert_eq!(load.next(at(10)), Next::Done);
}

#[test]
fn random_accesses_reach_the_first_and_the_last_place() {
    let small = DeviceArea { length: Bytes(4 * 4_096), ..area() };
    let mut access = RandomAccess::new(small, Bytes(4_096), Ppm::ONE, Rng::new(1));
    let mut starts = std::collections::BTreeSet::new();
    for _ in 0..200 {
        if let BlockCommand::Read(range) = access.next() {
            starts.insert(range.start().0 - 2_048);
        }
    }
    assert_eq!(starts.into_iter().collect::<Vec<_>>(), [0, 8, 16, 24]);
}

#[test]
fn the_first_poisson_arrival_is_as_random_as_the_others() {
    let times = at(0)..at(1_000_000);
    let gap = Nanos::from_micros(10);
    let mut load = OpenLoop::new(access(Ppm::ONE), Arrivals::Poisson, gap, times);
    assert!(matches!(load.next(at(0)), Next::NotBefore(first) if first > at(0)));
}

#[test]
fn a_lasting_loop_ends_when_both_its_count_and_its_time_are_over() {
    let read = BlockCommand::Read(area().range(Bytes(0), Bytes(4_096)));
    let issued = |count, until, step| {
        let mut load = ClosedLoop::lasting(access(Ppm::ONE), 1, count, at(until));
        let mut now = 0;
        let mut issued = 0;
        while let Next::Issue { .. } = load.next(at(now)) {
            assert_eq!(intended(load.next(at(now))), None, "one is outstanding");
            issued += 1;
            now += step;
            load.completed(&read, at(now));
        }
        (issued, now)
    };
    assert_eq!(issued(3, 100, 10), (10, 100), "the time is the longer");
    assert_eq!(issued(30, 100, 10), (30, 300), "the count is the longer");
    assert_eq!(issued(0, 100, 30), (4, 120), "started before the time");
}

/// Issues what is due at `now`.
fn due(list: &mut InOrder<u32>, now: Instant) -> Vec<u32> {
    let mut issued = Vec::new();
    while let Next::Issue { intended, command } = list.next(now) {
        assert_eq!(intended, now);
        issued.push(command);
    }
    issued
}

#[test]
fn a_list_is_issued_in_order_as_deep_as_asked_for() {
    let mut list = InOrder::new(vec![1, 2, 3], 2);
    assert_eq!(due(&mut list, at(0)), [1, 2]);
    assert_eq!(list.next(at(5)), Next::Await);
    list.completed(&1, at(7));
    assert_eq!(due(&mut list, at(7)), [3]);
    assert_eq!(list.next(at(7)), Next::Done);
    assert!(!list.is_over(at(7)), "two are outstanding");
    list.completed(&2, at(9));
    list.completed(&3, at(9));
    assert!(list.is_over(at(9)));
}

#[test]
fn a_paced_list_keeps_its_distance_and_does_not_catch_up() {
    let mut list = InOrder::new(vec![1, 2, 3, 4], 1).paced(at(10), Nanos::from_micros(100));
    assert_eq!(list.next(at(0)), Next::NotBefore(at(10)));
    assert_eq!(due(&mut list, at(10)), [1]);
    list.completed(&1, at(20));
    assert_eq!(list.next(at(20)), Next::NotBefore(at(110)));
    assert_eq!(due(&mut list, at(110)), [2]);
    list.completed(&2, at(500));
    assert_eq!(due(&mut list, at(500)), [3], "late, and at once");
    list.completed(&3, at(510));
    assert_eq!(list.next(at(510)), Next::NotBefore(at(600)));
}

#[test]
fn a_list_issues_nothing_from_its_end_on() {
    let mut list = InOrder::new(vec![1, 2], 1).until(at(50));
    assert_eq!(due(&mut list, at(49)), [1]);
    list.completed(&1, at(50));
    assert_eq!(list.next(at(50)), Next::Done);
    assert!(list.is_over(at(50)) && !list.is_over(at(49)));
}

#[test]
fn paced_scripts_follow_one_another_and_begin_none_from_their_end_on() {
    let scripts = vec![vec![vec![1, 2], vec![3]], vec![vec![4]], vec![vec![5]], vec![vec![6]]];
    let mut paced = PacedScripts::new(scripts, Nanos::from_micros(100), at(10)..at(400));
    let issue = |paced: &mut PacedScripts<u32>, now| match paced.next(now) {
        Next::Issue { intended, command } => Some((intended, command)),
        _ => None,
    };
    assert_eq!(paced.next(at(0)), Next::NotBefore(at(10)));
    assert_eq!(issue(&mut paced, at(10)), Some((at(10), 1)));
    assert_eq!(issue(&mut paced, at(10)), Some((at(10), 2)));
    paced.completed(&2, at(20));
    assert_eq!(paced.next(at(20)), Next::Await, "a group waits for the one before");
    paced.completed(&1, at(30));
    assert_eq!(issue(&mut paced, at(30)), Some((at(30), 3)));
    // Late: the second script begins when the first has ended, and sets the pace of the third.
    assert_eq!(paced.next(at(120)), Next::Await);
    paced.completed(&3, at(150));
    assert_eq!(issue(&mut paced, at(150)), Some((at(150), 4)));
    paced.completed(&4, at(160));
    assert_eq!(paced.next(at(160)), Next::NotBefore(at(250)));
    assert_eq!(issue(&mut paced, at(399)), Some((at(399), 5)));
    paced.completed(&5, at(500));
    assert_eq!(paced.next(at(500)), Next::Done);
    assert_eq!(paced.started(), 3);
    assert_eq!(paced.into_rest().collect::<Vec<_>>(), [vec![vec![6]]]);
}
