use trimbench_results::Interval;

use super::*;
use crate::testing::{self, figure};

#[test]
fn both_mounts_stand_side_by_side_a_table_for_each_buffering() {
    let mut noise = figure("total-duration-diff-unbuffered", "Total_duration, DIFF", 0.5, "%");
    noise.interval = Interval::new(-1.25, 2.0, 0.95);
    noise.verdict = Some(Verdict::Noise);
    let figures = [
        figure("total-duration-diff-buffered", "Total_duration, DIFF", 1_093.69, "%"),
        figure("total-duration-nodiscard-buffered", "Total_duration, nodiscard", 220.2, "s"),
        figure("total-duration-discard-buffered", "Total_duration, discard", 2_628.5, "s"),
        noise,
        figure("total-duration-nodiscard-unbuffered", "Total_duration, nodiscard", 218.4, "s"),
    ];
    let figures: Vec<&Figure> = figures.iter().collect();
    assert!(figures.iter().all(|figure| holds(figure)));
    let notes = Notes::of(&testing::record(Vec::new(), trimbench_results::Outcome::Complete));
    let style = Style { colour: false, unicode: false, width: 100 };
    let lines = tables(&figures, &notes, style);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<String> = lines.iter().map(|line| words(line)).collect();
    assert_eq!(found[0], "BUFFERING ENABLED NODISCARD DISCARD DIFF interval note");
    assert_eq!(found[2], "Total_duration 220 s 2,629 s 11.9 times -");
    assert_eq!(found[4], "BUFFERING DISABLED NODISCARD DISCARD DIFF 95 % interval note");
    assert_eq!(found[6], "Total_duration 218 s - 0.5 % -1.3 to 2.0 noise");
}

#[test]
fn other_figures_stand_in_no_such_table() {
    for id in ["total-duration", "weighted-p99.9-placebo", "discard-buffered", "sync-buffered"] {
        assert!(!holds(&figure(id, "anything", 1.0, "s")), "{id}");
    }
}
