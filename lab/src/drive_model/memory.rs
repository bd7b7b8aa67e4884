//! How much memory the largest drives take.

use anyhow::{Context as _, Result};
use trimbench_core::Bytes;
use trimbench_ssd::{Profile, SsdConfig};

use crate::entry::{DRIVES, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::{Lab, resident};

pub(crate) const ENTRY: Entry = Entry {
    name: "memory",
    title: "A drive of 61.44 TB with mapping units of 64 KiB takes at most 10 GiB of memory",
    needs: &[],
    sources: DRIVES,
    run,
};

const PROFILE: &str = "generic-nvme-qlc-large";
/// The drive, and a tenth of it for the short form.
const CAPACITY: [Bytes; 2] = [Bytes(61_440_000_000_000), Bytes(6_144_000_000_000)];
const GIB_MOST: [f64; 2] = [10.0, 1.0];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let form = usize::from(lab.is_short());
    let base = Profile::built_in(PROFILE).context("no such profile")?.config;
    let config = SsdConfig { capacity: CAPACITY[form], mapping_unit: Bytes::kib(64), ..base };
    let (units, announced) = (config.exported_units(), config.memory());
    let before = resident()?;
    let mut ssd = config.build()?;
    ssd.precondition_sequential(Bytes(0), CAPACITY[form]);
    let taken = resident()?.saturating_sub(before);
    let gib = |bytes: Bytes| bytes.0 as f64 / Bytes::gib(1).0 as f64;
    let what = format!("memory of a drive of {} TB, all written", CAPACITY[form].0 as f64 / 1e12);
    let note = format!("announced {:.2} GiB", gib(announced));
    let (mapped, units) = (ssd.mapped_units() as f64, units as f64);
    Ok(vec![
        Figure::new(what, (gib(taken), "GiB"), Bar::AtMost(GIB_MOST[form])).with_note(note),
        Figure::new("its units that hold data", (mapped, ""), Bar::Equals(units)),
    ])
}
