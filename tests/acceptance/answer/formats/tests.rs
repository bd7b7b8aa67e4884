use std::collections::BTreeMap as Options;

use trimbench_engine::Preset;
use trimbench_report::{Detail, PageContext, PageSource, Style};
use trimbench_results::{Interval, Session};

use super::*;
use crate::acceptance::planted::{self, Planted, failing};

/// A rendering, and what is done to its text.
type Change = (&'static str, fn(&str) -> String);

/// A session of a method that has every one of its metrics, with values of all orders.
fn session(method: &str, target: &str) -> Session {
    let info = METHODS.iter().find(|info| info.id == method).unwrap();
    let resolved = info.resolve(Preset::Quick, &Options::new()).unwrap();
    let mut session = planted::session(target, &[]);
    session.plan.method = method.to_owned();
    session.figures = Vec::new();
    for (index, metric) in resolved.method.metrics().into_iter().enumerate() {
        let orders = [0.0, 1.234e-7, 0.012_345, 0.868_1, 3.0, 95_748.944, 2.109_3e8, -0.25];
        let value = orders[index % orders.len()];
        let mut figure = metric.measured(value).unwrap();
        figure.headline = index == 0;
        if index % 3 == 0 {
            figure.interval = Interval::new(value - 0.003, value + 0.004, 0.95);
        }
        session.figures.push(figure);
    }
    session
}

/// The renderings of such sessions, with `change` applied to one of them.
fn planted(change: Change) -> Planted {
    let planted = Planted::new();
    for (name, target, methods, _) in RUNS {
        let sessions = methods.iter().map(|method| session(method, target)).collect();
        let record = planted::record(sessions);
        planted.record(&format!("{name}/run.json"), &record);
        planted.capture(name, 0, "");
        let style = Style { colour: false, unicode: false, width: 200 };
        let sources = [PageSource::of(name.to_owned(), record.clone())];
        let context = PageContext::of(&sources, |_| None);
        let page =
            trimbench_report::page(&sources, |_| None, &context, &context.figures().unwrap());
        let (_, figures) = trimbench_report::csv(&record).swap_remove(0);
        for (format, text) in [
            ("terminal", trimbench_report::terminal(&record, Detail::Full, style)),
            ("page", page),
            ("csv", figures),
            ("markdown", trimbench_report::markdown(&[(name, &record)])),
            ("junit", trimbench_report::junit(&[(name, &record)], &[])),
        ] {
            let text = if change.0 == format { change.1(&text) } else { text };
            match format {
                "terminal" => planted.capture(&format!("{name}-terminal"), 0, &text),
                "page" => planted.file(&format!("{name}.html"), text.as_bytes()),
                "csv" => planted.file(&format!("{name}-csv/figures.csv"), text.as_bytes()),
                "markdown" => planted.file(&format!("{name}.md"), text.as_bytes()),
                _ => planted.file(&format!("{name}.xml"), text.as_bytes()),
            }
        }
    }
    planted
}

/// All metrics of all methods, in all five renderings.
#[test]
fn every_metric_of_every_method_is_shown_alike() {
    let findings = read(&planted(("none", str::to_owned)).raw()).unwrap();
    assert_eq!(findings.len(), RUNS.len() * FORMATS.len() + 1);
    assert_eq!(failing(&findings), Vec::<&str>::new(), "{findings:#?}");
}

/// One figure with other digits, in any of them, is found.
#[test]
fn another_rounding_in_one_rendering_is_found() {
    let changes: [Change; 5] = [
        ("terminal", |text| text.replace("95,749", "95,700")),
        // Cells of equal figures are equal.
        ("page", |text| text.replace(">95,749<", ">95,700<")),
        ("csv", |text| text.replacen("95,749", "95,700", 1)),
        ("markdown", |text| text.replacen("95,749", "95,700", 1)),
        ("junit", |text| text.replacen("95,749", "95,700", 1)),
    ];
    for change in changes {
        let findings = read(&planted(change).raw()).unwrap();
        let failing = failing(&findings);
        assert!(!failing.is_empty(), "{}", change.0);
        assert!(failing.iter().all(|what| what.contains(change.0)), "{failing:?}");
    }
}
