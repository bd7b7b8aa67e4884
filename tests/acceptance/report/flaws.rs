//! Damaged and incomplete records: the page has a message for each, and shows everything else.

use std::fs;

use anyhow::{Context as _, Result};

use super::fixtures::of_the_future;
use super::{drive, fixtures, list, looked, number, texts};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// What is wrong with each record that is not sound, by its name.
const FLAWED: [&str; 6] = ["cut-off", "empty", "no-record", "partial", "to-come", "missing"];
/// How the sound one is called.
const SOUND: &str = "sound";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let sound = fixtures::on_drives(context, SOUND, &["idle-trim", "recovery"], &["vendor2"])?;
    let alone = fixtures::page(context, "alone", std::slice::from_ref(&sound), context.folder())?.0;
    drive(context, "look-alone", "look_report", &[&alone.display().to_string()])?;
    let folder = |name: &str| context.folder().join(name);
    let bytes = fs::read(sound.join("run.json")).context("read a record")?;
    let mut runs = vec![sound.clone()];
    runs.push(fixtures::written(&folder("cut-off"), &bytes[..bytes.len() * 2 / 3])?);
    runs.push(fixtures::written(&folder("empty"), b"")?);
    runs.push(fixtures::written(&folder("no-record"), b"{\"a\": 1}")?);
    runs.push(fixtures::changed(&sound, &folder("partial"), |record| {
        record["outcome"] = serde_json::json!({ "status": "running" });
        if let Some(session) = record["sessions"].as_array_mut().and_then(|all| all.last_mut()) {
            session["finished"] = false.into();
            session["figures"] = serde_json::json!([]);
        }
    })?);
    runs.push(fixtures::changed(&sound, &folder("to-come"), of_the_future)?);
    runs.push(folder("missing"));
    fs::create_dir_all(folder("missing")).context("make a folder")?;
    let (page, _) = fixtures::page(context, "page", &runs, context.folder())?;
    drive(context, "look", "look_report", &[&page.display().to_string()])
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("look")?;
    let document = looked(raw, "look")?;
    let messages = texts(&document, "messages")?;
    let on = |name: &str| messages.iter().any(|message| message.starts_with(&format!("{name}:")));
    let unsaid: Vec<&str> = FLAWED.into_iter().filter(|name| !on(name)).collect();
    let said = (FLAWED.len() - unsaid.len()) as f64;
    let wrongly = if on(SOUND) { 1.0 } else { 0.0 };
    let alone = number(&looked(raw, "look-alone")?, "/figures")?;
    let rows = number(&document, "/figures")?;
    let verdicts = document["verdicts"].as_object().context("no verdicts")?;
    let sound = verdicts.keys().filter(|target| target.ends_with(SOUND)).count() as f64;
    let complaints = list(&document, "complaints")?.len() as f64;
    let page = raw.capture_itself("page-page")?;
    let code = page.status.map_or(-1.0, f64::from);
    let finding = |what: &str, figure, bar| Finding::new(what, (figure, ""), bar, &capture);
    Ok(vec![
        finding("flawed records with a message", said, Bar::Equals(FLAWED.len() as f64))
            .with_note(&raw.shown(&messages.join("; "))),
        finding("messages on the sound one", wrongly, Bar::Equals(0.0)),
        finding("verdicts on the sound one", sound, Bar::Equals(1.0)),
        finding(
            "rows of figures over those of the sound one alone",
            rows / alone,
            Bar::AtLeast(2.0),
        ),
        finding("complaints of the page", complaints, Bar::Equals(0.0)),
        Finding::new("exit code", (code, ""), Bar::Equals(2.0), &page),
    ])
}

#[cfg(test)]
mod tests;
