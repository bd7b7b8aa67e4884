//! `trimbench import`: results of other programs, with their known faults corrected.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use trimbench_app::Failure;
use trimbench_core::exit;
use trimbench_methods::postmark::{DELETION_ALONE, Imported, METRICS, PostmarkMetric};
use trimbench_report::{Grid, GridColumn};

use crate::args::OutputFormat;
use crate::output::{Printed, cleaned, document, joined, style};

/// `trimbench import postmark`: terse lines. Empty lines, and those that begin with `#`, are
/// skipped.
pub(crate) fn postmark(
    file: &Path,
    number: Option<u32>,
    format: OutputFormat,
) -> Result<u8, Failure> {
    let text = read(file).map_err(|error| {
        Failure::usage(error).context(format!("cannot read `{}`", file.display()))
    })?;
    let mut imported = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let result = Imported::read(line, number).map_err(|error| {
            let place = format!("line {} of `{}`", index + 1, file.display());
            Failure::usage(error)
                .context(place)
                .with_hint("give only the lines that PostMark prints with `set report terse`")
        })?;
        imported.push((index + 1, result));
    }
    if imported.is_empty() {
        let error = anyhow::anyhow!("`{}` has no terse line", file.display());
        return Err(Failure::usage(error));
    }
    ImportedLines(imported).print(format);
    Ok(exit::DONE)
}

/// The results of each line, with its number.
struct ImportedLines(Vec<(usize, Imported)>);

impl Printed for ImportedLines {
    fn human(&self) -> String {
        self.0.iter().map(|(line, it)| cleaned(&table(*line, it))).collect()
    }

    fn json(&self) -> String {
        document(&Value::Array(self.items()))
    }

    fn items(&self) -> Vec<Value> {
        self.0.iter().map(|(line, it)| object(*line, it)).collect()
    }
}

fn read(file: &Path) -> std::io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        return std::io::stdin().read_to_string(&mut text).map(|_| text);
    }
    std::fs::read_to_string(file)
}

/// The metrics as printed, and as they are.
fn table(line: usize, imported: &Imported) -> String {
    let title = format!("line {line}");
    let columns = vec![
        GridColumn::name(&title),
        GridColumn::number("as printed"),
        GridColumn::number("true"),
    ];
    let mut grid = Grid::new(columns);
    for (PostmarkMetric { name, .. }, printed) in METRICS.iter().zip(imported.printed) {
        let truth = match (*name, imported.deletion_alone) {
            (DELETION_ALONE, Some(rate)) => format!("{rate:.2}"),
            (DELETION_ALONE, None) => "not measurable".to_owned(),
            _ => format!("{printed:.2}"),
        };
        grid.row(vec![(*name).to_owned(), format!("{printed:.2}"), truth]);
    }
    let remark = match (imported.old_formula, imported.deletion) {
        (true, Some(seconds)) => format!(
            "{DELETION_ALONE} was divided by the time of creation, as up to 1.51; the deletion \
             took {seconds:.1} s"
        ),
        (true, None) => format!(
            "{DELETION_ALONE} was divided by the time of creation, as up to 1.51; the deletion \
             was too short for its clock"
        ),
        (false, _) => format!("{DELETION_ALONE} is already the true rate, as printed from 1.52 on"),
    };
    grid.span(0, remark);
    joined(grid.render(style()))
}

fn object(line: usize, imported: &Imported) -> Value {
    let metrics = METRICS.iter().zip(imported.printed);
    let printed: serde_json::Map<String, Value> =
        metrics.map(|(metric, value)| (metric.name.to_owned(), json!(value))).collect();
    json!({
        "line": line,
        "printed": printed,
        "old_formula": imported.old_formula,
        "number": imported.number,
        "deletion_s": imported.deletion,
        "deletion_alone_per_s": imported.deletion_alone,
    })
}
