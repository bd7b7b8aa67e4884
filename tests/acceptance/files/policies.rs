//! The trim policies that are compared by default, on three drives: response time of the foreground
//! load, bytes left untrimmed, and write amplification.

use anyhow::{Context as _, Result, ensure};
use trimbench_core::Caveat;
use trimbench_engine::{Method as _, MethodDefinition as _, Preset};
use trimbench_methods::policy::PolicyLab;
use trimbench_results::{Figure, Metric};

use crate::acceptance::runs::Run;
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};

/// A drive that S0 found slow to trim, one that works TRIMs off later, and another.
const DRIVES: [&str; 3] = ["vendor2", "generic-nvme-tlc", "vendor6"];
/// Capacity and seeds in the short and in the full form.
const SHORT: (&str, &[&str]) = ("2GiB", &["1"]);
const FULL: (&str, &[&str]) = ("4GiB", &["1", "2", "3"]);
/// How far above that of `none` a write amplification may be, as a share: what the criterion of a
/// stable amplification leaves open.
const TOLERANCE: f64 = 0.1;
/// What of the freed bytes may be unaccounted for: nothing, but for the rounding of sums.
const LOST_MOST: f64 = 1e-9;

/// All drives; of CI one.
fn drives(form: Form) -> &'static [&'static str] {
    if form == Form::Acceptance { &DRIVES[1..2] } else { &DRIVES }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let (capacity, seeds) = if context.is_short() { SHORT } else { FULL };
    for drive in drives(context.form()) {
        let target = format!("ext4:sim:{drive},capacity={capacity}");
        for seed in seeds {
            let name = format!("{drive}-{seed}");
            let mut command = context.run_into(&name, "policy", (&target, &[]))?;
            context.capture_well(&name, command.args(["--seed", seed]))?;
        }
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let captures = raw.captures()?;
    let (mut findings, mut slow) = (Vec::new(), 0_u32);
    for drive in drives(raw.form()) {
        let of_drive =
            |it: &&Capture| it.name.strip_prefix(*drive).is_some_and(|seed| seed.starts_with('-'));
        let runs = captures.iter().filter(of_drive).map(|it| Seed::of(raw, &it.name));
        let runs: Vec<Seed> = runs.collect::<Result<_>>()?;
        ensure!(!runs.is_empty(), "{drive} was not run");
        let (found, is_slow) = judge(drive, &runs)?;
        slow += u32::from(is_slow);
        findings.extend(found);
    }
    if raw.form() == Form::Acceptance {
        return Ok(findings);
    }
    let what = "drives on which one TRIM takes longer than the target of `paced`";
    let bar = Bar::Within(1.0, (DRIVES.len() - 1) as f64);
    findings.push(Finding::new(what, (f64::from(slow), ""), bar, &captures[0]));
    Ok(findings)
}

/// On the figures of a policy whose write amplification never was stable.
const UNSTEADY: &str = Caveat::NoSteadyState.id();

/// One drive, one seed.
struct Seed {
    run: Run,
    method: PolicyLab,
}

impl Seed {
    fn of(raw: &Raw, name: &str) -> Result<Self> {
        let run = raw.run(name)?;
        let method = PolicyLab::resolve(Preset::Quick, &run.session.plan.options)?;
        Ok(Self { run, method })
    }

    fn under(&self, column: &str, policy: &str) -> Result<f64> {
        self.run.value(&format!("{column}-under-{policy}"))
    }

    /// Policies of which every figure was found.
    fn complete(&self) -> usize {
        let metrics = self.method.metrics();
        let has_all = |policy: &&str| {
            let end = format!("-under-{policy}");
            // One whose amplification never was stable, and says so, has no cycles until it was.
            let is_steady = self.run.session.figure(&format!("amplification{end}"));
            let is_steady = is_steady.is_none_or(|it| !it.caveats.iter().any(|id| id == UNSTEADY));
            let is_asked = |it: &&Metric| is_steady || !it.id.starts_with("cycles-");
            let of_policy = metrics.iter().filter(|it| it.id.ends_with(&end)).filter(is_asked);
            let mut of_policy = of_policy.peekable();
            of_policy.peek().is_some()
                && of_policy.all(|it| self.run.session.figure(&it.id).is_some())
        };
        self.policies().filter(has_all).count()
    }

    fn policies(&self) -> impl Iterator<Item = &'static str> {
        self.method.policies.iter().map(|(policy, _)| *policy)
    }

    /// The most of the freed bytes that is in no account, as a share.
    fn lost(&self) -> Result<f64> {
        let mut most: f64 = 0.0;
        for policy in self.policies() {
            let freed = self.under("freed", policy)?;
            let mut known = 0.0;
            for column in ["trimmed", "not-trimmed", "rewritten"] {
                known += self.under(column, policy)?;
            }
            most = most.max((freed - known).abs() / freed);
        }
        Ok(most)
    }

    /// The greatest write amplification, over that of `none`.
    fn amplification(&self) -> Result<f64> {
        let none = self.under("amplification", "none")?;
        let mut most: f64 = 0.0;
        for policy in self.policies() {
            most = most.max(self.under("amplification", policy)? / none);
        }
        Ok(most)
    }

    /// Of `paced`, in ms: p99.9 of the foreground, the longest TRIM, its target.
    fn tail(&self) -> Result<f64> {
        self.under("p99.9", "paced")
    }

    fn longest(&self) -> Result<f64> {
        self.under("trim", "paced")
    }

    fn target(&self) -> f64 {
        self.method.target.0 as f64 / 1e6
    }

    /// Whether the result says how long one TRIM takes.
    fn tells(&self) -> Result<bool> {
        let trim = format!("one TRIM takes {:.3} ms", self.longest()?);
        let figure =
            self.run.session.figure("paced-over-target").context("nothing of the target")?;
        Ok(figure.words().is_some_and(|words| words.contains(&trim)))
    }

    fn verdict(&self, id: &str) -> String {
        let words = self.run.session.figure(id).and_then(Figure::words);
        words.unwrap_or_else(|| "nothing".to_owned())
    }
}

