use trimbench_results::{Series, Session, Step};

use super::read;
use crate::acceptance::planted::{Planted, failing, record, session};

const PROFILE: &str = r#"{"values": [{"key": "geometry.superblock", "value": "16MiB"},
    {"key": "drive.over_provisioning", "value": "7.37%"}]}"#;

fn pass(id: &str, rate: f64, [first, last]: [f64; 2]) -> Step {
    let mut step = Step::new(id, "pass");
    step.measure("written_bytes", rate * 1e6);
    step.measure("elapsed_s", 1.0);
    let x = (0..10).map(f64::from).collect();
    let y = (0..10).map(|point| Some(if point < 5 { first } else { last })).collect();
    step.series.insert("throughput-address".to_owned(), Series::new("GB", "MB/s", x, y).unwrap());
    step
}

/// What of a run is changed.
type Change<'a> = &'a dyn Fn(&str, &mut Session);

fn failed(change: Change<'_>) -> String {
    let planted = Planted::new();
    let mut vertex = session("vertex", &[]);
    vertex.steps = vec![
        pass("fresh", 131.0, [200.0, 96.0]),
        pass("self-healed", 96.0, [96.0, 96.0]),
        pass("trimmed", 131.0, [199.0, 96.0]),
    ];
    let cured = [
        ("fragmented-of-fresh", 0.4),
        ("copied-of-fresh", 0.99),
        ("trimmed-of-fresh", 1.0),
        ("copy-time", 60.0),
        ("fstrim-time", 0.1),
    ];
    let mut small = session("small", &[("write-amplification", 6.805)]);
    small.target.identity.insert("capacity".to_owned(), "2GiB".to_owned());
    let postponing =
        session("postponing", &[("settle-idle", 0.203), ("settle-idle-over-loaded", 0.305)]);
    let cures = ["ext4", "xfs", "btrfs", "f2fs"].map(|name| (name, session(name, &cured)));
    let others = [("vertex", vertex), ("small", small), ("postponing", postponing)];
    for (name, mut session) in others.into_iter().chain(cures) {
        change(name, &mut session);
        planted.capture(name, 0, "");
        planted.record(&format!("{name}/run.json"), &record(vec![session]));
    }
    planted.capture("profile", 0, PROFILE);
    failing(&read(&planted.raw()).unwrap()).join(", ")
}

fn with(run: &str, id: &str, value: f64) -> String {
    failed(&|name, session| {
        if name == run {
            let figure = session.figures.iter_mut().find(|figure| figure.id == id).unwrap();
            figure.value = value;
        }
    })
}

fn with_pass(id: &str, changed: &Step) -> String {
    failed(&|name, session| {
        if name == "vertex" {
            let step = session.steps.iter_mut().find(|step| step.id == id).unwrap();
            *step = changed.clone();
        }
    })
}

#[test]
fn what_the_sources_say_holds_and_each_bar_can_fail() {
    assert_eq!(failed(&|_, _| ()), "");
    // As it was: the second pass as quick as the first.
    let quick = pass("self-healed", 199.0, [199.0, 199.0]);
    assert_eq!(with_pass("self-healed", &quick), "over that, a later pass over a full drive");
    let slow = pass("trimmed", 96.0, [96.0, 96.0]);
    assert_eq!(with_pass("trimmed", &slow), "over that, below half full after a TRIM");
    let other = pass("fresh", 131.0, [210.0, 96.0]);
    assert!(with_pass("fresh", &other).starts_with("Vertex 4 below half full"));
    for (id, value, what) in [
        ("fragmented-of-fresh", 0.9, "fragmented over fresh"),
        ("copied-of-fresh", 0.6, "copied and deleted over fresh"),
        ("trimmed-of-fresh", 0.9, "trimmed over fresh"),
        ("fstrim-time", 10.0, "time of fstrim over that of the copy"),
    ] {
        assert_eq!(with("xfs", id, value), format!("xfs: {what}"));
    }
    assert_eq!(with("postponing", "settle-idle", 0.3), "work of a TRIM, idle");
    assert_eq!(with("postponing", "settle-idle-over-loaded", 1.0), "idle over under load");
    let what = "write amplification of 128 superblocks";
    assert_eq!(with("small", "write-amplification", 7.06), what);
}
