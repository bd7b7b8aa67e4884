use trimbench_results::Interval;

use super::*;
use crate::testing::{self, placed};

#[test]
fn both_mounts_stand_side_by_side_a_table_for_each_buffering() {
    let total = |side: &str, buffering: &str, value, unit| {
        let place = Coordinates::of_measure("total-duration", "Total_duration");
        let place = place.at(Side, side).at(Buffering, buffering);
        placed(&format!("{side}-{buffering}"), place, value, unit)
    };
    let mut noise = total("diff", "unbuffered", 0.5, "%");
    noise.interval = Interval::new(-1.25, 2.0, 0.95);
    noise.verdict = Some(Verdict::Noise);
    let figures = [
        total("diff", "buffered", 1_093.69, "%"),
        total("nodiscard", "buffered", 220.2, "s"),
        total("discard", "buffered", 2_628.5, "s"),
        noise,
        total("nodiscard", "unbuffered", 218.4, "s"),
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
    let measure = Coordinates::of_measure("sync", "sync after the end");
    let (half, other) = (measure.clone().at(Side, "diff"), measure.clone().at(Side, "else"));
    for place in [Coordinates::none(), measure, half, other.at(Buffering, "buffered")] {
        assert!(!holds(&placed("sync-diff-buffered", place.clone(), 1.0, "s")), "{place}");
    }
}
