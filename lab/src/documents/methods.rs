//! Pages of methods: the table of options, and the list of all methods, are what their folders say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ::tests::methods::{CAPACITY, DIRECTORY, DRIVE, capabilities};
use anyhow::{Context as _, Result};
use trimbench_core::settings::PRESETS;
use trimbench_core::{Clock, Support};
use trimbench_engine::{ASSUMED_RATE, Demand, Method, MethodInfo, Preset};
use trimbench_methods::METHODS;
use trimbench_results::number::quantity;

use super::parts;

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
    let columns = PRESETS.len() + 2;
    let mut rows = format!("| key | {} | meaning, unit and range |\n", PRESETS.join(" | "));
    writeln!(rows, "|{}", "---|".repeat(columns))?;
    for option in (info.options)() {
        let (key, texts, help) = (option.key, option.presets().join(" | "), option.help);
        writeln!(rows, "| `{key}` | {texts} | {help} |")?;
    }
    let found = parts::between(page, HEAD, "\n\n");
    let (before, after) = found.with_context(|| format!("it has no table `{HEAD}`"))?;
    Ok(format!("{before}{}{after}", rows.trim_end()))
}

/// The rows of the list of all methods.
pub(super) fn index() -> String {
    let mut rows = String::new();
    for info in METHODS {
        let method =
            info.resolve(Preset::Quick, &BTreeMap::new()).expect("presets are valid").method;
        let targets = targets(&*method);
        // A modelled drive has the capacity that the method asks for, and always begins anew.
        let modelled = targets[1] == MODELLED;
        let own = method.emulated_capacity().filter(|_| modelled);
        let Demand { written, time } = method.demand(own.unwrap_or(CAPACITY), ASSUMED_RATE);
        let (bytes, time) = (quantity(written.0 as f64, "B"), quantity(time.seconds(), "s"));
        let metrics = method.metrics();
        let headline = metrics.iter().find(|metric| metric.headline);
        let headline = headline.expect("every method has a headline");
        let unit = if headline.unit.is_empty() { "" } else { &format!(", {}", headline.unit) };
        writeln!(
            rows,
            "| [{id}]({id}.md) | {} | {}{unit} | {} | {bytes} | {time} | {} |",
            info.summary,
            headline.title,
            targets.join(" | "),
            if info.resumes && !modelled { "continues" } else { "starts again" },
            id = info.id,
        )
        .expect("a string takes everything");
    }
    rows
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
