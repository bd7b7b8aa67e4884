//! `trimbench restore`, and what each run does first: puts back what killed processes had changed
//! for a while.

use serde_json::{Value, json};
use trimbench_app::Failure;
use trimbench_core::exit;
use trimbench_linux::{MountRestored, Restored, restore_abandoned, restore_abandoned_mounts};

use crate::args::OutputFormat;
use crate::output::{Printed, cleaned, document, error_line, joined, note};

/// What became of one thing, and whether somebody must look.
struct Outcome {
    text: String,
    needs_attention: bool,
}

/// `trimbench restore`.
pub(crate) fn run(format: OutputFormat) -> Result<u8, Failure> {
    let outcomes = Outcomes(restored()?);
    outcomes.print(format);
    let is_done = !outcomes.0.iter().any(|it| it.needs_attention);
    Ok(if is_done { exit::DONE } else { exit::TARGET })
}

/// Says what was put back. What cannot be looked at is no reason not to measure: whoever borrows
/// something looks again.
pub(crate) fn before_a_run() {
    for Outcome { text, needs_attention } in restored().unwrap_or_default() {
        if needs_attention { error_line(&text) } else { note(&text) }
    }
}

fn restored() -> Result<Vec<Outcome>, Failure> {
    let hint = "remove what others have put there, then try again";
    let failed = |error: anyhow::Error| Failure::target(error).with_hint(hint);
    let mounts = restore_abandoned_mounts().map_err(|error| failed(error.into()))?;
    let settings = restore_abandoned().map_err(|error| failed(error.into()))?;
    let of_mount = |it: &MountRestored| Outcome {
        text: it.to_string(),
        needs_attention: it.needs_attention(),
    };
    let of_setting =
        |it: &Restored| Outcome { text: it.to_string(), needs_attention: it.needs_attention() };
    Ok(mounts.iter().map(of_mount).chain(settings.iter().map(of_setting)).collect())
}

struct Outcomes(Vec<Outcome>);

impl Printed for Outcomes {
    fn human(&self) -> String {
        if self.0.is_empty() {
            return "nothing to put back\n".to_owned();
        }
        cleaned(&joined(self.0.iter().map(|it| it.text.clone()).collect()))
    }

    fn json(&self) -> String {
        document(&Value::Array(self.items()))
    }

    fn items(&self) -> Vec<Value> {
        let item = |it: &Outcome| json!({ "text": it.text, "done": !it.needs_attention });
        self.0.iter().map(item).collect()
    }
}
