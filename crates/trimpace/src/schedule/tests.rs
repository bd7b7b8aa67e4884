use super::*;

use std::collections::BTreeMap;

use trimbench_core::rng::Rng;

const DAY: Nanos = Nanos::from_secs(86_400);

fn zoned(text: &str) -> Zoned {
    text.parse().unwrap()
}

fn at(text: &str) -> Timestamp {
    zoned(text).timestamp()
}

fn nightly(days: u64) -> Rhythm {
    let hours = Some("01:00-05:00".parse().unwrap());
    Rhythm { every: DAY.times(days), hours, slot: Slot::WHOLE }
}

#[test]
fn parts_of_the_day_are_read_and_anything_else_is_refused() {
    for text in ["01:00-05:00", "22:30-04:00", "00:00-23:59"] {
        assert_eq!(text.parse::<Hours>().unwrap().to_string(), text);
    }
    for text in ["", "1:00-5:00", "01:00", "24:00-05:00", "01:60-02:00", "05:00-05:00", "01-05"] {
        assert!(text.parse::<Hours>().is_err(), "{text}");
    }
}

#[test]
fn without_hours_a_pass_begins_when_the_period_is_over() {
    let rhythm = Rhythm { hours: None, ..nightly(7) };
    let now = zoned("2026-03-10T12:00[UTC]");
    let last = at("2026-03-05T08:00[UTC]");
    assert_eq!(rhythm.turn(&now, Some(last), false), Turn::At(at("2026-03-12T08:00[UTC]")));
    let anytime = Turn::Now { until: None };
    assert_eq!(rhythm.turn(&now, None, false), anytime, "never");
    assert_eq!(rhythm.turn(&now, Some(last), true), anytime, "it goes on");
    assert_eq!(rhythm.turn(&now, Some(at("2026-03-01T08:00[UTC]")), false), anytime);
}

#[test]
fn with_hours_it_begins_in_the_last_night_that_is_not_too_late() {
    let now = zoned("2026-03-10T12:00[UTC]");
    let last = Some(at("2026-03-09T01:00:05[UTC]"));
    let turn = nightly(7).turn(&now, last, false);
    assert_eq!(turn, Turn::At(at("2026-03-16T01:00[UTC]")), "a night later would be 5 s too late");
    let turn = nightly(7).turn(&now, Some(at("2026-01-01T01:00[UTC]")), false);
    assert_eq!(turn, Turn::At(at("2026-03-11T01:00[UTC]")), "long overdue, but not by day");
    assert_eq!(nightly(7).turn(&now, None, false), turn, "never");
    assert_eq!(nightly(7).turn(&now, last, true), turn, "it goes on in the next night");
}

#[test]
fn in_one_night_no_second_pass_begins() {
    let now = zoned("2026-03-10T02:00[UTC]");
    let last = Some(at("2026-03-10T01:00[UTC]"));
    let turn = nightly(1).turn(&now, last, false);
    assert_eq!(turn, Turn::At(at("2026-03-11T01:00[UTC]")));
    let until = Some(at("2026-03-10T05:00[UTC]"));
    assert_eq!(nightly(1).turn(&now, last, true), Turn::Now { until }, "but it goes on");
}

#[test]
fn hours_over_midnight_belong_to_the_evening() {
    let rhythm = Rhythm { hours: Some("22:00-04:00".parse().unwrap()), ..nightly(1) };
    let until = Some(at("2026-03-10T04:00[UTC]"));
    let now = zoned("2026-03-10T03:00[UTC]");
    assert_eq!(rhythm.turn(&now, None, false), Turn::Now { until });
    let now = zoned("2026-03-10T04:00[UTC]");
    assert_eq!(rhythm.turn(&now, None, false), Turn::At(at("2026-03-10T22:00[UTC]")));
}

#[test]
fn slots_divide_the_hours_without_overlap() {
    let hours = Some("01:00-05:00".parse().unwrap());
    let now = zoned("2026-03-10T00:00[UTC]");
    let begins = |number| {
        let rhythm = Rhythm { every: DAY, hours, slot: Slot { number, of: 4 } };
        rhythm.turn(&now, None, false)
    };
    let expected = |hour: &str| Turn::At(at(&format!("2026-03-10T{hour}[UTC]")));
    assert_eq!([0, 1, 2, 3].map(begins), ["01:00", "02:00", "03:00", "04:00"].map(expected));
}

#[test]
fn clock_changes_lengthen_and_shorten_the_hours() {
    // In Berlin the clocks skip 02:00 to 03:00 on 2026-03-29, and show it twice on 2026-10-25.
    let long = |now: &str| match nightly(1).turn(&zoned(now), None, false) {
        Turn::Now { until: Some(until) } => until.duration_since(at(now)).as_hours(),
        other => panic!("{other:?}"),
    };
    assert_eq!(long("2026-03-29T01:00[Europe/Berlin]"), 3);
    assert_eq!(long("2026-10-25T01:00[Europe/Berlin]"), 5);
    let rhythm = Rhythm { hours: Some("02:00-03:00".parse().unwrap()), ..nightly(1) };
    let turn = rhythm.turn(&zoned("2026-03-29T01:00[Europe/Berlin]"), None, false);
    let begins = match turn {
        Turn::At(begins) => begins,
        Turn::Now { .. } => panic!("{turn:?}"),
    };
    assert!(begins < at("2026-03-30T03:00[Europe/Berlin]"), "{begins}");
}

