//! `trimbench run`.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use trimbench_app::{
    Failure, Judgement, OpenRun, Plan, PlanOptions, RUNS, RunCaller, RunEnd, Store, TargetBusy,
    ask_for_sizes_below, job_text, read_job,
};
use trimbench_core::exit;
use trimbench_core::text::{shell_path, shell_word, to_text, visible};
use trimbench_report::Detail;
use trimbench_results::limits::JudgedLimit;
use trimbench_results::{Program, RunRecord};
use trimbench_ssd::MODEL_VERSION;

use crate::args::{OutputFormat, RunArgs, RunFormat};
use crate::interrupt::interrupt;
use crate::output::{Printed, be_quiet, cleaned, data, error_line, note, record_json, style};
use crate::progress::Progress;
use crate::report::Exports;

/// `trimbench run`.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    if args.quiet {
        be_quiet();
    }
    let options = options(args)?;
    let Some(format) = args.format().of_results().filter(|_| !args.dry_run) else {
        return describe(args, &options);
    };
    crate::restore::before_a_run();
    // Before anything is measured it is known that the results can be written.
    let exports = Exports::of(args)?;
    let mut run = begun(args, &options)?;
    // Whether anything is kept is known, and said, once it has stopped. What is left behind is
    // cleaned at the next start.
    let interrupt = interrupt("stopping (Ctrl-C again stops at once)", || {})?;
    let mut progress = Progress::begin(run.plan(), args.progress, format, !args.no_report);
    let end = run.measure(&mut progress, &interrupt)?;
    progress.closes("writing the report");
    let store = run.store().expect("it was begun with one");
    let mut failures = print_end((&run, store), end, args, format);
    if !args.no_report {
        failures.extend(crate::report::beside(store, run.record()).err());
    }
    progress.end();
    let judgement = judge(&run);
    let written = exports.write((&store.whereabouts(), run.record()), &judgement.limits);
    failures.extend(written.err());
    // The first error is the one that the others came of.
    let mut failures = failures.into_iter();
    if let Some(first) = failures.next() {
        failures.for_each(|other| error_line(&format!("also: {}", other.message())));
        return Err(first);
    }
    Ok(match (run.record().is_valid(), judgement.holds) {
        (false, _) => exit::INVALID,
        (true, false) => exit::LIMIT_FAILED,
        (true, true) => exit::DONE,
    })
}

/// What is to be planned, by the arguments or by the job file that they name.
fn options(args: &RunArgs) -> Result<PlanOptions, Failure> {
    let mut options = args.plan_options();
    if args.deletes.is_some_and(|deletes| deletes.0.is_none()) {
        note(&ask_for_sizes_below(&mut options)?);
    }
    if let Some(job) = &args.job {
        read_job(job, &mut options)?;
    }
    Ok(options)
}

/// The plan of the options; an error names the job file that they are from.
fn planned(args: &RunArgs, options: &PlanOptions) -> Result<Plan, Failure> {
    let plan = Plan::new(options).map_err(|failure| match &args.job {
        Some(job) => failure.context(format!("`{}`", job.display())),
        None => failure,
    })?;
    plan.remarks().iter().for_each(|remark| error_line(remark));
    Ok(plan)
}

/// The run that begins, or that goes on.
fn begun(args: &RunArgs, options: &PlanOptions) -> Result<OpenRun, Failure> {
    let caller = RunCaller {
        program: Program {
            name: "trimbench".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("TRIMBENCH_COMMIT").to_owned(),
            model_version: MODEL_VERSION,
        },
        command: std::env::args_os().map(to_text).collect(),
    };
    if let Some(directory) = &args.resume {
        let run = OpenRun::resumed(Store::open(directory)?, options, caller)?;
        run.plan().remarks().iter().for_each(|remark| error_line(remark));
        return Ok(run);
    }
    let plan = planned(args, options)?;
    plan.check_traces()?;
    let store = match &args.output {
        Some(directory) => Store::create(directory)?,
        None => Store::create_below(Path::new(RUNS))?,
    };
    OpenRun::new(plan, caller, Some(store))
}

/// `trimbench run --dry-run`, and what only it prints.
fn describe(args: &RunArgs, options: &PlanOptions) -> Result<u8, Failure> {
    if !args.dry_run {
        let error = anyhow::anyhow!(
            "`--output-format toml` prints a job file, which only `--dry-run` does"
        );
        return Err(Failure::usage(error).with_hint("add `--dry-run`"));
    }
    let plan = planned(args, options)?;
    match args.format() {
        RunFormat::Human => data(&cleaned(&crate::dry_run::describe(&plan))),
        RunFormat::Toml => data(&job_text(options, &plan)),
        RunFormat::Json | RunFormat::Ndjson => {
            let error = anyhow::anyhow!("a dry run has no results to print as JSON");
            let hint = "leave the format out, or give `--output-format toml` for a job file";
            return Err(Failure::usage(error).with_hint(hint));
        }
    }
    Ok(exit::DONE)
}

