//! The parts of pages that are written from tables of the code: everything between a line of the
//! page and an empty line, or the next heading.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use trimbench_core::settings::Named as _;
use trimbench_devices::{KINDS, TargetKindInfo};
use trimbench_policy::Issuer;
use trimbench_ssd::{BUILT_IN, Profile, TrimMode};
use trimbench_trace::format::{ClockOrigin, Detection};
use trimbench_trace::{FORMATS, Format};

use super::methods;

#[cfg(test)]
mod tests;

/// A part of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The page, from the top folder.
    pub(crate) path: &'static str,
    /// What stands before the part, and stays.
    start: &'static str,
    /// What stands behind it.
    end: &'static str,
    text: fn() -> String,
}

const fn table(path: &'static str, start: &'static str, text: fn() -> String) -> Part {
    Part { path, start, end: "\n\n", text }
}

const fn section(path: &'static str, start: &'static str, text: fn() -> String) -> Part {
    Part { path, start, end: "\n\n## ", text }
}

const TRACES: &str = "docs/reference/trace-formats.md";

/// Every part, those of a page one after the other.
pub(crate) const PARTS: &[Part] = &[
    table(
        TRACES,
        "| id | format | TRIMs | timestamps | detected by | written |\n|---|---|---|---|---|---|\n",
        formats,
    ),
    section(TRACES, "\n## When a trace begins\n\n", clocks),
    section(TRACES, "\n## The formats\n\n", grammars),
    table(
        "docs/reference/profiles.md",
        "| profile | what it is | TRIM |\n|---|---|---|\n",
        profiles,
    ),
    table(
        "docs/methods/README.md",
        "| method | measures | headline | drives | directories | without discard | `quick` writes \
         | `quick` takes | on resume |\n|---|---|---|---|---|---|---|---|---|\n",
        methods::index,
    ),
    table(
        "docs/reference/command-line.md",
        "| text | target | settings and rules |\n|---|---|---|\n",
        targets,
    ),
    table("docs/model/trim.md", "| mode | what happens | drives |\n|---|---|---|\n", trim_modes),
    table(
        "docs/model/issuers.md",
        "| name | releases | in flight | longest | what happens | who waits | lost at unmount |\n\
         |---|---|---|---|---|---|---|\n",
        issuers,
    ),
];

impl Part {
    /// The page with this part as it should be.
    pub(crate) fn written(&self, page: &str) -> Result<String> {
        let found = between(page, self.start, self.end);
        let (before, after) =
            found.with_context(|| format!("it has no `{}`", self.start.trim()))?;
        Ok(format!("{before}{}{}{after}", self.start, (self.text)().trim_end()))
    }
}

/// What stands before `start` in a page, and what follows it from the next `end` on.
pub(super) fn between<'a>(page: &'a str, start: &str, end: &str) -> Option<(&'a str, &'a str)> {
    let (before, behind) = page.split_once(start)?;
    Some((before, &behind[behind.find(end)?..]))
}

fn profiles() -> String {
    let row = |name| {
        let Profile { summary, config, .. } = Profile::built_in(name).expect("it is built in");
        format!("| `{name}` | {summary} | {} |\n", config.trim.mode.id())
    };
    BUILT_IN.iter().map(|profile| row(profile.name)).collect()
}

fn targets() -> String {
    let rows = |TargetKindInfo { id, forms, .. }: &TargetKindInfo| {
        let row = |[text, what]: &[&str; 2]| {
            format!("| {text} | {what} | [{id}](../targets/{id}.md) |\n")
        };
        forms.iter().map(row).collect::<String>()
    };
    KINDS.iter().map(rows).collect()
}

fn trim_modes() -> String {
    let row = |(id, mode): &(&str, TrimMode)| {
        let [what, drives] = mode.meaning();
        format!("| `{id}` | {what} | {drives} |\n")
    };
    TrimMode::NAMES.iter().map(row).collect()
}

fn issuers() -> String {
    let row = |(id, issuer): &(&str, Issuer)| {
        let rule = issuer.rule();
        let depth = rule.depth.most().map_or_else(|| "all".to_owned(), |most| most.to_string());
        let chunk = rule.chunk.map_or_else(|| "any".to_owned(), |chunk| chunk.to_string());
        let (releases, meaning, waits) = (rule.releases, rule.meaning, rule.sender.waits());
        let lost = rule.lost;
        format!("| `{id}` | {releases} | {depth} | {chunk} | {meaning} | {waits} | {lost} |\n")
    };
    Issuer::NAMES.iter().map(row).collect()
}

fn formats() -> String {
    let yes = |it: bool| if it { "yes" } else { "no" };
    let row = |format: &&Format| {
        let detected = match format.detection {
            Detection::Beginning(what, _) => what,
            Detection::Lines(_) => "the shape of its lines",
        };
        let Format { id, title, has_discards, timestamps, .. } = format;
        let (discards, written) = (yes(*has_discards), yes(format.is_written()));
        format!("| `{id}` | {title} | {discards} | {timestamps} | {detected} | {written} |\n")
    };
    FORMATS.iter().map(row).collect()
}

fn clocks() -> String {
    let of = |clock| {
        let formats = FORMATS.iter().filter(|format| format.clock == Some(clock));
        formats.map(|format| format!("`{}`", format.id)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "If the format's clock begins with the trace ({}), its timestamps are kept.\n\
         In {} the first event that is not a notice is at 0, as blkparse counts.\n\
         If the clock is the time of day ({}), the first command read is at 0.",
        of(ClockOrigin::Trace),
        of(ClockOrigin::Event),
        of(ClockOrigin::Command)
    )
}

fn grammars() -> String {
    let mut text = String::new();
    for Format { id, grammar, .. } in FORMATS {
        write!(text, "**`{id}`**: {}\n\n", grammar.trim_end()).expect("a string takes all");
    }
    text
}
