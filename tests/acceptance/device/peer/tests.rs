use super::{CONTROL, FIGURES, QUEUE_DEPTHS, read};
use crate::acceptance::planted::{Planted, failing};

/// What the benchmark prints: every ratio is 1 but that of `case`, which is `ratio`.
fn printed(case: &str, ratio: f64, pairs: usize) -> String {
    let mut text = "== bench block\n".to_owned();
    for depth in QUEUE_DEPTHS {
        for (figure, _) in FIGURES {
            for suffix in ["", CONTROL, ", plain fio"] {
                let name = format!("QD {depth} {figure}{suffix}");
                let ours = if name == case { ratio } else { 1.0 };
                for (side, value) in [("ours", ours), ("fio", 1.0)] {
                    let values = vec![value; pairs];
                    let line = format!(
                        "{{\"case\":\"{name}\",\"side\":\"{side}\",\"unit\":\"us\",\
                         \"values\":{values:?},\"median\":9.0,\"interval\":[0.5,1.5]}}\n"
                    );
                    text.push_str(&line);
                }
            }
        }
    }
    text + "appended to target/bench.ndjson\n"
}

fn failed(case: &str, ratio: f64, pairs: usize) -> Vec<String> {
    let planted = Planted::new();
    planted.capture("bench", 0, &printed(case, ratio, pairs));
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn each_ratio_is_judged_on_its_own_side_by_the_medians_of_the_values() {
    for (case, good, bad) in [
        ("QD 1 IOPS", 0.95, 0.94),
        ("QD 1 IOPS", 2.0, 0.1),
        ("QD 32 p50", 1.1, 1.11),
        ("QD 1 p99", 0.2, 1.2),
        ("QD 32 CPU", 1.05, 1.06),
    ] {
        assert_eq!(failed(case, good, 12), Vec::<String>::new(), "{case} {good}");
        assert_eq!(failed(case, bad, 12), [format!("ours over fio's, {case}")], "{case} {bad}");
    }
    // The control and the other comparison are shown, not judged.
    assert_eq!(failed("QD 1 IOPS, fio against fio", 0.5, 12), Vec::<String>::new());
}

#[test]
fn the_control_and_the_interval_stand_beside() {
    let planted = Planted::new();
    planted.capture("bench", 0, &printed("QD 1 p50, fio against fio", 1.25, 12));
    let findings = read(&planted.raw()).unwrap();
    let p50 = findings.iter().find(|it| it.what == "ours over fio's, QD 1 p50").unwrap();
    assert!(p50.note.contains("interval 0.500 to 1.500"), "{}", p50.note);
    assert!(p50.note.contains("fio against fio 1.250"), "{}", p50.note);
}

#[test]
fn eleven_pairs_are_too_few_but_in_the_short_form() {
    let few = ["interleaved pairs at queue depth 1", "interleaved pairs at queue depth 32"];
    assert_eq!(failed("", 1.0, 11), few);
    let planted = Planted::new();
    let command = ("bench", "cargo xtask bench block --json --small", 1.0);
    planted.capture_of(command, 0, &printed("", 1.0, 3));
    assert_eq!(failing(&read(&planted.raw()).unwrap()), Vec::<&str>::new());
}

#[test]
fn a_benchmark_that_was_skipped_or_cut_off_is_an_error() {
    let cut: Vec<String> = printed("", 1.0, 12).lines().take(9).map(str::to_owned).collect();
    for (printed, part) in [
        ("bench block: skipped: it needs fio\n", "it needs fio"),
        ("== bench block\n", "0 sides"),
        (&cut.join("\n"), "sides of"),
    ] {
        let planted = Planted::new();
        planted.capture("bench", 0, printed);
        let error = format!("{:#}", read(&planted.raw()).unwrap_err());
        assert!(error.contains(part), "{error}");
    }
}