/// Prints what was measured, before anything else can fail; what has failed by now.
fn print_end(
    (run, store): (&OpenRun, &Store),
    end: RunEnd,
    args: &RunArgs,
    format: OutputFormat,
) -> Vec<Failure> {
    let record = run.record();
    if !args.silent {
        EndedRun { record, place: &shell_path(store.whereabouts()) }.print(format);
    }
    let RunEnd { result, kept, host_kept } = end;
    match kept {
        Ok(()) => note(&format!("kept in {}", store.whereabouts().display())),
        Err(_) => print_unsaved(record, format),
    }
    let result = result.map_err(|failure| resumable(failure, (store, run.plan()), args));
    [result, kept, host_kept].into_iter().filter_map(Result::err).collect()
}

/// Prints the steps of sessions that are not finished, where the record could not be saved: nothing
/// else has them. As JSON they are printed anyway.
fn print_unsaved(record: &RunRecord, format: OutputFormat) {
    if format != OutputFormat::Human {
        return;
    }
    let open = record.sessions.iter().filter(|session| !session.finished);
    for session in open.filter(|session| !session.steps.is_empty()) {
        let (method, target) = (&session.plan.method, &session.target.name);
        let title = format!("not saved: the steps of {method} on {target}");
        data(&format!("{}\n", visible(&title)));
        for step in &session.steps {
            let values = step.parameters.iter().chain(&step.metrics);
            let values: Vec<String> = values.map(|(key, value)| format!("{key}={value}")).collect();
            data(&format!("  {}\n", visible(&format!("{}: {}", step.id, values.join(" ")))));
        }
    }
}

/// The failure with how to go on, unless it says that itself; a target that is not quiet has to
/// become so first.
fn resumable(failure: Failure, (store, plan): (&Store, &Plan), args: &RunArgs) -> Failure {
    let first = match &failure.hint {
        None => String::new(),
        Some(hint) if failure.is_for_room() || failure.error.is::<TargetBusy>() => {
            format!("{hint}; then ")
        }
        Some(_) => return failure,
    };
    if let Some(command) = &args.continued_by {
        return failure.with_hint(format!("{first}continue with `{command}`"));
    }
    let mut resume =
        format!("{first}continue with `trimbench run --resume {}", shell_path(store.whereabouts()));
    for path in &plan.consent.destroy {
        let _ = write!(resume, " --destroy {}", shell_path(path));
    }
    for signature in &plan.consent.signatures {
        let _ = write!(resume, " --overwrite-signature {}", shell_word(signature));
    }
    if plan.consent.sole_user {
        resume.push_str(" --sole-user");
    }
    if plan.consent.switch_mount {
        resume.push_str(" --switch-mount");
    }
    if let Some(line) = &plan.consent.command {
        let _ = write!(resume, " --command {}", shell_word(line));
    }
    resume.push('`');
    failure.with_hint(resume)
}

/// The record at the end of a run. Its steps and figures are printed while it goes on.
struct EndedRun<'a> {
    record: &'a RunRecord,
    /// Where it is kept, as a shell takes it.
    place: &'a str,
}

impl Printed for EndedRun<'_> {
    fn human(&self) -> String {
        trimbench_report::terminal(self.record, Detail::Answer { place: self.place }, style())
    }

    fn json(&self) -> String {
        record_json(self.record)
    }

    fn items(&self) -> Vec<Value> {
        let advice = self.record.advice.iter();
        let advice = advice.map(|card| serde_json::json!({ "event": "advice", "advice": card }));
        advice.chain([serde_json::json!({ "event": "end", "end": self.record.outcome })]).collect()
    }
}

/// Says how each limit fared, and which demand of a method failed.
fn judge(run: &OpenRun) -> Judgement {
    // The names were checked before the run: what no session has by now was not measured.
    let Ok(judgement) = run.plan().judge(run.record()) else {
        error_line("limit FAILS: no session has the figure that it names");
        return Judgement { limits: Vec::new(), holds: false };
    };
    judgement.limits.iter().for_each(say);
    judgement
}

/// Says how one limit fared in one place.
fn say(judged: &JudgedLimit) {
    let JudgedLimit { limit, place, found, holds } = judged;
    let fared = match holds {
        Some(true) => "holds",
        Some(false) => "FAILS",
        None => "NOT JUDGED",
    };
    // A session, or a drive.
    let at = if place.contains(" on ") { "in" } else { "on" };
    let line = format!("limit {limit} {fared} {at} {place}: {found}");
    if *holds == Some(true) { note(&line) } else { error_line(&line) }
}
