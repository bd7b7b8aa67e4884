//! The words of a target's text: names, and settings behind them.

use std::fmt;

use trimbench_core::settings::{Setting, SettingError, Values};

/// What marks an emulated drive.
pub const EMULATED: &str = "sim:";

/// Settings behind a name, `KEY=VALUE[,KEY=VALUE]...`: the last one holds of those that are set
/// twice. Errors call what they belong to `of`.
pub(crate) fn settings(
    of: &str,
    rows: &[Setting],
    text: Option<&str>,
) -> Result<Values, SettingError> {
    let mut values = Values::new("setting", of);
    for part in text.into_iter().flat_map(|text| text.split(',')) {
        values.set_part(rows, part)?;
    }
    Ok(values)
}

pub(crate) fn write_settings<'a>(
    formatter: &mut fmt::Formatter<'_>,
    settings: impl IntoIterator<Item = (&'a str, String)>,
) -> fmt::Result {
    settings.into_iter().try_for_each(|(key, text)| write!(formatter, ",{key}={text}"))
}
