//! `trimbench fit`: the twin of a drive.

mod measure;
mod shown;
mod what_if;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use trimbench_app::{Failure, jobs};
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::{Bytes, Interrupt, exit};
use trimbench_fit::{
    Fit, FitError, FitOptions, Observations, Outside, Parameter, Twin, TwinSession, Use,
};
use trimbench_methods::METHODS;
use trimbench_results::RunRecord;

use crate::args::fit::FitArgs;
use crate::files::{Destination, PROFILE_MARK, Rules, profile_file};
use crate::interrupt::interrupt;
use crate::output::{Printed as _, be_quiet, note, progress_terminal, set_bar};
use crate::records::load;

pub(crate) use what_if::what_if;

/// The capacities of a twin.
const CAPACITIES: [Bytes; 2] = [Bytes::gib(1), Bytes::gib(16)];

/// `trimbench fit`.
pub(crate) fn run(args: &FitArgs) -> Result<u8, Failure> {
    if args.quiet {
        be_quiet();
    }
    let predicted = predicted(args)?;
    let parameters = match &args.free[..] {
        [] => Parameter::usual(),
        named => named
            .iter()
            .map(|text| text.parse().map_err(|error| failure(FitError::from(error))))
            .collect::<Result<_, _>>()?,
    };
    if !(CAPACITIES[0]..=CAPACITIES[1]).contains(&args.capacity) {
        let error = anyhow::anyhow!("a twin has 1GiB to 16GiB, not {}", args.capacity);
        return Err(Failure::usage(error).with_hint("leave `--capacity` out"));
    }
    // Before anything is searched for it is known that the profile can be written.
    let place = args.output.as_deref().map(|path| {
        let rules = Rules { mark: Some(PROFILE_MARK), overwrite: args.overwrite, inputs: &[] };
        Destination::of(path, rules).map(|place| (place, path))
    });
    let place = place.transpose()?;
    let twin = Twin::new(&args.base, args.capacity, parameters, Vec::new()).map_err(failure)?;
    if let Some(target) = &args.measure
        && !measure::measure(args, target, &twin)?
    {
        return Ok(exit::DONE);
    }
    let mut observations = observed(args)?;
    for name in &args.set_aside {
        observations.set_aside(name).map_err(failure)?;
    }
    let twin = twin.with_sessions(observations.sessions.clone());
    let found = with_progress("sessions of the twin", |interrupt, ended| {
        let outside = Outside { jobs: jobs(args.jobs), interrupt, ended };
        let options = FitOptions { seed: args.seed };
        let mut fit = trimbench_fit::fit(&twin, &observations, options, outside)?;
        if !predicted.is_empty() {
            fit.predict(&predicted, outside)?;
        }
        Ok(fit)
    })?;
    let fit = found.map_err(|error| {
        if matches!(error, FitError::TooFew { .. }) {
            let left_out = observations.left_out.iter();
            left_out.for_each(|(what, reason)| note(&format!("left out: {what}: {reason}")));
        }
        failure(error)
    })?;
    let fitted = fit.figures.iter().filter(|it| it.used == Use::Fitted).count();
    if fitted == fit.parameters.len() {
        note("as many figures as values: nothing says how well the twin follows the drive");
    }
    if let Some((place, path)) = place {
        place.write(&profile_file(&fit.profile(&name_of(path))))?;
    }
    shown::ShownFit { fit: &fit, path: args.output.as_deref() }.print(args.format.format());
    Ok(if contradicted(&fit) { exit::INVALID } else { exit::DONE })
}

/// Works while a count of what has ended is on the terminal, until Ctrl-C.
fn with_progress<T>(
    what: &str,
    work: impl FnOnce(&Interrupt, &(dyn Fn() + Sync)) -> T,
) -> Result<T, Failure> {
    let answer = "stopping: nothing is kept of this (Ctrl-C again stops at once)";
    let interrupt = interrupt(answer, || {})?;
    let (count, bar) = (AtomicUsize::new(0), begin_bar());
    let ended = || {
        let count = count.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(bar) = &bar {
            bar.set_message(format!("{count} {what}"));
        }
    };
    let found = work(&interrupt, &ended);
    set_bar(None);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(found)
}

/// Whether the drive is none that the model can be: says so.
fn contradicted(fit: &Fit) -> bool {
    let found = fit.contradictions();
    if let Some(worst) = found.first() {
        note(&format!(
            "no values in these ranges give all figures: {} of {} are off, `{}` the most",
            found.len(),
            fit.figures.iter().filter(|it| it.counts()).count(),
            worst.name
        ));
    }
    !found.is_empty()
}

/// What the runs and the table have.
fn observed(args: &FitArgs) -> Result<Observations, Failure> {
    let records: Vec<RunRecord> =
        args.runs.iter().map(|run| load(run)).collect::<Result<_, _>>()?;
    let mut found = if records.is_empty() {
        Observations::default()
    } else {
        Observations::of(&records, args.drive.as_deref(), args.capacity).map_err(failure)?
    };
    if let Some(path) = &args.table {
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::usage(error).context(format!("cannot read `{}`", path.display()))
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let place = format!("`{}`", path.display());
        found.add_table(&name, &text).map_err(|error| failure(error).context(place))?;
    }
    Ok(found)
}

/// The sessions that are predicted.
fn predicted(args: &FitArgs) -> Result<Vec<TwinSession>, Failure> {
    let set = set_of(&args.set)?;
    let session = |id: &String| {
        let method = METHODS.iter().find(|method| method.id == *id);
        let method = method.ok_or_else(|| {
            let meant = did_you_mean(nearest(id, METHODS.iter().map(|method| method.id)));
            Failure::usage(anyhow::anyhow!("no method `{id}`{meant}"))
        })?;
        Ok(TwinSession::preset(method, &set)?)
    };
    args.predict.iter().map(session).collect()
}

/// Options as `KEY=VALUE`.
fn set_of(texts: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let pair = text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        pair.ok_or_else(|| Failure::usage(anyhow::anyhow!("`--set {text}` is no KEY=VALUE")))
    };
    texts.iter().map(pair).collect()
}

/// The profile's name: that of its file.
fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn begin_bar() -> Option<ProgressBar> {
    let bar = progress_terminal().then(ProgressBar::new_spinner)?;
    let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}").ok()?;
    bar.set_style(style);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    set_bar(Some(bar.clone()));
    Some(bar)
}

/// The error with its exit code and what to do.
fn failure(error: FitError) -> Failure {
    let hint = match &error {
        FitError::Interrupted => return Failure::interrupted(),
        FitError::SeveralDrives { .. } => "name one of them with `--drive`",
        FitError::NoFigures { .. } => {
            "measure it first: `trimbench run steady-state trim-sweep latency-under-load --target \
             DEVICE`"
        }
        FitError::TooFew { .. } => {
            "measure with another method, or search for fewer values with `--free KEY`"
        }
        FitError::NotConverged { .. } => "search for fewer values with `--free KEY`",
        FitError::NoTwin { .. } => {
            "set in the base what the drive needs, as `--base NAME,KEY=VALUE`"
        }
        FitError::Base(target) => {
            let hint = target.hint();
            let failure = Failure::usage(error);
            return match hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            };
        }
        _ => return Failure::usage(error),
    };
    Failure::usage(error).with_hint(hint)
}
