use trimbench_results::{Session, Step, Verdict};

use super::read;
use crate::acceptance::planted::{Planted, failing, record, session};

const HOLD: &str = "limit a <= 1s holds in x\nlimit b <= 1s holds in x\nlimit c <= 1s holds in x\n";
const OPEN: &str =
    "limit a <= 1s holds in x\nlimit b <= 1s NOT JUDGED in x\nlimit c <= 1s NOT JUDGED in x\n";
const PLAN: &str = "  writes       at most about 10.0 GB to its files, 0.1 times the room for them
  on drives    about 12.5 GB with parity, all 10 together; padding";
const PROFILE: &str = r#"{"values": [{"key": "geometry.superblock", "value": "16MiB"},
    {"key": "drive.over_provisioning", "value": "7.37%"}]}"#;
/// What the formula says of 16 GiB with 0, 10, 25, 30 and 50 % trimmed.
const FORMULA: [f64; 5] = [7.399, 3.268, 1.866, 1.654, 1.200];

fn amplifications(target: &str, factor: f64) -> Session {
    let ids = ["", "-trimmed-10", "-trimmed-25", "-trimmed-30", "-trimmed-50"];
    let ids = ids.map(|suffix| format!("write-amplification{suffix}"));
    let figures: Vec<(&str, f64)> =
        ids.iter().zip(FORMULA).map(|(id, value)| (id.as_str(), value * factor)).collect();
    let mut session = session(target, &figures);
    session.target.identity.insert("capacity".to_owned(), "16GiB".to_owned());
    session
}

/// What of each run is changed.
type Change<'a> = &'a dyn Fn(&str, &mut Session);

/// What does not hold of output that is right but for a change: of records, of the exit code and
/// of what was said of limits with the load that was given, and of the plan.
fn failed(change: Change<'_>, status: i32, said: &str, plan: &str) -> String {
    let planted = Planted::new();
    let load =
        [("load-rate", 213.0), ("trim-max", 0.03), ("alone-max", 0.03), ("loaded-max", 0.03)];
    let mut idle = session("idle", &[("idle-trim", 0.0), ("idle-trim-full", 0.742)]);
    idle.figures[0].verdict = Some(Verdict::WholeTrims {
        span: "16GiB".to_owned(),
        full: "742 ms".to_owned(),
        empty: "742 ms".to_owned(),
    });
    let mut round = Step::new("one-go-1", "one-go");
    round.measure("full_s", 0.742);
    idle.steps.push(round);
    let mut pool = session("pool", &[]);
    let mut storm = Step::new("write", "phase");
    storm.measure("callers_written_bytes", 9.9e9);
    storm.measure("write_bytes", 12e9);
    pool.steps.push(storm);
    let sessions = [
        ("auto", session("auto", &load)),
        ("given", session("given", &load)),
        ("settled", amplifications("settled", 1.0)),
        ("letter", amplifications("letter", 1.05)),
        ("idle", idle),
        ("pool", pool),
    ];
    for (name, mut session) in sessions {
        change(name, &mut session);
        planted.capture(name, if name == "given" { status } else { 0 }, "");
        planted
            .file(&format!("{name}.stderr"), if name == "given" { said } else { HOLD }.as_bytes());
        planted.record(&format!("{name}/run.json"), &record(vec![session]));
    }
    planted.capture("profile", 0, PROFILE);
    planted.capture("forecast", 0, plan);
    failing(&read(&planted.raw()).unwrap()).join(", ")
}

/// The same with another value of a figure of one run.
fn with(run: &str, id: &str, value: f64) -> String {
    let change = |name: &str, session: &mut Session| {
        if name == run {
            session.figures.iter_mut().find(|figure| figure.id == id).unwrap().value = value;
        }
    };
    failed(&change, 4, OPEN, PLAN)
}

#[test]
fn output_as_it_should_be_holds() {
    assert_eq!(failed(&|_, _| (), 4, OPEN, PLAN), "");
}

#[test]
fn each_figure_can_miss_its_bar() {
    assert_eq!(
        with("auto", "loaded-max", 7.0),
        "sim:vendor4: loaded-max of the load that it serves"
    );
    assert_eq!(with("auto", "load-rate", 1_000.0), "the load");
    assert_eq!(with("given", "trim-max", 7.0), "longest TRIM without it");
    assert!(with("settled", "write-amplification-trimmed-30", 1.7).contains("30 % trimmed"));
    assert!(with("idle", "idle-trim-full", 0.9).contains("the time of the whole drive"));
    assert_eq!(failed(&|_, _| (), 1, OPEN, PLAN), "exit code");
    let fails = OPEN.replace("NOT JUDGED", "FAILS");
    assert!(failed(&|_, _| (), 4, &fails, PLAN).contains("because of the load"));
}

#[test]
fn steps_and_forecasts_can_miss_their_bars() {
    let beside = |name: &str, session: &mut Session| {
        if name == "given" {
            session.steps.push(Step::new("mapped-loaded-4KiB-qd1", "mapped-loaded"));
        }
    };
    assert_eq!(failed(&beside, 4, OPEN, PLAN), "rows beside the load");
    let converged = |name: &str, session: &mut Session| {
        if name == "letter" {
            *session = amplifications("letter", 1.0);
        }
    };
    assert!(failed(&converged, 4, OPEN, PLAN).contains("[PTS] alone"));
    let less = PLAN.replace("10.0 GB", "5.00 GB");
    assert!(failed(&|_, _| (), 4, OPEN, &less).contains("of the pool's files"));
    let no_parity = PLAN.replace("12.5 GB", "10.0 GB");
    assert!(failed(&|_, _| (), 4, OPEN, &no_parity).contains("its drives were written"));
}