/// What holds of one drive, at its worst of all seeds; and whether one TRIM takes longer there than
/// the target.
fn judge(drive: &str, runs: &[Seed]) -> Result<(Vec<Finding>, bool)> {
    let first = &runs[0];
    let finding = |what: &str, figure: (f64, &'static str), bar| {
        first.run.finding(&format!("{drive}: {what}"), figure, bar)
    };
    let most = |of: &dyn Fn(&Seed) -> Result<f64>| -> Result<f64> {
        let values: Vec<f64> = runs.iter().map(of).collect::<Result<_>>()?;
        Ok(values.into_iter().fold(f64::NEG_INFINITY, f64::max))
    };
    let complete = runs.iter().map(Seed::complete).min().unwrap_or(0);
    let rows = first.policies().map(|policy| {
        let of = |column: &str| first.under(column, policy).unwrap_or(f64::NAN);
        let (tail, waf, left) = (of("p99.9"), of("amplification"), of("untrimmed") / 1e6);
        format!("{policy} {tail:.2} ms, {waf:.2}, {left:.0} MB left")
    });
    let (rows, count) = (rows.collect::<Vec<_>>(), first.method.policies.len() as f64);
    let mut findings = vec![
        finding("policies with every figure", (complete as f64, ""), Bar::Equals(count)).with_note(
            &format!("p99.9, write amplification, untrimmed at the end: {}", rows.join("; ")),
        ),
        finding(
            "freed bytes in no account, as a share, the most of all policies",
            (most(&|run| run.lost())?, ""),
            Bar::AtMost(LOST_MOST),
        ),
        finding("bytes trimmed under `none`", (most(&|run| run.under("trimmed", "none"))?, "B"), {
            Bar::Equals(0.0)
        }),
        finding(
            "the greatest write amplification over that of `none`",
            (most(&|run| run.amplification())?, ""),
            Bar::AtMost(1.0 + TOLERANCE),
        )
        .with_note(&format!("to choose: {}", first.verdict("policy"))),
    ];
    let longest = most(&|run| run.longest())?;
    let target = first.target();
    let note = format!(
        "longest single TRIM {longest:.3} ms, target {target} ms: {}",
        first.verdict("paced-over-target")
    );
    findings.push(if longest > target {
        let told = runs.iter().map(Seed::tells).collect::<Result<Vec<bool>>>()?;
        let told = told.into_iter().filter(|told| *told).count();
        let what = "`paced`: results that tell that one TRIM takes longer than the target";
        finding(what, (told as f64, ""), Bar::Equals(runs.len() as f64)).with_note(&note)
    } else {
        let over = most(&|run| Ok(run.tail()? / run.target()))?;
        let what = "`paced`: p99.9 of the foreground over its target";
        finding(what, (over, ""), Bar::AtMost(1.0)).with_note(&note)
    });
    Ok((findings, longest > target))
}

#[cfg(test)]
mod tests;
