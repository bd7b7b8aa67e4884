//! The discards of deletions, trims and unmounts: the running kernel's on a slow loop device, and
//! the model's on a model of it, whose discards take the time that the kernel's took.

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};
use crate::discards::{
    DISCARD_CASES, DiscardAction, DiscardCase, SeenDiscards, by_kernel, by_model,
};

/// What CI looks at: both limits, a plug, and discards within `rm`.
const IN_CI: [&str; 4] = ["ext4-writeback", "xfs-wbt-off", "blkdiscard-1mib", "blkdiscard-whole"];
/// Steps of write-back throttling with 128 tags.
const STEPS: [u64; 5] = [0, 4, 8, 16, 24];

/// What the model did in a case.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    case: String,
    /// What each discard took, in ns.
    discard_ns: u64,
    /// When each was issued and completed, in ns, and its bytes.
    model: Vec<(u64, u64, u64)>,
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "filesystems on loop devices need root");
    let in_form = |case: &&DiscardCase| match context.form() {
        Form::Acceptance => IN_CI.contains(&case.name),
        Form::Short => IN_CI.contains(&case.name) || !case.throttled,
        Form::Full => true,
    };
    context.keep("models", || {
        let lines = DISCARD_CASES.iter().filter(in_form).map(|case| {
            by_kernel(case, context.folder())?;
            let path = context.folder().join(format!("{}.trace", case.name));
            let kernel = SeenDiscards::of_trace(&std::fs::read_to_string(path)?)?;
            let took = kernel.service();
            let model = by_model(case, took).requests;
            Ok(Line { case: case.name.to_owned(), discard_ns: took.0, model })
        });
        lines.collect::<Result<Vec<Line>>>()
    })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, lines) = raw.lines::<Line>("models")?;
    let mut findings = Vec::new();
    for line in &lines {
        let case = DISCARD_CASES.iter().find(|case| case.name == line.case);
        let case = case.with_context(|| format!("there is no case `{}`", line.case))?;
        let trace = format!("{}.trace", case.name);
        let kernel = SeenDiscards::of_trace(&raw.text(&trace)?)?;
        let model = SeenDiscards { requests: line.model.clone(), sender: String::new() };
        let of_case = Compared { case, kernel, model, capture: &capture, trace: &trace };
        findings.extend(of_case.findings());
    }
    if raw.form() == Form::Full {
        let rows = (lines.len() as f64, "");
        findings.push(Finding::new("cases compared", rows, Bar::AtLeast(14.0), &capture));
    }
    Ok(findings)
}

/// The kernel and the model in one case.
struct Compared<'a> {
    case: &'a DiscardCase,
    kernel: SeenDiscards,
    model: SeenDiscards,
    capture: &'a Capture,
    trace: &'a str,
}

impl Compared<'_> {
    fn findings(&self) -> Vec<Finding> {
        let (kernel, model) = (&self.kernel, &self.model);
        let lost = self.case.issuer.rule().lost != "nothing";
        if self.case.action == DiscardAction::Unmount && lost {
            let lost = |seen: &SeenDiscards| f64::from(self.case.files / 2) - seen.count() as f64;
            return vec![self.ratio("discards lost at unmount", (lost(model), lost(kernel)), 0.15)];
        }
        let number = (model.count() as f64, kernel.count() as f64);
        let bytes = (model.bytes() as f64, kernel.bytes() as f64);
        let mean = (model.mean_depth(), kernel.mean_depth());
        let note = format!("in the kernel issued by {}", kernel.sender);
        vec![
            self.ratio("discards", number, 0.15).with_note(&note),
            self.ratio("bytes discarded", bytes, 0.10),
            self.deepest(),
            self.ratio("mean depth", mean, 0.20),
        ]
    }

    fn ratio(&self, what: &str, (model, kernel): (f64, f64), share: f64) -> Finding {
        let what = format!("{what}, model over kernel, {}", self.case.name);
        let note = format!("model {model:.2}, kernel {kernel:.2}");
        let bar = Bar::Near { value: 1.0, share };
        let finding = Finding::new(&what, (model / kernel, ""), bar, self.capture);
        finding.from_file(self.trace).with_note(&note)
    }

    /// The greatest depth: equal, or at most a step of throttling apart where that is on.
    fn deepest(&self) -> Finding {
        let (model, kernel) = (self.model.deepest(), self.kernel.deepest());
        let note = format!("model {model}, kernel {kernel}");
        let (what, apart, bar) = if self.case.throttled {
            let step = |depth| STEPS.partition_point(|step| *step < depth) as f64;
            ("steps between the greatest depths", (step(model) - step(kernel)).abs(), 1.0)
        } else {
            ("greatest depth, model less kernel", model.abs_diff(kernel) as f64, 0.0)
        };
        let what = format!("{what}, {}", self.case.name);
        let finding = Finding::new(&what, (apart, ""), Bar::AtMost(bar), self.capture);
        finding.from_file(self.trace).with_note(&note)
    }
}
