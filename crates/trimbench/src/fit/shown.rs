//! What a fit found, as text and as JSON.

use std::path::Path;

use serde_json::{Value, json};
use trimbench_core::text::{shell_path, visible};
use trimbench_fit::{Fit, FittedFigure, Use};
use trimbench_report::{Grid, GridColumn};
use trimbench_results::number::quantity;

use crate::output::{Printed, document, joined, style};

/// A fit, and where its profile is.
pub(super) struct ShownFit<'a> {
    pub(super) fit: &'a Fit,
    pub(super) path: Option<&'a Path>,
}

impl Printed for ShownFit<'_> {
    fn human(&self) -> String {
        let fit = self.fit;
        let fitted = fit.figures.iter().filter(|it| it.used == Use::Fitted).count();
        let heading = format!(
            "{}: a twin of {} on top of `{}`; {fitted} figures are off by {} on average",
            visible(&fit.drive),
            trimbench_core::Bytes(fit.capacity),
            visible(&fit.base),
            percent(fit.error),
        );
        let mut lines = style().labelled("", 0, &heading);
        lines.push(String::new());
        lines.extend(parameters(fit).render(style()));
        lines.push(String::new());
        lines.extend(figures(fit).render(style()));
        for (what, reason) in &fit.left_out {
            lines.push(String::new());
            lines.extend(style().labelled(
                "",
                0,
                &format!("left out: {what}: {}", visible(reason)),
            ));
        }
        if let Some(path) = self.path {
            let target = format!("sim:{}", shell_path(path));
            lines.push(String::new());
            lines.push(format!("try it: trimbench run --target {target}"));
            lines.push(format!(
                "what if: trimbench run steady-state --target {target},drive.over_provisioning=28%"
            ));
        }
        joined(lines)
    }

    fn json(&self) -> String {
        document(&json!(self.fit))
    }

    fn items(&self) -> Vec<Value> {
        let of = |kind: &str, mut item: Value| {
            item["kind"] = kind.into();
            item
        };
        let parameters = self.fit.parameters.iter().map(|it| of("parameter", json!(it)));
        let figures = self.fit.figures.iter().map(|it| of("figure", json!(it)));
        parameters.chain(figures).collect()
    }
}

fn parameters(fit: &Fit) -> Grid {
    let mut table = Grid::new(vec![
        GridColumn::name("value"),
        GridColumn::number("best"),
        GridColumn::text("95 % interval"),
    ]);
    for it in &fit.parameters {
        let known = match it.determined {
            "yes" => format!("{} to {}", it.low, it.high),
            "at-most" => format!("at most {}: these figures say no more", it.high),
            "at-least" => format!("at least {}: these figures say no more", it.low),
            _ => "not determined by these figures".to_owned(),
        };
        table.row([it.key.clone(), it.value.clone(), known]);
    }
    table
}

fn figures(fit: &Fit) -> Grid {
    let mut table = Grid::new(vec![
        GridColumn::name("figure"),
        GridColumn::number("measured"),
        GridColumn::number("twin"),
        GridColumn::number("off"),
        GridColumn::text(""),
    ]);
    for it in &fit.figures {
        let measured = it.measured.map_or("-".to_owned(), |value| quantity(value, &it.unit));
        let off = it.error().map_or(String::new(), percent);
        table.row([it.name.clone(), measured, quantity(it.twin, &it.unit), off, said_of(it)]);
    }
    table
}

/// What a figure was used for, and what else there is to say.
fn said_of(figure: &FittedFigure) -> String {
    let interval = figure.interval.map(|[low, high]| {
        format!("{} to {}", quantity(low, &figure.unit), quantity(high, &figure.unit))
    });
    let interval = interval.unwrap_or_default();
    match figure.used {
        Use::Fitted => String::new(),
        Use::TooFarOff => "too far off to be fitted to".to_owned(),
        Use::SetAside => format!("set aside; predicted: {interval}"),
        Use::Predicted => format!("predicted: {interval}"),
    }
}

/// A difference of logarithms in percent.
fn percent(logarithm: f64) -> String {
    format!("{:+.1} %", 100.0 * (logarithm.exp() - 1.0))
        .replace("+0.0", "0.0")
        .replace("-0.0", "0.0")
}
