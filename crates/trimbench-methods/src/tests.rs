use std::collections::BTreeMap;
use std::collections::BTreeSet;

use trimbench_engine::Preset;

use trimbench_results::{Chart, Direction};

use super::*;

#[test]
fn of_every_announced_figure_it_is_decided_which_way_it_is_better() {
    let mut neither = BTreeSet::new();
    for info in METHODS {
        let method = info.resolve(Preset::Standard, &BTreeMap::new()).unwrap();
        for (id, unit) in method.announced_figures() {
            if Direction::of(&id, unit) == Direction::Neither {
                // One for all policies.
                let (column, under) = id.split_once("-under-").unwrap_or((&id, ""));
                neither.insert(format!("{column}{}", if under.is_empty() { "" } else { "-under" }));
            }
        }
    }
    // A new figure belongs here or into the tables of `Direction`.
    let known = [
        "cycles-under",
        "deferred-under",
        "delay-exponent",
        "edge-old-data-blocks",
        "freed-under",
        "invalidated-under",
        "issued-under",
        "located-above",
        "located-block-layer",
        "located-device",
        "located-tags",
        "rewritten-under",
        "rounds-to-steady",
        "rounds-to-steady-trimmed-10",
        "rounds-to-steady-trimmed-25",
        "rounds-to-steady-trimmed-50",
        "skipped-under",
        "stalled-without-write",
        "stutter-curvature",
        "trimmed-old-data-share",
        "trimmed-ones-share",
        "trimmed-other-share",
        "trimmed-under",
        "trimmed-zeroes-share",
    ];
    assert_eq!(neither.into_iter().collect::<Vec<_>>(), known);
}

#[test]
fn a_session_that_lacks_everything_gives_no_chart_and_no_error() {
    for info in METHODS {
        let charts = testing::charts(info, Vec::new(), &[]);
        assert!(charts.iter().all(Chart::is_empty), "{}", info.id);
    }
}

#[test]
fn every_page_is_that_of_its_method() {
    for info in METHODS {
        assert!(info.page.starts_with(&format!("# {}", info.id)), "{}", info.id);
    }
}
