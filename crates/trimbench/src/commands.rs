//! The subcommands.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use trimbench_core::exit;
use trimbench_core::text::{shell_path, shell_word, to_text, visible};
use trimbench_report::{Detail, JudgedLimit};
use trimbench_results::limits::{LimitOutcome, evaluate};
use trimbench_results::{Figure, Limit, RunRecord, Session as SessionRecord, VerdictOutcome};

use crate::args::{OutputFormat, RunArgs, RunFormat};
use crate::failure::Failure;
use crate::interrupt::interrupt;
use crate::output::{Printed, be_quiet, cleaned, data, error_line, note, record_json, style};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::Exports;
use crate::run::{TargetBusy, fresh_record, program, run as run_plan};
use crate::store::{Host, RUNS, SessionTime, Store};

/// Nearer to a limit than this share, a figure is also said in full.
const NEAR: f64 = 0.01;

/// `trimbench run`.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    if args.quiet {
        be_quiet();
    }
    let args = &*crate::job::applied(args)?;
    let Some(format) = args.format().of_results().filter(|_| !args.dry_run) else {
        return describe(args);
    };
    // Before anything is measured it is known that the results can be written.
    let exports = Exports::of(args)?;
    let (plan, mut record, store) = if let Some(directory) = &args.resume {
        resumed(directory, args)?
    } else {
        let plan = planned(args)?;
        plan.check_traces()?;
        let record = fresh_record(&plan)?;
        let store = match &args.output {
            Some(directory) => Store::create(directory)?,
            None => Store::create_one_of(Path::new(RUNS), default_names())?,
        };
        store.save(&record).inspect_err(|_| store.discard())?;
        (plan, record, store)
    };
    // Whether anything is kept is known, and said, once it has stopped.
    let answer = "stopping (Ctrl-C again stops at once)";
    // What is left behind is cleaned at the next start.
    let interrupt = interrupt(answer, || {})?;
    let started = now();
    // Those of a resumed run that were done by then are known.
    let mut times = store.session_times();
    let begun: Vec<bool> = record.sessions.iter().map(|it| !it.steps.is_empty()).collect();
    save_host(&store, (started, None), &times)?;
    let mut progress = Progress::begin(&plan, args.progress, !args.no_report);
    let ended = run_plan(&plan, &mut record, &store, (format, &progress), &interrupt);
    progress.closes("writing the report");
    let measured = record.sessions.iter().any(|session| !session.steps.is_empty());
    if let (Err(_), false, None) = (&ended.result, measured, &args.resume) {
        store.discard();
        return ended.result.map(|()| exit::DONE);
    }
    // What was measured is printed before anything else can fail.
    if !args.silent {
        RunEnd { record: &record, place: &shell_path(store.whereabouts()) }.print(format);
    }
    let kept = ended.kept.is_ok();
    if !kept {
        print_unsaved(&record, format);
    }
    let mut failures: Vec<Failure> =
        [ended.result.map_err(|failure| resumable(failure, (&store, &plan), args)), ended.kept]
            .into_iter()
            .filter_map(Result::err)
            .collect();
    let whole = |time: &SessionTime| !begun.get(time.index).is_some_and(|begun| *begun);
    times.extend(progress.session_times().into_iter().filter(whole));
    failures.extend(save_host(&store, (started, Some(now())), &times).err());
    if kept {
        note(&format!("kept in {}", store.whereabouts().display()));
    }
    if !args.no_report {
        failures.extend(crate::report::beside(&store, &record).err());
    }
    progress.end();
    let (limits, limits_hold) = judge(&record, &plan);
    failures.extend(exports.write((store.whereabouts().as_path(), &record), &limits).err());
    // The first error is the one that the others came of.
    let mut failures = failures.into_iter();
    if let Some(first) = failures.next() {
        failures.for_each(|other| error_line(&format!("also: {}", other.message())));
        return Err(first);
    }
    Ok(match (record.is_valid(), limits_hold) {
        (false, _) => exit::INVALID,
        (true, false) => exit::LIMIT_FAILED,
        (true, true) => exit::DONE,
    })
}

/// The plan of the arguments; an error names the job file that they are from.
fn planned(args: &RunArgs) -> Result<Plan, Failure> {
    Plan::new(args).map_err(|failure| match &args.job {
        Some(job) => failure.context(format!("`{}`", job.display())),
        None => failure,
    })
}

/// `trimbench run --dry-run`, and what only it prints.
fn describe(args: &RunArgs) -> Result<u8, Failure> {
    if !args.dry_run {
        let error = anyhow::anyhow!(
            "`--output-format toml` prints a job file, which only `--dry-run` does"
        );
        return Err(Failure::usage(error).with_hint("add `--dry-run`"));
    }
    let plan = planned(args)?;
    match args.format() {
        RunFormat::Human => data(&cleaned(&crate::dry_run::describe(&plan))),
        RunFormat::Toml => data(&crate::job::described(args, &plan)),
        RunFormat::Json | RunFormat::Ndjson => {
            let error = anyhow::anyhow!("a dry run has no results to print as JSON");
            let hint = "leave the format out, or give `--output-format toml` for a job file";
            return Err(Failure::usage(error).with_hint(hint));
        }
    }
    Ok(exit::DONE)
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
    resume.push('`');
    failure.with_hint(resume)
}

