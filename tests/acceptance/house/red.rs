//! Each acceptance test fails where its claim is false.
//!
//! The sources are copied, faults are planted there, and the acceptance tests that must notice them
//! are built and run there. Faults of one group are planted together: no two of them can be noticed
//! by the same test, but for those that say so.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use super::planted::{PlantedFault, plant};
use crate::acceptance::{Bar, Context, Finding, KEYS, Raw, Tier};
use crate::tree::Tree;

/// Faults that are planted together, and the acceptance tests that must then fail.
struct Group {
    name: &'static str,
    faults: &'static [(PlantedFault, &'static [&'static str])],
}

/// The run without any fault, as a name of a capture.
const CONTROL: &str = "control";

const fn fault(file: &'static str, from: &'static str, to: &'static str) -> PlantedFault {
    PlantedFault { file, from, to }
}

const GROUPS: &[Group] = &[
    Group {
        name: "randomness",
        faults: &[(
            fault(
                "crates/trimbench-core/src/rng.rs",
                "hash.word(self.seed);",
                "hash.word(self.seed ^ u64::from(std::process::id()));",
            ),
            &["foundation_2"],
        )],
    },
    Group {
        name: "methods",
        faults: &[
            (
                fault(
                    "crates/trimbench-methods/src/delete_stall/window.rs",
                    "total += end.since(from);",
                    "total += end.since(from) + Nanos(100_000_000);",
                ),
                &["foundation_4"],
            ),
            (
                fault(
                    "crates/trimbench-methods/src/recovery/session.rs",
                    "self.phases.trim(\"trim\", Bytes(0), self.part)?;",
                    "self.phases.trim(\"trim\", Bytes(0), Bytes(self.span.0 / 8))?;",
                ),
                &["device_1"],
            ),
            (
                fault(
                    "crates/trimbench-linux/src/claim.rs",
                    "find(|one| !consent.signatures.contains(&one.kind));",
                    "find(|one| !consent.signatures.contains(&one.kind) && one.kind.is_empty());",
                ),
                &["device_4"],
            ),
            (
                fault(
                    "crates/trimbench/src/failure.rs",
                    "MethodError::Run(RunError::Interrupted) => exit::INTERRUPTED,",
                    "MethodError::Run(RunError::Interrupted) => exit::INVALID,",
                ),
                &["device_7"],
            ),
            (
                fault(
                    "crates/trimbench-methods/src/postmark/generator.rs",
                    "self.random.below(self.settings.size_high - size) + 1;",
                    "self.random.below(self.settings.size_high - size) + 2;",
                ),
                &["files_1"],
            ),
            (
                fault(
                    "crates/trimbench-methods/src/postmark/formulas.rs",
                    "rate(initially, creation),",
                    "rate(initially + 1, creation),",
                ),
                &["files_2"],
            ),
            (
                fault(
                    "crates/trimbench-trace/src/formats/blktrace.rs",
                    "command(kind, time, offset, u64::from(fields.bytes))?",
                    "command(kind, time, offset, u64::from(fields.bytes) + 512)?",
                ),
                &["trace_4"],
            ),
            (
                fault("crates/trimbench-report/src/page.rs", "(sources::messages(sources))", ""),
                &["report_4", "report_5"],
            ),
            (
                fault(
                    "crates/trimbench-report/src/page.rs",
                    "@for method in &methods {",
                    "@for method in methods.iter().skip(8) {",
                ),
                &["report_3"],
            ),
            (
                fault(
                    "crates/trimbench-engine/src/steady.rs",
                    "let steady = excursion <= self.excursion_max * mean",
                    "let steady = excursion < self.excursion_max * mean",
                ),
                &["device_6"],
            ),
        ],
    },
    Group {
        name: "claims",
        faults: &[
            (
                fault(
                    "crates/trimbench-methods/src/steady_state/session.rs",
                    "for number in 1..=method.settle_rounds {",
                    "for number in 1..=method.settle_rounds.min(0) {",
                ),
                &["truth_3"],
            ),
            (
                fault(
                    "crates/trimbench/src/plan.rs",
                    "\"leave one out: a run measures each target once\"",
                    "\"each target is measured once\"",
                ),
                &["answer_2"],
            ),
            (
                fault(
                    "crates/trimbench-report/src/terminal/answer.rs",
                    "let mut parts = vec![verdicts(&drives, style)];",
                    "let mut parts = vec![verdicts(&drives[1..], style)];",
                ),
                &["answer_1"],
            ),
            (
                fault(
                    "crates/trimbench-report/src/csv.rs",
                    "text(&figure.shown().text()),",
                    "text(&format!(\"{:.1} {}\", figure.value, figure.unit)),",
                ),
                &["answer_5"],
            ),
        ],
    },
    Group {
        name: "drive",
        faults: &[
            (
                fault(
                    "crates/trimbench-ssd/src/ftl/slc_cache.rs",
                    "return allowed > cache.least;",
                    "return true;",
                ),
                &["truth_7"],
            ),
            (
                fault(
                    "crates/trimbench-ssd/src/ftl.rs",
                    "        counters.programmed_units += 1;",
                    "        counters.programmed_units += 1 + u64::from(lpn % 50 == 0);",
                ),
                &["ssd_1", "ssd_2"],
            ),
            (
                fault(
                    "crates/trimbench-ssd/src/nand.rs",
                    "program: nand.program, transfer };",
                    "program: Nanos(nand.program.0 / 20 * 21), transfer };",
                ),
                &["ssd_3"],
            ),
            (
                fault(
                    "crates/trimbench-ssd/src/trim.rs",
                    "let ranges = config.range.times(ranges);",
                    "let ranges = config.range.times(ranges + 1);",
                ),
                &["ssd_4"],
            ),
            (
                fault(
                    "crates/trimbench-ssd/src/trim.rs",
                    "saturating_sub(config.uncharged.0)",
                    "saturating_sub(config.uncharged.0 / 10 * 9)",
                ),
                &["drives_6"],
            ),
            (
                fault(
                    "crates/trimbench-ssd/src/gc.rs",
                    "scaled(self.idle_share)",
                    "scaled(Ppm(self.idle_share.0 / 10))",
                ),
                &["fit_3"],
            ),
            (
                fault(
                    "crates/trimbench-ssd/src/unit.rs",
                    "tail_partial: end & mask != 0,",
                    "tail_partial: false,",
                ),
                &["fit_4"],
            ),
            (
                fault(
                    "crates/trimbench-ssd/src/config/trim.rs",
                    "slice.scaled(self.background_share).max(Nanos(1))",
                    "slice.scaled(self.background_share).times(2)",
                ),
                &["files_6"],
            ),
            (
                fault(
                    "crates/trimbench-methods/src/recovery/session.rs",
                    "        self.pass(\"trimmed\", self.method.data)\n",
                    "self.pass(\"trimmed\", self.method.data)?;\n\
                     self.phases.trim(\"again\", Bytes(0), self.span)\n",
                ),
                &["device_2"],
            ),
            (
                fault(
                    "crates/trimbench-methods/src/trim_integrity/analysis.rs",
                    "lost: sum(Harm::NeighboursLost.key()),",
                    "lost: sum(Harm::NeighboursLost.key()) / 1_000_000,",
                ),
                &["device_5"],
            ),
            (
                fault(
                    "crates/trimbench-methods/src/replay/feed.rs",
                    "pieces(range).map(|range| Planned { time, kind, range }));",
                    "pieces(range).map(|(from, end)| {\nlet range = (from, from.midpoint(end));\n\
                     Planned { time, kind, range }\n}));",
                ),
                &["trace_3", "trace_6"],
            ),
            (
                fault(
                    "crates/trimbench-methods/src/policy/analysis.rs",
                    "(host > 0.0).then(|| self.sum(MEDIA) / host)",
                    "(host > 0.0).then(|| self.sum(MEDIA) / host * self.end(HOST).sin().abs())",
                ),
                &["files_8"],
            ),
            (
                fault(
                    "crates/trimbench-fs/src/cow/drive.rs",
                    "pub(crate) const TRIM_MOST: Bytes = Bytes::mib(128);",
                    "pub(crate) const TRIM_MOST: Bytes = Bytes::mib(96);",
                ),
                &["kernels_4"],
            ),
            (
                fault(
                    "crates/trimbench-block/src/config.rs",
                    "Scheduler::None => queue_depth,",
                    "Scheduler::None => queue_depth / 2,",
                ),
                &["kernels_1"],
            ),
            (
                fault(
                    "crates/trimbench-engine/src/workload/issuing.rs",
                    "IssueDepth::Ranges(most) => count < most,",
                    "IssueDepth::Ranges(most) => count < most * 2,",
                ),
                &["kernels_3"],
            ),
        ],
    },
    Group {
        name: "stutter",
        faults: &[(
            fault(
                "crates/trimbench-ssd/src/trim.rs",
                "let ranges = config.range.times(ranges);",
                "let ranges = config.range.times(ranges + 1) + Nanos::from_millis(300);",
            ),
            &["files_5"],
        )],
    },
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let repository = context.repository();
    let mut tree = Tree::of_head(repository, &repository.target().join("planted"))?;
    let run = |name: &str, tests: &[&str]| -> Result<()> {
        let acceptance =
            ["test", "--package", "trimbench", "--test", "acceptance", "--", "--exact"];
        let mut cargo = repository.command("cargo", &acceptance);
        cargo.args(tests).current_dir(repository.target().join("planted"));
        cargo.env("CARGO_TARGET_DIR", repository.target().join("planted/target"));
        context.capture(name, &mut cargo).map(drop)
    };
    let groups = if context.is_short() { &GROUPS[..1] } else { GROUPS };
    let all: Vec<&str> = groups.iter().flat_map(Group::red).collect();
    plant(&mut tree, [])?;
    run(CONTROL, &all)?;
    for group in groups {
        plant(&mut tree, group.faults.iter().map(|(fault, _)| fault))?;
        run(group.name, &group.red().collect::<Vec<_>>())?;
    }
    plant(&mut tree, [])
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let groups = if raw.is_short() { &GROUPS[..1] } else { GROUPS };
    let control = raw.capture(CONTROL)?;
    let green = outcomes(raw, CONTROL, "ok")?;
    let mut red = BTreeSet::new();
    for group in groups {
        red.extend(outcomes(raw, group.name, "FAILED")?);
    }
    let wanted: BTreeSet<String> = if raw.is_short() {
        groups.iter().flat_map(Group::red).map(str::to_owned).collect()
    } else {
        acceptance_tests()
    };
    let missing =
        |have: &BTreeSet<String>| wanted.difference(have).cloned().collect::<Vec<_>>().join(", ");
    let count = |have: &BTreeSet<String>| (wanted.intersection(have).count() as f64, "");
    let bar = Bar::Equals(wanted.len() as f64);
    let green_finding = Finding::new("acceptance tests that pass", count(&green), bar, &control);
    let planted = raw.capture(groups[0].name)?;
    let what = "acceptance tests that fail where a fault is planted";
    let red_finding = Finding::new(what, count(&red), bar, &planted);
    Ok(vec![green_finding.with_note(&missing(&green)), red_finding.with_note(&missing(&red))])
}

impl Group {
    /// The tests that must notice its faults.
    fn red(&self) -> impl Iterator<Item = &'static str> {
        self.faults.iter().flat_map(|(_, red)| red.iter().copied())
    }
}

/// Names of the tests that ended so, `ok` or `FAILED`.
pub(super) fn outcomes(raw: &Raw, name: &str, outcome: &str) -> Result<BTreeSet<String>> {
    let text = raw.text(&raw.capture(name)?.output)?;
    let ended = text.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let tests: BTreeSet<String> =
        ended.filter(|(_, how)| *how == outcome).map(|(test, _)| test.to_owned()).collect();
    text.contains("test result: ").then_some(tests).with_context(|| format!("{name}: no tests ran"))
}

/// Every claim that is checked by an acceptance test, as the test is called.
fn acceptance_tests() -> BTreeSet<String> {
    let claims = KEYS.iter().flat_map(|key| key.claims);
    let tested = claims.filter(|claim| matches!(claim.tier, Tier::Acceptance(_)));
    tested.map(|claim| claim.id.replace('.', "_")).collect()
}

#[cfg(test)]
mod tests;
