//! Pages of methods: the table of options is what the method's folder says.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use trimbench_engine::MethodInfo;

#[cfg(test)]
mod tests;

/// How a table of options begins.
const HEAD: &str = "| key | quick | standard | published | meaning, unit and range |\n\
    |---|---|---|---|---|\n";

/// Where the page of a method is, from the top folder.
pub(crate) fn path(info: &MethodInfo) -> String {
    format!("docs/methods/{}.md", info.id)
}

/// The page of a method with the table of its options as they are; an error if it has none.
pub(crate) fn with_options(page: &str, info: &MethodInfo) -> Result<String> {
    let found = page.split_once(HEAD);
    let (before, behind) = found.with_context(|| format!("it has no table `{}`", HEAD.trim()))?;
    let rows = behind.split_inclusive('\n').take_while(|line| line.starts_with('|'));
    let after = &behind[rows.map(str::len).sum()..];
    let mut table = String::from(HEAD);
    for option in (info.options)() {
        let [quick, standard, published] = option.presets();
        let (key, help) = (option.key, option.help);
        writeln!(table, "| `{key}` | {quick} | {standard} | {published} | {help} |")?;
    }
    Ok(format!("{before}{table}{after}"))
}
