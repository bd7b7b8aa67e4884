//! The soak: random drives under random loads and faults, without a violated invariant.

use anyhow::{Context as _, Result, ensure};

use crate::acceptance::{Bar, Context, Finding, Raw};
use crate::soak::SoakSummary;

/// What a form of the claim runs: configurations, and commands of each one's long run.
struct Form {
    configurations: u32,
    commands: u32,
    note: &'static str,
}

const FULL: Form = Form { configurations: 200, commands: 5_000_000, note: "" };
const SHORT: Form = Form {
    configurations: 40,
    commands: 500_000,
    note: "the short form: a fiftieth of the commands of the full one",
};
/// The least share of configurations whose drives have a vectorised search. About a quarter has:
/// two of four policies, without those that compress, have no flash or are never full.
const SEARCHED_BOTH_WAYS: f64 = 0.1;
/// Which seed does not matter; CI soaks with the commit's.
const SEED: &str = "1";

impl Form {
    fn arguments(&self) -> [String; 4] {
        let (configurations, commands) = (self.configurations, self.commands);
        let option = |name: &str| format!("--{name}");
        let values = [configurations.to_string(), commands.to_string()];
        let [configurations, commands] = values;
        [option("configurations"), configurations, option("commands"), commands]
    }

    /// The commands of all its long runs.
    fn total(&self) -> f64 {
        f64::from(self.configurations) * f64::from(self.commands)
    }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let form = if context.is_short() { SHORT } else { FULL };
    let mut command = context.repository().command("cargo", &["xtask", "soak", SEED, "--json"]);
    context.capture("soak", command.args(form.arguments())).map(|_| ())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("soak")?;
    let ran = |form: &Form| capture.command.ends_with(&form.arguments().join(" "));
    let form = [FULL, SHORT].into_iter().find(ran);
    let form = form.with_context(|| format!("`{}` is no form of the claim", capture.command))?;
    let text = raw.text(&capture.output)?;
    let summary: SoakSummary = serde_json::from_str(&text).context("read the soak's summary")?;
    ensure!(summary.canaries > 0, "no canary was planted");
    let finding =
        |what: &str, figure: u64, bar| Finding::new(what, (figure as f64, ""), bar, &capture);
    let SoakSummary { tally, hash, searched_both_ways: both_ways, .. } = &summary;
    let speed = summary.commands_per_second / 1e6;
    let looks = format!("everything was checked {} times; hash {hash}", tally.walks);
    let pace = format!("{:.0} s, {speed:.2} million/s; every run made twice", summary.seconds);
    let pace = if form.note.is_empty() { pace } else { format!("{}; {pace}", form.note) };
    let living = summary.canaries - summary.canaries_found;
    let planted = format!("of {} that were planted", summary.canaries);
    let never = tally.fields().into_iter().filter(|(_, count)| *count == 0);
    let never: Vec<&str> = never.map(|(name, _)| name).collect();
    let configurations = Bar::AtLeast(form.configurations.into());
    let searched = Bar::AtLeast(f64::from(form.configurations) * SEARCHED_BOTH_WAYS);
    Ok(vec![
        finding("configurations with a violation", summary.violations, Bar::Equals(0.0))
            .with_note(&looks),
        finding("commands", tally.commands, Bar::AtLeast(form.total())).with_note(&pace),
        finding("random configurations", summary.configurations, configurations),
        finding("configurations searched by vectors and plainly", *both_ways, searched)
            .with_note("for victims, greedy or cost-benefit, that were collected"),
        finding("configurations whose two hashes differ", summary.differing, Bar::Equals(0.0)),
        finding("planted faults that were not found", living, Bar::Equals(0.0)).with_note(&planted),
        finding("kinds of event that never occurred", never.len() as u64, Bar::Equals(0.0))
            .with_note(&never.join(", ")),
    ])
}

#[cfg(test)]
mod tests;
