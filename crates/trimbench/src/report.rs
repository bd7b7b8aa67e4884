//! `trimbench report`: records as text, as one HTML page, as figures and as tables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trimbench_app::{Failure, PAGE, RECORD, RUNS, Store, preset};
use trimbench_claim::OutputDirectory;
use trimbench_core::text::{shell_path, to_text, visible};
use trimbench_core::{Bytes, exit};
use trimbench_engine::MethodDefinition as _;
use trimbench_methods::METHODS;
use trimbench_methods::postmark::Postmark;
use trimbench_report::{CONTEXT_MARK, Detail, FIGURE_MARK, MethodView, PAGE_MARK, PageContext};
use trimbench_report::{JUNIT_MARK, MARKDOWN_MARK};
use trimbench_report::{PageSource, figure_files, header_line};
use trimbench_results::cards::cards;
use trimbench_results::limits::JudgedLimit;
use trimbench_results::{DriveOrder, PlannedSession, RunRecord, advice};

use crate::args::{OutputFormat, ReportArgs, RunArgs};
use crate::files::{Destination, Rules, is_ours, is_page};
use crate::output::{Printed, data, error_line, joined, note, print_failure, record_json, style};
use crate::records::{is_reliable, load};

/// `trimbench report`.
pub(crate) fn report(args: &ReportArgs) -> Result<u8, Failure> {
    let runs = &*runs(args)?;
    let (mut sources, unread) = sources(runs)?;
    if let Some(deletes) = args.deletes {
        ask_about(&mut sources, deletes)?;
    }
    let order = args.order_by.as_deref().map(|text| ordered(text, &sources)).transpose()?;
    let order = order.as_ref();
    let files = files(args, &sources, order)?;
    // Nothing is written before it is known that all of it may be.
    let files: Vec<(Destination, String)> =
        files.into_iter().map(|file| file.placed(args.overwrite)).collect::<Result<_, _>>()?;
    let stdout = files.iter().any(|(destination, _)| destination.is_stdout());
    files.into_iter().try_for_each(|(destination, text)| destination.write(&text))?;
    let written = [&args.html, &args.figures, &args.context, &args.csv];
    let written = written.into_iter().chain([&args.export_markdown, &args.export_junit]).flatten();
    let written: Vec<String> = written.map(|path| visible(&to_text(path)).into_owned()).collect();
    if !written.is_empty() && !stdout && args.format.format() == OutputFormat::Human {
        // What was asked for is in these files.
        data(&joined(written));
    } else if !stdout {
        let is_one = sources.len() < 2;
        for (index, (source, run)) in sources.iter().zip(runs).enumerate() {
            let Some(record) = &source.record else { continue };
            let (name, order) = (&source.name, order.map(|order| (index, order)));
            SourceRecord { name, run, record, is_one, order }.print(args.format.format());
        }
    }
    let unreliable =
        |source: &PageSource| source.record.as_ref().is_some_and(|record| !is_reliable(record));
    Ok(match (unread, sources.iter().any(unreliable)) {
        (true, _) => exit::USAGE,
        (false, true) => exit::INVALID,
        (false, false) => exit::DONE,
    })
}

/// The runs that are named, or the latest of those that `run` kept here.
fn runs(args: &ReportArgs) -> Result<Cow<'_, [PathBuf]>, Failure> {
    if !args.runs.is_empty() {
        return Ok(Cow::Borrowed(&args.runs));
    }
    let latest = latest_run().ok_or_else(|| {
        let error = anyhow::anyhow!("no run is named, and there is none in `{RUNS}`");
        Failure::usage(error).with_hint("write `trimbench report RUN`, the directory of a run")
    })?;
    note(&format!("the latest run: {}", latest.display()));
    Ok(Cow::Owned(vec![latest]))
}

/// The run in [`RUNS`] whose record was written last.
fn latest_run() -> Option<PathBuf> {
    let entries = std::fs::read_dir(RUNS).ok()?;
    let written = |path: &PathBuf| path.join(RECORD).metadata().and_then(|it| it.modified()).ok();
    let runs = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let (_, latest) = runs.filter_map(|path| Some((written(&path)?, path))).max()?;
    Some(latest)
}

/// Has the verdicts speak of deletions of this size.
fn ask_about(sources: &mut [PageSource], deletes: Bytes) -> Result<(), Failure> {
    let records = sources.iter_mut().filter_map(|source| source.record.as_mut());
    let measured = records.fold(false, |measured, record| {
        let here = advice::ask_about(record, deletes);
        record.advice = cards(record);
        measured || here
    });
    if measured {
        return Ok(());
    }
    let error = anyhow::anyhow!("`--deletes {deletes}`: no session deletes files of a stated size");
    Err(Failure::usage(error).with_hint("name a run of `delete-stall`, or leave it out"))
}

/// A file of the report.
struct ReportFile {
    /// The directory and the name in it, or the whole path.
    place: (Option<OutputDirectory>, PathBuf),
    text: String,
    mark: String,
}

