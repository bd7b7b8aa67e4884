//! Benchmark `ssd`: the emulated SSD beside a bare C model of the same kind of drive.
//!
//! The peer is a page-mapped flash model without features (`ftl_limit.c`, a file outside of this
//! repository): what it reaches is what the memory of the machine allows. Both sides write 4 KiB
//! units uniformly at random in steady state at queue depth 32; ours through the public contract,
//! with the runner and a latency histogram, and once more as a model alone, as the peer is. Unit:
//! host writes a second of processor time, in millions: both sides run in one thread that never
//! waits, so that on an idle machine this is wall time, and beside other work it leaves out what
//! those got. Beside them: the drive's memory, and the wall time of a TRIM of all of it. Ours is
//! built for any processor of its kind (plain x86-64), the peer for this one (`-march=native`).
//!
//! The same drives are measured again with the keys of the model set that are off by default. The
//! peer stays as it is: the ratio then says what those features cost.

mod contract;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{Bench, BenchContext, Case, Measured, Side};
use crate::process;
use crate::setup;
use crate::steps::Deadline;

pub(super) const BENCH: Bench = Bench { name: "ssd", peer: "ftl_limit.c", run };

/// Its flags: validity bitmap, bucketed lists, prefetch of 32 commands, timing model on.
const FLAGS: [&str; 6] = ["-O3", "-march=native", "-DVAR=1", "-DSEL=0", "-DPF=32", "-DTIMING=1"];

/// What both sides are run with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parameters {
    /// Logical capacity in GiB.
    capacity: u32,
    /// Over-provisioning in percent: (physical - exported) / exported.
    over_provisioning: u32,
    /// 4 KiB units a superblock.
    superblock: u32,
    /// Drive fills at random before anything is measured.
    fills: u32,
    /// Of our drive; the peer has none.
    features: Features,
}

/// Which keys of the model are set that are off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Features {
    None,
    /// All but `collector.separate_hot`, which asks at every write what the host wrote there
    /// before: one more access to memory, and what the collector moves makes another.
    NoHot,
    All,
}

impl Parameters {
    fn name(self) -> String {
        let (capacity, over_provisioning) = (self.capacity, self.over_provisioning);
        match self.features {
            Features::None => format!("{capacity} GiB, OP {over_provisioning} %"),
            Features::NoHot => format!("{capacity} GiB, all but hot, {over_provisioning} % OP"),
            Features::All => format!("{capacity} GiB, all on, {over_provisioning} % OP"),
        }
    }

    /// What is measured of such a drive.
    fn parts(self) -> &'static [Part] {
        match self.features {
            Features::None => &Part::ALL,
            Features::NoHot => &[Part::Contract],
            Features::All => &[Part::Contract, Part::Memory],
        }
    }

    fn arguments(self) -> [String; 4] {
        [self.capacity, self.over_provisioning, self.superblock, self.fills]
            .map(|it| it.to_string())
    }
}

/// What is measured of a drive: a case each.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Random writes through the contract, with runner and histogram.
    Contract,
    /// Random writes of the model alone.
    Alone,
    /// Memory in steady state.
    Memory,
    /// A TRIM of everything, after which nothing is left to be measured.
    Trim,
}

impl Part {
    const ALL: [Self; 4] = [Self::Contract, Self::Alone, Self::Memory, Self::Trim];

    /// The case's name.
    fn of(self, parameters: Parameters) -> String {
        let part = match self {
            Self::Contract => "through the contract",
            Self::Alone => "model alone",
            Self::Memory => "memory",
            Self::Trim => "TRIM of all",
        };
        format!("{}, {part}", parameters.name())
    }

    /// Whether its name holds this text.
    fn is_wanted(self, parameters: Parameters, case: Option<&str>) -> bool {
        case.is_none_or(|case| self.of(parameters).contains(case))
    }
}

/// The two over-provisionings between which real drives lie. A capacity of 256 GiB is beyond every
/// cache; 4 GiB is what fits into a minute of CI, and says little about memory. Each once with the
/// features of named drives off, and with them on.
fn parameters(small: bool) -> [[Parameters; 3]; 2] {
    let (capacity, superblock) = if small { (4, 1_024) } else { (256, 4_096) };
    [7, 28].map(|over_provisioning| {
        [Features::None, Features::NoHot, Features::All].map(|features| Parameters {
            capacity,
            over_provisioning,
            superblock,
            fills: 3,
            features,
        })
    })
}

fn run(context: &BenchContext<'_>) -> Result<Measured> {
    let source = source(context);
    if !source.exists() {
        let path = "../shared/bench/ftl_limit.c";
        return Ok(Measured::Skipped(format!("the yardstick {path} is not beside this checkout")));
    }
    if !setup::is_there("gcc") {
        let advice = "gcc is missing; `cargo xtask setup --for bench` installs it";
        return Ok(Measured::Skipped(advice.to_owned()));
    }
    let program = build(context, &source)?;
    let mut cases = Vec::new();
    for drives in &parameters(context.small) {
        cases.extend(measure_drives(context, &program, drives)?);
    }
    Ok(Measured::Cases(cases))
}

/// A drive under measurement.
struct Measuring {
    parameters: Parameters,
    drive: contract::WarmDrive,
    contract: Side,
    alone: Side,
}

