use std::collections::BTreeMap;

use trimbench_engine::{MethodDefinition as _, Preset};
use trimbench_methods::policy::PolicyLab;
use trimbench_results::{Figure, Session, Verdict};

use super::{DRIVES, read};
use crate::acceptance::planted::{Planted, failing, record, session};

/// All policies of the default with every figure: the first drive's TRIMs take 92 ms.
fn lab(drive: &str) -> Session {
    let longest = if drive == DRIVES[0] { 92.0 } else { 0.5 };
    let mut figures: Vec<(String, f64)> = Vec::new();
    let columns = [
        ("p50", 0.1),
        ("p99", 0.5),
        ("p99.9", 9.0),
        ("max", 9.5),
        ("amplification", 1.5),
        ("throughput", 20.0),
        ("cycles", 5.0),
        ("untrimmed", 1e6),
        ("waited", 1e6),
        ("withheld", 1e6),
        ("trim", longest),
        ("freed", 1e9),
        ("trimmed", 0.0),
        ("not-trimmed", 9e8),
        ("rewritten", 1e8),
        ("issued", 0.0),
        ("deferred", 0.0),
        ("skipped", 9.0),
        ("invalidated", 1.0),
    ];
    let method = PolicyLab::resolve(Preset::Quick, &BTreeMap::new()).unwrap();
    for (policy, _) in method.policies {
        figures.extend(columns.map(|(column, value)| (format!("{column}-under-{policy}"), value)));
    }
    figures.push(("policy".to_owned(), 9.0));
    figures.push(("paced-over-target".to_owned(), 0.9));
    let figures: Vec<(&str, f64)> = figures.iter().map(|(id, it)| (id.as_str(), *it)).collect();
    let mut session = session(drive, &figures);
    if longest > 10.0 {
        of(&mut session, "paced-over-target").verdict =
            Some(Verdict::TargetNotPossible { trim: "92.000 ms".to_owned() });
    }
    session
}

fn of<'a>(session: &'a mut Session, id: &str) -> &'a mut Figure {
    session.figures.iter_mut().find(|figure| figure.id == id).unwrap()
}

/// What does not hold once the records of all drives are changed so.
fn failed(change: impl Fn(&str, &mut Session)) -> String {
    let planted = Planted::new();
    for drive in DRIVES {
        let mut session = lab(drive);
        change(drive, &mut session);
        let name = format!("{drive}-1");
        planted.capture(&name, 0, "");
        planted.record(&format!("{name}/run.json"), &record(vec![session]));
    }
    failing(&read(&planted.raw()).unwrap()).join(", ")
}

/// The same of one figure.
fn failed_with(id: &'static str, value: f64) -> String {
    failed(|_, session| of(session, id).value = value)
}

#[test]
fn what_is_complete_and_adds_up_holds() {
    assert_eq!(failed(|_, _| ()), "");
}

#[test]
fn each_figure_can_miss_its_bar() {
    let lost =
        failed(|_, session| session.figures.retain(|it| it.id != "withheld-under-fstrim-weekly"));
    assert!(lost.contains("policies with every figure"), "{lost}");
    assert!(failed_with("freed-under-ext4", 1.1e9).contains("in no account"));
    let none = failed(|_, session| {
        of(session, "trimmed-under-none").value = 4096.0;
        of(session, "not-trimmed-under-none").value = 9e8 - 4096.0;
    });
    assert!(none.contains("trimmed under `none`") && !none.contains("no account"), "{none}");
    assert!(failed_with("amplification-under-btrfs-async", 1.66).contains("amplification"));
    let late = failed_with("p99.9-under-paced", 10.1);
    assert!(late.contains("generic-nvme-tlc: `paced`") && !late.contains("vendor2"), "{late}");
    let silent = failed(|_, session| of(session, "paced-over-target").verdict = None);
    assert!(silent.contains("vendor2: `paced`: results that tell"), "{silent}");
    for longest in [0.5, 92.0] {
        assert!(failed_with("trim-under-paced", longest).contains("drives on which"));
    }
}
