//! `trimbench fit RUN --measure TARGET`: measures what determines the values, then fits to it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use clap::Parser as _;
use trimbench_app::{Failure, Plan, jobs, rough_bytes, rough_span};
use trimbench_core::text::{shell_path, shell_word};
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Nanos};
use trimbench_devices::{ScratchSpec, TargetSpec};
use trimbench_fit::{Candidate, MethodChoice, Outside, Twin, TwinScaling, TwinSession, choose};
use trimbench_report::{Grid, GridColumn};
use trimbench_results::RunRecord;

use super::{failure, with_progress};
use crate::args::fit::FitArgs;
use crate::args::{Args, Command, RunArgs};
use crate::commands;
use crate::dry_run::endurance;
use crate::output::{data, note, style};
use crate::records::load;

/// Measures on the target into the run's directory, or goes on with it; whether there is something
/// to fit to.
pub(super) fn measure(args: &FitArgs, target: &Path, twin: &Twin) -> Result<bool, Failure> {
    let [directory] = &args.runs[..] else {
        let error = anyhow::anyhow!("`--measure` needs one directory for what is measured");
        let hint = "write `trimbench fit RUN --measure TARGET`";
        return Err(Failure::usage(error).with_hint(hint));
    };
    // In a directory an image is made that nobody else has, and as large as the twin, so that
    // nothing is scaled.
    let target = if target.is_dir() {
        let directory = fs::canonicalize(target).map_err(Failure::target)?;
        ScratchSpec::new(directory, args.capacity).argument()
    } else {
        target.as_os_str().to_owned()
    };
    let measurement = Measurement { args, target: &target, directory };
    match begun(directory)? {
        Some(record) => measurement.go_on(&record),
        None => measurement.begin(twin),
    }
}

/// The record of a measurement that was begun.
fn begun(directory: &Path) -> Result<Option<RunRecord>, Failure> {
    if !directory.join("run.json").is_file() {
        return Ok(None);
    }
    load(directory).map(Some)
}

/// Whether all is measured.
fn is_whole(record: &RunRecord) -> bool {
    record.sessions.len() == record.plan.len()
        && record.sessions.iter().all(|session| session.finished)
}

/// That a record is of this drive.
fn check_target(record: &RunRecord, target: &OsStr, directory: &Path) -> Result<(), Failure> {
    let text = TargetSpec::text_of(target);
    let named = TargetSpec::parse(&text, None).map_or(text, |spec| spec.to_string());
    let Some(other) = record.plan.iter().find(|planned| planned.target != named) else {
        return Ok(());
    };
    let directory = shell_path(directory);
    let error = anyhow::anyhow!("{directory} is a record of `{}`, not of `{named}`", other.target);
    let hint = "name another directory for what is measured, or leave `--measure` out";
    Err(Failure::usage(error).with_hint(hint))
}

/// What is measured on a drive, and where it is kept.
struct Measurement<'a> {
    args: &'a FitArgs,
    /// The drive, as an argument of `--target`.
    target: &'a OsStr,
    /// Where the record is, or will be.
    directory: &'a Path,
}

