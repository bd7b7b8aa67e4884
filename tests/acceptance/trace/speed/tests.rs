use super::{LITTLE, RUNS, SHORT, read};
use crate::acceptance::planted::{Planted, failing};

/// Raw output in which everything holds, but for what is given: the time of a side, or a text
/// within what was printed.
fn planted(side: (&str, f64), (from, to): (&str, &str)) -> Planted {
    let planted = Planted::new();
    for (name, seconds) in [
        ("blkparse", 5.0),
        ("ours-binary", 0.9),
        ("ours-text", 1.6),
        ("fio", 4.3),
        ("fio-start", 0.3),
        ("ours-iolog", 1.3),
    ] {
        for run in 0..RUNS {
            let seconds = if name == side.0 { side.1 } else { seconds };
            // One run of all is slow, as runs are.
            let seconds = if run == 0 { 10.0 * seconds } else { seconds };
            planted.timed_capture((&format!("{name}-{run}"), seconds), 0, "");
        }
    }
    for form in ["iolog", "blktrace"] {
        for (name, bytes, memory) in [("little", LITTLE, 4000), ("large", SHORT, 4100)] {
            let text = format!(
                "{{\"wanted_bytes\": {bytes}, \"bytes\": {bytes}, \"records\": 7, \
                 \"seconds\": 3.5, \"peak_kib\": {memory}}}"
            );
            planted.capture(&format!("{name}-{form}"), 0, &text.replace(from, to));
        }
    }
    planted
}

#[test]
fn what_holds_holds() {
    let findings = read(&planted(("", 0.0), ("", "")).raw()).unwrap();
    assert_eq!(failing(&findings), Vec::<&str>::new());
    assert_eq!(findings.len(), 3 + 2 * 3);
}

#[test]
fn each_figure_can_miss_its_bar() {
    let none = ("", "");
    for (side, text, what) in [
        (("ours-binary", 1.01), none, "blktrace's binary"),
        (("ours-text", 1.7), none, "blkparse's text"),
        (("fio-start", 0.5), none, "an iolog"),
        (("ours-iolog", 1.4), none, "an iolog"),
        (("", 0.0), (" \"bytes\": 1000000000", " \"bytes\": 999999999"), "`iolog` through a pipe"),
        (("", 0.0), ("4100", "4401"), "`blktrace` of it: memory over"),
        (("", 0.0), ("4100", "66000"), "`iolog` of it: memory"),
    ] {
        let findings = read(&planted(side, text).raw()).unwrap();
        let failing = failing(&findings);
        let named = failing.iter().any(|failed| failed.starts_with(what));
        assert!(named, "{side:?} {text:?}: {failing:?}");
    }
}
