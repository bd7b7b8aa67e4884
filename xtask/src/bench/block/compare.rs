//! Turns runs into cases: ratios of medians, their intervals, and the bars.

use trimbench_core::rng::Rng;
use trimbench_results::statistics::{Bootstrap, bootstrap_ratio_of_medians};

use super::{BlockRun, Runs, Who};
use crate::bench::{Case, Side};
use ::tests::acceptance::Bar;

/// A figure that is compared.
struct Figure {
    name: &'static str,
    unit: &'static str,
    of: fn(&BlockRun) -> f64,
    bar: Bar,
}

const FIGURES: [Figure; 4] = [
    Figure { name: "IOPS", unit: "1000/s", of: |run| run.iops / 1e3, bar: Bar::AtLeast(0.95) },
    Figure { name: "p50", unit: "us", of: |run| run.latency_ns_p50 / 1e3, bar: Bar::AtMost(1.1) },
    Figure { name: "p99", unit: "us", of: |run| run.latency_ns_p99 / 1e3, bar: Bar::AtMost(1.1) },
    Figure { name: "CPU", unit: "us/command", of: |run| run.cpu_ns / 1e3, bar: Bar::AtMost(1.05) },
];

/// A case for each figure of ours against fio, of fio against fio, and of ours against plain fio.
pub(super) fn cases(prefix: &str, runs: &Runs, rng: &mut Rng) -> Vec<Case> {
    let mut cases = Vec::new();
    for (suffix, who, peer, judged) in [
        ("", Who::Ours, Who::Fio, true),
        (", fio against fio", Who::Control, Who::Fio, false),
        (", plain fio", Who::Ours, Who::Plain, false),
    ] {
        for figure in &FIGURES {
            let name = format!("{prefix} {}{suffix}", figure.name);
            let (ours, peer) = (side(runs, who, figure), side(runs, peer, figure));
            let interval =
                bootstrap_ratio_of_medians(&ours.values, &peer.values, rng, Bootstrap::default());
            cases.push(Case {
                name,
                unit: figure.unit,
                ours: Some(ours),
                peer: Some(peer),
                interval: interval.map(|interval| [interval.low, interval.high]),
                bar: judged.then_some(figure.bar),
            });
        }
    }
    cases
}

fn side(runs: &Runs, who: Who, figure: &Figure) -> Side {
    let of_side = &runs.runs[who as usize];
    let completion: fn(&BlockRun) -> Option<f64> = match figure.name {
        "p50" => |run| run.completion_ns_p50,
        "p99" => |run| run.completion_ns_p99,
        _ => |_| None,
    };
    let values: Vec<f64> = of_side.iter().filter_map(completion).map(|it| it / 1e3).collect();
    let completion = trimbench_results::statistics::median(&values);
    Side {
        values: of_side.iter().map(figure.of).collect(),
        command: runs.commands[who as usize].clone(),
        check: completion.map_or_else(String::new, |median| format!("clat {median:.3}")),
    }
}
