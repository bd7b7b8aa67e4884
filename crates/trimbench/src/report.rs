//! `trimbench report`: records as text, as one HTML page, as figures and as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use trimbench_core::exit;
use trimbench_linux::{Durability, Place};
use trimbench_report::{Context, Detail, Source};
use trimbench_results::RunRecord;

use crate::args::{OutputFormat, ReportArgs};
use crate::failure::Failure;
use crate::output::{data, error_line, style};
use crate::store::{PAGE, Store};

/// `trimbench report`.
pub(crate) fn report(args: &ReportArgs) -> Result<u8, Failure> {
    let (sources, unread) = sources(&args.runs)?;
    if let Some(directory) = &args.csv {
        for (source, folder) in sources.iter().zip(folders(directory, sources.len())) {
            let Some(record) = &source.record else { continue };
            let files = trimbench_report::csv(record);
            write_files(&folder, files.iter().map(|(name, text)| (*name, text.as_str())))?;
        }
    }
    if args.html.is_some() || args.figures.is_some() || args.context.is_some() {
        draw(args, &sources)?;
    }
    print(&sources, args.output_format);
    let invalid = |source: &Source| source.record.as_ref().is_some_and(|record| !record.is_valid());
    Ok(match (unread, sources.iter().any(invalid)) {
        (true, _) => exit::USAGE,
        (false, true) => exit::INVALID,
        (false, false) => exit::DONE,
    })
}

/// Writes what of charts is asked for; they are made once for all of it.
fn draw(args: &ReportArgs, sources: &[Source]) -> Result<(), Failure> {
    let context = Context::of(sources);
    if let Some(path) = &args.context {
        write_file(path, context.to_json().as_bytes())?;
    }
    if args.html.is_none() && args.figures.is_none() {
        return Ok(());
    }
    let figures = context.figures().map_err(Failure::usage)?;
    if let Some(path) = &args.html {
        write_file(path, trimbench_report::page(sources, &context, &figures).as_bytes())?;
        error_line(&format!("page in {}", path.display()));
    }
    if let Some(directory) = &args.figures {
        let names: Vec<String> =
            context.charts.iter().map(|chart| format!("{}.svg", chart.id)).collect();
        let texts = figures.iter().map(String::as_str);
        write_files(directory, names.iter().map(String::as_str).zip(texts))?;
        error_line(&format!("{} figures in {}", figures.len(), directory.display()));
    }
    Ok(())
}

/// Writes the page of a run into its directory. That it cannot is no reason to lose the run.
pub(crate) fn beside(store: &Store, record: &RunRecord) {
    let sources = [Source { host: store.host(), ..Source::of(name(store.path()), record.clone()) }];
    let context = Context::of(&sources);
    let written = context.figures().map_err(Failure::usage).and_then(|figures| {
        store
            .save_page(&trimbench_report::page(&sources, &context, &figures))
            .map_err(Failure::target)
    });
    match written {
        Ok(()) => error_line(&format!("report in {}", store.path().join(PAGE).display())),
        Err(failure) => failure.print(),
    }
}

/// What there is in each of the directories, and whether something of it could not be read. One
/// record alone of which nothing can be read is an error.
fn sources(runs: &[PathBuf]) -> Result<(Vec<Source>, bool), Failure> {
    let mut sources = Vec::new();
    let mut unread = false;
    for run in runs {
        let name = name(run);
        let opened = Store::open(run).and_then(|store| Ok((store.salvage()?, store)));
        let source = match opened {
            Ok((salvaged, store)) => {
                if let (false, Err(refusal)) = (salvaged.flaws.is_empty(), store.load()) {
                    refusal.print();
                    unread = true;
                }
                for flaw in &salvaged.flaws {
                    error_line(&format!("{name}: {flaw}"));
                }
                let (record, host, messages) =
                    (Some(salvaged.record), store.host(), salvaged.flaws);
                Source { name, record, host, messages }
            }
            Err(failure) if runs.len() == 1 => return Err(failure),
            Err(failure) => {
                failure.print();
                unread = true;
                let (host, messages) = (BTreeMap::new(), vec![failure.message()]);
                Source { name, record: None, host, messages }
            }
        };
        sources.push(source);
    }
    Ok((sources, unread))
}

/// How a report calls a run: the last part of its path.
fn name(run: &Path) -> String {
    let whole = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    let directory = if whole.is_file() { whole.parent().unwrap_or(&whole) } else { &whole };
    directory
        .file_name()
        .map_or_else(|| directory.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn print(sources: &[Source], format: OutputFormat) {
    let records = sources.iter().filter_map(|source| Some((source, source.record.as_ref()?)));
    for (source, record) in records {
        match format {
            OutputFormat::Human => {
                if sources.len() > 1 {
                    data(&format!("{}\n\n", source.name));
                }
                let detail = if sources.len() > 1 { Detail::Summary } else { Detail::Full };
                data(&trimbench_report::terminal(record, detail, style()));
            }
            OutputFormat::Json => data(&String::from_utf8_lossy(&record.to_json())),
            OutputFormat::Ndjson => {
                for (session, figures) in record.sessions.iter().map(|one| &one.figures).enumerate()
                {
                    for figure in figures {
                        let line = serde_json::json!({
                            "record": source.name, "session": session, "figure": figure,
                        });
                        data(&format!("{line}\n"));
                    }
                }
            }
        }
    }
}

/// Whole or not at all.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: anyhow::Error| {
        Failure::target(error).context(format!("cannot write `{}`", path.display()))
    };
    let output = Place::of(path).and_then(Place::begin).map_err(|error| failed(error.into()))?;
    output.file().write_all(bytes).map_err(|error| failed(error.into()))?;
    output.commit(Durability::Later).map_err(|error| failed(error.into()))
}

/// Files of these names and texts in a directory, which is made if it is not there.
fn write_files<'a>(
    directory: &Path,
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), Failure> {
    let context = || format!("cannot write files into `{}`", directory.display());
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::target(error).context(context()))?;
    files
        .into_iter()
        .try_for_each(|(name, text)| write_file(&directory.join(name), text.as_bytes()))
}

/// The directory itself for one record, else one in it for each.
fn folders(directory: &Path, count: usize) -> Vec<PathBuf> {
    match count {
        1 => vec![directory.to_owned()],
        _ => (0..count).map(|index| directory.join(format!("record-{index}"))).collect(),
    }
}

/// `trimbench report --compat 1.51`: a terse line of `PostMark` for each repetition.
pub(crate) fn terse(runs: &[PathBuf]) -> Result<u8, Failure> {
    let mut lines = String::new();
    let mut valid = true;
    for run in runs {
        let record = Store::open(run)?.load()?;
        valid &= record.is_valid();
        let before = lines.len();
        for session in &record.sessions {
            let Some(method) = crate::plan::postmark_of(&session.plan)? else { continue };
            for line in session.steps.iter().filter_map(|step| method.terse_1_51(step)) {
                let _ = writeln!(lines, "{line}");
            }
        }
        if lines.len() == before {
            let error = anyhow::anyhow!("`{}` holds no repetition of `postmark`", run.display());
            return Err(Failure::usage(error).with_hint("name a run of `trimbench run postmark`"));
        }
    }
    data(&lines);
    Ok(if valid { exit::DONE } else { exit::INVALID })
}
