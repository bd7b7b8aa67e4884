//! `trimbench what-if`.

use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};
use trimbench_app::{Failure, jobs};
use trimbench_core::exit;
use trimbench_fit::{Endurance, Estimate, FreeSpace, Outside};
use trimbench_report::{Grid, GridColumn};
use trimbench_results::number::quantity;

use super::{failure, set_of, with_progress};
use crate::args::fit::WhatIfArgs;
use crate::output::{Printed, be_quiet, document, joined, style};

/// What is read of a fit.
#[derive(Debug, Deserialize)]
struct Twins {
    drawn: Vec<Vec<(String, String)>>,
}

/// What the shares come to, and on which drive.
struct Shown<'a> {
    profile: &'a str,
    found: Vec<FreeSpace>,
    wear: Endurance,
    is_fitted: bool,
}

/// `trimbench what-if`.
pub(crate) fn what_if(args: &WhatIfArgs) -> Result<u8, Failure> {
    if args.quiet {
        be_quiet();
    }
    if let Some(free) = args.free.iter().find(|free| free.0 > 950_000) {
        let error = anyhow::anyhow!("{free} of free space leave nothing to write to");
        return Err(Failure::usage(error).with_hint("give shares up to 95%"));
    }
    if !(args.drive_writes > 0.0 && args.drive_writes.is_finite() && args.cycles > 0) {
        let error = anyhow::anyhow!("`--cycles` and `--drive-writes` must be above 0");
        return Err(Failure::usage(error));
    }
    let drawn = match &args.twins {
        Some(path) => {
            let place = || format!("cannot read `{}`", path.display());
            let text =
                fs::read_to_string(path).map_err(|error| Failure::usage(error).context(place()))?;
            let twins: Twins = serde_json::from_str(&text).map_err(|error| {
                let hint = "give what `trimbench fit --output-format json` printed";
                Failure::usage(error).context(place()).with_hint(hint)
            })?;
            twins.drawn
        }
        None => Vec::new(),
    };
    let set = set_of(&args.set)?;
    let wear = Endurance { cycles: f64::from(args.cycles), drive_writes: args.drive_writes };
    let found = with_progress("runs of the drive", |interrupt, ended| {
        let outside = Outside { jobs: jobs(args.jobs), interrupt, ended };
        let shares = (&args.free[..], wear, &set);
        trimbench_fit::what_if(&args.profile, &drawn, shares, (args.seed, outside))
    })?;
    let found = found.map_err(failure)?;
    let shown = Shown { profile: &args.profile, found, wear, is_fitted: !drawn.is_empty() };
    shown.print(args.format.format());
    Ok(exit::DONE)
}

impl Printed for Shown<'_> {
    fn human(&self) -> String {
        let mut table = Grid::new(vec![
            GridColumn::number("free"),
            GridColumn::number("random writes"),
            GridColumn::text("95 % interval"),
            GridColumn::number("amplification"),
            GridColumn::text("95 % interval"),
            GridColumn::number("years"),
        ]);
        let interval = |it: &Estimate, unit: &str| {
            let [low, high] = it.interval;
            format!("{} to {}", quantity(low, unit), quantity(high, unit))
        };
        for it in &self.found {
            table.row([
                quantity(it.free_percent, "%"),
                quantity(it.iops.value, "IOPS"),
                interval(&it.iops, "IOPS"),
                quantity(it.amplification.value, ""),
                interval(&it.amplification, ""),
                quantity(it.years.value, ""),
            ]);
        }
        let Endurance { cycles, drive_writes } = self.wear;
        let of = if self.is_fitted {
            "Intervals: the next run of the drive, over the twins that might be it."
        } else {
            "Intervals: how runs of this profile scatter. How well its values are known is not in \
             them: `--twins` adds that."
        };
        let heading = format!(
            "{}: steady random writes of 4 KiB with a share of the drive free and trimmed",
            trimbench_core::text::visible(self.profile)
        );
        let years = format!("Years: {cycles} cycles, {drive_writes} drive writes a day.");
        let mut lines = style().labelled("", 0, &heading);
        lines.push(String::new());
        lines.extend(table.render(style()));
        lines.push(String::new());
        lines.extend([of, &years].iter().flat_map(|text| style().labelled("", 0, text)));
        joined(lines)
    }

    fn json(&self) -> String {
        document(&Value::Array(self.items()))
    }

    fn items(&self) -> Vec<Value> {
        self.found.iter().map(|it| json!(it)).collect()
    }
}
