//! Values of a profile that the command line sets: in the record, the report, a resumed run and a
//! comparison.

use tempfile::tempdir;
use trimbench_results::Outcome;

use super::{code, record, small, stderr, stdout, trimbench};

const CHANGED: &str = "sim:generic-nvme-tlc,drive.over_provisioning=28%,nand.program=900us";

#[test]
fn values_that_the_user_set_are_said_wherever_the_drive_is() {
    let folder = tempdir().unwrap();
    let run = |target, output| {
        let arguments = small(&["--target", target, "--output", output]);
        let run = trimbench(folder.path(), &arguments);
        assert_eq!(code(&run), Some(0), "{}", stderr(&run));
        stdout(&run)
    };
    assert!(!run("sim:generic-nvme-tlc", "plain").contains("set by the user"));
    let plain = String::from_utf8(record(folder.path(), "plain").to_json()).unwrap();
    assert!(!plain.contains("\"set\""), "other records keep their bytes");
    let printed = run(CHANGED, "changed");
    assert!(printed.contains("2 set by the user"), "{printed}");

    let changed = record(folder.path(), "changed");
    let target = &changed.sessions[0].target;
    let said = &target.identity["set-by-the-user"];
    assert_eq!(said, "drive.over_provisioning=28%, nand.program=900us");
    assert_eq!(target.identity["over-provisioning"], "28%");
    assert_eq!(target.provenance.unwrap().set, 2);
    let report = stdout(&trimbench(folder.path(), &["report", "changed"]));
    assert!(report.contains("2 set by the user"), "{report}");
    let compared = stdout(&trimbench(folder.path(), &["compare", "plain", "changed"]));
    assert!(compared.contains("nand.program=900us"), "another target: {compared}");

    let mut half = changed.clone();
    half.outcome = Outcome::Interrupted;
    half.sessions[0].finished = false;
    half.sessions[0].figures.clear();
    half.sessions[0].steps.truncate(3);
    std::fs::create_dir(folder.path().join("half")).unwrap();
    std::fs::write(folder.path().join("half/run.json"), half.to_json()).unwrap();
    let resumed = trimbench(folder.path(), &["run", "--resume", "half"]);
    assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
    assert_eq!(record(folder.path(), "half").to_json(), changed.to_json());
}

#[test]
fn wrong_values_are_usage_errors_with_the_nearest_key_and_the_range() {
    let folder = tempdir().unwrap();
    for (setting, said) in [
        ("nand.progam=900us", "did you mean `nand.program`?"),
        (
            "nand.program=900",
            "`900` has no unit (ns, us, ms, s, min, h); write for example `900s`; give at most 1h",
        ),
        ("nand.program=2h", "nand.program is 7200s, but must be at most 1h"),
        ("trim.mode=sometimes", "not one of blocking, queued, background, none, ignored"),
        ("compression.floor=15.5%", "whole percents between 10% and 100%"),
        ("suspend.resume=20us", "lacks `suspend.program`, `suspend.erase`, `suspend.reads_max`"),
    ] {
        for before in ["sim:vendor2,", "ext4:sim:vendor2,"] {
            let target = format!("{before}{setting}");
            let run = trimbench(folder.path(), &["run", "delete-stall", "--target", &target]);
            assert_eq!(code(&run), Some(2), "{target}: {}", stderr(&run));
            assert!(stderr(&run).contains(said), "{target}: {}", stderr(&run));
        }
    }
}