impl ReportFile {
    fn new(place: (Option<&OutputDirectory>, &Path), text: String, mark: &str) -> Self {
        assert!(text.starts_with(mark), "our files are known by what they begin with");
        debug_assert!(is_ours(mark, text.as_bytes()), "`{mark}`: it would not be replaced later");
        let place = (place.0.cloned(), place.1.to_owned());
        Self { place, text, mark: mark.to_owned() }
    }

    fn placed(self, overwrite: bool) -> Result<(Destination, String), Failure> {
        let rules = Rules { mark: Some(&self.mark), overwrite, inputs: &[] };
        let destination = match self.place {
            (Some(directory), name) => Destination::within(&directory, &name, rules)?,
            (None, path) => Destination::of(&path, rules)?,
        };
        Ok((destination, self.text))
    }
}

/// The order that was asked for.
fn ordered(text: &str, sources: &[PageSource]) -> Result<DriveOrder, Failure> {
    let records: Vec<Option<&RunRecord>> =
        sources.iter().map(|source| source.record.as_ref()).collect();
    DriveOrder::by(text, &records).map_err(|error| {
        let hint = error.hint();
        Failure::usage(anyhow::Error::new(error).context(format!("`--order-by {text}`")))
            .with_hint(hint)
    })
}

/// Every file that is asked for. Charts are made once for all of them.
fn files(
    args: &ReportArgs,
    sources: &[PageSource],
    order: Option<&DriveOrder>,
) -> Result<Vec<ReportFile>, Failure> {
    let mut files = Vec::new();
    if let Some(path) = &args.csv {
        let folders = folders(path, sources.len());
        for (index, (source, folder)) in sources.iter().zip(folders).enumerate() {
            let Some(record) = &source.record else { continue };
            let directory = directory(&folder)?;
            let tables = match order {
                Some(order) => trimbench_report::csv_in_order(record, index, order),
                None => trimbench_report::csv(record),
            };
            for (name, table) in tables {
                let mark = header_line(&table).to_owned();
                files.push(ReportFile::new((Some(&directory), Path::new(name)), table, &mark));
            }
        }
    }
    let readable = sources.iter();
    let readable = readable.filter_map(|it| Some((it.name.as_str(), it.record.as_ref()?)));
    files.extend(exports(
        (&args.export_markdown, &args.export_junit),
        &readable.collect::<Vec<_>>(),
    ));
    if args.html.is_none() && args.figures.is_none() && args.context.is_none() {
        return Ok(files);
    }
    let context = PageContext::in_order(sources, view, order.cloned());
    if let Some(path) = &args.context {
        files.push(ReportFile::new((None, path), context.to_json(), CONTEXT_MARK));
    }
    if args.html.is_none() && args.figures.is_none() {
        return Ok(files);
    }
    let figures = context.figures().map_err(Failure::usage)?;
    if let Some(path) = &args.html {
        let page = trimbench_report::page(sources, view, &context, &figures);
        files.push(ReportFile::new((None, path), page, PAGE_MARK));
    }
    if let Some(path) = &args.figures {
        let directory = directory(path)?;
        for (name, figure) in figure_files(&context, &figures) {
            files.push(ReportFile::new((Some(&directory), name.as_ref()), figure, FIGURE_MARK));
        }
    }
    Ok(files)
}

/// The files of `--export-markdown` and `--export-junit`.
fn exports(
    (markdown, junit): (&Option<PathBuf>, &Option<PathBuf>),
    records: &[(&str, &RunRecord)],
) -> Vec<ReportFile> {
    let markdown = markdown.as_ref().map(|path| {
        let text = trimbench_report::markdown(records);
        ReportFile::new((None, path), text, MARKDOWN_MARK)
    });
    let junit = junit.as_ref().map(|path| {
        ReportFile::new((None, path), trimbench_report::junit(records, &[]), JUNIT_MARK)
    });
    markdown.into_iter().chain(junit).collect()
}

/// Files that are written at the end of a run, where it is known before that they may be.
pub(crate) struct Exports {
    markdown: Option<Destination>,
    junit: Option<Destination>,
}

impl Exports {
    /// The places that `--export-markdown` and `--export-junit` name.
    pub(crate) fn of(args: &RunArgs) -> Result<Self, Failure> {
        let place = |path: &Option<PathBuf>, mark: &str| {
            let rules = Rules { mark: Some(mark), overwrite: false, inputs: &[] };
            let place = path.as_ref().map(|path| Destination::of(path, rules)).transpose();
            place.map_err(|failure| match &failure.hint {
                // Only `report` has that option.
                Some(hint) if hint.contains("--overwrite") => {
                    failure.with_hint("name another file")
                }
                _ => failure,
            })
        };
        Ok(Self {
            markdown: place(&args.export_markdown, MARKDOWN_MARK)?,
            junit: place(&args.export_junit, JUNIT_MARK)?,
        })
    }

    /// Writes them.
    pub(crate) fn write(
        self,
        (name, record): (&Path, &RunRecord),
        limits: &[JudgedLimit],
    ) -> Result<(), Failure> {
        let name = name.file_name().map_or_else(|| to_text(name), to_text);
        let records = [(name.as_str(), record)];
        if let Some(place) = self.markdown {
            place.write(&trimbench_report::markdown(&records))?;
        }
        match self.junit {
            Some(place) => place.write(&trimbench_report::junit(&records, limits)),
            None => Ok(()),
        }
    }
}

