use super::*;
use crate::acceptance::planted::{Planted, failing};
use crate::soak::SoakTally;

fn good(form: &Form) -> SoakSummary {
    let commands = u64::from(form.configurations) * u64::from(form.commands);
    SoakSummary {
        configurations: form.configurations.into(),
        tally: SoakTally { commands, ..SoakTally::of_each(7) },
        searched_both_ways: u64::from(form.configurations) / 10,
        canaries: 11,
        canaries_found: 11,
        seconds: 2.0,
        ..SoakSummary::default()
    }
}

fn found(form: &Form, change: impl Fn(&mut SoakSummary)) -> Result<Vec<Finding>> {
    let mut summary = good(form);
    change(&mut summary);
    let planted = Planted::new();
    let command = format!("cargo xtask soak 1 --json {}", form.arguments().join(" "));
    let output = serde_json::to_string(&summary).unwrap();
    planted.capture_of(("soak", &command, 2.0), 0, &output);
    read(&planted.raw())
}

#[test]
fn a_soak_without_violations_holds_in_either_form() {
    for form in [FULL, SHORT] {
        let findings = found(&form, |_| {}).unwrap();
        assert_eq!(failing(&findings), Vec::<&str>::new());
        assert_eq!(findings[1].note.contains("short form"), form.commands == SHORT.commands);
    }
    assert!(FULL.total() >= 1e9);
}

#[test]
fn each_figure_is_judged_by_itself() {
    let failed = |change: fn(&mut SoakSummary)| -> Vec<String> {
        let findings = found(&FULL, change).unwrap();
        failing(&findings).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(failed(|it| it.violations = 1), ["configurations with a violation"]);
    assert_eq!(failed(|it| it.tally.commands -= 1), ["commands"]);
    assert_eq!(failed(|it| it.configurations -= 1), ["random configurations"]);
    let few = ["configurations searched by vectors and plainly"];
    assert_eq!(failed(|it| it.searched_both_ways -= 1), few);
    assert_eq!(failed(|it| it.differing = 1), ["configurations whose two hashes differ"]);
    assert_eq!(failed(|it| it.canaries_found -= 1), ["planted faults that were not found"]);
    assert_eq!(failed(|it| it.tally.power_cuts = 0), ["kinds of event that never occurred"]);
}

#[test]
fn a_soak_without_canaries_or_of_another_length_says_nothing() {
    let error = found(&FULL, |it| it.canaries = 0).unwrap_err().to_string();
    assert!(error.contains("no canary"), "{error}");
    let other = Form { configurations: 3, commands: 5, note: "" };
    let error = found(&other, |_| {}).unwrap_err().to_string();
    assert!(error.contains("no form of the claim"), "{error}");
}