#[test]
fn a_pass_in_the_future_counts_as_one_now() {
    let rhythm = Rhythm { hours: None, ..nightly(7) };
    let now = zoned("2026-03-10T12:00[UTC]");
    let turn = rhythm.turn(&now, Some(at("2030-01-01T00:00[UTC]")), false);
    assert_eq!(turn, Turn::At(at("2026-03-17T12:00[UTC]")));
}

#[test]
fn a_host_has_its_place_among_all_whatever_their_order() {
    let hosts = ["c", "a", "b", "a"].map(str::to_owned);
    let slot = |host| Slot::ranked(host, &hosts, 2).map(|slot| slot.to_string());
    assert_eq!(["a", "b", "c"].map(slot), ["1 of 2", "1 of 2", "2 of 2"].map(|it| Some(it.into())));
    assert_eq!(slot("d"), None);
    assert_eq!(Slot::ranked("a", &hosts, 0), None);
}

#[test]
fn drawn_slots_are_spread_and_stay() {
    let mut hosts = BTreeMap::<u32, usize>::new();
    for host in 0..1_000 {
        let name = format!("host{host}");
        let slot = Slot::drawn(&name, "volume", 10);
        assert_eq!(slot, Slot::drawn(&name, "volume", 10));
        *hosts.entry(slot.number).or_default() += 1;
    }
    assert!(
        hosts.len() == 10 && hosts.values().all(|count| (60..140).contains(count)),
        "{hosts:?}"
    );
    // The same in every release: hosts of a fleet are not upgraded at once.
    assert_eq!(Slot::drawn("db1", "volume", 10).number, DRAWN);
}

/// Of `db1` and `volume`, as computed once.
const DRAWN: u32 = 8;

/// Of the virtual year.
const STEPS_AN_HOUR: u64 = 6;

/// A host of a fleet in virtual time.
struct Host {
    rhythm: Rhythm,
    is_up: bool,
    /// When the last completed pass began.
    last: Option<Timestamp>,
    /// When the unfinished one began, and the steps that are left of it.
    begun: Option<(Timestamp, u64)>,
    is_trimming: bool,
    completed: Vec<Timestamp>,
}

#[test]
fn for_a_year_with_crashes_every_host_trims_once_a_period_and_few_at_once() {
    const AT_ONCE: u32 = 2;
    const PERIOD: u64 = 7;
    let names: Vec<String> = (0..10).map(|host| format!("host{host}")).collect();
    let host = |name: &String| {
        let slot = Slot::ranked(name, &names, AT_ONCE).unwrap();
        Host {
            rhythm: Rhythm { slot, ..nightly(PERIOD) },
            is_up: true,
            last: None,
            begun: None,
            is_trimming: false,
            completed: Vec::new(),
        }
    };
    let mut hosts: Vec<Host> = names.iter().map(host).collect();
    let mut rng = Rng::new(1);
    let start = at("2026-01-01T00:00[Europe/Berlin]");
    let zone = zoned("2026-01-01T00:00[Europe/Berlin]").time_zone().clone();
    for step_number in 0..365 * 24 * STEPS_AN_HOUR {
        let span = Nanos::from_secs(3_600 / STEPS_AN_HOUR * step_number);
        let now = after(start, span).to_zoned(zone.clone());
        for host in &mut hosts {
            // A crash a week, and an hour until it is up again.
            let odds = if host.is_up { 7 * 24 * STEPS_AN_HOUR } else { STEPS_AN_HOUR };
            host.is_up ^= rng.below(odds) == 0;
            step(host, &now, &mut rng);
        }
        let trimming = hosts.iter().filter(|host| host.is_trimming).count();
        assert!(trimming <= AT_ONCE as usize, "{trimming} at {now}");
    }
    for host in &hosts {
        // The first is in the first night; an outage may cost a night or two.
        let gaps: Vec<i64> =
            host.completed.windows(2).map(|two| two[1].duration_since(two[0]).as_hours()).collect();
        let is_kept = |hours: &&i64| **hours <= 7 * 24;
        let late = gaps.len() - gaps.iter().filter(is_kept).count();
        assert!(gaps.iter().all(|hours| (6 * 24 - 4..=9 * 24).contains(hours)), "{gaps:?}");
        assert!(late <= gaps.len() / 10 && gaps.len() >= 50, "{late} of {gaps:?}");
    }
}

/// A step of a host.
fn step(host: &mut Host, now: &Zoned, rng: &mut Rng) {
    host.is_trimming = false;
    if !host.is_up {
        return;
    }
    let turn = host.rhythm.turn(now, host.last, host.begun.is_some());
    if !matches!(turn, Turn::Now { .. }) {
        return;
    }
    // Some passes take more than one night.
    let (begun, left) = host.begun.take().unwrap_or((now.timestamp(), 1 + rng.below(8)));
    host.is_trimming = true;
    if left > 1 {
        host.begun = Some((begun, left - 1));
    } else {
        host.last = Some(begun);
        host.completed.push(begun);
    }
}
