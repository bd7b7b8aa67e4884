//! The kernel and the models side by side.

use anyhow::{Context as _, Result};

use super::kernel::{by_kernel, fsync_by_kernel};
use super::model::{by_model, fsync_by_model};
use super::{DiscardAction, DiscardCase, FsyncCase, SeenRequests};
use crate::expectation::{Expectation, near};

/// Steps of write-back throttling with 128 tags.
const STEPS: [u64; 5] = [0, 4, 8, 16, 24];

/// What the running kernel and the model discard in a case; in the model each discard takes the
/// time that those of the kernel took.
///
/// # Panics
/// If the kernel lacks what it needs: [`crate::requires`] said that it is there.
pub fn compare(case: &DiscardCase) -> Result<Vec<Expectation>> {
    let kernel = by_kernel(case)?;
    let model = by_model(case, kernel.service());
    let ratio = |what: &str, of: &dyn Fn(&SeenRequests) -> f64, share| {
        let (model, kernel) = (of(&model), of(&kernel));
        let what = format!("{what}, model over kernel, {}", case.name);
        Expectation::new(what, (model / kernel, ""), near(1.0, share))
            .with_note(format!("model {model:.2}, kernel {kernel:.2}"))
    };
    if case.action == DiscardAction::Unmount && case.issuer.rule().lost != "nothing" {
        let lost = |seen: &SeenRequests| f64::from(case.files / 2) - seen.count() as f64;
        return Ok(vec![ratio("discards lost at unmount", &lost, 0.15)]);
    }
    let sender = format!("in the kernel issued by {}", kernel.sender);
    Ok(vec![
        ratio("discards", &|seen| seen.count() as f64, 0.15).with_note(sender),
        ratio("bytes discarded", &|seen| seen.bytes() as f64, 0.10),
        deepest(case, model.deepest(), kernel.deepest()),
        ratio("mean depth", &SeenRequests::mean_depth, 0.20),
    ])
}

/// The greatest depth: equal, or at most a step of throttling apart where that is on.
fn deepest(case: &DiscardCase, model: u64, kernel: u64) -> Expectation {
    let (what, apart, most) = if case.throttled {
        let step = |depth| STEPS.partition_point(|step| *step < depth);
        ("steps between the greatest depths", step(model).abs_diff(step(kernel)) as f64, 1.0)
    } else {
        ("greatest depth, model less kernel", model.abs_diff(kernel) as f64, 0.0)
    };
    Expectation::new(format!("{what}, {}", case.name), (apart, ""), [0.0, most])
        .with_note(format!("model {model}, kernel {kernel}"))
}

/// What an fsync beside a mass deletion takes in the running kernel and in the model, with the
/// times that the kernel's requests took.
///
/// # Panics
/// As [`compare`].
pub fn compare_fsync(case: &FsyncCase) -> Result<Expectation> {
    let (kernel, [discards, others]) = fsync_by_kernel(case)?;
    let (discard, request) = (discards.service(), others.alone().context("no request was alone")?);
    let model = fsync_by_model(case, discard, request);
    let what = format!("fsync beside a mass deletion, model over kernel, {}", case.name);
    let note = format!(
        "model {model}, kernel {kernel}; a discard took {discard}, another request {request}"
    );
    let ratio = model.seconds() / kernel.seconds();
    Ok(Expectation::new(what, (ratio, ""), near(1.0, 0.2)).with_note(note))
}
