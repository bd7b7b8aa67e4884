use super::{Both, fresh_seed, read};
use crate::acceptance::planted::{Planted, failing};
use crate::acceptance::{Bar, Finding};
use crate::campaign::{About, Campaign, Ledger, inputs};

const CAMPAIGN: Campaign = Campaign { id: "planted.1", judge, ..inputs::CAMPAIGN };

fn judge(ledger: &Ledger) -> anyhow::Result<Vec<Finding>> {
    let lines: Vec<serde_json::Value> = ledger.outcomes()?;
    let losses = lines.iter().filter(|line| line["lost"] == true).count();
    Ok(vec![ledger.finding("losses", (losses as f64, ""), Bar::Equals(0.0))])
}

/// A file, what is replaced in it, and by what.
type Change = (&'static str, &'static str, &'static str);

/// Raw output in which everything holds, but for what `change` replaces in one of its files.
fn planted((file, from, to): Change) -> Planted {
    let planted = Planted::new();
    let about =
        r#"{"campaign":"planted.1","seed":7,"attempts":2,"commit":"abc","sources":{"guard":"1"}}"#;
    let both = format!(r#"{{"about":{about},"now":{{"guard":"1"}},"sample":1}}"#);
    let text = |name: &str, text: &str| {
        if name == file { text.replacen(from, to, 1) } else { text.to_owned() }
    };
    planted.file("campaign.json", text("campaign.json", &both).as_bytes());
    let lines = "{\"attempt\":0,\"lost\":false}\n{\"attempt\":1,\"lost\":false}\n";
    planted.file("planted.1.ndjson", text("planted.1.ndjson", lines).as_bytes());
    planted.capture("sample", 0, &text("sample", "{\"attempt\":0,\"lost\":false}\n"));
    planted
}

#[test]
fn campaign_sources_and_sample_can_each_miss_their_bar() {
    let all: [(Change, &[&str]); 7] = [
        (("", "", ""), &[]),
        (
            ("campaign.json", r#""now":{"guard":"1"}"#, r#""now":{"guard":"2"}"#),
            &["sources that have changed since the campaign"],
        ),
        (
            ("campaign.json", r#""now":{"guard":"1"}"#, r#""now":{"guard":"1","new":"1"}"#),
            &["sources that have changed since the campaign"],
        ),
        (
            ("planted.1.ndjson", "{\"attempt\":0,\"lost\":false}\n", ""),
            &["attempts that are missing"],
        ),
        (("planted.1.ndjson", "false", "true"), &["losses"]),
        (
            ("sample", "{\"attempt\":0,\"lost\":false}\n", ""),
            &["attempts that are missing (fresh sample)"],
        ),
        (("sample", "false", "true"), &["losses (fresh sample)"]),
    ];
    for (change, expected) in all {
        let findings = read(&planted(change).raw(), &CAMPAIGN).unwrap();
        assert_eq!(findings.len(), 5);
        assert_eq!(failing(&findings), expected, "{change:?}");
    }
}

#[test]
fn changed_sources_are_named_and_so_are_seed_and_commit() {
    let change = ("campaign.json", r#""now":{"guard":"1"}"#, r#""now":{"guard":"2"}"#);
    let findings = read(&planted(change).raw(), &CAMPAIGN).unwrap();
    assert_eq!(findings[0].note, "seed 7, commit abc");
    assert_eq!(findings[1].note, "guard");
}

#[test]
fn a_sample_has_a_seed_of_its_own() {
    assert_eq!(fresh_seed("0000001fabcd", 1).unwrap(), 0x1f);
    assert_eq!(fresh_seed("0000001fabcd", 0x1f).unwrap(), 0x20);
}

#[test]
fn what_is_kept_is_read_back() {
    let both: Both =
        serde_json::from_value(planted(("", "", "")).raw().json("campaign.json").unwrap()).unwrap();
    let about: &About = &both.about;
    assert_eq!((about.seed, about.attempts, both.sample), (7, 2, 1));
}
