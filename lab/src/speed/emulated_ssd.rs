//! The emulated SSD beside a bare C model of the same kind of drive.
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

mod drive;
mod peer;

use anyhow::{Context as _, Result};
use tests::Need;

use super::turns::{in_turns, ratio};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

use drive::WarmDrive;

pub(super) const ENTRY: Entry = Entry {
    name: "emulated_ssd",
    title: "Random writes in steady state beside a bare C model, through the contract and as a \
            model alone, with the features of named drives off and on; memory; TRIM of all",
    needs: &[Need::Program("gcc")],
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-ssd",
        "crates/trimbench-devices",
        "crates/trimbench-engine",
        "crates/trimbench-results/src/histogram",
    ],
    run,
};

/// How far the write amplifications of both sides may lie apart: more, and the work is not the
/// same.
const AMPLIFICATION_MARGIN: f64 = 0.02;
/// Speed of the model alone over the peer's, at least.
const ALONE_MIN: f64 = 0.6;
/// Bytes of memory a mapping unit.
const MEMORY_MAX: f64 = 10.0;
/// Wall time of a TRIM of the whole drive, s.
const TRIM_MAX: f64 = 1.0;

/// What both sides are run with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parameters {
    /// Logical capacity in GiB. A capacity of 256 GiB is beyond every cache; 4 GiB are quick, and
    /// say little about memory.
    capacity: u32,
    /// In percent: (physical - exported) / exported.
    over_provisioning: u32,
    /// Of our drive; the peer has none.
    features: Features,
    /// Speed through the contract over the peer's, at least.
    contract_min: f64,
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

/// Speed of one side in one repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Speed {
    /// Host writes a second of processor time, in millions.
    millions: f64,
    /// Flash writes over host writes.
    amplification: f64,
}

impl Parameters {
    const fn new(
        capacity: u32,
        over_provisioning: u32,
        features: Features,
        contract_min: f64,
    ) -> Self {
        Self { capacity, over_provisioning, features, contract_min }
    }

    fn name(self) -> String {
        let features = match self.features {
            Features::None => "",
            Features::NoHot => ", all features but separate_hot",
            Features::All => ", all features",
        };
        format!("{} GiB, {} % over-provisioning{features}", self.capacity, self.over_provisioning)
    }

    fn is_large(self) -> bool {
        self.capacity == 256
    }

    /// Whether it is what the peer is, and as large as a real drive: measured in every respect.
    fn is_whole(self) -> bool {
        self.is_large() && self.features == Features::None
    }

    /// 4 KiB units a superblock.
    fn superblock(self) -> u32 {
        if self.is_large() { 4_096 } else { 1_024 }
    }
}

/// Groups of drives that have one peer. Real drives lie between these two over-provisionings.
fn groups(is_short: bool) -> Vec<Vec<Parameters>> {
    use Features::{All, NoHot, None};
    if is_short {
        // Of the large ones that with the lowest ratio.
        return [(4, 7, 0.2), (4, 28, 0.2), (256, 28, 0.55)]
            .map(|(capacity, spare, min)| vec![Parameters::new(capacity, spare, None, min)])
            .to_vec();
    }
    let group = |(spare, min)| {
        [(None, min), (NoHot, 0.4), (All, 0.4)]
            .map(|(features, min)| Parameters::new(256, spare, features, min))
            .to_vec()
    };
    [(7, 0.6), (28, 0.55)].map(group).to_vec()
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let peer = peer::build(lab)?;
    let mut figures = Vec::new();
    for group in groups(lab.is_short()) {
        figures.extend(measure(lab, &peer, &group)?);
    }
    Ok(figures)
}

/// Drives of one over-provisioning, all of them in turns with their peer.
fn measure(lab: &Lab<'_>, peer: &peer::Peer, group: &[Parameters]) -> Result<Vec<Figure>> {
    let mut drives = group.iter().map(|it| WarmDrive::warm(*it)).collect::<Result<Vec<_>>>()?;
    // A side for each drive, for the peer, and for the first drive's model alone.
    let count = drives.len();
    let sides = count + 1 + usize::from(group[0].is_whole());
    let speeds = in_turns(sides, lab.form(1, 5), |side| match drives.get_mut(side) {
        Some(drive) => drive.through_contract(),
        None if side == count => peer.run(lab, group[0]),
        None => drives[0].alone(),
    })?;
    let (ours, others) = speeds.split_at(count);
    let mut figures = Vec::new();
    for (speeds, parameters) in ours.iter().zip(group) {
        let what = format!("through the contract, {}", parameters.name());
        let beside = (speeds.as_slice(), others[0].as_slice());
        figures.push(speed(&what, beside, parameters.contract_min)?);
        if parameters.features == Features::None {
            figures.push(amplification(&what, beside)?);
        }
    }
    if let Some(alone) = others.get(1) {
        let what = format!("model alone, {}", group[0].name());
        figures.push(speed(&what, (alone, &others[0]), ALONE_MIN)?);
        figures.push(amplification(&what, (alone, &others[0]))?);
    }
    for (drive, parameters) in drives.into_iter().zip(group) {
        let what = |what: &str| format!("{what}, {}", parameters.name());
        if parameters.is_large() && parameters.features != Features::NoHot {
            let memory = (drive.bytes_per_unit(), "B");
            figures.push(Figure::new(what("memory a unit"), memory, Bar::AtMost(MEMORY_MAX)));
        }
        if parameters.is_whole() {
            let seconds = (drive.trim_all()?, "s");
            figures.push(Figure::new(what("TRIM of all"), seconds, Bar::AtMost(TRIM_MAX)));
        }
    }
    Ok(figures)
}

/// Our speed over the peer's.
fn speed(what: &str, (ours, peer): (&[Speed], &[Speed]), least: f64) -> Result<Figure> {
    let millions = |side: &[Speed]| side.iter().map(|it| it.millions).collect::<Vec<f64>>();
    let what = format!("speed over that of the C model, {what}");
    ratio(what, (&millions(ours), &millions(peer)), "million writes/s", Bar::AtLeast(least))
}

/// Whether both did the same work.
fn amplification(what: &str, (ours, peer): (&[Speed], &[Speed])) -> Result<Figure> {
    // The first measurement's: later ones of ours go on from another state.
    let of = |side: &[Speed]| side.first().map(|it| it.amplification).context("nothing measured");
    let (ours, peer) = (of(ours)?, of(peer)?);
    let bar = Bar::Near { value: 1.0, share: AMPLIFICATION_MARGIN };
    let what = format!("write amplification over that of the C model, {what}");
    Ok(Figure::new(what, (ours / peer, ""), bar).with_note(format!("{ours:.4} and {peer:.4}")))
}
