use trimbench_core::settings::IfUnset;

use trimbench_core::Bytes;
use trimbench_core::settings::Named as _;
use trimbench_core::settings::Setting;

use super::*;
use crate::policy::TrimPolicy;

const PAGE: &str = include_str!("../../../../docs/reference/policies.md");

fn build(text: &str) -> Result<Box<dyn TrimPolicy>, PolicyError> {
    text.parse::<Choice>()?.build(BlockSize::new(Bytes(4_096)).unwrap())
}

#[test]
fn every_policy_is_made_with_its_defaults() {
    for info in &POLICIES {
        let built = build(info.id);
        match info.origin {
            PolicyOrigin::OwnPath(issuer) => {
                assert_eq!(info.id, issuer.id());
                assert_eq!(built.unwrap_err(), PolicyError::OwnPath { policy: info.id });
            }
            _ => drop(built.unwrap_or_else(|error| panic!("{}: {error}", info.id))),
        }
        assert!(POLICIES.iter().filter(|other| other.id == info.id).count() == 1);
        assert!(info.summary.len() <= 80, "{}: a line", info.id);
    }
}

#[test]
fn a_choice_prints_every_value_and_reads_what_it_prints() {
    let choice: Choice = "rate-limited, discard-max=1MiB,iops=5".parse().unwrap();
    let text = "rate-limited,iops=5,bytes-per-second=0,discard-max=1MiB";
    assert_eq!(choice.to_string(), text);
    assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
    assert_eq!(choice.info().id, "rate-limited");
}

#[test]
fn a_name_of_before_is_refused_with_that_of_the_system() {
    for (former, today) in FORMER_POLICIES {
        let error = build(former).expect_err(former).to_string();
        assert!(error.contains(&format!("did you mean `{today}`?")), "{error}");
        assert!(POLICIES.iter().any(|info| info.id == today), "{today}");
    }
}

#[test]
fn a_system_that_sends_discards_has_its_name_as_an_issuer() {
    // Programs, and nobody.
    let others = ["fstrim-weekly", "talos", "none"];
    for info in &POLICIES {
        let is_issuer = Issuer::NAMES.iter().any(|(name, _)| *name == info.id);
        let is_system = !matches!(info.origin, PolicyOrigin::Proposal(_));
        assert_eq!(is_issuer, is_system && !others.contains(&info.id), "{}", info.id);
    }
}

#[test]
fn errors_say_what_is_wrong_and_what_would_be_right() {
    let cases = [
        (
            "pased",
            "no policy is called `pased`; did you mean `paced`?; there are ext4, btrfs-async, ",
        ),
        ("none,x=1", "`none` has no parameter `x`; it has none"),
        (
            "fstrim-weekly,perod=1s",
            "has no parameter `perod`; did you mean `period`?; it has period",
        ),
        ("fstrim-weekly,period", "`period` is not a setting; write `KEY=VALUE`"),
        ("fstrim-weekly,period=1s,period=2s", "`period` is set twice"),
        (
            "fstrim-weekly,period=1",
            "`period` of `fstrim-weekly`: `1` has no unit (ns, us, ms, s, min, h); write for \
             example `1s`; give 1ms to ",
        ),
        (
            "fstrim-weekly,period=0",
            "`period` of `fstrim-weekly`: `0` is out of range; give 1ms to 8760h",
        ),
        ("rate-limited,iops=many", "`many` is not a whole number; give 0 to 1000000"),
        ("rate-limited,iops=2000000", "`2000000` is out of range; give 0 to 1000000"),
        (
            "rate-limited,discard-max=5KB",
            "`discard-max` of `rate-limited`: 5000B is no whole number of blocks of 4KiB",
        ),
        ("rate-limited,discard-max=1KiB", "`1KiB` is out of range; give 4KiB to "),
        (
            "mean-law,rate-min=64MiB,rate-max=1MiB",
            "`rate-max` of `mean-law`: `1MiB` is out of range; give 64MiB to 1TiB",
        ),
        // Of the law that `paced` had before.
        (
            "paced,load=5%",
            "`paced` has no parameter `load`; it has target, tolerance, discard-max, backlog-max, \
             wait-max",
        ),
        ("paced,tolerance=0", "`tolerance` of `paced`: `0` is out of range; give 0.0002% to 50%"),
    ];
    for (text, expected) in cases {
        let error = build(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_page_has_every_policy_and_parameter() {
    for info in &POLICIES {
        assert!(
            PAGE.contains(&format!("| `{}` | {} | {} |", info.id, info.origin, info.summary)),
            "{}",
            info.id
        );
        for Setting { key, unset, help, .. } in (info.parameters)() {
            let IfUnset::Preset([default, ..]) = unset else { panic!("{key} has no default") };
            let row = format!("| `{}` | `{key}` | `{default}` | {help} |", info.id);
            assert!(PAGE.contains(&row), "docs/reference/policies.md lacks:\n{row}");
        }
    }
}