/// How the method of this id is shown.
fn view(id: &str) -> Option<MethodView> {
    let info = METHODS.iter().find(|method| method.id == id)?;
    Some(MethodView { page: info.page, charts: info.charts })
}

/// Writes the page of a run into its directory.
pub(crate) fn beside(store: &Store, record: &RunRecord) -> Result<(), Failure> {
    let sources =
        [PageSource { host: store.host(), ..PageSource::of(name(store.path()), record.clone()) }];
    let context = PageContext::of(&sources, view);
    let figures = context.figures().map_err(Failure::usage)?;
    let page = trimbench_report::page(&sources, view, &context, &figures);
    let saved = store.save_page(&page, is_page);
    store.take_set_aside().iter().for_each(|it| error_line(&it.to_string()));
    saved?;
    note(&format!("report in {}", store.whereabouts().join(PAGE).display()));
    Ok(())
}

/// What there is in each of the directories, and whether something of it could not be read. One
/// record alone of which nothing can be read is an error.
fn sources(runs: &[PathBuf]) -> Result<(Vec<PageSource>, bool), Failure> {
    let mut sources = Vec::new();
    let mut unread = false;
    for run in runs {
        let name = name(run);
        let opened = Store::open(run).and_then(|store| Ok((store.salvage()?, store)));
        let source = match opened {
            Ok((mut salvaged, store)) => {
                // What a record advises was written by anybody: the rules are asked again.
                salvaged.record.advice = cards(&salvaged.record);
                unread |= !salvaged.flaws.is_empty();
                if let Some(refusal) = store.refusal() {
                    print_failure(&refusal);
                }
                for flaw in &salvaged.flaws {
                    error_line(&format!("{name}: {flaw}"));
                }
                let (record, host, messages) =
                    (Some(salvaged.record), store.host(), salvaged.flaws);
                PageSource { name, record, host, messages }
            }
            Err(failure) if runs.len() == 1 => return Err(failure),
            Err(failure) => {
                print_failure(&failure);
                unread = true;
                let (host, messages) = (BTreeMap::new(), vec![failure.message()]);
                PageSource { name, record: None, host, messages }
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
    directory.file_name().map_or_else(|| to_text(directory), to_text)
}

/// A record of a report.
struct SourceRecord<'a> {
    name: &'a str,
    run: &'a Path,
    record: &'a RunRecord,
    /// Whether the report is of this record only.
    is_one: bool,
    /// Its index, and the order of the drives.
    order: Option<(usize, &'a DriveOrder)>,
}

impl Printed for SourceRecord<'_> {
    fn human(&self) -> String {
        let text = |detail| match self.order {
            Some(order) => trimbench_report::terminal_in_order(self.record, detail, style(), order),
            None => trimbench_report::terminal(self.record, detail, style()),
        };
        if self.is_one {
            return text(Detail::Full);
        }
        let place = shell_path(self.run);
        format!("{}\n\n{}", visible(self.name), text(Detail::Answer { place: &place }))
    }

    fn json(&self) -> String {
        record_json(self.record)
    }

    fn items(&self) -> Vec<Value> {
        trimbench_report::items(self.name, self.record)
    }
}

/// The directory of tables or figures, made if it is not there.
fn directory(path: &Path) -> Result<OutputDirectory, Failure> {
    OutputDirectory::create(path).map_err(|error| {
        Failure::target(error).context(format!("cannot write files into `{}`", path.display()))
    })
}

/// The directory itself for one record, else one in it for each.
fn folders(directory: &Path, count: usize) -> Vec<PathBuf> {
    match count {
        1 => vec![directory.to_owned()],
        _ => (0..count).map(|index| directory.join(format!("record-{index}"))).collect(),
    }
}

/// `trimbench report --compat 1.51`: a terse line of `PostMark` for each repetition.
pub(crate) fn terse(args: &ReportArgs) -> Result<u8, Failure> {
    let mut lines = String::new();
    let mut reliable = true;
    for run in &*runs(args)? {
        let record = load(run)?;
        reliable &= is_reliable(&record);
        let before = lines.len();
        for session in &record.sessions {
            let Some(method) = postmark_of(&session.plan)? else { continue };
            for line in session.steps.iter().filter_map(|step| method.terse_1_51(step)) {
                let _ = writeln!(lines, "{line}");
            }
        }
        if lines.len() == before {
            let error = anyhow::anyhow!("`{}` has no repetition of `postmark`", run.display());
            return Err(Failure::usage(error).with_hint("name a run of `trimbench run postmark`"));
        }
    }
    data(&lines);
    Ok(if reliable { exit::DONE } else { exit::INVALID })
}

/// The parameters of a recorded session of `postmark`; `None` for another method's.
fn postmark_of(planned: &PlannedSession) -> Result<Option<Postmark>, Failure> {
    if planned.method != Postmark::INFO.id {
        return Ok(None);
    }
    let preset = preset(&planned.preset)?;
    Ok(Some(Postmark::resolve(preset, &planned.options)?))
}
