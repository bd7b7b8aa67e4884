use super::*;

const MS: fn(u64) -> Nanos = Nanos::from_millis;
const US: fn(u64) -> Nanos = Nanos::from_micros;

/// A look at a quiet disk.
fn quiet() -> LoadSeen {
    LoadSeen {
        window: MS(3_000),
        devices: Some(DevicesUse { names: "sda".to_owned(), ..DevicesUse::default() }),
        reads: Some(ReadTimes { count: 300, median: US(80), p99: US(120) }),
        io_stalled: Some(MS(3)),
        memory_stalled: Some(Nanos::ZERO),
    }
}

fn moving(written: u64, read: u64) -> LoadSeen {
    let (written, read) = (Bytes(written), Bytes(read));
    LoadSeen { devices: Some(DevicesUse { names: "sda".to_owned(), written, read }), ..quiet() }
}

fn reading(median: u64, p99: u64) -> LoadSeen {
    LoadSeen { reads: Some(ReadTimes { count: 300, median: US(median), p99: US(p99) }), ..quiet() }
}

#[test]
fn what_others_do_decides() {
    let io = |stalled| LoadSeen { io_stalled: Some(MS(stalled)), ..quiet() };
    let memory = |stalled| LoadSeen { memory_stalled: Some(MS(stalled)), ..quiet() };
    let check = |seen: LoadSeen, idle: Option<Nanos>, expected: Option<&str>| {
        let found = match judge(&seen, idle) {
            Quietness::Busy(load) => Some(load.to_string()),
            Quietness::Quiet => None,
            Quietness::Unknown => panic!("something was seen: {seen:?}"),
        };
        assert_eq!(found.as_deref(), expected, "{seen:?}");
    };
    check(quiet(), None, None);
    check(moving(7_999_999, 7_999_999), None, None);
    check(moving(8_000_000, 0), None, Some("8 MB were written by others to sda in 3 s"));
    check(moving(1_200_000_000, 9), None, Some("1.20 GB were written by others to sda in 3 s"));
    check(moving(0, 8_000_000), None, Some("8 MB were read by others from sda in 3 s"));
    check(reading(40, 500), None, None);
    let late = "reads alone have a 99th percentile of 510 us; a quiet target has at most 500 us";
    check(reading(40, 510), None, Some(late));
    // A slow drive is not a busy one.
    check(reading(1_000, 9_900), None, None);
    // A drive that was seen faster before is busy when all of its reads take long.
    let late = "reads alone have a 99th percentile of 9.90 ms; a quiet target has at most 1 ms";
    check(reading(1_000, 9_900), Some(US(100)), Some(late));
    check(io(300), None, None);
    check(io(330), None, Some("all programs waited for I/O during 11 % of 3 s"));
    check(memory(300), None, None);
    check(memory(330), None, Some("programs waited for memory during 11 % of 3 s"));
}

#[test]
fn what_could_not_be_looked_at_is_neither_quiet_nor_busy() {
    let blind = LoadSeen { window: MS(3_000), ..LoadSeen::default() };
    assert_eq!(judge(&blind, None), Quietness::Unknown);
    let some = LoadSeen { io_stalled: Some(Nanos::ZERO), ..blind.clone() };
    assert_eq!(judge(&some, None), Quietness::Quiet);
    assert_eq!(seen_text(&blind), "in 3 s");
}

#[test]
fn the_record_has_what_was_seen() {
    assert_eq!(
        seen_text(&quiet()),
        "in 3 s, 0 B written and 0 B read by others on sda, 300 reads with median 80 us and p99 \
         120 us, I/O pressure 0.100 %, memory pressure 0 %"
    );
}
