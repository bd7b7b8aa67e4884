use super::{Kind, events, lost};

/// As Linux 6.18 prints it.
const TRACE: &str = include_str!("recorded.txt");

#[test]
fn a_trace_is_read_as_the_kernel_prints_it() {
    let event = |kind, sectors, error| (kind, sectors, error);
    let expected = [
        event(Kind::Issue, 4_194_304, 0),
        event(Kind::Complete, 4_194_304, 0),
        event(Kind::Issue, 2048, 0),
        event(Kind::Complete, 2048, -5),
    ];
    let read = events(TRACE).unwrap();
    let seen: Vec<_> = read.iter().map(|it| (it.kind, it.sectors, it.error)).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_line_that_cannot_be_read_is_an_error_and_not_left_out() {
    let cut = TRACE.replace("0 + 4194304 be,0,4 [0]", "0 + be,0,4 [0]");
    let error = events(&cut).unwrap_err().to_string();
    assert!(error.contains("block_rq_complete"), "{error}");
}

#[test]
fn lost_events_are_counted_on_all_processors() {
    let statistics = "\
cpu0 entries: 10
cpu0 overrun: 3
cpu0 commit overrun: 100
cpu0 dropped events: 2
cpu1 overrun: 1
cpu1 dropped events: 0
";
    assert_eq!(lost(statistics).unwrap(), 6);
    assert!(lost("cpu0 entries: 10\n").is_err(), "no statistics are no good ones");
}
