//! `trimbench fit RUN --measure TARGET`: measures what determines the values, then fits to it.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser as _;
use trimbench_core::text::{shell_path, to_text};
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Nanos};
use trimbench_fit::{Candidate, MethodChoice, Outside, Twin, TwinSession, choose};
use trimbench_report::{Grid, GridColumn};

use super::{failure, with_progress};
use crate::args::fit::FitArgs;
use crate::args::{Args, Command, RunArgs};
use crate::commands;
use crate::dry_run::{rough_bytes, rough_span};
use crate::failure::Failure;
use crate::output::{data, note, style};
use crate::plan::{Plan, jobs};
use crate::store::Store;

/// Measures on the target into the run's directory, or goes on with it; whether there is something
/// to fit to.
pub(super) fn measure(args: &FitArgs, target: &Path, twin: &Twin) -> Result<bool, Failure> {
    let [directory] = &args.runs[..] else {
        let error = anyhow::anyhow!("`--measure` needs one directory for what is measured");
        let hint = "write `trimbench fit RUN --measure TARGET`";
        return Err(Failure::usage(error).with_hint(hint));
    };
    if target.is_dir() {
        let image = shell_path(target.join("trimbench.img"));
        let error = anyhow::anyhow!(
            "`{}` is a directory: the filesystem between it and the drive is not part of a twin",
            target.display()
        );
        let hint = format!(
            "make an image file there, which is all that is overwritten: `truncate -s 4G {image}`, \
             and give `--measure {image} --destroy {image}`"
        );
        return Err(Failure::usage(error).with_hint(hint));
    }
    if directory.join("run.json").is_file() {
        return go_on(args, directory);
    }
    let plan = Plan::new(&on_target(args, target, Vec::new(), Path::new("unused"))?)?;
    let refusal = plan.sessions.first().and_then(|session| session.refusal(&plan.consent));
    if let Some((why, hint)) = refusal {
        return Err(Failure::target(anyhow::anyhow!(why)).with_hint(hint));
    }
    let candidates = candidates(&plan, target)?;
    let chosen = with_progress("sessions of the twin", |interrupt, ended| {
        let outside = Outside { jobs: jobs(args.jobs), interrupt, ended };
        choose(twin, &candidates, (args.seed, outside))
    })?;
    let choice = chosen.map_err(failure)?;
    let text = described((target, &plan), &candidates, &choice);
    if args.dry_run {
        data(&text);
        return Ok(false);
    }
    text.lines().for_each(note);
    let methods = choice.chosen.iter().map(|it| candidates[*it].session.method.id.into());
    commands::run(&on_target(args, target, methods.collect(), directory)?)?;
    Ok(true)
}

/// Goes on with what was interrupted.
fn go_on(args: &FitArgs, directory: &Path) -> Result<bool, Failure> {
    let record = Store::open(directory)?.load()?;
    let is_whole = record.sessions.len() == record.plan.len()
        && record.sessions.iter().all(|session| session.finished);
    if args.dry_run || is_whole {
        let what =
            if is_whole { "is measured" } else { "was begun: without `--dry-run` it goes on" };
        note(&format!("`{}` {what}", directory.display()));
        return Ok(is_whole && !args.dry_run);
    }
    let mut words: Vec<OsString> = vec!["--resume".into(), directory.into()];
    words.extend(consent(args));
    commands::run(&run_args(words)?)?;
    Ok(true)
}

/// What could be measured on the target, and what it takes there.
fn candidates(plan: &Plan, target: &Path) -> Result<Vec<Candidate>, Failure> {
    let mut candidates = Vec::new();
    for session in &plan.sessions {
        let demand = session.rough_demand(&plan.consent, plan.assumed_rate);
        if let Some(demand) = demand.filter(|_| Candidate::is_of_use(session.info)) {
            let options = session.planned.options.clone();
            let session = TwinSession::on_drive(session.info, options);
            candidates.push(Candidate { session, time: demand.time, written: demand.written });
        }
    }
    if candidates.is_empty() {
        let error = anyhow::anyhow!("no method suits `{}`", target.display());
        let hint = "`trimbench run --dry-run --target` it says why";
        return Err(Failure::target(error).with_hint(hint));
    }
    Ok(candidates)
}

/// The arguments of a run of these methods on the target.
fn on_target(
    args: &FitArgs,
    target: &Path,
    methods: Vec<OsString>,
    directory: &Path,
) -> Result<RunArgs, Failure> {
    let mut words = methods;
    words.extend(["--target".into(), target.into(), "--output".into(), directory.into()]);
    words.extend(["--seed".into(), args.seed.to_string().into()]);
    words.extend(consent(args));
    run_args(words)
}

/// What may be destroyed, as words.
fn consent(args: &FitArgs) -> Vec<OsString> {
    let destroy = args.destroy.iter().flat_map(|path| ["--destroy".into(), path.into()]);
    let types = args.overwrite_signature.iter();
    let types = types.flat_map(|name| ["--overwrite-signature".into(), name.into()]);
    let mut words: Vec<OsString> = destroy.chain(types).collect();
    if args.quiet {
        words.push("--quiet".into());
    }
    words
}

fn run_args(words: Vec<OsString>) -> Result<RunArgs, Failure> {
    let words = ["trimbench".into(), "run".into()].into_iter().chain(words);
    let parsed = Args::try_parse_from(words).map_err(Failure::usage)?;
    let Command::Run(mut run) = parsed.command else { unreachable!("the second word is `run`") };
    run.silent = true;
    Ok(run)
}

/// What will be measured, what it takes, and what it determines.
fn described(
    (target, plan): (&Path, &Plan),
    candidates: &[Candidate],
    choice: &MethodChoice,
) -> String {
    let chosen = || choice.chosen.iter().map(|it| &candidates[*it]);
    let mut table = Grid::new(vec![
        GridColumn::name("method"),
        GridColumn::number("time"),
        GridColumn::number("writes"),
    ]);
    for candidate in chosen() {
        let Candidate { session, time, written } = candidate;
        table.row([session.method.id.to_owned(), rough_span(*time), rough_bytes(*written)]);
    }
    let time = Nanos(chosen().map(|it| it.time.0).sum());
    let written = Bytes(chosen().map(|it| it.written.0).sum());
    let mut lines = vec![format!(
        "on {}: at most about {} of wall time, {} written",
        to_text(target),
        rough_span(time),
        rough_bytes(written)
    )];
    lines.extend(table.render(style()));
    let first = plan.sessions.first();
    lines.extend(first.and_then(|session| session.endurance(&plan.consent, written)));
    let mut determined = Grid::new(vec![
        GridColumn::name("value"),
        GridColumn::number("determined by these"),
        GridColumn::number("by all methods"),
    ]);
    let share = |places: usize| {
        format!("{} %", rounded(100.0 * places as f64 / choice.places.max(1) as f64))
    };
    for (key, by_chosen, by_all) in &choice.determined {
        determined.row([key.clone(), share(*by_chosen), share(*by_all)]);
    }
    lines.push(String::new());
    lines.extend(determined.render(style()));
    lines.push(format!("(of {} drives that it might be)", choice.places));
    lines.join("\n") + "\n"
}
