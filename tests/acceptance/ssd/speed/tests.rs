use super::read;
use crate::acceptance::Form;
use crate::acceptance::bench::{CONTRACT, DRIVES};
use crate::acceptance::planted::{Planted, failing};

/// What the benchmark prints for one case: contract, model alone, memory, TRIM.
fn printed(drive: &str, [contract, alone, memory, trim]: [f64; 4]) -> String {
    let line = |part: &str, side: &str, median: f64, check: &str| {
        format!(
            "{{\"case\":\"{drive}, {part}\",\"side\":\"{side}\",\"values\":[{median:?}],\
             \"median\":{median:?},\"check\":\"{check}\"}}\n"
        )
    };
    [
        "== bench ssd\n".to_owned(),
        line(CONTRACT, "ours", contract, "WA 2.4800, hash 00"),
        line(CONTRACT, "ftl_limit.c", 20.0, "WA 2.4800"),
        line("model alone", "ours", alone, "WA 2.4800"),
        line("model alone", "ftl_limit.c", 20.0, "WA 2.4800"),
        line("memory", "ours", memory, "600 MiB"),
        line("TRIM of all", "ours", trim, "1 command"),
    ]
    .concat()
}

fn failed(text: &str) -> Vec<String> {
    let planted = Planted::new();
    let command = format!("cargo xtask bench ssd --case '{}'", DRIVES[1]);
    planted.capture_of(("bench", &command, 20.0), 0, text);
    let findings = read(&planted.raw_of(Form::Short)).unwrap();
    assert_eq!(findings.len(), 6);
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn each_bar_is_met_at_its_edge_and_missed_beyond() {
    let drive = DRIVES[1];
    let edge = [7.0, 12.0, 10.0, 1.0];
    assert_eq!(failed(&printed(drive, edge)), Vec::<String>::new());
    for (index, beyond, missed) in [
        (0, 6.9, format!("speed over that of the C model, {drive}, {CONTRACT}")),
        (1, 11.9, format!("speed over that of the C model, {drive}, model alone")),
        (2, 10.1, format!("memory a 4 KiB unit, {drive}")),
        (3, 1.1, format!("wall time of a TRIM of the whole drive, {drive}")),
    ] {
        let mut figures = edge;
        figures[index] = beyond;
        assert_eq!(failed(&printed(drive, figures)), [missed]);
    }
}

#[test]
fn the_full_form_needs_both_cases_and_no_case_may_lack_a_side() {
    let all: String = DRIVES.map(|drive| printed(drive, [7.0, 12.0, 9.0, 0.5])).concat();
    let planted = Planted::new();
    planted.capture("bench", 0, &all);
    assert_eq!(read(&planted.raw()).unwrap().len(), 12);
    for missing in ["OP 7 %, through", "model alone", "memory", "TRIM"] {
        let planted = Planted::new();
        let left: Vec<&str> = all.lines().filter(|line| !line.contains(missing)).collect();
        planted.capture("bench", 0, &left.join("\n"));
        assert!(read(&planted.raw()).is_err(), "{missing}");
    }
}
