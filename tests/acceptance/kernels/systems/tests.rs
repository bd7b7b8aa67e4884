use trimbench_core::Caveat;
use trimbench_methods::kernels::ComparedSystem;
use trimbench_results::{Session, Step};

use super::{COLUMNS, DRIVES, WITHIN_COMMIT, read};
use crate::acceptance::planted::{Planted, failing, record, session};

/// The table of a drive as the sources of the kernels have it.
fn table(drive: &str) -> Session {
    let mut figures: Vec<(String, f64)> = Vec::new();
    for system in ComparedSystem::all().into_iter().map(ComparedSystem::id) {
        for column in COLUMNS {
            let value = match (column, system) {
                ("all-discarded", "none" | "f2fs") => continue,
                ("lost", _) if system.starts_with("fstrim-") => continue,
                ("amplification", _) if !system.contains("ext4") && system != "none" => continue,
                ("lost", _) if WITHIN_COMMIT.contains(&system) => 0.0,
                ("lost", "btrfs-async" | "none") => 100.0,
                ("lost", _) => 97.0,
                ("discarded", "none") => 0.0,
                ("discarded", "ext4") => 1.2,
                ("discarded", _) => 1.0,
                ("longest-fsync", "ext4-2.6.33") => 900.0,
                _ => 2.0,
            };
            figures.push((format!("{column}-under-{system}"), value));
        }
    }
    let figures: Vec<(&str, f64)> = figures.iter().map(|(id, it)| (id.as_str(), *it)).collect();
    let mut waiting = Step::new("f2fs-deletion", "deletion");
    waiting.caveat(Caveat::DiscardsWait);
    Session { steps: vec![waiting], ..session(drive, &figures) }
}

/// What does not hold once the records of all drives are changed so.
fn failed(seconds: f64, change: impl Fn(&mut Session)) -> String {
    let planted = Planted::new();
    for drive in DRIVES {
        let mut session = table(drive);
        change(&mut session);
        planted.timed_capture((drive, seconds), 0, "");
        planted.record(&format!("{drive}/run.json"), &record(vec![session]));
    }
    failing(&read(&planted.raw()).unwrap()).join(", ")
}

fn failed_with(id: &'static str, value: f64) -> String {
    failed(10.0, |session| {
        let figure = session.figures.iter_mut().find(|figure| figure.id == id).unwrap();
        figure.value = value;
    })
}

#[test]
fn a_table_as_the_sources_have_it_holds() {
    assert_eq!(failed(10.0, |_| ()), "");
}

#[test]
fn each_figure_can_miss_its_bar() {
    assert!(failed(61.0, |_| ()).contains("like-rc100: time that it took"));
    let lacking = failed(1.0, |session| session.figures.retain(|it| it.id != "stutter-under-xfs"));
    assert!(lacking.contains("vendor2: systems with every figure"), "{lacking}");
    let unexplained = failed(1.0, |session| session.steps.clear());
    assert!(unexplained.contains("vendor2: systems with every figure"), "{unexplained}");
    for (id, value, what) in [
        ("lost-under-ext4-4.13", 0.1, "where a commit or a log discards"),
        ("lost-under-btrfs-async", 99.0, "`btrfs-async`"),
        ("discarded-under-xfs", 0.99, "`xfs`: discarded"),
        ("discarded-under-ext4", 0.9, "`ext4`: discarded"),
        ("discarded-under-none", 0.1, "`none`: discarded"),
        ("longest-fsync-under-ext4-2.6.33", 1.0, "longest fsync under"),
        ("amplification-under-ext4-4.13", 2.3, "write amplification"),
    ] {
        let failed = failed_with(id, value);
        assert!(failed.contains(what), "{id}: {failed}");
    }
}
