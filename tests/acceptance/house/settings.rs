//! Any value of a profile can be set on the command line: tests try every key.

use anyhow::Result;

use super::red::outcomes;
use crate::acceptance::{Bar, Context, Finding, Raw};

/// Name of the capture, the package and its tests of settings.
const TESTS: [(&str, &[&str], &[&str]); 2] = [
    (
        "keys",
        &["--package", "trimbench-devices", "--lib"],
        &[
            "emulated::tests::every_value_of_a_profile_can_be_set_and_reaches_the_drive",
            "emulated::tests::\
             wrong_keys_units_and_values_are_refused_with_the_nearest_key_and_the_range",
        ],
    ),
    (
        "command-line",
        &["--package", "trimbench", "--test", "cli"],
        &[
            "values::values_that_the_user_set_are_said_wherever_the_drive_is",
            "values::wrong_values_are_usage_errors_with_the_nearest_key_and_the_range",
        ],
    ),
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for (name, of, tests) in TESTS {
        let arguments = [&["test"], of, &["--", "--exact"], tests].concat();
        context.capture(name, &mut context.repository().command("cargo", &arguments))?;
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let finding = |(name, _, tests): (&str, _, &[&str])| {
        let passed = outcomes(raw, name, "ok")?;
        let count = tests.iter().filter(|test| passed.contains(**test)).count() as f64;
        let what = format!("tests of settings that pass, {name}");
        let bar = Bar::Equals(tests.len() as f64);
        Ok(Finding::new(&what, (count, ""), bar, &raw.capture(name)?))
    };
    TESTS.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests;
