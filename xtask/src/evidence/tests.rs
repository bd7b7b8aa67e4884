use std::fs;
use std::process::Command;
use std::time::Duration;

use ::tests::acceptance::{Bar, Raw, Tier};
use anyhow::{Result, ensure};
use serde_json::Value;

use super::{
    ClaimRow, Context, FULL, Finding, KEYS, Key, Outcome, Register, SHORT, Store, page, select,
};
use crate::Repository;
use crate::repository::State;
use crate::steps::Deadline;

const PLANTED: ClaimRow = ClaimRow {
    id: "planted.1",
    title: "A planted claim",
    tier: Tier::Evidence,
    bar: "at most 10",
    short: Duration::from_secs(5),
    full: Duration::from_secs(10),
    measure,
    read,
};
const FAILING: ClaimRow = ClaimRow { id: "planted.2", measure: fail, ..PLANTED };
const PLANTED_KEY: Key = Key { name: "planted", title: "Planted.", claims: &[PLANTED, FAILING] };

fn measure(context: &Context<'_>) -> Result<()> {
    context.capture_well("figure", Command::new("echo").arg("7")).map(|_| ())
}

fn fail(_: &Context<'_>) -> Result<()> {
    ensure!(false, "planted failure");
    Ok(())
}

fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("figure")?;
    let figure = raw.text(&capture.output)?.trim().parse()?;
    Ok(vec![Finding::new("what was echoed", (figure, "s"), Bar::AtMost(10.0), &capture)])
}

/// Runs `test` with a register of its own.
fn with_register(test: impl FnOnce(&Register<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::at(folder.path());
    let state = State { commit: "abc".to_owned(), sources: "1".repeat(40), dirty: false };
    let store = Store::new(&repository.target().join("evidence"));
    test(&Register { repository: &repository, state, store, short: false });
}

fn outcome(register: &Register<'_>, claim: &'static ClaimRow, fresh: bool) -> Outcome {
    register.outcome(claim, fresh, Deadline::after(Duration::from_secs(10)))
}

#[test]
fn a_figure_is_one_line_of_json_with_its_verdict() {
    with_register(|register| {
        let outcome = outcome(register, &PLANTED, false);
        assert!(outcome.holds());
        let lines = register.lines(&outcome).unwrap();
        let line: Value = serde_json::from_str(&lines).unwrap();
        let expected = [
            ("id", Value::from("planted.1")),
            ("figure", 7.0.into()),
            ("unit", "s".into()),
            ("bar", "<= 10 s".into()),
            ("holds", true.into()),
            ("command", "echo 7".into()),
            ("raw", "target/evidence/abc/planted.1/figure.stdout".into()),
            ("commit", "abc".into()),
        ];
        for (name, value) in expected {
            assert_eq!(line[name], value, "{name}");
        }
        assert!(register.repository.root().join(line["raw"].as_str().unwrap()).exists());
    });
}

#[test]
fn the_verdict_is_read_from_raw_output_again_and_again() {
    with_register(|register| {
        assert!(outcome(register, &PLANTED, false).holds());
        let folder = register.store.folder("planted.1", &register.state, false);
        fs::write(folder.join("figure.stdout"), "11\n").unwrap();
        assert!(!outcome(register, &PLANTED, false).holds(), "the raw output says 11 now");
        assert!(outcome(register, &PLANTED, true).holds(), "measured again it is 7");
        fs::remove_file(folder.join("figure.stdout")).unwrap();
        let gone = outcome(register, &PLANTED, false);
        assert!(!gone.holds(), "no raw output, no verdict");
        let error = gone.result.unwrap_err().to_string();
        assert!(error.contains("target/evidence/abc/planted.1/figure.stdout"), "{error}");
        let root = register.repository.root().display().to_string();
        assert!(!error.contains(&root), "{error} names a folder of this machine");
    });
}

#[test]
fn a_claim_that_cannot_be_measured_does_not_hold_and_says_why() {
    with_register(|register| {
        let outcome = outcome(register, &FAILING, false);
        assert!(!outcome.holds());
        let line: Value = serde_json::from_str(&register.lines(&outcome).unwrap()).unwrap();
        assert_eq!((&line["holds"], &line["figure"]), (&false.into(), &Value::Null));
        assert!(line["error"].as_str().unwrap().contains("planted failure"));
    });
}

#[test]
fn the_page_has_a_row_a_figure_and_marks_what_is_short_or_failed() {
    with_register(|register| {
        let good = outcome(register, &PLANTED, false);
        let page = page::render(&PLANTED_KEY, &[good, outcome(register, &FAILING, false)]);
        let row = "| planted.1 | what was echoed | 7 s | <= 10 s | yes | `echo 7` | abc |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| planted.2 | A planted claim | not measured |"), "{page}");
        assert!(page.contains("planted failure"), "{page}");
        assert!(!page.contains("short"), "{page}");
    });
    with_register(|register| {
        let register = Register {
            short: true,
            store: register.store.clone(),
            state: register.state.clone(),
            ..*register
        };
        let page = page::render(&PLANTED_KEY, &[outcome(&register, &PLANTED, false)]);
        assert!(page.contains("| planted.1 (short) |"), "{page}");
    });
}

#[test]
fn the_page_of_one_item_does_not_lose_the_others() {
    with_register(|register| {
        let path = register.repository.root().join("docs/evidence/planted.md");
        let only_first = vec![outcome(register, &PLANTED, false)];
        register.write_page(&PLANTED_KEY, only_first).unwrap();
        assert!(!path.exists(), "the second claim is not measured");
        let both = vec![outcome(register, &FAILING, false), outcome(register, &PLANTED, false)];
        register.write_page(&PLANTED_KEY, both).unwrap();
        let page = fs::read_to_string(path).unwrap();
        let (first, second) = (page.find("| planted.1 "), page.find("| planted.2 "));
        assert!(first.unwrap() < second.unwrap(), "{page}");
    });
}

#[test]
fn ids_name_a_key_an_item_or_everything() {
    let keys = [PLANTED_KEY];
    let count = |id| -> Result<usize> {
        Ok(select(&keys, id)?.iter().map(|(_, claims)| claims.len()).sum())
    };
    assert_eq!(count(None).unwrap(), 2);
    assert_eq!(count(Some("planted")).unwrap(), 2);
    assert_eq!(count(Some("planted.2")).unwrap(), 1);
    let error = count(Some("planted.3")).unwrap_err().to_string();
    assert!(error.contains("planted.3") && error.contains("planted.1"), "{error}");
}

#[test]
fn every_claim_belongs_to_its_key_and_fits_into_the_time_of_a_key() {
    for key in KEYS {
        let numbers = key.claims.iter().map(|claim| {
            let number = claim.id.strip_prefix(key.name).and_then(|rest| rest.strip_prefix('.'));
            number.and_then(|number| number.parse::<u32>().ok()).expect(claim.id)
        });
        assert!(numbers.is_sorted_by(|a, b| a < b), "{}: ascending, each once", key.name);
        let total = |of: fn(&ClaimRow) -> Duration| key.claims.iter().map(of).sum::<Duration>();
        assert!(total(|claim| claim.short) <= SHORT, "{}", key.name);
        assert!(total(|claim| claim.full) <= FULL, "{}", key.name);
    }
}
