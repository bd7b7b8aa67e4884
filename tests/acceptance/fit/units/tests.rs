use super::*;
use crate::acceptance::planted::{Planted, failing};

/// What perfect drives would print.
fn right() -> [String; 5] {
    let mut amplified = String::new();
    for unit_kib in UNITS {
        for writes in WRITES {
            let mean = writes.iter().map(|&kib| kib.min(unit_kib)).sum::<u64>() as f64
                / writes.len() as f64;
            let amplification = unit_kib as f64 / mean * greedy(1.28, SUPERBLOCK);
            amplified += &line(&Amplified {
                unit_kib,
                writes_kib: writes.to_vec(),
                over_provisioning: 28,
                alpha: 1.28,
                amplification,
            });
        }
    }
    let trimmed = UNITS.map(|unit_kib| {
        line(&Trimmed {
            unit_kib,
            granularity_kib: unit_kib,
            full: 4_096,
            after_pieces: 4_096,
            after_units: 0,
        })
    });
    let large = Large { units: 937, mapped: 937, announced_gib: 7.9, resident_gib: 8.0 };
    let plan = String::from("memory: 7.9 GiB\n");
    [amplified, trimmed.concat(), line(&large), plan.clone(), plan]
}

fn line(it: &impl Serialize) -> String {
    serde_json::to_string(it).unwrap() + "\n"
}

const PARTS: [&str; 5] = ["amplified", "trimmed", "large", "plan", "largest"];

/// What fails after the first `from` of each part is replaced.
fn failing_after(from: &str, to: &str) -> Vec<String> {
    let planted = Planted::changed(PARTS, right(), (from, to));
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn drives_as_the_formulas_say_hold() {
    assert_eq!(failing_after("nothing", ""), Vec::<String>::new());
}

#[test]
fn every_figure_is_judged() {
    for (from, to, what) in [
        ("\"alpha\":1.28", "\"alpha\":1.29", "writes of 4 KiB"),
        ("\"after_pieces\":4096", "\"after_pieces\":4095", "every 4 KiB by itself"),
        ("\"after_units\":0", "\"after_units\":1", "a TRIM of every unit"),
        ("\"granularity_kib\":16", "\"granularity_kib\":4", "granularity"),
        ("\"resident_gib\":8.0", "\"resident_gib\":10.1", "61.44 TB with units"),
        ("\"mapped\":937", "\"mapped\":936", "units that hold data"),
        ("memory", "time", "announces its memory"),
    ] {
        let failing = failing_after(from, to);
        assert!(!failing.is_empty(), "{from}");
        assert!(failing.iter().all(|it| it.contains(what)), "{failing:?}");
    }
}
