//! The bare C model: built, run, and what it printed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{Parameters, Speed};
use crate::lab::Lab;

/// Its flags: validity bitmap, bucketed lists, prefetch of 32 commands, timing model on.
const FLAGS: [&str; 6] = ["-O3", "-march=native", "-DVAR=1", "-DSEL=0", "-DPF=32", "-DTIMING=1"];
/// Where its source is, beside the checkout.
const SOURCE: &str = "../shared/bench/ftl_limit.c";

/// The program.
pub(super) struct Peer(PathBuf);

/// Compiles it.
pub(super) fn build(lab: &Lab<'_>) -> Result<Peer> {
    let source = lab.path(SOURCE);
    ensure!(source.exists(), "the yardstick {SOURCE} is not beside this checkout");
    let program = lab.folder().join("ftl_limit");
    lab.call_well(Command::new("gcc").args(FLAGS).arg(source).arg("-o").arg(&program))?;
    Ok(Peer(program))
}

impl Peer {
    /// Fills such a drive anew and measures.
    pub(super) fn run(&self, lab: &Lab<'_>, parameters: Parameters) -> Result<Speed> {
        let Parameters { capacity, over_provisioning, .. } = parameters;
        let numbers = [capacity, over_provisioning, parameters.superblock(), super::drive::FILLS];
        let mut command = Command::new(&self.0);
        let output = lab.call_well(command.args(numbers.map(|number| number.to_string())))?;
        parse(&output.stdout).with_context(|| format!("read `{}`", output.stdout.trim()))
    }
}

/// `... | steady 18.20 Mhost/s (cpu 18.31) WA=7.8003  141.96 Mflash/s ...`
fn parse(printed: &str) -> Result<Speed> {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let steady = words.iter().position(|word| *word == "steady").context("no steady state")?;
    let Some(["Mhost/s", "(cpu", millions]) = words.get(steady + 2..steady + 5) else {
        anyhow::bail!("the speed is not in Mhost/s, with that of processor time behind it");
    };
    let millions = millions.strip_suffix(')').context("no speed")?;
    let amplification = words.iter().find_map(|word| word.strip_prefix("WA="));
    let amplification = amplification.context("no write amplification")?;
    Ok(Speed {
        millions: millions.parse().context("the speed is no number")?,
        amplification: amplification.parse().context("WA is no number")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "VAR=1 SEL=0 PF=32 TIMING=1 THP=1  4 GiB OP=7% Np=1024 NB=1099 | \
        seqfill 212.11 Mw/s | warm 0.1s | steady 24.83 Mhost/s (cpu 24.90) WA=7.7294  \
        191.92 Mflash/s  ns/host=40.3 ns/flash=5.2 | virt 1.0s 38421 IOPS virt, real/virt 0.002 \
        p50 6.0us p99.9 831.5us | trim(random-written) 112.1 Mpg/s | RSS 11 MiB\n";

    #[test]
    fn speed_and_amplification_are_read() {
        assert_eq!(parse(LINE).unwrap(), Speed { millions: 24.90, amplification: 7.7294 });
    }

    #[test]
    fn output_that_was_cut_off_or_is_another_is_an_error() {
        assert!(parse(&LINE[..LINE.find("WA=").unwrap()]).is_err());
        assert!(parse("").is_err());
        for (from, to) in [("Mhost/s", "khost/s"), ("(cpu 24.90) ", ""), ("24.90)", "nothing)")] {
            assert!(parse(&LINE.replace(from, to)).is_err(), "{to}");
        }
    }
}
