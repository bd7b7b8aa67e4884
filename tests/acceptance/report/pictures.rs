//! Screenshots of every section, in light and dark, for people to look at.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{drive, fixtures, list, looked, number};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// Where the pictures go.
const FOLDER: &str = "docs/images/report";
/// Eleven methods; verdict, headlines, targets, caveats, methods' pages, data.
const SECTIONS: f64 = 16.0;
/// A picture with fewer colours shows no text.
const COLOURS: f64 = 50.0;
const LARGEST_KIB: f64 = 60.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let drives = if context.is_short() {
        fixtures::on_drives(context, "drives", &[], &["vendor2", "like-optane-900p"])?
    } else {
        fixtures::as_readme_says(context, "drives")?
    };
    let runs = [drives, fixtures::on_files(context, "files", &["vendor2"])?];
    let (page, _) = fixtures::page(context, "report", &runs, context.folder())?;
    let folder = if context.is_short() {
        context.folder().join("pictures")
    } else {
        context.repository().root().join(FOLDER)
    };
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    let page = page.display().to_string();
    let folder = folder.display().to_string();
    drive(context, "look", "look_report", &[&page, "--pictures", &folder])
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("look")?;
    let document = looked(raw, "look")?;
    let pictures = list(&document, "pictures")?;
    let of = |scheme: &str| {
        let named =
            |picture: &&Value| picture["file"].as_str().is_some_and(|file| file.ends_with(scheme));
        pictures.iter().filter(named).count() as f64
    };
    let all = |key: &str| -> Result<Vec<f64>> {
        pictures.iter().map(|picture| number(picture, key)).collect()
    };
    let largest = all("/bytes")?.into_iter().fold(0.0, f64::max) / 1024.0;
    let poorest = all("/colours")?.into_iter().fold(f64::INFINITY, f64::min);
    let finding = |what: &str, figure, bar| Finding::new(what, figure, bar, &capture);
    Ok(vec![
        finding("sections in light", (of("-light.webp"), ""), Bar::AtLeast(SECTIONS)),
        finding("sections in dark", (of("-dark.webp"), ""), Bar::AtLeast(SECTIONS)),
        finding("the largest picture", (largest, "KiB"), Bar::AtMost(LARGEST_KIB)),
        finding("colours of the picture with the fewest", (poorest, ""), Bar::AtLeast(COLOURS)),
    ])
}

#[cfg(test)]
mod tests;
