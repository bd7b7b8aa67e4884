use super::*;
use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{Nanos, Ppm};

fn at(nanos: u64) -> Instant {
    Instant::from_start(Nanos(nanos))
}

/// The position after one more group.
fn group(buffer: &mut WriteBuffer, number: u32) -> Position {
    buffer.begin();
    buffer.fill(number, 0, false);
    buffer.placed()
}

#[test]
fn a_group_waits_for_the_program_that_had_its_place() {
    let mut buffer = WriteBuffer::new(2);
    let positions = [0, 1, 2].map(|number| group(&mut buffer, number));
    assert_eq!(buffer.next_leaves_at(), Instant::NEVER, "nothing has come yet");
    assert_eq!(buffer.arrive(positions[0], at(10)), Some(at(10)));
    assert_eq!(buffer.arrive(positions[1], at(20)), Some(at(20)));
    assert_eq!(buffer.arrive(positions[2], at(30)), None, "nobody knows when 0 is programmed");
    assert_eq!(buffer.next_leaves_at(), at(10));
    assert_eq!(buffer.leave().map(|full| full.group), Some(0));
    buffer.programmed(0, at(500), at(500));
    assert_eq!(buffer.arrive(positions[2], at(30)), Some(at(500)));
    assert_eq!(buffer.next_leaves_at(), at(20));
    assert_eq!(buffer.leave().map(|full| full.group), Some(1));
    buffer.programmed(1, at(400), at(400));
    // Group 3 has a place at 400, but not before the group ahead of it.
    let last = group(&mut buffer, 3);
    assert_eq!(buffer.arrive(last, at(50)), Some(at(500)));
}

#[test]
fn data_are_in_the_buffer_from_their_write_to_the_end_of_their_program() {
    let mut buffer = WriteBuffer::new(2);
    let position = group(&mut buffer, 7);
    assert!(buffer.holds(7, at(0)) && !buffer.holds(8, at(0)));
    assert_eq!(buffer.durable_at(position), None);
    buffer.arrive(position, at(10));
    buffer.leave();
    buffer.programmed(7, at(500), at(500));
    assert_eq!(buffer.durable_at(position), Some(at(500)));
    assert!(buffer.holds(7, at(499)) && !buffer.holds(7, at(500)));
    buffer.postponed(7, at(499), at(600));
    assert!(buffer.holds(7, at(599)));
    assert_eq!(buffer.durable_at(position), Some(at(600)));
}

#[test]
fn an_open_group_keeps_its_place_while_others_fill_beside_it() {
    let mut buffer = WriteBuffer::new(2);
    buffer.begin();
    let positions = [1, 2, 3].map(|number| group(&mut buffer, number));
    assert_eq!(buffer.arrive(positions[0], at(10)), Some(at(10)));
    assert_eq!(buffer.arrive(positions[1], at(20)), None, "group 1 has the only other place");
    buffer.leave();
    buffer.programmed(1, at(500), at(500));
    assert_eq!(buffer.arrive(positions[1], at(20)), Some(at(500)));
    buffer.leave();
    buffer.programmed(2, at(900), at(900));
    assert_eq!(buffer.arrive(positions[2], at(30)), Some(at(900)));
    // The group that has been open all the time needs no other place.
    buffer.fill(0, 0, false);
    assert_eq!(buffer.arrive(buffer.placed(), at(950)), Some(at(950)));
    buffer.leave();
    assert_eq!(buffer.leave().map(|full| (full.group, full.at)), Some((0, at(950))));
}

#[test]
fn a_place_that_frees_early_is_free_when_the_program_begins() {
    let mut buffer = WriteBuffer::new(1).freeing_early(true);
    let positions = [0, 1].map(|number| group(&mut buffer, number));
    assert_eq!(buffer.arrive(positions[0], at(10)), Some(at(10)));
    buffer.leave().unwrap();
    buffer.programmed(0, at(500), at(300));
    // A read that comes before the program has begun moves both.
    buffer.postponed(0, at(200), at(560));
    assert!(buffer.holds(0, at(559)) && !buffer.holds(0, at(560)));
    assert_eq!(buffer.arrive(positions[1], at(20)), Some(at(360)));
    // One that comes later moves the end alone.
    buffer.postponed(0, at(400), at(600));
    assert_eq!(buffer.durable_at(positions[0]), Some(at(600)));
}

#[test]
fn the_filter_denies_no_group_of_the_buffer_and_nearly_all_others() {
    let mut rng = Rng::new(1);
    let mut buffer = WriteBuffer::new(16);
    let (mut now, mut passed) = (0, 0);
    for number in 0..20_000_u32 {
        // Few groups, so that one comes again while its last place is not given away.
        let position = group(&mut buffer, narrow(rng.below(200)));
        now += rng.below(10);
        buffer.arrive(position, at(now));
        if rng.chance(Ppm(900_000)) {
            while let Some(full) = buffer.leave() {
                buffer.programmed(full.group, at(now + rng.below(100)), at(now));
            }
        }
        for group in 0..200 {
            let (holds, listed) = (
                buffer.holds(group, at(now)),
                buffer.has(group, at(now), |place| place.programmed),
            );
            assert_eq!(holds, listed, "group {group} after {number}");
        }
        if number == 10_000 {
            while buffer.leave().is_some() {}
            buffer.settle();
        }
        passed += u32::from(buffer.filter.may_hold(narrow(rng.below(1 << 26))));
    }
    assert!(passed * 20 < 20_000, "{passed} of 20,000 that were never there");
}