impl Measurement<'_> {
    /// Begins to measure; whether there is something to fit to then.
    fn begin(&self, twin: &Twin) -> Result<bool, Failure> {
        let Self { args, target, directory, .. } = *self;
        let (plan, scaling) = self.plan()?;
        let refusal = plan.sessions.first().and_then(|session| session.refusal(&plan.consent));
        if let Some((why, hint)) = refusal {
            return Err(Failure::target(anyhow::anyhow!(why)).with_hint(hint));
        }
        let candidates = candidates((&plan, scaling), target)?;
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
        let methods = choice.chosen.iter().map(|it| candidates[*it].session.method.id);
        commands::run(&self.run(methods.collect(), directory, scaling)?)?;
        Ok(true)
    }

    /// All that could be run on the drive, and how large it and the twin are.
    fn plan(&self) -> Result<(Plan, TwinScaling), Failure> {
        let (twin, unused) = (self.args.capacity, Path::new("unused"));
        let run = self.run(Vec::new(), unused, TwinScaling { drive: twin, twin })?;
        let plan = Plan::new(&run.plan_options())?;
        let outlook = plan.sessions.first().and_then(|it| it.target.outlook(&plan.consent).ok());
        let drive = outlook.and_then(|outlook| outlook.capacity).unwrap_or(twin);
        let scaling = TwinScaling { drive, twin };
        if !scaling.is_scaled() {
            return Ok((plan, scaling));
        }
        let methods = plan.sessions.iter().map(|session| session.info);
        let methods = methods.filter(|it| scaling.suits(it)).map(|it| it.id).collect();
        Ok((Plan::new(&self.run(methods, unused, scaling)?.plan_options())?, scaling))
    }

    /// Goes on with what was interrupted.
    fn go_on(&self, record: &RunRecord) -> Result<bool, Failure> {
        check_target(record, self.target, self.directory)?;
        let (directory, is_whole) = (self.directory, is_whole(record));
        if self.args.dry_run || is_whole {
            let what =
                if is_whole { "is measured" } else { "was begun: without `--dry-run` it goes on" };
            note(&format!("`{}` {what}", directory.display()));
            return Ok(is_whole && !self.args.dry_run);
        }
        let mut words: Vec<OsString> = vec!["--resume".into(), directory.into()];
        words.extend(self.permitted());
        commands::run(&run_args(words)?)?;
        Ok(true)
    }

    /// The arguments of a run of these methods on the drive.
    fn run(
        &self,
        methods: Vec<&str>,
        directory: &Path,
        scaling: TwinScaling,
    ) -> Result<RunArgs, Failure> {
        let mut words: Vec<OsString> = methods.into_iter().map(OsString::from).collect();
        if scaling.is_scaled() {
            words.extend(TwinScaling::WHOLE.map(OsString::from));
        }
        words.extend(["--target".into(), self.target.into()]);
        words.extend(["--output".into(), directory.into()]);
        words.extend(["--seed".into(), self.args.seed.to_string().into()]);
        words.extend(self.permitted());
        run_args(words)
    }

    /// What may be destroyed, what is done about others, and how much is said, as words.
    fn permitted(&self) -> Vec<OsString> {
        let args = self.args;
        let destroy = args.destroy.iter().flat_map(|path| ["--destroy".into(), path.into()]);
        let types = args.overwrite_signature.iter();
        let types = types.flat_map(|name| ["--overwrite-signature".into(), name.into()]);
        let mut words: Vec<OsString> = destroy.chain(types).collect();
        words.extend(["--quiet-wait".into(), args.others.quiet_wait.to_string().into()]);
        let switches = [("--busy-ok", args.others.busy_ok), ("--quiet", args.quiet)];
        words.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(word, _)| word.into()));
        words
    }
}

/// What could be measured on the target, and what it takes there.
fn candidates(
    (plan, scaling): (&Plan, TwinScaling),
    target: &OsStr,
) -> Result<Vec<Candidate>, Failure> {
    let mut candidates = Vec::new();
    for session in &plan.sessions {
        let demand = session.rough_demand(&plan.consent, plan.assumed_rate);
        if let Some(demand) = demand.filter(|_| Candidate::is_of_use(session.info)) {
            let options = session.planned.options.clone();
            let Ok(session) = TwinSession::scaled(session.info, options, scaling) else { continue };
            candidates.push(Candidate { session, time: demand.time, written: demand.written });
        }
    }
    if candidates.is_empty() {
        let error = anyhow::anyhow!("no method suits `{}`", TargetSpec::text_of(target));
        let hint = "`trimbench run --dry-run --target` it says why";
        return Err(Failure::target(error).with_hint(hint));
    }
    Ok(candidates)
}

fn run_args(words: Vec<OsString>) -> Result<RunArgs, Failure> {
    let words = ["trimbench".into(), "run".into()].into_iter().chain(words);
    let parsed = Args::try_parse_from(words).map_err(Failure::usage)?;
    let Command::Run(mut run) = parsed.command else { unreachable!("the second word is `run`") };
    run.silent = true;
    let words = std::env::args_os().skip(1).map(shell_word);
    let command = std::iter::once("trimbench".to_owned()).chain(words).collect::<Vec<_>>();
    run.continued_by = Some(command.join(" "));
    Ok(run)
}

/// What will be measured, what it takes, and what it determines.
fn described(
    (target, plan): (&OsStr, &Plan),
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
        TargetSpec::text_of(target),
        rough_span(time),
        rough_bytes(written)
    )];
    lines.extend(table.render(style()));
    let outlook = plan.sessions.first().and_then(|it| it.target.outlook(&plan.consent).ok());
    lines.extend(outlook.and_then(|outlook| outlook.worn).map(|worn| endurance(written, worn)));
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
