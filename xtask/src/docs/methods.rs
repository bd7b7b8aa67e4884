//! Pages of methods: the table of options is what the method's folder says.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use trimbench_core::settings::PRESETS;
use trimbench_engine::MethodInfo;

#[cfg(test)]
mod tests;

/// How a table of options begins, whatever presets it has a column for.
const HEAD: &str = "| key | quick |";

/// Where the page of a method is, from the top folder.
pub(crate) fn path(info: &MethodInfo) -> String {
    format!("docs/methods/{}.md", info.id)
}

/// The page of a method with the table of its options as they are; an error if it has none.
pub(crate) fn with_options(page: &str, info: &MethodInfo) -> Result<String> {
    let start = page.find(HEAD).with_context(|| format!("it has no table `{HEAD}`"))?;
    let (before, old) = page.split_at(start);
    let rows = old.split_inclusive('\n').take_while(|line| line.starts_with('|'));
    let after = &old[rows.map(str::len).sum()..];
    let columns = PRESETS.len() + 2;
    let mut table = format!("| key | {} | meaning, unit and range |\n", PRESETS.join(" | "));
    writeln!(table, "|{}", "---|".repeat(columns))?;
    for option in (info.options)() {
        let (key, texts, help) = (option.key, option.presets().join(" | "), option.help);
        writeln!(table, "| `{key}` | {texts} | {help} |")?;
    }
    Ok(format!("{before}{table}{after}"))
}
