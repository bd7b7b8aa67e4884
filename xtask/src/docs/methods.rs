//! Pages of methods: the table of options, and the list of all methods, are what their folders say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Support};
use trimbench_engine::{Demand, Method, MethodInfo, Preset};
use trimbench_methods::METHODS;
use trimbench_results::number::quantity;

#[cfg(test)]
mod tests;

/// How a table of options begins.
const HEAD: &str = "| key | quick | standard | published | meaning, unit and range |\n\
    |---|---|---|---|---|\n";

/// The page that lists all methods, and how its table begins.
pub(crate) const INDEX: &str = "docs/methods/README.md";
const INDEX_HEAD: &str = "| method | measures | headline | drives | directories | \
    without discard | `quick` writes | `quick` takes | on resume |\n\
    |---|---|---|---|---|---|---|---|---|\n";
/// The capacity for which the list says what a run takes.
const CAPACITY: Bytes = Bytes::gib(20);

/// Where the page of a method is, from the top folder.
pub(crate) fn path(info: &MethodInfo) -> String {
    format!("docs/methods/{}.md", info.id)
}

/// The page of a method with the table of its options as they are; an error if it has none.
pub(crate) fn with_options(page: &str, info: &MethodInfo) -> Result<String> {
    let mut rows = String::new();
    for option in (info.options)() {
        let [quick, standard, published] = option.presets();
        let (key, help) = (option.key, option.help);
        writeln!(rows, "| `{key}` | {quick} | {standard} | {published} | {help} |")?;
    }
    with_rows(page, HEAD, &rows)
}

/// The list of all methods with its table as it is; an error if it has none.
pub(crate) fn with_index(page: &str) -> Result<String> {
    let mut rows = String::new();
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
    with_rows(page, INDEX_HEAD, &rows)
}

/// What the list says of a method that runs on modelled filesystems only.
const MODELLED: &str = "modelled";

/// Whether a method runs on drives, in directories, and where there are no discards.
fn targets(method: &dyn Method) -> [&'static str; 3] {
    let logical_block = BlockSize::SECTOR;
    let device = Medium::Device { capacity: CAPACITY, logical_block };
    let directory = Medium::Directory { available: CAPACITY, fs_block: Bytes(4_096) };
    let fits = |medium, clock, discard| {
        let capabilities = Capabilities {
            clock,
            medium,
            discard,
            discard_max: Bytes::gib(1),
            discard_granularity: Bytes(4_096),
            queue_depth: 32,
            drain: DrainRule::IMMEDIATE,
        };
        method.fits(&capabilities).is_ok()
    };
    let yes = |fits| if fits { "yes" } else { "no" };
    let in_directory =
        match [Clock::Wall, Clock::Virtual].map(|clock| fits(directory, clock, Support::Native)) {
            [true, _] => "yes",
            [false, true] => MODELLED,
            _ => "no",
        };
    let without = [device, directory].map(|medium| fits(medium, Clock::Wall, Support::None));
    [yes(fits(device, Clock::Wall, Support::Native)), in_directory, yes(without.contains(&true))]
}

/// The page with other rows in the table that begins so.
fn with_rows(page: &str, head: &str, rows: &str) -> Result<String> {
    let found = page.split_once(head);
    let (before, behind) = found.with_context(|| format!("it has no table `{}`", head.trim()))?;
    let old = behind.split_inclusive('\n').take_while(|line| line.starts_with('|'));
    let after = &behind[old.map(str::len).sum()..];
    Ok(format!("{before}{head}{rows}{after}"))
}