/// The plan, record and place of an interrupted run.
fn resumed(directory: &Path, args: &RunArgs) -> Result<(Plan, RunRecord, Store), Failure> {
    let store = Store::open(directory)?.lock()?;
    let record = store.load_to_resume()?;
    if record.program != program() {
        let (then, now) = (&record.program, program());
        let error = anyhow::anyhow!(
            "the run was begun by {} {} (commit {}, model version {}), and this is {} {} (commit \
             {}, model version {})",
            then.name,
            then.version,
            then.commit,
            then.model_version,
            now.name,
            now.version,
            now.commit,
            now.model_version
        );
        let hint = "figures of different versions are not comparable: build that commit, or \
                    start a new run";
        return Err(Failure::usage(error).with_hint(hint));
    }
    if let Some(index) = record.stray_session() {
        let error =
            anyhow::anyhow!("session {index} of the record does not match the record's plan");
        let hint = "the record was changed after it was written; use an unchanged copy";
        return Err(Failure::usage(error).with_hint(hint));
    }
    let plan = Plan::recorded(record.seed, &record.plan, args)?;
    if record.run_id.is_none() && plan.has_real_targets() {
        let error = anyhow::anyhow!("the record of a run on a real target has lost its `run_id`");
        let hint = "the record was changed after it was written; use an unchanged copy";
        return Err(Failure::usage(error).with_hint(hint));
    }
    plan.check_traces()?;
    Ok((plan, record, store))
}

/// The record at the end of a run. Its steps and figures are printed while it goes on.
struct RunEnd<'a> {
    record: &'a RunRecord,
    /// Where it is kept, as a shell takes it.
    place: &'a str,
}

impl Printed for RunEnd<'_> {
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

/// Says how each limit fared, and which demand of a method failed. All of them, and whether all
/// hold.
fn judge(record: &RunRecord, plan: &Plan) -> (Vec<JudgedLimit>, bool) {
    let concerns = |limit: &Limit, session: &SessionRecord| {
        let planned = plan.sessions.iter().find(|planned| planned.planned == session.plan);
        let metrics = planned.map(|planned| planned.method.metrics());
        let named = metrics.into_iter().flatten().any(|it| limit.names(&it.id));
        named && session.left_out.is_none()
    };
    // The names were checked before the run: what no session has by now was not measured.
    let Ok(outcomes) = evaluate(record, &plan.limits, concerns) else {
        error_line("limit FAILS: no session has the figure that it names");
        return (Vec::new(), false);
    };
    let finished =
        |limit: &Limit, session: &SessionRecord| session.finished && concerns(limit, session);
    let demanded = evaluate(record, &plan.demands, finished).unwrap_or_default();
    let failed = demanded.iter().filter(|outcome| !outcome.holds);
    let mut judged: Vec<JudgedLimit> =
        outcomes.iter().chain(failed).map(|outcome| judged(record, outcome)).collect();
    let verdicts: Vec<VerdictOutcome> =
        plan.verdicts.iter().flat_map(|limit| limit.judge(record)).collect();
    judged.extend(verdicts.iter().map(|outcome| JudgedLimit {
        limit: outcome.limit.to_string(),
        place: outcome.place.clone(),
        found: outcome.found.clone(),
        holds: Some(outcome.holds),
    }));
    judged.iter().for_each(say);
    let hold = outcomes.iter().chain(&demanded).all(|outcome| outcome.holds)
        && verdicts.iter().all(|outcome| outcome.holds);
    (judged, hold)
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

/// The figure that a limit judged, as it is shown everywhere; in full where its rounding hides on
/// which side of the limit it is.
fn judged_value(figure: &Figure, outcome: &LimitOutcome) -> String {
    let shown = figure.shown().quantity();
    let limit = &outcome.limit;
    let near = |value: &f64| {
        let apart = (value - limit.value).abs();
        apart > 0.0 && apart < limit.value.abs() * NEAR
    };
    match outcome.value.filter(near) {
        Some(value) => format!("{shown}, exactly {value} {}", limit.unit).trim_end().to_owned(),
        None => shown,
    }
}

/// How one limit fared on one target.
fn judged(record: &RunRecord, outcome: &LimitOutcome) -> JudgedLimit {
    let session = record.sessions.get(outcome.session);
    let place = session.map_or_else(String::new, |session| {
        format!("{} on {}", session.plan.method, session.target.name)
    });
    let figures = session.into_iter().flat_map(|session| &session.figures);
    let judged = figures.into_iter().find(|figure| Some(&figure.id) == outcome.figure.as_ref());
    let value = judged.map_or_else(|| "not measured".to_owned(), |it| judged_value(it, outcome));
    // A limit on a slope says nothing of a stall that is the same for every size.
    let remark = judged.and_then(Figure::words);
    let reason = outcome.unmeasured.map(|caveat| format!("{}: {}", caveat.id(), caveat.meaning()));
    let remark = remark.or(reason).map_or_else(String::new, |remark| format!(" ({remark})"));
    JudgedLimit {
        limit: outcome.limit.to_string(),
        place,
        found: format!("{value}{remark}"),
        holds: outcome.unmeasured.is_none().then_some(outcome.holds),
    }
}

fn save_host(
    store: &Store,
    (started, ended): (f64, Option<f64>),
    sessions: &[SessionTime],
) -> Result<(), Failure> {
    let host = Host {
        command: std::env::args_os().map(to_text).collect(),
        started_unix_s: started,
        ended_unix_s: ended,
        debug_build: cfg!(debug_assertions),
        environment: trimbench_claim::inspect::environment(&store.whereabouts())
            .unwrap_or_default(),
        sessions: sessions.to_vec(),
    };
    store.save_host(&host)
}

/// Seconds since 1970.
fn now() -> f64 {
    trimbench_linux::wall_time_unix().seconds()
}

/// The time, with a number behind it if several runs begin in one second.
fn default_names() -> impl Iterator<Item = String> {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let numbered = (2..).map({
        let time = time.clone();
        move |number| format!("{time}-{number}")
    });
    std::iter::once(time).chain(numbered)
}
