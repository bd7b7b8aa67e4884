//! The fsync of a new file beside a mass deletion, on a slow loop device whose requests take about
//! 2 ms each: the running kernel's, and the model's with the times that the kernel's requests took.

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use trimbench_core::Nanos;

use crate::acceptance::{Bar, Context, Finding, Raw};
use crate::discards::{FSYNC_CASES, FsyncCase, SeenDiscards, fsync_by_kernel, fsync_by_model};

/// What an fsync took.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    case: String,
    kernel_ns: u64,
    model_ns: u64,
    /// What discards and other requests took in the kernel, as their trace says.
    discard_ns: u64,
    request_ns: u64,
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "filesystems on loop devices need root");
    let in_form = |case: &&FsyncCase| !context.is_short() || case.name.contains("long");
    context.keep("fsyncs", || {
        let lines = FSYNC_CASES.iter().filter(in_form).map(|case| {
            let kernel_ns = fsync_by_kernel(case, context.folder())?;
            let path = context.folder().join(format!("{}.trace", case.name));
            let trace = std::fs::read_to_string(path)?;
            let discard = SeenDiscards::of_trace(&trace)?.service();
            let others = SeenDiscards::others_of_trace(&trace)?;
            let request = others.alone().context("no request was alone")?;
            let model_ns = fsync_by_model(case, discard, request);
            let (discard_ns, request_ns) = (discard.0, request.0);
            let case = case.name.to_owned();
            Ok(Line { case, kernel_ns, model_ns, discard_ns, request_ns })
        });
        lines.collect::<Result<Vec<Line>>>()
    })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, lines) = raw.lines::<Line>("fsyncs")?;
    let finding = |line: &Line| {
        let what = format!("fsync beside a mass deletion, model over kernel, {}", line.case);
        let ratio = (line.model_ns as f64 / line.kernel_ns as f64, "");
        let bar = Bar::Near { value: 1.0, share: 0.2 };
        let note = format!(
            "model {}, kernel {}; a discard took {}, another request {}",
            Nanos(line.model_ns),
            Nanos(line.kernel_ns),
            Nanos(line.discard_ns),
            Nanos(line.request_ns),
        );
        Finding::new(&what, ratio, bar, &capture).with_note(&note)
    };
    Ok(lines.iter().map(finding).collect())
}
