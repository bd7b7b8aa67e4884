use trimbench_results::{Outcome, Series, Step};

use super::*;
use crate::labels::labelled;
use crate::source::PageSource;
use crate::testing::{record, session, view};

/// A method of a later version is shown all the same.
#[test]
fn curves_of_an_unknown_method_are_drawn_as_they_are() {
    let mut one = session("vendor2", 0.4, [0.3, 0.5]);
    one.plan.method = "of-the-future".to_owned();
    let mut step = Step::new("phase-1", "phase");
    let y = vec![Some(30.0), Some(40.0)];
    let series = Series::new("s", "C", vec![0.0, 1.0], y.clone()).unwrap();
    step.series.insert("temperature".to_owned(), series);
    one.steps = vec![step];
    let sources = [PageSource::of("run", record(vec![one], Outcome::Complete))];
    let methods = ReportedMethod::of(&labelled(&sources), view, None);
    let charts = methods[0].charts();
    let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(ids, ["of-the-future-headline", "of-the-future-temperature"]);
    assert_eq!(charts[1].series[0].name, "vendor2: phase-1");
    assert_eq!(charts[1].series[0].y, y);
}

#[test]
fn targets_with_another_headline_are_named_and_the_others_drawn_by_value() {
    let mut other = session("slow", 0.9, [0.8, 1.0]);
    other.figures.retain(|figure| !figure.headline);
    other.figures[0].headline = true;
    let sessions = vec![session("high", 0.4, [0.3, 0.5]), other, session("low", 0.1, [0.0, 0.2])];
    let sources = [PageSource::of("run", record(sessions, Outcome::Complete))];
    let charts = ReportedMethod::of(&labelled(&sources), view, None)[0].charts();
    assert_eq!(charts[0].x.categories, ["low", "high"]);
    assert_eq!(charts[0].series[0].y, [Some(0.1), Some(0.4)]);
    assert_eq!(charts[0].notes, ["slow has overdue time per GB instead."]);
}

#[test]
fn drives_stand_in_the_order_of_another_figure() {
    let overdue = |name: &str, stutter, overdue: f64| {
        let mut one = session(name, stutter, [0.0, 1.0]);
        let figure = one.figures.iter_mut().find(|figure| !figure.headline).unwrap();
        figure.value = overdue;
        one
    };
    let sessions = vec![overdue("a", 0.1, 0.3), overdue("b", 0.2, 0.1), overdue("c", 0.3, 0.2)];
    let sources = [PageSource::of("run", record(sessions, Outcome::Complete))];
    let id = &sources[0].record.as_ref().unwrap().sessions[0];
    let id = id.figures.iter().find(|figure| !figure.headline).unwrap();
    let by = format!("{}.{}", sources[0].record.as_ref().unwrap().sessions[0].plan.method, id.id);
    let order = DriveOrder::by(&by, &[sources[0].record.as_ref()]).unwrap();
    let context = crate::PageContext::in_order(&sources, view, Some(order.clone()));
    assert_eq!(context.charts[0].x.categories, ["b", "c", "a"]);
    let verdicts: Vec<&str> =
        context.verdicts.iter().map(|verdict| verdict.target.as_str()).collect();
    assert_eq!(verdicts, ["b", "c", "a"]);
    let figures = vec![String::new(); context.charts.len()];
    let page = crate::page(&sources, view, &context, &figures);
    assert!(page.contains(&format!("Order of {}.", order.words())));
    let text = crate::terminal_in_order(
        sources[0].record.as_ref().unwrap(),
        crate::Detail::Full,
        crate::Style { width: 80, colour: false, unicode: true },
        (0, &order),
    );
    let at = |name: &str| text.lines().position(|line| line.starts_with(name)).unwrap();
    assert!(at("b ") < at("c ") && at("c ") < at("a "), "{text}");
    let tables = crate::csv_in_order(sources[0].record.as_ref().unwrap(), 0, &order);
    let first = tables[0].1.lines().nth(1).unwrap();
    assert!(first.starts_with("1,"), "the index of the record's session: {first}");
}
