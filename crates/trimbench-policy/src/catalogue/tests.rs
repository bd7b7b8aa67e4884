use trimbench_core::settings::IfUnset;

use trimbench_core::Bytes;
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
        build(info.id).unwrap_or_else(|error| panic!("{}: {error}", info.id));
        assert!(POLICIES.iter().filter(|other| other.id == info.id).count() == 1);
        assert!(info.summary.len() <= 80, "{}: a line", info.id);
    }
}

#[test]
fn a_choice_prints_every_value_and_reads_what_it_prints() {
    let choice: Choice = "deferred, delay=1min,iops=5".parse().unwrap();
    let text = "deferred,delay=1min,iops=5,bytes-per-second=0,discard-max=64MiB";
    assert_eq!(choice.to_string(), text);
    assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
    assert_eq!(choice.info().id, "deferred");
}

#[test]
fn errors_say_what_is_wrong_and_what_would_be_right() {
    let cases = [
        ("pased", "no policy is called `pased`; did you mean `paced`?; there are none, online, "),
        ("online,x=1", "`online` has no parameter `x`; it has none"),
        ("batched,perod=1s", "has no parameter `perod`; did you mean `period`?; it has period"),
        ("batched,period", "`period` is not a setting; write `KEY=VALUE`"),
        ("batched,period=1s,period=2s", "`period` is set twice"),
        (
            "batched,period=1",
            "`period` of `batched`: `1` has no unit; write for example `75us`; give 1ms to 8760h",
        ),
        ("batched,period=0", "`period` of `batched`: `0` is out of range; give 1ms to 8760h"),
        ("rate-limited,iops=many", "`many` is not a whole number; give 0 to 1000000"),
        ("rate-limited,iops=2000000", "`2000000` is out of range; give 0 to 1000000"),
        (
            "rate-limited,discard-max=5KB",
            "`discard-max` of `rate-limited`: 5000B is no whole number of blocks of 4KiB",
        ),
        ("rate-limited,discard-max=1KiB", "`1KiB` is out of range; give 4KiB to "),
        (
            "paced,discard-min=64MiB,discard-max=1MiB",
            "`discard-max` of `paced`: `1MiB` is out of range; give 64MiB to 1TiB",
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
        assert!(PAGE.contains(&format!("| `{}` | {} |", info.id, info.summary)), "{}", info.id);
        for Setting { key, unset, help, .. } in (info.parameters)() {
            let IfUnset::Preset([default, ..]) = unset else { panic!("{key} has no default") };
            let row = format!("| `{}` | `{key}` | `{default}` | {help} |", info.id);
            assert!(PAGE.contains(&row), "docs/reference/policies.md lacks:\n{row}");
        }
    }
}