impl Measuring {
    fn wants(&self, context: &BenchContext<'_>, part: Part) -> bool {
        is_wanted(context, self.parameters, part)
    }
}

fn is_wanted(context: &BenchContext<'_>, parameters: Parameters, part: Part) -> bool {
    parameters.parts().contains(&part) && part.is_wanted(parameters, context.case)
}

/// Measures what is wanted of the drives of one over-provisioning, all of them in turns with one
/// peer.
fn measure_drives(
    context: &BenchContext<'_>,
    program: &Path,
    drives: &[Parameters],
) -> Result<Vec<Case>> {
    let wanted =
        drives.iter().filter(|it| Part::ALL.iter().any(|part| is_wanted(context, **it, *part)));
    let warm = |&parameters: &Parameters| {
        let drive = contract::WarmDrive::warm(parameters)?;
        let (contract, alone) = (Side::default(), Side::default());
        anyhow::Ok(Measuring { parameters, drive, contract, alone })
    };
    let mut measured = wanted.map(warm).collect::<Result<Vec<_>>>()?;
    let speeds = [Part::Contract, Part::Alone];
    let needs_peer = measured.iter().any(|it| speeds.iter().any(|part| it.wants(context, *part)));
    let mut peer = Side::default();
    for _ in 0..context.repetitions {
        for it in &mut measured {
            if it.wants(context, Part::Contract) {
                it.drive.measure(&mut it.contract)?;
            }
        }
        if needs_peer {
            measure(context, program, drives[0], &mut peer)?;
        }
        for it in &mut measured {
            if it.wants(context, Part::Alone) {
                it.drive.measure_alone(&mut it.alone)?;
            }
        }
    }
    let mut cases = Vec::new();
    for it in measured {
        cases.extend(cases_of(context, it, &peer)?);
    }
    Ok(cases)
}

/// What is wanted of a drive that was measured; at last it is trimmed.
fn cases_of(context: &BenchContext<'_>, it: Measuring, peer: &Side) -> Result<Vec<Case>> {
    let parameters = it.parameters;
    let case = |part: Part, unit, ours, peer: Option<&Side>| {
        let (name, peer) = (part.of(parameters), peer.cloned());
        let case = Case { name, unit, ours: Some(ours), peer, ..Case::default() };
        is_wanted(context, parameters, part).then_some(case)
    };
    let mut cases = vec![
        case(Part::Contract, "Mwrites/s", it.contract, Some(peer)),
        case(Part::Alone, "Mwrites/s", it.alone, Some(peer)),
        case(Part::Memory, "B/unit", it.drive.memory(), None),
    ];
    if is_wanted(context, parameters, Part::Trim) {
        cases.push(case(Part::Trim, "s", it.drive.trim_all()?, None));
    }
    Ok(cases.into_iter().flatten().collect())
}

fn source(context: &BenchContext<'_>) -> PathBuf {
    context.repository.root().join("../shared/bench/ftl_limit.c")
}

fn build(context: &BenchContext<'_>, source: &Path) -> Result<PathBuf> {
    let folder = context.repository.target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let program = folder.join("ftl_limit");
    let mut compiler = Command::new("gcc");
    compiler.args(FLAGS).arg(source).arg("-o").arg(&program);
    process::run_well(&mut compiler, Some(Deadline::after(context.limit)))?;
    Ok(program)
}

fn measure(
    context: &BenchContext<'_>,
    program: &Path,
    parameters: Parameters,
    side: &mut Side,
) -> Result<()> {
    let mut command = Command::new(program);
    command.args(parameters.arguments());
    let mut printed = String::new();
    let deadline = Deadline::after(context.limit);
    let ended = process::run_lines(&mut command, Some(deadline), |_, line| {
        printed.push_str(line);
        printed.push('\n');
    })?;
    let shown = format!("ftl_limit {}", parameters.arguments().join(" "));
    if !ended.success() {
        bail!("`{shown}` {}", ended.describe());
    }
    let result = parse(&printed).with_context(|| format!("read `{}`", printed.trim()))?;
    side.values.push(result.host_writes);
    side.check = format!("WA {:.4}", result.write_amplification);
    side.command = format!("gcc {} && {shown}", FLAGS.join(" "));
    Ok(())
}

/// What the yardstick printed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Printed {
    /// Host writes a second of processor time in steady state, in millions.
    host_writes: f64,
    /// Flash writes over host writes.
    write_amplification: f64,
}

/// `... | steady 18.20 Mhost/s (cpu 18.31) WA=7.8003  141.96 Mflash/s ...`
fn parse(printed: &str) -> Result<Printed> {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let steady = words.iter().position(|word| *word == "steady").context("no steady state")?;
    if words.get(steady + 2..steady + 4) != Some(&["Mhost/s", "(cpu"]) {
        bail!("the speed is not in Mhost/s, with that of processor time behind it");
    }
    let host_writes = words.get(steady + 4).and_then(|it| it.strip_suffix(')'));
    let host_writes = host_writes.context("no speed")?;
    let write_amplification =
        words.iter().find_map(|word| word.strip_prefix("WA=")).context("no write amplification")?;
    Ok(Printed {
        host_writes: host_writes.parse().context("the speed is no number")?,
        write_amplification: write_amplification.parse().context("WA is no number")?,
    })
}

#[cfg(test)]
mod tests;
