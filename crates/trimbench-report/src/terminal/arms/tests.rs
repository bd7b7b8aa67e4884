use trimbench_results::{Interval, Verdict};

use super::*;
use crate::testing::{self, placed};

#[test]
fn each_way_stands_beside_none_with_what_it_adds() {
    let figure = |side: &str, arm: Option<&str>, value| {
        let place = Coordinates::of_measure("tail", "p99.9 of reads").at(Side, side);
        let place = match arm {
            Some(arm) => place.called(Arm, arm, format!("`{arm}`")),
            None => place,
        };
        placed(&format!("{side}-{arm:?}"), place, value, "ms")
    };
    let mut added = figure("added", Some("discard"), 60.0);
    added.interval = Interval::new(6.0, 130.0, 0.995);
    added.verdict = Some(Verdict::MoreThanIsNoticed { limit: "10 ms".to_owned() });
    let figures = [
        added,
        figure("nodiscard", None, 9.0),
        figure("with", Some("discard"), 69.0),
        figure("added", Some("fstrim"), 1.0),
        figure("with", Some("fstrim"), 10.0),
        figure("found-from", Some("discard"), 92.0),
    ];
    let figures: Vec<&Figure> = figures.iter().collect();
    assert!(figures.iter().all(|figure| holds(figure)));
    let notes = Notes::of(&testing::record(Vec::new(), trimbench_results::Outcome::Complete));
    let style = Style { colour: false, unicode: false, width: 120 };
    let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<String> = tables(&figures, &notes, style).iter().map(words).collect();
    assert_eq!(found[0], "`discard` NODISCARD WITH ADDED 99.5 % interval FOUND FROM");
    assert_eq!(found[2], "p99.9 of reads 9 ms 69 ms 60 ms 6 to 130 92 ms");
    assert_eq!(found[3], "noticeable: more than 10 ms");
    assert_eq!(found[5], "`fstrim` NODISCARD WITH ADDED interval FOUND FROM");
    assert_eq!(found[7], "p99.9 of reads 9 ms 10 ms 1 ms - -");
}

#[test]
fn other_figures_stand_in_no_such_table() {
    let measure = Coordinates::of_measure("sync", "sync after the end");
    let buffered = measure.clone().at(Side, "nodiscard").at(Buffering, "buffered");
    let difference = measure.clone().at(Side, "added");
    for place in [Coordinates::none(), measure, buffered, difference] {
        assert!(!holds(&placed("sync", place.clone(), 1.0, "s")), "{place}");
    }
}
