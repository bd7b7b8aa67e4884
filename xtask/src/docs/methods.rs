//! Pages of methods: the table of options, and the list of all methods, are what their folders say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ::tests::methods::{CAPACITY, DIRECTORY, DRIVE, capabilities};
use anyhow::{Context as _, Result};
use trimbench_core::settings::PRESETS;
use trimbench_core::{Clock, Support};
use trimbench_engine::{Demand, Method, MethodInfo, Preset};
use trimbench_methods::METHODS;
use trimbench_results::number::quantity;

#[cfg(test)]
mod tests;

/// How a table of options begins, whatever presets it has a column for.
const HEAD: &str = "| key | quick |";

/// The page that lists all methods, and how its table begins.
pub(crate) const INDEX: &str = "docs/methods/README.md";
const INDEX_HEAD: &str = "| method | measures | headline | drives | directories | \
    without discard | `quick` writes | `quick` takes | on resume |\n\
    |---|---|---|---|---|---|---|---|---|\n";

/// Where the page of a method is, from the top folder.
pub(crate) fn path(info: &MethodInfo) -> String {
    format!("docs/methods/{}.md", info.id)
}

/// The page of a method with the table of its options as they are; an error if it has none.
pub(crate) fn with_options(page: &str, info: &MethodInfo) -> Result<String> {
    let columns = PRESETS.len() + 2;
    let mut rows = format!("| key | {} | meaning, unit and range |\n", PRESETS.join(" | "));
    writeln!(rows, "|{}", "---|".repeat(columns))?;
    for option in (info.options)() {
        let (key, texts, help) = (option.key, option.presets().join(" | "), option.help);
        writeln!(rows, "| `{key}` | {texts} | {help} |")?;
    }
    with_table(page, HEAD, &rows)
}

/// The list of all methods with its table as it is; an error if it has none.
pub(crate) fn with_index(page: &str) -> Result<String> {
    let mut rows = INDEX_HEAD.to_owned();
    for info in METHODS {
        let method = info.resolve(Preset::Quick, &BTreeMap::new())?.method;
        let targets = targets(&*method);
        // A modelled drive has the capacity that the method asks for, and always begins anew.
        let modelled = targets[1] == MODELLED;
        let own = method.emulated_capacity().filter(|_| modelled);
        let Demand { written, time } = method.demand(own.unwrap_or(CAPACITY));
        let (bytes, time) = (quantity(written.0 as f64, "B"), quantity(time.seconds(), "s"));
        let metrics = method.metrics();
        let headline = metrics.iter().find(|metric| metric.headline);
        let headline = headline.with_context(|| format!("{} has no headline", info.id))?;
        let unit = if headline.unit.is_empty() { "" } else { &format!(", {}", headline.unit) };
        writeln!(
            rows,
            "| [{id}]({id}.md) | {} | {}{unit} | {} | {bytes} | {time} | {} |",
            info.summary,
            headline.title,
            targets.join(" | "),
            if info.resumes && !modelled { "continues" } else { "starts again" },
            id = info.id,
        )?;
    }
    with_table(page, INDEX_HEAD, &rows)
}

/// What the list says of a method that runs on modelled filesystems only.
const MODELLED: &str = "modelled";

/// Whether a method runs on drives, in directories, and where there are no discards.
fn targets(method: &dyn Method) -> [&'static str; 3] {
    let fits = |medium, clock, discard| method.fits(&capabilities(medium, clock, discard)).is_ok();
    let yes = |fits| if fits { "yes" } else { "no" };
    let in_directory =
        match [Clock::Wall, Clock::Virtual].map(|clock| fits(DIRECTORY, clock, Support::Native)) {
            [true, _] => "yes",
            [false, true] => MODELLED,
            _ => "no",
        };
    let without = [DRIVE, DIRECTORY].map(|medium| fits(medium, Clock::Wall, Support::None));
    [yes(fits(DRIVE, Clock::Wall, Support::Native)), in_directory, yes(without.contains(&true))]
}

/// The page with this table in place of the one that begins with `head`.
fn with_table(page: &str, head: &str, table: &str) -> Result<String> {
    let start = page.find(head).with_context(|| format!("it has no table `{head}`"))?;
    let (before, old) = page.split_at(start);
    let rows = old.split_inclusive('\n').take_while(|line| line.starts_with('|'));
    let after = &old[rows.map(str::len).sum()..];
    Ok(format!("{before}{table}{after}"))
}
