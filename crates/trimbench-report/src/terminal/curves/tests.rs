use trimbench_results::Step;

use super::*;
use crate::testing::session;

const PLAIN: Style = Style { width: 60, colour: false, unicode: false };

fn step(id: &str, y: impl Fn(usize) -> f64) -> Step {
    let mut step = Step::new(id, "pass");
    let points = 0..200;
    let x = points.clone().map(|point| point as f64).collect();
    let y = points.map(|point| Some(y(point))).collect();
    let series = Series::new("GB", "MB/s", x, y).unwrap();
    step.series.insert("rate".to_owned(), series);
    step
}

#[test]
fn passes_share_their_axes_and_a_single_dip_is_seen() {
    let mut session = session("drive", 0.0, [0.0, 0.0]);
    let dip = |point| if point == 77 { 0.0 } else { 250.0 };
    session.steps = vec![step("fresh", dip), step("fragmented", |_| 120.0)];
    let lines = curves(&session, PLAIN);
    assert_eq!(lines[1], "rate: the lowest of each column, from 0 on one scale");
    assert!(lines[2].trim_start().starts_with("0 GB") && lines[2].ends_with("199 GB    lowest"));
    let (fresh, fragmented) = (&lines[3], &lines[4]);
    assert!(fresh.starts_with("fresh") && fresh.ends_with("0 MB/s"), "{fresh}");
    assert_eq!(fresh.matches('.').count(), 1, "{fresh}");
    assert!(fresh.contains('@') && !fragmented.contains('@'), "{fresh}\n{fragmented}");
    assert!(fragmented.ends_with("120 MB/s") && lines.len() == 5, "{fragmented}");
    assert!(lines.iter().all(|line| line.chars().count() <= 60));
}

#[test]
fn of_many_curves_the_first_are_shown_and_the_others_counted() {
    let mut session = session("drive", 0.0, [0.0, 0.0]);
    session.steps = (0..11).map(|number| step(&format!("round-{number}"), |_| 1.0)).collect();
    let lines = curves(&session, PLAIN);
    assert_eq!(lines.iter().filter(|line| line.starts_with("round-")).count(), LINES_MAX);
    assert!(lines.join(" ").contains("3 more in the record"));
}

#[test]
fn a_curve_of_few_points_has_no_holes() {
    let mut session = session("drive", 0.0, [0.0, 0.0]);
    let mut few = Step::new("few", "pass");
    let x = vec![1.0, 10.0, 40.0];
    let y = vec![Some(250.0), Some(100.0), Some(200.0)];
    few.series.insert("rate".to_owned(), Series::new("s", "IOPS", x, y).unwrap());
    session.steps = vec![few];
    let lines = curves(&session, PLAIN);
    let strip = lines[3].strip_prefix("few  ").unwrap().trim_end_matches("100 IOPS").trim_end();
    assert!(!strip.contains(' ') && strip.starts_with('@'), "{strip}");
}
