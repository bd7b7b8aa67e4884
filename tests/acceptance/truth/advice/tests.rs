use trimbench_devices::TargetSpec;
use trimbench_results::{Figure, Role, Session};

use super::{CAPACITY, DRAWN, MADE_UP, PARTS, SHORT, drives, part, read};
use crate::acceptance::Form;
use crate::acceptance::planted::{Planted, failing, record, session};

/// p99.9 in ms and write amplification of a system.
type Under = (&'static str, f64, f64);

/// What the judge finds: `discard` is noticed, and wears least.
const JUDGED: [Under; 3] = [("ext4", 30.0, 1.1), ("fstrim-ext4", 30.0, 1.4), ("none", 1.0, 2.0)];

fn judge(under: &[Under]) -> Session {
    let figures: Vec<(String, f64)> = under
        .iter()
        .flat_map(|(system, wait, wear)| {
            [
                (format!("p99.9-read-under-{system}"), *wait),
                (format!("amplification-under-{system}"), *wear),
            ]
        })
        .collect();
    let figures: Vec<(&str, f64)> = figures.iter().map(|(id, it)| (id.as_str(), *it)).collect();
    session("judge", &figures)
}

/// `policy` on a filesystem on a drive, which found that the longest response under `ext4` is so
/// many ms.
fn policy(drive: &str, worst: f64) -> Session {
    let mut found = session(drive, &[]);
    found.plan.method = "policy".to_owned();
    found.target.name = format!("ext4 on {drive}");
    "filesystem".clone_into(&mut found.target.kind);
    let under = [("ext4", worst, 1.1), ("fstrim-weekly", worst, 1.4), ("none", 1.0, 2.0)];
    for (policy, worst, wear) in under {
        let policy = policy.to_owned();
        let of = |id: &str, value, role| {
            let figure = session("", &[(id, value)]).figures.remove(0);
            Figure { role: Some(role), ..figure }
        };
        found.figures.push(of("max", worst, Role::PolicyWorst { policy: policy.clone() }));
        found.figures.push(of("amplification", wear, Role::PolicyWear { policy }));
    }
    found
}

/// What does not hold where each drive has these records.
fn failed(worst: f64, judged: &[Under], name: &str) -> String {
    failed_of(Form::Short, judged, &|_| (worst, name))
}

/// The same where the longest response under `ext4`, and the name, are those of each drive.
fn failed_of<'a>(form: Form, judged: &[Under], of: &dyn Fn(usize) -> (f64, &'a str)) -> String {
    let planted = Planted::new();
    for index in 0..drives(form).len() {
        let (worst, name) = of(index);
        let small = judge(&[("ext4", 90.0, 1.1)]);
        let sessions = [session("drive", &[]), policy(name, worst), judge(judged), small];
        for (part_name, session) in PARTS.into_iter().zip(sessions) {
            let name = part(index, part_name);
            planted.capture(&name, 0, "");
            planted.record(&format!("{name}/run.json"), &record(vec![session]));
        }
    }
    failing(&read(&planted.raw_of(form)).unwrap()).join(", ")
}

#[test]
fn every_drive_can_be_built() {
    for drive in drives(Form::Full) {
        let target = TargetSpec::parse(&format!("sim:{drive},{CAPACITY}"), None);
        target.unwrap_or_else(|error| panic!("{drive}: {error}"));
    }
}

#[test]
fn of_drawn_drives_one_in_twenty_may_miss() {
    let named = drives(Form::Full).len() - DRAWN;
    // The card says `discard` on the first so many that are drawn.
    let with_misses = |misses: usize| {
        let is_miss = move |index: usize| (named..named + misses).contains(&index);
        let of = move |index| (if is_miss(index) { 5.0 } else { 30.0 }, "drive");
        failed_of(Form::Full, &JUDGED, &of)
    };
    assert_eq!(with_misses(2), "");
    let three = with_misses(3);
    assert!(three.contains("drawn at random") && !three.contains(", "), "{three}");
}

#[test]
fn a_choice_that_the_judge_confirms_holds() {
    assert_eq!(failed(30.0, &JUDGED, "drive"), "");
}

#[test]
fn each_figure_can_miss_its_bar() {
    // The card says `discard`, which loses 2.4 times as much.
    let wrong = failed(5.0, &JUDGED, "drive");
    assert!(wrong.contains("costs more than a tenth"), "{wrong}");
    assert!(wrong.contains("the greatest"), "{wrong}");
    // Weekly costs a tenth more than the best, and a little more than that.
    let judged = |wear| [("ext4", 10.0, 1.0), ("fstrim-ext4", 1.0, wear), ("none", 1.0, 2.0)];
    assert_eq!(failed(30.0, &judged(1.1), "drive"), "");
    assert_ne!(failed(30.0, &judged(1.1001), "drive"), "");
    let two = failed(30.0, &JUDGED, "another");
    assert_eq!(two, "drives with another number of cards than one");
}

#[test]
fn a_card_that_names_no_setting_is_counted() {
    let planted = Planted::new();
    for index in 0..drives(Form::Short).len() {
        let nothing = || session("drive", &[]);
        let small = judge(&[("ext4", 90.0, 1.1)]);
        for (part_name, session) in
            PARTS.into_iter().zip([nothing(), nothing(), judge(&JUDGED), small])
        {
            let name = part(index, part_name);
            planted.capture(&name, 0, "");
            planted.record(&format!("{name}/run.json"), &record(vec![session]));
        }
    }
    let failing = failing(&read(&planted.raw_of(Form::Short)).unwrap()).join(", ");
    assert!(failing.contains("names none"), "{failing}");
    assert!(failing.contains("names a setting"), "{failing}");
}

#[test]
fn no_drive_is_judged_twice() {
    let mut all = drives(Form::Full);
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    assert!(count >= 40);
    assert!(SHORT.iter().all(|drive| all.iter().any(|it| it == drive)));
    assert!(MADE_UP.iter().all(|drive| drive.contains(',')));
}
