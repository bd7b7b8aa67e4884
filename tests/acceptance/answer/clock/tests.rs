use super::{JOBS, KINDS, read};
use crate::acceptance::planted::{Planted, failing};

/// Runs of 100 s whose estimate is off by this factor.
fn planted(off: f64) -> Planted {
    let planted = Planted::new();
    for kind in KINDS {
        for jobs in JOBS {
            let name = format!("{kind}-{jobs}");
            planted.timed_capture((&name, 100.0), 0, "");
            let lines = (0..200).map(|half| {
                let elapsed = f64::from(half) / 2.0;
                let left = (100.0 - elapsed) * off;
                format!("{{\"event\":\"progress\",\"elapsed_s\":{elapsed},\"left_s\":{left}}}\n")
            });
            let text = "seed 1, commit abc\n".to_owned() + &lines.collect::<String>();
            planted.file(&format!("{name}.stderr"), text.as_bytes());
        }
    }
    planted
}

#[test]
fn an_estimate_within_thirty_percent_holds() {
    for off in [0.71, 1.0, 1.29] {
        let findings = read(&planted(off).raw()).unwrap();
        assert_eq!(findings.len(), 12);
        assert_eq!(failing(&findings), Vec::<&str>::new(), "{off}");
    }
}

#[test]
fn an_estimate_further_off_fails_everywhere() {
    for off in [0.0, 0.69, 1.31, 10.0] {
        assert_eq!(failing(&read(&planted(off).raw()).unwrap()).len(), 12, "{off}");
    }
}

#[test]
fn a_run_that_printed_no_estimate_is_an_error() {
    let planted = planted(1.0);
    planted.file("real-2.stderr", b"seed 1, commit abc\n");
    assert!(read(&planted.raw()).is_err());
}
