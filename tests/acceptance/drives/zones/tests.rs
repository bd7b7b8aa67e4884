use std::fs;
use std::path::Path;

use trimbench_results::Step;

use super::*;
use crate::acceptance::planted::{Planted, failing, record, session};

/// The figures of the repository.
fn text() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(ZONES)).unwrap()
}

/// What does not hold where all runs of this drive are off by these factors in rate and in write
/// amplification, and all others are as the real ones.
fn failed(drive: &str, (rate, worn): (f64, f64), form: Form) -> Vec<String> {
    let planted = Planted::new();
    planted.file(KEPT, text().as_bytes());
    for (index, run) in runs(&text(), form).unwrap().iter().enumerate() {
        let (rate, worn) = if run.drive == drive { (rate, worn) } else { (1.0, 1.0) };
        for seed in 0..=SEEDS {
            let name = run.name(index, seed);
            planted.capture(&name, 0, "");
            let mut ours = session(&run.drive, &[]);
            ours.steps = (0..)
                .zip(&run.tenths)
                .map(|(tenth, iops)| {
                    let mut step = Step::new(format!("round-{tenth}"), "round");
                    step.measure("iops", iops * rate);
                    step.measure("host_written_bytes", 1e9);
                    let real = run.amplification.unwrap_or(1.0);
                    step.measure("media_written_bytes", 1e9 * real * worn);
                    step
                })
                .collect();
            planted.record(&format!("{name}/run.json"), &record(vec![ours]));
        }
    }
    let findings = read(&planted.raw_of(form)).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn runs_like_the_real_ones_hold_and_others_do_not() {
    for drive in &DRIVES {
        let within = (COURSE_MOST - 0.001).exp();
        assert!(failed(drive.name, (within, 1.0), Form::Full).is_empty());
        let beyond = (-COURSE_MOST - 0.001).exp();
        let what = format!("{}: the worst course of zones with TRIM", drive.name);
        assert_eq!(failed(drive.name, (beyond, 1.0), Form::Full), [what]);
    }
    let counted = DRIVES[0].name;
    assert!(failed(counted, (1.0, 1.049), Form::Short).is_empty());
    let what = format!("{counted}: write amplification of zones with TRIM, furthest off");
    assert_eq!(failed(counted, (1.0, 0.949), Form::Short), [what]);
}

#[test]
fn what_is_left_after_a_factor_is_said_beside_the_residual() {
    // Twice as fast in the first half of the rounds, four times in the second.
    let planted = Planted::new();
    let line = "micron-7450-max-800,a,b,predict,800166076416,1,4096,,100 100 100 100 100 100";
    let text = format!("head\n{line}\n");
    planted.file(KEPT, text.as_bytes());
    for seed in 0..=SEEDS {
        let run = &runs(&text, Form::Full).unwrap()[0];
        planted.capture(&run.name(0, seed), 0, "");
        let mut ours = session(&run.drive, &[]);
        for tenth in 0..6 {
            let mut step = Step::new(format!("round-{tenth}"), "round");
            step.measure("iops", if tenth < 3 { 200.0 } else { 400.0 });
            step.measure("host_written_bytes", 1e9);
            step.measure("media_written_bytes", 1.5e9);
            ours.steps.push(step);
        }
        planted.record(&format!("{}/run.json", run.name(0, seed)), &record(vec![ours]));
    }
    let findings = read(&planted.raw_of(Form::Full)).unwrap();
    // Half of ln 2 and ln 4; a factor of the root of 8.
    let said = "2 GiB, 1 at a time: 1.0397, 0.3466 after a factor of 2.8284, write amplification \
                1.5, ours 400, real 100 IOPS when steady";
    assert_eq!(findings[0].note, said);
}

#[test]
fn drive_and_zones_shrink_with_the_superblocks() {
    let all = runs(&text(), Form::Full).unwrap();
    assert_eq!(all.len(), 20);
    let run = all.iter().find(|run| run.drive == DRIVES[0].name && run.writes == 2_172).unwrap();
    // 745.2 GiB of 2,112 MiB, and zones of 1.0605 GiB.
    let capacity = Bytes(rounded(run.scaled(run.exported).unwrap()));
    assert_eq!(capacity.0 >> 20, 763_097 * 32 / 2_112);
    let options = run.options(capacity, true).unwrap();
    assert!(
        options.contains(&format!("pattern=zones-{}-1-trimmed", Bytes(33 << 19))),
        "{options:?}"
    );
    let untrimmed = run.options(capacity, false).unwrap();
    assert!(untrimmed.contains(&format!("pattern=zones-{}-1", Bytes(33 << 19))));
    // What a discard takes in any case comes as rarely as zones do, and the host has its time.
    let kioxia = all.iter().find(|run| run.of().unwrap().host_limits).unwrap();
    let target = kioxia.target(capacity).unwrap();
    let latency = rounded(512_000.0 * 32.0 / 5_376.0);
    assert!(target.contains(&format!("trim.latency={latency}ns")), "{target}");
    let free = rounded(1_041.0 * f64::from(1 << 20) * 32.0 / 2_112.0);
    assert!(run.target(capacity).unwrap().contains(&format!("trim.uncharged={free}B")));
    let each = rounded(1e9 / kioxia.tenths[0] - 524_288.0 / 14.0 - 7_000.0);
    assert!(target.contains("host.command="), "{target}");
    let named: u64 = target.rsplit('=').next().unwrap().trim_end_matches("ns").parse().unwrap();
    assert!(named.abs_diff(each) < 3, "{named} {each}");
    assert!(Run::read("a,b").is_err());
}
