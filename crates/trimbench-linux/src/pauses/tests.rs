use super::*;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// A tally that began at 1 s, of a thread that had waited for 5 ms.
fn tally() -> Tally {
    Tally::new(MS(1_000), turns(0, 5))
}

fn turns(ran_ms: u64, waited_ms: u64) -> Turns {
    Turns { ran: MS(ran_ms), waited: MS(waited_ms) }
}

fn taken(tally: &mut Tally, now: Nanos) -> (Nanos, Nanos, Nanos) {
    let OwnPauses { watched, longest, total } = tally.take(now);
    (watched, longest, total)
}

#[test]
fn what_every_machine_does_is_no_pause() {
    let mut tally = tally();
    for tick in 1..=100_u64 {
        let now = Nanos(MS(1_000).0 + tick * (TICK.0 + NOTICED.0 - 1));
        let waited = Nanos(MS(5).0 + tick * (NOTICED.0 - 1));
        tally.look(now, Turns { waited, ..Turns::default() });
        tally.due = now + TICK;
    }
    let watched = Nanos(100 * (TICK.0 + NOTICED.0 - 1));
    assert_eq!(taken(&mut tally, MS(1_000) + watched), (watched, Nanos::ZERO, Nanos::ZERO));
}

#[test]
fn a_stopped_process_is_seen_by_its_late_look() {
    let mut tally = tally();
    tally.look(MS(1_410), turns(0, 5));
    assert_eq!(taken(&mut tally, MS(1_410)), (MS(410), MS(400), MS(400)));
    assert_eq!(taken(&mut tally, MS(1_420)), (MS(10), Nanos::ZERO, Nanos::ZERO), "taken once");
}

#[test]
fn a_pause_is_counted_once_by_whoever_looks_first() {
    let mut tally = tally();
    // The thread that measures looks first; the one that watches comes 1 ms later.
    tally.look(MS(1_410), turns(0, 5));
    tally.look(MS(1_411), turns(0, 5));
    assert_eq!(taken(&mut tally, MS(1_411)).2, MS(400));
    // A look before the next is due does not put that off.
    tally.due = MS(1_421);
    tally.look(MS(1_415), turns(0, 5));
    tally.look(MS(1_451), turns(0, 5));
    assert_eq!(taken(&mut tally, MS(1_451)).2, MS(30));
}

#[test]
fn waits_for_a_processor_count_though_the_look_was_in_time() {
    let mut tally = tally();
    for (now, waited) in [(1_010, 85), (1_020, 85), (1_030, 88)] {
        tally.look(MS(now), turns(0, waited));
        tally.due = MS(now) + TICK;
    }
    assert_eq!(taken(&mut tally, MS(1_030)), (MS(30), MS(80), MS(83)));
}

#[test]
fn where_both_are_late_it_is_one_pause() {
    let mut tally = tally();
    tally.look(MS(1_090), turns(0, 65));
    assert_eq!(taken(&mut tally, MS(1_090)), (MS(90), MS(80), MS(80)));
}

#[test]
fn a_thread_that_runs_is_not_paused_though_the_look_is_late() {
    let mut tally = tally();
    // The only processor was its own: the look was 30 ms late.
    tally.look(MS(1_040), turns(39, 5));
    tally.due = MS(1_050);
    // It ran for 7 ms, then the process was stopped.
    tally.look(MS(1_450), turns(46, 5));
    assert_eq!(taken(&mut tally, MS(1_450)), (MS(450), MS(393), MS(393)));
}

#[test]
fn the_kernels_line_is_parsed() {
    assert_eq!(parse("1040359 17 2\n"), Some(Turns { ran: Nanos(1_040_359), waited: Nanos(17) }));
    assert_eq!(parse("1040359\n"), None);
    assert_eq!(parse(""), None);
}

#[test]
fn a_watch_watches_as_long_as_it_is_there() {
    let watch = PauseWatch::start().unwrap();
    pause(MS(30));
    let OwnPauses { watched, .. } = watch.take();
    assert!(watched >= MS(30) && watched < MS(30_000), "{watched}");
}
