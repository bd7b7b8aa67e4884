use trimbench_results::{Session, Step};

use super::read;
use crate::acceptance::device::METHODS;
use crate::acceptance::planted::{Planted, failing, record, session};

const DRIVES: [&str; 4] = ["generic-sata-tlc", "vendor2", "generic-nvme-tlc", "like-optane-900p"];
const REPORT: &str = "compressible data make the\ndrive look better than it is\n\
                      2  compressible-data: the data could\n    be compressed: a drive";

/// A pass of a GB that ran at so many MB/s.
fn pass(id: &str, megabytes_per_second: f64) -> Step {
    let mut step = Step::new(id, "pass");
    step.measure("written_bytes", 1e9);
    step.measure("elapsed_s", 1e3 / megabytes_per_second);
    step
}

fn recovery(drive: &str, passes: &[(&str, f64)]) -> Session {
    let mut session = session(drive, &[("trimmed-of-fresh", 1.0)]);
    session.plan.method = "recovery".to_owned();
    session.figures[0].headline = true;
    session.steps = passes.iter().map(|(id, speed)| pass(id, *speed)).collect();
    session
}

fn planted(passes: &[(&str, f64)], compared: f64, report: &str, elapsed: f64) -> Planted {
    let mut sessions = Vec::new();
    for drive in DRIVES {
        for method in METHODS {
            let mut session = recovery(drive, passes);
            session.plan.method = method.to_owned();
            sessions.push(session);
        }
    }
    let planted = Planted::new();
    planted.timed_capture(("run", elapsed), 0, "");
    planted.record("run/run.json", &record(sessions));
    planted.capture("compressing", 0, report);
    let speeds = [("fragmented", 100.0), ("fragmented-compared", compared)];
    planted.record("compressing/run.json", &record(vec![recovery("compressing", &speeds)]));
    planted
}

const GOOD: [(&str, f64); 4] =
    [("fresh", 1000.0), ("fragmented", 700.0), ("self-healed", 714.0), ("trimmed", 980.0)];

fn failed(planted: &Planted) -> Vec<String> {
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn ratios_at_their_bars_hold() {
    assert_eq!(failed(&planted(&GOOD, 150.0, REPORT, 60.0)), Vec::<String>::new());
}

#[test]
fn each_figure_can_miss_its_bar() {
    let one_lower = |id: &str, speed: f64| {
        GOOD.map(|(pass, of_pass)| (pass, if pass == id { speed } else { of_pass }))
    };
    for (passes, part) in [
        (one_lower("trimmed", 979.0), "trimmed over fresh"),
        (one_lower("self-healed", 713.0), "second pass"),
        (one_lower("fragmented", 701.0), "fragmented over fresh"),
    ] {
        let failed = failed(&planted(&passes, 150.0, REPORT, 60.0));
        assert!(
            failed[0].contains(part) || failed.iter().any(|it| it.contains(part)),
            "{failed:?}"
        );
    }
    let one = |planted: Planted| failed(&planted).join(", ");
    assert!(one(planted(&GOOD, 149.0, REPORT, 60.0)).contains("compressing drive"));
    assert!(one(planted(&GOOD, 150.0, "nothing", 60.0)).contains("sentences"));
    assert!(one(planted(&GOOD, 150.0, REPORT, 60.1)).contains("trimbench run"));
}

#[test]
fn a_session_that_was_left_out_is_missed() {
    let planted = planted(&GOOD, 150.0, REPORT, 60.0);
    let mut record = planted.raw().record("run/run.json").unwrap();
    record.sessions[0].left_out = Some("it does not fit".to_owned());
    planted.record("run/run.json", &record);
    assert_eq!(failed(&planted), ["sessions that were measured to their end and have a headline"]);
}
