use trimbench_results::{Session, Step};

use super::{SHARES, Series, greedy, is_steady, random_series, read, steady_at};
use crate::acceptance::planted::{Planted, failing, record, session};

#[test]
fn the_limits_themselves_count_as_within() {
    // Mean 125, excursion 25: exactly 20 %; it does not rise.
    assert!(is_steady(&[135, 110, 135, 110, 135]));
    assert!(!is_steady(&[136, 110, 135, 110, 135]));
    // Mean 40, slope 1: a rise of exactly 10 %.
    assert!(is_steady(&[38, 39, 40, 41, 42]));
    assert!(!is_steady(&[38, 39, 40, 41, 43]));
    // The same falling.
    assert!(is_steady(&[42, 41, 40, 39, 38]));
    assert!(!is_steady(&[0; 5]), "nothing is not steady");
    assert!(!is_steady(&[40; 4]), "four rounds are no window");
    assert_eq!(steady_at(&[1, 100, 100, 100, 100, 100]), Some(6));
    assert_eq!(steady_at(&[1, 2, 3]), None);
}

#[test]
fn the_formula_gives_the_published_values() {
    // [DESN12] for 64 units: 7 and 28 % of over-provisioning.
    assert!((greedy(1.07, 64) - 7.010).abs() < 0.002, "{}", greedy(1.07, 64));
    assert!((greedy(1.28, 64) - 2.403).abs() < 0.002, "{}", greedy(1.28, 64));
    assert!((greedy(1100.0 / 1024.0, 4096) - 7.399).abs() < 0.001);
    assert!((greedy(1100.0 / 1024.0 / 0.5, 4096) - 1.200).abs() < 0.001);
}

fn series(rounds: &[i64], steady_at: Option<usize>) -> String {
    let series = Series { kind: "random".to_owned(), rounds: rounds.to_vec(), steady_at };
    serde_json::to_string(&series).unwrap() + "\n"
}

#[test]
fn a_series_that_was_judged_otherwise_is_found() {
    let at_limit = series(&[38, 39, 40, 41, 42], Some(5)).repeat(300);
    let beyond = series(&[38, 39, 40, 41, 43], None).repeat(300);
    let planted = Planted::new();
    planted.capture("series", 0, &format!("{at_limit}{beyond}"));
    assert_eq!(failing(&random_series(&planted.raw()).unwrap()), Vec::<&str>::new());
    let wrong = series(&[38, 39, 40, 41, 42], None);
    let planted = Planted::new();
    planted.capture("series", 0, &format!("{at_limit}{beyond}{wrong}"));
    let findings = random_series(&planted.raw()).unwrap();
    assert!(failing(&findings)[0].contains("differs from an exact calculation"));
    assert!(findings[0].note.contains("[38, 39, 40, 41, 42]"), "{}", findings[0].note);
    let planted = Planted::new();
    planted.capture("series", 0, &at_limit);
    assert_eq!(failing(&random_series(&planted.raw()).unwrap()).len(), 1, "all are steady");
}

fn round(iops: f64, percent: u32, amplification: f64, steady: Option<bool>) -> Step {
    let mut step = Step::new("round", "round");
    step.set("trimmed_percent", f64::from(percent));
    step.measure("iops", iops);
    step.measure("host_written_bytes", 1e9);
    step.measure("media_written_bytes", amplification * 1e9);
    if let Some(steady) = steady {
        step.measure("window_steady", f64::from(u8::from(steady)));
    }
    step
}

/// Rounds of a share: one that does not count, then five.
fn rounds(percent: u32, amplification: f64, is_steady: bool) -> Vec<Step> {
    let mut steps = vec![round(1000.0, percent, 90.0, None)];
    steps.extend((0..3).map(|_| round(100.0, percent, amplification, None)));
    // The first window holds the first round.
    steps.push(round(100.0, percent, amplification, Some(!is_steady)));
    steps.push(round(100.0, percent, amplification, Some(is_steady)));
    steps
}

fn planted(factor: f64, is_steady: bool) -> Planted {
    let planted = Planted::new();
    planted.capture("series", 0, &series(&[38, 39, 40, 41, 42], Some(5)));
    let profile = r#"{"name": "plain-nvme-tlc", "values": [
        {"key": "drive.over_provisioning", "value": "7.37%", "origin": "assumed", "source": "x"},
        {"key": "geometry.superblock", "value": "16MiB", "origin": "assumed", "source": "y"}]}"#;
    planted.capture("profile", 0, profile);
    let expected = [7.3988, 3.2678, 1.8658, 1.2003];
    let shares = SHARES.into_iter().zip(expected);
    let steps = shares.flat_map(|(share, expected)| rounds(share, expected * factor, is_steady));
    let mut trimmed: Session = session("plain-nvme-tlc", &[]);
    trimmed.steps = steps.collect();
    trimmed.target.identity.insert("capacity".to_owned(), "16GiB".to_owned());
    for name in ["trimmed", "unsteady"] {
        planted.capture(name, 0, "");
        planted.record(&format!("{name}/run.json"), &record(vec![trimmed.clone()]));
    }
    planted
}

/// Without those of the series, of which there is but one.
fn failed(planted: &Planted) -> Vec<String> {
    let findings = read(&planted.raw()).unwrap();
    failing(&findings[3..]).into_iter().map(str::to_owned).collect()
}

#[test]
fn write_amplification_is_held_against_the_formulas_over_the_last_window() {
    assert_eq!(failed(&planted(1.019, true)), Vec::<String>::new());
    assert_eq!(failed(&planted(0.981, true)), Vec::<String>::new());
    assert_eq!(failed(&planted(1.021, true)).len(), 4);
    assert_eq!(failed(&planted(0.979, true)).len(), 4);
}

#[test]
fn a_measured_window_that_says_the_opposite_is_found() {
    let failed = failed(&planted(1.0, false));
    assert_eq!(
        failed,
        ["windows of measured rounds whose verdict differs from an exact calculation"]
    );
}
