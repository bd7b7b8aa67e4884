//! Claims about speed, read from the output of `cargo xtask bench --json`.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Bar, Capture, Context, Finding, Raw};

/// The drives of `bench ssd`.
pub(super) const DRIVES: [&str; 2] = ["256 GiB, OP 7 %", "256 GiB, OP 28 %"];
/// What else the name of a case holds: writes through the contract, with runner and histogram.
pub(super) const CONTRACT: &str = "through the contract";

/// How far the write amplifications of model and yardstick may lie apart: more, and the work is not
/// the same.
const AMPLIFICATION_MARGIN: f64 = 0.02;

/// Runs `bench ssd` with these options, captured as `bench`.
pub(super) fn measure_ssd(context: &Context<'_>, options: &[&str]) -> Result<()> {
    let arguments = [&["xtask", "bench", "ssd", "--json"], options].concat();
    let mut bench = context.repository().command("cargo", &arguments);
    context.capture_well("bench", &mut bench).map(|_| ())
}

/// The lines of a benchmark, captured as `bench`.
pub(super) struct Printed {
    pub(super) capture: Capture,
    lines: Vec<Value>,
}

impl Printed {
    /// An error where the benchmark failed or was skipped.
    pub(super) fn of(raw: &Raw) -> Result<Self> {
        let capture = raw.capture("bench")?;
        capture.expect_status(0)?;
        let printed = raw.text(&capture.output)?;
        if let Some(reason) = printed.lines().find(|line| line.contains(": skipped: ")) {
            anyhow::bail!("{reason}");
        }
        // Between them stand the lines that name the step.
        let lines = printed.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str);
        let lines = lines.collect::<Result<_, _>>().context("read the benchmark's lines")?;
        Ok(Self { capture, lines })
    }

    /// All sides of a case.
    fn of_case(&self, case: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["case"] == case).collect()
    }

    /// Our side of a case and the peer's.
    pub(super) fn pair(&self, case: &str) -> Result<(&Value, &Value)> {
        let sides = self.of_case(case);
        ensure!(sides.len() == 2, "{} sides of `{case}`, not 2", sides.len());
        let (ours, peer): (Vec<&Value>, _) =
            sides.into_iter().partition(|side| side["side"] == "ours");
        let ours = ours.first().copied().context("our side was not measured")?;
        Ok((ours, peer.first().copied().context("the peer was not measured")?))
    }

    /// The only side of a case that has no peer.
    pub(super) fn single(&self, case: &str) -> Result<&Value> {
        let sides = self.of_case(case);
        ensure!(sides.len() == 1, "{} sides of `{case}`, not 1", sides.len());
        Ok(sides[0])
    }
}

/// The median of a side.
pub(super) fn median(side: &Value) -> Result<f64> {
    side["median"].as_f64().context("a side has no median")
}

/// Speed of the emulated SSD over that of the bare C model, at least `ratio_min`; and whether both
/// did the same work.
pub(super) fn beside_yardstick(
    bench: &Printed,
    case: &str,
    ratio_min: f64,
) -> Result<[Finding; 2]> {
    let (ours, peer) = bench.pair(case)?;
    let amplification = Finding::new(
        &format!("write amplification over that of the C model, {case}"),
        (write_amplification(ours)? / write_amplification(peer)?, ""),
        Bar::Near { value: 1.0, share: AMPLIFICATION_MARGIN },
        &bench.capture,
    );
    Ok([over_yardstick(bench, case, ratio_min)?, amplification])
}

/// The speed alone: of a drive with features that the C model lacks, which is other work.
pub(super) fn over_yardstick(bench: &Printed, case: &str, ratio_min: f64) -> Result<Finding> {
    let (ours, peer) = bench.pair(case)?;
    let (our_waf, peer_waf) = (write_amplification(ours)?, write_amplification(peer)?);
    let (our_speed, peer_speed) = (median(ours)?, median(peer)?);
    let repetitions = ours["values"].as_array().map_or(0, Vec::len);
    let note = format!(
        "{our_speed:.2} over {peer_speed:.2} million writes a second, medians of {repetitions}; \
         write amplification {our_waf:.4} and {peer_waf:.4}"
    );
    let ratio = Finding::new(
        &format!("speed over that of the C model, {case}"),
        (our_speed / peer_speed, ""),
        Bar::AtLeast(ratio_min),
        &bench.capture,
    );
    Ok(ratio.with_note(&note))
}

fn write_amplification(side: &Value) -> Result<f64> {
    let check = side["check"].as_str().context("a side has no check")?;
    let waf = check.strip_prefix("WA ").context("the check has no amplification")?;
    let waf = waf.split(',').next().unwrap_or(waf);
    waf.parse().context("the amplification is no number")
}
