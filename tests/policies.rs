//! What must hold of a run of the method `policy`, whatever the drive.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use trimbench_core::Caveat;
use trimbench_engine::{Method as _, MethodDefinition as _, Preset};
use trimbench_methods::policy::PolicyLab;
use trimbench_results::number::quantity;

use crate::expectation::Expectation;
use crate::program::Run;

/// How far above that of `none` a write amplification may be, as a share: what the criterion of a
/// stable amplification leaves open.
const TOLERANCE: f64 = 0.1;
/// What of the freed bytes may be unaccounted for, as a share: nothing, but for the rounding of
/// sums.
const LOST_MOST: f64 = 1e-9;

/// The setting that compares the policies of the standard preset.
pub fn compared() -> String {
    let standard = PolicyLab::resolve(Preset::Standard, &BTreeMap::new());
    format!("policies={}", standard.expect("presets are valid").compared.join(","))
}

/// Whether one TRIM takes longer than the target of `paced`, which then cannot be kept.
pub fn is_slow_to_trim(run: &Run) -> Result<bool> {
    Ok(run.value("trim-under-paced")? > target(&method(run)?))
}

/// What each policy costs: every figure is there, freed bytes are accounted for, no policy wears
/// the drive more than `none`, and `paced` keeps its target or says why it cannot.
pub fn expectations(run: &Run) -> Result<Vec<Expectation>> {
    let method = method(run)?;
    let policies = || method.policies.iter().map(|(policy, _)| *policy);
    let under = |column: &str, policy: &str| run.value(&format!("{column}-under-{policy}"));
    let none = under("amplification", "none")?;
    let (mut complete, mut lost, mut most) = (0.0, 0.0_f64, 0.0_f64);
    let mut rows = Vec::new();
    for policy in policies() {
        complete += f64::from(u8::from(is_complete(run, &method, policy)));
        let freed = under("freed", policy)?;
        let known =
            under("trimmed", policy)? + under("not-trimmed", policy)? + under("rewritten", policy)?;
        lost = lost.max((freed - known).abs() / freed);
        let amplification = under("amplification", policy)?;
        most = most.max(amplification / none);
        let (tail, left) = (under("p99.9", policy)?, under("untrimmed", policy)? / 1e6);
        rows.push(format!("{policy} {tail:.2} ms, {amplification:.2}, {left:.0} MB left"));
    }
    let rows = format!("p99.9, write amplification, untrimmed at the end: {}", rows.join("; "));
    let count = method.policies.len() as f64;
    let words = |id: &str| Ok::<_, anyhow::Error>(run.figure(id)?.words().unwrap_or_default());
    let mut all = vec![
        Expectation::new("policies with every figure", (complete, ""), [count; 2]).with_note(rows),
        Expectation::new(
            "freed bytes in no account, as a share, the most of all policies",
            (lost, ""),
            [0.0, LOST_MOST],
        ),
        Expectation::new("bytes trimmed under `none`", (under("trimmed", "none")?, "B"), [0.0; 2]),
        Expectation::new(
            "the greatest write amplification over that of `none`",
            (most, ""),
            [0.0, 1.0 + TOLERANCE],
        )
        .with_note(words("policy")?),
    ];
    let (longest, target) = (under("trim", "paced")?, target(&method));
    let said = words("paced-over-target")?;
    let of_paced = if longest > target {
        let is_said = said.contains(&format!("one TRIM takes {}", quantity(longest, "ms")));
        let what = "`paced`: results that tell that one TRIM takes longer than the target";
        Expectation::new(what, (f64::from(u8::from(is_said)), ""), [1.0; 2])
    } else {
        let over = under("p99.9", "paced")? / target;
        let what = "`paced`: p99.9 of the foreground over its target";
        Expectation::new(what, (over, ""), [0.0, 1.0])
    };
    let note = format!("longest single TRIM {longest:.3} ms, target {target} ms: {said}");
    all.push(of_paced.with_note(note));
    Ok(all)
}

fn method(run: &Run) -> Result<PolicyLab> {
    PolicyLab::resolve(Preset::Quick, &run.session.plan.options).context("options of a record")
}

/// Of `paced`, ms.
fn target(method: &PolicyLab) -> f64 {
    method.target.0 as f64 / 1e6
}

/// Whether every figure of a policy was found. One whose amplification never was stable, and says
/// so, has no cycles until it was.
fn is_complete(run: &Run, method: &PolicyLab, policy: &str) -> bool {
    let end = format!("-under-{policy}");
    let amplification = run.session.figure(&format!("amplification{end}"));
    let is_steady = amplification
        .is_none_or(|it| !it.caveats.iter().any(|id| id == Caveat::NoSteadyState.id()));
    let metrics = method.metrics();
    let mut wanted = metrics
        .iter()
        .filter(|it| it.id.ends_with(&end) && (is_steady || !it.id.starts_with("cycles-")))
        .peekable();
    wanted.peek().is_some() && wanted.all(|it| run.session.figure(&it.id).is_some())
}
